"""The recording of the log: its segments, its end, its entries and its terms.

Each frame is read once. A damaged place is kept with its file and offset;
`canvass.disks.soundness` names the consequence for the member.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import numpy as np
from msgspec.structs import replace as with_fields

from canvass.cluster.messages import NULL_VALUE
from canvass.disks import frames
from canvass.disks.files import read_segment
from canvass.disks.findings import DiskError
from canvass.disks.frames import Scan, Segment, TermRun
from canvass.disks.layouts import FRAME_ALIGNMENT, align
from canvass.disks.loops import CHECKSUMS, Checksum, Ints
from canvass.disks.small_files import Recording

PAGE: Final = 4096
IO_BLOCK: Final = 1 << 20
"""The number of bytes that an archive reads at a time, to replay a recording or to find its end.

Source: the default of ``aeron.archive.file.io.max.length``.
"""

MAX_PROBLEMS: Final = 20
"""The greatest number of damaged places of one log that are kept."""

MISSING_SEGMENT: Final = "the segment is missing"


@dataclass(frozen=True, slots=True)
class Problem:
    """A damaged place: the log cannot be trusted from ``position`` to ``until``.

    ``replay_end`` is the position at which a replay ends because of the damage, or -1 if no replay
    ends there. The archive ends a replay if the length, the type or the checksum of a frame is
    wrong; it sends nothing of the whole block. The consensus module ends a replay at a message
    without a schema; then ``at_message`` is true.
    """

    file: str
    offset: int
    position: int
    until: int
    reason: str
    replay_end: int = NULL_VALUE
    at_message: bool = False


@dataclass
class RecordedLog:
    """The recording of a member's log.

    Attributes
    ----------
    folder
        The folder of the segments.
    end
        The end of the log for an archive that starts on these files.
    sound_end
        The position up to which every frame is sound; at most ``end``.
    refuses
        The file that keeps the archive from starting, or empty.
    """

    recording: Recording
    segments: dict[int, Segment]
    folder: Path
    end: int = 0
    sound_end: int = 0
    problems: list[Problem] = field(default_factory=list)
    terms: tuple[TermRun, ...] = ()
    schema_version: int = NULL_VALUE
    refuses: str = ""
    last_frame: int = NULL_VALUE

    @property
    def start(self) -> int:
        """The start of the recording; earlier entries have been purged."""
        return self.recording.start_position

    def base(self, position: int) -> int:
        """The position at which the segment with a log position begins."""
        first, length = self.recording.first_segment, self.recording.segment_file_length
        return first + (position - first) // length * length

    def place(self, position: int) -> tuple[str, int]:
        """The file of a log position and the offset in it."""
        one, base = self.recording, self.base(position)
        found = self.segments.get(base)
        path = self.folder / f"{one.recording_id}-{base}.rec" if found is None else found.path
        return str(path), position - base

    @property
    def missing_segment(self) -> str:
        """The file that an archive creates once the last segment is full, if it is missing.

        Notes
        -----
        Source: ``RecordingWriter.onFileRollOver``.
        """
        length = self.recording.segment_file_length
        if self.recording.stop_position != NULL_VALUE or not self.segments:
            return ""
        return self.place(self.end)[0] if self.end == max(self.segments) + length else ""

    @property
    def has_frame_behind_end(self) -> bool:
        """Whether a frame of this recording begins where the log ends."""
        for segment, offset, _ in self.parts(self.end, self.end + FRAME_ALIGNMENT):
            until = offset + FRAME_ALIGNMENT
            return frames.next_frame(segment, self.recording, offset, until) == offset
        return False

    def parts(self, start: int, end: int) -> Iterator[tuple[Segment, int, int]]:
        """The segments from ``start`` to ``end`` or to a gap, each with the offsets to read."""
        length = self.recording.segment_file_length
        while start < end:
            base = self.base(start)
            one = self.segments.get(base)
            if one is None:
                return
            yield one, start - base, min(end - base, length)
            start = base + length

    def replay_end(self, start: int) -> int:
        """The position at which a replay from ``start`` ends: the end, or the next damage."""
        stop = self._stops_replay(start)
        return self.end if stop is None else stop.replay_end

    def _stops_replay(self, start: int) -> Problem | None:
        """The damage at which a replay from ``start`` ends."""
        ends = (one for one in self.problems if start <= one.replay_end < self.end)
        return min(ends, key=lambda one: one.replay_end, default=None)

    def replayed(self, start: int) -> int:
        """The position up to which the consensus module receives a replay from ``start``.

        The archive sends no part of a block with damage. A block ends with its term buffer.

        Notes
        -----
        Source: ``ReplaySession.replay``, ``readRecording``.
        """
        stop, at, term_length = self._stops_replay(start), start, self.recording.term_buffer_length
        if stop is None or stop.at_message:
            return self.replay_end(start)
        while True:
            until = min(at + IO_BLOCK, (at // term_length + 1) * term_length)
            if until > stop.replay_end:
                return at
            at = until

    def term_at(self, position: int) -> TermRun | None:
        """The run with the byte at a position, or None."""
        index = bisect_right([run.start for run in self.terms], position) - 1
        if index < 0 or position >= self.terms[index].end:
            return None
        return self.terms[index]


def _load(recording: Recording, paths: dict[int, Path]) -> dict[int, Segment]:
    length, first = recording.segment_file_length, recording.first_segment
    return {
        position: Segment(path, position, read_segment(path, length))
        for position, path in sorted(paths.items())
        if position >= first and (position - first) % length == 0
    }


def _find_end(log: RecordedLog, checksum: Checksum | None) -> None:
    """Find the end of the recording as an archive does.

    Notes
    -----
    The catalog has the end, unless the archive was killed. Then the archive follows the frames of
    the last segment. If the last frame crosses a page and only zeros follow that page, the archive
    does not start.
    Source: ``Catalog.computeStopPosition``, ``Catalog.recoverStopOffset``.
    """
    one = log.recording
    if one.stop_position != NULL_VALUE or not log.segments:
        log.end = max(one.stop_position, one.start_position)
        return
    base = max(log.segments)
    segment, limit = log.segments[base], one.segment_file_length
    begin = one.start_position - base if base == one.first_segment else 0
    chunk = offset = last = begin
    while offset < limit:
        chunk, until = offset, min(offset + IO_BLOCK, limit)
        found, offset = frames.walk(segment, chunk, until)
        last = int(found[-1]) if len(found) else chunk
        if offset < until:
            break
    offset = min(offset, limit)
    log.end = max(base + offset, one.start_position)
    crosses = offset > last and last // PAGE != (offset - 1) // PAGE
    if crosses and not _is_whole(segment, checksum, last, offset, chunk):
        log.refuses = str(segment.path)
        log.last_frame = base + last


def _is_whole(segment: Segment, checksum: Checksum | None, last: int, end: int, chunk: int) -> bool:
    """Whether an archive treats the last frame, which crosses a page, as completely written."""
    if checksum and frames.checksums_match(segment, checksum, last, end, 1):
        return True
    page = ((last - chunk) // PAGE + 1) * PAGE + chunk
    return all(segment.data[at : min(at + PAGE, end)].any() for at in range(page, end, PAGE))


def _checksum_of(log: RecordedLog) -> Checksum | None:
    """The frames' checksum. The archive's files do not name it."""
    for segment, offset, _ in log.parts(log.start, log.start + 1):
        limit = log.recording.segment_file_length
        for checksum in CHECKSUMS.values():
            if frames.checksums_match(segment, checksum, offset, limit, 3):
                return checksum
    return None


def _check(log: RecordedLog, scan: Scan) -> None:
    """Check all frames, and keep the damaged places."""
    one, position = log.recording, log.start
    log.sound_end = log.end
    while position < log.end:
        base = log.base(position)
        segment = log.segments.get(base)
        if segment is None:
            until = min([*(other for other in log.segments if other > base), log.end])
            _keep(log, Problem(*log.place(position), position, until, MISSING_SEGMENT, position))
            scan.term = scan.entry_start = NULL_VALUE
            position = until
            continue
        limit = min(log.end - base, one.segment_file_length)
        reason, offset = scan.run(segment, position - base, limit)
        position = base + offset
        if reason:
            problem = _problem(scan, segment, offset, limit, reason)
            _keep(log, problem)
            position = problem.until
            if reason != frames.BAD_CHECKSUM:
                # After the gap, the term and the entry are unknown.
                scan.term = scan.entry_start = NULL_VALUE
    if scan.entry_start >= 0 and not log.problems:
        reason = "the last message is not complete: some of its fragments are missing"
        place = log.place(scan.entry_start)
        _keep(log, Problem(*place, scan.entry_start, log.end, reason))


def _keep(log: RecordedLog, problem: Problem) -> None:
    log.sound_end = min(log.sound_end, problem.position)
    if len(log.problems) == MAX_PROBLEMS:
        # The last place that is kept covers all later ones, so no replay seems to pass them.
        last = log.problems.pop()
        ends = max(last.replay_end, problem.replay_end)
        problem = replace(last, until=problem.until, replay_end=ends, at_message=False)
    log.problems.append(problem)


def _problem(scan: Scan, segment: Segment, damaged: int, limit: int, reason: str) -> Problem:
    """Describe a damaged frame, and what a replay does there.

    Notes
    -----
    Source: ``ReplaySession.replay``, ``LogAdapter.onMessage``, which refuses messages without a
    schema.
    """
    one, half = scan.recording, damaged >> 2
    is_intact = reason in frames.CHAIN_IS_INTACT
    begins = int(segment.halves[half + 1]) >> 8 & 0x80
    at_message = (
        (is_intact or reason in (frames.BAD_TERM_OFFSET, frames.BAD_TERM_ID))
        and bool(begins)
        and not (segment.halves[half + 9 : half + 10] & 0xFFFF).any()
    )
    if is_intact:
        until = damaged + align(int(segment.halves[half]), FRAME_ALIGNMENT)
    else:
        until = frames.next_frame(segment, one, damaged + FRAME_ALIGNMENT, limit)
    ends = limit
    if reason == frames.BAD_CHECKSUM or at_message:
        ends = damaged
    elif not is_intact:
        ends = frames.replay_end(segment, damaged, limit, one.term_buffer_length)
    return Problem(
        str(segment.path),
        damaged,
        scan.entry_start if scan.entry_start >= 0 else segment.position + damaged,
        segment.position + until,
        reason,
        segment.position + ends if ends < limit else NULL_VALUE,
        at_message,
    )


def _runs(log: RecordedLog, scan: Scan) -> Iterator[TermRun]:
    opened = [one for one in scan.openings if one.start < log.sound_end]
    ends = [*(one.start for one in opened), log.sound_end]
    if log.start < ends[0]:
        yield TermRun(scan.first_term, log.start, ends[0])
    for one, end in zip(opened, ends[1:], strict=True):
        yield with_fields(one, end=end)


def read_log(recording: Recording, paths: dict[int, Path], *, is_log: bool = True) -> RecordedLog:
    """Read a recording and check each frame.

    Parameters
    ----------
    recording
        The recording's entry in the catalog.
    paths
        The segments by the positions at which they begin.
    is_log
        Whether the recording is a cluster's log. Only a log's messages are checked.

    Raises
    ------
    DiskError
        If the catalog's entry is impossible, or a segment cannot be read.
    """
    wrong = recording.geometry_error
    if wrong:
        raise DiskError(f"recording {recording.recording_id}", -1, wrong)
    folder = next((path.parent for path in paths.values()), Path())
    log = RecordedLog(recording, _load(recording, paths), folder)
    checksum = _checksum_of(log)
    _find_end(log, checksum)
    scan = Scan(recording, checksum, is_log)
    _check(log, scan)
    log.schema_version = scan.version
    log.terms = tuple(_runs(log, scan)) if is_log else ()
    return log


def agreement(a: RecordedLog, b: RecordedLog) -> int:
    """The position up to which two logs are the same.

    Notes
    -----
    Purged entries count as the same. The position is at most the ``sound_end`` of either log.
    """
    at = max(a.start, b.start)
    end = min(a.sound_end, b.sound_end)
    while at < end:
        mine, theirs = next(a.parts(at, end), None), next(b.parts(at, end), None)
        if mine is None or theirs is None:
            break
        same = frames.agree(*mine, *theirs)
        at += same
        if same == 0:
            break
    return min(at, end)


def session_messages(log: RecordedLog, start: int, end: int) -> Ints:
    """The session messages between two positions: position, session, timestamp, term, first word.

    Only frames up to ``sound_end`` are read.
    """
    parts = log.parts(start, min(end, log.sound_end))
    found = [frames.session_messages(*part) for part in parts]
    return np.concatenate([np.zeros((0, 5), np.int64), *found])

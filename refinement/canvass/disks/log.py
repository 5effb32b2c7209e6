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

from canvass.cluster.messages import NULL_VALUE
from canvass.disks import kernels
from canvass.disks.files import Bytes, read_segment
from canvass.disks.findings import DiskError
from canvass.disks.kernels import Halves, Ints, Table, Words
from canvass.disks.layouts import CLUSTER_SCHEMA_ID, FRAME_ALIGNMENT
from canvass.disks.small_files import Recording

PAGE: Final = 4096
IO_BLOCK: Final = 1 << 20
"""The number of bytes that an archive reads at a time, to replay a recording or to find its end.

Source: the default of ``aeron.archive.file.io.max.length``.
"""

MAX_PROBLEMS: Final = 20
"""The greatest number of damaged places of one log that are kept."""

_REASONS: Final = {
    kernels.NO_FRAME: "zeros stand where a frame should begin",
    kernels.BAD_LENGTH: "the frame length is impossible",
    kernels.BAD_TYPE: "the version or the type of the frame is unknown",
    kernels.BAD_TERM_OFFSET: "the frame has the term offset of another position",
    kernels.BAD_TERM_ID: "the frame has the term id of another position",
    kernels.BEYOND: "the frame reaches beyond its term or the end of the recording",
    kernels.BAD_FRAGMENT: "the fragments of a message are not complete",
    kernels.BAD_MESSAGE: "the frame holds no message of a cluster's log",
    kernels.OTHER_TERM: "the entry has another leadership term than the entries before it",
    kernels.BAD_CHECKSUM: "the frame's checksum is wrong",
}
_CHAIN_IS_INTACT: Final = {
    kernels.BAD_FRAGMENT,
    kernels.BAD_MESSAGE,
    kernels.OTHER_TERM,
    kernels.BAD_CHECKSUM,
}


@dataclass(frozen=True, slots=True)
class SegmentData:
    """One segment in memory."""

    path: Path
    position: int
    data: Bytes
    words: Words
    halves: Halves


@dataclass(frozen=True, slots=True)
class Problem:
    """A damaged place: the log cannot be trusted from ``position`` to ``until``.

    ``replay_end`` is the position at which a replay ends at the damage, or -1 if no replay ends
    there. The archive ends a replay if the length, the type or the checksum of a frame is wrong;
    the whole block is not replayed. The consensus module ends a replay at a message without a
    schema; then ``at_message`` is true.
    """

    file: str
    offset: int
    position: int
    until: int
    reason: str
    replay_end: int = NULL_VALUE
    at_message: bool = False


@dataclass(frozen=True, slots=True)
class TermRun:
    """The part of a log that the leader of one term appended.

    ``base`` and ``leader`` are -1 if the log begins after the term's NewLeadershipTermEvent.
    """

    term: int
    start: int
    end: int
    base: int
    leader: int
    messages: int
    timers: int


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
    segments: dict[int, SegmentData]
    folder: Path
    end: int = 0
    end_file: str = ""
    sound_end: int = 0
    problems: list[Problem] = field(default_factory=list)
    terms: tuple[TermRun, ...] = ()
    messages: int = 0
    timers: int = 0
    schema_version: int = NULL_VALUE
    checksum: str = ""
    refuses: str = ""
    last_frame: int = NULL_VALUE

    @property
    def start(self) -> int:
        """The start of the recording; earlier entries have been purged."""
        return self.recording.start_position

    def place(self, position: int) -> tuple[str, int]:
        """The file of a log position and the offset in it."""
        one = self.recording
        first = one.first_segment
        base = first + (position - first) // one.segment_file_length * one.segment_file_length
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
        one = self.recording
        for segment, offset, _ in self.parts(self.end, self.end + FRAME_ALIGNMENT):
            next_offset = kernels.next_frame(
                segment.halves,
                offset,
                offset + FRAME_ALIGNMENT,
                segment.position,
                one.initial_term_id,
                one.term_buffer_length,
            )
            return next_offset == offset
        return False

    def parts(self, start: int, end: int) -> Iterator[tuple[SegmentData, int, int]]:
        """The segments between two positions up to a gap, each with the offsets to read."""
        length = self.recording.segment_file_length
        while start < end:
            base = self.recording.first_segment
            base += (start - base) // length * length
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


def _load(recording: Recording, paths: dict[int, Path]) -> dict[int, SegmentData]:
    length, loaded = recording.segment_file_length, {}
    for position in sorted(paths):
        off_grid = (position - recording.first_segment) % length
        if position < recording.first_segment or off_grid:
            continue
        data = read_segment(paths[position], length)
        loaded[position] = SegmentData(
            paths[position], position, data, data.view("<i8"), data.view("<i4")
        )
    return loaded


def _find_end(log: RecordedLog, checksum: Table) -> None:
    """Find the end of the recording as an archive does.

    Notes
    -----
    The catalog has the end, unless the archive was killed. Then the archive follows the frames of
    the last segment. If the last frame crosses a page and only zeros follow that page, the archive
    does not start.
    Source: ``Catalog.computeStopPosition``, ``Catalog.recoverStopOffset``.
    """
    one = log.recording
    if one.stop_position != NULL_VALUE:
        log.end, log.end_file = one.stop_position, ""
        return
    if not log.segments:
        log.end = one.start_position
        return
    base = max(log.segments)
    segment, limit = log.segments[base], one.segment_file_length
    begin = one.start_position - base if base == one.first_segment else 0
    chunk = offset = last = begin
    while offset < limit:
        chunk, until = offset, min(offset + IO_BLOCK, limit)
        offset, last = kernels.frame_end(segment.halves, chunk, until)
        if offset < until:
            break
    offset = min(offset, limit)
    log.end, log.end_file = max(base + offset, one.start_position), str(segment.path)
    crosses = offset > last and last // PAGE != (offset - 1) // PAGE
    if crosses and not _is_whole(segment, checksum, last, offset, chunk):
        log.refuses = str(segment.path)
        log.last_frame = base + last


def _is_whole(segment: SegmentData, checksum: Table, last: int, end: int, chunk: int) -> bool:
    """Whether an archive treats the last frame, which crosses a page, as completely written."""
    if checksum.size and kernels.checksums_match(
        segment.halves, segment.data, checksum, last, end, 1
    ):
        return True
    page = ((last - chunk) // PAGE + 1) * PAGE + chunk
    while page < end:
        if not segment.data[page : min(page + PAGE, end)].any():
            return False
        page += PAGE
    return True


def _checksum_of(log: RecordedLog) -> tuple[str, Table]:
    """The name and the table of the frames' checksum. The archive's files do not name it."""
    for segment, offset, _ in log.parts(log.start, log.start + 1):
        limit = log.recording.segment_file_length
        for name, table in (("CRC-32", kernels.CRC32_TABLE), ("CRC-32C", kernels.CRC32C_TABLE)):
            if kernels.checksums_match(segment.halves, segment.data, table, offset, limit, 3):
                return name, table
    return "", kernels.NO_TABLE


def _first_term(log: RecordedLog) -> int:
    """The leadership term of the first entry."""
    for segment, offset, limit in log.parts(log.start, log.sound_end):
        for _ in range(1000):
            if offset + 64 > limit:
                break
            half = offset >> 2
            length, flags = int(segment.halves[half]), int(segment.halves[half + 1]) >> 8 & 0xFF
            if length < 32:
                return NULL_VALUE
            schema = int(segment.halves[half + 9]) & 0xFFFF
            if length >= 64 and flags & 0x80 and schema == CLUSTER_SCHEMA_ID:
                return int(segment.words[(offset >> 3) + 5])
            offset += (length + 31) & ~31
    return NULL_VALUE


class _Scan:
    """One pass over all frames."""

    def __init__(self, log: RecordedLog, table: Table, is_log: bool) -> None:
        self.log, self.table, self.is_log = log, table, is_log
        self.state = np.zeros(kernels.STATE_COLUMNS, np.int64)
        self.state[[kernels.S_TERM, kernels.S_ENTRY_START, kernels.S_VERSION]] = -1
        self.openings = np.zeros((1024, kernels.OPENING_COLUMNS), np.int64)

    def run(self) -> None:
        log = self.log
        one, position = log.recording, log.start
        log.sound_end = log.end
        while position < log.end:
            base = one.first_segment
            base += (position - base) // one.segment_file_length * one.segment_file_length
            segment = log.segments.get(base)
            if segment is None:
                later = [other for other in log.segments if other > base]
                until = min([*later, log.end])
                reason = "the segment is missing"
                self._problem(*log.place(position), position, until, reason, position)
                self._forget()
                position = until
                continue
            position = self._segment(segment, position - base)
        if self.state[kernels.S_ENTRY_START] >= 0 and not log.problems:
            begun = int(self.state[kernels.S_ENTRY_START])
            file, offset = log.place(begun)
            reason = "the last message is not complete: some of its fragments are missing"
            self._problem(file, offset, begun, log.end, reason)

    def _forget(self) -> None:
        """Forget the open term and entry, which are unknown behind a gap."""
        self.state[[kernels.S_TERM, kernels.S_ENTRY_START]] = -1

    def _problem(
        self,
        file: str,
        offset: int,
        position: int,
        until: int,
        reason: str,
        ends: int = NULL_VALUE,
        *,
        at_message: bool = False,
    ) -> None:
        log = self.log
        log.sound_end = min(log.sound_end, position)
        if len(log.problems) < MAX_PROBLEMS:
            found = Problem(file, offset, position, until, reason, ends, at_message)
        else:
            # The last place kept covers all later ones: no replay may seem to pass them.
            found = log.problems.pop()
            ends = max(found.replay_end, ends)
            found = replace(found, until=until, replay_end=ends, at_message=False)
        log.problems.append(found)

    def _segment(self, segment: SegmentData, offset: int) -> int:
        """Scan a segment from an offset. Return the position at which the scan continues."""
        one = self.log.recording
        limit = min(self.log.end - segment.position, one.segment_file_length)
        while offset < limit:
            reason, offset = kernels.scan(
                segment.words,
                segment.halves,
                segment.data,
                offset,
                limit,
                segment.position,
                one.initial_term_id,
                one.term_buffer_length,
                self.table,
                self.is_log,
                self.state,
                self.openings,
            )
            if reason == kernels.FULL:
                self.openings = np.concatenate([self.openings, np.zeros_like(self.openings)])
            elif reason != kernels.LIMIT:
                offset = self._step_over(segment, offset, limit, reason)
        return segment.position + limit

    def _step_over(self, segment: SegmentData, offset: int, limit: int, reason: int) -> int:
        one, damaged = self.log.recording, offset
        if reason in _CHAIN_IS_INTACT:
            offset += (int(segment.halves[offset >> 2]) + 31) & ~31
        else:
            offset = kernels.next_frame(
                segment.halves,
                offset + 32,
                limit,
                segment.position,
                one.initial_term_id,
                one.term_buffer_length,
            )
        position = segment.position + damaged
        if self.state[kernels.S_ENTRY_START] >= 0:
            position = int(self.state[kernels.S_ENTRY_START])
        until = segment.position + offset
        ends = self._replay_end(segment, damaged, limit, reason)
        at_message = self._is_refused(segment, damaged, reason)
        file, why = str(segment.path), _REASONS[reason]
        self._problem(file, damaged, position, until, why, ends, at_message=at_message)
        if reason != kernels.BAD_CHECKSUM:
            self._forget()
        return offset

    def _is_refused(self, segment: SegmentData, damaged: int, reason: int) -> bool:
        """Whether the consensus module refuses a damaged frame: its message has no schema."""
        head = damaged >> 2
        begins = int(segment.halves[head + 1]) >> 8 & 0x80
        whole = _CHAIN_IS_INTACT | {kernels.BAD_TERM_OFFSET, kernels.BAD_TERM_ID}
        return reason in whole and bool(begins) and not int(segment.halves[head + 9]) & 0xFFFF

    def _replay_end(self, segment: SegmentData, damaged: int, limit: int, reason: int) -> int:
        """The position at which a replay ends at a damaged frame, or -1 if it passes the frame.

        Notes
        -----
        Source: ``ReplaySession.replay``, ``LogAdapter.onMessage``, which refuses other schemas.
        """
        if reason == kernels.BAD_CHECKSUM or self._is_refused(segment, damaged, reason):
            return segment.position + damaged
        if reason in _CHAIN_IS_INTACT:
            return NULL_VALUE
        term_length = self.log.recording.term_buffer_length
        end = kernels.replay_end(segment.halves, damaged, limit, segment.position, term_length)
        return NULL_VALUE if end == limit else segment.position + end


def _runs(log: RecordedLog, openings: Ints) -> Iterator[TermRun]:
    openings = openings[openings[:, kernels.O_START] < log.sound_end]
    starts = [*openings[:, kernels.O_START].tolist(), log.sound_end]
    totals = [
        *openings[:, [kernels.O_MESSAGES, kernels.O_TIMERS]].tolist(),
        (log.messages, log.timers),
    ]
    if log.start < starts[0]:
        yield TermRun(_first_term(log), log.start, starts[0], -1, -1, *totals[0])
    for index, row in enumerate(openings):
        yield TermRun(
            term=int(row[kernels.O_TERM]),
            start=starts[index],
            end=starts[index + 1],
            base=int(row[kernels.O_BASE]),
            leader=int(row[kernels.O_LEADER]),
            messages=totals[index + 1][0] - totals[index][0],
            timers=totals[index + 1][1] - totals[index][1],
        )


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
    log.checksum, table = _checksum_of(log)
    _find_end(log, table)
    scan = _Scan(log, table, is_log)
    scan.run()
    state = scan.state
    log.messages, log.timers = int(state[kernels.S_MESSAGES]), int(state[kernels.S_TIMERS])
    log.schema_version = int(state[kernels.S_VERSION])
    openings = scan.openings[: int(state[kernels.S_OPENINGS])]
    log.terms = tuple(_runs(log, openings)) if is_log else ()
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
        mine = next(a.parts(at, end), None)
        theirs = next(b.parts(at, end), None)
        if mine is None or theirs is None:
            break
        same, differs = kernels.agree(
            mine[0].words,
            mine[0].halves,
            mine[1],
            mine[2],
            theirs[0].words,
            theirs[1],
            theirs[2],
        )
        at += same
        if differs or same == 0:
            break
    return min(at, end)


def session_messages(log: RecordedLog, start: int, end: int) -> Ints:
    """The session messages between two positions: position, session, timestamp, term, first word.

    Only frames up to ``sound_end`` are read.
    """
    rows = np.zeros((log.messages + 1, 5), np.int64)
    count = 0
    for segment, offset, limit in log.parts(start, min(end, log.sound_end)):
        count = kernels.session_messages(
            segment.words, segment.halves, offset, limit, segment.position, rows, count
        )
    return rows[:count]

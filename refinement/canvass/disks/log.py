"""The recording of the log: its segments with their frames, its end, its entries and its terms.

The frames of a segment are arrays: each rule of the format is one comparison of whole columns.
Offsets are bytes in the segment. The bytes may be damaged in any way: nothing here reads beyond its
limit. Each frame is read once. A damaged place is kept with its file and offset;
`canvass.disks.soundness` names the consequence for the member.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from msgspec.structs import replace as with_fields
from numpy.typing import NDArray

from canvass.cluster.messages import NULL_VALUE
from canvass.disks.files import Bytes, read_segment
from canvass.disks.findings import DiskError
from canvass.disks.layouts import (
    CHECKSUMS,
    CLUSTER_SCHEMA_ID,
    DATA_HEADER_LENGTH,
    FRAME_ALIGNMENT,
    Checksum,
    Ints,
    align,
    follow,
)
from canvass.disks.small_files import Recording

Mask = NDArray[np.bool_]

_SMALL, _LARGE = 1 << 12, 1 << 19
"""The bytes that are checked together. After damage they are few, as damage may be everywhere."""

_PADDING, _DATA = range(2)
_BEGIN, _END = 0x80, 0x40
_SESSION_MESSAGE, _TIMER, _NEW_TERM = 1, 20, 24
_LOG_TEMPLATES: Final = (_SESSION_MESSAGE, *range(_TIMER, 26))
_TERM_FIELDS: Final = 24
"""The shortest block of a message in the log, in bytes: term, another id, timestamp."""
_HEADED: Final = DATA_HEADER_LENGTH + 8
"""The bytes of a frame with the header of a message."""

# The reasons why a frame is damaged. In the first group the length of the damaged frame does not
# lead to the next frame.
_NO_FRAME: Final = "zeros stand where a frame should begin"
_BAD_LENGTH: Final = "the frame length is impossible"
_BEYOND: Final = "the frame reaches beyond its term or the end of the recording"
_BAD_TYPE: Final = "the version or the type of the frame is unknown"
_BAD_TERM_OFFSET: Final = "the frame has the term offset of another position"
_BAD_TERM_ID: Final = "the frame has the term id of another position"

_BAD_CHECKSUM: Final = "the frame's checksum is wrong"
_BAD_FRAGMENT: Final = "the fragments of a message are not complete"
_BAD_MESSAGE: Final = "the frame holds no message of a cluster's log"
_OTHER_TERM: Final = "the entry has another leadership term than the entries before it"
_CHAIN_IS_INTACT: Final = (_BAD_CHECKSUM, _BAD_FRAGMENT, _BAD_MESSAGE, _OTHER_TERM)


@dataclass(slots=True)
class Segment:
    """One segment in memory, as bytes and as words of 8 and 4 bytes that share their memory.

    ``frames`` has the offsets of the frames that a scan has found sound.
    """

    path: Path
    position: int
    data: Bytes
    frames: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def words(self) -> Ints:
        """The segment as words of 8 bytes."""
        return self.data.view("<i8")

    @property
    def halves(self) -> NDArray[np.int32]:
        """The segment as words of 4 bytes."""
        return self.data.view("<i4")

    def sound_frames(self, offset: int, limit: int) -> Ints:
        """The offsets of the sound frames that begin between two offsets."""
        first, last = np.searchsorted(self.frames, [offset, limit])
        return self.frames[first:last]


def _walk(segment: Segment, offset: int, limit: int) -> tuple[Ints, int]:
    """Go from frame to frame by their lengths alone, as an archive does after a crash.

    Returns
    -------
    tuple
        The offsets of the frames that begin before ``limit``, and the end of the last one.
    """
    found = np.empty((limit - offset) // FRAME_ALIGNMENT + 1, np.int64)
    count, end = follow(segment.halves, offset, limit, found)
    return found[:count].copy(), end


def _windows(offset: int, limit: int) -> Iterator[tuple[int, int]]:
    """Windows between two offsets, each twice as long as the one before."""
    size = _SMALL
    while offset < limit:
        yield offset, min(offset + size, limit)
        offset, size = offset + size, min(2 * size, _LARGE)


def _headers(segment: Segment, frames: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """The lengths, the aligned lengths, the types and the flags of frames."""
    half = frames >> 2
    lengths = segment.halves[half].astype(np.int64)
    second = segment.halves[half + 1].astype(np.int64)
    return lengths, (lengths + 31) & ~31, second >> 16 & 0xFFFF, second >> 8 & 0xFF


def _replay_end(segment: Segment, offset: int, limit: int, term_length: int) -> int:
    """Go from frame to frame as a replay does: by their lengths, as long as the types are known.

    Returns
    -------
    int
        ``limit``, or the offset at which the replay ends.

    Notes
    -----
    Source: ``ReplaySession.replay``.
    """
    size = _SMALL
    while offset < limit:
        until = min(offset + size, limit)
        frames, end = _walk(segment, offset, until)
        _, aligned, kinds, _ = _headers(segment, frames)
        left = term_length - (segment.position + frames & (term_length - 1))
        stops = frames[(kinds > _DATA) | (aligned > left) | (frames + aligned > limit)]
        if len(stops) or end < until:
            return int(stops[0]) if len(stops) else end
        offset, size = end, min(2 * size, _LARGE)
    return offset


def _checksums_match(
    segment: Segment, checksum: Checksum, offset: int, limit: int, count: int
) -> bool:
    """Whether the first data frames have checksums in place of the session id.

    Notes
    -----
    Source: ``RecordingWriter.computeChecksum``.
    """
    seen = 0
    while offset + DATA_HEADER_LENGTH <= limit and seen < count:
        length = int(segment.halves[offset >> 2])
        if length < DATA_HEADER_LENGTH or offset + length > limit:
            break
        end = min(offset + align(length, FRAME_ALIGNMENT), limit)
        kind = int(segment.halves[(offset >> 2) + 1]) >> 16 & 0xFFFF
        if kind == _DATA and length > DATA_HEADER_LENGTH:
            if not _matches(segment, checksum, offset, end):
                return False
            seen += 1
        offset = end
    return seen > 0


def _matches(segment: Segment, checksum: Checksum, offset: int, end: int) -> bool:
    expected = int(segment.halves[(offset >> 2) + 3]) & 0xFFFFFFFF
    return checksum(segment.data[offset + DATA_HEADER_LENGTH : end].data) == expected


def _next_frame(segment: Segment, recording: Recording, offset: int, limit: int) -> int:
    """The next offset at which a frame of this recording may begin, or the limit.

    Notes
    -----
    The header of a frame has the frame's position, so a payload is hardly mistaken for a frame.
    """
    for begin, until in _windows(offset, limit):
        slots = np.arange(begin, until - DATA_HEADER_LENGTH + 1, FRAME_ALIGNMENT)
        fits = slots[~np.logical_or.reduce(list(_misplaced(segment, recording, slots).values()))]
        if len(fits):
            return int(fits[0])
    return limit


def _misplaced(segment: Segment, recording: Recording, frames: Ints) -> dict[str, Mask]:
    """For each reason, the frames whose header is impossible at their position."""
    lengths, _, kinds, _ = _headers(segment, frames)
    half, term_length = frames >> 2, recording.term_buffer_length
    positions = segment.position + frames
    in_term = positions & (term_length - 1)
    term_ids = segment.halves[half + 5].astype(np.int64)
    return {
        _BAD_LENGTH: lengths < DATA_HEADER_LENGTH,
        _BEYOND: in_term + lengths > term_length,
        _BAD_TYPE: (kinds > _DATA) | (segment.halves[half + 1] & 0xFF != 0),
        _BAD_TERM_OFFSET: segment.halves[half + 2] != in_term,
        _BAD_TERM_ID: (term_ids - recording.initial_term_id - positions // term_length) & 0xFFFFFFFF
        != 0,
    }


class TermRun(
    msgspec.Struct, frozen=True, rename={"term": "leadershipTermId", "leader": "leaderMemberId"}
):
    """The part of a log that the leader of one term appended.

    ``base`` and ``leader`` are -1 if the log begins after the term's NewLeadershipTermEvent.
    """

    term: int
    start: int
    end: int
    base: int = NULL_VALUE
    leader: int = NULL_VALUE


@dataclass
class _Scan:
    """The state of a scan, which goes on from window to window, and from segment to segment.

    ``term`` is the leadership term of the last entry, and ``entry_start`` the position of the
    incomplete entry; each is -1 if there is none. ``version`` is the last schema version.
    ``is_sound`` tells whether no frame has been damaged so far. ``openings`` has the terms that
    begin; their ends are not known yet.
    """

    recording: Recording
    checksum: Checksum | None
    is_log: bool
    term: int = NULL_VALUE
    entry_start: int = NULL_VALUE
    first_term: int = NULL_VALUE
    version: int = NULL_VALUE
    is_sound: bool = True
    openings: list[TermRun] = field(default_factory=list)

    def run(self, segment: Segment, offset: int, limit: int) -> tuple[str, int]:
        """Check each frame from an offset up to a limit.

        Returns
        -------
        tuple
            The reason why a frame is damaged and its offset; an empty reason at the limit.
        """
        sound, size, reason = [segment.frames], _SMALL, ""
        while offset < limit and not reason:
            until = min(offset + size, limit)
            frames, end = _walk(segment, offset, until)
            if end < until:
                frames = np.append(frames, end)
            reason, offset = self._placed(segment, frames, limit, end)
            frames = frames[frames < offset]
            data = frames[_data_frames(segment, frames)]
            wrong, at = self._content(segment, data)
            if wrong:
                reason, offset = wrong, at
                frames = frames[frames < at]
            sound.append(frames)
            size = min(2 * size, _LARGE)
        if self.is_sound:
            segment.frames = np.concatenate(sound)
        self.is_sound &= not reason
        return reason, offset

    def _placed(self, segment: Segment, frames: Ints, limit: int, end: int) -> tuple[str, int]:
        """The reason and the offset of the first impossible header; else the end of the frames."""
        lengths, aligned, _, _ = _headers(segment, frames)
        rules = {_NO_FRAME: lengths == 0, **_misplaced(segment, self.recording, frames)}
        in_term = segment.position + frames & (self.recording.term_buffer_length - 1)
        rules[_BEYOND] = (in_term + aligned > self.recording.term_buffer_length) | (
            frames + aligned > limit
        )
        return _first(rules, frames) or ("", end)

    def _content(self, segment: Segment, frames: Ints) -> tuple[str, int]:
        """The reason and the offset of the first data frame with an impossible content, if any.

        The terms, the last entry and the version of the frames before it are noted.
        """
        if not len(frames):
            return "", 0
        lengths, aligned, _, flags = _headers(segment, frames)
        nothing = np.zeros(len(frames), np.bool_)
        rules = {_BAD_CHECKSUM: nothing}
        if self.checksum is not None:
            rules[_BAD_CHECKSUM] = np.array(
                [
                    not _matches(segment, self.checksum, at, end)
                    for at, end in zip(frames.tolist(), (frames + aligned).tolist(), strict=True)
                ]
            )
        if not self.is_log:
            return _first(rules, frames) or ("", 0)
        begins, ends = flags & _BEGIN != 0, flags & _END != 0
        rules[_BAD_FRAGMENT] = begins != np.append(self.entry_start < 0, ends[:-1])
        heads = segment.halves[np.stack([(frames >> 2) + 8, (frames >> 2) + 9])].astype(np.int64)
        template, schema = heads[0] >> 16 & 0xFFFF, heads[1] & 0xFFFF
        # Entries of a consensus module extension have a schema of their own.
        own = begins & (schema == CLUSTER_SCHEMA_ID)
        rules[_BAD_MESSAGE] = (begins & ~own & ((lengths < _HEADED) | (schema == 0))) | (
            own
            & (
                (lengths < _HEADED + _TERM_FIELDS)
                | (heads[0] & 0xFFFF < _TERM_FIELDS)
                | ~np.isin(template, _LOG_TEMPLATES)
            )
        )
        rules[_OTHER_TERM] = nothing.copy()
        at = np.flatnonzero(own)
        terms = segment.words[(frames[at] >> 3) + 5]
        before = np.append(self.term, terms[:-1])[: len(terms)]
        rules[_OTHER_TERM][at] = np.where(
            template[at] == _NEW_TERM,
            (terms <= before) | (lengths[at] < _HEADED + 40),
            (before >= 0) & (terms != before),
        )
        found = _first(rules, frames) or ("", 0)
        sound = int(np.searchsorted(frames, found[1])) if found[0] else len(frames)
        self._take(segment, frames[:sound], begins, ends)
        at = at[at < sound]
        self._note_terms(segment, frames[at], template[at], terms[: len(at)])
        if len(at):
            self.version = int(heads[1][at[-1]] >> 16 & 0xFFFF)
        return found

    def _take(self, segment: Segment, frames: Ints, begins: Mask, ends: Mask) -> None:
        """Note the begin of the last entry, if it is not complete at the end of these frames."""
        if len(frames):
            started = frames[begins[: len(frames)]]
            if len(started):
                self.entry_start = segment.position + int(started[-1])
            if ends[len(frames) - 1]:
                self.entry_start = NULL_VALUE

    def _note_terms(self, segment: Segment, frames: Ints, template: Ints, terms: Ints) -> None:
        """Note where terms begin in sound entries of a log."""
        if not len(frames):
            return
        for index in np.flatnonzero(template == _NEW_TERM).tolist():
            word = (int(frames[index]) >> 3) + 5
            self.openings.append(
                TermRun(
                    term=int(terms[index]),
                    start=segment.position + int(frames[index]),
                    end=NULL_VALUE,
                    base=int(segment.words[word + 3]),
                    leader=int(segment.halves[2 * word + 8]),
                )
            )
        if self.first_term < 0 and self.is_sound:
            self.first_term = int(terms[0])
        self.term = int(terms[-1])


def _first(rules: dict[str, Mask], frames: Ints) -> tuple[str, int] | None:
    """The first rule that the first damaged frame breaks, and the offset of the frame."""
    broken = np.flatnonzero(np.logical_or.reduce(list(rules.values())))
    if not len(broken):
        return None
    return next(reason for reason, mask in rules.items() if mask[broken[0]]), int(frames[broken[0]])


def _data_frames(segment: Segment, frames: Ints) -> Mask:
    lengths, _, kinds, _ = _headers(segment, frames)
    found: Mask = (kinds == _DATA) & (lengths > DATA_HEADER_LENGTH)
    return found


def _agree(
    mine: Segment, offset: int, limit: int, other: Segment, other_offset: int, other_limit: int
) -> int:
    """Compare two segments frame by frame. Return the number of equal bytes of whole frames.

    Notes
    -----
    Session and stream ids are not compared, because a replicated frame has the ids of its replay.
    An archive records only the header of a padding frame; only the header is compared.
    """
    length = min(limit - offset, other_limit - other_offset)
    frames = mine.sound_frames(offset, offset + length)
    if not len(frames) or frames[0] != offset:
        return 0
    _, aligned, kinds, _ = _headers(mine, frames)
    ends = frames + aligned
    whole = int(np.searchsorted(ends, offset + length, "right"))
    for group in range(0, whole, _SMALL):
        part = slice(group, min(group + _SMALL, whole))
        begin, end = int(frames[part][0]), int(ends[part][-1])
        shift = other_offset - offset
        differs = (
            mine.words[begin >> 3 : end >> 3] ^ other.words[begin + shift >> 3 : end + shift >> 3]
        )
        heads = frames[part] - begin >> 3
        differs[heads + 1] &= 0xFFFFFFFF
        differs[heads + 2] &= -1 << 32
        differs[heads + 3] = 0
        for index in np.flatnonzero(kinds[part] == _PADDING).tolist():
            differs[heads[index] + 4 : int(ends[part][index]) - begin >> 3] = 0
        unlike = np.flatnonzero(differs)
        if len(unlike):
            index = int(np.searchsorted(heads, unlike[0], "right")) - 1
            return int(frames[part][index]) - offset
    return int(ends[whole - 1]) - offset if whole else 0


def _messages_of_sessions(segment: Segment, offset: int, limit: int) -> Ints:
    """List the session messages of sound frames.

    Returns
    -------
    numpy.ndarray
        For each message, the offset at which the entry begins, the session, the timestamp, the
        term, and the first eight bytes of the payload, with zeros after a shorter payload.
    """
    frames = segment.sound_frames(offset, limit)
    lengths, _, kinds, flags = _headers(segment, frames)
    frames = frames[(kinds == _DATA) & (flags & _BEGIN != 0) & (lengths >= _HEADED + _TERM_FIELDS)]
    half = frames >> 2
    schema = segment.halves[half + 9] & 0xFFFF
    template = segment.halves[half + 8] >> 16 & 0xFFFF
    frames = frames[(schema == CLUSTER_SCHEMA_ID) & (template == _SESSION_MESSAGE)]
    word, words = (frames >> 3) + 5, segment.words
    size = segment.halves[frames >> 2].astype(np.int64) - (_HEADED + _TERM_FIELDS)
    kept = np.where(size < 8, (np.int64(1) << 8 * np.minimum(size, 7)) - 1, -1)
    payload = words[np.minimum(word + 3, len(words) - 1)] & kept
    return np.column_stack(
        [segment.position + frames, words[word + 1], words[word + 2], words[word], payload]
    )


PAGE: Final = 4096
_IO_BLOCK: Final = 1 << 20
"""The number of bytes that an archive reads at a time, to replay a recording or to find its end.

Source: the default of ``aeron.archive.file.io.max.length``.
"""

_MAX_PROBLEMS: Final = 20
"""The greatest number of damaged places of one log that are kept."""

_MISSING_SEGMENT: Final = "the segment is missing"


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
            return _next_frame(segment, self.recording, offset, until) == offset
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
            until = min(at + _IO_BLOCK, (at // term_length + 1) * term_length)
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
        chunk, until = offset, min(offset + _IO_BLOCK, limit)
        found, offset = _walk(segment, chunk, until)
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
    if checksum and _checksums_match(segment, checksum, last, end, 1):
        return True
    page = ((last - chunk) // PAGE + 1) * PAGE + chunk
    return all(segment.data[at : min(at + PAGE, end)].any() for at in range(page, end, PAGE))


def _checksum_of(log: RecordedLog) -> Checksum | None:
    """The frames' checksum. The archive's files do not name it."""
    for segment, offset, _ in log.parts(log.start, log.start + 1):
        limit = log.recording.segment_file_length
        for checksum in CHECKSUMS.values():
            if _checksums_match(segment, checksum, offset, limit, 3):
                return checksum
    return None


def _check(log: RecordedLog, scan: _Scan) -> None:
    """Check all frames, and keep the damaged places."""
    one, position = log.recording, log.start
    log.sound_end = log.end
    while position < log.end:
        base = log.base(position)
        segment = log.segments.get(base)
        if segment is None:
            until = min([*(other for other in log.segments if other > base), log.end])
            _keep(log, Problem(*log.place(position), position, until, _MISSING_SEGMENT, position))
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
            if reason != _BAD_CHECKSUM:
                # After the gap, the term and the entry are unknown.
                scan.term = scan.entry_start = NULL_VALUE
    if scan.entry_start >= 0 and not log.problems:
        reason = "the last message is not complete: some of its fragments are missing"
        place = log.place(scan.entry_start)
        _keep(log, Problem(*place, scan.entry_start, log.end, reason))


def _keep(log: RecordedLog, problem: Problem) -> None:
    log.sound_end = min(log.sound_end, problem.position)
    if len(log.problems) == _MAX_PROBLEMS:
        # The last place that is kept covers all later ones, so no replay seems to pass them.
        last = log.problems.pop()
        ends = max(last.replay_end, problem.replay_end)
        problem = replace(last, until=problem.until, replay_end=ends, at_message=False)
    log.problems.append(problem)


def _problem(scan: _Scan, segment: Segment, damaged: int, limit: int, reason: str) -> Problem:
    """Describe a damaged frame, and what a replay does there.

    Notes
    -----
    Source: ``ReplaySession.replay``, ``LogAdapter.onMessage``, which refuses messages without a
    schema.
    """
    one, half = scan.recording, damaged >> 2
    is_intact = reason in _CHAIN_IS_INTACT
    begins = int(segment.halves[half + 1]) >> 8 & 0x80
    at_message = (
        (is_intact or reason in (_BAD_TERM_OFFSET, _BAD_TERM_ID))
        and bool(begins)
        and not (segment.halves[half + 9 : half + 10] & 0xFFFF).any()
    )
    if is_intact:
        until = damaged + align(int(segment.halves[half]), FRAME_ALIGNMENT)
    else:
        until = _next_frame(segment, one, damaged + FRAME_ALIGNMENT, limit)
    ends = limit
    if reason == _BAD_CHECKSUM or at_message:
        ends = damaged
    elif not is_intact:
        ends = _replay_end(segment, damaged, limit, one.term_buffer_length)
    return Problem(
        str(segment.path),
        damaged,
        scan.entry_start if scan.entry_start >= 0 else segment.position + damaged,
        segment.position + until,
        reason,
        segment.position + ends if ends < limit else NULL_VALUE,
        at_message,
    )


def _runs(log: RecordedLog, scan: _Scan) -> Iterator[TermRun]:
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
    scan = _Scan(recording, checksum, is_log)
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
        same = _agree(*mine, *theirs)
        at += same
        if same == 0:
            break
    return min(at, end)


def session_messages(log: RecordedLog, start: int, end: int) -> Ints:
    """The session messages between two positions: position, session, timestamp, term, first word.

    Only frames up to ``sound_end`` are read.
    """
    parts = log.parts(start, min(end, log.sound_end))
    found = [_messages_of_sessions(*part) for part in parts]
    return np.concatenate([np.zeros((0, 5), np.int64), *found])

"""The recording of the log: its segments, where it ends, and which entries and terms it holds.

Every frame is looked at once. What is wrong with a frame is kept with its file and offset; the
consequence for the member is said in `canvass.disks.soundness`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from canvass.disks import kernels
from canvass.disks.files import Bytes, read_segment
from canvass.disks.findings import DiskError
from canvass.disks.kernels import Halves, Ints, Table, Words
from canvass.disks.layouts import (
    CLUSTER_SCHEMA_ID,
    NULL_VALUE,
)
from canvass.disks.small_files import Recording

PAGE: Final = 4096
CHUNK: Final = 1 << 20
"""How much an archive reads at a time to find the end of a recording (``FILE_IO_MAX_LENGTH``)."""

MAX_PROBLEMS: Final = 20
"""Damaged places of one log that are kept."""

_REASONS: Final = {
    kernels.NO_FRAME: "zeros stand where a frame should begin",
    kernels.BAD_LENGTH: "the frame length is impossible",
    kernels.BAD_TYPE: "the frame is of no known version and type",
    kernels.BAD_TERM_OFFSET: "the frame bears another term offset than that of its place",
    kernels.BAD_TERM_ID: "the frame bears another term id than that of its place",
    kernels.BEYOND: "the frame reaches beyond its term or the end of the recording",
    kernels.BAD_FRAGMENT: "the fragments of a message are not complete",
    kernels.BAD_MESSAGE: "the frame holds no message of a cluster's log",
    kernels.OTHER_TERM: "the entry bears another leadership term than the one open before it",
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


REPLAY_BLOCK: Final = 1 << 20
"""Bytes that an archive replays at a time (default of ``aeron.archive.file.io.max.length``)."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A damaged place: from ``position`` on the log cannot be trusted, up to ``until``.

    ``replay_end`` is where a replay ends because of it, or -1. The archive ends one, with the whole
    block, for a frame's length, type or checksum; the consensus module, ``at_message``, for a
    message of no schema.
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
    """The bytes that one leader appended, as a log holds them.

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
    end
        Where the log ends for an archive that starts on these files.
    sound_end
        Up to where every frame is sound; at most ``end``.
    refuses
        The file because of which the archive refuses to start, or empty.
    """

    recording: Recording
    segments: dict[int, SegmentData]
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
        """Where the recording starts; what was before has been purged."""
        return self.recording.start_position

    def place(self, position: int) -> tuple[str, int]:
        """The file of a log position and the offset in it."""
        one = self.recording
        first = one.first_segment
        base = first + (position - first) // one.segment_file_length * one.segment_file_length
        found = self.segments.get(base)
        name = f"{one.recording_id}-{base}.rec" if found is None else str(found.path)
        return name, position - base

    def parts(self, start: int, end: int) -> Iterator[tuple[SegmentData, int, int]]:
        """The segments between two positions, each with the offsets to read; up to a gap."""
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
        """Up to where a replay from a position on goes: to the end, or to the next damage."""
        stop = self._stops_replay(start)
        return self.end if stop is None else stop.replay_end

    def _stops_replay(self, start: int) -> Problem | None:
        """The damage at which a replay from a position on ends."""
        ends = (one for one in self.problems if start <= one.replay_end < self.end)
        return min(ends, key=lambda one: one.replay_end, default=None)

    def replayed(self, start: int) -> int:
        """Up to where the consensus module gets a replay from a position on.

        Of a block with damage in it the archive sends nothing. A block ends with its term buffer.

        Notes
        -----
        Source: ``ReplaySession.replay``, ``readRecording``.
        """
        stop, at, term_length = self._stops_replay(start), start, self.recording.term_buffer_length
        if stop is None or stop.at_message:
            return self.replay_end(start)
        while True:
            until = min(at + REPLAY_BLOCK, (at // term_length + 1) * term_length)
            if until > stop.replay_end:
                return at
            at = until

    def term_at(self, position: int) -> TermRun | None:
        """The run that holds the byte after a position."""
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
    """Find where an archive says that the recording ends.

    Notes
    -----
    The catalog says it, unless the archive was killed. Then the frames of the last segment are
    followed; if the last one crosses a page and nothing is behind that, the archive does not start.
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
    chunk = offset = begin
    last = begin
    while offset < limit:
        chunk = offset
        offset, last = kernels.frame_end(segment.halves, chunk, min(chunk + CHUNK, limit))
        if offset < min(chunk + CHUNK, limit):
            break
    offset = min(offset, limit)
    log.end, log.end_file = max(base + offset, one.start_position), str(segment.path)
    crosses = offset > last and last // PAGE != (offset - 1) // PAGE
    if crosses and not _is_whole(segment, checksum, last, offset, chunk):
        log.refuses = str(segment.path)
        log.last_frame = base + last


def _is_whole(segment: SegmentData, checksum: Table, last: int, end: int, chunk: int) -> bool:
    """Whether an archive takes the last frame, which crosses a page, for completely written."""
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
    """Which checksum the frames bear; an archive is configured with it, no file says it."""
    for segment, offset, limit in log.parts(log.start, log.start + 1):
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
        """Go on behind a gap: which term is open is not known there."""
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
            log.problems.append(found)

    def _segment(self, segment: SegmentData, offset: int) -> int:
        """Scan a segment from an offset; give the position to go on at."""
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
            position = segment.position + damaged
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
        """Whether the archive replays a damaged frame, and its message is of no schema."""
        head = damaged >> 2
        begins = int(segment.halves[head + 1]) >> 8 & 0x80
        whole = _CHAIN_IS_INTACT | {kernels.BAD_TERM_OFFSET, kernels.BAD_TERM_ID}
        return reason in whole and bool(begins) and not int(segment.halves[head + 9]) & 0xFFFF

    def _replay_end(self, segment: SegmentData, damaged: int, limit: int, reason: int) -> int:
        """Where a replay ends because of a damaged frame; -1 if it goes on to the segment's end.

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
    """Read a recording and look at every frame of it.

    Parameters
    ----------
    recording
        Its entry in the catalog.
    paths
        Its segments by the positions at which they begin.
    is_log
        Whether it is a cluster's log; else only frames are looked at, not what they hold.

    Raises
    ------
    DiskError
        If the catalog's entry is impossible, or a segment cannot be read.
    """
    wrong = recording.geometry_error
    if wrong:
        raise DiskError(f"recording {recording.recording_id}", -1, wrong)
    log = RecordedLog(recording, _load(recording, paths))
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
    """The position up to which two logs hold the same, as far as both can be compared.

    Notes
    -----
    What one of them has purged counts as agreed. It is at most the ``sound_end`` of either.
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

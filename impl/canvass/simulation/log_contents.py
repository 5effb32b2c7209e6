"""The contents of a log, for safety monitors: the term of each byte, or each entry with its end.

A term has one leader and one base, so a term and a position identify a byte. The log of a core
alone is a tuple of `Segment`. `EntryLog` follows a recording, entry by entry. Safety monitors see
both as a `RecordedLog`.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self, TypeAlias

from canvass.archive.recording import Recording
from canvass.log.entries import leadership_term_of


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: its end, its term, and the checksum of the log up to its end."""

    end: int
    term: int
    checksum: int


class RecordedLog(Protocol):
    """A recorded log."""

    @property
    def end(self) -> int:
        """The position at which the log ends."""
        ...

    def at(self, position: int) -> Entry | None:
        """The entry that ends at a position, or None."""
        ...

    def between(self, start: int, end: int) -> Sequence[Entry]:
        """The entries that end beyond ``start``, up to ``end``."""
        ...

    def agreement(self, other: Self) -> int:
        """The length of the longest common prefix with another log."""
        ...

    def extend(self, other: Self, position: int) -> None:
        """Continue the log up to a position with the entries of another log."""
        ...


class EntryLog:
    """A log as a list of entries, which can be continued and truncated."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._ends: list[int] = []

    @property
    def end(self) -> int:
        """See `RecordedLog`."""
        return self._ends[-1] if self._ends else 0

    def append(self, entries: Sequence[Entry]) -> None:
        """Append entries."""
        self._entries += entries
        self._ends += [entry.end for entry in entries]

    def cut(self, position: int) -> None:
        """Drop all entries that end beyond a position."""
        keep = bisect_right(self._ends, position)
        del self._entries[keep:], self._ends[keep:]

    def at(self, position: int) -> Entry | None:
        """See `RecordedLog`."""
        index = bisect_left(self._ends, position)
        if index < len(self._ends) and self._ends[index] == position:
            return self._entries[index]
        return None

    def between(self, start: int, end: int) -> Sequence[Entry]:
        """See `RecordedLog`."""
        return self._entries[bisect_right(self._ends, start) : bisect_right(self._ends, end)]

    def agreement(self, other: EntryLog) -> int:
        """See `RecordedLog`. Equal checksums at a position mean equal logs up to it."""
        shared = min(self.end, other.end)
        if self.at(shared) == other.at(shared) is not None:
            return shared
        agreed = bisect_left(self._entries, True, key=lambda entry: other.at(entry.end) != entry)
        return self._ends[agreed - 1] if agreed else 0

    def extend(self, other: EntryLog, position: int) -> None:
        """See `RecordedLog`."""
        self.append(other.between(self.end, position))

    def follow(self, recording: Recording, position: int) -> None:
        """Become a copy of a recording up to a position."""
        self.cut(position)
        while self._entries and recording.checksum(self.end) != self._entries[-1].checksum:
            self.cut(self.end - 1)
        if self.end < position:
            self.append(
                [
                    Entry(frame.end, leadership_term_of(frame.payload), frame.checksum)
                    for frame in recording.replay(self.end, position)
                ]
            )

    def __len__(self) -> int:
        return len(self._entries)


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive bytes of one term, from ``start`` to ``end``.

    ``base`` is where the term begins in its leader's log, with its NewLeadershipTermEvent. A
    segment that starts later does not have that entry.
    """

    term: int
    base: int
    start: int
    end: int


Log: TypeAlias = tuple[Segment, ...]


def length(log: Log) -> int:
    """The position at which a log ends."""
    return log[-1].end if log else 0


def cut(log: Log, position: int) -> Log:
    """The log up to a position."""
    return tuple(
        segment if segment.end <= position else replace(segment, end=position)
        for segment in log
        if segment.start < position
    )


def append(log: Log, segment: Segment) -> Log:
    """The log continued with a segment, which is merged with the last one if the term is equal."""
    if segment.start != length(log):
        raise ValueError(f"bytes from {segment.start} do not follow a log up to {length(log)}")
    if segment.start >= segment.end:
        return log
    if log and log[-1].term == segment.term:
        return (*log[:-1], replace(log[-1], end=segment.end))
    return (*log, segment)


def copy(log: Log, source: Log, position: int) -> Log:
    """The log continued up to a position with the bytes of another log."""
    for segment in cut(source, position):
        start = length(log)
        if segment.end > start:
            log = append(log, replace(segment, start=max(start, segment.start)))
    return log


def segment_at(log: Log, position: int) -> Segment | None:
    """The segment that holds the byte after a position, or None at the log's end."""
    return next((segment for segment in log if segment.start <= position < segment.end), None)


def agreement(a: Log, b: Log) -> int:
    """The length of the longest common prefix of two logs."""
    agreed = 0
    for mine in a:
        theirs = segment_at(b, agreed)
        while theirs is not None and agreed < mine.end and theirs.term == mine.term:
            agreed = min(mine.end, theirs.end)
            theirs = segment_at(b, agreed)
        if agreed < mine.end:
            break
    return agreed


def checksum(log: Log, position: int) -> int:
    """A checksum of 64 bits of the log up to a position; equal logs have equal checksums."""
    text = ",".join(f"{part.term}:{part.start}-{part.end}" for part in cut(log, position))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


class SegmentLog:
    """The log of a core alone as a `RecordedLog`, in which every byte is an entry."""

    def __init__(self, log: Log = ()) -> None:
        self.log = log

    @property
    def end(self) -> int:
        """See `RecordedLog`."""
        return length(self.log)

    def at(self, position: int) -> Entry | None:
        """See `RecordedLog`."""
        segment = segment_at(self.log, position - 1)
        if segment is None:
            return None
        return Entry(position, segment.term, checksum(self.log, position))

    def between(self, start: int, end: int) -> Sequence[Entry]:
        """See `RecordedLog`. Only the last entry of each term is returned."""
        ends = [part.end for part in cut(self.log, end) if part.end > start]
        return [entry for position in ends if (entry := self.at(position)) is not None]

    def agreement(self, other: SegmentLog) -> int:
        """See `RecordedLog`."""
        return agreement(self.log, other.log)

    def extend(self, other: SegmentLog, position: int) -> None:
        """See `RecordedLog`."""
        self.log = copy(self.log, other.log, position)

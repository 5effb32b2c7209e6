"""What a safety monitor sees of a recorded log: where it ends, and which entry ends where.

`EntryLog` follows a recording, entry by entry. A log of bare cores knows each byte's term instead
(`canvass.simulation.log_contents.SegmentLog`).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from canvass.archive.recording import Recording
from canvass.log.messages import leadership_term_of


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: where it ends, the term that wrote it, and the log's checksum there."""

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
        """The entries that end beyond one position and not beyond another."""
        ...

    def agreement(self, other: Self) -> int:
        """The length of the longest common prefix with another log."""
        ...

    def extend(self, other: Self, position: int) -> None:
        """Continue the log up to a position with what another holds beyond its own end."""
        ...


class EntryLog:
    """A log that can be continued and cut."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._ends: list[int] = []

    @property
    def end(self) -> int:
        """See `RecordedLog`."""
        return self._ends[-1] if self._ends else 0

    def append(self, entries: Sequence[Entry]) -> None:
        """Put entries at the end."""
        self._entries += entries
        self._ends += [entry.end for entry in entries]

    def cut(self, position: int) -> None:
        """Drop what lies beyond a position, an entry that it is in the middle of included."""
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
        """See `RecordedLog`; equal checksums at one position are those of equal prefixes."""
        shared = min(self.end, other.end)
        if self.at(shared) == other.at(shared) is not None:
            return shared
        agreed = bisect_left(self._entries, True, key=lambda entry: other.at(entry.end) != entry)
        return self._ends[agreed - 1] if agreed else 0

    def extend(self, other: EntryLog, position: int) -> None:
        """See `RecordedLog`."""
        self.append(other.between(self.end, position))

    def follow(self, recording: Recording, position: int) -> None:
        """Become what a recording holds up to a position."""
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

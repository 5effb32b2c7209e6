"""What the safety monitor knows of a recorded log: its entries, without their contents.

Each entry has a checksum of the whole log up to its end, so that two logs whose entries at one
position are equal are the same up to there. What members record does not belong here.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from canvass.archive.recording import Recording
from canvass.log.messages import leadership_term_of


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: where it ends, the term that wrote it, and the log's checksum there."""

    end: int
    term: int
    checksum: int


class EntryLog:
    """A log that can be continued and cut."""

    def __init__(self, entries: Sequence[Entry] = ()) -> None:
        self._entries = list(entries)
        self._ends = [entry.end for entry in entries]

    @property
    def end(self) -> int:
        """The position at which the log ends."""
        return self._ends[-1] if self._ends else 0

    @property
    def last(self) -> Entry | None:
        """The last entry, or None if there is none."""
        return self._entries[-1] if self._entries else None

    def append(self, entries: Sequence[Entry]) -> None:
        """Put entries at the end."""
        self._entries += entries
        self._ends += [entry.end for entry in entries]

    def cut(self, position: int) -> None:
        """Drop what lies beyond a position, an entry that it is in the middle of included."""
        keep = bisect_right(self._ends, position)
        del self._entries[keep:], self._ends[keep:]

    def at(self, position: int) -> Entry | None:
        """The entry that ends at a position, or None."""
        index = bisect_left(self._ends, position)
        if index < len(self._ends) and self._ends[index] == position:
            return self._entries[index]
        return None

    def between(self, start: int, end: int) -> Sequence[Entry]:
        """The entries that end beyond one position and not beyond another."""
        return self._entries[bisect_right(self._ends, start) : bisect_right(self._ends, end)]

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

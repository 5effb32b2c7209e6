"""What simulated logs hold: entries, each with a checksum of the whole log up to its end.

Two logs whose entries at one position have the same checksum are the same up to there. What moves
entries from one log to another does not belong here.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_MASK: Final = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: where it ends, the term that wrote it, what it holds, the log's checksum."""

    end: int
    term: int
    content: int
    """Stands for the bytes: a number that no other entry has."""
    checksum: int
    snapshot: bool = False
    """Whether it asks for a snapshot."""


def following(
    last: Entry | None, end: int, term: int, content: int, *, snapshot: bool = False
) -> Entry:
    """The entry that a leader writes after another one.

    Parameters
    ----------
    last
        The entry before, or None at the start of the log.
    end, term
        Of the new entry.
    content, snapshot
        What it holds.
    """
    mixed = (0 if last is None else last.checksum) ^ (content * 0x9E3779B97F4A7C15)
    for more in (end, term):  # Steps of splitmix64.
        mixed = (mixed + more * 0xBF58476D1CE4E5B9 + 0x94D049BB133111EB) & _MASK
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed ^= mixed >> 27
    return Entry(end, term, content, mixed, snapshot)


def copied(last: Entry | None, source_last: Entry | None, entries: Sequence[Entry]) -> list[Entry]:
    """Entries as they stand in another log, after that log's last entry.

    Where the two logs differ before, so do the checksums.
    """
    if last == source_last:
        return list(entries)
    chained = []
    for entry in entries:
        last = following(last, entry.end, entry.term, entry.content, snapshot=entry.snapshot)
        chained.append(last)
    return chained


class EntryLog:
    """A log that can be continued and cut."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._ends: list[int] = []

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

    def after(self, position: int, limit: int) -> Sequence[Entry]:
        """The entries after a position at which one ends, so many at most."""
        index = bisect_right(self._ends, position)
        return self._entries[index : index + limit]

    def between(self, start: int, end: int) -> Sequence[Entry]:
        """The entries that end beyond one position and not beyond another."""
        return self._entries[bisect_right(self._ends, start) : bisect_right(self._ends, end)]

    def opens_term(self, position: int) -> bool:
        """Whether the entry that begins at a position is the first of its term in this log."""
        index = bisect_right(self._ends, position)
        if index >= len(self._entries):
            return False
        return index == 0 or self._entries[index - 1].term != self._entries[index].term

    def __len__(self) -> int:
        return len(self._entries)

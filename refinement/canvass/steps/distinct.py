"""Distinct rows of integers, numbers of distinct keys, and tables of keys.

A `KeyTable` is a sorted array of 128-bit keys beside the numbers of the edges, in two ``.npy``
files. The files are memory-mapped: all processes of a machine share their pages.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from canvass.traces.columns import Ints

KEYS_FILE: Final = "keys.npy"
EDGES_FILE: Final = "key-edges.npy"


class KeyTable:
    """Keys in ascending order, and for each the number of an edge that has it."""

    def __init__(
        self, keys: NDArray[np.uint64], edges: NDArray[np.int64], folder: Path | None = None
    ) -> None:
        self._first = keys[0]
        self._second = keys[1]
        self.edges = edges
        self._folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the name of the folder instead of the arrays, if there is a folder."""
        if self._folder is not None:
            return KeyTable.open, (self._folder,)
        return KeyTable, (np.stack([self._first, self._second]), self.edges)

    def __len__(self) -> int:
        """Count the keys."""
        return len(self.edges)

    @property
    def keys(self) -> NDArray[np.uint64]:
        """The keys, one for each row."""
        return np.stack([self._first, self._second], axis=1)

    @classmethod
    def build(cls, keys: NDArray[np.uint64], edges: NDArray[np.int64]) -> KeyTable:
        """Make a table of the keys of edges, one for each row; of equal keys the first stays."""
        order = np.lexsort((keys[:, 1], keys[:, 0]))
        ordered = np.ascontiguousarray(keys[order].T)
        fresh = np.ones(len(order), dtype=np.bool_)
        fresh[1:] = (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)
        return cls(np.ascontiguousarray(ordered[:, fresh]), edges[order][fresh])

    @classmethod
    def open(cls, folder: Path) -> KeyTable:
        """Map a table that `save` wrote."""
        return cls(
            np.load(folder / KEYS_FILE, mmap_mode="r"),
            np.load(folder / EDGES_FILE, mmap_mode="r"),
            folder,
        )

    def save(self, folder: Path) -> None:
        """Write the table to a folder."""
        np.save(folder / KEYS_FILE, np.stack([self._first, self._second]))
        np.save(folder / EDGES_FILE, self.edges)

    def lookup(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Give the edge of each key, -1 for a key that no edge has."""
        out = np.full(len(keys), -1, dtype=np.int64)
        if not len(self):
            return out
        # Keys with the same first half are neighbours. They are extremely rare, so the loop nearly
        # always ends after its first round.
        at = np.searchsorted(self._first, keys[:, 0])
        open_rows = np.arange(len(keys))
        while len(open_rows):
            inside = at < len(self)
            open_rows, at = open_rows[inside], at[inside]
            same = self._first[at] == keys[open_rows, 0]
            open_rows, at = open_rows[same], at[same]
            hit = self._second[at] == keys[open_rows, 1]
            out[open_rows[hit]] = self.edges[at[hit]]
            open_rows, at = open_rows[~hit], at[~hit] + 1
        return out


Keys = NDArray[np.uint64]

_LARGEST_CODE: Final = 1 << 62


def offsets_of(counts: Any) -> Ints:
    """Give where each of several lists begins and ends, if they are joined: 0 first, then sums."""
    return np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))


def places_of(offsets: Ints, rows: NDArray[np.integer]) -> Ints:
    """Give the places of all items of some lists, one list after another.

    Parameters
    ----------
    offsets
        As `offsets_of` gives them for all lists.
    rows
        The numbers of the lists.
    """
    starts = offsets[rows]
    sizes = offsets[np.asarray(rows) + 1] - starts
    moved = offsets_of(sizes)
    places: Ints = np.arange(moved[-1]) + np.repeat(starts - moved[:-1], sizes)
    return places


def distinct_rows(rows: NDArray[np.integer]) -> tuple[Ints, Ints]:
    """Find the distinct rows of a matrix.

    Parameters
    ----------
    rows
        Integers of any sign. Columns with a small range are faster.

    Returns
    -------
    tuple
        The first row of each distinct row, ascending by content, and for each row the place of its
        equal among them.
    """
    code = np.zeros(len(rows), dtype=np.int64)
    size = 1
    for column in rows.T:
        least = int(column.min(initial=0))
        width = int(column.max(initial=0)) - least + 1
        if size * width > _LARGEST_CODE:
            found, code = np.unique(code, return_inverse=True)
            size = len(found)
        if size * width > _LARGEST_CODE:
            found, column = np.unique(column, return_inverse=True)
            least, width = 0, len(found)
        code = code * width + (column.astype(np.int64) - least)
        size *= width
    _, first, places = np.unique(code, return_index=True, return_inverse=True)
    return first, places.reshape(-1)


class DistinctKeys:
    """Numbers distinct keys 0, 1, ... in the order of their first occurrence."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self.keys: Keys = np.empty((0, 2), dtype=np.uint64)
        """The distinct keys in the order of their numbers."""

    def __len__(self) -> int:
        """Count the distinct keys."""
        return len(self.keys)

    def number(self, keys: Keys, wanted: NDArray[np.bool_]) -> Ints:
        """Give the number of each wanted key, -1 for the others; new keys get new numbers."""
        rows = np.flatnonzero(wanted)
        own = keys[rows]
        _, first, places = np.unique(own[:, 0], return_index=True, return_inverse=True)
        if (own[first[places], 1] != own[:, 1]).any():  # Two keys share a half: very rare.
            first, places = distinct_rows(own)
        known, count = self._numbers, len(self)
        by_place = np.empty(len(first), dtype=np.int64)
        for place in np.argsort(first).tolist():
            by_place[place] = known.setdefault(own[first[place]].tobytes(), len(known))
        fresh = first[by_place >= count]
        self.keys = np.concatenate([self.keys, own[np.sort(fresh)]])
        numbers = np.full(len(keys), -1, dtype=np.int64)
        numbers[rows] = by_place[places]
        return numbers

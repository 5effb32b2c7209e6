"""Distinct rows of integers, and numbers for distinct keys as they come."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
Ints = NDArray[np.int64]

_LARGEST_CODE: Final = 1 << 62


def distinct_rows(rows: NDArray[np.integer]) -> tuple[Ints, Ints]:
    """Find the distinct rows of a matrix.

    Parameters
    ----------
    rows
        Integers of any sign; faster the closer together those of a column are.

    Returns
    -------
    tuple
        The first row of each distinct one, ascending by content, and for each row the place of its
        equal among those.
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
    """Numbers distinct keys 0, 1, ... in the order in which they come first."""

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
        if (own[first[places], 1] != own[:, 1]).any():  # Keys that share a half: hardly ever.
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

"""Distinct rows of small numbers: which row has each first, and which of them each row is."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from canvass.steps.jit import kernel

Keys = NDArray[np.uint64]

_FIRST_SLOTS: Final = 1 << 12


@kernel("keys")
def _intern(keys: Any, wanted: Any, slots: Any, known: Any, count: int, numbers: Any) -> int:
    mask = len(slots) - 1
    for row in range(len(keys)):
        if not wanted[row]:
            numbers[row] = -1
            continue
        first, second = keys[row, 0], keys[row, 1]
        at = np.int64(first ^ (second >> np.uint64(7))) & mask
        while True:
            found = slots[at]
            if found < 0:
                slots[at] = count
                known[count, 0] = first
                known[count, 1] = second
                numbers[row] = count
                count += 1
                break
            if known[found, 0] == first and known[found, 1] == second:
                numbers[row] = found
                break
            at = (at + 1) & mask
    return count


@kernel("known")
def _rehash(slots: Any, known: Any, count: int) -> None:
    mask = len(slots) - 1
    for number in range(count):
        at = np.int64(known[number, 0] ^ (known[number, 1] >> np.uint64(7))) & mask
        while slots[at] >= 0:
            at = (at + 1) & mask
        slots[at] = number


class DistinctKeys:
    """Numbers distinct keys 0, 1, ... in the order in which they come first."""

    def __init__(self) -> None:
        self._slots = np.full(_FIRST_SLOTS, -1, dtype=np.int64)
        self._known = np.zeros((_FIRST_SLOTS // 2, 2), dtype=np.uint64)
        self.count = 0

    def __len__(self) -> int:
        """Count the distinct keys."""
        return self.count

    @property
    def keys(self) -> Keys:
        """The distinct keys in the order of their numbers."""
        return self._known[: self.count]

    def number(self, keys: Keys, wanted: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Give the number of each wanted key, -1 for the others; new keys get new numbers."""
        self._reserve(self.count + int(np.count_nonzero(wanted)))
        numbers = np.empty(len(keys), dtype=np.int64)
        self.count = _intern(keys, wanted, self._slots, self._known, self.count, numbers)
        return numbers

    def _reserve(self, count: int) -> None:
        if count <= len(self._known):
            return
        size = len(self._slots)
        while size // 2 < count:
            size *= 2
        grown = np.zeros((size // 2, 2), dtype=np.uint64)
        grown[: self.count] = self.keys
        self._known = grown
        self._slots = np.full(size, -1, dtype=np.int64)
        _rehash(self._slots, self._known, self.count)


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

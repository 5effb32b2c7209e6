"""Distinct rows of small numbers: which row has each first, and which of them each row is."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

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

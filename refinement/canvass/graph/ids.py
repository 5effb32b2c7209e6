"""State ids: 16 bytes each, in ascending order; which row has one, or begins so."""

from __future__ import annotations

import re
from typing import Final

import numpy as np
from numpy.typing import NDArray

from canvass.graph.errors import GraphError

ID_BYTES: Final = 16
_DIGITS: Final = 2 * ID_BYTES
_PREFIX: Final = re.compile(r"[0-9a-fA-F]{1,32}", re.ASCII)


def find_row(ids: NDArray[np.uint8], prefix: str) -> int | None:
    """Give the row of the state with a hexadecimal id, or with an id that begins so.

    Parameters
    ----------
    ids
        Ascending, one for each row.
    prefix
        Up to 32 hexadecimal digits.

    Raises
    ------
    GraphError
        If the text is no beginning of an id, or several states have it.
    """
    if not _PREFIX.fullmatch(prefix):
        raise GraphError(f"not a state id: {ascii(prefix)[:60]}")
    first = _place(ids, bytes.fromhex(prefix.ljust(_DIGITS, "0")), after=False)
    end = _place(ids, bytes.fromhex(prefix.ljust(_DIGITS, "f")), after=True)
    if end - first > 1:
        raise GraphError(f"{end - first} states have an id that begins with {prefix}")
    return first if end > first else None


def _place(ids: NDArray[np.uint8], wanted: bytes, *, after: bool) -> int:
    """Count the ids below ``wanted``; with ``after``, those that equal it, too."""
    low, high = 0, len(ids)
    while low < high:
        middle = (low + high) // 2
        found = ids[middle].tobytes()
        if found < wanted or (after and found == wanted):
            low = middle + 1
        else:
            high = middle
    return low

"""Arrays as long as a run. Large ones are files, so that a run of any length can be checked.

Their rows are processed in windows, mostly one after the other. The operating system writes the
pages of the file back when memory is short. No other process sees the file.
"""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterator
from math import prod
from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

FILE_BYTES: Final = 1 << 24
"""Arrays of this size or more are files."""
WINDOW: Final = 1 << 20
"""Rows of one window."""


def long_array(shape: int | tuple[int, ...], kind: DTypeLike) -> NDArray[Any]:
    """Give an array of zeros that can be written to; a large one is a file in the folder TMPDIR.

    Raises
    ------
    OSError
        If there is no room for the file.
    """
    lengths = (shape,) if isinstance(shape, int) else shape
    size = prod(lengths) * np.dtype(kind).itemsize
    if size < FILE_BYTES or not size:
        return np.zeros(lengths, dtype=kind)
    with tempfile.TemporaryFile(prefix="canvass-run-") as file:
        file.truncate(size)
        pages = mmap.mmap(file.fileno(), size)
    return np.frombuffer(pages, dtype=kind).reshape(lengths)


def windows(count: int) -> Iterator[slice]:
    """Split ``count`` rows into consecutive windows."""
    for first in range(0, count, WINDOW):
        yield slice(first, min(first + WINDOW, count))

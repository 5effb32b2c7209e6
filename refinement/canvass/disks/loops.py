"""The loops that no library has: CRC-32C, and the way from frame to frame. numba compiles them."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import cache
from typing import Final, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Checksum = Callable[[bytes | memoryview], int]

_Loop = TypeVar("_Loop", bound=Callable[..., object])


def _compiled(loop: _Loop) -> _Loop:
    """Compile a loop at its first call. Without numba, the loop stays as it is."""

    @cache
    def machine_code() -> Callable[..., object]:
        try:
            import numba  # The import takes 50 MiB and half a second.
        except ImportError:
            return loop
        return cast(_Loop, numba.njit(cache=True, nogil=True)(loop))

    return cast(_Loop, lambda *args: machine_code()(*args))


def _crc32c_table() -> NDArray[np.uint32]:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ np.uint32(0x82F63B78), table >> 1)
    return table


_TABLE: Final = _crc32c_table()


@_compiled
def _crc32c(table: NDArray[np.uint32], data: NDArray[np.uint8]) -> int:
    value = np.uint32(0xFFFFFFFF)
    for byte in data:
        value = table[(value ^ byte) & np.uint32(0xFF)] ^ (value >> np.uint32(8))
    return int(value ^ np.uint32(0xFFFFFFFF))


def crc32c(data: bytes | memoryview) -> int:
    """The CRC-32C of some bytes."""
    return int(_crc32c(_TABLE, np.frombuffer(data, np.uint8)))


CHECKSUMS: Final[dict[str, Checksum]] = {"CRC-32": zlib.crc32, "CRC-32C": crc32c}
"""The checksums with which an archive may be configured."""


@_compiled
def follow(halves: NDArray[np.int32], offset: int, limit: int, found: Ints) -> tuple[int, int]:
    """Go from frame to frame by their lengths alone.

    ``found`` is filled with the offsets of the frames that begin before ``limit``.

    Returns
    -------
    tuple of int
        The number of frames, and the end of the last one.
    """
    count = 0
    while offset < limit and halves[offset >> 2] > 0:
        found[count] = offset
        count += 1
        offset += (int(halves[offset >> 2]) + 31) & ~31
    return count, offset

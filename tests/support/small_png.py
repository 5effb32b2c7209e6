"""PNG pictures made small: at most 256 colours, packed as tightly as zlib can.

Chromium writes pictures quickly rather than small, and the soft edges of lines have thousands of
colours; rare ones become the nearest frequent one, which no eye sees.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numba
import numpy as np

_COLOURS = 256


def small(picture: bytes) -> bytes:
    """Give an RGB picture of 8 bits a channel as one with a palette."""
    width, height, pixels = decoded(picture)
    codes = pixels.reshape(-1, 3).astype(np.int64) @ np.array([65536, 256, 1])
    known, place, count = np.unique(codes, return_inverse=True, return_counts=True)
    frequent = np.sort(known[np.argsort(-count, kind="stable")[:_COLOURS]])
    palette = np.stack([frequent >> 16, frequent >> 8 & 255, frequent & 255], axis=1)
    colours = np.stack([known >> 16, known >> 8 & 255, known & 255], axis=1)
    nearest = np.concatenate(
        [
            ((part[:, None, :] - palette[None]) ** 2).sum(axis=2).argmin(axis=1)
            for part in np.array_split(colours, max(1, len(colours) // 1000))
        ]
    )
    indexed = nearest[place].astype(np.uint8).reshape(height, width)
    rows = np.concatenate([np.zeros((height, 1), np.uint8), indexed], axis=1)
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            _chunk(b"PLTE", palette.astype(np.uint8).tobytes()),
            _chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)),
            _chunk(b"IEND", b""),
        )
    )


def decoded(picture: bytes) -> tuple[int, int, Any]:
    """Give width, height and pixels of an RGB picture of 8 bits a channel."""
    width, height, depth, kind = struct.unpack(">IIBB", picture[16:26])
    assert (depth, kind) == (8, 2)
    at, packed = 8, b""
    while at < len(picture):
        (length,) = struct.unpack(">I", picture[at : at + 4])
        if picture[at + 4 : at + 8] == b"IDAT":
            packed += picture[at + 8 : at + 8 + length]
        at += 12 + length
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + 3 * width)
    return width, height, _unfiltered(rows[:, 0].copy(), rows[:, 1:].copy()).reshape(height, -1, 3)


def _chunk(name: bytes, content: bytes) -> bytes:
    return (
        struct.pack(">I", len(content))
        + name
        + content
        + struct.pack(">I", zlib.crc32(name + content))
    )


@numba.njit
def _unfiltered(filters: Any, rows: Any) -> Any:
    """Undo what each row was filtered with, as the format defines it."""
    for y in range(rows.shape[0]):
        for x in range(rows.shape[1]):
            a = int(rows[y, x - 3]) if x >= 3 else 0
            b = int(rows[y - 1, x]) if y > 0 else 0
            c = int(rows[y - 1, x - 3]) if x >= 3 and y > 0 else 0
            kind = filters[y]
            if kind == 0:
                add = 0
            elif kind == 1:
                add = a
            elif kind == 2:
                add = b
            elif kind == 3:
                add = (a + b) // 2
            else:
                pa, pb, pc = abs(b - c), abs(a - c), abs(a + b - 2 * c)
                add = a if pa <= pb and pa <= pc else b if pb <= pc else c
            rows[y, x] = (int(rows[y, x]) + add) & 255
    return rows

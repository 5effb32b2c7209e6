"""Frames: how entries stand in a recording, each with checks of itself and of all before it.

A frame begins at a multiple of 32 bytes: a header of 32 bytes, the entry, zeros up to the next
multiple. The header holds the frame's length, a CRC of everything after it, the position at which
the frame begins, the checksum of the recording from its start up to the frame's end, how many bytes
before the frame were not synced when it was written, and the recording's id. So a recovery can
distinguish a tail that a crash tore off, which no member was promised, from damage to synced data.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final
from zlib import crc32

from canvass.log.messages import FRAME_ALIGNMENT, FRAME_HEADER_LENGTH

HEADER: Final = struct.Struct("<iIqQII")
"""Length, CRC, position, checksum, bytes not synced before it, recording id."""
_CRC_FROM: Final = 8
_CHAINED: Final = struct.Struct("<Qq")
MAX_FRAME_LENGTH: Final = 16 << 20
"""Aeron's greatest message has 16 MiB, too."""

assert HEADER.size == FRAME_HEADER_LENGTH


@dataclass(frozen=True, slots=True)
class Frame:
    """One entry of a recording."""

    position: int
    """Where it begins."""
    end: int
    """Where it ends, with padding."""
    payload: bytes
    checksum: int
    """Of the recording up to the end."""
    unsynced: int = 0
    """How many bytes before it were not synced when it was written."""


def aligned(length: int) -> int:
    """The length with padding."""
    return (length + FRAME_ALIGNMENT - 1) // FRAME_ALIGNMENT * FRAME_ALIGNMENT


def chained(checksum: int, position: int, payload: bytes) -> int:
    """The checksum of a recording that goes on with an entry at a position."""
    mixed = blake2b(_CHAINED.pack(checksum, position), digest_size=8)
    mixed.update(payload)
    return int.from_bytes(mixed.digest(), "little")


def encode_frame(frame: Frame, recording_id: int) -> bytes:
    """Write a frame, with its padding.

    Raises
    ------
    ValueError
        If the entry is too long.
    """
    length = FRAME_HEADER_LENGTH + len(frame.payload)
    if length > MAX_FRAME_LENGTH:
        raise ValueError(f"an entry of {len(frame.payload)} bytes is too long")
    header = HEADER.pack(length, 0, frame.position, frame.checksum, frame.unsynced, recording_id)
    crc = crc32(frame.payload, crc32(memoryview(header)[_CRC_FROM:]))
    padding = bytes(aligned(length) - length)
    return b"".join((header[:4], crc.to_bytes(4, "little"), header[8:], frame.payload, padding))


def decode_frame(
    data: bytes | bytearray, offset: int, position: int, recording_id: int
) -> Frame | None:
    """Read the frame that begins at an offset of some bytes, or None if a whole one does not.

    Parameters
    ----------
    data, offset
        The bytes, and where to begin.
    position, recording_id
        What the frame has to say of itself.
    """
    if offset + FRAME_HEADER_LENGTH > len(data):
        return None
    length, crc, begins, checksum, unsynced, written_id = HEADER.unpack_from(data, offset)
    if not FRAME_HEADER_LENGTH <= length <= MAX_FRAME_LENGTH:
        return None
    if begins != position or written_id != recording_id or offset + aligned(length) > len(data):
        return None
    checked = memoryview(data)[offset + _CRC_FROM : offset + length]
    if crc32(checked) != crc:
        return None
    payload = bytes(data[offset + FRAME_HEADER_LENGTH : offset + length])
    return Frame(position, position + aligned(length), payload, checksum, unsynced)

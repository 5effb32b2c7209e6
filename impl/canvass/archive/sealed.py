"""Small files that are written whole: there in full as they were, or in full as they are now.

A new version is written aside, synced, and given the name of the old one. What the files hold does
not belong here.
"""

from __future__ import annotations

import struct
from typing import Final
from zlib import crc32

from canvass.archive.storage import DamageError, Storage

_HEADER: Final = struct.Struct("<8sII")
"""Magic, length, CRC of what follows."""
_ASIDE: Final = ".new"


def write_sealed(storage: Storage, name: str, magic: bytes, data: bytes) -> None:
    """Put a file in the place of the one of that name, durably."""
    aside = name + _ASIDE
    storage.create(aside)
    storage.append(aside, _HEADER.pack(magic, len(data), crc32(data)) + data)
    storage.sync(aside)
    storage.rename(aside, name)
    storage.sync_folder()


def read_sealed(storage: Storage, name: str, magic: bytes) -> bytes | None:
    """Read a file, or give None if there is none.

    Raises
    ------
    DamageError
        If it is not as it was written.
    """
    if name not in storage.names():
        return None
    found = storage.read(name, 0, storage.size(name))
    if len(found) < _HEADER.size:
        raise DamageError(name, 0, f"{len(found)} bytes are no whole header")
    begins, length, crc = _HEADER.unpack_from(found)
    data = found[_HEADER.size :]
    if begins != magic:
        raise DamageError(name, 0, "it is a file of another kind")
    if length != len(data) or crc32(data) != crc:
        raise DamageError(name, _HEADER.size, "its checksum is not that of its contents")
    return data


def remove_aside(storage: Storage) -> None:
    """Remove what a crash has left of files that were being written."""
    for name in storage.names():
        if name.endswith(_ASIDE):
            storage.remove(name)

"""Clear the final flag of a Java class file, so that a port can be faked by a subclass."""

from __future__ import annotations

import struct
from typing import Final

from canvass.aeron_driver import DriverError

_MAGIC: Final = 0xCAFEBABE
_POOL_COUNT: Final = 8
_POOL: Final = 10
_UTF8: Final = 1
_ENTRY_BYTES: Final = {
    3: 5, 4: 5, 5: 9, 6: 9, 7: 3, 8: 3, 9: 5, 10: 5, 11: 5, 12: 5, 15: 4, 16: 3, 17: 5, 18: 5,
    19: 3, 20: 3,
}  # fmt: skip
"""Bytes of a constant pool entry by its tag, but for UTF-8 (JVMS 4.4)."""
_TWO_SLOTS: Final = (5, 6)
"""A long or a double takes two indexes of the pool."""
_FINAL: Final = 0x0010


def without_final(content: bytes, name: str) -> bytes:
    """Return the class file with ``ACC_FINAL`` cleared in the access flags of the class.

    Parameters
    ----------
    content
        A class file.
    name
        What an error calls it.

    Raises
    ------
    DriverError
        If the bytes are no class file.
    """
    try:
        if struct.unpack_from(">I", content)[0] != _MAGIC:
            raise DriverError(f"{name}: not a class file")
        (count,) = struct.unpack_from(">H", content, _POOL_COUNT)
        at, index = _POOL, 1
        while index < count:
            tag = content[at]
            if tag == _UTF8:
                at += 3 + struct.unpack_from(">H", content, at + 1)[0]
            else:
                at += _ENTRY_BYTES[tag]
            index += 2 if tag in _TWO_SLOTS else 1
        (flags,) = struct.unpack_from(">H", content, at)
    except (struct.error, IndexError, KeyError):
        raise DriverError(f"{name}: a damaged class file") from None
    changed = bytearray(content)
    struct.pack_into(">H", changed, at, flags & ~_FINAL)
    return bytes(changed)

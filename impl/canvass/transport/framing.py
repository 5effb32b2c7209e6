"""Messages on a connection: each after its length. Bytes in, messages out."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

_LENGTH: Final = struct.Struct("<I")
MAX_MESSAGE_LENGTH: Final = 20 << 20
"""A frame of the log of the greatest length, with what surrounds it."""


class FramingError(Exception):
    """What came on a connection is no message."""


def framed(message: bytes) -> bytes:
    """A message as it goes on a connection."""
    return _LENGTH.pack(len(message)) + message


class MessageReader:
    """Puts together the messages of one connection.

    Parameters
    ----------
    max_length
        Of a message; a longer one is an error.
    """

    def __init__(self, max_length: int = MAX_MESSAGE_LENGTH) -> None:
        self._max_length = max_length
        self._data = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Take what has come; give the messages that are whole.

        Raises
        ------
        FramingError
            If a message is too long.
        """
        self._data += data
        offset = 0
        try:
            while len(self._data) >= offset + _LENGTH.size:
                (length,) = _LENGTH.unpack_from(self._data, offset)
                if length > self._max_length:
                    raise FramingError(f"a message of {length} bytes is too long")
                start = offset + _LENGTH.size
                if len(self._data) < start + length:
                    break
                offset = start + length
                yield bytes(self._data[start:offset])
        finally:
            del self._data[:offset]

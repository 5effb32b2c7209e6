"""A codec of dataclasses by the rules of Simple Binary Encoding (SBE), which Aeron uses.

Numbers are little endian. A message has a header with block length, template id, schema id and
version; then the fixed fields in the order of the class, without gaps; then the fields of variable
length, each after its length.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, Final, Generic, TypeVar, get_type_hints

MESSAGE_HEADER: Final = struct.Struct("<HHHH")
"""Block length, template id, schema id, version."""
HEADER_LENGTH: Final = MESSAGE_HEADER.size
_LENGTH: Final = struct.Struct("<I")

REST: Final = "payload"
"""The name of a last field without a length before it: it has the rest of the message."""

T = TypeVar("T")


class LayoutError(ValueError):
    """The bytes are not a message of the codec."""


class _Layout:
    """The layout of one class: its fixed fields, and the variable fields after them.

    An enumeration or a bool has four bytes. An integer has eight bytes, or four if its name is in
    ``short``.
    """

    def __init__(self, template_id: int, kind: type[Any], short: frozenset[str]) -> None:
        hints = get_type_hints(kind)
        names = list(hints)
        self.template_id, self.kind = template_id, kind
        self.variable = [(name, hints[name]) for name in names if hints[name] in (str, bytes)]
        fixed = [name for name in names if hints[name] not in (str, bytes)]
        if names[: len(fixed)] != fixed:
            raise TypeError(f"{kind.__name__} has a fixed field after one of variable length")
        self.fixed = fixed
        self.converted = [
            (place, hints[name])
            for place, name in enumerate(fixed)
            if hints[name] is bool or issubclass(hints[name], IntEnum)
        ]
        four_bytes = {fixed[place] for place, _ in self.converted} | short
        self.block = struct.Struct("<" + "".join("i" if n in four_bytes else "q" for n in fixed))


class Codec(Generic[T]):
    """Encodes and decodes the classes of one schema.

    Parameters
    ----------
    schema_id
        The id of the schema.
    templates
        The template id and the class of each message.
    short
        The names of integer fields of four bytes, such as ids of members and streams.
    """

    def __init__(
        self, schema_id: int, templates: Sequence[tuple[int, type[T]]], short: Sequence[str]
    ) -> None:
        layouts = [_Layout(number, kind, frozenset(short)) for number, kind in templates]
        self._schema_id = schema_id
        self._by_kind = {layout.kind: layout for layout in layouts}
        self._by_template = {layout.template_id: layout for layout in layouts}

    def template_id(self, data: bytes) -> int:
        """The template id in a header, or -1 if the bytes are too short for one."""
        if len(data) < HEADER_LENGTH:
            return -1
        return int(MESSAGE_HEADER.unpack_from(data)[1])

    def encode(self, message: T) -> bytes:
        """Write a message.

        Raises
        ------
        struct.error
            If a number does not fit its field.
        """
        layout = self._by_kind[type(message)]
        block = layout.block
        parts = [
            MESSAGE_HEADER.pack(block.size, layout.template_id, self._schema_id, 0),
            block.pack(*(getattr(message, name) for name in layout.fixed)),
        ]
        for name, kind in layout.variable:
            value = getattr(message, name)
            data = value.encode() if kind is str else value
            parts += (data,) if name == REST else (_LENGTH.pack(len(data)), data)
        return b"".join(parts)

    def decode(self, data: bytes) -> T:
        """Read a message.

        Raises
        ------
        LayoutError
            If the bytes are not exactly one message of this schema.
        """
        if len(data) < HEADER_LENGTH:
            raise LayoutError(f"{len(data)} bytes are no message")
        length, template_id, schema_id, _ = MESSAGE_HEADER.unpack_from(data)
        layout = self._by_template.get(template_id)
        if schema_id != self._schema_id or layout is None:
            raise LayoutError(f"no message {template_id} of schema {schema_id} is known")
        if length != layout.block.size or len(data) < HEADER_LENGTH + length:
            raise LayoutError(f"a {layout.kind.__name__} has no block of {length} bytes")
        values: list[Any] = list(layout.block.unpack_from(data, HEADER_LENGTH))
        try:
            for place, kind in layout.converted:
                values[place] = kind(values[place])
        except ValueError as error:
            raise LayoutError(f"in a {layout.kind.__name__}: {error}") from None
        offset = HEADER_LENGTH + length
        for name, kind in layout.variable:
            if name == REST:
                found, offset = bytes(data[offset:]), len(data)
            else:
                found, offset = _variable(data, offset)
            values.append(_text(found) if kind is str else found)
        if offset != len(data):
            raise LayoutError(f"{len(data) - offset} bytes follow a {layout.kind.__name__}")
        message: T = layout.kind(*values)
        return message


def _variable(data: bytes, offset: int) -> tuple[bytes, int]:
    start = offset + _LENGTH.size
    if start > len(data):
        raise LayoutError("a length is missing")
    end = start + int(_LENGTH.unpack_from(data, offset)[0])
    if end > len(data):
        raise LayoutError(f"{end - len(data)} bytes of a field are missing")
    return bytes(data[start:end]), end


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise LayoutError("a text is not UTF-8") from None

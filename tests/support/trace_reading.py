"""Reading of bytes as a member's stream, in the ways that tests of the reader need."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest

from canvass.traces.errors import TraceError
from canvass.traces.ndjson import EventReader
from canvass.traces.schema import Event, encode
from support.trace_events import plain_event

LINE = encode(plain_event(0)).decode()
NEXT = encode(plain_event(1)).decode()


class Pieces:
    """Bytes that come in pieces of one size."""

    def __init__(self, data: bytes, size: int) -> None:
        self._file = BytesIO(data)
        self._size = size

    def read(self, size: int, /) -> bytes:
        return self._file.read(min(size, self._size))


def reader_of(data: bytes, piece: int = 1 << 20) -> EventReader:
    return EventReader(Pieces(data, piece), "s", 0)


def read(data: bytes, piece: int = 1 << 20) -> tuple[list[Event], EventReader]:
    reader = reader_of(data, piece)
    return list(reader), reader


def outcome(data: bytes, piece: int) -> Any:
    """Everything that a reader says of some bytes."""
    try:
        events, reader = read(data, piece)
    except TraceError as error:
        return error.args
    return events, reader.truncated, reader.gaps, reader.lines


def refusal(data: bytes) -> TraceError:
    with pytest.raises(TraceError) as caught:
        read(data)
    return caught.value

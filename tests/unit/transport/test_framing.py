"""Messages on connections: whole, in pieces, too long, and arbitrary bytes."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.msgpack import encode

from canvass.cluster.messages import RequestVote, Vote
from canvass.transport.links import framed, port_of, read_message
from canvass.transport.messages import MEMBER_MESSAGES, Hello, LogData, LogRequest, Numbered


@given(st.lists(st.binary(max_size=50), max_size=8), st.integers(1, 20))
def test_messages_in_any_pieces_are_read_as_written(messages: list[bytes], size: int) -> None:
    data = b"".join(map(framed, messages))

    async def read_all(reader: asyncio.StreamReader) -> list[bytes]:
        return [await read_message(reader) for _ in messages]

    async def read() -> list[bytes]:
        reader = asyncio.StreamReader()
        found = asyncio.create_task(read_all(reader))
        for start in range(0, len(data), size):
            reader.feed_data(data[start : start + size])
            await asyncio.sleep(0)
        return await found

    assert asyncio.run(read()) == messages


def test_a_message_that_is_too_long_is_refused_before_it_is_complete() -> None:
    async def read() -> None:
        reader = asyncio.StreamReader()
        reader.feed_data(b"\xff" * 4)
        await read_message(reader)

    with pytest.raises(ValueError, match="4294967295 bytes"):
        asyncio.run(read())


@pytest.mark.parametrize(
    "message",
    [
        *(Numbered(17, one) for one in (RequestVote(1, 96, 2, 0), Vote(2, 1, 64, 0, 2, True))),
        Hello(1 << 62, 2),
        LogRequest(1, 2, 96, 128, 4),
        LogData(1, 2, 96, 0, b"\0\xff"),
    ],
)
def test_messages_of_members_read_back(message: object) -> None:
    assert MEMBER_MESSAGES.decode(encode(message)) == message


@given(st.binary(max_size=80))
def test_arbitrary_bytes_are_refused_or_a_message(data: bytes) -> None:
    try:
        message = MEMBER_MESSAGES.decode(data)
    except ValueError:
        return

    assert MEMBER_MESSAGES.decode(encode(message)) == message


@pytest.mark.parametrize(
    "endpoint",
    ["", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:65536", "localhost:80", "10.0.0.1:80", "::1:80"],
)
def test_only_this_machine_is_reached(endpoint: str) -> None:
    with pytest.raises(ValueError, match="not an endpoint on 127"):
        port_of(endpoint)

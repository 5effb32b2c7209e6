"""Messages on connections: whole, in pieces, too long, and arbitrary bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canvass.cluster.messages import AppendPosition, Message, RequestVote, Vote
from canvass.log.layout import LayoutError
from canvass.transport.links import FramingError, MessageReader, framed, port_of
from canvass.transport.messages import decode_consensus, encode_consensus


@given(st.lists(st.binary(max_size=50), max_size=8), st.integers(1, 20))
def test_messages_in_any_pieces_are_read_as_written(messages: list[bytes], size: int) -> None:
    data = b"".join(map(framed, messages))
    reader = MessageReader()
    found = [
        message
        for start in range(0, len(data), size)
        for message in reader.feed(data[start : start + size])
    ]

    assert found == messages


def test_a_message_that_is_too_long_is_refused_before_it_is_complete() -> None:
    with pytest.raises(FramingError, match="4294967295 bytes"):
        list(MessageReader().feed(b"\xff" * 4))


@pytest.mark.parametrize(
    "message", [RequestVote(1, 96, 2, 0), Vote(2, 1, 64, 0, 2, True), AppendPosition(1, 96, 2, 1)]
)
def test_consensus_messages_read_back(message: Message) -> None:
    assert decode_consensus(encode_consensus(17, message)) == (17, message)


@given(st.binary(max_size=80))
def test_arbitrary_bytes_are_refused_or_a_consensus_message(data: bytes) -> None:
    try:
        number, message = decode_consensus(data)
    except LayoutError:
        return

    assert decode_consensus(encode_consensus(number, message)) == (number, message)


@pytest.mark.parametrize(
    "endpoint",
    ["", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:65536", "localhost:80", "10.0.0.1:80", "::1:80"],
)
def test_only_this_machine_is_reached(endpoint: str) -> None:
    with pytest.raises(ValueError, match="not an endpoint on 127"):
        port_of(endpoint)

"""Connections between members: one greeting each, and no message with more than its fields."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec import MsgspecError
from msgspec.msgpack import Decoder, decode, encode

from canvass.archive.archive import Archive
from canvass.archive.memory import MemoryStorage
from canvass.log.entries import SessionMessageHeader
from canvass.runner.configuration import MemberConfig
from canvass.runner.member_process import MemberProcess
from canvass.transport.messages import CLIENT_MESSAGES, MEMBER_MESSAGES, Hello, LogRequest

REQUEST = LogRequest(1, 0, 0, 32, 0)


@pytest.mark.parametrize(
    ("messages", "refused"),
    [
        ([Hello(7, 1), REQUEST, REQUEST], False),
        ([REQUEST], True),
        ([Hello(7, 1), Hello(7, 1)], True),
        ([Hello(7, 1), REQUEST, Hello(7, 2)], True),
        ([Hello(8, 1)], True),
        ([Hello(7, 3)], True),
    ],
)
def test_a_connection_begins_with_its_only_greeting(
    messages: Sequence[Hello | LogRequest], refused: bool
) -> None:
    config = MemberConfig(7, 0, 3, "hardened", 1, [1, 2, 3], [4, 5, 6], "", 1, "", "")
    process = MemberProcess(config, Archive(MemoryStorage()))
    receive = process._on_member_connection()
    for message in messages[:-1]:
        receive(encode(message))
    if refused:
        with pytest.raises(ValueError, match=r"greeting|another cluster"):
            receive(encode(messages[-1]))
    else:
        receive(encode(messages[-1]))


@pytest.mark.parametrize(
    ("decoder", "message"),
    [(MEMBER_MESSAGES, REQUEST), (CLIENT_MESSAGES, SessionMessageHeader(1, 2, 3, b""))],
)
def test_a_message_with_another_field_is_refused(decoder: Decoder[object], message: object) -> None:
    data = encode([*decode(encode(message)), 0])

    with pytest.raises(MsgspecError):
        decoder.decode(data)

"""What members send each other, in bytes: consensus messages, and requests and data of log streams.

Consensus messages bear Aeron's template ids. The streams stand for what Aeron's transport and
archive do: a follower asks for what comes after the end of its recording, and is sent frames.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntFlag
from typing import Final, TypeAlias

from canvass.cluster import messages
from canvass.cluster.messages import Message
from canvass.log.layout import Codec, LayoutError
from canvass.log.messages import SCHEMA_ID

CONSENSUS_MESSAGES: Final[Codec[Message]] = Codec(
    SCHEMA_ID,
    (
        (50, messages.CanvassPosition),
        (51, messages.RequestVote),
        (52, messages.Vote),
        (53, messages.NewLeadershipTerm),
        (54, messages.AppendPosition),
        (55, messages.CommitPosition),
        (56, messages.CatchupPosition),
        (57, messages.StopCatchup),
        (75, messages.TerminationPosition),
        (76, messages.TerminationAck),
    ),
    short=("follower_member_id", "candidate_member_id", "leader_member_id", "member_id", "flags"),
)


class StreamFlag(IntFlag):
    """What a follower requests of a log stream, and what the leader answers."""

    JOIN = 1
    """Tell where the stream stands: nothing is joined yet."""
    LIVE = 2
    """The leader's publication."""
    CATCHUP = 4
    """The replay of the leader's recording that it has started for this follower."""
    REPLICATION = 8
    """A copy of the leader's recording, up to a bound."""
    CLOSED = 16
    """The publication has ended in good order, and this is all of it."""


@dataclass(frozen=True, slots=True)
class LogRequest:
    """Ask for what follows a position."""

    request_id: int
    leadership_term_id: int
    position: int
    stop_position: int
    flags: int


@dataclass(frozen=True, slots=True)
class LogData:
    """Frames of a log, or a sign that there is nothing new."""

    request_id: int
    leadership_term_id: int
    position: int
    """Where the frames begin; for a join where the stream stands."""
    flags: int
    payload: bytes


StreamMessage: TypeAlias = LogRequest | LogData
STREAM_MESSAGES: Final[Codec[StreamMessage]] = Codec(
    SCHEMA_ID + 1, ((1, LogRequest), (2, LogData)), short=("flags",)
)

_NUMBER: Final = struct.Struct("<q")


def encode_consensus(number: int, message: Message) -> bytes:
    """Write a consensus message with the number that its sender's recorder gave it."""
    return _NUMBER.pack(number) + CONSENSUS_MESSAGES.encode(message)


def decode_consensus(data: bytes) -> tuple[int, Message]:
    """Read a consensus message with its number.

    Raises
    ------
    LayoutError
        If the bytes are no such message.
    """
    if len(data) < _NUMBER.size:
        raise LayoutError(f"{len(data)} bytes are no consensus message")
    return int(_NUMBER.unpack_from(data)[0]), CONSENSUS_MESSAGES.decode(data[_NUMBER.size :])

"""The messages of members and clients, and their bytes.

Classes, fields and template ids are as in Aeron's SBE schema. Ingress goes from a client to the
leader, egress from the leader to the client's channel. The stream messages replace Aeron's
transport and archive: a follower requests the data after the end of its recording.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import Final, TypeAlias

from canvass.cluster import messages
from canvass.cluster.messages import Message
from canvass.log.entries import SCHEMA_ID, SessionMessageHeader
from canvass.log.layout import Codec, LayoutError

PROTOCOL_VERSION: Final = 1 << 16
"""1.0.0; another major version is rejected."""


class EventCode(IntEnum):
    """The codes of session events."""

    OK = 0
    ERROR = 1
    REDIRECT = 2
    AUTHENTICATION_REJECTED = 3
    CLOSED = 4


class AdminRequestType(IntEnum):
    """The types of `AdminRequest`."""

    SNAPSHOT = 0


class AdminResponseCode(IntEnum):
    """The codes of `AdminResponse`."""

    OK = 0
    ERROR = 1
    UNAUTHORISED_ACCESS = 2


@dataclass(frozen=True, slots=True)
class SessionConnectRequest:
    """Open a session (ingress, SBE id 3)."""

    correlation_id: int
    response_stream_id: int
    version: int
    response_channel: str
    encoded_credentials: bytes


@dataclass(frozen=True, slots=True)
class SessionCloseRequest:
    """End a session (ingress, SBE id 4)."""

    leadership_term_id: int
    cluster_session_id: int


@dataclass(frozen=True, slots=True)
class SessionKeepAlive:
    """Keep a session from timing out (ingress, SBE id 5)."""

    leadership_term_id: int
    cluster_session_id: int


@dataclass(frozen=True, slots=True)
class ChallengeResponse:
    """Answer a challenge (ingress, SBE id 8)."""

    correlation_id: int
    cluster_session_id: int
    encoded_credentials: bytes


@dataclass(frozen=True, slots=True)
class AdminRequest:
    """Send a request to the cluster itself (ingress, SBE id 26)."""

    leadership_term_id: int
    cluster_session_id: int
    correlation_id: int
    request_type: AdminRequestType
    payload: bytes


@dataclass(frozen=True, slots=True)
class AdminResponse:
    """The result of an `AdminRequest` (egress, SBE id 27)."""

    cluster_session_id: int
    correlation_id: int
    request_type: AdminRequestType
    response_code: AdminResponseCode
    message: str
    payload: bytes


@dataclass(frozen=True, slots=True)
class SessionEvent:
    """A session is open, redirected, refused or closed (egress, SBE id 2)."""

    cluster_session_id: int
    correlation_id: int
    leadership_term_id: int
    leader_member_id: int
    code: EventCode
    version: int
    detail: str
    """The reason. For a redirect the ingress endpoints, such as ``0=host:port,1=host:port``."""


@dataclass(frozen=True, slots=True)
class NewLeaderEvent:
    """Another member leads now, and has taken the session over (egress, SBE id 6)."""

    leadership_term_id: int
    cluster_session_id: int
    leader_member_id: int
    ingress_endpoints: str


@dataclass(frozen=True, slots=True)
class Challenge:
    """The credentials are not enough (egress, SBE id 7)."""

    correlation_id: int
    cluster_session_id: int
    encoded_challenge: bytes


Ingress: TypeAlias = (
    SessionMessageHeader
    | SessionConnectRequest
    | SessionCloseRequest
    | SessionKeepAlive
    | ChallengeResponse
    | AdminRequest
)
Egress: TypeAlias = SessionMessageHeader | SessionEvent | NewLeaderEvent | Challenge | AdminResponse
ClientMessage: TypeAlias = Ingress | Egress

CLIENT_MESSAGES: Final[Codec[ClientMessage]] = Codec(
    SCHEMA_ID,
    (
        (1, SessionMessageHeader),
        (2, SessionEvent),
        (3, SessionConnectRequest),
        (4, SessionCloseRequest),
        (5, SessionKeepAlive),
        (6, NewLeaderEvent),
        (7, Challenge),
        (8, ChallengeResponse),
        (26, AdminRequest),
        (27, AdminResponse),
    ),
    short=("response_stream_id", "version", "leader_member_id"),
)


def format_endpoints(endpoints: dict[int, str]) -> str:
    """Write ingress endpoints in the form of messages: ``0=host:port,1=host:port``."""
    return ",".join(f"{member_id}={endpoint}" for member_id, endpoint in sorted(endpoints.items()))


def parse_endpoints(text: str) -> dict[int, str]:
    """Read ingress endpoints.

    Raises
    ------
    ValueError
        If a part is not an endpoint, or if a member has two.
    """
    found = {}
    for part in text.split(","):
        member_id, equals, endpoint = part.partition("=")
        # An id is short. Python refuses to read numbers of thousands of digits.
        is_id = member_id.isdecimal() and len(member_id) < 10
        if not (is_id and equals and ":" in endpoint):
            raise ValueError(f"{part[:80]!r} is not an endpoint such as 0=127.0.0.1:9000")
        if int(member_id) in found:
            raise ValueError(f"member {member_id} has two endpoints")
        found[int(member_id)] = endpoint
    return found


def challenge_response(secret: bytes, name: bytes, challenge: bytes) -> bytes:
    """Compute the answer to a `Challenge` of a client that knows the secret."""
    return hmac.new(secret, challenge + name, hashlib.sha256).digest()


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
    """The kinds of requests and answers of a log stream."""

    JOIN = 1
    """Return the position of the stream, to join it."""
    LIVE = 2
    """The leader's publication."""
    CATCHUP = 4
    """The replay of the leader's recording that it has started for this follower."""
    REPLICATION = 8
    """A copy of the leader's recording, up to a bound."""
    CLOSED = 16
    """The publication has ended regularly, and has no more data."""


@dataclass(frozen=True, slots=True)
class LogRequest:
    """Request the data after a position."""

    request_id: int
    leadership_term_id: int
    position: int
    stop_position: int
    flags: int


@dataclass(frozen=True, slots=True)
class LogData:
    """Frames of a log. Without frames, the stream has no new data."""

    request_id: int
    leadership_term_id: int
    position: int
    """The position of the first frame; for a join, the position of the stream."""
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
        If the bytes are not a number and a consensus message.
    """
    if len(data) < _NUMBER.size:
        raise LayoutError(f"{len(data)} bytes are no consensus message")
    return int(_NUMBER.unpack_from(data)[0]), CONSENSUS_MESSAGES.decode(data[_NUMBER.size :])

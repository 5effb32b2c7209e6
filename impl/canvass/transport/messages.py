"""The messages of members and clients, and their bytes: MessagePack, by `msgspec`.

Classes and fields are as in Aeron's SBE schema. Ingress goes from a client to the leader, egress
from the leader to the client's channel. The stream messages replace Aeron's transport and archive:
a follower requests the data after the end of its recording.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import Annotated, Final, TypeAlias

from msgspec import Meta
from msgspec.msgpack import Decoder

from canvass.cluster.messages import Int64, Message
from canvass.log.entries import SessionMessageHeader, WireMessage

Int32: TypeAlias = Annotated[int, Meta(ge=-(1 << 31), lt=1 << 31)]

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


class SessionConnectRequest(WireMessage, frozen=True, tag=3):
    """Open a session (ingress)."""

    correlation_id: Int64
    response_stream_id: Int32
    version: Int32
    response_channel: str
    encoded_credentials: bytes


class SessionCloseRequest(WireMessage, frozen=True, tag=4):
    """End a session (ingress)."""

    leadership_term_id: Int64
    cluster_session_id: Int64


class SessionKeepAlive(WireMessage, frozen=True, tag=5):
    """Keep a session from timing out (ingress)."""

    leadership_term_id: Int64
    cluster_session_id: Int64


class AdminRequest(WireMessage, frozen=True, tag=26):
    """Send a request to the cluster itself (ingress)."""

    leadership_term_id: Int64
    cluster_session_id: Int64
    correlation_id: Int64
    request_type: AdminRequestType
    payload: bytes


class AdminResponse(WireMessage, frozen=True, tag=27):
    """The result of an `AdminRequest` (egress)."""

    cluster_session_id: Int64
    correlation_id: Int64
    request_type: AdminRequestType
    response_code: AdminResponseCode
    message: str
    payload: bytes


class SessionEvent(WireMessage, frozen=True, tag=2):
    """A session is open, redirected, refused or closed (egress)."""

    cluster_session_id: Int64
    correlation_id: Int64
    leadership_term_id: Int64
    leader_member_id: Int64
    code: EventCode
    version: Int32
    detail: str
    """The reason. For a redirect the ingress endpoints, such as ``0=host:port,1=host:port``."""


class NewLeaderEvent(WireMessage, frozen=True, tag=6):
    """Another member leads now, and has taken the session over (egress)."""

    leadership_term_id: Int64
    cluster_session_id: Int64
    leader_member_id: Int64
    ingress_endpoints: str


Ingress: TypeAlias = (
    SessionMessageHeader
    | SessionConnectRequest
    | SessionCloseRequest
    | SessionKeepAlive
    | AdminRequest
)
Egress: TypeAlias = SessionMessageHeader | SessionEvent | NewLeaderEvent | AdminResponse

CLIENT_MESSAGES: Final = Decoder(Ingress | Egress)


def format_endpoints(endpoints: dict[int, str]) -> str:
    """Write ingress endpoints in the form of messages: ``0=host:port,1=host:port``."""
    return ",".join(f"{member_id}={endpoint}" for member_id, endpoint in sorted(endpoints.items()))


def parse_endpoints(text: str) -> dict[int, str]:
    """Read ingress endpoints.

    Raises
    ------
    ValueError
        If a part is not an endpoint.
    """
    parts = (part.split("=", 1) for part in text.split(","))
    return {int(member_id): endpoint for member_id, endpoint in parts}


class Hello(WireMessage, frozen=True):
    """The first message of a connection between members: who sends."""

    cluster_id: Int64
    member_id: Int64


class Numbered(WireMessage, frozen=True):
    """A consensus message with the number that its sender's recorder gave it."""

    number: Int64
    message: Message


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


class LogRequest(WireMessage, frozen=True):
    """Request the data after a position."""

    request_id: Int64
    leadership_term_id: Int64
    position: Int64
    stop_position: Int64
    flags: Int64


class LogData(WireMessage, frozen=True):
    """Frames of a log. Without frames, the stream has no new data."""

    request_id: Int64
    leadership_term_id: Int64
    position: Int64
    """The position of the first frame; for a join, the position of the stream."""
    flags: Int64
    payload: bytes


StreamMessage: TypeAlias = LogRequest | LogData
MEMBER_MESSAGES: Final = Decoder(Hello | Numbered | StreamMessage)

"""The six messages of the log, with all their fields, and their bytes.

A leader appends them; followers and services read them. Classes, fields and template ids are as in
Aeron's SBE schema. `canvass.node.module_state` handles the messages in
the consensus module, `canvass.services.agent` in services.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Final, TypeAlias

from msgspec import Struct

from canvass.log.layout import HEADER_LENGTH, Codec

FRAME_HEADER_LENGTH: Final = 32
"""The length of the header before each entry of a recording, see `canvass.archive.recording`."""
FRAME_ALIGNMENT: Final = 32
SCHEMA_ID: Final = 111
"""The schema id of Aeron Cluster."""
_FIRST_FIELD: Final = struct.Struct("<q")


class CloseReason(IntEnum):
    """The reason why a session was closed."""

    CLIENT_ACTION = 0
    SERVICE_ACTION = 1
    TIMEOUT = 2


class ClusterAction(IntEnum):
    """The action of all members that a ClusterActionRequest requests."""

    SUSPEND = 0
    RESUME = 1
    SNAPSHOT = 2


class ClusterTimeUnit(IntEnum):
    """The unit of all timestamps of a cluster."""

    MILLIS = 0
    MICROS = 1
    NANOS = 2


STANDBY_FLAG: Final = 1
"""``ClusterActionRequest.flags``: only standby members take the snapshot."""


class Record(Struct, frozen=True, array_like=True, tag=True, gc=False, forbid_unknown_fields=True):
    """A message; for `msgspec` a list of its type and its fields, and nothing after them."""


class SessionMessageHeader(Record, frozen=True):
    """A message of a client or, with a negative session id, of a service (SBE id 1)."""

    leadership_term_id: int
    cluster_session_id: int
    timestamp: int
    payload: bytes


class TimerEvent(Record, frozen=True):
    """A timer has expired on the leader (SBE id 20)."""

    leadership_term_id: int
    correlation_id: int
    timestamp: int


class SessionOpenEvent(Record, frozen=True):
    """A client has connected and been authenticated (SBE id 21)."""

    leadership_term_id: int
    correlation_id: int
    cluster_session_id: int
    timestamp: int
    response_stream_id: int
    response_channel: str
    encoded_principal: bytes


class SessionCloseEvent(Record, frozen=True):
    """A client's session has ended (SBE id 22)."""

    leadership_term_id: int
    cluster_session_id: int
    timestamp: int
    close_reason: CloseReason


class ClusterActionRequest(Record, frozen=True):
    """All members carry out an action at this position of the log (SBE id 23)."""

    leadership_term_id: int
    log_position: int
    """The position at which this entry ends, and a snapshot is taken."""
    timestamp: int
    action: ClusterAction
    flags: int


class NewLeadershipTermEvent(Record, frozen=True):
    """The first entry of a leadership term (SBE id 24)."""

    leadership_term_id: int
    log_position: int
    """The position at which this entry ends."""
    timestamp: int
    term_base_log_position: int
    leader_member_id: int
    log_session_id: int
    time_unit: ClusterTimeUnit
    app_version: int


LogMessage: TypeAlias = (
    SessionMessageHeader
    | TimerEvent
    | SessionOpenEvent
    | SessionCloseEvent
    | ClusterActionRequest
    | NewLeadershipTermEvent
)

SESSION_MESSAGE_ID: Final = 1
TIMER_EVENT_ID: Final = 20
SESSION_OPEN_ID: Final = 21
SESSION_CLOSE_ID: Final = 22
CLUSTER_ACTION_ID: Final = 23
NEW_LEADERSHIP_TERM_ID: Final = 24

LOG_MESSAGES: Final[Codec[LogMessage]] = Codec(
    SCHEMA_ID,
    (
        (SESSION_MESSAGE_ID, SessionMessageHeader),
        (TIMER_EVENT_ID, TimerEvent),
        (SESSION_OPEN_ID, SessionOpenEvent),
        (SESSION_CLOSE_ID, SessionCloseEvent),
        (CLUSTER_ACTION_ID, ClusterActionRequest),
        (NEW_LEADERSHIP_TERM_ID, NewLeadershipTermEvent),
    ),
    short=("response_stream_id", "flags", "leader_member_id", "log_session_id", "app_version"),
)
"""The codec of log messages. The payload of a session message follows its block."""


def aligned_length(payload_length: int) -> int:
    """The length of an entry in the log, with its frame header and padding."""
    length = FRAME_HEADER_LENGTH + payload_length
    return (length + FRAME_ALIGNMENT - 1) // FRAME_ALIGNMENT * FRAME_ALIGNMENT


def leadership_term_of(data: bytes) -> int:
    """The leadership term of an encoded log message, which is its first field."""
    found: int = _FIRST_FIELD.unpack_from(data, HEADER_LENGTH)[0]
    return found


def opens_term(data: bytes) -> bool:
    """Whether an encoded log message is the first entry of a term."""
    return LOG_MESSAGES.template_id(data) == NEW_LEADERSHIP_TERM_ID


def requests_snapshot(data: bytes) -> bool:
    """Whether an encoded log message requests a snapshot of the members."""
    if LOG_MESSAGES.template_id(data) != CLUSTER_ACTION_ID:
        return False
    message = LOG_MESSAGES.decode(data)
    return (
        isinstance(message, ClusterActionRequest)
        and message.action is ClusterAction.SNAPSHOT
        and not message.flags & STANDBY_FLAG
    )

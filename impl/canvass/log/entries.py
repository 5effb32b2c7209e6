"""The six messages of the log, with all their fields, and their bytes.

A leader appends them; followers and services read them. Classes, fields and template ids are as in
Aeron's SBE schema. `canvass.node.module_state` handles the messages in the consensus module,
`canvass.services.agent` in services.

The bytes follow Simple Binary Encoding (SBE). Numbers are little endian. A message has a header;
then a block with the fixed fields in the order of the class, without gaps; then the fields of
variable length, each after its length, but the payload of a session message, which comes last.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Any, Final, TypeAlias, get_type_hints

from msgspec import Struct

FRAME_HEADER_LENGTH: Final = 32
"""The length of the header before each entry of a recording, see `canvass.archive.recording`."""
FRAME_ALIGNMENT: Final = 32
SCHEMA_ID: Final = 111
"""The schema id of Aeron Cluster."""
_HEADER: Final = struct.Struct("<HHHH")
"""Block length, template id, schema id, version."""
_LENGTH: Final = struct.Struct("<I")


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

_TEMPLATES: Final[dict[int, type[LogMessage]]] = {
    SESSION_MESSAGE_ID: SessionMessageHeader,
    TIMER_EVENT_ID: TimerEvent,
    SESSION_OPEN_ID: SessionOpenEvent,
    SESSION_CLOSE_ID: SessionCloseEvent,
    CLUSTER_ACTION_ID: ClusterActionRequest,
    NEW_LEADERSHIP_TERM_ID: NewLeadershipTermEvent,
}
_SHORT: Final = frozenset(
    {"response_stream_id", "flags", "leader_member_id", "log_session_id", "app_version"}
)
"""The integer fields of four bytes; others have eight, and enumerations four."""
_REST: Final = "payload"
"""The name of a last field without a length before it: it has the rest of the message."""


class LayoutError(ValueError):
    """The bytes are not a message of the log."""


class _Layout:
    """The layout of one class: its fixed fields, and the fields of variable length after them."""

    def __init__(self, template_id: int, kind: type[LogMessage]) -> None:
        hints = get_type_hints(kind)
        self.template_id, self.kind = template_id, kind
        self.variable = [(name, hint) for name, hint in hints.items() if hint in (str, bytes)]
        self.fixed = [name for name, hint in hints.items() if hint not in (str, bytes)]
        assert list(hints)[: len(self.fixed)] == self.fixed
        self.converted = [
            (place, hints[name])
            for place, name in enumerate(self.fixed)
            if issubclass(hints[name], IntEnum)
        ]
        four_bytes = {self.fixed[place] for place, _ in self.converted} | _SHORT
        self.block = struct.Struct(
            "<" + "".join("i" if name in four_bytes else "q" for name in self.fixed)
        )


_LAYOUTS: Final = {number: _Layout(number, kind) for number, kind in _TEMPLATES.items()}
_BY_KIND: Final = {layout.kind: layout for layout in _LAYOUTS.values()}


def template_of(data: bytes) -> int:
    """The template id of encoded bytes, or -1 if they are too short for a header."""
    return _HEADER.unpack_from(data)[1] if len(data) >= _HEADER.size else -1


def encode(message: LogMessage) -> bytes:
    """Write a message.

    Raises
    ------
    struct.error
        If a number does not fit its field.
    """
    layout = _BY_KIND[type(message)]
    parts = [
        _HEADER.pack(layout.block.size, layout.template_id, SCHEMA_ID, 0),
        layout.block.pack(*(getattr(message, name) for name in layout.fixed)),
    ]
    for name, kind in layout.variable:
        value = getattr(message, name)
        data = value.encode() if kind is str else value
        parts += (data,) if name == _REST else (_LENGTH.pack(len(data)), data)
    return b"".join(parts)


def decode(data: bytes) -> LogMessage:
    """Read a message.

    Raises
    ------
    LayoutError
        If the bytes are not exactly one message of the log.
    """
    if len(data) < _HEADER.size:
        raise LayoutError(f"{len(data)} bytes are no message")
    length, template_id, schema_id, _ = _HEADER.unpack_from(data)
    layout = _LAYOUTS.get(template_id)
    if schema_id != SCHEMA_ID or layout is None:
        raise LayoutError(f"no message {template_id} of schema {schema_id} is known")
    if length != layout.block.size or len(data) < _HEADER.size + length:
        raise LayoutError(f"a {layout.kind.__name__} has no block of {length} bytes")
    values: list[Any] = list(layout.block.unpack_from(data, _HEADER.size))
    try:
        for place, kind in layout.converted:
            values[place] = kind(values[place])
    except ValueError as error:
        raise LayoutError(f"in a {layout.kind.__name__}: {error}") from None
    offset = _HEADER.size + length
    for name, kind in layout.variable:
        if name == _REST:
            found, offset = bytes(data[offset:]), len(data)
        else:
            found, offset = _variable(data, offset)
        values.append(_text(found) if kind is str else found)
    if offset != len(data):
        raise LayoutError(f"{len(data) - offset} bytes follow a {layout.kind.__name__}")
    return layout.kind(*values)


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


def aligned_length(payload_length: int) -> int:
    """The length of an entry in the log, with its frame header and padding."""
    length = FRAME_HEADER_LENGTH + payload_length
    return (length + FRAME_ALIGNMENT - 1) // FRAME_ALIGNMENT * FRAME_ALIGNMENT


def opens_term(data: bytes) -> bool:
    """Whether an encoded log message is the first entry of a term."""
    return template_of(data) == NEW_LEADERSHIP_TERM_ID


def requests_snapshot(data: bytes) -> bool:
    """Whether an encoded log message requests a snapshot of the members."""
    if template_of(data) != CLUSTER_ACTION_ID:
        return False
    message = decode(data)
    return (
        isinstance(message, ClusterActionRequest)
        and message.action is ClusterAction.SNAPSHOT
        and not message.flags & STANDBY_FLAG
    )

"""The six messages of the log, with all their fields, and their bytes.

A leader appends them; followers and services read them. Classes, fields and template ids are as in
Aeron's SBE schema. `canvass.node.module_state` handles the messages in the consensus module,
`canvass.services.agent` in services.

The bytes follow Simple Binary Encoding (SBE). Numbers are little endian. A message has a header;
then a block with the fixed fields in the order of the class, without gaps; then the fields of
variable length, each after its length. Only the payload of a session message, which comes last, has
no length before it.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Final, TypeAlias, get_args, get_type_hints

from msgspec import Struct, convert

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


class WireMessage(
    Struct, frozen=True, array_like=True, tag=True, gc=False, forbid_unknown_fields=True
):
    """A message. `msgspec` writes it as a list: its tag, then its fields, and nothing else.

    The tag of a message of the log or of a client is its template id in Aeron's SBE schema.
    """


class SessionMessageHeader(WireMessage, frozen=True, tag=1):
    """A message of a client or, with a negative session id, of a service."""

    leadership_term_id: int
    cluster_session_id: int
    timestamp: int
    payload: bytes


class TimerEvent(WireMessage, frozen=True, tag=20):
    """A timer has expired on the leader."""

    leadership_term_id: int
    correlation_id: int
    timestamp: int


class SessionOpenEvent(WireMessage, frozen=True, tag=21):
    """A client has connected and been authenticated."""

    leadership_term_id: int
    correlation_id: int
    cluster_session_id: int
    timestamp: int
    response_stream_id: int
    response_channel: str
    encoded_principal: bytes


class SessionCloseEvent(WireMessage, frozen=True, tag=22):
    """A client's session has ended."""

    leadership_term_id: int
    cluster_session_id: int
    timestamp: int
    close_reason: CloseReason


class ClusterActionRequest(WireMessage, frozen=True, tag=23):
    """All members carry out an action at this position of the log."""

    leadership_term_id: int
    log_position: int
    """The position at which this entry ends, and a snapshot is taken."""
    timestamp: int
    action: ClusterAction
    flags: int

    @property
    def is_snapshot(self) -> bool:
        """Whether the members take a snapshot, and not only standby members."""
        return self.action is ClusterAction.SNAPSHOT and not self.flags & STANDBY_FLAG


class NewLeadershipTermEvent(WireMessage, frozen=True, tag=24):
    """The first entry of a leadership term."""

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

_SHORT: Final = frozenset(
    {"response_stream_id", "flags", "leader_member_id", "log_session_id", "app_version"}
)
"""The integer fields of four bytes; others have eight, and enumerations four."""
_REST: Final = "payload"
"""The name of a last field without a length before it: it is the rest of the message."""


class LayoutError(ValueError):
    """The bytes are not a message of the log."""


class _Layout:
    """The layout of one class: its fixed fields, and the fields of variable length after them."""

    def __init__(self, kind: type[LogMessage]) -> None:
        hints = get_type_hints(kind)
        self.kind, self.template_id = kind, kind.__struct_config__.tag
        self.variable = [(name, hint) for name, hint in hints.items() if hint in (str, bytes)]
        self.fixed = [name for name, hint in hints.items() if hint not in (str, bytes)]
        assert list(hints)[: len(self.fixed)] == self.fixed
        codes = ("i" if name in _SHORT or hints[name] is not int else "q" for name in self.fixed)
        self.block = struct.Struct("<" + "".join(codes))


_BY_KIND: Final = {kind: _Layout(kind) for kind in get_args(LogMessage)}
_LAYOUTS: Final = {layout.template_id: layout for layout in _BY_KIND.values()}


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
    try:
        length, template_id, schema_id, _ = _HEADER.unpack_from(data)
        layout = _LAYOUTS.get(template_id)
        if layout is None:
            raise ValueError(f"the template id is {template_id}")
        if (length, schema_id) != (layout.block.size, SCHEMA_ID):
            raise ValueError(f"a block of {length} bytes in schema {schema_id}")
        values: list[object] = [template_id, *layout.block.unpack_from(data, _HEADER.size)]
        offset = _HEADER.size + length
        for name, kind in layout.variable:
            size = len(data) - offset
            if name != _REST:
                (size,) = _LENGTH.unpack_from(data, offset)
                offset += _LENGTH.size
            found, offset = bytes(data[offset : offset + size]), offset + size
            values.append(found.decode() if kind is str else found)
        if offset != len(data):
            raise ValueError(f"the fields end at {offset}")
        return convert(values, layout.kind)
    except (struct.error, ValueError) as error:
        raise LayoutError(f"{len(data)} bytes are no message of the log: {error}") from None


def aligned_length(payload_length: int) -> int:
    """The length of an entry in the log, with its frame header and padding."""
    length = FRAME_HEADER_LENGTH + payload_length
    return (length + FRAME_ALIGNMENT - 1) // FRAME_ALIGNMENT * FRAME_ALIGNMENT

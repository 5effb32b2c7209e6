"""The trace format: ``run.json`` (`Run`), one line of a member's stream (`Event`), and their
conversion.

`canvass.traces.wire` holds the messages and the member state. Here is what surrounds them, the
values of `canvass.cluster` that they stand for, and the published JSON Schemas. Reading and writing
of files is elsewhere, and so is every check that takes more than one event.

The canonical line of an event is what `encode` makes: fields in the order of the Structs, no
spaces, the optional fields of `Event` and `Input` left out where they have their
defaults.
"""

from __future__ import annotations

from itertools import combinations
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from canvass.cluster import member, messages
from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.names import wire_name
from canvass.traces import wire
from canvass.traces.actions import ACTION_INPUTS, Action
from canvass.traces.limits import (
    MAX_ID_DIGITS,
    MAX_INT,
    MAX_LOG_CHECKSUMS,
    MAX_MEMBERS,
    MAX_SENDS,
    MAX_SOURCE_LINES,
    MAX_STRING_LENGTH,
)
from canvass.traces.wire import Int64

RUN_SCHEMA: Final = "canvass.run/1"
EVENTS_SCHEMA: Final = "canvass.events/1"

RUN_ID_PATTERN: Final = r"^[a-z0-9][a-z0-9_.-]{0,63}$(?!\n)"
"""Run ids name folders and appear in pages and reports."""

MemberId: TypeAlias = Annotated[int, Meta(ge=0, lt=MAX_MEMBERS)]
MemberSet: TypeAlias = Annotated[tuple[MemberId, ...], Meta(max_length=MAX_MEMBERS)]
"""A set of members, each once and in ascending order."""
Text: TypeAlias = Annotated[str, Meta(max_length=MAX_STRING_LENGTH)]
MessageId: TypeAlias = Annotated[
    str, Meta(pattern=rf"^[0-{MAX_MEMBERS - 1}]:(0|[1-9][0-9]{{0,{MAX_ID_DIGITS - 1}}})$(?!\n)")
]
"""``"<sender>:<running number>"``, unique in a run: written at the send, repeated at each receipt.
"""


class _Part(Struct, frozen=True, forbid_unknown_fields=True, rename=wire_name, omit_defaults=True):
    """A part of the format with optional fields."""


class Run(_Part, frozen=True):
    """``run.json``: what every reader of a run must know before the first event."""

    schema: Literal["canvass.run/1"]
    run_id: Annotated[str, Meta(pattern=RUN_ID_PATTERN)]
    revision: Literal["1.49", "1.50", "hardened"]
    member_count: Annotated[int, Meta(ge=1, le=MAX_MEMBERS)]
    hardening: Annotated[tuple[Text, ...], Meta(max_length=64)] = ()
    """The hazards that the run's implementation closes, such as ``"HZ1"``."""
    appointed_leader_id: Annotated[int, Meta(ge=NULL_VALUE, lt=MAX_MEMBERS)] = NULL_VALUE
    initial: Literal["empty", "unknown"] = "empty"
    """Whether every member starts with an empty log and recording log."""
    source: dict[str, Any] = {}
    """Where the run came from, such as ``{"kind": "simulation", "seed": 7}``. No verdict depends on
    it. ``timeouts`` in it are the cluster's, for timing warnings (`canvass.traces.timeouts`).
    """


class Send(_Part, frozen=True, gc=False):
    """One message sent in a step."""

    to: MemberId
    id: MessageId
    message: wire.Message


class LogChecksum(_Part, frozen=True, gc=False):
    """The running checksum of the member's log from its start up to a position.

    The function is the recorder's choice, one for all members of a run: checksums are only compared
    with each other.
    """

    position: Int64
    checksum: Annotated[str, Meta(pattern=r"^[0-9a-f]{16}$(?!\n)")]


class Source(_Part, frozen=True):
    """Which lines of an imported log an event accounts for, and which of its fields they show.

    The other fields of the event are inferred.
    """

    file: Text
    lines: Annotated[
        tuple[Annotated[int, Meta(ge=1, le=MAX_INT)], ...], Meta(max_length=MAX_SOURCE_LINES)
    ]
    observed: Annotated[tuple[Text, ...], Meta(max_length=MAX_SOURCE_LINES)]
    """Paths into the event, such as ``"state.electionState"``."""
    reason: Text = ""
    """Why an election began or its state changed, in the log's own words."""


class Input(_Part, frozen=True):
    """`canvass.cluster.member.Input` in JSON, with sender and id of the message."""

    from_: Annotated[int, Meta(ge=NULL_VALUE, lt=MAX_MEMBERS)] = NULL_VALUE
    """The member that sent ``message``."""
    id: MessageId = ""
    """The id of the send that ``message`` comes from."""
    message: wire.Message | None = None
    interval: bool = False
    commit_interval: bool = False
    timeout: bool = False
    active: MemberSet = ()
    accepted: MemberSet = ()
    position: Int64 = NULL_VALUE
    leadership_term_id: Int64 = NULL_VALUE
    term_base_log_position: Int64 = NULL_VALUE
    graceful_closed_leader_id: Int64 = NULL_VALUE


class Event(_Part, frozen=True):
    """One step of one member: a line of its stream."""

    step: Annotated[int, Meta(ge=0, le=MAX_INT)]
    """Counts the member's steps from 0, without gaps, across restarts."""
    time_ns: Int64
    """The member's own clock. No verdict depends on it, only timing warnings do."""
    action: Action
    input: Input
    sends: Annotated[tuple[Send, ...], Meta(max_length=MAX_SENDS)]
    """In the order of sending."""
    state: wire.Member
    """After the step."""
    log_checksums: Annotated[tuple[LogChecksum, ...], Meta(max_length=MAX_LOG_CHECKSUMS)] = ()
    source: Source | None = None


_ENCODER: Final = msgspec.json.Encoder()
encode: Final = _ENCODER.encode
"""The canonical JSON of a Struct, without an end of line."""
encode_lines: Final = _ENCODER.encode_lines
"""The canonical lines of many Structs."""

_WIRE_MESSAGES: Final[dict[type[messages.Message], type[wire.Message]]] = dict(
    zip(messages.MESSAGE_TYPES, wire.MESSAGE_TYPES, strict=True)
)
_CLUSTER_MESSAGES: Final[dict[type[wire.Message], type[messages.Message]]] = dict(
    zip(wire.MESSAGE_TYPES, messages.MESSAGE_TYPES, strict=True)
)
ACTION_MESSAGES: Final[dict[Action, type[wire.Message] | type[None]]] = {
    action: type(None) if row.message is None else _WIRE_MESSAGES[row.message]
    for action, row in ACTION_INPUTS.items()
}
"""The class of ``input.message`` for each action."""
MEMBER_SETS: Final = frozenset(
    members for size in range(MAX_MEMBERS + 1) for members in combinations(range(MAX_MEMBERS), size)
)
"""All sets of members, as events hold them."""
_CONSUMED: Final = {action.value: consumed for action, consumed in ACTION_MESSAGES.items()}
"""The same by the action's name: to look an enum's member up calls Python code."""


def to_wire_message(message: messages.Message) -> wire.Message:
    """Give the JSON form of a message."""
    values = [getattr(message, name) for name in message.__dataclass_fields__]
    return _WIRE_MESSAGES[type(message)](*values)


def to_cluster_message(message: wire.Message) -> messages.Message:
    """Give the message that a JSON form stands for."""
    return _CLUSTER_MESSAGES[type(message)](*msgspec.structs.astuple(message))


def to_wire_member(state: member.Member) -> wire.Member:
    """Give the JSON form of a member state."""
    values = {name: getattr(state, name) for name in wire.Member.__struct_fields__}
    values["members"] = tuple(
        wire.MemberRecord(*(getattr(record, name) for name in wire.MemberRecord.__struct_fields__))
        for record in state.members
    )
    values["recording_log"] = tuple(
        wire.TermEntry(entry.leadership_term_id, entry.term_base_log_position, entry.log_position)
        for entry in state.recording_log
    )
    return wire.Member(**values)


def to_cluster_member(state: wire.Member) -> member.Member:
    """Give the member state that a JSON form stands for."""
    values = {name: getattr(state, name) for name in wire.Member.__struct_fields__}
    astuple = msgspec.structs.astuple
    values["members"] = tuple(member.MemberRecord(*astuple(record)) for record in state.members)
    values["recording_log"] = tuple(
        member.TermEntry(*astuple(entry)) for entry in state.recording_log
    )
    return member.Member(**values)


_INPUT_FACTS: Final = tuple(
    name
    for name in member.Input.__dataclass_fields__
    if name not in ("message", "active", "accepted")
)


def to_wire_input(value: member.Input, sender: int = NULL_VALUE, message_id: str = "") -> Input:
    """Give the JSON form of an input; ``sender`` and ``message_id`` go with its message."""
    facts = {name: getattr(value, name) for name in _INPUT_FACTS}
    return Input(
        from_=sender,
        id=message_id,
        message=None if value.message is None else to_wire_message(value.message),
        active=tuple(sorted(value.active)),
        accepted=tuple(sorted(value.accepted)),
        **facts,
    )


def to_cluster_input(value: Input) -> member.Input:
    """Give the input that a JSON form stands for, without sender and id of the message."""
    facts = {name: getattr(value, name) for name in _INPUT_FACTS}
    return member.Input(
        message=None if value.message is None else to_cluster_message(value.message),
        active=frozenset(value.active),
        accepted=frozenset(value.accepted),
        **facts,
    )


def event_problem(event: Event, member_id: int) -> str | None:
    """Say what is wrong with a well-typed event of a member in itself, or None.

    An event consumes the message that its action names and no other, and the ids of messages name
    their senders.
    """
    given = event.input
    expected = _CONSUMED[event.action._value_]
    if type(given.message) is not expected:
        wanted = "no message" if expected is type(None) else f"a {expected.__name__}"
        return f"{event.action.value} consumes {wanted}"
    if given.message is None:
        if given.id or given.from_ != NULL_VALUE:
            return "input.from and input.id are for a message, and there is none"
    elif not given.id or int(given.id[0]) != given.from_:
        return "input.id is not the id of a send by the member input.from"
    if given.active not in MEMBER_SETS or given.accepted not in MEMBER_SETS:
        return "a set of members is not in ascending order, or names one twice"
    sender = str(member_id)
    for send in event.sends:
        if send.id[0] != sender:
            return f"send {send.id} does not bear an id of its sender, member {member_id}"
    return None


def published_schemas() -> dict[str, bytes]:
    """Make the published JSON Schemas: file name to contents."""
    tops: dict[str, type[Struct]] = {"canvass.run-1.json": Run, "canvass.events-1.json": Event}
    contents = {}
    for name, top in tops.items():
        schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"} | msgspec.json.schema(
            top
        )
        contents[name] = msgspec.json.format(msgspec.json.encode(schema), indent=2) + b"\n"
    return contents

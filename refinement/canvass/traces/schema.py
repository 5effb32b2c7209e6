"""The trace format: ``run.json`` (`Run`), one line of a member's stream (`Event`), and the columns
of many events.

Messages and member states are those of `canvass.cluster`. This module has the types that contain
them, the input with sender and id of its message, and the published JSON Schemas. It reads and
writes no files, and makes no check that takes more than one event.

`encode` makes the canonical line of an event: the fields are in the order of the Structs, there are
no spaces, and optional fields of `Event` and `Input` are left out if they have their defaults.

The names, codes and kinds of columns follow from the values of `canvass.cluster`, so that a new
field there becomes a new column. `canvass.traces.columns` has the arrays, `canvass.traces.arrow`
the Arrow schema. Codes are indexes into the tuples here. Everywhere -1 means none.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum, IntEnum
from inspect import cleandoc
from itertools import combinations
from operator import attrgetter
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from canvass.cluster import member
from canvass.cluster.member import MAX_MEMBERS as MAX_MEMBERS
from canvass.cluster.member import MAX_RECORDING_LOG as MAX_RECORDING_LOG
from canvass.cluster.member import ElectionState, Member, MemberRecord, ModuleState, Role, TermEntry
from canvass.cluster.messages import MAX_INT as MAX_INT
from canvass.cluster.messages import MESSAGE_TYPES, NULL_VALUE, Int64, Message, wire_name
from canvass.cluster.messages import MIN_INT as MIN_INT
from canvass.cluster.rules import HARDENED, HAZARDS, Rules
from canvass.traces.actions import ACTION_INPUTS, ACTIONS, Action

MAX_LINE_BYTES: Final = 1 << 20
"""The longest line. Readers keep a whole line in memory. An event with nine members and a long
recording log takes about 20 KiB.
"""

MAX_ID_DIGITS: Final = 15
"""The most digits of the running number of a message id. Such a number fits into the low 50 bits of
the id's code in columns.
"""

NONE: Final = -1

MESSAGE_TYPE_NAMES: Final = tuple(message.__name__ for message in MESSAGE_TYPES)
"""The code of a message type is its index here."""

STATE_ENUMS: Final[Mapping[str, tuple[Enum, ...]]] = MappingProxyType(
    {
        "module_state": tuple(ModuleState),
        "role": tuple(Role),
        "election_state": tuple(ElectionState),
    }
)
"""State columns that hold codes: the code of a value is its index."""

ACTION_NAMES: Final = tuple(action.value for action in ACTIONS)
"""The code of an action is its index here."""

ACTION_MESSAGE_CODES: Final = tuple(
    NONE if row is None else MESSAGE_TYPE_NAMES.index(row.__name__)
    for row in (ACTION_INPUTS[action].message for action in ACTIONS)
)
"""The code of the message type that an action consumes, by action code; -1 for none."""

MESSAGE_FIELDS: Final = tuple(
    dict.fromkeys(name for message in MESSAGE_TYPES for name in message.__struct_fields__)
)
"""The fields of all message types, each once."""

MESSAGE_COLUMNS: Final = ("type", "peer", "id", *MESSAGE_FIELDS)
"""Columns of a message, received or sent; ``peer`` is the sender of a received message and the
receiver of a sent one. A field that the type does not have holds -1.
"""

INPUT_COLUMNS: Final = (
    "interval",
    "commit_interval",
    "timeout",
    "active",
    "accepted",
    "position",
    "entry_position",
    "leadership_term_id",
    "term_base_log_position",
    "graceful_closed_leader_id",
)
"""Columns of the input besides the message. ``active`` and ``accepted`` are masks: bit k is member
k.
"""

STATE_COLUMNS: Final = tuple(
    name for name in Member.__struct_fields__ if name not in ("members", "recording_log")
)
"""Columns of the state after the step, without its two lists."""

MEMBER_COLUMNS: Final = MemberRecord.__struct_fields__
"""Columns of one record of ``members``."""

LOG_COLUMNS: Final = TermEntry.__struct_fields__
"""Columns of one entry of the recording log."""

CHECKSUM_COLUMNS: Final = ("position", "checksum")
"""Columns of one log checksum. The 64 bits of the checksum are read as a signed integer."""


class NumberKind(IntEnum):
    """The kind of a number. It decides how a renaming that keeps a step valid may change it."""

    TERM = 0
    POSITION = 1
    MEMBER = 2
    MEMBER_MASK = 3
    CODE = 4
    """A code, a flag, a vote or a set of flag bits: no renaming changes it."""
    MESSAGE_ID = 5
    CHECKSUM = 6


@functools.cache
def kind(column: str) -> NumberKind:
    """Return the kind of a column by its name."""
    if column in ("active", "accepted"):
        return NumberKind.MEMBER_MASK
    if column == "id":
        return NumberKind.MESSAGE_ID
    if column == "checksum":
        return NumberKind.CHECKSUM
    if column.endswith("term_id"):
        return NumberKind.TERM
    if column.endswith("position"):
        return NumberKind.POSITION
    if column == "peer" or column.endswith(("member_id", "leader_id")):
        return NumberKind.MEMBER
    return NumberKind.CODE


def index_of(columns: Sequence[str]) -> Mapping[str, int]:
    """Map the name of each column to its index."""
    return MappingProxyType({name: index for index, name in enumerate(columns)})


MESSAGE_INDEX: Final = index_of(MESSAGE_COLUMNS)
MESSAGE_PLACES: Final = tuple(
    tuple(MESSAGE_INDEX[name] for name in message.__struct_fields__) for message in MESSAGE_TYPES
)
"""The columns of the fields of each message type, in the order of the fields."""
INPUT_INDEX: Final = index_of(INPUT_COLUMNS)
STATE_INDEX: Final = index_of(STATE_COLUMNS)
MEMBER_INDEX: Final = index_of(MEMBER_COLUMNS)

FLAG_COLUMNS: Final = frozenset(
    {"interval", "commit_interval", "timeout"}
    | {name for name, kept in Member.__annotations__.items() if kept == "bool"}
    | {name for name, kept in MemberRecord.__annotations__.items() if kept == "bool"}
)
"""Columns of input, state and member record that hold truth values, 0 and 1."""

ID_BITS: Final = 50
"""The number of low bits of a message id's code that hold the running number. The higher bits hold
the sender."""
assert 10**MAX_ID_DIGITS <= 1 << ID_BITS


def message_id_code(message_id: str) -> int:
    """Return the code of a message id: the running number in the low 50 bits, the sender above.

    ``"1:42"`` becomes ``(1 << 50) | 42``. The empty id, for no message, becomes -1.
    """
    if not message_id:
        return NONE
    # The sender is one digit, because a cluster has at most nine members.
    return int(message_id[0]) << ID_BITS | int(message_id[2:])


def message_id_text(code: int) -> str:
    """Return the message id of a code."""
    return "" if code < 0 else f"{code >> ID_BITS}:{code & ((1 << ID_BITS) - 1)}"


def mask_of(members: Iterable[int]) -> int:
    """Return the mask of a set of members."""
    return sum(1 << member for member in members)


def members_of(mask: int) -> frozenset[int]:
    """Return the set of members of a mask."""
    return frozenset(member for member in range(mask.bit_length()) if mask >> member & 1)


class FactKind(str, Enum):
    """The kinds of missing data."""

    MISSING_STREAM = "MISSING_STREAM"
    """A member has no stream."""
    EMPTY_STREAM = "EMPTY_STREAM"
    """A member's stream has no event, and ``run.json`` does not say that it took no step."""
    LATE_START = "LATE_START"
    """A member's stream does not begin with step 0."""
    GAP = "GAP"
    """Steps are missing before ``step``."""
    TRUNCATED = "TRUNCATED"
    """A stream stops within a line or within its compressed file."""


class Fact(Struct, frozen=True, forbid_unknown_fields=True, rename=wire_name):
    """One thing that is missing from a run."""

    kind: FactKind
    run_id: str
    member_id: int
    step: int = NULL_VALUE
    """The first step after what is missing, -1 if there is none."""
    line: int = NULL_VALUE
    """The line of the stream at which the reader noticed it, -1 if there is none."""
    detail: str = ""


RUN_SCHEMA: Final = "canvass.run/1"
EVENTS_SCHEMA: Final = "canvass.events/1"

RUN_ID_PATTERN: Final = r"^[a-z0-9][a-z0-9_.~-]{0,63}$(?!\n)"
"""The form of run ids. They name folders and appear in pages and reports."""

MemberId: TypeAlias = Annotated[int, Meta(ge=0, lt=MAX_MEMBERS)]
MemberSet: TypeAlias = Annotated[tuple[MemberId, ...], Meta(max_length=MAX_MEMBERS)]
"""A set of members, each once and in ascending order."""
MessageId: TypeAlias = Annotated[
    str, Meta(pattern=rf"^[0-{MAX_MEMBERS - 1}]:(0|[1-9][0-9]{{0,{MAX_ID_DIGITS - 1}}})$(?!\n)")
]
"""``"<sender>:<running number>"``, unique in a run: written at the send, repeated at each receipt.
"""


class _Part(Struct, frozen=True, forbid_unknown_fields=True, rename=wire_name, omit_defaults=True):
    """A part of the format with optional fields."""


IMPORTED: Final = "aeron-log"
"""The ``kind`` in ``source`` of a run that was made from the logs of a real cluster."""
UNSENT: Final = 0
"""In an imported run, the number of a message that nobody can have sent. Others count from 1."""
CLOSINGS: Final = "closed"
"""The key of the closings in ``source`` of ``run.json``."""
MISSING: Final = "missing"
"""The key in ``source`` of ``run.json`` for the sentences about what an import lacks."""
DISK_REPLACED: Final = "diskReplaced"
"""The key of the disks that were changed from outside, in ``source`` of ``run.json``."""


class Closing(_Part, frozen=True):
    """A line of Aeron's log that says that a member has closed: no step of the spec."""

    time_ns: int
    reason: str = ""


class DiskReplaced(_Part, frozen=True):
    """A member started with another disk than it left: something outside the cluster changed it."""

    member_id: MemberId
    step: int
    """The number of the member's ``Restart`` with that disk."""
    changed: str
    """The values that are less than before, as text."""
    file: str = ""
    line: int = NULL_VALUE

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.file else ""
        return f"{place}DiskReplaced: {self.changed}: its disk was replaced or restored"


class Run(_Part, frozen=True):
    """``run.json``: what every reader of a run must know before the first event."""

    schema: Literal["canvass.run/1"]
    run_id: Annotated[str, Meta(pattern=RUN_ID_PATTERN)]
    revision: Literal["1.49", "1.50", "hardened"]
    member_count: Annotated[int, Meta(ge=1, le=MAX_MEMBERS)]
    hardening: tuple[str, ...] = ()
    """The hazards that the run's implementation closes, such as ``"HZ1"``."""
    appointed_leader_id: Annotated[int, Meta(ge=NULL_VALUE, lt=MAX_MEMBERS)] = NULL_VALUE
    initial: Literal["empty", "unknown"] = "empty"
    """Whether every member starts with an empty log and recording log."""
    without_steps: MemberSet = ()
    """The members that took no step, so that their streams are meant to be empty."""
    source: dict[str, Any] = {}
    """Where the run came from, such as ``{"kind": "simulation", "seed": 7}``. It may have
    ``timeouts``, the timeouts of the cluster, for timing warnings (`canvass.traces.timeouts`). An
    imported run has ``closed``, the closings by member; ``releases``, the releases of Aeron that
    wrote the logs (`canvass.traces.aeron_log.releases`); ``missing``, what the import lacks; and
    ``diskReplaced``, the disks that were changed from outside. A verdict depends only on
    ``missing`` and ``diskReplaced``.
    """

    def __post_init__(self) -> None:
        """Check the members that are named.

        Raises
        ------
        ValueError
            If the named members are no set of the run's members, or ``source.diskReplaced`` has
            another form.
        """
        named, _ = self.without_steps, self.disk_replaced
        if named and (named not in MEMBER_SETS or named[-1] >= self.member_count):
            raise ValueError("withoutSteps is no ascending set of members of the run")

    def steps_problem(self, member_id: int, steps: int) -> str | None:
        """Say what is wrong if a member's stream has this number of steps, or None."""
        if steps and member_id in self.without_steps:
            return f"run.json says that member {member_id} took 0 steps, and here are {steps}"
        return None

    @classmethod
    def of(
        cls,
        rules: Rules,
        run_id: str,
        source: dict[str, Any],
        initial: Literal["empty", "unknown"] = "empty",
    ) -> Run:
        """Describe a run of a cluster that obeys some rules."""
        hardened = rules.hardening == HAZARDS
        return cls(
            schema="canvass.run/1",
            run_id=run_id,
            revision=HARDENED if hardened else rules.revision,  # type: ignore[arg-type]
            member_count=rules.member_count,
            hardening=() if hardened else tuple(sorted(rules.hardening)),
            appointed_leader_id=rules.appointed_leader_id,
            initial=initial,
            source=source,
        )

    def closings(self) -> dict[int, tuple[Closing, ...]]:
        """The lines with which members closed, by member.

        Raises
        ------
        msgspec.ValidationError
            If ``source.closed`` holds something else.
        """
        given = self.source.get(CLOSINGS, {})
        return msgspec.convert(given, dict[int, tuple[Closing, ...]], str_keys=True)

    @property
    def is_imported(self) -> bool:
        """Whether the run was made from the logs of a real cluster."""
        return self.source.get("kind") == IMPORTED

    @property
    def missing(self) -> tuple[str, ...]:
        """Sentences about what an imported run lacks: a false line with which it ends, and gaps.

        Other runs have none. If ``source.missing`` has another form, that counts as something that
        is missing.
        """
        given = self.source.get(MISSING, ())
        try:
            return msgspec.convert(given, tuple[str, ...])
        except msgspec.ValidationError:
            return (f"source.{MISSING} of run.json is no list of sentences",)

    @property
    def disk_replaced(self) -> tuple[DiskReplaced, ...]:
        """The disks that were changed from outside."""
        return msgspec.convert(self.source.get(DISK_REPLACED, ()), tuple[DiskReplaced, ...])

    @property
    def rules(self) -> Rules:
        """The rules under which the run was made.

        Raises
        ------
        ValueError
            If ``hardening`` names an unknown hardening, or the appointed member does not exist.
        """
        named = Rules.of(self.revision, self.member_count, self.appointed_leader_id)
        hardening = frozenset(self.hardening) or named.hardening
        return Rules(self.member_count, named.revision, hardening, self.appointed_leader_id)


class Send(_Part, frozen=True, gc=False):
    """One message sent in a step."""

    to: MemberId
    id: MessageId
    message: Message


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

    file: str
    lines: tuple[Annotated[int, Meta(ge=1, le=MAX_INT)], ...]
    observed: tuple[str, ...]
    """Paths into the event, such as ``"state.electionState"``."""
    reason: str = ""
    """Why an election began or its state changed, in the log's own words."""


class Input(_Part, frozen=True):
    """`canvass.cluster.member.Input` in JSON, with sender and id of the message."""

    from_: Annotated[int, Meta(ge=NULL_VALUE, lt=MAX_MEMBERS)] = NULL_VALUE
    """The member that sent ``message``."""
    id: MessageId = ""
    """The id of the send that ``message`` comes from."""
    message: Message | None = None
    interval: bool = False
    commit_interval: bool = False
    timeout: bool = False
    active: MemberSet = ()
    accepted: MemberSet = ()
    position: Int64 = NULL_VALUE
    entry_position: Int64 = NULL_VALUE
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
    sends: tuple[Send, ...]
    """In the order of sending."""
    state: Member
    """After the step."""
    log_checksums: tuple[LogChecksum, ...] = ()
    source: Source | None = None


_ENCODER: Final = msgspec.json.Encoder()
encode: Final = _ENCODER.encode
"""The canonical JSON of a Struct, without an end of line."""
encode_lines: Final = _ENCODER.encode_lines
"""The canonical lines of many Structs."""

MEMBER_SETS: Final = frozenset(
    members for size in range(MAX_MEMBERS + 1) for members in combinations(range(MAX_MEMBERS), size)
)
"""All sets of members, as events hold them."""
_CONSUMED: Final = {
    action.value: row.message or type(None) for action, row in ACTION_INPUTS.items()
}
"""The class of ``input.message`` by the action's name. The keys are names, because a look-up of an
enum member calls Python code, which is slower."""
_ASCENDING: Final = {frozenset(members): members for members in MEMBER_SETS}
_plain_numbers: Final = attrgetter(*member.Input.__struct_fields__[6:])
"""The numbers in an input: all fields but its message, its timers and its sets of members."""


def to_trace_input(given: member.Input, sender: int = NULL_VALUE, message_id: str = "") -> Input:
    """Give an input in the form of events, with the sender and the id of its message."""
    return Input(
        sender,
        message_id,
        *(given.message, given.interval, given.commit_interval, given.timeout),
        *(_ASCENDING[given.active], _ASCENDING[given.accepted]),
        *_plain_numbers(given),
    )


def to_core_input(given: Input) -> member.Input:
    """Give the input of the core that an event holds, without sender and id of the message."""
    return member.Input(
        *(given.message, given.interval, given.commit_interval, given.timeout),
        *(frozenset(given.active), frozenset(given.accepted)),
        *_plain_numbers(given),
    )


def event_problem(event: Event, member_id: int) -> str | None:
    """Say what is wrong with a well-typed event of a member, taken alone, or None.

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
    greatest = max((*given.active, *given.accepted), default=0)
    if greatest >= len(event.state.members):
        return f"a set of members names member {greatest}, which the run does not have"
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
        for one in schema["$defs"].values():
            if "description" in one:
                # Python 3.13 removes the indentation of docstrings, older versions keep it.
                one["description"] = cleandoc(one["description"])
        contents[name] = msgspec.json.format(msgspec.json.encode(schema), indent=2) + b"\n"
    return contents

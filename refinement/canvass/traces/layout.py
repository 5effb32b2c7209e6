"""The layout of columns: names, codes and kinds of the fields of events; the limits of the format.

The layout follows from the values of `canvass.cluster`, so that a new field there becomes a new
column. `canvass.traces.columns` has the arrays, `canvass.traces.arrow` the Arrow schema.

Codes are indexes into the tuples below. Everywhere -1 means none. The limits protect readers
against hostile input. Runs that canvass records stay far below them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum, IntEnum
from types import MappingProxyType
from typing import Final

from canvass.cluster.member import MAX_MEMBERS as MAX_MEMBERS
from canvass.cluster.member import MAX_RECORDING_LOG as MAX_RECORDING_LOG
from canvass.cluster.member import ElectionState, Member, MemberRecord, ModuleState, Role, TermEntry
from canvass.cluster.messages import MAX_INT as MAX_INT
from canvass.cluster.messages import MESSAGE_TYPES
from canvass.cluster.messages import MIN_INT as MIN_INT
from canvass.traces.actions import ACTION_INPUTS, ACTIONS

MAX_LINE_BYTES: Final = 1 << 20
"""The longest line. Readers keep a whole line in memory. An event with nine members and a long
recording log takes about 20 KiB.
"""

MAX_STRING_LENGTH: Final = 1 << 16
"""The most characters of a text. No field needs a longer text, and reports print texts."""

MAX_SENDS: Final = 1 << 10
"""The most messages sent in one step. A leader sends a few to each of eight peers."""


MAX_LOG_CHECKSUMS: Final = 1 << 10
"""The most log checksums of one event."""

MAX_SOURCE_LINES: Final = 1 << 12
"""The most log lines that one imported event accounts for."""

MAX_RUNS: Final = 1_000_000
"""The most run folders in one corpus folder. More runs belong in a Parquet data set, since readers
keep the whole listing of a folder in memory.
"""

MAX_RUN_JSON_BYTES: Final = 1 << 20
"""The largest ``run.json``. Readers keep all of it in memory."""

MAX_METADATA_BYTES: Final = 1 << 27
"""The largest footer of a Parquet file. It has 300 bytes for each run in the file."""

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

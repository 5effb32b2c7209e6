"""A step of one member, and its parts as integers.

Events of traces, edges of state graphs and questions to the oracle all become a `Step`.
`canvass.steps.kernel` makes steps canonical.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from canvass.cluster.member import Input, Member, MemberRecord, TermEntry
from canvass.cluster.messages import MESSAGE_TYPES, NULL_VALUE, Message
from canvass.traces.actions import Action
from canvass.traces.columns import Ints, fields_of, message_of
from canvass.traces.layout import (
    FLAG_COLUMNS,
    INPUT_COLUMNS,
    LOG_COLUMNS,
    MEMBER_COLUMNS,
    MESSAGE_COLUMNS,
    MESSAGE_INDEX,
    MESSAGE_PLACES,
    STATE_COLUMNS,
    STATE_ENUMS,
    mask_of,
)

Sends = tuple[tuple[int, Message], ...]
"""Receiver and message, in the order of sending."""


class Step(Struct, frozen=True, gc=False):
    """One step: a member in a state takes an action on an input; state and sends follow."""

    member: int
    before: Member
    action: Action
    input: Input
    after: Member
    sends: Sends


ERASED_RECORD: Final = tuple(0 if name in FLAG_COLUMNS else NULL_VALUE for name in MEMBER_COLUMNS)
"""The cells of a member record that a canonical step does not touch."""


def state_cells(state: Member) -> list[int]:
    """Give the single fields of a state."""
    return [
        STATE_ENUMS[name].index(value) if name in STATE_ENUMS else int(value)
        for name, value in ((name, getattr(state, name)) for name in STATE_COLUMNS)
    ]


def record_cells(record: MemberRecord) -> list[int]:
    """Give the fields of a member record."""
    return [int(getattr(record, name)) for name in MEMBER_COLUMNS]


def entry_cells(entry: TermEntry) -> list[int]:
    """Give the fields of an entry of the recording log."""
    return [getattr(entry, name) for name in LOG_COLUMNS]


def flat_member(state: Member) -> list[int]:
    """Give a member as one list: fields, member records, the number of terms, the terms."""
    return [
        *state_cells(state),
        *(cell for record in state.members for cell in record_cells(record)),
        len(state.recording_log),
        *(cell for entry in state.recording_log for cell in entry_cells(entry)),
    ]


def flat_message(message: Message | None) -> list[int]:
    """Give a message as one list without padding: type code and fields; NULL_VALUE for none."""
    if message is None:
        return [NULL_VALUE]
    fields = (int(getattr(message, name)) for name in message.__struct_fields__)
    return [MESSAGE_TYPES.index(type(message)), *fields]


def message_cells(message: Message | None, peer: int = NULL_VALUE) -> list[int]:
    """Give a message, or none, as a row of `MESSAGE_COLUMNS` without an id."""
    cells = [NULL_VALUE] * len(MESSAGE_COLUMNS)
    cells[MESSAGE_INDEX["peer"]] = peer
    if message is not None:
        code, *fields = flat_message(message)
        cells[0] = code
        for place, value in zip(MESSAGE_PLACES[code], fields, strict=True):
            cells[place] = value
    return cells


def input_cells(value: Input) -> list[int]:
    """Give the facts of an input, without its message."""
    return [
        mask_of(fact) if isinstance(fact, frozenset) else int(fact)
        for fact in (getattr(value, name) for name in INPUT_COLUMNS)
    ]


def input_of(facts: Sequence[int] | Ints, message: Sequence[int] | Ints) -> Input:
    """Give the input of a row of `INPUT_COLUMNS` and one of `MESSAGE_COLUMNS`."""
    values = fields_of(INPUT_COLUMNS, facts)
    for name in ("active", "accepted"):
        values[name] = frozenset(values[name])
    return Input(message=message_of(message), **values)


WORD: Final = (1 << 64) - 1
FIRST_FACTOR: Final = 0x9E3779B97F4A7C15
SECOND_FACTOR: Final = 0xC2B2AE3D27D4EB4F
FIRST_SEED: Final = 0x243F6A8885A308D3
SECOND_SEED: Final = 0x13198A2E03707344


def hash_cells(
    cells: Iterable[int], before: tuple[int, int] = (FIRST_SEED, SECOND_SEED)
) -> tuple[int, int]:
    """Hash integers to 128 bits, as the kernel does: two lanes of multiply and shift.

    ``before`` is the hash of the cells before them.
    """
    first, second = before
    for cell in cells:
        word = cell & WORD
        first = (first ^ word) * FIRST_FACTOR & WORD
        first ^= first >> 29
        second = (second + word) * SECOND_FACTOR & WORD
        second ^= second >> 32
    return first, second

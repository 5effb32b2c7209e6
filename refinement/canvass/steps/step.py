"""A step of one member, and its form as a row of integers.

`Step` is what a trace's event, an edge of a state graph and a question to the oracle have in
common. A row holds a step whose recording logs and sends are short, as canonical ones are; `key`
names it by its content. How steps become canonical is in `canvass.steps.canonical`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from msgspec import Struct

from canvass.cluster import messages
from canvass.cluster.member import Input, Member, MemberRecord, TermEntry
from canvass.cluster.messages import MESSAGE_TYPES, NULL_VALUE, Message
from canvass.traces.actions import ACTIONS, Action
from canvass.traces.layout import (
    FLAG_COLUMNS,
    INPUT_COLUMNS,
    LOG_COLUMNS,
    MEMBER_COLUMNS,
    MESSAGE_FIELDS,
    STATE_COLUMNS,
    STATE_ENUMS,
    mask_of,
    members_of,
)

Sends = tuple[tuple[int, Message], ...]
"""Receiver and message, in the order of sending."""


class Step(Struct, frozen=True, gc=False):
    """One step: a member in a state takes an action on an input; state and sends follow.

    ``barred`` says that another member is the appointed leader: this one may not nominate itself.
    """

    member: int
    before: Member
    action: Action
    input: Input
    after: Member
    sends: Sends
    barred: bool = False


@dataclass(frozen=True, slots=True)
class RowLayout:
    """Which cell of a row holds what, for clusters of one size."""

    member_count: int

    @property
    def log_capacity(self) -> int:
        """How many entries of a recording log fit."""
        return self.member_count + 5

    @property
    def send_capacity(self) -> int:
        """How many sends fit."""
        return 2 * self.member_count

    @property
    def state_width(self) -> int:
        """The cells of a state: single fields, records, length of the log, and its entries."""
        records = len(MEMBER_COLUMNS) * self.member_count
        return len(STATE_COLUMNS) + records + 1 + len(LOG_COLUMNS) * self.log_capacity

    @property
    def before(self) -> int:
        """The first cell of the state before the step."""
        return INPUT_START + len(INPUT_COLUMNS) + MESSAGE_WIDTH

    @property
    def after(self) -> int:
        """The first cell of the state after the step."""
        return self.before + self.state_width

    @property
    def sends(self) -> int:
        """The cell that holds the number of sends; each takes a receiver and a message."""
        return self.after + self.state_width

    @property
    def width(self) -> int:
        """The cells of a row."""
        return self.sends + 1 + (1 + MESSAGE_WIDTH) * self.send_capacity


ACTION_CELL: Final = 0
BARRED_CELL: Final = 1
INPUT_START: Final = 2
MESSAGE_START: Final = INPUT_START + len(INPUT_COLUMNS)
MESSAGE_WIDTH: Final = 1 + len(MESSAGE_FIELDS)
"""The type of a message, then each field that some type has."""

ERASED_STATE: Final = tuple(
    len(STATE_ENUMS[name]) - 1
    if name in ("module_state", "election_state")
    else 0
    if name in FLAG_COLUMNS or name == "role"
    else NULL_VALUE
    for name in STATE_COLUMNS
)
"""What the single fields of a state hold where they were erased."""
ERASED_RECORD: Final = tuple(0 if name in FLAG_COLUMNS else NULL_VALUE for name in MEMBER_COLUMNS)

_FIELD_PLACES: Final = tuple(
    tuple(MESSAGE_FIELDS.index(name) for name in message.__struct_fields__)
    for message in MESSAGE_TYPES
)


def message_cells(message: Message | None) -> list[int]:
    """Give the type code of a message, -1 for none, and its fields; -1 for fields it has not."""
    cells = [NULL_VALUE] * MESSAGE_WIDTH
    if message is not None:
        code = MESSAGE_TYPES.index(type(message))
        cells[0] = code
        for place, name in zip(_FIELD_PLACES[code], message.__struct_fields__, strict=True):
            cells[1 + place] = int(getattr(message, name))
    return cells


def message_of(cells: Sequence[int]) -> Message | None:
    """Give the message that `message_cells` made cells of."""
    code = int(cells[0])
    if code == NULL_VALUE:
        return None
    values: list[Any] = [int(cells[1 + place]) for place in _FIELD_PLACES[code]]
    if MESSAGE_TYPES[code] is messages.Vote:
        values[-1] = bool(values[-1])
    return MESSAGE_TYPES[code](*values)


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


def input_cells(value: Input) -> list[int]:
    """Give the facts of an input, without its message."""
    return [
        mask_of(fact) if isinstance(fact, frozenset) else int(fact)
        for fact in (getattr(value, name) for name in INPUT_COLUMNS)
    ]


def _record_of(cells: Sequence[int]) -> MemberRecord:
    values: list[Any] = [
        bool(cell) if name in FLAG_COLUMNS else int(cell)
        for name, cell in zip(MEMBER_COLUMNS, cells, strict=True)
    ]
    return MemberRecord(*values)


def member_of(
    state: Sequence[int], records: Iterable[Sequence[int]], log: Iterable[Sequence[int]]
) -> Member:
    """Give the state that single fields, records and entries stand for."""
    values: dict[str, Any] = {}
    for name, cell in zip(STATE_COLUMNS, state, strict=True):
        if name in STATE_ENUMS:
            values[name] = STATE_ENUMS[name][int(cell)]
        else:
            values[name] = bool(cell) if name in FLAG_COLUMNS else int(cell)
    values["members"] = tuple(_record_of(cells) for cells in records)
    values["recording_log"] = tuple(TermEntry(*map(int, cells)) for cells in log)
    return Member(**values)


def input_of(facts: Sequence[int], message: Sequence[int]) -> Input:
    """Give the input that facts and message cells stand for."""
    values: dict[str, Any] = {}
    for name, cell in zip(INPUT_COLUMNS, facts, strict=True):
        if name in ("active", "accepted"):
            values[name] = members_of(int(cell))
        else:
            values[name] = bool(cell) if name in FLAG_COLUMNS else int(cell)
    return Input(message=message_of(message), **values)


def fits(step: Step) -> bool:
    """Whether a row holds the step."""
    layout = RowLayout(len(step.before.members))
    longest = max(len(step.before.recording_log), len(step.after.recording_log))
    return longest <= layout.log_capacity and len(step.sends) <= layout.send_capacity


def to_row(step: Step) -> list[int]:
    """Give the row of a step that fits."""
    layout = RowLayout(len(step.before.members))

    def block(state: Member) -> Iterator[int]:
        yield from state_cells(state)
        for record in state.members:
            yield from record_cells(record)
        yield len(state.recording_log)
        for entry in state.recording_log:
            yield from entry_cells(entry)
        spare = layout.log_capacity - len(state.recording_log)
        yield from [NULL_VALUE] * (len(LOG_COLUMNS) * spare)

    row = [ACTIONS.index(step.action), int(step.barred), *input_cells(step.input)]
    row += message_cells(step.input.message)
    row += [*block(step.before), *block(step.after), len(step.sends)]
    for receiver, message in step.sends:
        row += [receiver, *message_cells(message)]
    return row + [NULL_VALUE] * (layout.width - len(row))


def from_row(row: Sequence[int], member_count: int) -> Step:
    """Give the step that a row holds; its member is 0, as in every canonical step."""
    layout = RowLayout(member_count)
    width, entry_width = len(MEMBER_COLUMNS), len(LOG_COLUMNS)

    def state(start: int) -> Member:
        records = start + len(STATE_COLUMNS)
        length = records + width * member_count
        return member_of(
            row[start:records],
            [row[at : at + width] for at in range(records, length, width)],
            [
                row[at : at + entry_width]
                for at in range(
                    length + 1, length + 1 + entry_width * int(row[length]), entry_width
                )
            ],
        )

    sends = []
    for at in range(
        layout.sends + 1,
        layout.sends + 1 + (1 + MESSAGE_WIDTH) * int(row[layout.sends]),
        1 + MESSAGE_WIDTH,
    ):
        message = message_of(row[at + 1 : at + 1 + MESSAGE_WIDTH])
        assert message is not None
        sends.append((int(row[at]), message))
    return Step(
        member=0,
        before=state(layout.before),
        action=ACTIONS[int(row[ACTION_CELL])],
        input=input_of(row[INPUT_START:MESSAGE_START], row[MESSAGE_START : layout.before]),
        after=state(layout.after),
        sends=tuple(sends),
        barred=bool(row[BARRED_CELL]),
    )


WORD: Final = (1 << 64) - 1
FIRST_FACTOR: Final = 0x9E3779B97F4A7C15
SECOND_FACTOR: Final = 0xC2B2AE3D27D4EB4F
FIRST_SEED: Final = 0x243F6A8885A308D3
SECOND_SEED: Final = 0x13198A2E03707344


def hash_cells(cells: Iterable[int]) -> tuple[int, int]:
    """Hash integers to 128 bits, as the kernel does: two lanes of multiply and shift."""
    first, second = FIRST_SEED, SECOND_SEED
    for cell in cells:
        word = cell & WORD
        first = (first ^ word) * FIRST_FACTOR & WORD
        first ^= first >> 29
        second = (second + word) * SECOND_FACTOR & WORD
        second ^= second >> 32
    return first, second

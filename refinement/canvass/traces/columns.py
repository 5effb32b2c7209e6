"""Events in columns: `EventColumns`, made from events here and from Arrow in
`canvass.traces.arrow`.

**Layout.** Row ``i`` is one event. Everything is int64 (C-contiguous), so that a kernel needs one
element type. Column numbers are in `canvass.traces.layout` (``STATE_INDEX["commit_position"]``):

==================  =============  ================================================================
array               shape          holds
==================  =============  ================================================================
``run``             n              index into ``runs``, the run ids
``member``          n              the member that made the step
``step``            n              its running number
``time_ns``         n              the member's clock
``action``          n              code: index into ``layout.ACTION_NAMES``
``predecessor``     n              row of the same member's previous step, -1 if it is not here
``inputs``          n x 9          ``layout.INPUT_COLUMNS``: flags 0/1, two member masks, numbers
``message``         n x 18         ``layout.MESSAGE_COLUMNS``: the message consumed; type -1 if none
``state``           n x 29         ``layout.STATE_COLUMNS``: the state after the step, enums as
codes ``members``         n x N x 6      ``layout.MEMBER_COLUMNS``: ``state.members``, N the member
count ``log_offsets``     n + 1          event i's recording log is
``log[log_offsets[i]:log_offsets[i+1]]`` ``log``             . x 3          ``layout.LOG_COLUMNS``
``send_offsets``    n + 1          event i's sends, in order, as for the log
``sends``           . x 18         ``layout.MESSAGE_COLUMNS``; ``peer`` is the receiver
``checksum_offsets``  n + 1        event i's log checksums, as for the log
``checksums``       . x 2          ``layout.CHECKSUM_COLUMNS``
==================  =============  ================================================================

One batch has one member count. The rows of one member's stream are contiguous and in step order, so
a predecessor is the row before or absent: a gap in the steps, or the start of the stream. The state
before a step is the predecessor's state; before a ``Restart`` it is the persistent part of the
recorded state itself. The first ``context`` rows (0 or 1) are there only as predecessors, repeated
from the batch before, without sends and checksums: they are not to be checked again.

Left out: `Event.source`, which no verdict reads; it stays in NDJSON and Parquet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from canvass.traces import wire
from canvass.traces.actions import ACTIONS
from canvass.traces.layout import (
    ACTION_NAMES,
    CHECKSUM_COLUMNS,
    FLAG_COLUMNS,
    INPUT_COLUMNS,
    LOG_COLUMNS,
    MEMBER_COLUMNS,
    MESSAGE_COLUMNS,
    MESSAGE_INDEX,
    MESSAGE_TYPE_NAMES,
    NONE,
    STATE_COLUMNS,
    STATE_ENUMS,
    mask_of,
    members_of,
    message_id_code,
    message_id_text,
)
from canvass.traces.schema import Event, Input, LogChecksum, Send

Ints: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class EventColumns:
    """Events of one or more streams in columns; the module docstring gives the layout."""

    member_count: int
    runs: tuple[str, ...]
    run: Ints
    member: Ints
    step: Ints
    time_ns: Ints
    action: Ints
    predecessor: Ints
    inputs: Ints
    message: Ints
    state: Ints
    members: Ints
    log_offsets: Ints
    log: Ints
    send_offsets: Ints
    sends: Ints
    checksum_offsets: Ints
    checksums: Ints
    context: int = 0

    def __len__(self) -> int:
        """Count the events, context rows included."""
        return len(self.step)

    def event(self, row: int) -> Event:
        """Give one row as an event, without its source."""
        return _event(self, row)


def predecessors(run: Ints, member: Ints, step: Ints) -> Ints:
    """Give the row of each event's predecessor, -1 where it is not among the rows."""
    rows = np.arange(-1, len(step) - 1, dtype=np.int64)
    if len(step):
        follows = (run[1:] == run[:-1]) & (member[1:] == member[:-1]) & (step[1:] == step[:-1] + 1)
        rows[1:][~follows] = NONE
    return rows


_CODES: Final[dict[str, dict[str, int]]] = {
    name: {value.value: code for code, value in enumerate(values)}
    for name, values in STATE_ENUMS.items()
}
_ACTION_CODES: Final = {name: code for code, name in enumerate(ACTION_NAMES)}
_NO_MESSAGE: Final = (NONE,) * len(MESSAGE_COLUMNS)
_state_values = attrgetter(
    *(f"{name}._value_" if name in STATE_ENUMS else name for name in STATE_COLUMNS)
)
_input_values = attrgetter(*INPUT_COLUMNS)
_record_values = attrgetter(*MEMBER_COLUMNS)
_entry_values = attrgetter(*LOG_COLUMNS)


def _message_row(message_type: type[wire.Message]) -> Callable[[Any], tuple[int, ...]]:
    """Make the function that spreads a message of one type over the columns of all types."""
    places = {name: MESSAGE_INDEX[name] for name in message_type.__struct_fields__}
    code = MESSAGE_TYPE_NAMES.index(message_type.__name__)
    values_of = attrgetter(*places)
    columns = tuple(places.values())

    def row(message: wire.Message) -> tuple[int, ...]:
        cells = list(_NO_MESSAGE)
        cells[0] = code
        for column, value in zip(columns, values_of(message), strict=True):
            cells[column] = value
        return tuple(cells)

    return row


_MESSAGE_ROWS: Final = {message: _message_row(message) for message in wire.MESSAGE_TYPES}


def _message_cells(message: wire.Message, peer: int, message_id: str) -> tuple[int, ...]:
    cells = _MESSAGE_ROWS[type(message)](message)
    return (cells[0], peer, message_id_code(message_id), *cells[3:])


def _matrix(rows: Sequence[Sequence[int]], width: int) -> Ints:
    return np.array(rows, dtype=np.int64).reshape(len(rows), width)


def _offsets(counts: Sequence[int]) -> Ints:
    offsets = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def _signed(checksum: str) -> int:
    value = int(checksum, 16)
    return value - (1 << 64) if value >> 63 else value


def from_events(
    run_id: str, member_id: int, events: Sequence[Event], before: Event | None = None
) -> EventColumns:
    """Bring consecutive events of one stream into columns.

    Parameters
    ----------
    run_id, member_id
        Whose events they are.
    events
        In step order.
    before
        The event before the first one, if it was given in another batch; it becomes the context
        row, without its sends and checksums.

    Raises
    ------
    ValueError
        If the events are none, or disagree on the number of members.
    """
    if not events:
        raise ValueError("no events")
    context = 0 if before is None else 1
    if before is not None:
        bare = msgspec.structs.replace(before, sends=(), log_checksums=())
        events = [bare, *events]
    states = [event.state for event in events]
    member_count = len(states[0].members)
    if any(len(state.members) != member_count for state in states):
        raise ValueError("the events disagree on the number of members")
    count = len(events)

    state = np.empty((count, len(STATE_COLUMNS)), dtype=np.int64)
    for place, (name, cells) in enumerate(
        zip(STATE_COLUMNS, zip(*map(_state_values, states), strict=True), strict=True)
    ):
        codes = _CODES.get(name)
        state[:, place] = cells if codes is None else [codes[cell] for cell in cells]
    records = chain.from_iterable(state.members for state in states)
    received = [event.input for event in events]
    steps = np.array([event.step for event in events], dtype=np.int64)
    run = np.zeros(count, dtype=np.int64)
    member = np.full(count, member_id, dtype=np.int64)
    return EventColumns(
        member_count=member_count,
        runs=(run_id,),
        run=run,
        member=member,
        step=steps,
        time_ns=np.array([event.time_ns for event in events], dtype=np.int64),
        action=np.array([_ACTION_CODES[event.action._value_] for event in events], dtype=np.int64),
        predecessor=predecessors(run, member, steps),
        inputs=_matrix([_input_cells(given) for given in received], len(INPUT_COLUMNS)),
        message=_matrix(
            [
                _NO_MESSAGE
                if given.message is None
                else _message_cells(given.message, given.from_, given.id)
                for given in received
            ],
            len(MESSAGE_COLUMNS),
        ),
        state=state,
        members=_matrix(list(map(_record_values, records)), len(MEMBER_COLUMNS)).reshape(
            count, member_count, len(MEMBER_COLUMNS)
        ),
        log_offsets=_offsets([len(state.recording_log) for state in states]),
        log=_matrix(
            [_entry_values(entry) for state in states for entry in state.recording_log],
            len(LOG_COLUMNS),
        ),
        send_offsets=_offsets([len(event.sends) for event in events]),
        sends=_matrix(
            [
                _message_cells(send.message, send.to, send.id)
                for event in events
                for send in event.sends
            ],
            len(MESSAGE_COLUMNS),
        ),
        checksum_offsets=_offsets([len(event.log_checksums) for event in events]),
        checksums=_matrix(
            [
                (witness.position, _signed(witness.checksum))
                for event in events
                for witness in event.log_checksums
            ],
            len(CHECKSUM_COLUMNS),
        ),
        context=context,
    )


def _input_cells(given: Input) -> tuple[int, ...]:
    return tuple(mask_of(cell) if type(cell) is tuple else cell for cell in _input_values(given))


_VALUES: Final[dict[str, Callable[[int], Any]]] = {
    **{name: values.__getitem__ for name, values in STATE_ENUMS.items()},
    **dict.fromkeys(FLAG_COLUMNS, bool),
    "active": lambda mask: tuple(sorted(members_of(mask))),
    "accepted": lambda mask: tuple(sorted(members_of(mask))),
}
"""How a cell becomes the value of a field, where it is not the number itself."""


def _fields(columns: Sequence[str], cells: Ints) -> dict[str, Any]:
    """Give the values of named cells."""
    return {
        name: _VALUES[name](int(cell)) if name in _VALUES else int(cell)
        for name, cell in zip(columns, cells, strict=True)
    }


def _message(cells: Ints) -> wire.Message:
    message_type = wire.MESSAGE_TYPES[int(cells[0])]
    values: list[Any] = [int(cells[MESSAGE_INDEX[name]]) for name in message_type.__struct_fields__]
    if message_type is wire.Vote:
        values[-1] = bool(values[-1])
    return message_type(*values)


def _slice(flat: Ints, offsets: Ints, row: int) -> Ints:
    part: Ints = flat[int(offsets[row]) : int(offsets[row + 1])]
    return part


def _event(columns: EventColumns, row: int) -> Event:
    received = columns.message[row]
    facts = _fields(INPUT_COLUMNS, columns.inputs[row])
    if received[0] != NONE:
        facts["message"] = _message(received)
        facts["from_"], facts["id"] = int(received[1]), message_id_text(int(received[2]))
    lists: dict[str, Any] = {
        "members": tuple(
            wire.MemberRecord(**_fields(MEMBER_COLUMNS, cells)) for cells in columns.members[row]
        ),
        "recording_log": tuple(
            wire.TermEntry(*cells.tolist())
            for cells in _slice(columns.log, columns.log_offsets, row)
        ),
    }
    return Event(
        step=int(columns.step[row]),
        time_ns=int(columns.time_ns[row]),
        action=ACTIONS[int(columns.action[row])],
        input=Input(**facts),
        sends=tuple(
            Send(int(cells[1]), message_id_text(int(cells[2])), _message(cells))
            for cells in _slice(columns.sends, columns.send_offsets, row)
        ),
        state=wire.Member(**_fields(STATE_COLUMNS, columns.state[row]), **lists),
        log_checksums=tuple(
            LogChecksum(int(position), f"{int(checksum) & 0xFFFFFFFFFFFFFFFF:016x}")
            for position, checksum in _slice(columns.checksums, columns.checksum_offsets, row)
        ),
    )

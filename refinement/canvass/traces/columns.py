"""Events in columns: `EventColumns`, made from events in `canvass.traces.column_builder`, from
Arrow in `canvass.traces.arrow`.

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
``state``           n x 29         ``layout.STATE_COLUMNS``: the state after the step, enums coded
``members``         n x N x 6      ``layout.MEMBER_COLUMNS``: ``state.members``, N the member count
``log_offsets``     n + 1          event i has rows ``log_offsets[i]`` to ``log_offsets[i+1]``
``log``             . x 3          ``layout.LOG_COLUMNS``: the recording log
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

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from canvass.cluster.member import Member, MemberRecord, TermEntry
from canvass.cluster.messages import MESSAGE_TYPES, Message, Vote
from canvass.traces.actions import ACTIONS
from canvass.traces.layout import (
    FLAG_COLUMNS,
    INPUT_COLUMNS,
    MEMBER_COLUMNS,
    MESSAGE_PLACES,
    NONE,
    STATE_COLUMNS,
    STATE_ENUMS,
    members_of,
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


_VALUES: Final[dict[str, Callable[[int], Any]]] = {
    **{name: values.__getitem__ for name, values in STATE_ENUMS.items()},
    **dict.fromkeys(FLAG_COLUMNS, bool),
    "active": lambda mask: tuple(sorted(members_of(mask))),
    "accepted": lambda mask: tuple(sorted(members_of(mask))),
}
"""How a cell becomes the value of a field, where it is not the number itself."""


def fields_of(columns: Sequence[str], cells: Sequence[int] | Ints) -> dict[str, Any]:
    """Give the values of named cells."""
    return {
        name: _VALUES[name](int(cell)) if name in _VALUES else int(cell)
        for name, cell in zip(columns, cells, strict=True)
    }


def message_from(code: int, fields: Iterable[int]) -> Message:
    """Give the message of a type, by its code, with its own fields in their order."""
    values: list[Any] = list(fields)
    if MESSAGE_TYPES[code] is Vote:
        values[-1] = bool(values[-1])
    return MESSAGE_TYPES[code](*values)


def message_of(cells: Sequence[int] | Ints) -> Message | None:
    """Give the message of a row of `MESSAGE_COLUMNS`, None if there is none."""
    code = int(cells[0])
    if code == NONE:
        return None
    return message_from(code, (int(cells[place]) for place in MESSAGE_PLACES[code]))


def member_of(
    state: Sequence[int] | Ints,
    records: Iterable[Sequence[int] | Ints],
    log: Iterable[Sequence[int] | Ints],
) -> Member:
    """Give the state of a row of `STATE_COLUMNS`, with its rows of records and of the log."""
    return Member(
        **fields_of(STATE_COLUMNS, state),
        members=tuple(MemberRecord(**fields_of(MEMBER_COLUMNS, cells)) for cells in records),
        recording_log=tuple(TermEntry(*map(int, cells)) for cells in log),
    )


def _slice(flat: Ints, offsets: Ints, row: int) -> Ints:
    part: Ints = flat[int(offsets[row]) : int(offsets[row + 1])]
    return part


def _event(columns: EventColumns, row: int) -> Event:
    received = columns.message[row]
    facts = fields_of(INPUT_COLUMNS, columns.inputs[row])
    if received[0] != NONE:
        facts["message"] = message_of(received)
        facts["from_"], facts["id"] = int(received[1]), message_id_text(int(received[2]))
    sends = []
    for cells in _slice(columns.sends, columns.send_offsets, row):
        sent = message_of(cells)
        assert sent is not None
        sends.append(Send(int(cells[1]), message_id_text(int(cells[2])), sent))
    log = _slice(columns.log, columns.log_offsets, row)
    return Event(
        step=int(columns.step[row]),
        time_ns=int(columns.time_ns[row]),
        action=ACTIONS[int(columns.action[row])],
        input=Input(**facts),
        sends=tuple(sends),
        state=member_of(columns.state[row], columns.members[row], log),
        log_checksums=tuple(
            LogChecksum(int(position), f"{int(checksum) & 0xFFFFFFFFFFFFFFFF:016x}")
            for position, checksum in _slice(columns.checksums, columns.checksum_offsets, row)
        ),
    )

"""Events in columns: `EventColumns`. `from_events` makes them from events, `canvass.traces.arrow`
from Arrow tables.

**Layout.** Row ``i`` is one event. All arrays are int64 (C-contiguous), so that a kernel needs one
element type. Column numbers are in `canvass.traces.schema` (``STATE_INDEX["commit_position"]``):

====================  =========  ==============================================================
array                 shape      holds
====================  =========  ==============================================================
``run``               n          index into ``runs``, the run ids
``member``            n          the member that made the step
``step``              n          its running number
``time_ns``           n          the member's clock
``action``            n          code: index into ``ACTION_NAMES``
``inputs``            n x 10     ``INPUT_COLUMNS``: flags 0/1, two member masks, numbers
``message``           n x 18     ``MESSAGE_COLUMNS``: the message consumed; type -1 if none
``state``             n x 29     ``STATE_COLUMNS``: the state after the step, enums coded
``members``           n x N x 6  ``MEMBER_COLUMNS``: ``state.members``, N the member count
``log_offsets``       n + 1      event i has rows ``log_offsets[i]`` to ``log_offsets[i+1]``
``log``               . x 3      ``LOG_COLUMNS``: the recording log
``send_offsets``      n + 1      event i's sends, in order, as for the log
``sends``             . x 18     ``MESSAGE_COLUMNS``; ``peer`` is the receiver
``checksum_offsets``  n + 1      event i's log checksums, as for the log
``checksums``         . x 2      ``CHECKSUM_COLUMNS``
====================  =========  ==============================================================

All clusters of a batch have the same number of members. The rows of one member's stream are
contiguous and in step order, so the step before is in the row before. If that row has another step,
there are three cases: steps are missing, the stream begins, or the stream continues from the batch
before. The state before a step is the state after the previous step. The state before a ``Restart``
is the persistent part of the state that the restart recorded.

``sources`` has the `Source` of each event, or is None. `canvass.traces.arrow.from_table` leaves the
sources in the table, because no verdict reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise, starmap
from struct import Struct
from typing import Any, Final, TypeAlias

import numpy as np
from msgspec.structs import astuple
from numpy.typing import NDArray

from canvass.cluster.member import Member, MemberRecord, TermEntry
from canvass.cluster.messages import MESSAGE_TYPES, Message, Vote
from canvass.traces.actions import ACTIONS
from canvass.traces.schema import (
    CHECKSUM_COLUMNS,
    FLAG_COLUMNS,
    INPUT_COLUMNS,
    LOG_COLUMNS,
    MEMBER_COLUMNS,
    MEMBER_SETS,
    MESSAGE_COLUMNS,
    MESSAGE_INDEX,
    MESSAGE_PLACES,
    NONE,
    STATE_COLUMNS,
    STATE_ENUMS,
    Event,
    Input,
    LogChecksum,
    Send,
    Source,
    mask_of,
    members_of,
    message_id_code,
    message_id_text,
)

Ints: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class EventColumns:
    """Events of one or more streams in columns; the module docstring gives the layout."""

    member_count: int
    runs: tuple[str, ...]
    run: Ints
    member: Ints
    step: Ints
    time_ns: Ints
    action: Ints
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
    sources: Sequence[Source | None] | None = None

    def __len__(self) -> int:
        """Count the events."""
        return len(self.step)

    @cached_property
    def predecessor(self) -> Ints:
        """The row of the member's previous step; -1 if that is not in the rows."""
        rows = np.arange(-1, len(self) - 1, dtype=np.int64)
        rows[~continues(self.step, self.run, self.member)] = NONE
        return rows

    def event(self, row: int) -> Event:
        """Return a row as an event, without its source."""
        received = self.message[row]
        facts = fields_of(INPUT_COLUMNS, self.inputs[row])
        if received[0] != NONE:
            facts["message"] = message_of(received)
            facts["from_"], facts["id"] = int(received[1]), message_id_text(int(received[2]))
        ids = _slice(self.sends, self.send_offsets, row)[:, MESSAGE_INDEX["id"]].tolist()
        return Event(
            step=int(self.step[row]),
            time_ns=int(self.time_ns[row]),
            action=ACTIONS[int(self.action[row])],
            input=Input(**facts),
            sends=tuple(
                Send(to, message_id_text(number), sent)
                for number, (to, sent) in zip(ids, sends_at(self, row), strict=True)
            ),
            state=state_at(self, row),
            log_checksums=tuple(
                LogChecksum(int(position), f"{int(checksum) & 0xFFFFFFFFFFFFFFFF:016x}")
                for position, checksum in _slice(self.checksums, self.checksum_offsets, row)
            ),
        )

    def rows(self, start: int, end: int) -> EventColumns:
        """Return consecutive rows, all of one run, as columns of their own."""
        cells = {name: getattr(self, name)[start:end] for name in _OF_EVENTS}
        for values, offsets in _LISTS.items():
            own = getattr(self, offsets)[start : end + 1]
            cells[offsets] = own - own[0]
            cells[values] = getattr(self, values)[int(own[0]) : int(own[-1])]
        runs = (self.runs[int(self.run[start])],)
        sources = self.sources and self.sources[start:end]
        run = np.zeros(end - start, np.int64)
        return EventColumns(self.member_count, runs, run, sources=sources, **cells)

    def last(self) -> EventColumns:
        """Return the last row as columns of their own, which do not keep the others in memory."""
        return deepcopy(self.rows(len(self) - 1, len(self)))

    def split_runs(self) -> Iterator[EventColumns]:
        """Yield the rows of each run."""
        begins = np.flatnonzero(np.diff(self.run, prepend=NONE, append=NONE)).tolist()
        for start, end in pairwise(begins):
            yield self.rows(start, end)


_OF_EVENTS: Final = (
    *("member", "step", "time_ns", "action"),
    *("inputs", "message", "state", "members"),
)
"""The columns with a row for each event. ``run`` is left out, because each part numbers its own
runs."""
_LISTS: Final = {"log": "log_offsets", "sends": "send_offsets", "checksums": "checksum_offsets"}
"""The columns with any number of rows for each event, with the names of their offsets."""


def continues(step: Ints, *streams: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Tell for each row whether it is the next step of the same stream after the row before it.

    ``streams`` are columns, such as run and member, that are equal for the rows of one stream.
    """
    found = np.zeros(len(step), dtype=np.bool_)
    found[1:] = step[1:] == step[:-1] + 1
    for stream in streams:
        found[1:] &= stream[1:] == stream[:-1]
    return found


def join(parts: Sequence[EventColumns]) -> EventColumns:
    """Put batches of one cluster size one after the other.

    A run may continue from one part to the next, but not after rows of another run.
    """
    if len(parts) == 1:
        return parts[0]
    ids = dict.fromkeys(run_id for part in parts for run_id in part.runs)
    place = {run_id: number for number, run_id in enumerate(ids)}
    numbers = (np.array([place[run_id] for run_id in part.runs])[part.run] for part in parts)
    cells = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in (*_OF_EVENTS, *_LISTS)
    }
    for offsets in _LISTS.values():
        counts = [np.diff(getattr(part, offsets)) for part in parts]
        cells[offsets] = offsets_of(np.concatenate(counts))
    run = np.concatenate([*numbers])
    sources = [*chain.from_iterable(part.sources or [None] * len(part) for part in parts)]
    known = sources if any(sources) else None
    return EventColumns(parts[0].member_count, (*ids,), run, sources=known, **cells)


_VALUES: Final[dict[str, Callable[[int], Any]]] = {
    **{name: values.__getitem__ for name, values in STATE_ENUMS.items()},
    **dict.fromkeys(FLAG_COLUMNS, bool),
    "active": lambda mask: tuple(sorted(members_of(mask))),
    "accepted": lambda mask: tuple(sorted(members_of(mask))),
}
"""For each field that is no number, the function from a cell to the value of the field."""


def fields_of(columns: Sequence[str], cells: Sequence[int] | Ints) -> dict[str, Any]:
    """Return the values of cells by the names of their columns."""
    return {
        name: _VALUES[name](int(cell)) if name in _VALUES else int(cell)
        for name, cell in zip(columns, cells, strict=True)
    }


def message_of(cells: Sequence[int] | Ints) -> Message | None:
    """Return the message of a row of `MESSAGE_COLUMNS`; None for a row without a message."""
    code = int(cells[0])
    if code == NONE:
        return None
    values: list[Any] = [int(cells[place]) for place in MESSAGE_PLACES[code]]
    if MESSAGE_TYPES[code] is Vote:
        values[-1] = bool(values[-1])
    return MESSAGE_TYPES[code](*values)


def member_of(
    state: Sequence[int] | Ints,
    records: Iterable[Sequence[int] | Ints],
    log: Iterable[Sequence[int] | Ints],
) -> Member:
    """Return the state of a row of `STATE_COLUMNS`, its member records and its recording log."""
    return Member(
        **fields_of(STATE_COLUMNS, state),
        members=tuple(MemberRecord(**fields_of(MEMBER_COLUMNS, cells)) for cells in records),
        recording_log=tuple(TermEntry(*map(int, cells)) for cells in log),
    )


def state_at(arrays: Any, row: int) -> Member:
    """Return the state of a row of `EventColumns`, or of other arrays with the same layout."""
    log = _slice(arrays.log, arrays.log_offsets, row)
    return member_of(arrays.state[row].tolist(), arrays.members[row].tolist(), log.tolist())


def sends_at(arrays: Any, row: int) -> tuple[tuple[int, Message], ...]:
    """Return receiver and message of each send of a row, in the order of sending."""
    sends = []
    for cells in _slice(arrays.sends, arrays.send_offsets, row).tolist():
        sent = message_of(cells)
        assert sent is not None
        sends.append((cells[1], sent))
    return tuple(sends)


def _slice(flat: Ints, offsets: Ints, row: int) -> Ints:
    part: Ints = flat[int(offsets[row]) : int(offsets[row + 1])]
    return part


COLUMN_EVENTS = 2_000
"""The approximate number of events of a batch: large, so that operations on columns cost little per
event."""

_HEAD: Final = ("step", "time_ns", "action")
_TYPES: Final[tuple[type[Message], ...]] = MESSAGE_TYPES
_ACTIONS: Final = {action: code for code, action in enumerate(ACTIONS)}
_MASKS: Final = {members: mask_of(members) for members in MEMBER_SETS}
_FIELDS: Final = Member.__struct_fields__
_ENUM_PLACES: Final[tuple[tuple[int, dict[Any, int]], ...]] = tuple(
    (_FIELDS.index(name), {value: code for code, value in enumerate(values)})
    for name, values in STATE_ENUMS.items()
)
_LIST_PLACES: Final = tuple(
    place for place in reversed(range(len(_FIELDS))) if _FIELDS[place] not in STATE_COLUMNS
)
"""The indexes of the state's fields that are lists, the last one first."""
_pack_input: Final = Struct(f"={len(INPUT_COLUMNS)}q").pack


def _input_row(given: Input) -> bytes:
    # Attribute access by name is the fastest way to read the fields of `INPUT_COLUMNS`.
    return _pack_input(
        given.interval,
        given.commit_interval,
        given.timeout,
        _MASKS[given.active],
        _MASKS[given.accepted],
        given.position,
        given.entry_position,
        given.leadership_term_id,
        given.term_base_log_position,
        given.graceful_closed_leader_id,
    )


def state_cells(state: Member) -> list[int]:
    """Return the cells of a state in the order of `STATE_COLUMNS`."""
    cells = [*astuple(state)]
    for place, codes in _ENUM_PLACES:
        cells[place] = codes[cells[place]]
    for place in _LIST_PLACES:
        del cells[place]
    return cells


_pack_checksum: Final = Struct("=qQ").pack
assert CHECKSUM_COLUMNS == ("position", "checksum")


def _array(rows: Iterable[Iterable[int]], columns: Sequence[str]) -> Ints:
    """Return rows of integers as an array. Packing them is faster than numpy's own conversion."""
    return _unpacked(starmap(Struct(f"={len(columns)}q").pack, rows), columns)


def _unpacked(rows: Iterable[bytes], columns: Sequence[str]) -> Ints:
    return np.frombuffer(bytearray(b"".join(rows)), dtype=np.int64).reshape(-1, len(columns))


def message_rows(carried: Sequence[tuple[Message | None, int, str]]) -> Ints:
    """Return rows of `MESSAGE_COLUMNS` for messages, each with its receiver or sender and its id.

    A message may be None.
    """
    rows: dict[type[Any], list[tuple[int, ...]]] = {kind: [] for kind in _TYPES}
    for row, (message, peer, message_id) in enumerate(carried):
        if message is not None:
            number = message_id_code(message_id)
            rows[type(message)].append((row, peer, number, *astuple(message)))
    cells = np.full((len(carried), len(MESSAGE_COLUMNS)), NONE, dtype=np.int64)
    for code, (kind, several) in enumerate(rows.items()):
        names = ("peer", "id", *kind.__struct_fields__)
        own = _array(several, ("row", *names))
        cells[own[:, 0], MESSAGE_INDEX["type"]] = code
        cells[own[:, :1], [MESSAGE_INDEX[name] for name in names]] = own[:, 1:]
    return cells


def from_events(run_id: str, member_id: int, events: Sequence[Event]) -> EventColumns:
    """Return consecutive events of one stream in columns.

    Parameters
    ----------
    run_id, member_id
        Run and member of the events.
    events
        The events, in step order.

    Raises
    ------
    ValueError
        If there are no events, or they disagree on the number of members.
    """
    if not events:
        raise ValueError("no events")
    inputs, states = [event.input for event in events], [event.state for event in events]
    member_count = len(states[0].members)
    if any(len(state.members) != member_count for state in states):
        raise ValueError("the events disagree on the number of members")
    heads = ((event.step, event.time_ns, _ACTIONS[event.action]) for event in events)
    step, time_ns, action = _array(heads, _HEAD).T.copy()
    run, member = np.zeros(len(events), np.int64), np.full(len(events), member_id, np.int64)
    logs, sends = [state.recording_log for state in states], [event.sends for event in events]
    checksums = [event.log_checksums for event in events]
    sources = [event.source for event in events]
    records = map(astuple, chain.from_iterable(state.members for state in states))
    return EventColumns(
        member_count=member_count,
        runs=(run_id,),
        run=run,
        member=member,
        step=step,
        time_ns=time_ns,
        action=action,
        inputs=_unpacked(map(_input_row, inputs), INPUT_COLUMNS),
        message=message_rows([(given.message, given.from_, given.id) for given in inputs]),
        state=_array(map(state_cells, states), STATE_COLUMNS),
        members=_array(records, MEMBER_COLUMNS).reshape(len(events), -1, len(MEMBER_COLUMNS)),
        log_offsets=offsets_of([*map(len, logs)]),
        log=_array(map(astuple, chain.from_iterable(logs)), LOG_COLUMNS),
        send_offsets=offsets_of([*map(len, sends)]),
        sends=message_rows([(one.message, one.to, one.id) for one in chain.from_iterable(sends)]),
        checksum_offsets=offsets_of([*map(len, checksums)]),
        checksums=_unpacked(
            (
                _pack_checksum(one.position, int(one.checksum, 16))
                for one in chain.from_iterable(checksums)
            ),
            CHECKSUM_COLUMNS,
        ),
        sources=sources if any(sources) else None,
    )


def in_columns(
    run_id: str, member_id: int, batches: Iterable[Sequence[Event]]
) -> Iterator[EventColumns]:
    """Yield the events of one stream, which come in batches, in columns of `COLUMN_EVENTS` rows."""
    waiting: list[Event] = []
    for events in chain(batches, [None]):
        waiting += events or ()
        if waiting and (events is None or len(waiting) >= COLUMN_EVENTS):
            yield from_events(run_id, member_id, waiting)
            waiting = []


# --- rows of integers -----------------------------------------------------------------------------

_LARGEST_CODE: Final = 1 << 62


def offsets_of(counts: Any) -> Ints:
    """Give the offsets of several lists that are joined, from their lengths: 0, then the sums."""
    return np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))


def places_of(offsets: Ints, rows: NDArray[np.integer]) -> Ints:
    """Give the indexes of all items of some lists among the items of all joined lists.

    Parameters
    ----------
    offsets
        The offsets of all lists, from `offsets_of`.
    rows
        The indexes of the wanted lists, in the order of the result.
    """
    starts = offsets[rows]
    sizes = offsets[np.asarray(rows) + 1] - starts
    moved = offsets_of(sizes)
    places: Ints = np.arange(moved[-1]) + np.repeat(starts - moved[:-1], sizes)
    return places


def distinct_rows(rows: NDArray[np.integer]) -> tuple[Ints, Ints]:
    """Find the distinct rows of a matrix.

    Parameters
    ----------
    rows
        Integers of any sign. Columns with a small range are faster.

    Returns
    -------
    tuple
        The index of the first occurrence of each distinct row, in ascending order of the content;
        and for each row the place of its equal in that order.
    """
    code = np.zeros(len(rows), dtype=np.int64)
    size = 1
    for column in rows.T:
        least = int(column.min(initial=0))
        width = int(column.max(initial=0)) - least + 1
        if size * width > _LARGEST_CODE:
            found, code = np.unique(code, return_inverse=True)
            size = len(found)
        if size * width > _LARGEST_CODE:
            found, column = np.unique(column, return_inverse=True)
            least, width = 0, len(found)
        code = code * width + (column.astype(np.int64) - least)
        size *= width
    _, first, places = np.unique(code, return_index=True, return_inverse=True)
    return first, places.reshape(-1)

"""Batches of events: streams of many runs in one set of arrays, as small arrays are slow.

`join` puts batches of columns of the same cluster size one after the other; `states_before` says
for each event which row holds the state before it. Nothing here is checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from canvass.cluster.member import new_member
from canvass.steps.distinct import offsets_of
from canvass.steps.step import record_cells, state_cells
from canvass.traces.columns import EventColumns, Ints, predecessors
from canvass.traces.layout import ACTION_NAMES, NONE
from canvass.traces.schema import Run

BATCH_EVENTS: Final = 1 << 16
_RESTART: Final = ACTION_NAMES.index("Restart")
_OF_EVENTS: Final = (
    *("member", "step", "time_ns", "action"),
    *("inputs", "message", "state", "members"),
)
"""The columns with a row for each event, without `run`: each part numbers its own runs."""
_LISTS: Final = {"log": "log_offsets", "sends": "send_offsets", "checksums": "checksum_offsets"}
"""The columns with any number of rows for each event, and the columns of where these begin."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Events in columns, with the ``run.json`` of each run.

    A stream may continue in the next batch, whose context row is then the last row of this one.
    """

    columns: EventColumns
    runs: tuple[Run, ...]
    """In the order of ``columns.runs``."""


def join(parts: Sequence[tuple[Mapping[str, Run], EventColumns]]) -> Batch:
    """Put batches of one cluster size one after the other; each part's runs are given by their ids.

    A run may continue from one part to the next, but not come back after another run.
    """
    if len(parts) == 1:
        runs, columns = parts[0]
        return Batch(columns, tuple(runs[run_id] for run_id in columns.runs))
    known: dict[str, Run] = {}
    for runs, columns in parts:
        for run_id in columns.runs:
            known[run_id] = runs[run_id]
    place = {run_id: number for number, run_id in enumerate(known)}
    # A context row repeats the last row of the part before it.
    cuts = [columns.context if number else 0 for number, (_, columns) in enumerate(parts)]
    tables = [columns for _, columns in parts]

    run = np.concatenate(
        [
            np.array([place[run_id] for run_id in table.runs], dtype=np.int64)[table.run[cut:]]
            for table, cut in zip(tables, cuts, strict=True)
        ]
    )
    cells = {
        name: np.concatenate(
            [getattr(table, name)[cut:] for table, cut in zip(tables, cuts, strict=True)]
        )
        for name in _OF_EVENTS
    }
    for values, offsets in _LISTS.items():
        counts, rows = [], []
        for table, cut in zip(tables, cuts, strict=True):
            starts = getattr(table, offsets)
            counts.append(np.diff(starts[cut:]))
            rows.append(getattr(table, values)[int(starts[cut]) :])
        cells[offsets] = offsets_of(np.concatenate(counts))
        cells[values] = np.concatenate(rows)
    joined = EventColumns(
        member_count=tables[0].member_count,
        runs=tuple(known),
        run=run,
        predecessor=predecessors(run, cells["member"], cells["step"]),
        context=tables[0].context,
        **cells,
    )
    return Batch(joined, tuple(known.values()))


def rows_of(columns: EventColumns, start: int, end: int, run_id: str) -> EventColumns:
    """Give consecutive rows, all of one run, as columns of their own."""
    run = np.zeros(end - start, dtype=np.int64)
    cells = {name: getattr(columns, name)[start:end] for name in _OF_EVENTS}
    for values, offsets in _LISTS.items():
        own = getattr(columns, offsets)[start : end + 1]
        cells[offsets] = own - own[0]
        cells[values] = getattr(columns, values)[int(own[0]) : int(own[-1])]
    return EventColumns(
        member_count=columns.member_count,
        runs=(run_id,),
        run=run,
        predecessor=predecessors(run, cells["member"], cells["step"]),
        context=max(0, columns.context - start),
        **cells,
    )


def rows_of_run(columns: EventColumns, *run_ids: str) -> Iterator[EventColumns]:
    """Give the rows of each of some runs in a batch, in their order; a run may have none."""
    for number, run_id in enumerate(columns.runs):
        rows = np.flatnonzero(columns.run == number)
        if run_id in run_ids and len(rows):
            yield rows_of(columns, int(rows[0]), int(rows[-1]) + 1, run_id)


@dataclass(frozen=True, slots=True)
class States:
    """The states of a batch, and one more: that of a member with nothing on disk."""

    before: Ints
    """For each event the row of the state before it, -1 if that is not known."""
    state: Ints
    members: Ints
    log_offsets: Ints
    log: Ints


def states_before(batch: Batch) -> States:
    """Give the states, and for each event the state before it.

    This is the state after the member's previous step. If disks are empty at the start, the first
    step starts from the state with nothing on disk. If the step before a restart is missing, or the
    restart found another disk, it starts from the state after itself: that has all that was on
    disk. But a single member has begun a term since.
    """
    columns = batch.columns
    count = len(columns)
    before, step = columns.predecessor.copy(), columns.step.copy()
    for number, run in enumerate(batch.runs):
        for disk in run.disk_replaced:
            found = (columns.run == number) & (columns.member == disk.member_id)
            found &= columns.step == disk.step
            before[found], step[found] = NONE, NONE
    first = np.flatnonzero(before == NONE)
    empty = np.array([run.initial == "empty" for run in batch.runs], dtype=np.bool_)
    starts = first[(step[first] == 0) & empty[columns.run[first]]]
    restarts = first[(columns.action[first] == _RESTART) & (columns.member_count > 1)]
    before[restarts] = restarts
    before[starts] = count
    fresh = new_member(columns.member_count)
    records = [record_cells(record) for record in fresh.members]
    return States(
        before=before,
        state=np.concatenate([columns.state, np.array([state_cells(fresh)], dtype=np.int64)]),
        members=np.concatenate([columns.members, np.array([records], dtype=np.int64)]),
        log_offsets=np.concatenate([columns.log_offsets, columns.log_offsets[-1:]]),
        log=columns.log,
    )

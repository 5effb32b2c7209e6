"""Events of many streams in one set of arrays, as small arrays are slow, and the steps in them.

`join` puts batches of events of one cluster size one after the other. `steps_of` finds for each
event the state before it; `step_keys` gives the key of each step. Nothing here is checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from canvass.cluster.member import new_member
from canvass.steps.distinct import offsets_of
from canvass.steps.kernel import Status, StepColumns, canonical_keys, flavour
from canvass.steps.oracle import rules_digest
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


def join(parts: Sequence[EventColumns]) -> EventColumns:
    """Put batches of one cluster size one after the other.

    A run may continue from one part to the next, but not come back after another run. A stream may
    continue in the next batch, whose context row is then the last row of this one.
    """
    if len(parts) == 1:
        return parts[0]
    ids = dict.fromkeys(run_id for part in parts for run_id in part.runs)
    place = {run_id: number for number, run_id in enumerate(ids)}
    # A context row repeats the last row of the part before it.
    cuts = [part.context if number else 0 for number, part in enumerate(parts)]
    run = np.concatenate(
        [
            np.array([place[run_id] for run_id in part.runs], dtype=np.int64)[part.run[cut:]]
            for part, cut in zip(parts, cuts, strict=True)
        ]
    )
    cells = {
        name: np.concatenate(
            [getattr(part, name)[cut:] for part, cut in zip(parts, cuts, strict=True)]
        )
        for name in _OF_EVENTS
    }
    for values, offsets in _LISTS.items():
        counts, rows = [], []
        for part, cut in zip(parts, cuts, strict=True):
            starts = getattr(part, offsets)
            counts.append(np.diff(starts[cut:]))
            rows.append(getattr(part, values)[int(starts[cut]) :])
        cells[offsets] = offsets_of(np.concatenate(counts))
        cells[values] = np.concatenate(rows)
    return EventColumns(
        member_count=parts[0].member_count,
        runs=tuple(ids),
        run=run,
        predecessor=predecessors(run, cells["member"], cells["step"]),
        context=parts[0].context,
        **cells,
    )


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


def split_runs(columns: EventColumns) -> Iterator[EventColumns]:
    """Give the rows of each run in a batch."""
    begins = np.flatnonzero(np.diff(columns.run, prepend=NONE, append=NONE)).tolist()
    for start, end in pairwise(begins):
        yield rows_of(columns, start, end, columns.runs[int(columns.run[start])])


def steps_of(columns: EventColumns, runs: Sequence[Run]) -> StepColumns:
    """Give the steps that events record; ``runs`` are those of ``columns.runs``.

    The state before a step is the state after the member's previous step. If disks are empty at the
    start, the first step starts from the state with nothing on disk. If the step before a restart
    is missing, or the restart found another disk, it starts from the state after itself: that has
    all that was on disk. But a single member has begun a term since.
    """
    count = len(columns)
    before, step = columns.predecessor.copy(), columns.step.copy()
    for number, run in enumerate(runs):
        for disk in run.disk_replaced:
            found = (columns.run == number) & (columns.member == disk.member_id)
            found &= columns.step == disk.step
            before[found], step[found] = NONE, NONE
    first = np.flatnonzero(before == NONE)
    empty = np.array([run.initial == "empty" for run in runs], dtype=np.bool_)
    starts = first[(step[first] == 0) & empty[columns.run[first]]]
    restarts = first[(columns.action[first] == _RESTART) & (columns.member_count > 1)]
    before[restarts] = restarts
    before[starts] = count
    # The last state is that of a member with nothing on disk.
    fresh = new_member(columns.member_count)
    records = [record_cells(record) for record in fresh.members]
    flavours = np.array([flavour(run.rules) for run in runs], dtype=np.int64)
    return StepColumns(
        flavours=flavours[columns.run],
        member=columns.member,
        action=columns.action,
        before=before,
        after=np.arange(count, dtype=np.int64),
        inputs=columns.inputs,
        message=columns.message,
        state=np.concatenate([columns.state, np.array([state_cells(fresh)], dtype=np.int64)]),
        members=np.concatenate([columns.members, np.array([records], dtype=np.int64)]),
        log_offsets=np.concatenate([columns.log_offsets, columns.log_offsets[-1:]]),
        log=columns.log,
        send_offsets=columns.send_offsets,
        sends=columns.sends,
    )


def step_keys(
    steps: StepColumns, columns: EventColumns, runs: Sequence[Run]
) -> tuple[NDArray[np.uint64], Ints]:
    """Give the key of each step with its rules, valid where it is `Status.KEYED`, and the status.

    A context row has no key: its status is `Status.UNKNOWN_BEFORE`.
    """
    keys, status = canonical_keys(steps)
    status[: columns.context] = Status.UNKNOWN_BEFORE
    digests = np.array([rules_digest(run.rules) for run in runs], dtype=np.uint64)
    keys[:, 1] ^= digests[columns.run]
    return keys, status

"""One run of any length: a cluster that elects a leader once, and then only appends.

The beginning and two periods of appending are recorded from a driven cluster. From one period to
the next, every number grows by the same amount or stays the same. So further periods are computed
from these two, in arrays: each is what the cluster would do next. Checksums of the log are computed
anew from their positions.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow.parquet as pq

from canvass.cluster.member import NO_INPUT, ElectionState, Role
from canvass.cluster.rules import Rules
from canvass.selftest.runs import RandomCluster
from canvass.traces.arrow import arrow_schema, to_table
from canvass.traces.columns import EventColumns, Ints
from canvass.traces.parquet import EVENTS_PER_ROW_GROUP, RUNS_KEY, RunEntry
from canvass.traces.recorder import RunRecorder
from canvass.traces.run import RunFolder
from canvass.traces.schema import Run, encode

_ENTRIES: Final = (32, 64, 96, 64, 32, 96, 128, 32)
"""Lengths of the entries of one period."""
_TABLES: Final = {"log": "log_offsets", "sends": "send_offsets", "checksums": "checksum_offsets"}
_MIXED: Final = np.uint64(0x9E3779B97F4A7C15)


class _SteadyCluster(RandomCluster):
    """A driven cluster that can also be made to append, one entry after the other."""

    def elect(self) -> int:
        """Take steps until one member leads and the others follow; give the leader."""
        while True:
            self.run(self.note_steps() + 50)
            self.deliver_all()
            leads = [i for i, s in enumerate(self.members) if s.role is Role.LEADER]
            closed = [s.election_state is ElectionState.CLOSED for s in self.members]
            if len(leads) == 1 and all(closed):
                return leads[0]

    def deliver_all(self) -> None:
        """Deliver all messages that are under way."""
        while any(self.channels.values()):
            for (i, j), queue in self.channels.items():
                while queue:
                    self.deliver(i, j, frozenset(self.up))

    def period(self, leader: int) -> None:
        """Append some entries, have them recorded and committed everywhere, and consume them."""
        everybody = frozenset(self.up)
        for length in _ENTRIES:
            grown = self.members[leader].publication_position + length
            self.take(leader, "AppendEntry", msgspec.structs.replace(NO_INPUT, position=grown))
            for i in everybody:
                self.take(i, "RecordLog", msgspec.structs.replace(NO_INPUT, position=grown))
                if i != leader:
                    self.take(i, "UpdateFollowerPosition", NO_INPUT)
            self.deliver_all()
            due = msgspec.structs.replace(NO_INPUT, active=everybody, commit_interval=True)
            self.take(leader, "UpdateLeaderPosition", due)
            self.deliver_all()
            for i in everybody:
                for end in self.ends(self.logs[i], self.members[i].commit_position):
                    processing = self.processing(i, end)
                    assert processing is not None
                    self.take(i, *processing)


def _parts(members: int, run_id: str) -> tuple[Run, list[tuple[EventColumns, int, int]]]:
    """Give the run, and each member's stream with the places where its last two periods begin."""
    run = Run("canvass.run/1", run_id, "1.50", members, source={"kind": "driven", "long": True})
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "run"
        marks = []
        with RunRecorder(folder, run, flush=False) as recorder:
            cluster = _SteadyCluster(Rules(members, "1.50"), recorder, 1, faults=0.0)
            leader = cluster.elect()
            for _ in range(4):
                marks.append([recorder.member(i)._step for i in range(members)])
                cluster.period(leader)
        streams: list[tuple[EventColumns, int, int]] = []
        batches = list(RunFolder(folder).columns())
        assert len(batches) == members
        streams += zip(batches, marks[2], marks[3], strict=True)
    return run, streams


def _tiled(start: EventColumns, grown: EventColumns, first: int, count: int) -> EventColumns:
    """Give ``count`` periods from number ``first`` on, computed from the periods 0 and 1."""
    times = np.arange(first, first + count, dtype=np.int64)

    def flat(a: Ints, b: Ints) -> Ints:
        shape = (-1, *(1,) * a.ndim)
        tiled: Ints = a[None] + times.reshape(shape) * (b - a)[None]
        return tiled.reshape(-1, *a.shape[1:])

    changed: dict[str, Any] = {}
    for field in fields(EventColumns):
        a, b = getattr(start, field.name), getattr(grown, field.name)
        if isinstance(a, np.ndarray) and not field.name.endswith("offsets"):
            changed[field.name] = flat(a, b)
    for table, offsets in _TABLES.items():
        counts = np.tile(np.diff(getattr(start, offsets)), count)
        changed[offsets] = np.concatenate(([0], np.cumsum(counts)))
        assert len(changed[table]) == changed[offsets][-1]
    return replace(start, **changed)


def _witnessed(columns: EventColumns) -> EventColumns:
    position = columns.checksums[:, 0]
    made = (position.astype(np.uint64) * _MIXED).view(np.int64)
    return replace(columns, checksums=np.column_stack([position, made]))


def _stream(columns: EventColumns, low: int, high: int, periods: int) -> Iterator[EventColumns]:
    """Give a member's stream with ``periods`` periods, in batches."""
    yield _witnessed(columns.rows(0, low))
    start, grown = columns.rows(low, high), columns.rows(high, len(columns))
    assert len(start) == len(grown)
    step = max(1, EVENTS_PER_ROW_GROUP // len(start))
    for first in range(0, periods, step):
        yield _witnessed(_tiled(start, grown, first, min(step, periods - first)))


def write_long_run(
    path: Path,
    events: int,
    *,
    members: int = 3,
    run_id: str = "long",
    rows_per_group: int = EVENTS_PER_ROW_GROUP,
) -> int:
    """Write a file of a data set with one run of at least ``events`` events; give their number."""
    run, streams = _parts(members, run_id)
    each = sum(high - low for _, low, high in streams)
    periods = max(1, -(-(events - sum(low for _, low, _ in streams)) // each))
    path.parent.mkdir(parents=True, exist_ok=True)
    total = 0
    with pq.ParquetWriter(path, arrow_schema(members), compression="zstd") as writer:
        for columns, low, high in streams:
            for batch in _stream(columns, low, high, periods):
                writer.write_table(to_table(batch), row_group_size=rows_per_group)
                total += len(batch)
        writer.add_key_value_metadata({RUNS_KEY: encode([RunEntry(run)])})
    return total

"""Large corpora made of a few recorded runs, for measurements.

A copy of a run has its own id. Its positions are multiplied by a factor, the ids of its members are
rotated, and its clocks are moved. Almost every number differs from the original, but all
comparisons between numbers have the same results, so the spec allows the same steps. A corpus of
copies therefore has no more distinct canonical steps than the runs that it is made of.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from canvass.traces.arrow import arrow_schema, to_table
from canvass.traces.columns import EventColumns, Ints, join
from canvass.traces.parquet import RUNS_KEY, RunEntry
from canvass.traces.run import Corpus
from canvass.traces.schema import (
    CHECKSUM_COLUMNS,
    ID_BITS,
    INPUT_COLUMNS,
    LOG_COLUMNS,
    MEMBER_COLUMNS,
    MESSAGE_COLUMNS,
    STATE_COLUMNS,
    NumberKind,
    Run,
    encode,
    kind,
)

ROW_GROUP = 1 << 16
_DAY_NS = 86_400_000_000_000


def _scaled(cells: Ints, columns: Sequence[str], factor: int) -> Ints:
    places = [place for place, name in enumerate(columns) if kind(name) is NumberKind.POSITION]
    copy = cells.copy()
    chosen = copy[..., places]
    copy[..., places] = np.where(chosen > 0, chosen * factor, chosen)
    return copy


def _renamed(cells: Ints, columns: Sequence[str], by: int, members: int) -> Ints:
    """Rotate the ids of members by a number of places, in all columns that have such ids."""
    copy = cells.copy()
    for place, name in enumerate(columns):
        cell, what = copy[..., place], kind(name)
        if what is NumberKind.MEMBER:
            changed = (cell + by) % members
        elif what is NumberKind.MEMBER_MASK:
            changed = (cell << by | cell >> (members - by)) & ((1 << members) - 1)
        elif what is NumberKind.MESSAGE_ID:
            low = cell & ((1 << ID_BITS) - 1)
            changed = ((cell >> ID_BITS) + by) % members << ID_BITS | low
        else:
            continue
        copy[..., place] = np.where(cell >= 0, changed, cell)
    return copy


def rotated(columns: EventColumns, by: int) -> EventColumns:
    """Copy whole runs with the ids of their members rotated by a number of places."""
    count = columns.member_count
    by %= count
    if not by:
        return columns
    renamed = replace(
        columns,
        member=(columns.member + by) % count,
        inputs=_renamed(columns.inputs, INPUT_COLUMNS, by, count),
        message=_renamed(columns.message, MESSAGE_COLUMNS, by, count),
        state=_renamed(columns.state, STATE_COLUMNS, by, count),
        members=np.roll(_renamed(columns.members, MEMBER_COLUMNS, by, count), by, axis=1),
        sends=_renamed(columns.sends, MESSAGE_COLUMNS, by, count),
    )
    streams = renamed.run * count + renamed.member
    starts = np.flatnonzero(np.diff(streams, prepend=-1))
    ends = np.append(starts[1:], len(streams))
    parts = []
    for place in np.argsort(streams[starts], kind="stable").tolist():
        start, end = int(starts[place]), int(ends[place])
        parts.append(renamed.rows(start, end))
    return join(parts)


def scaled(columns: EventColumns, factor: int, runs: tuple[str, ...]) -> EventColumns:
    """Copy events under other run ids, with positions multiplied."""
    return replace(
        columns,
        runs=runs,
        inputs=_scaled(columns.inputs, INPUT_COLUMNS, factor),
        message=_scaled(columns.message, MESSAGE_COLUMNS, factor),
        state=_scaled(columns.state, STATE_COLUMNS, factor),
        members=_scaled(columns.members, MEMBER_COLUMNS, factor),
        log=_scaled(columns.log, LOG_COLUMNS, factor),
        sends=_scaled(columns.sends, MESSAGE_COLUMNS, factor),
        checksums=_scaled(columns.checksums, CHECKSUM_COLUMNS, factor),
    )


def copies(corpus: Path) -> Iterator[tuple[list[Run], Any]]:
    """Give the corpus again and again, as a table of events and the runs in it."""
    recorded = {folder.run.run_id: folder.run for folder in Corpus(corpus).run_folders()}
    folders = Corpus(corpus).run_folders()
    together = join([columns for folder in folders for columns in folder.columns()])
    for number in count():
        runs = [
            Run(
                schema="canvass.run/1",
                run_id=f"{run.run_id}.{number}",
                revision=run.revision,
                member_count=run.member_count,
                hardening=run.hardening,
                appointed_leader_id=run.appointed_leader_id,
                initial=run.initial,
            )
            for run in (recorded[run_id] for run_id in together.runs)
        ]
        ids = tuple(run.run_id for run in runs)
        copy = scaled(together, number + 1, ids)
        copy = replace(copy, time_ns=copy.time_ns + number * _DAY_NS)
        yield runs, to_table(rotated(copy, number))


def write_dataset(corpus: Path, root: Path, events: int, *, events_per_file: int) -> int:
    """Write a data set of copies with at least ``events`` events; give their actual number."""
    root.mkdir(parents=True)
    made = copies(corpus)
    total = number = 0
    while total < events:
        runs, table = next(made)
        entries = [RunEntry(run) for run in runs]
        path = root / f"events-{runs[0].member_count}-{number:05d}.parquet"
        schema = arrow_schema(runs[0].member_count)
        with pq.ParquetWriter(path, schema, compression="zstd") as writer:
            writer.write_table(table, row_group_size=ROW_GROUP)
            in_file = table.num_rows
            while in_file < events_per_file and total + in_file < events:
                runs, table = next(made)
                entries += [RunEntry(run) for run in runs]
                writer.write_table(table, row_group_size=ROW_GROUP)
                in_file += table.num_rows
            writer.add_key_value_metadata({RUNS_KEY: encode(entries)})
        total += in_file
        number += 1
    return total


def copy_folders(corpus: Path, root: Path, times: int) -> Path:
    """Copy the run folders of a corpus under other run ids, as they are."""
    root.mkdir(parents=True)
    for number in range(times):
        for folder in sorted(corpus.iterdir()):
            target = root / f"{folder.name}.{number}"
            shutil.copytree(folder, target)
            run_file = target / "run.json"
            old = f'"runId":"{folder.name}"'
            text = run_file.read_text()
            assert old in text
            run_file.write_text(text.replace(old, f'"runId":"{folder.name}.{number}"'))
    return root

"""`verify`: events in a DataFrame to verdicts in a DataFrame, for jobs of your own.

Rows must have the columns of ``canvass.events/1``, in any order. ``spark.read.format("canvass")``
makes such rows. Its column ``truncated`` makes a run with a truncated stream INCOMPLETE. Without
the column nothing shows the truncation. `verify` groups the rows by run: Spark moves all events.
For events in files, `canvass.corpus.job` is several times as fast. `verify` uses the DataFrame API
only. So it works on Spark Connect, if the server's workers have canvass.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec.structs import replace
from pyspark.sql.functions import lit
from pyspark.sql.pandas.types import from_arrow_schema

from canvass.corpus.data_source import REVISION, TRUNCATED, plain_schema, row_schema
from canvass.corpus.plan import Unit, UnitKind
from canvass.corpus.rows import ROW_SCHEMA, VERDICT_COLUMNS, RowKind, malformed_row, to_batch
from canvass.corpus.task_checker import TaskChecker
from canvass.traces.arrow import ADDED_COLUMN, arrow_schema
from canvass.traces.errors import TraceError
from canvass.traces.layout import NONE
from canvass.traces.limits import MAX_MEMBERS
from canvass.traces.ndjson import decode_run
from canvass.traces.parquet import RUNS_KEY, RunEntry
from canvass.traces.schema import Fact, FactKind, Run, encode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Revision = Literal["1.49", "1.50", "hardened"]

_RECORD: Final = "member_{}_log_position"
_KEYS: Final = ["run", "member", "step"]
"""The columns by which rows are in order."""
_SOURCE: Final = "source"
"""The column that no verdict depends on; Spark does not move it."""
_NO_SOURCE: Final = {"file": "", "lines": [], "observed": [], "reason": ""}


class BadEvents(Exception):
    """A DataFrame does not have the columns of events."""


def verify(
    events: DataFrame,
    *,
    revision: Revision | None = None,
    initial: Literal["empty", "unknown"] = "empty",
    graph: Path | None = None,
    cache: Path | None = None,
) -> DataFrame:
    """Return the verdict on each run that has events in a DataFrame.

    Parameters
    ----------
    events
        Rows of ``canvass.events/1``. All clusters have the same number of members.
    revision
        The revision of all runs. Default: the column ``revision`` of the rows; without it, 1.50.
    initial
        The field of ``run.json``, for all runs.
    graph
        Folder of a graph artifact, under the same path for all workers.
    cache
        Folder of the oracle's answers, under the same path for all workers. Default: the user's.

    Returns
    -------
    DataFrame
        One row for each run, with the columns of the table ``verdicts``. Spark computes it when it
        is used. The oracle runs on the workers, one at a time on each machine. A run whose id or
        revision the format does not have is MALFORMED.

    Raises
    ------
    BadEvents
        If columns are missing or have other types.
    """
    count = next(
        (n for n in range(MAX_MEMBERS, 0, -1) if _RECORD.format(n - 1) in events.columns), 0
    )
    if ADDED_COLUMN not in events.columns:
        events = events.withColumn(ADDED_COLUMN, lit(NONE).cast("long"))
    names = _columns_of_events(events, count, revision)
    checker = TaskChecker.of(graph=graph, cache=cache)
    run = Run("canvass.run/1", "run", revision or "1.50", count, initial=initial)
    return (
        events.select(*names)
        .repartition("run")
        .sortWithinPartitions("run", "member", "step")
        .mapInArrow(partial(_verify_rows, checker, run), from_arrow_schema(ROW_SCHEMA))
        .where(f"kind = '{RowKind.VERDICT.value}'")
        .select(*VERDICT_COLUMNS)
        .drop("source")
    )


def _columns_of_events(events: DataFrame, count: int, revision: Revision | None) -> list[str]:
    """The names of the columns that are checked; an error if one is missing or of another type."""
    names = [_RECORD.format(0)]
    if count:
        names = [name for name in arrow_schema(count).names if name != _SOURCE]
    missing = [name for name in names if name not in events.columns]
    if missing:
        raise BadEvents(f"columns of events are missing: {', '.join(missing[:5])}")
    if revision is None and REVISION in events.columns:
        names.append(REVISION)
    found = dict(events.dtypes)
    expected = {
        each.name: each.dataType.simpleString() for each in from_arrow_schema(row_schema(count))
    }
    wrong = [
        f"{name} is {found[name]} instead of {expected[name]}"
        for name in [*names, TRUNCATED]
        if found.get(name, expected[name]) != expected[name]
    ]
    if wrong:
        raise BadEvents(f"columns have other types than those of events: {', '.join(wrong[:5])}")
    if TRUNCATED in events.columns:
        names.append(TRUNCATED)
    return names


def _verify_rows(checker: TaskChecker, template: Run, batches: Iterator[Any]) -> Iterator[Any]:
    """Verify the runs of a partition through a file, as the reader of files checks all events."""
    schema = arrow_schema(template.member_count)
    runs: dict[str, RunEntry] = {}
    refused: dict[str | None, str] = {}
    last = None
    with tempfile.TemporaryDirectory(prefix="canvass-rows-") as folder:
        path = Path(folder) / "events.parquet"
        with pq.ParquetWriter(path, schema, compression="lz4") as writer:
            for batch in batches:
                table = pa.Table.from_batches([batch])
                keys = table.select(_KEYS)
                for run_id in _repeated(keys if last is None else pa.concat_tables([last, keys])):
                    refused[run_id] = f"several runs have the id {run_id}, or a step is there twice"
                last = keys.slice(max(0, len(keys) - 1)) if len(keys) else last
                for run in _runs_of(table, template):
                    if run.run_id in refused:
                        continue
                    try:
                        decode_run(encode(run), "run")
                    except TraceError as error:
                        refused[run.run_id] = f"the run {run.run_id!r}: {error.reason}"
                    else:
                        if runs.setdefault(run.run_id, RunEntry(run)).run != run:
                            raise BadEvents(f"run {run.run_id} has rows of several revisions")
                taken = [run_id for run_id in runs if run_id not in refused]
                table = table.filter(pc.is_in(table["run"], pa.array(taken, pa.string())))
                absent = [_NO_SOURCE] * table.num_rows
                kind = plain_schema(template.member_count).field(_SOURCE)
                if TRUNCATED in table.column_names:
                    for run_id, fact in _truncated(table):
                        runs[run_id] = replace(runs[run_id], facts=(*runs[run_id].facts, fact))
                table = table.select([name for name in schema.names if name != _SOURCE])
                table = table.append_column(kind, pa.array(absent, kind.type))
                writer.write_table(table.cast(schema))
            writer.add_key_value_metadata({RUNS_KEY: encode(list(runs.values()))})
        # A run that was refused later has its first rows in the file.
        wanted = tuple(run_id for run_id in runs if run_id not in refused)
        unit = Unit(UnitKind.FILE, str(path), 0, runs=wanted)
        yield to_batch(malformed_row(unit, reason, run_id) for run_id, reason in refused.items())
        if wanted:
            yield to_batch(checker.check((unit,)))


def _repeated(keys: Any) -> list[str]:
    """Return the runs in which a member has a step twice, in rows that are in order."""
    same = [pc.equal(keys[name][1:], keys[name][:-1]) for name in _KEYS]
    twice = pc.and_(same[0], pc.and_(same[1], same[2]))
    found: list[str] = pc.unique(keys["run"][1:].filter(twice)).to_pylist()
    return found


def _truncated(table: Any) -> Iterator[tuple[str, Fact]]:
    """Yield run and fact of each truncated stream."""
    truncated = table.select(["run", "member", TRUNCATED]).filter(
        pc.is_valid(table.column(TRUNCATED))
    )
    for row in truncated.to_pylist():
        kind, why = FactKind.TRUNCATED, row[TRUNCATED]
        yield row["run"], Fact(kind, row["run"], row["member"], detail=why)


def _runs_of(table: Any, template: Run) -> Iterator[Run]:
    """Yield the runs that have rows in a table, each with the revision of its rows."""
    columns = [name for name in ("run", REVISION) if name in table.column_names]
    for row in table.group_by(columns).aggregate([]).to_pylist():
        revision = row.get(REVISION, template.revision)
        yield replace(template, run_id=row["run"], revision=revision)

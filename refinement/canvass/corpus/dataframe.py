"""`verify`: events in a DataFrame to verdicts in a DataFrame, for jobs of your own.

Rows must have the columns of ``canvass.events/1``, in any order. ``spark.read.format("canvass")``
makes such rows. Its column ``truncated`` makes a run with a truncated stream INCOMPLETE. Without
the column nothing shows the truncation. `verify` groups the rows by run: Spark moves all events.
For events in files, `canvass.corpus.job` is several times as fast. `verify` uses the DataFrame API
only. So it works on Spark Connect, if the server's workers have canvass.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from canvass.cluster.rules import Rules
from canvass.conformance.check import check
from canvass.conformance.findings import VERDICTS
from canvass.conformance.verify import decide, make_lookup
from canvass.steps.oracle import ask
from canvass.steps.step import Step
from canvass.traces.arrow import arrow_schema, member_count_of
from canvass.traces.parquet import REVISION, TRUNCATED, entries_of_rows
from canvass.traces.schema import Run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Revision = Literal["1.49", "1.50", "hardened"]

COLUMNS: Final = [name for name in VERDICTS.names if name not in ("source", "open_steps")]
"""The columns of the result: those of the table ``verdicts`` that rows of a DataFrame have."""
_RESULT: Final = pa.schema([VERDICTS.field(name) for name in COLUMNS])
_CHECKED_AT_ONCE: Final = 1 << 19
"""Rows of a partition that are checked together: TLC is asked once about their open steps."""


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
        is used. The oracle runs on the workers, one at a time on each machine. A run with an id or
        a revision that the format does not allow is MALFORMED.

    Raises
    ------
    ColumnError
        If columns are missing. A column of another type is an error of the job, unless it can be
        cast without loss.
    """
    count = member_count_of(to_arrow_schema(events.schema))
    # Spark does not move columns that no verdict depends on.
    unused = {"source"} if revision is None else {"source", REVISION}
    known = (*arrow_schema(count).names, TRUNCATED, REVISION)
    names = [name for name in known if name in events.columns and name not in unused]
    run = Run("canvass.run/1", "run", revision or "1.50", count, initial=initial)
    return (
        events.select(*names)
        .repartition("run")
        .sortWithinPartitions("run", "member", "step")
        .mapInArrow(partial(_verify_rows, graph, cache, run), from_arrow_schema(_RESULT))
    )


def _verify_rows(
    graph: Path | None, cache: Path | None, run: Run, batches: Iterator[Any]
) -> Iterator[Any]:
    """Give the verdicts on the runs of a partition, whose rows are in order."""
    lookup = make_lookup([] if graph is None else [graph], cache)
    lookup.oracle = _ask_alone
    for table in _whole_runs(batches):
        found = decide(partial(check, table, runs=entries_of_rows(table, run)), lookup)
        yield from found.tables().verdicts.select(COLUMNS).to_batches()


def _ask_alone(rules: Rules, steps: Sequence[Step]) -> list[bool]:
    """Ask TLC. Workers of one user on one machine ask in turn, because a JVM takes 2 GiB."""
    lock = Path(tempfile.gettempdir()) / f"canvass-oracle-{os.getuid()}.lock"
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        return ask(rules, steps)


def _whole_runs(batches: Iterator[Any]) -> Iterator[Any]:
    """Join batches to tables of whole runs, of `_CHECKED_AT_ONCE` rows each or a little more."""
    waiting: list[Any] = []
    rows = 0
    for batch in batches:
        ids = batch["run"]
        if rows >= _CHECKED_AT_ONCE and len(ids):
            # The rows before the last run are whole runs. A run may be longer than a batch.
            last = pc.index(ids, ids[-1]).as_py()
            same = waiting[-1]["run"][-1] == ids[0]
            if last or not same:
                yield pa.Table.from_batches([*waiting, batch.slice(0, last)])
                waiting, rows, batch = [], 0, batch.slice(last)
        waiting.append(batch)
        rows += len(batch)
    if rows:
        yield pa.Table.from_batches(waiting)

"""The files through which driver and workers exchange tasks, rows and tables.

Rows do not go through Spark, which would need several small jobs to return a few of them. A worker
writes the rows of its task to a Parquet file and returns a `TaskResult`: how many rows of each kind
the file has. From the results the driver knows, without reading rows, which stages are left. It
writes the tables of the verification from the rows, batch by batch. In the tables source and id
name a run, as two runs of a corpus may have the same id. `canvass.corpus.rows` says what the rows
mean. Nothing is decided here.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from socket import gethostname
from time import monotonic
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct
from numpy.typing import NDArray

from canvass.conformance.verdict import Verdict
from canvass.corpus.graph_coverage import GraphCoverage, coverage_of, edge_count
from canvass.corpus.plan import Task
from canvass.corpus.rows import (
    COVERAGE_SCHEMA,
    DIVERGENCE_COLUMNS,
    ROW_SCHEMA,
    VERDICT_COLUMNS,
    Row,
    RowKind,
    to_batch,
)
from canvass.corpus.storage import Place, writing
from canvass.traces.counts import counted

STEPS_PER_CALL: Final = 2000
"""Steps in one call of the oracle: starting a JVM takes as long as checking many steps."""
_VERDICTS: Final = tuple(each.value for each in Verdict)
METRICS: Final = (
    "events",
    "distinct_steps",
    "open_steps",
    "oracle_calls",
    "oracle_answers",
    *(f"{name.lower()}_runs" for name in _VERDICTS),
)
"""Names of the sums that Spark shows for a stage; `docs/guide/spark.md` explains them.

Steps are distinct within a task: two tasks may count the same step.
"""
RESULT_SCHEMA: Final = pa.schema(
    [pa.field("result", pa.binary()), *(pa.field(name, pa.int64()) for name in METRICS)]
)
"""An encoded `TaskResult`, and the numbers in it that Spark shows."""
TASK_LOG: Final = "tasks.ndjson"
"""The file in the report that has one line of JSON for each task."""
ROWS: Final = "rows"
_TASKS: Final = "tasks"
_ROWS_AT_ONCE: Final = 4096


class LostResults(Exception):
    """A stage has not returned exactly one result of each task; the message is one line."""


class TaskResult(Struct, frozen=True, array_like=True):
    """The answer of a task to the driver: counts of the rows that it wrote."""

    task: int
    """The number of the task in its stage."""
    counts: dict[str, int]
    """Rows by kind."""
    events: int = 0
    """Events of the runs that have a verdict."""
    distinct: int = 0
    """Distinct canonical steps of the task's events."""
    verdicts: dict[str, int] = {}
    """Runs by verdict; a verdict is preliminary while the run has open steps."""
    host: str = ""
    """The machine that ran the task."""
    seconds: float = 0.0
    """How long the task took."""
    python: str = ""
    """The interpreter that ran the task."""

    @property
    def file(self) -> str:
        """The name of the file with the task's rows."""
        return f"{self.task:06d}.parquet"

    def metrics(self) -> dict[str, int]:
        """Return the numbers that Spark adds up, by the names in `METRICS`."""
        answers = self.counts.get(RowKind.ANSWER.value, 0)
        calls = -(-answers // STEPS_PER_CALL)
        open_steps = self.counts.get(RowKind.STEP.value, 0)
        runs = (self.verdicts.get(name, 0) for name in _VERDICTS)
        numbers = (self.events, self.distinct, open_steps, calls, answers, *runs)
        return dict(zip(METRICS, numbers, strict=True))


class Stage(Struct, frozen=True):
    """A stage whose tasks are done: the folder of their rows, and their results."""

    folder: Place
    results: tuple[TaskResult, ...]
    """In the order of the tasks."""

    def count(self, kind: RowKind) -> int:
        """Count the rows of a kind."""
        return sum(result.counts.get(kind.value, 0) for result in self.results)

    def batches(self, kinds: Sequence[RowKind], columns: Sequence[str]) -> Iterator[Any]:
        """Yield the rows of some kinds as Arrow batches, with ``kind`` and some other columns.

        Rows come in the order of the tasks, and within a task in the order of writing.
        """
        wanted = pa.array([kind.value for kind in kinds])
        for result in self.results:
            if not any(kind.value in result.counts for kind in kinds):
                continue
            with (self.folder / ROWS / result.file).open("rb") as file:
                for batch in pq.ParquetFile(file).iter_batches(columns=["kind", *columns]):
                    yield batch.filter(pc.is_in(batch.column("kind"), wanted))

    def pairs(self, kind: RowKind) -> Iterator[tuple[bytes, bytes]]:
        """Yield key and payload of each row of a kind."""
        for batch in self.batches([kind], ["key", "payload"]):
            columns = (batch.column(name).to_pylist() for name in ("key", "payload"))
            yield from zip(*columns, strict=True)


_TASK: Final = msgspec.json.Decoder(Task)
_RESULT: Final = msgspec.json.Decoder(TaskResult)


def write_tasks(folder: Place, tasks: Sequence[Task]) -> None:
    """Write the units of each task of a stage to a file; a worker reads only that of its task."""
    (folder / _TASKS).mkdir(parents=True)
    (folder / ROWS).mkdir()
    for number, task in enumerate(tasks):
        (folder / _TASKS / f"{number}.json").write_bytes(msgspec.json.encode(task))


def read_task(folder: Place, number: int) -> Task:
    """Read the units of a task that `write_tasks` has written."""
    return _TASK.decode((folder / _TASKS / f"{number}.json").read_bytes())


def write_rows(folder: Place, number: int, rows: Iterable[Row]) -> bytes:
    """Write the rows of a task; return its encoded `TaskResult`.

    A reader finds the file whole or not at all. A repeated task writes the same rows.
    """
    counts: Counter[str] = Counter()
    verdicts: Counter[str] = Counter()
    events, distinct, started = 0, 0, monotonic()
    left = iter(rows)
    with (
        writing(folder / ROWS / TaskResult(number, {}).file) as path,
        pq.ParquetWriter(path, ROW_SCHEMA, compression="lz4") as writer,
    ):
        while some := list(islice(left, _ROWS_AT_ONCE)):
            counts.update(row.kind.value for row in some)
            for row in some:
                if row.kind is RowKind.VERDICT:
                    verdicts[row.verdict or ""] += 1
                    events += row.events or 0
                elif row.kind is RowKind.DISTINCT:
                    distinct += row.events or 0
            writer.write_batch(to_batch(some))
    taken = round(monotonic() - started, 3)
    result = TaskResult(
        number,
        dict(counts),
        events,
        distinct,
        dict(verdicts),
        gethostname(),
        taken,
        sys.executable,
    )
    return msgspec.json.encode(result)


def write_steps(folder: Place, first: Stage) -> Stage:
    """Write each distinct open step of a stage once; each file has the steps of one oracle call."""
    write_tasks(folder, ())
    results: list[bytes] = []
    rows = _distinct_steps(first)
    while some := list(islice(rows, STEPS_PER_CALL)):
        results.append(write_rows(folder, len(results), some))
    return stage_of(folder, results, len(results))


def _distinct_steps(first: Stage) -> Iterator[Row]:
    seen = set[bytes]()
    for key, payload in first.pairs(RowKind.STEP):
        if key not in seen:
            seen.add(key)
            yield Row(kind=RowKind.STEP, key=key, payload=payload)


def read_result(result: bytes) -> TaskResult:
    """Decode the result of a task."""
    return _RESULT.decode(result)


def task_lines(stage: str, found: Stage, units: Sequence[int]) -> Iterator[bytes]:
    """Yield a line of JSON for each task of a stage.

    Parameters
    ----------
    stage
        The name of the stage.
    found
        The stage.
    units
        Number of units of each task.
    """
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    for result, count in zip(found.results, units, strict=True):
        entry = {
            "time": now,
            "stage": stage,
            "task": result.task,
            "units": count,
            "events": result.events,
            "verdicts": result.verdicts,
            "distinctSteps": result.distinct,
            "openSteps": result.counts.get(RowKind.STEP.value, 0),
            "oracleAnswers": result.counts.get(RowKind.ANSWER.value, 0),
            "seconds": result.seconds,
            "host": result.host,
            "python": result.python,
        }
        yield msgspec.json.encode(entry) + b"\n"


def stage_of(folder: Place, results: Iterable[bytes], tasks: int) -> Stage:
    """Make the stage of the results of all its tasks, given in any order.

    Raises
    ------
    LostResults
        If a task has no result, or more than one. Without its rows, runs would have no verdict, or
        a wrong one: a step that the oracle was asked about counts as allowed until it is refused.
    """
    found = sorted(map(read_result, results), key=lambda result: result.task)
    counts = Counter(result.task for result in found)
    wrong = [number for number in counts.keys() | set(range(tasks)) if counts[number] != 1]
    if wrong or len(counts) != tasks:
        raise LostResults(
            f"{folder}: {counted(len(found), 'result')} of {counted(tasks, 'task')}; task"
            f" {min(wrong)} has {counts[min(wrong)]}: nothing was verified, run the command again"
        )
    return Stage(folder, tuple(found))


_FILE: Final = "part-00000.parquet"
_COVERAGE: Final = ("source", "run_id", "revision", "member_count", "name", "events")


@dataclass(frozen=True)
class JobRows:
    """The rows of all stages of a job, and the runs whose rows of the first stage are superseded.

    A superseded run is the path of its unit and its id.
    """

    first: Stage
    later: Sequence[Stage] = ()
    superseded: frozenset[tuple[str, str | None]] = frozenset()

    def batches(self, kinds: Sequence[RowKind], columns: Sequence[str]) -> Iterator[Any]:
        """Yield the rows of some kinds that are not superseded.

        The columns must have ``source`` and ``run_id``.
        """
        for batch in self.first.batches(kinds, columns):
            if self.superseded:
                ids = zip(batch["source"].to_pylist(), batch["run_id"].to_pylist(), strict=True)
                kept = pa.array([each not in self.superseded for each in ids], pa.bool_())
                yield batch.filter(kept)
            else:
                yield batch
        for stage in self.later:
            yield from stage.batches(kinds, columns)


def write_tables(results: JobRows, out: Place) -> list[GraphCoverage]:
    """Write the tables verdicts, divergences and coverage; return the coverage of each graph."""
    verdicts = results.batches([RowKind.VERDICT], VERDICT_COLUMNS)
    _write(out / "verdicts", _of(VERDICT_COLUMNS), verdicts)
    divergences = results.batches([RowKind.DIVERGENCE], DIVERGENCE_COLUMNS)
    _write(out / "divergences", _of(DIVERGENCE_COLUMNS), divergences)
    graphs = _graph_coverage(results)
    _write_coverage(out / "coverage", results, graphs)
    return graphs


def read_table(folder: Place, columns: Sequence[str]) -> Iterator[Any]:
    """Yield the rows of a table in a folder as Arrow batches."""
    with (folder / _FILE).open("rb") as file:
        yield from pq.ParquetFile(file).iter_batches(columns=list(columns))


def _of(columns: Sequence[str]) -> Any:
    """Return the schema of some columns of rows."""
    return pa.schema([ROW_SCHEMA.field(name) for name in columns])


def _write(folder: Place, schema: Any, batches: Iterable[Any]) -> None:
    """Write a table; a reader finds the file whole or not at all."""
    folder.mkdir()
    with writing(folder / _FILE) as path, pq.ParquetWriter(path, schema) as writer:
        for batch in batches:
            if len(batch):
                writer.write_batch(batch.select(schema.names))


# --- coverage -------------------------------------------------------------------------------------


def _graph_coverage(results: JobRows) -> list[GraphCoverage]:
    """Count for each graph the steps that some task took."""
    met: dict[str, NDArray[np.bool_]] = {}
    for batch in results.batches([RowKind.EDGES], ("source", "run_id", "name", "payload")):
        for name, payload in zip(*(batch[n].to_pylist() for n in ("name", "payload")), strict=True):
            if name not in met:
                met[name] = np.zeros(edge_count(name), dtype=np.bool_)
            met[name][np.frombuffer(payload, dtype="<i8")] = True
    return [coverage_of(name, np.flatnonzero(met[name])) for name in sorted(met)]


def _write_coverage(folder: Place, results: JobRows, graphs: list[GraphCoverage]) -> None:
    """Write the table coverage: events by action, then the steps of graphs by action."""
    counts: Counter[tuple[str, int, str]] = Counter()
    for batch in results.batches([RowKind.COVERAGE], _COVERAGE):
        names = ("revision", "member_count", "name", "events")
        for *action, events in zip(*(batch[name].to_pylist() for name in names), strict=True):
            counts[action[0], action[1], action[2]] += events
    rows: list[tuple[str | int | None, ...]] = [
        (None, *action, events, None, None) for action, events in sorted(counts.items())
    ]
    rows += [
        (one.graph, one.revision, one.member_count, a.action, None, a.steps, a.covered)
        for one in graphs
        for a in one.actions
    ]
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in COVERAGE_SCHEMA]
    arrays = [pa.array(c, f.type) for c, f in zip(columns, COVERAGE_SCHEMA, strict=True)]
    batch = pa.RecordBatch.from_arrays(arrays, schema=COVERAGE_SCHEMA)
    _write(folder, COVERAGE_SCHEMA, [batch])

"""The rows of the tasks of a stage, as files that driver and workers write and read.

Rows do not go through Spark, which would take several small jobs to bring back a few of them. A
worker leaves the rows of its task in a Parquet file, and gives back a `Receipt`: how many rows of
which kind there are. So the driver knows without a look at them what is left to be done. The tables
of the verification are written from them, batch by batch; a run is named by its source and its id
there, as two runs of a corpus may have one id. What rows mean is in `canvass.corpus.rows`; nothing
is decided here.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
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
from canvass.corpus.edges import GraphCoverage, coverage_of, edge_count
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

STEPS_PER_CALL: Final = 2000
"""Steps that one oracle is asked at once: a JVM costs as much to start as many steps to check."""
_VERDICTS: Final = tuple(each.value for each in Verdict)
METRICS: Final = (
    "events",
    "distinct_steps",
    "open_steps",
    "oracle_calls",
    "oracle_answers",
    *(f"{name.lower()}_runs" for name in _VERDICTS),
)
"""Sums that Spark shows of a stage, as `docs/guide/spark.md` explains them.

Steps are distinct within a task: two tasks may count the same step.
"""
RECEIPT_SCHEMA: Final = pa.schema(
    [pa.field("receipt", pa.binary()), *(pa.field(name, pa.int64()) for name in METRICS)]
)
"""A receipt, and the numbers in it that Spark shows."""
TASK_LOG: Final = "tasks.ndjson"
"""In the folder of the results: a line of JSON for each task."""
ROWS: Final = "rows"
_TASKS: Final = "tasks"
_ROWS_AT_ONCE: Final = 4096


class PartRow(Struct, frozen=True, array_like=True):
    """A row of the kind ``PART``."""

    source: str
    part: int
    run_id: str | None
    reason: str | None


class Receipt(Struct, frozen=True, array_like=True):
    """What a task reports of the rows that it wrote."""

    file: str
    counts: dict[str, int]
    """Rows by kind."""
    parts: tuple[PartRow, ...]
    """These rows themselves: what is done next hangs on them."""
    events: int = 0
    """Of the runs that have a verdict."""
    distinct: int = 0
    """Distinct canonical steps of the events of the task."""
    verdicts: dict[str, int] = {}
    """Runs by verdict, as far as steps are decided."""
    host: str = ""
    """Where the task ran."""
    seconds: float = 0.0
    """How long it took."""
    python: str = ""
    """The interpreter."""

    def metrics(self) -> dict[str, int]:
        """Give the numbers that Spark adds up, by the names in `METRICS`."""
        answers = self.counts.get(RowKind.ANSWER.value, 0)
        calls = -(-answers // STEPS_PER_CALL)
        open_steps = self.counts.get(RowKind.STEP.value, 0)
        runs = (self.verdicts.get(name, 0) for name in _VERDICTS)
        numbers = (self.events, self.distinct, open_steps, calls, answers, *runs)
        return dict(zip(METRICS, numbers, strict=True))


class Stage(Struct, frozen=True):
    """The tasks of a stage that are done."""

    folder: Place
    receipts: tuple[Receipt, ...]

    def count(self, kind: RowKind) -> int:
        """Tell how many rows of a kind there are."""
        return sum(receipt.counts.get(kind.value, 0) for receipt in self.receipts)

    def parts(self) -> Iterator[PartRow]:
        """Give the rows about parts of units."""
        for receipt in self.receipts:
            yield from receipt.parts

    def batches(self, kinds: Sequence[RowKind], columns: Sequence[str]) -> Iterator[Any]:
        """Give the rows of some kinds, with the column ``kind`` and others, as Arrow batches.

        They come in the order of the tasks, and of a task in the order in which it wrote them.
        """
        wanted = pa.array([kind.value for kind in kinds])
        for receipt in self.receipts:
            if not any(kind.value in receipt.counts for kind in kinds):
                continue
            yield from read_rows(self.folder, receipt.file, wanted, columns)

    def pairs(self, kind: RowKind) -> Iterator[tuple[bytes, bytes]]:
        """Give key and payload of the rows of a kind."""
        for batch in self.batches([kind], ["key", "payload"]):
            columns = (batch.column(name).to_pylist() for name in ("key", "payload"))
            yield from zip(*columns, strict=True)


def read_rows(folder: Place, file: str, kinds: Any, columns: Sequence[str]) -> Iterator[Any]:
    """Give the rows of some kinds that a task has left."""
    with (folder / ROWS / file).open("rb") as opened:
        for batch in pq.ParquetFile(opened).iter_batches(columns=["kind", *columns]):
            yield batch.filter(pc.is_in(batch.column("kind"), kinds))


_TASK: Final = msgspec.json.Decoder(Task)
_RECEIPT: Final = msgspec.json.Decoder(Receipt)


def write_tasks(folder: Place, tasks: Sequence[Task]) -> None:
    """Write what each task of a stage is to check, each in a file: a worker reads only its own."""
    (folder / _TASKS).mkdir(parents=True)
    (folder / ROWS).mkdir()
    for number, task in enumerate(tasks):
        (folder / _TASKS / f"{number}.json").write_bytes(msgspec.json.encode(task))


def read_task(folder: Place, number: int) -> Task:
    """Read one of the tasks that were written."""
    return _TASK.decode((folder / _TASKS / f"{number}.json").read_bytes())


def write_rows(folder: Place, number: int, rows: Iterable[Row]) -> bytes:
    """Write the rows of a task; give the receipt.

    A reader finds the file whole or not at all. A task that is done again gives the same rows.
    """
    name = f"{number:06d}.parquet"
    counts: Counter[str] = Counter()
    verdicts: Counter[str] = Counter()
    parts: list[PartRow] = []
    events, distinct, started = 0, 0, monotonic()
    left = iter(rows)
    with (
        writing(folder / ROWS / name) as path,
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
            parts += (_part_row(row) for row in some if row.kind is RowKind.PART)
            writer.write_batch(to_batch(some))
    taken = round(monotonic() - started, 3)
    receipt = Receipt(
        name,
        dict(counts),
        tuple(parts),
        events,
        distinct,
        dict(verdicts),
        gethostname(),
        taken,
        sys.executable,
    )
    return msgspec.json.encode(receipt)


def write_steps(folder: Place, first: Stage) -> Stage:
    """Write each distinct open step of a stage once, as many in a file as one call asks about."""
    write_tasks(folder, ())
    receipts: list[bytes] = []
    rows = _distinct_steps(first)
    while some := list(islice(rows, STEPS_PER_CALL)):
        receipts.append(write_rows(folder, len(receipts), some))
    return stage_of(folder, receipts)


def _distinct_steps(first: Stage) -> Iterator[Row]:
    seen = set[bytes]()
    for key, payload in first.pairs(RowKind.STEP):
        if key not in seen:
            seen.add(key)
            yield Row(kind=RowKind.STEP, key=key, payload=payload)


def read_receipt(receipt: bytes) -> Receipt:
    """Read a receipt that a task has given."""
    return _RECEIPT.decode(receipt)


def task_lines(stage: str, found: Stage, units: Sequence[int]) -> Iterator[bytes]:
    """Give a line of JSON for each task of a stage.

    Parameters
    ----------
    stage
        What the stage is called.
    found
        The stage; its receipts are in the order of the tasks.
    units
        How many units each task had.
    """
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    for number, (receipt, count) in enumerate(zip(found.receipts, units, strict=True)):
        entry = {
            "time": now,
            "stage": stage,
            "task": number,
            "units": count,
            "events": receipt.events,
            "verdicts": receipt.verdicts,
            "distinctSteps": receipt.distinct,
            "openSteps": receipt.counts.get(RowKind.STEP.value, 0),
            "oracleAnswers": receipt.counts.get(RowKind.ANSWER.value, 0),
            "seconds": receipt.seconds,
            "host": receipt.host,
            "python": receipt.python,
        }
        yield msgspec.json.encode(entry) + b"\n"


def _part_row(row: Row) -> PartRow:
    assert row.source is not None
    assert row.part is not None
    return PartRow(row.source, row.part, row.run_id, row.reason)


def stage_of(folder: Place, receipts: Iterable[bytes]) -> Stage:
    """Bring the receipts of all tasks together, in the order of the tasks."""
    found = [_RECEIPT.decode(receipt) for receipt in receipts]
    return Stage(folder, tuple(sorted(found, key=lambda receipt: receipt.file)))


_FILE: Final = "part-00000.parquet"
_COVERAGE: Final = ("source", "run_id", "revision", "member_count", "name", "events")


@dataclass(frozen=True)
class Superseded:
    """Rows of the first stage that a recheck has superseded."""

    runs: frozenset[tuple[str, str | None]] = frozenset()
    """Runs, each with the unit that it is in."""
    units: frozenset[str] = frozenset()
    """Units of which nothing stays."""

    def has(self, source: str | None, run_id: str | None) -> bool:
        """Say whether a row is superseded."""
        return source in self.units or (source, run_id) in self.runs

    def without(self, batch: Any) -> Any:
        """Leave those rows out."""
        if not self.runs and not self.units:
            return batch
        ids = zip(batch["source"].to_pylist(), batch["run_id"].to_pylist(), strict=True)
        return batch.filter(pa.array([not self.has(*each) for each in ids], pa.bool_()))


@dataclass(frozen=True)
class TaskResults:
    """All rows of tasks about a corpus, and which of them are superseded."""

    first: Stage
    later: Sequence[Stage] = ()
    superseded: Superseded = field(default_factory=Superseded)

    def batches(self, kinds: Sequence[RowKind], columns: Sequence[str]) -> Iterator[Any]:
        """Give the rows of some kinds that count; the columns must name the run and its unit."""
        for batch in self.first.batches(kinds, columns):
            yield self.superseded.without(batch)
        for stage in self.later:
            yield from stage.batches(kinds, columns)


def write_tables(results: TaskResults, out: Place) -> list[GraphCoverage]:
    """Write verdicts, divergences and coverage; give what is covered of the graphs."""
    verdicts = results.batches([RowKind.VERDICT], VERDICT_COLUMNS)
    _write(out / "verdicts", _of(VERDICT_COLUMNS), verdicts)
    divergences = results.batches([RowKind.DIVERGENCE], DIVERGENCE_COLUMNS)
    _write(out / "divergences", _of(DIVERGENCE_COLUMNS), divergences)
    graphs = _graph_coverage(results)
    _write_coverage(out / "coverage", results, graphs)
    return graphs


def read_table(folder: Place, columns: Sequence[str]) -> Iterator[Any]:
    """Give the rows of a table that was written, as Arrow batches."""
    with (folder / _FILE).open("rb") as file:
        yield from pq.ParquetFile(file).iter_batches(columns=list(columns))


def _of(columns: Sequence[str]) -> Any:
    """Give the schema of some columns of rows."""
    return pa.schema([ROW_SCHEMA.field(name) for name in columns])


def _write(folder: Place, schema: Any, batches: Iterable[Any]) -> None:
    """Write a table; a reader finds the file whole or not at all."""
    folder.mkdir()
    with writing(folder / _FILE) as path, pq.ParquetWriter(path, schema) as writer:
        for batch in batches:
            if len(batch):
                writer.write_batch(batch.select(schema.names))


# --- coverage -------------------------------------------------------------------------------------


def _graph_coverage(results: TaskResults) -> list[GraphCoverage]:
    """Bring together which edges of the graphs the tasks met."""
    met: dict[str, NDArray[np.bool_]] = {}
    for batch in results.batches([RowKind.EDGES], ("source", "run_id", "name", "payload")):
        for name, payload in zip(*(batch[n].to_pylist() for n in ("name", "payload")), strict=True):
            if name not in met:
                met[name] = np.zeros(edge_count(name), dtype=np.bool_)
            met[name][np.frombuffer(payload, dtype="<i8")] = True
    return [coverage_of(name, np.flatnonzero(met[name])) for name in sorted(met)]


def _write_coverage(folder: Place, results: TaskResults, graphs: list[GraphCoverage]) -> None:
    """Write the events by action, and the steps of graphs by action."""
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

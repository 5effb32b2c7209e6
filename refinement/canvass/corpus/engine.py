"""Where the stages of a job run: on Spark, or in this process.

Both engines run the same functions on the same tasks and leave the same files, so that a report
does not depend on the engine. `canvass.corpus.engine_choice` chooses one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from canvass.corpus.rows import ROW_SCHEMA, RowKind
from canvass.corpus.storage import Place
from canvass.corpus.task_files import (
    METRICS,
    RECEIPT_SCHEMA,
    Stage,
    read_receipt,
    read_rows,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation, SparkSession

STEPS_PER_BATCH: Final = 2000
"""Steps that one oracle is asked at once: a JVM costs as much to start as many steps to check."""

ANSWER_SCHEMA: Final = pa.schema([pa.field("key", pa.binary()), pa.field("answer", pa.binary())])

Answer = tuple[bytes, bytes]
"""A step's key, and what the oracle says of it."""
RunTask = Callable[[int], bytes]
"""Does the task with a number; gives its receipt."""
AskOracle = Callable[[Sequence[tuple[bytes, bytes]]], Iterable[Answer]]
"""Asks about steps: keys and payloads."""
MapBatches = Callable[[Iterator[Any]], Iterator[Any]]
"""Makes Arrow batches of the Arrow batches of a partition."""
RunPlace = tuple[str, int | None, str]
"""The unit of a run, the number of the part if the unit was split, and the run's id."""


class Engine(Protocol):
    """Runs the stages of a `canvass.corpus.job.CorpusJob`."""

    parallelism: int
    """Tasks that run at once, if known."""

    def run_tasks(self, run_task: RunTask, count: int, stage: str) -> list[bytes]:
        """Run the tasks of a stage; give their receipts."""
        ...

    def ask(self, ask_oracle: AskOracle, first: Stage, batches: int) -> list[Answer]:
        """Ask about each distinct open step of a stage once."""
        ...

    def runs_to_recheck(self, first: Stage, forbidden: Sequence[bytes]) -> set[RunPlace]:
        """Give the runs with open steps that diverge or took a forbidden step."""
        ...


class ProcessEngine:
    """Runs one task after the other in this process."""

    parallelism = 1

    def run_tasks(self, run_task: RunTask, count: int, stage: str) -> list[bytes]:  # noqa: ARG002 - the stage has a name for Spark's UI
        """Run the tasks of a stage; give their receipts."""
        return [run_task(number) for number in range(count)]

    def ask(self, ask_oracle: AskOracle, first: Stage, batches: int) -> list[Answer]:  # noqa: ARG002 - one after the other
        """Ask about each distinct open step of a stage once."""
        steps: dict[bytes, bytes] = {}
        for batch in first.batches([RowKind.STEP], ["key", "payload"]):
            columns = (batch.column(name).to_pylist() for name in ("key", "payload"))
            steps.update(zip(*columns, strict=True))
        return list(_answers(ask_oracle, steps.items()))

    def runs_to_recheck(self, first: Stage, forbidden: Sequence[bytes]) -> set[RunPlace]:
        """Give the runs with open steps that diverge or took a forbidden step."""
        refused = set(forbidden)
        columns = ("source", "part", "run_id", "verdict", "pending")
        found: set[RunPlace] = set()
        for batch in first.batches([RowKind.VERDICT], columns):
            rows = zip(*(batch.column(name).to_pylist() for name in columns), strict=True)
            for source, part, run_id, verdict, pending in rows:
                if pending and (verdict == "DIVERGES" or not refused.isdisjoint(pending)):
                    found.add((source, part, run_id))
        return found


class SparkEngine:
    """Runs tasks on a Spark session, classic or Connect: only the DataFrame API is used."""

    def __init__(self, session: SparkSession, parallelism: int = 2) -> None:
        self.parallelism = parallelism
        self._session = session
        self._observations: dict[str, Observation] = {}

    def run_tasks(self, run_task: RunTask, count: int, stage: str) -> list[bytes]:
        """Run the tasks of a stage; give their receipts."""
        self._describe(f"{stage}: {count:,} tasks")
        # A partition has one number, that of its task: neither a shuffle nor a sample is needed.
        numbers = self._session.range(0, count, 1, count)
        checked = _map(numbers, partial(_run_partition, run_task), RECEIPT_SCHEMA)
        observed = self._observed(checked, stage, {name: f"sum({name})" for name in METRICS})
        receipts: list[bytes] = observed.toArrow().column("receipt").to_pylist()
        return receipts

    def ask(self, ask_oracle: AskOracle, first: Stage, batches: int) -> list[Answer]:
        """Ask about each distinct open step of a stage once."""
        self._describe("ask the oracle about open steps")
        steps = self._rows(first, RowKind.STEP).select("key", "payload").dropDuplicates(["key"])
        to_ask = steps.repartition(batches)
        answered = _map(to_ask, partial(_ask_partition, ask_oracle), ANSWER_SCHEMA)
        table = self._observed(answered, "ask", {"answers": "count(key)"}).toArrow()
        return list(zip(*(table.column(n).to_pylist() for n in table.column_names), strict=True))

    def runs_to_recheck(self, first: Stage, forbidden: Sequence[bytes]) -> set[RunPlace]:
        """Give the runs with open steps that diverge or took a forbidden step."""
        from pyspark.sql import functions as f

        self._describe("find the runs to recheck")
        place = ("source", "part", "run_id")
        waiting = self._rows(first, RowKind.VERDICT).where("size(pending) > 0")
        found = waiting.where(f.col("verdict") == "DIVERGES").select(*place)
        if forbidden:
            wrong = self._session.createDataFrame([(key,) for key in forbidden], "key binary")
            taken = waiting.select(*place, f.explode("pending").alias("key"))
            hit = taken.join(f.broadcast(wrong), "key", "left_semi").select(*place)
            found = found.union(hit)
        table = found.distinct().toArrow()
        return set(zip(*(table.column(name).to_pylist() for name in place), strict=True))

    def metrics(self) -> dict[str, dict[str, int]]:
        """Give the sums that Spark has observed, by stage; none on Spark Connect."""
        return {stage: observation.get for stage, observation in self._observations.items()}

    def _observed(self, frame: DataFrame, stage: str, sums: Mapping[str, str]) -> DataFrame:
        """Have Spark show sums of a frame's columns, in its UI and to its listeners."""
        from pyspark.sql import Observation
        from pyspark.sql import functions as f

        columns = [f.expr(text).alias(name) for name, text in sums.items()]
        name = f"canvass: {stage}"
        if _is_connect(self._session):
            return frame.observe(name, *columns)
        self._observations[stage] = Observation(name)
        return frame.observe(self._observations[stage], *columns)

    def _rows(self, stage: Stage, kind: RowKind) -> DataFrame:
        """Give the rows of a stage as a DataFrame, for what may be too much for the driver."""
        files = [receipt.file for receipt in stage.receipts if kind.value in receipt.counts]
        numbers = self._session.range(0, len(files), 1, max(1, len(files)))
        # Not by Spark's own reader: it would need the store's jars, and its credentials.
        return _map(numbers, partial(_read_partition, stage.folder, files, kind), ROW_SCHEMA)

    def _describe(self, text: str) -> None:
        """Name the jobs that follow in Spark's UI; Spark Connect has no such names."""
        context = None if _is_connect(self._session) else self._session.sparkContext
        if context is not None:
            context.setJobDescription(f"canvass: {text}")


def _map(frame: DataFrame, function: MapBatches, schema: Any) -> DataFrame:
    """Have workers turn the batches of a frame into batches with an Arrow schema."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return frame.mapInArrow(function, from_arrow_schema(schema))


def _is_connect(session: SparkSession) -> bool:
    return type(session).__module__.startswith("pyspark.sql.connect")


def _run_partition(run_task: RunTask, batches: Iterator[Any]) -> Iterator[Any]:
    """Run the tasks of a partition; runs in a worker."""
    for batch in batches:
        for number in batch.column("id").to_pylist():
            receipt = run_task(number)
            found = read_receipt(receipt)
            diverging = found.verdicts.get("DIVERGES", 0)
            open_steps = found.counts.get(RowKind.STEP.value, 0)
            cells = (receipt, found.events, sum(found.verdicts.values()), diverging, open_steps)
            columns = dict(zip(RECEIPT_SCHEMA.names, ([cell] for cell in cells), strict=True))
            yield pa.RecordBatch.from_pydict(columns, schema=RECEIPT_SCHEMA)


def _read_partition(
    folder: Place, files: Sequence[str], kind: RowKind, batches: Iterator[Any]
) -> Iterator[Any]:
    """Read the rows of a kind that some tasks have left; runs in a worker."""
    for batch in batches:
        for number in batch.column("id").to_pylist():
            kinds = pa.array([kind.value])
            yield from read_rows(folder, files[number], kinds, ROW_SCHEMA.names[1:])


def _ask_partition(ask_oracle: AskOracle, batches: Iterator[Any]) -> Iterator[Any]:
    """Ask about the steps of a partition; runs in a worker."""
    steps = [
        step
        for batch in batches
        for step in zip(*(batch.column(n).to_pylist() for n in ("key", "payload")), strict=True)
    ]
    answers = list(_answers(ask_oracle, steps))
    columns = list(zip(*answers, strict=True)) or [(), ()]
    arrays = [pa.array(column, pa.binary()) for column in columns]
    yield pa.RecordBatch.from_arrays(arrays, schema=ANSWER_SCHEMA)


def _answers(ask_oracle: AskOracle, steps: Iterable[tuple[bytes, bytes]]) -> Iterator[Answer]:
    left = iter(steps)
    while some := list(islice(left, STEPS_PER_BATCH)):
        yield from ask_oracle(some)


def count_distinct_steps(first: Stage) -> int:
    """Count the distinct open steps of a stage."""
    keys = [batch.column("key") for batch in first.batches([RowKind.STEP], ["key"])]
    counted: int = pc.count_distinct(pa.chunked_array(keys, pa.binary())).as_py()
    return counted

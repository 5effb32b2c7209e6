"""Where the stages of a job run: on Spark, or in this process.

Both engines run the same functions on the same tasks and leave the same files, so that a report
does not depend on the engine. `canvass.corpus.engine_choice` chooses one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from canvass.corpus.task_files import METRICS, RECEIPT_SCHEMA, read_receipt
from canvass.traces.counts import counted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation, SparkSession

RunTask = Callable[[int], bytes]
"""Does the task with a number; gives its receipt."""


class Engine(Protocol):
    """Runs the stages of a `canvass.corpus.job.CorpusJob`."""

    parallelism: int
    """Tasks that run at once, if known."""

    def run_tasks(self, run_task: RunTask, count: int, stage: str) -> list[bytes]:
        """Run the tasks of a stage; give their receipts."""
        ...


class ProcessEngine:
    """Runs one task after the other in this process."""

    parallelism = 1

    def run_tasks(self, run_task: RunTask, count: int, stage: str) -> list[bytes]:  # noqa: ARG002 - the stage has a name for Spark's UI
        """Run the tasks of a stage; give their receipts."""
        return [run_task(number) for number in range(count)]


class SparkEngine:
    """Runs tasks on a Spark session, classic or Connect: only the DataFrame API is used."""

    parallelism = 2

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._is_connect = type(session).__module__.startswith("pyspark.sql.connect")
        self._observations: dict[str, Observation] = {}

    def run_tasks(self, run_task: RunTask, count: int, stage: str) -> list[bytes]:
        """Run the tasks of a stage; give their receipts."""
        from pyspark.sql.pandas.types import from_arrow_schema

        if not self._is_connect:  # Spark Connect has no descriptions of jobs.
            self._session.sparkContext.setJobDescription(
                f"canvass: {stage}: {counted(count, 'task')}"
            )
        # A partition has one number, that of its task: neither a shuffle nor a sample is needed.
        numbers = self._session.range(0, count, 1, count)
        schema = from_arrow_schema(RECEIPT_SCHEMA)
        done = numbers.mapInArrow(partial(_run_partition, run_task), schema)
        receipts: list[bytes] = self._observed(done, stage).toArrow()["receipt"].to_pylist()
        self._show_sums(receipts, stage)
        return receipts

    def metrics(self) -> dict[str, dict[str, int]]:
        """Give the sums that Spark has observed, by stage; none on Spark Connect."""
        return {stage: observation.get for stage, observation in self._observations.items()}

    def _observed(self, done: DataFrame, stage: str) -> DataFrame:
        """Have Spark show the sums of the tasks' metrics, in its UI and to its listeners."""
        from pyspark.sql import Observation
        from pyspark.sql import functions as f

        sums = [f.sum(name).alias(name) for name in METRICS]
        name = f"canvass: {stage}"
        if self._is_connect:
            return done.observe(name, *sums)
        self._observations[stage] = Observation(name)
        return done.observe(self._observations[stage], *sums)

    def _show_sums(self, receipts: list[bytes], stage: str) -> None:
        """Run a job without work that has the sums as its description.

        Spark's UI names the sums of an observation in the plan, but shows no values.
        """
        if self._is_connect or self._session.sparkContext.uiWebUrl is None:
            return
        sums = Counter[str]()
        for receipt in receipts:
            sums.update(read_receipt(receipt).metrics())
        texts = (f"{sums[name]:,} {name.replace('_', ' ')}" for name in METRICS if sums[name])
        self._session.sparkContext.setJobDescription(f"canvass: {stage}: {', '.join(texts)}")
        self._session.range(1).toArrow()


def _run_partition(run_task: RunTask, batches: Iterator[Any]) -> Iterator[Any]:
    """Run the tasks of a partition; runs in a worker."""
    for batch in batches:
        for number in batch.column("id").to_pylist():
            receipt = run_task(number)
            row = {"receipt": receipt, **read_receipt(receipt).metrics()}
            yield pa.RecordBatch.from_pylist([row], schema=RECEIPT_SCHEMA)

"""The engines that run the stages of a job: Spark, or this process; and the choice between them.

Both engines run the same functions on the same tasks and leave the same files. So no report depends
on the engine. Small corpora are faster in one process: to open a Spark session and to start its
Python workers takes seconds, whatever there is to check.

The command line imports this module for `EngineName`, so heavy imports are inside the functions.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from enum import Enum
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Protocol

from canvass.traces.counts import counted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation, SparkSession

    from canvass.corpus.plan import Unit

RunTask = Callable[[int], bytes]
"""Runs the task with a number; returns its result as `canvass.corpus.task_files` encodes it."""


class Engine(Protocol):
    """Runs the stages of a `canvass.corpus.job.CorpusJob`."""

    parallelism: int
    """Tasks that run at once, if known."""

    def run_tasks(self, run_task: RunTask, count: int, stage: str) -> list[bytes]:
        """Run tasks 0 to ``count - 1`` of a stage; return their results in any order."""
        ...

    def obstacle(self) -> str:
        """Say why no task can begin; an empty text if nothing is known to prevent it."""
        ...


class ProcessEngine:
    """Runs one task after the other in this process."""

    parallelism = 1

    def run_tasks(self, run_task: RunTask, count: int, stage: str) -> list[bytes]:  # noqa: ARG002 - the stage has a name for Spark's UI
        """Run the tasks of a stage; return their results."""
        return [run_task(number) for number in range(count)]

    def obstacle(self) -> str:
        """Give an empty text: tasks need only this process."""
        return ""


class SparkEngine:
    """Runs tasks on a Spark session, classic or Connect: only the DataFrame API is used."""

    parallelism = 2

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._is_connect = type(session).__module__.startswith("pyspark.sql.connect")
        self._observations: dict[str, Observation] = {}

    def run_tasks(self, run_task: RunTask, count: int, stage: str) -> list[bytes]:
        """Run the tasks of a stage; return their results."""
        from pyspark.sql.pandas.types import from_arrow_schema

        from canvass.corpus.spark_session import interrupt_cancels_jobs
        from canvass.corpus.task_files import RESULT_SCHEMA

        if not self._is_connect:  # Spark Connect has no descriptions of jobs.
            self._session.sparkContext.setJobDescription(
                f"canvass: {stage}: {counted(count, 'task')}"
            )
        # Each partition has one number, that of its task: no shuffle and no sample is needed.
        numbers = self._session.range(0, count, 1, count)
        schema = from_arrow_schema(RESULT_SCHEMA)
        done = numbers.mapInArrow(partial(_run_partition, run_task), schema)
        with nullcontext() if self._is_connect else interrupt_cancels_jobs(self._session):
            table = self._observed(done, stage).toArrow()
        results: list[bytes] = table["result"].to_pylist()
        self._show_sums(results, stage)
        return results

    def obstacle(self) -> str:
        """Say that no executor has started; an empty text if one has, or if that is not known.

        A standalone master waits until a worker has enough memory, for ever if none has.
        """
        if self._is_connect:
            return ""
        context = self._session.sparkContext
        try:
            # The driver is one of these; with a local master it is the executor, too.
            started = int(context._jsc.sc().getExecutorMemoryStatus().size())
            if started > 1 or str(context.master).startswith("local"):
                return ""
            memory = context.getConf().get("spark.executor.memory", "1g")
        except Exception:  # noqa: BLE001 - the JVM may have ended; the job reports that
            return ""
        return (
            f"no executor has started: each needs {memory} of memory on a worker"
            " (spark.executor.memory), and a free core"
        )

    def metrics(self) -> dict[str, dict[str, int]]:
        """Return the sums that Spark has observed, by stage; none on Spark Connect."""
        return {stage: observation.get for stage, observation in self._observations.items()}

    def _observed(self, done: DataFrame, stage: str) -> DataFrame:
        """Have Spark show the sums of the tasks' metrics, in its UI and to its listeners."""
        from pyspark.sql import Observation
        from pyspark.sql import functions as f

        from canvass.corpus.task_files import METRICS

        sums = [f.sum(name).alias(name) for name in METRICS]
        name = f"canvass: {stage}"
        if self._is_connect:
            return done.observe(name, *sums)
        self._observations[stage] = Observation(name)
        return done.observe(self._observations[stage], *sums)

    def _show_sums(self, results: list[bytes], stage: str) -> None:
        """Run a job without work that has the sums as its description.

        Spark's UI names the sums of an observation in the plan, but shows no values.
        """
        from canvass.corpus.task_files import METRICS, read_result

        if self._is_connect or self._session.sparkContext.uiWebUrl is None:
            return
        sums = Counter[str]()
        for result in results:
            sums.update(read_result(result).metrics())
        texts = (f"{sums[name]:,} {name.replace('_', ' ')}" for name in METRICS if sums[name])
        self._session.sparkContext.setJobDescription(f"canvass: {stage}: {', '.join(texts)}")
        self._session.range(1).toArrow()


def _run_partition(run_task: RunTask, batches: Iterator[Any]) -> Iterator[Any]:
    """Run the tasks of a partition, in a worker."""
    import pyarrow as pa

    from canvass.corpus.task_files import RESULT_SCHEMA, read_result

    for batch in batches:
        for number in batch.column("id").to_pylist():
            result = run_task(number)
            row = {"result": result, **read_result(result).metrics()}
            yield pa.RecordBatch.from_pylist([row], schema=RESULT_SCHEMA)


# --- the choice -----------------------------------------------------------------------------------

SPARK_PAYS_FROM: Final = 9_000_000
"""Number of events from which on ``local[2]`` is faster than one process, the start of Spark
included. `docs/guide/spark.md` has the measurement.
"""


class EngineName(str, Enum):
    """The values of ``--engine``."""

    AUTO = "auto"
    """One process if that is faster, else Spark."""
    PROCESS = "process"
    SPARK = "spark"


def choose_engine(
    units: Sequence[Unit], master: str | None, wanted: EngineName
) -> tuple[EngineName, str]:
    """Choose the engine of a job.

    Parameters
    ----------
    units
        All units of the job.
    master
        The Spark master that the user named. If there is one, the engine is Spark.
    wanted
        The engine that the user named.

    Returns
    -------
    tuple
        ``PROCESS`` or ``SPARK``, and the reason in one line; no reason if the user chose.
    """
    if wanted is not EngineName.AUTO:
        return wanted, ""
    if master is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
        return EngineName.SPARK, ""
    from canvass.corpus.plan import COST_PER_EVENT

    events = sum(unit.cost for unit in units) // COST_PER_EVENT
    digits = max(0, len(str(events)) - 1)
    work = f"the work of about {round(events, -digits):,} events"
    if events < SPARK_PAYS_FROM:
        reason = "which Spark takes longer to start than it saves (--engine spark uses Spark)"
        return EngineName.PROCESS, f"one process: {work}, for {reason}"
    if find_spec("pyspark") is None:
        return EngineName.PROCESS, f"one process, as pyspark is not installed: {work}"
    return EngineName.SPARK, f"Spark: {work} (--engine process does not use it)"

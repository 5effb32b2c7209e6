"""The engines that run the stages of a job: Spark, or this process; and the choice between them.

Both apply the same functions to the same rows: `SparkEngine` to DataFrames by ``mapInArrow``,
`ProcessEngine` to Arrow tables. So no report depends on the engine. Small corpora are faster in one
process: to open a Spark session and to start its Python workers takes seconds.

The command line imports this module for `EngineName`, so heavy imports are inside the functions.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from canvass.traces.counts import counted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from canvass.corpus.check import TaskChecker
    from canvass.corpus.plan import Unit
    from canvass.corpus.storage import Place

RUN: Final = ["source", "run_id"]
"""The columns that name a run."""
_UNIT: Final = ["source", "digest", "verdict"]


class ProcessEngine:
    """Runs the stages of a `canvass.corpus.job.CorpusJob` in this process, on Arrow tables.

    `SparkEngine` has the same methods on DataFrames. What is small is an Arrow table in both.
    """

    parallelism = 1
    """Tasks that run at once."""

    def check(self, checker: TaskChecker, tasks: Sequence[Sequence[Unit]], stage: str) -> Any:  # noqa: ARG002 - the stage has a name for Spark
        """Check units; return the rows, which are computed once."""
        import pyarrow as pa

        from canvass.corpus.check import check_units, unit_table
        from canvass.corpus.rows import ROW_SCHEMA

        batches = check_units(checker, unit_table(tasks).to_batches())
        return pa.Table.from_batches(batches, schema=ROW_SCHEMA)

    def select(self, rows: Any, column: str, value: str) -> Any:
        """Return the rows with a value in a column."""
        import pyarrow.compute as pc

        return rows.filter(pc.field(column) == value)

    def table(self, rows: Any, columns: Sequence[str]) -> Any:
        """Return columns of rows as an Arrow table."""
        return rows.select(list(columns))

    def open_steps(self, rows: Any) -> tuple[Any, int]:
        """Return each distinct open step of rows, and their number."""
        steps = self.select(rows, "kind", "STEP").group_by("key").aggregate([("question", "min")])
        return steps.rename_columns({"question_min": "question"}), len(steps)

    def ask(self, digest: str, steps: Any, oracles: int) -> Any:  # noqa: ARG002 - one process asks once
        """Ask TLC about steps; return an Arrow table of the answers."""
        import pyarrow as pa

        from canvass.corpus.check import ask_steps
        from canvass.corpus.rows import ANSWER_SCHEMA

        batches = ask_steps(digest, steps.combine_chunks().to_batches())
        return pa.Table.from_batches(batches, schema=ANSWER_SCHEMA)

    def refused(self, rows: Any, keys: Any) -> Any:
        """Return an Arrow table of the runs that have an open step with one of some keys."""
        import pyarrow.compute as pc

        runs = self.select(rows, "kind", "VERDICT")
        steps = runs["open_steps"].combine_chunks()
        hit = pc.is_in(pc.list_flatten(steps), keys["key"].combine_chunks())
        owner = pc.list_parent_indices(steps).filter(hit)
        return runs.select(RUN).take(owner).group_by(RUN).aggregate([])

    def replaced(self, rows: Any, runs: Any, later: Any) -> Any:
        """Return rows with those of some runs replaced by the rows of a later check."""
        import pyarrow as pa
        import pyarrow.compute as pc

        old, new = (
            pc.binary_join_element_wise(*(each[name].combine_chunks() for name in RUN), "\0")
            for each in (rows, runs)
        )
        return pa.concat_tables([rows.filter(pc.invert(pc.is_in(old, new))), later])

    def inputs(self, rows: Any) -> Any:
        """Count runs and events of each unit by verdict; return an Arrow table."""
        found = self.select(rows, "kind", "VERDICT").group_by(_UNIT)
        counts = found.aggregate([("kind", "count"), ("events", "sum")])
        return counts.rename_columns({"kind_count": "runs", "events_sum": "events"})

    def write(
        self, rows: Any, columns: Sequence[str], folder: Place, stamp: Mapping[str, Any]
    ) -> None:
        """Write columns of rows, and constant columns, in the place of the table in a folder."""
        import pyarrow as pa

        from canvass.corpus.storage import write_table

        table = rows.select(list(columns))
        for name, value in stamp.items():
            table = table.append_column(name, pa.repeat(pa.scalar(value), len(table)))
        write_table(table, folder)

    def progress(self) -> str:
        """Say how far this process is."""
        from canvass.corpus.check import HERE

        if not HERE.events and not HERE.importing:
            return "no event checked yet"
        diverging = counted(HERE.diverging, "run diverges", "runs diverge")
        parts = [counted(HERE.events, "event"), f"{diverging} so far", HERE.importing]
        return ", ".join(filter(None, parts))


class SparkEngine:
    """Runs the stages on a Spark session, classic or Connect, by the DataFrame API."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._is_connect = type(session).__module__.startswith("pyspark.sql.connect")
        self.parallelism = 2 if self._is_connect else session.sparkContext.defaultParallelism
        self._at_work = ""
        self._kept: list[DataFrame] = []

    def check(self, checker: TaskChecker, tasks: Sequence[Sequence[Unit]], stage: str) -> Any:
        """Check units; return the rows, which Spark keeps until the next job begins."""
        from pyspark.sql.pandas.types import from_arrow_schema

        from canvass.corpus.check import check_units, unit_table
        from canvass.corpus.plan import UnitKind
        from canvass.corpus.rows import ROW_SCHEMA

        is_log = any(unit.kind is UnitKind.AERON_LOGS for task in tasks for unit in task)
        self._begin(stage, "logs are imported" if is_log else "runs are read")
        units = self._session.createDataFrame(unit_table(tasks))
        rows = units.repartitionById(len(tasks), "task").mapInArrow(
            partial(check_units, checker), from_arrow_schema(ROW_SCHEMA)
        )
        for old in self._kept if stage == "check" else ():
            old.unpersist()
        self._kept = [rows.persist()] if stage == "check" else [*self._kept, rows.persist()]
        return rows

    def select(self, rows: Any, column: str, value: str) -> Any:
        """Return the rows with a value in a column."""
        return rows.where(rows[column] == value)

    def table(self, rows: Any, columns: Sequence[str]) -> Any:
        """Return columns of rows as an Arrow table."""
        return rows.select(*columns).toArrow()

    def open_steps(self, rows: Any) -> tuple[Any, int]:
        """Return each distinct open step of rows, and their number."""
        steps = self.select(rows, "kind", "STEP").select("key", "question").dropDuplicates(["key"])
        return steps, steps.count()

    def ask(self, digest: str, steps: Any, oracles: int) -> Any:
        """Ask TLC about steps in few tasks; return the answers."""
        from pyspark.sql.pandas.types import from_arrow_schema

        from canvass.corpus.check import ask_steps
        from canvass.corpus.rows import ANSWER_SCHEMA

        self._begin("ask", "TLC is asked")
        asked = steps.repartition(oracles).mapInArrow(
            partial(ask_steps, digest), from_arrow_schema(ANSWER_SCHEMA)
        )
        return asked.toArrow()

    def refused(self, rows: Any, keys: Any) -> Any:
        """Return the runs that have an open step with one of some keys."""
        from pyspark.sql import functions as f

        runs = self.select(rows, "kind", "VERDICT").select(
            *RUN, f.explode("open_steps").alias("key")
        )
        hit = runs.join(f.broadcast(self._session.createDataFrame(keys)), "key", "left_semi")
        return hit.select(*RUN).distinct().toArrow()

    def replaced(self, rows: Any, runs: Any, later: Any) -> Any:
        """Return rows with those of some runs replaced by later rows."""
        from pyspark.sql import functions as f

        old = f.broadcast(self._session.createDataFrame(runs))
        return rows.join(old, RUN, "left_anti").unionByName(later)

    def inputs(self, rows: Any) -> Any:
        """Count runs and events of each unit by verdict."""
        from pyspark.sql import functions as f

        runs = self.select(rows, "kind", "VERDICT").groupBy(*_UNIT)
        counts = runs.agg(f.count("kind").alias("runs"), f.sum("events").alias("events"))
        return counts.toArrow()

    def write(
        self, rows: Any, columns: Sequence[str], folder: Place, stamp: Mapping[str, Any]
    ) -> None:
        """Write columns of rows, and constant columns, to a folder.

        Spark writes to a path. It has no file system for the URL of a store, unless the session
        has a jar of it; pyarrow has.
        """
        import pyarrow as pa
        from pyspark.sql.functions import lit

        from canvass.corpus.storage import UrlPath

        if isinstance(folder, UrlPath):
            table = rows if isinstance(rows, pa.Table) else self.table(rows, columns)
            ProcessEngine().write(table, columns, folder, stamp)
            return
        self._begin(f"write {folder.name}", "")
        frame: DataFrame = (
            self._session.createDataFrame(rows) if isinstance(rows, pa.Table) else rows
        )
        frame = frame.select(*columns).withColumns({k: lit(v) for k, v in stamp.items()})
        writer = frame.coalesce(1).write.mode("overwrite").option("compression", "zstd")
        writer.parquet(f"file://{folder}")

    def progress(self) -> str:
        """Say what Spark's status tracker says; Spark Connect has none."""
        if self._is_connect:
            return self._at_work
        context = self._session.sparkContext
        try:
            # The driver is one of these; with a local master it is the executor, too.
            executors = int(context._jsc.sc().getExecutorMemoryStatus().size())
            tracker = context.statusTracker()
            stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
        except Exception:  # noqa: BLE001 - the JVM may have ended; the job reports that
            return ""
        if executors < 2 and not str(context.master).startswith("local"):
            memory = context.getConf().get("spark.executor.memory", "1g")
            return (
                f"no executor has started: each needs {memory} of memory on a worker"
                " (spark.executor.memory), and a free core"
            )
        known = [stage for stage in stages if stage is not None]
        done = sum(stage.numCompletedTasks for stage in known)
        text = f"{done:,} of {counted(sum(stage.numTasks for stage in known), 'task')}"
        starting = "" if done else "Python workers start"
        return ", ".join(filter(None, (text, starting, self._at_work))) if known else ""

    def _begin(self, stage: str, at_work: str) -> None:
        self._at_work = at_work
        if not self._is_connect:  # Spark Connect has no descriptions of jobs.
            self._session.sparkContext.setJobDescription(f"canvass: {stage}")


Engine = ProcessEngine | SparkEngine


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

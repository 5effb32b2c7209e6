"""The engine that runs the stages of a job on Spark, on DataFrames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import from_arrow_schema

from canvass.corpus.check import (
    ANSWER_SCHEMA,
    FOUND_COLUMNS,
    OPEN,
    ROW_SCHEMA,
    TaskChecker,
    ask_steps,
    check_units,
    unit_table,
)
from canvass.corpus.plan import Unit, UnitKind
from canvass.corpus.storage import Place, UrlPath, write_table
from canvass.traces.errors import counted


class SparkEngine:
    """Runs the stages on a Spark session, classic or Connect, by the DataFrame API."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._is_connect = type(session).__module__.startswith("pyspark.sql.connect")
        self.parallelism = 2 if self._is_connect else session.sparkContext.defaultParallelism
        self._at_work = ""
        self._kept: list[DataFrame] = []

    def check(self, checker: TaskChecker, tasks: Sequence[Sequence[Unit]], stage: str) -> Any:
        """Check units; return the rows, which Spark keeps."""
        is_log = any(unit.kind is UnitKind.AERON_LOGS for task in tasks for unit in task)
        self._begin(stage, "logs are imported" if is_log else "runs are read")
        units = self._session.createDataFrame(unit_table(tasks))
        rows = units.repartitionById(len(tasks), "task").mapInArrow(
            partial(check_units, checker), from_arrow_schema(ROW_SCHEMA)
        )
        self._kept.append(rows.persist())
        return rows

    def release(self) -> None:
        """Let Spark drop the rows that it keeps. Call it when the tables are written."""
        while self._kept:
            self._kept.pop().unpersist()

    def select(self, rows: Any, column: str, value: str) -> Any:
        """Return the rows with a value in a column."""
        return rows.where(rows[column] == value)

    def found(self, rows: Any) -> Any:
        """Return what the driver reads of rows, as an Arrow table."""
        findings = rows.where(rows["kind"] != "STEP")
        return findings.select(*FOUND_COLUMNS, f.size("open_steps").alias(OPEN)).toArrow()

    def open_steps(self, rows: Any) -> tuple[Any, int]:
        """Return each distinct open step of rows, and their number."""
        steps = self.select(rows, "kind", "STEP").select("key", "question").dropDuplicates(["key"])
        return steps, steps.count()

    def ask(self, digest: str, steps: Any, oracles: int) -> Any:
        """Ask TLC about steps in few tasks; return the answers."""
        self._begin("ask", "TLC is asked")
        asked = steps.repartition(oracles).mapInArrow(
            partial(ask_steps, digest), from_arrow_schema(ANSWER_SCHEMA)
        )
        return asked.toArrow()

    def refused(self, rows: Any, keys: Any) -> Any:
        """Return the units with an open step that has one of some keys."""
        runs = self.select(rows, "kind", "VERDICT").select(
            "source", f.explode("open_steps").alias("key")
        )
        hit = runs.join(f.broadcast(self._session.createDataFrame(keys)), "key", "left_semi")
        return hit.select("source").distinct().toArrow()

    def replaced(self, rows: Any, units: Any, later: Any) -> Any:
        """Return rows with those of some units replaced by later rows."""
        old = f.broadcast(self._session.createDataFrame(units))
        return rows.join(old, "source", "left_anti").unionByName(later.where("source IS NOT NULL"))

    def write(
        self, rows: Any, columns: Sequence[str], folder: Place, stamp: Mapping[str, Any]
    ) -> None:
        """Write columns of rows, and constant columns, to a folder.

        Spark writes to a path, which driver and workers must share. pyarrow writes to the URL of a
        store, because Spark has a file system for it only if the session has a jar.
        """
        if isinstance(folder, UrlPath):
            chosen = rows.select(list(columns))
            table = chosen if isinstance(chosen, pa.Table) else chosen.toArrow()
            write_table(table, folder, stamp)
            return
        self._begin(f"write {folder.name}", "")
        frame: DataFrame = (
            self._session.createDataFrame(rows) if isinstance(rows, pa.Table) else rows
        )
        frame = frame.select(*columns, *(f.lit(v).alias(k) for k, v in stamp.items()))
        writer = frame.coalesce(1).write.mode("overwrite").option("compression", "zstd")
        writer.parquet(f"file://{folder}")

    def progress(self) -> str:
        """Say what Spark's status tracker says; Spark Connect has none."""
        if self._is_connect:
            return self._at_work
        context = self._session.sparkContext
        try:
            tracker = context.statusTracker()
            stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
        except Exception:  # noqa: BLE001 - the JVM may have ended; the job reports that
            return ""
        known = [stage for stage in stages if stage is not None]
        done = sum(stage.numCompletedTasks for stage in known)
        text = f"{done:,} of {counted(sum(stage.numTasks for stage in known), 'task')}"
        starting = "" if done else "Python workers start"
        return ", ".join(filter(None, (text, starting, self._at_work))) if known else ""

    def _begin(self, stage: str, at_work: str) -> None:
        self._at_work = at_work
        if not self._is_connect:  # Spark Connect has no descriptions of jobs.
            self._session.sparkContext.setJobDescription(f"canvass: {stage}")

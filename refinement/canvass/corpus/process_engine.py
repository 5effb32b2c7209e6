"""The engine that runs the stages of a job in this process, on Arrow tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from canvass.corpus.check import HERE, TaskChecker, ask_steps, check_units, unit_table
from canvass.corpus.plan import Unit
from canvass.corpus.rows import ANSWER_SCHEMA, FOUND_COLUMNS, OPEN, ROW_SCHEMA
from canvass.corpus.storage import Place, write_table
from canvass.traces.counts import counted


class ProcessEngine:
    """Runs the stages of a `canvass.corpus.job.CorpusJob` in this process, on Arrow tables.

    `SparkEngine` has the same methods on DataFrames. In both, small results are Arrow tables.
    """

    parallelism = 1
    """Tasks that run at once."""

    def check(self, checker: TaskChecker, tasks: Sequence[Sequence[Unit]], stage: str) -> Any:  # noqa: ARG002 - the stage has a name for Spark
        """Check units; return the rows, which are computed once."""
        HERE.events = HERE.diverging = 0
        batches = check_units(checker, unit_table(tasks).to_batches())
        return pa.Table.from_batches(batches, schema=ROW_SCHEMA)

    def select(self, rows: Any, column: str, value: str) -> Any:
        """Return the rows with a value in a column."""
        return rows.filter(pc.field(column) == value)

    def found(self, rows: Any) -> Any:
        """Return what the driver reads of rows, as an Arrow table."""
        findings = rows.filter(pc.field("kind") != "STEP")
        counts = pc.list_value_length(findings["open_steps"])
        return findings.select(list(FOUND_COLUMNS)).append_column(OPEN, counts)

    def open_steps(self, rows: Any) -> tuple[Any, int]:
        """Return each distinct open step of rows, and their number."""
        steps = self.select(rows, "kind", "STEP").group_by("key").aggregate([("question", "min")])
        return steps.rename_columns({"question_min": "question"}), len(steps)

    def ask(self, digest: str, steps: Any, oracles: int) -> Any:  # noqa: ARG002 - one process asks once
        """Ask TLC about steps; return an Arrow table of the answers."""
        batches = ask_steps(digest, steps.combine_chunks().to_batches())
        return pa.Table.from_batches(batches, schema=ANSWER_SCHEMA)

    def refused(self, rows: Any, keys: Any) -> Any:
        """Return an Arrow table of the units with an open step that has one of some keys."""
        runs = self.select(rows, "kind", "VERDICT")
        steps = runs["open_steps"].combine_chunks()
        hit = pc.is_in(pc.list_flatten(steps), keys["key"].combine_chunks())
        owner = pc.list_parent_indices(steps).filter(hit)
        return runs.select(["source"]).take(owner).group_by("source").aggregate([])

    def replaced(self, rows: Any, units: Any, later: Any) -> Any:
        """Return rows with those of some units replaced by the rows of a later check.

        Counts of events stay those of the first check.
        """
        old = pc.field("source").isin(units["source"].combine_chunks())
        return pa.concat_tables([rows.filter(~old), later.filter(pc.field("source").is_valid())])

    def write(
        self, rows: Any, columns: Sequence[str], folder: Place, stamp: Mapping[str, Any]
    ) -> None:
        """Write columns of rows, and constant columns, in the place of the table in a folder."""
        table = rows.select(list(columns))
        for name, value in stamp.items():
            table = table.append_column(name, pa.repeat(pa.scalar(value), len(table)))
        write_table(table, folder)

    def progress(self) -> str:
        """Say how far this process is."""
        if not HERE.events and not HERE.importing:
            return "no event checked yet"
        diverging = counted(HERE.diverging, "run diverges", "runs diverge")
        parts = [counted(HERE.events, "event"), f"{diverging} so far", HERE.importing]
        return ", ".join(filter(None, parts))

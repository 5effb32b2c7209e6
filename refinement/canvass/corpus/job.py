"""The job: units in, tables of verdicts, divergences and coverage out.

Rows flow through the stages; a corpus without open steps needs the first and the last one only:

1. ``check``: units become rows of verdicts, divergences, counts and open steps.
2. ``ask``: TLC decides each distinct open step.
3. ``recheck``: runs with a refused step are checked again, with the answers, until no step is open.
   The other runs with open steps keep their verdicts, which hold if all open steps are allowed.
4. ``write``: the engine writes the tables.

No verdict depends on the tasks: it follows from the run's own events and from the answers for its
steps. `canvass.corpus.engine` runs the stages.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from canvass.conformance.step_lookup import StepLookup, cache_file, spec_digest
from canvass.conformance.verdict import Verdict
from canvass.corpus.check import HERE, TaskChecker, keys_of
from canvass.corpus.engine import Engine
from canvass.corpus.graph_coverage import GraphCoverage, coverage_of
from canvass.corpus.plan import Unit, pack
from canvass.corpus.rows import DIVERGENCE_COLUMNS, QUARANTINE_COLUMNS, VERDICT_COLUMNS
from canvass.corpus.storage import Place, UrlPath, absolute, files_below, on_this_machine
from canvass.steps.answers import REFUSED
from canvass.traces.counts import counted

REPORT_TABLES: Final = ("verdicts", "divergences", "coverage")
"""The tables of a report."""
TABLES: Final = (*REPORT_TABLES, "quarantine", "inputs")
"""All tables, in the order in which they are written."""

_COVERAGE: Final = ("revision", "member_count", "name", "events")
COVERAGE_SCHEMA: Final = pa.schema(
    [
        pa.field("graph", pa.string()),
        pa.field("revision", pa.string()),
        pa.field("member_count", pa.int32()),
        pa.field("name", pa.string()),
        pa.field("events", pa.int64()),
        pa.field("steps", pa.int64()),
        pa.field("covered_steps", pa.int64()),
    ]
)
"""Without a graph: number of events of an action. With a graph: number of its steps of an action,
and how many of them the corpus takes.
"""
INPUT_SCHEMA: Final = pa.schema(
    [
        *(pa.field(name, pa.string()) for name in ("source", "digest")),
        *(pa.field(name, pa.int64()) for name in ("events", *(v.value.lower() for v in Verdict))),
    ]
)
"""A verified unit: its digest, its events, and its runs by verdict."""


class OutputExists(Exception):
    """The folder for the results is not empty."""


class LostResults(Exception):
    """A unit has no verdict; the message is one line."""


def make_results_folder(out: Place) -> None:
    """Make a folder for results.

    Raises
    ------
    OutputExists
        If the folder is there and not empty.
    """
    if files_below(out, recursive=False):
        raise OutputExists(f"{out} is not empty; name a new or empty folder")
    out.mkdir(parents=True, exist_ok=True)


class CorpusJob:
    """One batch verification.

    Parameters
    ----------
    engine
        Runs the stages.
    cache
        The user's folder of TLC's answers, on this machine or in a store.
    graph
        A graph artifact whose steps count as known, under the same path or URL for all workers.
    partitions
        Number of tasks. Default: from sizes and cores.
    oracles
        How many TLC processes run at once.
    say
        Called with the name of each stage that begins.
    """

    def __init__(
        self,
        engine: Engine,
        cache: Place,
        *,
        graph: Place | None = None,
        partitions: int | None = None,
        oracles: int = 1,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._engine, self._cache = engine, cache
        self._graphs = () if graph is None else (str(absolute(graph)),)
        self._partitions, self._oracles, self._say = partitions, oracles, say
        self._rows: Any = None
        self.coverage: Any = None
        """An Arrow table of `COVERAGE_SCHEMA`."""
        self.graphs: list[GraphCoverage] = []
        self.inputs: Any = None
        """An Arrow table of `INPUT_SCHEMA`: a row for each unit."""
        self._again: set[tuple[str, str]] = set()
        self.asked = 0

    def run(self, units: Sequence[Unit]) -> None:
        """Check all units.

        Raises
        ------
        LostResults
            If a unit has no verdict.
        """
        HERE.events = HERE.diverging = 0
        engine = self._engine
        self._say(f"checking {counted(len(units), 'unit')}")
        with on_this_machine(self._cache) as cache:
            lookup = StepLookup(cache=cache, digest=spec_digest())
            checker = TaskChecker(lookup.digest, lookup.cached(), self._graphs)
            self._rows = rows = engine.check(checker, self._tasks(units), "check")
            # A run that is checked again may have new open steps: variants of the refused ones.
            while rows is not None:
                steps, count = engine.open_steps(rows)
                if not count:
                    break
                self._say(f"asking TLC about {counted(count, 'distinct step')}")
                answers = engine.ask(lookup.digest, steps, self._oracles)
                self.asked += len(answers)
                lookup.remember(keys_of(answers), answers["code"].to_numpy())
                refused = answers.filter(pc.field("code") == REFUSED).select(["key"])
                checker = replace(checker, known=lookup.cached())
                rows = self._recheck(units, checker, engine.refused(rows, refused))
            if self.asked and isinstance(self._cache, UrlPath):
                file = cache_file(cache, lookup.digest)
                (self._cache / file.name).write_bytes(file.read_bytes())
        self._count(units)

    def _tasks(self, units: Sequence[Unit]) -> list[list[Unit]]:
        return pack(units, tasks=self._partitions, parallelism=self._engine.parallelism)

    def _recheck(self, units: Sequence[Unit], checker: TaskChecker, runs: Any) -> Any:
        """Check runs again; return their rows, or None without runs."""
        again = defaultdict[str, list[str]](list)
        for run in runs.to_pylist():
            again[run["source"]].append(run["run_id"])
        if not again:
            return None
        self._again.update((source, run_id) for source in again for run_id in again[source])
        chosen = [
            msgspec.structs.replace(unit, runs=tuple(sorted(again[unit.path])))
            for unit in units
            if unit.path in again
        ]
        count = counted(len(chosen), "unit")
        self._say(f"checking {count} again, now that all steps are decided")
        later = self._engine.check(checker, self._tasks(chosen), "recheck")
        self._rows = self._engine.replaced(self._rows, runs, later)
        return later

    @property
    def rechecked(self) -> int:
        """The number of runs that were checked again."""
        return len(self._again)

    def _count(self, units: Iterable[Unit]) -> None:
        """Count coverage, and the runs of each unit."""
        self.inputs = _inputs(self._engine.inputs(self._rows))
        found = set(self.inputs["source"].to_pylist())
        if lost := [unit.path for unit in units if unit.path not in found]:
            raise LostResults(f"{lost[0]} has no verdict, and {len(lost) - 1} more: run it again")
        events = self._engine.table(self._engine.select(self._rows, "kind", "COVERAGE"), _COVERAGE)
        edges = self._engine.select(self._rows, "kind", "EDGES") if self._graphs else None
        if edges is not None:
            self.graphs = _graphs(self._graphs, self._engine.table(edges, ("name", "edges")))
        self.coverage = _coverage(events, self.graphs)

    # --- results ----------------------------------------------------------------------------------

    def write(self, tables: Mapping[str, Place], stamp: Mapping[str, Any] | None = None) -> None:
        """Write tables, by name, to folders.

        Parameters
        ----------
        tables
            The folder of each table; a table in it is replaced.
        stamp
            Columns that each row has: values by name.
        """
        self._say("writing the tables")
        engine, rows = self._engine, self._rows
        for name, folder in tables.items():
            if name in ("coverage", "inputs"):
                found = self.coverage if name == "coverage" else self.inputs
                columns: Sequence[str] = found.schema.names
            elif name == "quarantine":
                found, columns = engine.select(rows, "verdict", "MALFORMED"), QUARANTINE_COLUMNS
            elif name == "divergences":
                found, columns = engine.select(rows, "kind", "DIVERGENCE"), DIVERGENCE_COLUMNS
            else:
                found, columns = engine.select(rows, "kind", "VERDICT"), VERDICT_COLUMNS
            engine.write(found, columns, absolute(folder), stamp or {})


def _inputs(counts: Any) -> Any:
    """Return a row for each unit, from counts for each unit and verdict."""
    rows: dict[str, dict[str, Any]] = {}
    zeros = dict.fromkeys(INPUT_SCHEMA.names, 0)
    for each in counts.to_pylist():
        unit = {name: each[name] for name in ("source", "digest")}
        row = rows.setdefault(each["source"], zeros | unit)
        row["events"] += each["events"] or 0
        row[each["verdict"].lower()] += each["runs"]
    return pa.Table.from_pylist([rows[source] for source in sorted(rows)], schema=INPUT_SCHEMA)


def _graphs(names: Sequence[str], rows: Any) -> list[GraphCoverage]:
    """Count for each graph the steps that some task took."""
    return [
        coverage_of(
            name,
            np.unique(
                np.frombuffer(
                    b"".join(rows.filter(pc.field("name") == name)["edges"].to_pylist()), "<i8"
                )
            ),
        )
        for name in names
    ]


def _coverage(events: Any, graphs: Sequence[GraphCoverage]) -> Any:
    """Return the table coverage: events by action, then the steps of graphs by action."""
    keys = list(_COVERAGE[:-1])
    counts = events.group_by(keys).aggregate([("events", "sum")])
    counts = counts.sort_by([(key, "ascending") for key in keys])
    rows = counts.rename_columns({"events_sum": "events"}).to_pylist()
    rows += [
        {
            "graph": one.graph,
            "revision": one.revision,
            "member_count": one.member_count,
            "name": each.action,
            "steps": each.steps,
            "covered_steps": each.covered,
        }
        for one in graphs
        for each in one.actions
    ]
    return pa.Table.from_pylist(rows, schema=COVERAGE_SCHEMA)

"""The job: units in, tables of verdicts, divergences and coverage out.

Rows flow through the stages; a corpus without open steps needs the first and the last one only:

1. ``check``: units become rows of verdicts, divergences, counts and open steps.
2. ``ask``: TLC decides each distinct open step.
3. ``recheck``: units with a refused step are checked again, with the answers, until no step is
   open. The other runs with open steps keep their verdicts, as TLC has allowed all these steps.
4. ``write``: the engine writes the tables.

No verdict depends on the tasks: it follows from the run's own events and from the answers for its
steps. An engine runs the stages: `ProcessEngine` in this process, on Arrow tables, or
`canvass.corpus.spark_engine` on Spark, on DataFrames.

A `History` is tables that grow with each verification. They record what was verified, when, and
against which spec. A verification replaces the folder ``date=DAY/verification_id=ID`` of each
table: ``quarantine`` (malformed units with the reason), ``divergences``, ``coverage`` and
``verdicts``. ``verdicts`` is written last: a verification counts if its id is there. The next
verification leaves out the units whose latest rows have the same digests of files, spec and
canvass.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from canvass.conformance.findings import COVERAGE, DIVERGENCES, VERDICTS, Verdict
from canvass.corpus.check import (
    ANSWER_SCHEMA,
    FOUND_COLUMNS,
    HERE,
    OPEN,
    ROW_SCHEMA,
    TaskChecker,
    ask_steps,
    check_units,
    unit_table,
)
from canvass.corpus.plan import EarlierUnit, Unit, pack
from canvass.corpus.storage import (
    Place,
    UrlPath,
    absolute,
    clear,
    files_below,
    on_this_machine,
    read_table,
    store,
    write_table,
)
from canvass.steps.answers import REFUSED, StepLookup, cache_file, spec_digest
from canvass.steps.step import key_rows
from canvass.traces.errors import counted
from canvass.version import VERSION

if TYPE_CHECKING:
    from canvass.corpus.spark_engine import SparkEngine

REPORT_TABLES: Final = ("divergences", "coverage", "verdicts")
"""The tables of a report."""
TABLES: Final = ("quarantine", *REPORT_TABLES)
"""All tables, in the order in which they are written."""

VERDICT_COLUMNS: Final = (*(name for name in VERDICTS.names if name != "open_steps"), "digest")
_IN_ROWS: Final = {
    "verdicts": ("kind", "VERDICT", VERDICT_COLUMNS),
    "divergences": ("kind", "DIVERGENCE", DIVERGENCES.names),
    "quarantine": ("verdict", "MALFORMED", ("source", "run_id", "reason", "digest")),
}
"""For each table: a column and the value in it that selects the rows, and the table's columns."""
_IS_OPEN: Final = (pc.field(OPEN) > 0) & (pc.field("verdict") != "MALFORMED")
"""Is true of verdicts that wait for TLC: nobody asks about the open steps of a malformed run."""


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
    if files_below(out):
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
        A graph artifact whose steps count as known, under the same path for all workers.
    partitions
        Number of tasks. Default: from sizes and cores.
    oracles
        How many TLC processes run at once.
    say
        Called with the name of each stage that begins.
    """

    def __init__(
        self,
        engine: ProcessEngine | SparkEngine,
        cache: Place,
        *,
        graph: Path | None = None,
        partitions: int | None = None,
        oracles: int = 1,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._engine, self._cache = engine, cache
        self._graphs = () if graph is None else (graph.absolute(),)
        self._partitions, self._oracles, self._say = partitions, oracles, say
        self._rows: Any = None
        self._found: Any = None
        self.coverage: Any = None
        """The number of events of each action, as an Arrow table."""
        self.asked = 0

    def run(self, units: Sequence[Unit]) -> None:
        """Check all units.

        Raises
        ------
        LostResults
            If a unit has no verdict.
        """
        engine = self._engine
        self._say(f"checking {counted(len(units), 'unit')}")
        with on_this_machine(self._cache) as cache:
            lookup = StepLookup(cache=cache, digest=spec_digest())
            checker = TaskChecker(lookup.digest, lookup.answers.known, self._graphs)
            self._rows = rows = engine.check(checker, self._tasks(units), "check")
            self._found = found = engine.found(rows)
            # A unit whose files have changed in the meantime may have new open steps.
            while found.filter(_IS_OPEN).num_rows:
                steps, count = engine.open_steps(rows)
                self._say(f"asking TLC about {counted(count, 'distinct step')}")
                answers = engine.ask(lookup.digest, steps, self._oracles)
                self.asked += len(answers)
                keys = key_rows(answers["key"].to_pylist())
                lookup.remember(keys, answers["code"].to_numpy())
                refused = answers.filter(pc.field("code") == REFUSED).select(["key"])
                if not refused.num_rows:
                    break
                checker = replace(checker, known=lookup.answers.known)
                hit = engine.refused(rows, refused)
                rows = self._recheck(units, checker, hit)
                found = engine.found(rows)
                self._rows = engine.replaced(self._rows, hit, rows)
                self._found = ProcessEngine().replaced(self._found, hit, found)
            if self.asked and isinstance(self._cache, UrlPath):
                file = cache_file(cache, lookup.digest)
                (self._cache / file.name).write_bytes(file.read_bytes())
        self._count(units)

    def _tasks(self, units: Sequence[Unit]) -> list[list[Unit]]:
        return pack(units, tasks=self._partitions, parallelism=self._engine.parallelism)

    def _recheck(self, units: Sequence[Unit], checker: TaskChecker, refused: Any) -> Any:
        """Check the refused units again; return their rows."""
        sources = set(refused["source"].to_pylist())
        self._say(f"checking {counted(len(sources), 'unit')} again, now that all steps are decided")
        again = [unit for unit in units if unit.path in sources]
        return self._engine.check(checker, self._tasks(again), "recheck")

    def _count(self, units: Iterable[Unit]) -> None:
        """Count the events of actions; each unit must have a verdict."""
        found = set(self.table("verdicts", ["source"])["source"].to_pylist())
        if lost := [unit.path for unit in units if unit.path not in found]:
            raise LostResults(f"{lost[0]} has no verdict, and {len(lost) - 1} more: run it again")
        events = self._found.filter(pc.field("kind") == "COVERAGE").select(COVERAGE.names)
        *keys, _ = COVERAGE.names
        counts = events.group_by(keys).aggregate([("events", "sum")])
        counts = counts.sort_by([(key, "ascending") for key in keys])
        self.coverage = counts.rename_columns(COVERAGE.names)

    # --- results ----------------------------------------------------------------------------------

    def table(self, name: str, columns: Sequence[str]) -> Any:
        """Return columns of the rows of a table, as an Arrow table; see `FOUND_COLUMNS`."""
        column, value, _ = _IN_ROWS[name]
        return self._found.filter(pc.field(column) == value).select(list(columns))

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
        for name, folder in tables.items():
            found, columns = self.coverage, COVERAGE.names
            if name in _IN_ROWS:
                column, value, columns = _IN_ROWS[name]
                found = self._engine.select(self._rows, column, value)
            self._engine.write(found, columns, absolute(folder), stamp or {})


# --- in one process -------------------------------------------------------------------------------


class ProcessEngine:
    """Runs the stages of a `CorpusJob` in this process, on Arrow tables.

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
        write_table(rows.select(list(columns)), folder, stamp)

    def progress(self) -> str:
        """Say how far this process is."""
        if not HERE.events and not HERE.importing:
            return "no event checked yet"
        diverging = counted(HERE.diverging, "run diverges", "runs diverge")
        parts = [counted(HERE.events, "event"), f"{diverging} so far", HERE.importing]
        return ", ".join(filter(None, parts))


# --- tables that grow -----------------------------------------------------------------------------

_ID: Final = "verification_id"
_CLASS: Final = ["divergence_class", "name"]
_VERIFIED: Final = ["source", "verified_at", "digest", "spec_digest", "canvass_version"]


class Stamp(NamedTuple):
    """A description of a verification."""

    verification_id: str
    columns: dict[str, Any]
    """Columns that each row has: ``verified_at`` in UTC, ``canvass_version``, ``spec_digest``."""


class History:
    """Tables of verifications in a folder.

    Parameters
    ----------
    folder
        The folder.
    """

    def __init__(self, folder: Place) -> None:
        self._folder = folder

    def split(
        self, units: Sequence[Unit], spec_digest: str, version: str
    ) -> tuple[list[Unit], list[EarlierUnit]]:
        """Give the units to verify now, and the earlier results that are still valid.

        Parameters
        ----------
        units
            The units.
        spec_digest
            Digest of the current spec.
        version
            The current `checker_version`.
        """
        rows = self._rows("verdicts", [*_VERIFIED, "verdict"]).group_by([*_VERIFIED, "verdict"])
        latest: dict[str, tuple[tuple[Any, ...], dict[str, int]]] = {}
        for row in rows.aggregate([([], "count_all")]).sort_by("verified_at").to_pylist():
            source, *named = map(row.get, _VERIFIED)
            if latest.get(source, ((), {}))[0] != tuple(named):
                latest[source] = tuple(named), dict.fromkeys((v.value for v in Verdict), 0)
            latest[source][1][row["verdict"]] = row["count_all"]
        due, earlier = [], []
        for unit in units:
            (_, *named), counts = latest.get(unit.path, ((None,), {}))
            if named == [unit.digest, spec_digest, version]:
                earlier.append(EarlierUnit(unit.path, counts))
            else:
                due.append(unit)
        return due, earlier

    def divergences(self) -> set[tuple[str, str]]:
        """Return the classes of divergence in the tables: class, and action or property."""
        found = self._rows("divergences", [*_CLASS, _ID])
        counted = self._rows("verdicts", [_ID])[_ID].unique()
        found = found.filter(pc.is_in(found[_ID], counted))
        return set(zip(*(found[name].to_pylist() for name in _CLASS), strict=True))

    def _rows(self, table: str, columns: list[str]) -> Any:
        folder = self._folder / table
        # Files whose names begin with a dot or underscore are being written, or never were whole.
        found = read_table(folder) if any(files_below(folder)) else None
        if found is None or not found.files:
            return pa.table({name: pa.array([], pa.string()) for name in columns})
        with store(folder):
            return found.to_table(columns)

    def append(self, job: CorpusJob, stamp: Stamp) -> None:
        """Write the tables of a job.

        Rows of an earlier verification with the same id are replaced.
        """
        day = f"date={stamp.columns['verified_at']:%Y-%m-%d}"
        own = f"verification_id={stamp.verification_id}"
        folders = {name: self._folder / name / day / own for name in TABLES}
        clear(folders["verdicts"])  # Until it is there again, the verification does not count.
        job.write(folders, stamp.columns)


DECIDING: Final = ("cluster", "traces", "graph", "steps", "conformance", "corpus", "spec", "tlc")
"""The packages whose code decides verdicts, including those on Aeron's logs."""


def checker_version() -> str:
    """Return the version of canvass, and a digest of the code that decides verdicts."""
    found = hashlib.blake2b(digest_size=6)
    for name in DECIDING:
        folder = Path(str(import_module(f"canvass.{name}").__file__)).parent
        for file in sorted(folder.rglob("*.py")):
            found.update(f"{name}/{file.relative_to(folder).as_posix()}\0".encode())
            found.update(file.read_bytes())
    return f"{VERSION}+{found.hexdigest()}"


def make_stamp(units: Iterable[Unit], version: str, spec_digest: str, now: datetime) -> Stamp:
    """Make the stamp of a verification. Its id is the same for the same units on the same day."""
    found = hashlib.blake2b(f"{version}\n{spec_digest}\n{now:%Y-%m-%d}\n".encode(), digest_size=16)
    for each in sorted(units, key=lambda each: each.path):
        found.update(f"{each.path}\0{each.digest}\n".encode())
    # The letter keeps readers from taking the name of a partition for a number.
    columns = {"verified_at": now, "canvass_version": version, "spec_digest": spec_digest}
    return Stamp(f"v{found.hexdigest()}", columns)

"""The job: units in, tables of verdicts, divergences and coverage out.

Spark moves the numbers of tasks and their results. Events stay in the worker that reads them, and
rows go to files. The job has four stages; a corpus without unknown steps needs the first and the
last only:

1. ``check``: each task checks its units with the steps that graph and cache know. It writes
   verdicts, counts and the distinct open steps.
2. ``ask``: the oracle decides the open steps, each once, in batches.
3. ``recheck``: runs with a forbidden step are checked again. The other runs with open steps keep
   their verdicts, which assume that all open steps are allowed.
4. The driver writes the tables.

No verdict depends on how units are packed into tasks: it follows from the run's own events and from
the answers for its steps. `canvass.corpus.engine` runs the stages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple
from uuid import uuid4

import msgspec

from canvass.corpus.engine import Engine, RunTask
from canvass.corpus.graph_coverage import GraphCoverage
from canvass.corpus.plan import Unit, pack
from canvass.corpus.rows import Row, RowKind
from canvass.corpus.storage import Place, absolute, entries, remove_folder
from canvass.corpus.task_checker import PROGRESS, TaskChecker, import_here, progress_here
from canvass.corpus.task_files import (
    TASK_LOG,
    JobRows,
    Stage,
    read_task,
    stage_of,
    task_lines,
    write_rows,
    write_steps,
    write_tables,
    write_tasks,
)
from canvass.traces.counts import counted

_WORK: Final = "work"


class JobProgress(NamedTuple):
    """The progress of a job."""

    done: int
    """Tasks of the stage that are done."""
    tasks: int
    """All tasks of the stage."""
    events: int
    """Events checked so far, in all stages."""
    diverging: int
    """Runs that diverge so far, whatever the oracle answers."""
    importing: str = ""
    """The logs that this process is importing, and the stage; empty if it imports none."""


class OutputExists(Exception):
    """The folder for the results is not empty."""


def make_results_folder(out: Place) -> None:
    """Make a folder for results.

    Raises
    ------
    OutputExists
        If the folder is there and not empty.
    """
    if out.is_dir() and any(entries(out)):
        raise OutputExists(f"{out} is not empty; name a new or empty folder")
    out.mkdir(parents=True, exist_ok=True)


class CorpusJob:
    """One batch verification.

    Parameters
    ----------
    engine
        Runs the tasks.
    checker
        Checks the units of a task.
    out
        Folder of the results; new or empty.
    work
        Folder of the files between stages, which driver and workers reach. Default: in ``out``.
    partitions
        Number of tasks. Default: from sizes and cores.
    oracles
        How many oracles run at once.
    say
        Called with the name of each stage that begins.
    """

    def __init__(
        self,
        engine: Engine,
        checker: TaskChecker,
        out: Place,
        *,
        work: Place | None = None,
        partitions: int | None = None,
        oracles: int = 1,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        make_results_folder(out)
        self._out = absolute(out)
        own = None if work is None else absolute(work) / f"work-{uuid4().hex}"
        self._work = own or self._out / _WORK
        checker.prepare(self._work)
        self._engine = engine
        self._checker = checker
        self._log = b""
        self._partitions = partitions
        self._oracles = oracles
        self._say = say
        self.graphs: list[GraphCoverage] = []
        self._at_the_end: JobProgress | None = None
        self._tasks = self._tasks_before = 0
        self.asked = 0
        self.rechecked = 0

    def run(self, units: Sequence[Unit]) -> None:
        """Check all units and write the tables."""
        self._say(f"checking {counted(len(units), 'unit')}")
        first = self._checked(units, "check")
        forbidden = self._ask(first)
        again = self._again(first, forbidden)
        later = []
        if again:
            count = counted(len(again), "unit")
            self._say(f"checking {count} again, now that all steps are decided")
            later.append(self._recheck(units, again))
        superseded = frozenset((source, run_id) for source in again for run_id in again[source])
        self.rechecked = len(superseded)
        self._say("writing the tables")
        self.graphs = write_tables(JobRows(first, later, superseded), self._out)

    def progress(self) -> JobProgress:
        """Return the progress; safe in any thread."""
        if self._at_the_end is not None:
            return self._at_the_end
        try:
            names = [entry.name for entry in entries(self._work / PROGRESS)]
        except OSError:
            names = []
        counts = [tuple(map(int, name.split("-")[:2])) for name in names]
        events, diverging = map(sum, zip(progress_here(), *counts, strict=True))
        done = max(0, min(len(names) - self._tasks_before, self._tasks))
        return JobProgress(done, self._tasks, events, diverging, import_here())

    def table(self, name: str) -> Place:
        """Return the folder of a table: verdicts, divergences or coverage."""
        return self._out / name

    def clean(self) -> None:
        """Remove the files between stages."""
        self._at_the_end = self.progress()
        remove_folder(self._work)

    # --- the stages -------------------------------------------------------------------------------

    def _checked(self, units: Sequence[Unit], stage: str) -> Stage:
        tasks = pack(units, tasks=self._partitions, parallelism=self._engine.parallelism)
        self._tasks_before, self._tasks = self._tasks_before + self._tasks, len(tasks)
        folder = self._work / stage
        write_tasks(folder, tasks)
        run_task = partial(_run_task, self._checker, folder)
        return self._run(run_task, folder, stage, [len(task) for task in tasks])

    def _run(self, run_task: RunTask, folder: Place, stage: str, units: Sequence[int]) -> Stage:
        """Run a stage and log a line for each task; ``units`` counts the units of each task."""
        found = stage_of(folder, self._engine.run_tasks(run_task, len(units), stage), len(units))
        self._log += b"".join(task_lines(stage, found, units))
        (self._out / TASK_LOG).write_bytes(self._log)
        return found

    def _ask(self, first: Stage) -> list[bytes]:
        """Ask the oracle about the open steps; return the keys of the forbidden steps."""
        if not first.count(RowKind.STEP):
            return []
        steps = write_steps(self._work / "steps", first)
        self._say(f"asking TLC about {counted(steps.count(RowKind.STEP), 'distinct step')}")
        folder = self._work / "ask"
        write_tasks(folder, ())
        tasks = min(self._oracles, len(steps.results))
        shares = [Stage(steps.folder, steps.results[number::tasks]) for number in range(tasks)]
        run_task = partial(_ask_task, self._checker, shares, folder)
        found = self._run(run_task, folder, "ask", [0] * tasks)
        answers = list(found.pairs(RowKind.ANSWER))
        self.asked = len(answers)
        self._checker.learn(answers)
        return [key for key, answer in answers if self._checker.forbids(answer)]

    def _again(self, first: Stage, forbidden: list[bytes]) -> dict[str, set[str]]:
        """Return the ids of the runs to be checked again, by unit.

        A run is checked again if it has a forbidden step. It is also checked again if it diverges
        and had open steps: only now it is known which divergence comes first.
        """
        again: dict[str, set[str]] = {}
        refused = set(forbidden)
        columns = ("source", "run_id", "verdict", "pending")
        kinds = [RowKind.VERDICT] if first.count(RowKind.STEP) else []  # Without open steps: none.
        for batch in first.batches(kinds, columns):
            rows = zip(*(batch.column(name).to_pylist() for name in columns), strict=True)
            for source, run_id, verdict, pending in rows:
                if pending and (verdict == "DIVERGES" or not refused.isdisjoint(pending)):
                    again.setdefault(source, set()).add(run_id)
        return again

    def _recheck(self, units: Sequence[Unit], again: dict[str, set[str]]) -> Stage:
        """Check runs again."""
        chosen = [
            msgspec.structs.replace(unit, runs=tuple(sorted(again[unit.path])))
            for unit in units
            if unit.path in again
        ]
        return self._checked(chosen, "recheck")


def _run_task(checker: TaskChecker, folder: Place, number: int) -> bytes:
    """Check the units of a task; runs in a worker."""
    return write_rows(folder, number, checker.check(read_task(folder, number)))


def _ask_task(checker: TaskChecker, shares: Sequence[Stage], folder: Place, number: int) -> bytes:
    """Ask the oracle about a share of the open steps; runs in a worker."""

    def answers() -> Iterator[Row]:
        for result in shares[number].results:
            steps = Stage(shares[number].folder, (result,)).pairs(RowKind.STEP)
            for key, answer in checker.ask(list(steps)):
                yield Row(kind=RowKind.ANSWER, key=key, payload=answer)

    return write_rows(folder, number, answers())

"""The job: units in, tables of verdicts, divergences and coverage out.

What Spark moves are names of units on the way out and small rows on the way back; the events stay
in the worker that reads them. The job has five stages:

1. each task checks its units as far as graph and cache know the steps, and gives verdicts, counts
   and the distinct steps that nobody has judged yet; units too large for one task are cut;
2. those steps, each once, are judged in batches;
3. a run whose open steps are all allowed has the verdict it was given for that case; one that took
   a forbidden step is checked again, now that everything is known;
4. what the parts hold of a run that was cut is joined, and checked as a whole;
5. the tables are written.

No verdict depends on how units are packed into tasks: a run is judged from its own events and from
answers that belong to a step's content. Only the DataFrame API is used, so that the job runs on
Spark Connect as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import msgspec
import pyarrow as pa

from canvass.corpus.edges import GraphCoverage
from canvass.corpus.plan import TASK_COST, Part, Task, Unit, UnitKind, pack
from canvass.corpus.rows import (
    ROW_DDL,
    Row,
    RowKind,
    to_batch,
)
from canvass.corpus.split import split_large
from canvass.corpus.tables import is_kind, uri_of, write_tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STEPS_PER_BATCH: Final = 2000
"""Steps that one oracle is asked at once: a JVM costs as much to start as many steps to judge."""

ANSWERS_DDL: Final = "key binary, answer binary"
ANSWER_SCHEMA: Final = pa.schema([pa.field("key", pa.binary()), pa.field("answer", pa.binary())])

_WORK: Final = "work"
PROGRESS: Final = "progress"
"""In the folder given to `Checker.prepare`: for each task that is done a file that is named by how
many events it had and how many runs diverge.
"""

_Place = tuple[str, int | None]
"""A unit's path, and the number of the part if it was cut."""


class Checker(Protocol):
    """What the job needs to know of checking; an object of it travels to the workers."""

    def prepare(self, folder: Path) -> None:
        """Take a folder, on the driver, that all workers can read, for the time of the job."""
        ...

    def check(self, task: Task) -> Iterable[Row]:
        """Check units; total but for faults of the machine: what is no run becomes a row."""
        ...

    def judge(self, steps: Sequence[tuple[bytes, bytes]]) -> Iterable[tuple[bytes, bytes]]:
        """Answer for each key and payload whether the step is allowed."""
        ...

    def forbids(self, answer: bytes) -> bool:
        """Tell whether an answer says that the step is not allowed."""
        ...

    def learn(self, answers: Iterable[tuple[bytes, bytes]]) -> None:
        """Keep answers, on the driver, so that `check` knows them from now on."""
        ...


class SoFar(NamedTuple):
    """How far a job is."""

    done: int
    """Tasks of the stage that are done."""
    tasks: int
    """All of them."""
    events: int
    """Events that were checked, in all stages."""
    diverging: int
    """Runs that were seen to diverge, without those that the oracle still has to judge."""


class OutputExists(Exception):
    """The folder for the results holds something already."""


class CorpusJob:
    """One batch verification on a Spark session.

    Parameters
    ----------
    session
        Where it runs; classic or Connect.
    checker
        How units are checked.
    out
        Folder of the results, on a file system that driver and workers share; new or empty.
    partitions
        Number of tasks; chosen from sizes and cores if not given.
    parallelism
        Tasks that run at once, if known.
    oracles
        How many batches of steps are judged at once.
    task_cost
        What a task should cost at most; larger units are cut into parts.
    say
        Is told what begins, in a few words.
    """

    def __init__(
        self,
        session: SparkSession,
        checker: Checker,
        out: Path,
        *,
        partitions: int | None = None,
        parallelism: int = 2,
        oracles: int = 1,
        task_cost: int = TASK_COST,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        if out.is_dir() and any(out.iterdir()):
            raise OutputExists(f"{out} is not empty: each verification has a folder of its own")
        out.mkdir(parents=True, exist_ok=True)
        checker.prepare(out.absolute() / _WORK)
        self._session = session
        self._checker = checker
        self._out = out.absolute()
        self._partitions = partitions
        self._parallelism = parallelism
        self._oracles = oracles
        self._say = say
        self._task_cost = task_cost
        self._parts: dict[tuple[str, int], Part] = {}
        self.graphs: list[GraphCoverage] = []
        self._at_the_end: SoFar | None = None
        self._tasks = self._tasks_before = 0
        self.judged = 0
        self.rechecked = 0

    def run(self, units: Sequence[Unit]) -> None:
        """Check all units and write the tables."""
        cut = split_large(units, self._task_cost)
        self._parts = {(u.path, u.part.number): u.part for u in cut if u.part is not None}
        self._say(f"checking {len(units):,} units")
        first = self._checked(cut, "first")
        forbidden = self._judge(first)
        again = self._again(cut, first, forbidden)
        rows = first
        if again:
            self._say(f"checking {len(again):,} units again, now that all steps are judged")
            gone, second = self._recheck(units, again)
            rows = self._without(first, gone).unionByName(second)
        joins = self._joins(cut, rows)
        if joins:
            self._say(f"joining the parts of {len(joins):,} runs")
            rows = rows.unionByName(self._checked(joins, "third"))
        self._say("writing the tables")
        self.graphs = write_tables(self._session, rows, self._out)

    def so_far(self) -> SoFar:
        """Tell how far the stage is; in any thread."""
        if self._at_the_end is not None:
            return self._at_the_end
        try:
            names = [path.name for path in (self._out / _WORK / PROGRESS).iterdir()]
        except OSError:
            names = []
        counts = [name.split("-") for name in names]
        return SoFar(
            done=max(0, min(len(names) - self._tasks_before, self._tasks)),
            tasks=self._tasks,
            events=sum(int(count[0]) for count in counts),
            diverging=sum(int(count[1]) for count in counts),
        )

    def table(self, name: str) -> DataFrame:
        """Read one of the tables that were written: verdicts, divergences or coverage."""
        return self._session.read.parquet(uri_of(self._out / name))

    def clean(self) -> None:
        """Remove what only the stages needed."""
        import shutil

        self._at_the_end = self.so_far()
        shutil.rmtree(self._out / _WORK, ignore_errors=True)

    # --- the stages -------------------------------------------------------------------------------

    def _checked(self, units: Sequence[Unit], name: str) -> DataFrame:
        tasks = pack(units, tasks=self._partitions, parallelism=self._parallelism)
        self._tasks_before, self._tasks = self._tasks_before + self._tasks, len(tasks)
        rows = [(number, msgspec.json.encode(task).decode()) for number, task in enumerate(tasks)]
        # Range partitioning puts each row into a partition of its own, in order; hashing does not.
        frame = self._session.createDataFrame(rows, "number int, task string")
        frame = frame.repartitionByRange(len(tasks), "number")
        found = frame.mapInArrow(partial(_check_tasks, self._checker), ROW_DDL)
        return self._kept(found, name)

    def _kept(self, frame: DataFrame, name: str) -> DataFrame:
        """Write a frame and read it back: what it takes to make it is done once."""
        place = uri_of(self._out / _WORK / name)
        frame.write.parquet(place)
        return self._session.read.parquet(place)

    def _judge(self, first: DataFrame) -> list[bytes]:
        """Have unknown steps judged; give the keys of those that are forbidden."""
        steps = first.where(is_kind(RowKind.STEP)).select("key", "payload").dropDuplicates(["key"])
        count = steps.count()
        if not count:
            return []
        self._say(f"asking the oracle about {count:,} distinct steps")
        batches = max(1, min(self._oracles, -(-count // STEPS_PER_BATCH)))
        answered = steps.repartition(batches).mapInArrow(
            partial(_judge_steps, self._checker), ANSWERS_DDL
        )
        answers = self._kept(answered, "answers")
        collected = [(bytes(row.key), bytes(row.answer)) for row in answers.toLocalIterator()]
        self.judged = len(collected)
        self._checker.learn(collected)
        return [key for key, answer in collected if self._checker.forbids(answer)]

    def _again(
        self, units: Sequence[Unit], first: DataFrame, forbidden: list[bytes]
    ) -> dict[_Place, set[str]]:
        """Give the runs to be checked again, by the unit that they are in.

        These are the runs that took a forbidden step, and those in which something else is wrong
        while steps were open: what comes first in them can only be told now. A unit of which a part
        is no trace is read as a whole, which tells where and why; no run is named then.
        """
        from pyspark.sql import functions as f

        waiting = first.where(is_kind(RowKind.VERDICT)).where("size(pending) > 0")
        found = waiting.where(f.col("verdict") == "DIVERGES").select("source", "part", "run_id")
        if forbidden:
            wrong = self._session.createDataFrame([(key,) for key in forbidden], "key binary")
            taken = waiting.select("source", "part", "run_id", f.explode("pending").alias("key"))
            found = found.union(
                taken.join(f.broadcast(wrong), "key", "left_semi").select(
                    "source", "part", "run_id"
                )
            )
        again: dict[_Place, set[str]] = {}
        for row in found.distinct().toLocalIterator():
            again.setdefault((row.source, row.part), set()).add(row.run_id)
        if any(unit.part is not None for unit in units):
            broken = first.where(is_kind(RowKind.PART)).where("reason IS NOT NULL")
            for row in broken.select("source").distinct().toLocalIterator():
                again = {place: runs for place, runs in again.items() if place[0] != row.source}
                again[row.source, None] = set()
        return again

    def _recheck(
        self, units: Sequence[Unit], again: dict[_Place, set[str]]
    ) -> tuple[list[tuple[str, int | None, str | None]], DataFrame]:
        """Check runs again; tell which rows are not true any more, and give the new ones."""
        wholes = {unit.path: unit for unit in units}
        chosen, gone = [], list[tuple[str, int | None, str | None]]()
        for (source, number), runs in sorted(again.items(), key=str):
            gone += [(source, number, run_id) for run_id in sorted(runs)] or [(source, None, None)]
            part = None if number is None else self._parts[source, number]
            unit = wholes[source]
            chosen.append(msgspec.structs.replace(unit, part=part, runs=tuple(sorted(runs))))
        self.rechecked = len(gone)
        return gone, self._checked(chosen, "second")

    def _without(
        self, rows: DataFrame, gone: list[tuple[str, int | None, str | None]]
    ) -> DataFrame:
        """Leave out runs, or all that was told of a unit."""
        runs = [(source, run_id) for source, _, run_id in gone if run_id is not None]
        whole = [(source,) for source, _, run_id in gone if run_id is None]
        if runs:
            frame = self._session.createDataFrame(runs, "source string, run_id string")
            rows = rows.join(frame, ["source", "run_id"], "left_anti")
        if whole:
            frame = self._session.createDataFrame(whole, "source string")
            rows = rows.join(frame, ["source"], "left_anti")
        return rows

    def _joins(self, cut: Sequence[Unit], rows: DataFrame) -> list[Unit]:
        """Give the units that join what parts hold of the runs that are cut."""
        from pyspark.sql import functions as f

        if not self._parts:
            return []
        wholes = {unit.path: msgspec.structs.replace(unit, part=None) for unit in cut}
        told = rows.where(is_kind(RowKind.PART)).where("reason IS NULL")
        grouped = told.groupBy("source", "run_id").agg(f.collect_list("part").alias("parts"))
        joins = []
        for row in grouped.orderBy("source", "run_id").toLocalIterator():
            parts = tuple(self._parts[row.source, number] for number in sorted(row.parts))
            whole = wholes[row.source]
            joins.append(
                msgspec.structs.replace(
                    whole,
                    kind=UnitKind.JOIN,
                    cost=whole.cost * len(parts),
                    runs=() if row.run_id is None else (row.run_id,),
                    joined=parts,
                )
            )
        return joins


_TASKS: Final = msgspec.json.Decoder(Task)


def _check_tasks(checker: Checker, batches: Iterator[Any]) -> Iterator[Any]:
    """Check the tasks of a partition; runs in a worker."""
    for batch in batches:
        for text in batch.column("task").to_pylist():
            yield to_batch(checker.check(_TASKS.decode(text)))


def _judge_steps(checker: Checker, batches: Iterator[Any]) -> Iterator[Any]:
    """Judge the steps of a partition; runs in a worker."""
    steps = [
        (key, payload)
        for batch in batches
        for key, payload in zip(
            batch.column("key").to_pylist(), batch.column("payload").to_pylist(), strict=True
        )
    ]
    for start in range(0, len(steps), STEPS_PER_BATCH):
        answers = list(checker.judge(steps[start : start + STEPS_PER_BATCH]))
        yield pa.RecordBatch.from_arrays(
            [
                pa.array([key for key, _ in answers], pa.binary()),
                pa.array([answer for _, answer in answers], pa.binary()),
            ],
            schema=ANSWER_SCHEMA,
        )

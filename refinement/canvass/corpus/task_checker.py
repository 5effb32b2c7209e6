"""The work of a task: Spark sends a `TaskChecker` to the workers, and it checks units there.

The checker reads the runs of units and makes rows of their verdicts. It has no rules of its own: it
calls the same functions of `canvass.conformance` as ``canvass verify``.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Final

import numpy as np
from msgspec.structs import replace

from canvass.cluster.rules import Rules
from canvass.conformance.screen import RunState, Screening, settle
from canvass.conformance.step_lookup import (
    StepLookup,
    cache_file,
    default_cache,
    spec_digest,
)
from canvass.corpus.graph_coverage import edges_met
from canvass.corpus.plan import Task, Unit, UnitKind, on_this_machine
from canvass.corpus.rows import (
    Row,
    RowKind,
    coverage_rows,
    key_of,
    malformed_row,
    open_verdict,
    to_example,
    to_question,
    verdict_rows,
    with_import,
)
from canvass.corpus.storage import (
    Place,
    absolute,
    download,
    entry_of,
    local_folder,
    place_of,
    writing,
)
from canvass.graph.artifact import open_keys
from canvass.steps.answers import REFUSED, shipped_answers
from canvass.steps.distinct import KeyTable
from canvass.steps.oracle import Answer, ask
from canvass.steps.step import Step
from canvass.traces.aeron_log.errors import AeronLogError
from canvass.traces.alignment.alignment import ImportFault
from canvass.traces.alignment.importer import ImportSummary, import_logs
from canvass.traces.schema import Run, encode

ANSWERS: Final = "answers"
"""Folders in the shared folder of `TaskChecker` begin with this name."""
PROGRESS: Final = "progress"
"""The shared folder's subfolder with an empty file for each finished task. The name of the file has
the number of events and of diverging runs.
"""

_memo: dict[object, Screening] = {}
"""The screening of this worker process: the steps that it has looked up serve all its tasks."""
_begun: list[int] = []
"""If this process is running a task: the events that its screening had read before the task."""
_import: list[str] = []
"""If this process is importing logs: their path and the stage of the import."""


def import_here() -> str:
    """Return the path of the logs that this process is importing and the stage, or nothing."""
    return next(iter(_import), "")


def progress_here() -> tuple[int, int]:
    """Return the events and the wrong runs so far of the task that this process is running."""
    screening = next(iter(_memo.values()), None)
    before = next(iter(_begun), None)
    if screening is None or before is None:
        return 0, 0
    return screening.read - before, sum(state.wrong for state in list(screening.runs))


@dataclass
class TaskChecker:
    """Checks units as ``canvass verify`` does.

    Parameters
    ----------
    graphs
        Folders of graph artifacts, by path or URL.
    cache
        The user's folder of the oracle's answers, by path or URL.
    digest
        Digest of the spec that the answers belong to.
    shared
        A folder that all workers can read, by path or URL; `prepare` sets it.
    generation
        Number of calls of `learn`. A worker with an older generation reads the answers again.
    """

    graphs: tuple[str, ...]
    cache: str
    digest: str
    shared: str = ""
    generation: int = 0

    @classmethod
    def of(cls, *, graph: Place | None = None, cache: Place | None = None) -> TaskChecker:
        """Make a checker from the options of a command line."""
        graphs = () if graph is None else (str(absolute(graph)),)
        folder = default_cache() if cache is None else cache
        return cls(graphs, str(absolute(folder)), spec_digest())

    # --- on the driver ----------------------------------------------------------------------------

    def prepare(self, folder: Place) -> None:
        """Set the shared folder, and write the known answers to it."""
        self.shared = str(folder)
        (folder / PROGRESS).mkdir(parents=True)
        with self._local_cache() as cache:
            self._share(StepLookup(cache=cache, digest=self.digest))

    def learn(self, answers: Iterable[tuple[bytes, bytes]]) -> None:
        """Add answers to the cache, and share them with the workers of this job."""
        found = list(answers)
        keys = np.array([key_of(key) for key, _ in found], dtype=np.uint64).reshape(-1, 2)
        codes = np.array([answer[0] for _, answer in found], dtype=np.int8)
        with self._local_cache(keep=True) as cache:
            lookup = StepLookup(cache=cache, digest=self.digest)
            lookup.remember(keys, codes)
        self.generation += 1
        self._share(lookup)

    @contextmanager
    def _local_cache(self, *, keep: bool = False) -> Iterator[Path]:
        """Yield a local copy of the cache; ``keep`` writes it back to its store at the end."""
        place = place_of(self.cache)
        if isinstance(place, Path):
            yield place
            return
        with tempfile.TemporaryDirectory(prefix="canvass-cache-") as name:
            file = cache_file(Path(name), self.digest)
            if entry_of(place / file.name) is not None:
                download(place / file.name, file)
            yield Path(name)
            if keep:
                (place / file.name).write_bytes(file.read_bytes())

    def _share(self, lookup: StepLookup) -> None:
        """Write the known answers as arrays that the workers of a machine map into memory."""
        folder = self._answers
        folder.mkdir()
        with tempfile.TemporaryDirectory(prefix="canvass-answers-") as name:
            lookup.cached().save(Path(name))
            for file in Path(name).iterdir():
                with writing(folder / file.name) as path:
                    shutil.copyfile(file, path)

    @property
    def _answers(self) -> Place:
        return place_of(self.shared) / f"{ANSWERS}-{self.generation}"

    def forbids(self, answer: bytes) -> bool:
        """Tell whether an answer forbids its step."""
        return answer[0] == REFUSED

    # --- in the workers ---------------------------------------------------------------------------

    def ask(self, steps: Sequence[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
        """Ask TLC about steps in one batch; yield the key and the answer of each."""
        lookup = StepLookup(digest=self.digest)
        codes = lookup.ask_oracle([to_example(question) for _, question in steps])
        for (key, _), code in zip(steps, codes.tolist(), strict=True):
            yield key, bytes([code])

    def check(self, task: Task) -> Iterator[Row]:
        """Check units with the steps that graph and cache know; yield rows."""
        screening = self._screening()
        screening.forget_seen()
        before = screening.events
        _begun[:] = [screening.read]
        try:
            with (
                tempfile.TemporaryDirectory(prefix="canvass-import-") as scratch,
                on_this_machine(task) as units,
            ):
                copies = {unit.path: unit.copy for unit in units if unit.copy}
                for row in self._check(units, screening, Path(scratch)):
                    yield _in_store(row, copies)
        except BaseException:
            _memo.clear()
            raise
        finally:
            _begun.clear()
        wrong = sum(state.wrong for state in screening.runs)
        screening.runs.clear()
        yield Row(kind=RowKind.DISTINCT, events=len(screening.seen_keys()))
        yield from self._edges(screening)
        self._record_progress(task, screening.events - before, wrong)

    def _screening(self) -> Screening:
        token = (self.shared, self.generation, self.graphs, self.digest)
        if token not in _memo:
            _memo.clear()
            _memo[token] = Screening(self.lookup())
        return _memo[token]

    def lookup(self) -> StepLookup:
        """Give the lookup of a task: it asks TLC, one worker of a machine at a time."""
        graphs = {name: open_keys(local_folder(place_of(name))) for name in self.graphs}
        lookup = StepLookup(
            _ask_alone,
            graphs=graphs,
            digest=self.digest,
            shipped=shipped_answers(self.digest),
        )
        if self.shared:
            lookup.answers = KeyTable.open(local_folder(self._answers))
        else:
            with self._local_cache() as cache:
                lookup.answers = StepLookup(cache=cache, digest=self.digest).cached()
            lookup.cache = cache if cache.is_dir() else None
        return lookup

    def _record_progress(self, task: Task, events: int, wrong: int) -> None:
        """Record a finished task as the name of an empty file.

        The name has a hash of the task, so that a task that Spark repeats counts once.
        """
        if self.shared:
            name = blake2b(encode(task), digest_size=16).hexdigest()
            (place_of(self.shared) / PROGRESS / f"{events}-{wrong}-{name}").touch()

    def _edges(self, screening: Screening) -> Iterator[Row]:
        """Yield a row for each graph with the edges that this task took."""
        keys = screening.seen_keys()
        for name, table in screening.lookup.graphs.items():
            edges = edges_met(table, keys)
            if len(edges):
                yield Row(kind=RowKind.EDGES, name=name, payload=edges.astype("<i8").tobytes())

    def _check(self, task: list[Unit], screening: Screening, scratch: Path) -> Iterator[Row]:
        units: dict[Path, tuple[Unit, ImportSummary | None]] = {}
        for number, unit in enumerate(task):
            path, imported = unit.location, None
            if unit.kind is UnitKind.REFUSED:
                yield malformed_row(unit, f"{unit.path}: {unit.code}: {unit.reason}")
                continue
            if unit.kind is UnitKind.AERON_LOGS:
                path = scratch / str(number) / path.name
                try:
                    imported = import_logs([unit.location], path, say=partial(_note, unit))
                except (AeronLogError, ImportFault) as error:
                    yield malformed_row(unit, str(error))
                    continue
                finally:
                    _import.clear()
            units[path] = unit, imported
            screening.add(path)
        screening.flush()
        if any(unit.runs for unit, _ in units.values()):
            screening.ask()  # No step is open at a recheck, unless the cache has lost answers.
        chosen = [state for state in screening.runs if _is_wanted(state, units[state.path][0])]
        keys = yield from _questions(chosen, screening)
        for state in chosen:
            unit, imported = units[state.path]
            yield from _verdict_rows(unit, imported, state, screening, keys)
        for path, (unit, _) in units.items():
            found = [state for state in screening.runs if state.path == path]
            yield from _lost_runs(unit, found)
        first = [state for state in chosen if not units[state.path][0].runs]
        yield from coverage_rows(_sound(first))


def _note(unit: Unit, stage: str) -> None:
    _import[:] = [f"{unit.path}: {stage}"]


def _in_store(row: Row, copies: Mapping[str, str]) -> Row:
    """Replace the local copy of a unit by its URL in the reason of a row."""
    copy = copies.get(row.source or "")
    if copy is None or row.source is None or row.reason is None:
        return row
    return replace(row, reason=row.reason.replace(copy, row.source))


def _questions(
    states: Iterable[RunState], screening: Screening
) -> Generator[Row, None, dict[int, bytes]]:
    """Yield a row for each open step of some runs; return the keys of the steps by number."""
    waiting = set[int]().union(*(state.pending for state in states))
    keys: dict[int, bytes] = {}
    for number in sorted(waiting & screening.open_steps.keys()):
        keys[number], question = to_question(screening.open_steps[number])
        yield Row(kind=RowKind.STEP, key=keys[number], payload=question)
    return keys


def _verdict_rows(
    unit: Unit,
    imported: ImportSummary | None,
    state: RunState,
    screening: Screening,
    keys: Mapping[int, bytes],
) -> Iterator[Row]:
    """Yield the rows of the verdict on a run; it assumes that open steps are allowed."""
    pending = tuple(keys[number] for number in sorted(state.pending) if number in keys)
    if pending and not state.malformed:
        found = open_verdict(unit, state)
    else:
        found = settle(state, screening)
    if imported is not None:
        found = with_import(found, imported)
    yield from verdict_rows(unit, state.run, found, pending)


def _sound(states: Iterable[RunState]) -> Iterator[tuple[Run, list[int]]]:
    """Yield the runs that are not malformed, each with its number of events by action."""
    for state in states:
        if state.run is not None and not state.malformed:
            yield state.run, state.actions.tolist()


def _is_wanted(state: RunState, unit: Unit) -> bool:
    """Tell whether a verdict on a run is wanted; a recheck wants some runs of its unit only."""
    return not unit.runs or state.run_id in unit.runs


def _lost_runs(unit: Unit, found: Sequence[RunState]) -> Iterator[Row]:
    """Give a MALFORMED row for each wanted run that was not found in its unit.

    The first look found the run. Without a row here, the run would have no verdict at all.
    """
    reason = next((state.malformed for state in found if state.malformed), "")
    for run_id in sorted(set(unit.runs) - {state.run_id for state in found}):
        lost = f"{unit.path}: the run {run_id} is not there any more: the files have changed"
        yield malformed_row(unit, reason or lost, run_id)


def _ask_alone(rules: Rules, steps: Sequence[Step]) -> list[Answer]:
    """Ask TLC; one worker of a user on a machine at a time, as a JVM takes 2 GiB."""
    lock = Path(tempfile.gettempdir()) / f"canvass-oracle-{os.getuid()}.lock"
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        return ask(rules, steps)

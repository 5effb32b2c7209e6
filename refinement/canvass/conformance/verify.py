"""Runs on disk to verdicts: read, `check`, ask TLC about the open steps, check those runs again.

    >>> verdict = check_run(Path("runs/seed-7"))          # doctest: +SKIP
    >>> verdict.verdict, verdict.divergences              # doctest: +SKIP

`read_and_check` reads units and does not ask TLC. `decide` calls it, or any other source of
findings, until no step is open. `check_units` does this for ``canvass verify``. `make_lookup`
combines state graphs, the known steps, a cache and TLC.
"""

from __future__ import annotations

import dataclasses
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from msgspec.structs import replace

from canvass.conformance.check import Checker
from canvass.conformance.findings import (
    CorpusVerdict,
    Counts,
    Findings,
    RunFindings,
    RunVerdict,
    Verdict,
)
from canvass.conformance.timing import RunTiming
from canvass.spec.files import module_digest, spec_root
from canvass.steps.action_fields import form_digest
from canvass.steps.answers import (
    ALLOWED,
    IN_TABLE,
    REFUSED,
    RULE_MODULES,
    Answers,
    AnswersWarning,
    KeyTable,
    StepLookup,
    default_cache,
    shipped_answers,
    spec_digest,
)
from canvass.traces.arrow import ColumnError
from canvass.traces.errors import Code, TraceError
from canvass.traces.parquet import DatasetFile, RunEntry
from canvass.traces.run import Corpus, RunFolder

Unit: TypeAlias = Path | TraceError
"""A run folder, a file of a data set, or the error that says why a path is neither."""
Progress = Callable[[int, int, int], object]
"""Called now and then: units read, units in all, events so far."""
Asking = Callable[[int], object]
"""Called before TLC is asked, with the number of steps."""


def path_of(unit: Unit) -> Path:
    """Give the path of a unit."""
    return Path(unit.file) if isinstance(unit, TraceError) else unit


def units_of(paths: Iterable[Path]) -> Iterator[Unit]:
    """Give the run folders and data set files of some corpora.

    Each is given once, even if it is named twice. A path in a corpus that cannot be a run is given
    as the error that says why.

    Raises
    ------
    TraceError
        If a path is no corpus.
    """
    given = set[Path]()
    for path in paths:
        for unit in Corpus(path).units:
            place = path_of(unit).absolute()
            if place not in given:
                given.add(place)
                yield unit


# --- reading --------------------------------------------------------------------------------------


class UnitChecker:
    """Reads units, and gives their events to a `Checker`.

    Parameters
    ----------
    answers
        The answers of TLC so far.
    timed
        Whether the times and free inputs of run folders are checked.
    on_batch
        Called after each batch of events, with their number.
    """

    def __init__(
        self,
        answers: Answers,
        timed: bool = False,
        on_batch: Callable[[int], object] = lambda _: None,
    ) -> None:
        self._checker = Checker(answers)
        self._is_timed, self._on_batch = timed, on_batch
        self._timings: dict[str, RunTiming] = {}

    def add(self, unit: Unit, only: Collection[str] | None = None) -> None:
        """Check a run folder, or the runs of a file of a data set; ``only`` has the wanted ids."""
        if isinstance(unit, TraceError):
            self._refuse(path_of(unit), unit)
        elif unit.suffix == ".parquet" and not unit.is_dir():
            self._add_file(unit, only)
        else:
            self._add_folder(unit)

    def findings(self) -> Findings:
        """Give the findings in all units; those in run folders have their timing."""
        found = self._checker.findings()
        return dataclasses.replace(found, runs=tuple(map(self._timed, found.runs)))

    def _timed(self, found: RunFindings) -> RunFindings:
        timing = self._timings.get(found.verdict.path)
        if timing is None or found.verdict.verdict is Verdict.MALFORMED:
            return found
        timed = replace(found.verdict, choices=timing.choices(), timing=timing.warnings())
        return dataclasses.replace(found, verdict=timed)

    def _refuse(self, path: Path, error: Exception) -> None:
        self._checker.begin(str(path), {})
        self._checker.refuse(str(error), path.name)

    def _add_folder(self, path: Path) -> None:
        try:
            folder = RunFolder(path)
        except TraceError as error:
            self._refuse(path, error)
            return
        run = folder.run
        self._checker.begin(str(path), {run.run_id: RunEntry(run)})
        try:
            timing = RunTiming(run) if self._is_timed else None
            for columns in folder.columns():
                self._checker.take(columns)
                self._on_batch(len(columns))
                if timing is not None:
                    timing.take(columns)
            if timing is not None:
                timing.end()
                self._timings[str(path)] = timing
        except (TraceError, ValueError) as error:
            self._checker.refuse(str(error))
        self._checker.end(folder.facts)

    def _add_file(self, path: Path, only: Collection[str] | None) -> None:
        begun = False
        try:
            with DatasetFile(path) as file:
                if not file.runs:
                    reason = "the data set has no rows: nothing was checked"
                    raise TraceError(Code.BAD_VALUE, str(path), 0, 0, reason)
                wanted = file.runs if only is None else file.runs.keys() & set(only)
                runs = {run_id: entry for run_id, entry in file.runs.items() if run_id in wanted}
                self._checker.begin(str(path), runs)
                begun = True
                for table in file.tables(None if only is None else wanted):
                    self._checker.take_table(table)
                    self._on_batch(len(table))
        except (TraceError, ColumnError) as error:
            if isinstance(error, ColumnError):
                error = TraceError(error.code, str(path), 0, 0, error.reason)
            if not begun:
                self._refuse(path, error)
                return
            self._checker.refuse(str(error))
        self._checker.end()


def read_and_check(
    units: Iterable[Unit], answers: Answers, only: Collection[str] | None = None
) -> Findings:
    """Read units and check their runs, without asking TLC.

    Parameters
    ----------
    units
        Run folders and files of data sets.
    answers
        The answers of TLC so far.
    only
        The ids of the wanted runs in files of data sets. Default: all.
    """
    checker = UnitChecker(answers)
    for unit in units:
        checker.add(unit, only)
    return checker.findings()


# --- verdicts -------------------------------------------------------------------------------------


def decide(
    checked: Callable[[Answers], Findings],
    lookup: StepLookup,
    asking: Asking = lambda _: None,
) -> Findings:
    """Check, ask TLC about the open steps, and check again if TLC refuses one of them.

    Parameters
    ----------
    checked
        Checks some runs with the answers that are known so far, and gives the findings.
    lookup
        Has the answers, and asks TLC.
    asking
        Called before TLC is asked.

    Returns
    -------
    Findings
        Findings without open steps.

    Raises
    ------
    TlcError
        If TLC cannot run.
    """
    while True:
        findings = checked(lookup.answers)
        steps = list(findings.open_steps.values())
        if steps:
            asking(len(steps))
        if not steps or (lookup.ask_oracle(steps) != REFUSED).all():
            return findings.closed()


def check_run(
    path: Path, lookup: StepLookup | None = None, run_id: str | None = None
) -> RunVerdict:
    """Check one run.

    Parameters
    ----------
    path
        A run folder, or a file of a data set.
    lookup
        Decides steps. By default TLC decides them, and its answers are not kept.
    run_id
        The id of the run in the file of a data set.

    Returns
    -------
    RunVerdict
        ``MALFORMED`` for a folder that is no run.

    Raises
    ------
    KeyError
        If the file has no such run.
    TlcError
        If the oracle is needed and cannot run.
    """
    only = None if run_id is None else [run_id]
    found = decide(lambda answers: read_and_check([path], answers, only), lookup or StepLookup())
    if not found.runs:
        raise KeyError(run_id)
    return found.runs[0].verdict


def check_units(
    units: Iterable[Unit],
    lookup: StepLookup,
    progress: Progress = lambda *_: None,
    asking: Asking = lambda _: None,
    *,
    timed: bool = False,
) -> CorpusVerdict:
    """Check run folders and files of data sets; check times and free inputs of run folders only.

    Parameters
    ----------
    units
        What is checked. The verdicts have their order.
    lookup
        Has the answers, and asks TLC.
    progress, asking
        Called in between.
    timed
        Whether times and free inputs are checked.

    Raises
    ------
    TlcError
        If the oracle is needed and cannot run.
    """
    began_s, asked, work = time.perf_counter(), lookup.asked, list(units)
    first: list[Findings] = []

    def checked(answers: Answers) -> Findings:
        read = events = 0

        def note(more: int) -> None:
            nonlocal events
            events += more
            progress(read, len(work), events)

        checker = UnitChecker(answers, timed, note)
        for read, unit in enumerate(work):  # noqa: B007
            checker.add(unit)
        progress(len(work), len(work), events)
        first.append(checker.findings())
        return first[-1]

    verdicts = tuple(run.verdict for run in decide(checked, lookup, asking).runs)
    codes = first[0].codes
    counts = Counts(
        runs=len(verdicts),
        events=sum(verdict.events for verdict in verdicts),
        distinct_steps=len(codes),
        found_in_table=int(np.count_nonzero(codes == IN_TABLE)),
        found_in_cache=int(np.isin(codes, (ALLOWED, REFUSED)).sum()),
        asked_of_oracle=lookup.asked - asked,
        seconds=time.perf_counter() - began_s,
    )
    return CorpusVerdict(verdicts, counts)


# --- answers --------------------------------------------------------------------------------------


def make_lookup(graphs: Sequence[Path], cache: Path | None, *, keep: bool = True) -> StepLookup:
    """Make the lookup of steps from state graphs, the known steps, the cache and TLC.

    Parameters
    ----------
    graphs
        Folders of state-graph artifacts with a table of keys.
    cache
        The folder of the cache; None for the user's cache folder.
    keep
        Whether the cache and the known steps are used.

    Raises
    ------
    GraphError
        If a graph cannot be opened, or was made with another spec.
    """
    folder = cache
    try:
        folder = (cache or default_cache()) if keep else None
    except RuntimeError as error:  # There is no home folder.
        warnings.warn(f"no cache of TLC's answers: {error}", AnswersWarning, stacklevel=2)
    shipped = [shipped_answers(spec_digest())] if keep else []
    return StepLookup(cache=folder, answers=Answers((*map(_open_keys, graphs), *shipped)))


def _open_keys(path: Path) -> KeyTable:
    """Open the keys of a graph, if it was made with the present spec and canonical form."""
    from canvass.graph import GraphError
    from canvass.graph.artifact import open_keys, read_manifest

    manifest = read_manifest(path)
    for name in RULE_MODULES:
        file = f"{name}.tla"
        if manifest.modules.get(file) != module_digest(spec_root() / file):
            raise GraphError(f"{path}: the graph was made of another {file}; build it again")
    if manifest.form_sha256 != form_digest():
        raise GraphError(f"{path}: the graph has keys of another canonical form; build it again")
    return open_keys(path)

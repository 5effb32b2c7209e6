"""Screening: a quick check of all runs of a corpus, in large batches.

`Screening` reads run folders and files of data sets. It finds for each run whether the run
diverges, and which of its steps have no known answer yet. It keeps no events.
`canvass.conformance.diagnose` finds the divergences of the few runs that diverge.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from canvass.conformance.batch import BATCH_EVENTS, Batch, join, rows_of_run
from canvass.conformance.check import MAX_RUN_EVENTS, rules_of
from canvass.conformance.diagnose import diagnose, load
from canvass.conformance.sequence import Sequence, digest
from canvass.conformance.step_checker import Example, StepChecker, StepResults
from canvass.conformance.step_lookup import (
    StepLookup,
    StepLookupError,
)
from canvass.conformance.verdict import Divergence, RunVerdict, Verdict, verdict_on
from canvass.conformance.verify import Unit, has_changed, path_of
from canvass.conformance.whole_run import check_whole, with_limits
from canvass.steps.answers import ALLOWED, IN_TABLE, REFUSED, UNKNOWN
from canvass.steps.kernel import Status
from canvass.traces.columns import EventColumns
from canvass.traces.errors import TraceError
from canvass.traces.layout import ACTION_NAMES
from canvass.traces.run import RunFolder
from canvass.traces.schema import Fact, Run


@dataclass(slots=True, eq=False)
class RunState:
    """The state of the check of one run."""

    path: Path
    run_id: str
    run: Run | None = None
    facts: tuple[Fact, ...] = ()
    malformed: str = ""
    events: int = 0
    unchecked: int = 0
    wrong: bool = False
    """Whether the run diverges, whatever the answers for the pending steps are."""
    pending: set[int] = field(default_factory=set)
    """Numbers of its steps that have no known answer yet."""
    actions: NDArray[np.int64] = field(
        default_factory=lambda: np.zeros(len(ACTION_NAMES), dtype=np.int64)
    )
    """The number of events of each action."""
    parts: list[Sequence] = field(default_factory=list)


class Screening:
    """Screens runs, batch by batch.

    Parameters
    ----------
    lookup
        Has the answers for known steps. Only `ask` calls its oracle.
    on_batch
        Called after each batch of events.

    Attributes
    ----------
    runs
        The runs so far, in the order in which they were added.
    started
        The start, by the performance counter.
    events
        Events screened so far.
    found_in_table, found_in_cache, asked
        Distinct steps by the origin of their answers. The tables are those of state graphs and the
        one that ships with canvass.
    """

    def __init__(
        self,
        lookup: StepLookup,
        on_batch: Callable[[], object] = lambda: None,
    ) -> None:
        self.lookup = lookup
        self._on_batch = on_batch
        self.started = time.perf_counter()
        self.found_in_table = self.found_in_cache = self.asked = 0
        self.runs: list[RunState] = []
        self._steps = StepChecker()
        self._codes = np.empty(0, dtype=np.int8)
        self._seen = np.empty(0, dtype=np.bool_)
        self._open: dict[int, Example] = {}
        self.events = 0
        self._waiting: list[tuple[Mapping[str, RunState], EventColumns]] = []
        self._waiting_events = 0
        self._in_waiting: dict[str, RunState] = {}
        self._ending: list[RunState] = []

    # --- reading ----------------------------------------------------------------------------------

    def add(self, unit: Unit, run_id: str | None = None) -> None:
        """Screen a run folder, or all runs of a file of a data set, or one of these runs."""
        if isinstance(unit, TraceError):
            path = path_of(unit)
            self.runs.append(RunState(path, path.name, malformed=str(unit)))
        elif unit.suffix == ".parquet" and not unit.is_dir():
            self._add_file(unit, run_id)
        else:
            self._add_folder(unit)

    def _add_folder(self, path: Path) -> None:
        state = RunState(path, path.name)
        self.runs.append(state)
        try:
            folder = RunFolder(path)
            state.run, state.run_id = folder.run, folder.run.run_id
            _ = folder.run.rules
            for member in folder.streams:
                for columns, _ in folder.sourced_columns(member):
                    self.take({state.run_id: state}, columns)
            state.facts = tuple(folder.facts)
        except (TraceError, ValueError) as error:
            state.malformed = str(error)
        self.end(state)

    def _add_file(self, path: Path, chosen: str | None) -> None:
        from canvass.traces.parquet import DatasetFile, FactFinder

        states: dict[str, RunState] = {}
        finder = FactFinder()
        try:
            with DatasetFile(path) as file:
                entries = file.runs if chosen is None else {chosen: file.runs[chosen]}
                groups = None if chosen is None else file.groups_of(chosen)
                for run_id, entry in entries.items():
                    states[run_id] = RunState(path, run_id, entry.run)
                    try:
                        _ = entry.run.rules
                    except ValueError as error:
                        states[run_id].malformed = str(error)
                self.runs += states.values()
                for batch in file.batches(groups):
                    finder.look(batch)
                    for columns in [batch] if chosen is None else rows_of_run(batch, chosen):
                        self.take(states, columns)
                for run_id, entry in entries.items():
                    states[run_id].facts = tuple(finder.facts_of(entry))
        except TraceError as error:
            if not states:
                self.runs.append(RunState(path, path.name, malformed=str(error)))
            for state in states.values():
                state.malformed = state.malformed or str(error)
        for state in states.values():
            self.end(state)

    def take(self, states: Mapping[str, RunState], columns: EventColumns) -> None:
        """Screen the next events of some runs, each of which has a state by its id."""
        if self._waiting:
            _, last = self._waiting[-1]
            again = any(
                self._in_waiting.get(run_id, states[run_id]) is not states[run_id]
                for run_id in columns.runs
            )
            if again or last.member_count != columns.member_count:
                self.flush()
        self._waiting.append((states, columns))
        self._waiting_events += len(columns)
        self._in_waiting.update((run_id, states[run_id]) for run_id in columns.runs)
        if self._waiting_events >= BATCH_EVENTS:
            self.flush()

    def end(self, state: RunState) -> None:
        """Finish a run: it has no more events, so the checks of the whole run can follow."""
        self._ending.append(state)

    def flush(self) -> None:
        """Screen the events that wait, and finish the runs that have ended."""
        waiting, self._waiting, self._waiting_events = self._waiting, [], 0
        self._in_waiting = {}
        sound = [
            (states, columns)
            for states, columns in waiting
            if not all(states[run_id].malformed for run_id in columns.runs)
        ]
        if sound:
            states = {run_id: known[run_id] for known, c in sound for run_id in c.runs}
            batch = join([({r: _run(known[r]) for r in c.runs}, c) for known, c in sound])
            self._screen(batch, [states[run_id] for run_id in batch.columns.runs])
            self._on_batch()
        ending, self._ending = self._ending, []
        for state in ending:
            if state.events > MAX_RUN_EVENTS:
                state.malformed = (
                    f"{state.path}: TOO_LARGE: {state.events:,} events in the run {state.run_id};"
                    f" a run that is checked has at most {MAX_RUN_EVENTS:,}"
                )
            elif state.parts:
                self._finish(state)

    # --- checking ---------------------------------------------------------------------------------

    def _screen(self, batch: Batch, states: list[RunState]) -> None:
        columns = batch.columns
        results = self._steps.check(batch)
        self._look_up_new(results)
        codes = np.full(len(columns), ALLOWED, dtype=np.int8)
        keyed = results.numbers >= 0
        self._seen[results.numbers[keyed]] = True
        codes[keyed] = self._codes[results.numbers[keyed]]
        codes[
            (results.status == Status.FRAME_BROKEN) | (results.status == Status.OUT_OF_DOMAIN)
        ] = REFUSED
        unknown = results.status == Status.UNKNOWN_BEFORE
        unknown[: columns.context] = False
        parts = digest(columns, np.arange(len(states), dtype=np.int64))
        bounds = np.searchsorted(parts.run, np.arange(len(states) + 1))
        offset = columns.context
        for place, (state, part) in enumerate(
            zip(states, parts.split(bounds.tolist()), strict=True)
        ):
            if state.malformed:
                continue
            rows = slice(int(bounds[place]) + offset, int(bounds[place + 1]) + offset)
            state.events += len(part)
            self.events += len(part)
            if state.events > MAX_RUN_EVENTS:
                state.parts = []
                continue
            state.unchecked += int(np.count_nonzero(unknown[rows]))
            state.wrong |= bool((codes[rows] == REFUSED).any())
            waiting = results.numbers[rows][codes[rows] == UNKNOWN]
            if len(waiting):
                state.pending.update(np.unique(waiting).tolist())
            state.actions += np.bincount(part.action, minlength=len(ACTION_NAMES))
            state.parts.append(part)

    def _look_up_new(self, results: StepResults) -> None:
        """Look up the new steps; keep the unknown ones in ``_open``."""
        known = len(self._codes)
        fresh = self._steps.distinct.keys[known:]
        if len(fresh):
            codes = self.lookup.look_up(fresh)
            self.found_in_table += int(np.count_nonzero(codes == IN_TABLE))
            self.found_in_cache += int(np.count_nonzero((codes == ALLOWED) | (codes == REFUSED)))
            codes[codes == IN_TABLE] = ALLOWED
            waiting = np.flatnonzero(codes == UNKNOWN)
            self._codes = np.concatenate([self._codes, codes])
            self._seen = np.concatenate([self._seen, np.zeros(len(fresh), dtype=np.bool_)])
            numbers = (known + waiting).tolist()
            self._open.update(zip(numbers, results.examples(numbers), strict=True))

    def _finish(self, state: RunState) -> None:
        """Make the checks of the whole run."""
        sequence = Sequence.joined(state.parts)
        state.parts = []
        if state.malformed:
            return
        run = _run(state)
        if run.member_count == 1:
            # No state shows the disk that a single member has found, as it has begun a term since.
            state.unchecked -= len(run.disk_replaced)
        whole = check_whole(run, sequence, state.facts)
        state.facts = whole.facts
        state.wrong |= bool(whole.order.found.any()) or bool(whole.broken)

    @property
    def read(self) -> int:
        """The number of events read so far, screened or not."""
        return self.events + self._waiting_events

    # --- answers ----------------------------------------------------------------------------------

    @property
    def distinct(self) -> int:
        """The number of distinct canonical steps."""
        return len(self._codes)

    @property
    def keys(self) -> NDArray[np.uint64]:
        """The keys of the distinct steps."""
        return self._steps.distinct.keys

    def seen_keys(self) -> NDArray[np.uint64]:
        """Give the keys of the distinct steps met since `forget_seen` was called last."""
        return self.keys[self._seen]

    def forget_seen(self) -> None:
        """Forget which steps were met; keep their answers."""
        self._seen[:] = False

    @property
    def open_steps(self) -> Mapping[int, Example]:
        """The steps that have no known answer, by their numbers."""
        return self._open

    def take_answers(self, answers: Mapping[int, int]) -> None:
        """Take over answers, allowed or refused, by the numbers of their steps."""
        for number, code in answers.items():
            self._codes[number] = code
            self._open.pop(number, None)

    def ask(self) -> None:
        """Have all open steps checked."""
        self.flush()
        if self._open:
            numbers = list(self._open)
            codes = self.lookup.ask_oracle([self._open[number] for number in numbers])
            self.asked += len(numbers)
            self.take_answers(dict(zip(numbers, codes.tolist(), strict=True)))

    def refused(self, state: RunState) -> bool:
        """Whether one of a run's steps that were pending is refused.

        Raises
        ------
        StepLookupError
            If one of them has no answer yet.
        """
        codes = self._codes[sorted(state.pending)]
        if (codes == UNKNOWN).any():
            raise StepLookupError(f"{state.path}: a step of run {state.run_id} has no answer")
        return bool((codes == REFUSED).any())


def _run(state: RunState) -> Run:
    assert state.run is not None
    return rules_of(state.run, malformed=bool(state.malformed))


def settle(state: RunState, screening: Screening) -> RunVerdict:
    """Give the verdict on a run whose steps are decided; diagnose a run that diverges.

    The diagnosis reads the run again. A run that has changed in the meantime is ``MALFORMED``.
    """
    path = str(state.path)
    if state.malformed:
        return RunVerdict(state.run_id, path, Verdict.MALFORMED, reason=state.malformed)
    if not state.events:
        reason = "the run has no events: nothing was checked"
        return RunVerdict(state.run_id, path, Verdict.MALFORMED, facts=state.facts, reason=reason)
    diverges = bool(state.wrong) or screening.refused(state)
    try:
        divergences = _divergences(state, screening.lookup) if diverges else ()
    except KeyError:
        reason = str(has_changed(path, state.run_id))
        return RunVerdict(state.run_id, path, Verdict.MALFORMED, reason=reason)
    except TraceError as error:
        return RunVerdict(state.run_id, path, Verdict.MALFORMED, reason=str(error))
    found = RunVerdict(
        run_id=state.run_id,
        path=path,
        verdict=verdict_on(diverges=diverges, facts=state.facts, unchecked=state.unchecked),
        events=state.events,
        unchecked=state.unchecked,
        divergences=divergences,
        facts=state.facts,
        revision="" if state.run is None else state.run.revision,
    )
    return with_limits(found, state.run)


def _divergences(state: RunState, lookup: StepLookup) -> tuple[Divergence, ...]:
    """Diagnose a run that diverges.

    Raises
    ------
    TraceError
        If the run has changed since it was screened.
    """
    found = diagnose(load(state.path, state.run_id), state.facts, lookup)
    if not found:
        raise has_changed(str(state.path), state.run_id)
    return found

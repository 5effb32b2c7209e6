"""`check`: a function from events and TLC's answers to findings.

    >>> file = DatasetFile(Path("set/events-3-00000.parquet"))     # doctest: +SKIP
    >>> findings = check(file.tables(), answers, file.runs)        # doctest: +SKIP
    >>> findings.tables().verdicts                                 # doctest: +SKIP

It reads no file, asks nobody and keeps nothing. A step without an answer is an open step of the
findings. Ask TLC about these, and check the runs with a refused one again: the new answers decide
them. `Checker` does the work on columns, batch by batch: a run is never in memory as a whole, only
what the checks of whole runs read (`canvass.conformance.sequence`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import replace

from canvass.conformance.batch import BATCH_EVENTS, split_runs, step_keys, steps_of
from canvass.conformance.findings import Findings, RunFindings
from canvass.conformance.sequence import Sequence, digest
from canvass.conformance.verdict import Divergence, RunVerdict, Verdict
from canvass.conformance.whole_run import check_whole, verdict_of
from canvass.steps.answers import ALLOWED, REFUSED, UNKNOWN, Answers
from canvass.steps.distinct import DistinctKeys
from canvass.steps.kernel import Status, StepColumns
from canvass.steps.question import Key, Question, question, step_of
from canvass.steps.step import Step
from canvass.traces.arrow import ColumnError, from_table
from canvass.traces.columns import EventColumns, Ints, from_events
from canvass.traces.errors import Code, TraceError
from canvass.traces.layout import ACTION_NAMES
from canvass.traces.ndjson import decode_run
from canvass.traces.parquet import FactFinder, RunEntry, row_problems
from canvass.traces.schema import Event, Fact, Run, encode

MAX_RUN_EVENTS: Final = 20_000_000
"""Most events of a run: the checks of a whole run need them together in memory."""


def check(events: Any, answers: Answers, runs: Mapping[str, RunEntry]) -> Findings:
    """Check whole runs.

    Parameters
    ----------
    events
        A `pyarrow.Table` of ``canvass.events/1``, or an iterable of tables or of
        `pyarrow.RecordBatch`. Columns are found by their names, further ones are left out. The rows
        are in the order of run, member and step; a run may continue in the next batch. All clusters
        have the same size.
    answers
        What TLC has answered.
    runs
        By the ids of the runs their ``run.json``, with the facts of what is missing from them, as
        `canvass.traces.parquet.DatasetFile` has them; a run without rows is MALFORMED.

    Returns
    -------
    Findings
        A run that is no trace is MALFORMED, and the others are checked.

    Raises
    ------
    ColumnError
        If a column is missing or has a type that cannot be cast.

    Notes
    -----
    The findings do not depend on the sizes of the batches. In the order of the runs: each step is
    looked up, then the checks of the whole run follow (causality, then the safety monitors).
    """
    checker = Checker(answers)
    checked = TableChecker(checker, runs)
    for part in [events] if isinstance(events, pa.Table) else events:
        table = part if isinstance(part, pa.Table) else pa.Table.from_batches([part])
        for start in range(0, table.num_rows, BATCH_EVENTS):
            checked.take(table.slice(start, BATCH_EVENTS))
    checked.end()
    return checker.findings()


@dataclass(slots=True, eq=False)
class RunCheck:
    """The state of the check of one run."""

    path: str
    run_id: str
    run: Run | None = None
    malformed: str = ""
    events: int = 0
    unchecked: int = 0
    open_steps: set[Key] = field(default_factory=set)
    actions: Ints = field(default_factory=lambda: np.zeros(len(ACTION_NAMES), dtype=np.int64))
    facts: tuple[Fact, ...] = ()
    found: RunVerdict | None = None
    """The verdict, once the run has ended; provisional as long as steps are open."""
    parts: list[Sequence] = field(default_factory=list)
    wrong: dict[int, Step] = field(default_factory=dict)
    """Steps that are not allowed, by their rows: the first two of each member and action."""
    wrong_counts: dict[tuple[int, int], int] = field(default_factory=dict)
    """The number of steps in ``wrong`` by member and action."""


class Checker:
    """Checks runs whose events come in batches of columns.

    Parameters
    ----------
    answers
        What TLC has answered.

    Notes
    -----
    For each run call `begin`, then `take` with its events, then `end`.
    """

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._checks: list[RunCheck] = []
        self._distinct = DistinctKeys()
        self._codes = np.empty(0, dtype=np.int8)
        self._open: dict[Key, Question] = {}

    def begin(self, path: str, run_id: str, run: Run | None = None) -> RunCheck:
        """Begin a run; ``path`` names it in the findings."""
        found = RunCheck(path, run_id, run)
        self._checks.append(found)
        if run is not None:
            try:
                _ = run.rules
            except ValueError as error:
                found.malformed = str(error)
        return found

    def take(self, checks: Mapping[str, RunCheck], columns: EventColumns) -> None:
        """Take the next events of some runs, whose checks are given by the ids of the runs.

        The runs are sound, or there is one run.
        """
        if not checks[columns.runs[0]].malformed:
            self._check_steps(columns, [checks[run_id] for run_id in columns.runs])

    def findings(self) -> Findings:
        """Give the findings in all runs, which must have ended."""
        open_steps: set[Key] = set()
        open_steps.update(*(check.open_steps for check in self._checks if not check.malformed))
        return Findings(
            tuple(
                RunFindings(check.run, _verdict(check), frozenset(check.open_steps), check.actions)
                for check in self._checks
            ),
            {key: asked for key, asked in self._open.items() if key in open_steps},
            self._distinct.keys,
            self._codes,
        )

    # --- steps ------------------------------------------------------------------------------------

    def _check_steps(self, columns: EventColumns, checks: list[RunCheck]) -> None:
        runs = [check.run for check in checks if check.run is not None]
        steps = steps_of(columns, runs)
        keys, status = step_keys(steps, columns, runs)
        numbers = self._distinct.number(keys, status == Status.KEYED)
        self._look_up_new(steps, numbers, runs, columns.run)
        codes = np.full(len(columns), ALLOWED, dtype=np.int8)
        keyed = numbers >= 0
        codes[keyed] = self._codes[numbers[keyed]]
        codes[(status == Status.FRAME_BROKEN) | (status == Status.OUT_OF_DOMAIN)] = REFUSED
        offset = columns.context
        bounds = np.searchsorted(columns.run[offset:], np.arange(len(checks) + 1)).tolist()
        parts = digest(columns).split(bounds)
        for check, part, (start, end) in zip(checks, parts, pairwise(bounds), strict=True):
            if check.malformed:
                continue
            rows = slice(start + offset, end + offset)
            before = check.events
            check.events += len(part)
            if check.events > MAX_RUN_EVENTS:
                check.parts = []
                continue
            check.unchecked += int(np.count_nonzero(status[rows] == Status.UNKNOWN_BEFORE))
            for row in (np.flatnonzero(codes[rows] == REFUSED) + rows.start).tolist():
                self._note_wrong(check, before + row - rows.start, steps, row)
            waiting = np.unique(numbers[rows][codes[rows] == UNKNOWN])
            check.open_steps |= {self._key(number) for number in waiting.tolist()}
            check.actions += np.bincount(part.action, minlength=len(ACTION_NAMES))
            check.parts.append(part)

    def _note_wrong(self, check: RunCheck, place: int, steps: StepColumns, row: int) -> None:
        """Keep a step that is not allowed, if it may be one of the first two of its action."""
        kind = int(steps.member[row]), int(steps.action[row])
        count = check.wrong_counts[kind] = check.wrong_counts.get(kind, 0) + 1
        if count <= 2:
            check.wrong[place] = step_of(steps, row)

    def _look_up_new(self, steps: StepColumns, numbers: Ints, runs: list[Run], run: Ints) -> None:
        """Look up the steps that are new in this batch, and note those without an answer."""
        known = len(self._codes)
        codes = self._answers.look_up(self._distinct.keys[known:])
        self._codes = np.concatenate([self._codes, codes])
        rows = np.flatnonzero(numbers >= known)
        _, first = np.unique(numbers[rows], return_index=True)
        rows = rows[first[codes == UNKNOWN]]
        for row in rows.tolist():
            key = self._key(int(numbers[row]))
            self._open[key] = question(step_of(steps, row), runs[int(run[row])].rules, key)

    def _key(self, number: int) -> Key:
        first, second = self._distinct.keys[number].tolist()
        return first, second

    def _is_allowed(self, check: RunCheck, asked: Question) -> bool:
        """Tell whether a step that is not in the run is allowed; it is open if nothing says so."""
        (code,) = self._answers.look_up(np.array([asked.key], dtype=np.uint64)).tolist()
        if code == UNKNOWN:
            check.open_steps.add(asked.key)
            self._open[asked.key] = asked
        return bool(code != REFUSED)

    # --- whole runs -------------------------------------------------------------------------------

    def end(self, check: RunCheck, facts: Iterable[Fact]) -> None:
        """End a run: make the checks of the whole run, and decide the verdict.

        ``facts`` say what is missing from it.
        """
        check.facts = tuple(facts)
        if check.events > MAX_RUN_EVENTS:
            check.malformed = check.malformed or (
                f"{check.path}: TOO_LARGE: {check.events:,} events in the run {check.run_id};"
                f" a run that is checked has at most {MAX_RUN_EVENTS:,}"
            )
        if check.malformed or not check.parts:
            return
        assert check.run is not None
        run, sequence = check.run, Sequence.joined(check.parts)
        check.parts = []
        if run.member_count == 1:
            # No state shows the disk that a single member has found, as it has begun a term since.
            check.unchecked -= len(run.disk_replaced)
        whole = check_whole(run, sequence, check.facts)
        divergences: tuple[Divergence, ...] = ()
        diverges = bool(check.wrong) or bool(whole.order.found.any()) or bool(whole.broken)
        if diverges:
            from canvass.conformance.diagnose import divergences_of

            rows = np.array(sorted(check.wrong), dtype=np.int64)
            allowed = partial(self._is_allowed, check)
            step_of = check.wrong.__getitem__
            divergences = divergences_of(run, sequence, whole, rows, step_of, allowed)
        check.found = verdict_of(
            *(run, check.path),
            events=check.events,
            unchecked=check.unchecked,
            facts=whole.facts,
            diverges=diverges,
            divergences=divergences,
        )


def _verdict(check: RunCheck) -> RunVerdict:
    """Give the verdict on a run that has ended."""
    verdict = RunVerdict(check.run_id, check.path, Verdict.MALFORMED, reason=check.malformed)
    if check.malformed:
        return verdict
    if check.found is None:
        reason = "the run has no events: nothing was checked"
        return replace(verdict, facts=check.facts, reason=reason)
    return check.found


def check_events(
    run: Run, streams: Mapping[int, Iterable[Event]], answers: Answers, path: str = ""
) -> Findings:
    """Check one run whose events are in memory.

    Parameters
    ----------
    run
        Its ``run.json``.
    streams
        The events of each member that has a stream, in the order of steps.
    answers
        What TLC has answered.
    path
        Names the run in the findings.
    """
    checker, finder = Checker(answers), FactFinder()
    check = checker.begin(path, run.run_id, run)
    for member, stream in sorted(streams.items()):
        events = list(stream)
        if events:
            columns = from_events(run.run_id, member, events)
            finder.look(columns)
            checker.take({run.run_id: check}, columns)
    checker.end(check, finder.facts_of(RunEntry(run)))
    return checker.findings()


# --- tables ---------------------------------------------------------------------------------------


class TableChecker:
    """Gives tables of events to a checker, and ends each run after its last row.

    Parameters
    ----------
    checker
        The checker.
    runs
        As for `check`.
    path
        Names the runs in the findings.
    """

    def __init__(self, checker: Checker, runs: Mapping[str, RunEntry], path: str = "") -> None:
        self._checker, self._path = checker, path
        self._before: EventColumns | None = None
        self._open = dict(runs)
        """The runs that have not ended."""
        self._last = ""
        self._runs, self._finder = runs, FactFinder()
        self._checks = {run_id: self._begin(run_id, entry.run) for run_id, entry in runs.items()}

    def _begin(self, run_id: str, run: Run) -> RunCheck:
        check = self._checker.begin(self._path, run_id, run)
        try:
            decode_run(encode(run), "run")
        except TraceError as error:
            check.malformed = f"the run {run_id!r}: {error.reason}"
        return check

    def end(self) -> None:
        """End all runs."""
        for run_id in list(self._open):
            self._end(run_id)

    def _end(self, run_id: str) -> None:
        facts = self._finder.facts_of(self._open.pop(run_id))
        self._checker.end(self._checks[run_id], facts)

    def refuse(self, reason: str) -> None:
        """Refuse all runs."""
        for run_id in self._checks:
            self._refuse(run_id, reason)

    def _refuse(self, run_id: str, reason: str) -> None:
        if run_id not in self._checks:
            self._checks[run_id] = self._checker.begin(self._path, run_id)
        check = self._checks[run_id]
        check.malformed = check.malformed or reason

    def take(self, table: Any) -> None:
        """Check the next rows.

        Raises
        ------
        ColumnError
            As for `check`.
        """
        try:
            self._before = from_table(table, self._before)
        except ColumnError as error:
            if error.code is Code.BAD_SCHEMA:
                raise
            # A value that the format lacks makes one run malformed.
            ids = pc.fill_null(table["run"].cast(pa.string()), "")
            several = pc.unique(ids).to_pylist()
            for run_id in several if len(several) > 1 else ():
                self.take(table.filter(pc.equal(ids, run_id)))
            if len(several) == 1:
                self._refuse(several[0], error.reason)
                self._before = None
        else:
            self._take_columns(self._before)

    def _take_columns(self, columns: EventColumns) -> None:
        """Check the rows of sound runs, and end the runs before the last one."""
        for run_id, reason in row_problems(columns, self._runs, self._finder).items():
            self._refuse(run_id, reason)
        if any(self._checks[run_id].malformed for run_id in columns.runs):
            for part in split_runs(columns):
                if not self._checks[part.runs[0]].malformed:
                    self._checker.take(self._checks, part)
        else:
            self._checker.take(self._checks, columns)
        for run_id in (self._last, *columns.runs[:-1]):
            if run_id in self._open and run_id != columns.runs[-1]:
                self._end(run_id)
        self._last = columns.runs[-1]

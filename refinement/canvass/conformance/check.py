"""`check`: a function from events and TLC's answers to findings.

    >>> file = DatasetFile(Path("set/events-3-00000.parquet"))     # doctest: +SKIP
    >>> findings = check(file.tables(), answers, file.runs)        # doctest: +SKIP
    >>> findings.tables().verdicts                                 # doctest: +SKIP

`check` reads no file, does not ask TLC and keeps nothing. A step without an answer becomes an open
step of the findings. The caller asks TLC about the open steps. If TLC refuses one, the caller
checks the runs with this step again: the new answers decide them. `Checker` does the work on
columns, batch by batch. A run is never in memory as a whole, only the fields that the checks of
whole runs read (`canvass.conformance.run_arrays`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from canvass.cluster.rules import Rules
from canvass.conformance.causality import Order, order_causes, truncated_members
from canvass.conformance.diagnose import divergences_of
from canvass.conformance.findings import Divergence, Findings, RunFindings, RunVerdict, Verdict
from canvass.conformance.run_arrays import GrowingArrays, RunArrays, steps_of, to_arrays
from canvass.conformance.safety_monitors import Violation, limits, violations
from canvass.steps.answers import (
    ALLOWED,
    NO_ANSWERS,
    REFUSED,
    UNKNOWN,
    Answers,
    Keys,
    KeyTable,
    distinct_keys,
)
from canvass.steps.kernel import Status, StepColumns, canonical_keys
from canvass.steps.step import Key, Question, Step, key_list, question, step_of
from canvass.traces.aeron_log.releases import releases_of_run
from canvass.traces.arrow import ColumnError, from_table
from canvass.traces.columns import EventColumns, Ints
from canvass.traces.errors import Code, TraceError
from canvass.traces.ndjson import decode_run
from canvass.traces.parquet import FactFinder, RunEntry, row_problems
from canvass.traces.schema import ACTION_NAMES, UNSENT, Fact, FactKind, Run, encode

BATCH_EVENTS: Final = 1 << 16
"""The number of rows of a table that are checked together: small arrays are slow."""
MAX_RUN_EVENTS: Final = 20_000_000
"""The maximum number of events in a run: the checks of a whole run need all of them in memory."""


def check(events: Any, answers: Answers, runs: Mapping[str, RunEntry]) -> Findings:
    """Check whole runs.

    Parameters
    ----------
    events
        A `pyarrow.Table` of ``canvass.events/1``, or an iterable of tables or of
        `pyarrow.RecordBatch`. Columns are found by their names; other columns are ignored. The rows
        are in the order of run, member and step; a run may continue in the next batch. All clusters
        have the same size.
    answers
        The answers of TLC so far.
    runs
        For the id of each run its ``run.json``, with facts about what is missing from it, as in
        `canvass.traces.parquet.DatasetFile`. A run without rows is MALFORMED.

    Returns
    -------
    Findings
        A run that is no trace is MALFORMED; the other runs are checked.

    Raises
    ------
    ColumnError
        If a column is missing or has a type that cannot be cast.

    Notes
    -----
    The findings do not depend on the sizes of the batches. One run is checked after the other: each
    step is looked up, then the checks of the whole run follow (causality, then the safety
    monitors).
    """
    checker = Checker(answers)
    checker.begin("", runs)
    for part in [events] if isinstance(events, pa.Table) else events:
        table = part if isinstance(part, pa.Table) else pa.Table.from_batches([part])
        for start in range(0, table.num_rows, BATCH_EVENTS):
            checker.take_table(table.slice(start, BATCH_EVENTS))
    checker.end()
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
    found: RunVerdict | None = None
    """The verdict, once the run has ended; provisional as long as steps are open."""
    arrays: GrowingArrays = field(default_factory=GrowingArrays)
    wrong: dict[int, Step] = field(default_factory=dict)
    """Steps that are not allowed, by their rows: the first two of each member and action."""
    wrong_counts: dict[tuple[int, int], int] = field(default_factory=dict)
    """The number of all steps that are not allowed, by member and action."""


class Checker:
    """Checks runs whose events come in batches.

    Parameters
    ----------
    answers
        The answers of TLC so far.

    Notes
    -----
    For each source of runs call `begin`, then `take` or `take_table` with its events, then `end`.
    """

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._checks: list[RunCheck] = []
        self._seen: list[tuple[Keys, NDArray[np.int8]]] = []
        """The distinct keys of each batch, and the answers about them."""
        self._open: dict[Key, Question] = {}
        self._last: tuple[RunCheck, EventColumns] | None = None
        """The last event of the batch before, and its run."""

    # --- sources ----------------------------------------------------------------------------------

    def begin(self, path: str, runs: Mapping[str, RunEntry]) -> None:
        """Begin a source. ``path`` names its runs in the findings; ``runs`` is as for `check`."""
        self._path, self._runs, self._finder = path, runs, FactFinder()
        self._of: dict[str, RunCheck] = {}
        for run_id, entry in runs.items():
            found = self._new(run_id, entry.run)
            try:
                decode_run(encode(entry.run), "run")
                _ = entry.run.rules
            except TraceError as error:
                found.malformed = self._at(f"the run {run_id!r}: {error.reason}")
            except ValueError as error:
                found.malformed = str(error)
        self._waiting, self._latest = dict.fromkeys(runs), ""
        """The runs that have not ended, and the run of the last row."""

    def _new(self, run_id: str, run: Run | None = None) -> RunCheck:
        found = self._of[run_id] = RunCheck(self._path, run_id, run)
        self._checks.append(found)
        return found

    def refuse(self, reason: str, *run_ids: str) -> None:
        """Refuse some runs of the source. Default: all."""
        for run_id in run_ids or self._of:
            found = self._of.get(run_id) or self._new(run_id)
            found.malformed = found.malformed or reason

    def _at(self, reason: str) -> str:
        return f"{self._path}: {reason}" if self._path else reason

    def take_table(self, table: Any) -> None:
        """Check the next rows of a table, whatever it holds.

        Raises
        ------
        ColumnError
            As for `check`.
        """
        try:
            columns = from_table(table)
        except ColumnError as error:
            if error.code is Code.BAD_SCHEMA:
                raise
            # A value that the format does not allow makes only its own run malformed.
            ids = pc.fill_null(table["run"].cast(pa.string()), "")
            several = pc.unique(ids).to_pylist()
            for run_id in several if len(several) > 1 else ():
                self.take_table(table.filter(pc.equal(ids, run_id)))
            if len(several) == 1:
                self.refuse(self._at(error.reason), several[0])
        else:
            for run_id, reason in row_problems(columns, self._runs, self._finder).items():
                self.refuse(self._at(reason), run_id)
            self._take(columns)

    def take(self, columns: EventColumns) -> None:
        """Check the next events."""
        self._finder.look(columns)
        self._take(columns)

    def _take(self, columns: EventColumns) -> None:
        """Check the events of sound runs, and end the runs before the last one."""
        checks = [self._of[run_id] for run_id in columns.runs]
        if not any(check.malformed for check in checks):
            self._check_steps(columns, checks)
        else:
            for part in columns.split_runs():
                check = self._of[part.runs[0]]
                if not check.malformed:
                    self._check_steps(part, [check])
        for run_id in (self._latest, *columns.runs[:-1]):
            if run_id in self._waiting and run_id != columns.runs[-1]:
                self._end(run_id)
        self._latest = columns.runs[-1]

    def end(self, facts: Iterable[Fact] | None = None) -> None:
        """End all runs of the source. ``facts`` say what is missing, if the batches do not."""
        for run_id in list(self._waiting):
            self._end(run_id, facts)

    def _end(self, run_id: str, facts: Iterable[Fact] | None = None) -> None:
        del self._waiting[run_id]
        missing = self._finder.facts_of(self._runs[run_id]) if facts is None else facts
        self._end_run(self._of[run_id], tuple(missing))

    def findings(self) -> Findings:
        """Give the findings in all runs, which must have ended."""
        open_steps: set[Key] = set()
        open_steps.update(*(check.open_steps for check in self._checks if not check.malformed))
        none = NO_ANSWERS.keys, np.empty(0, dtype=np.int8)
        keys, codes = map(np.concatenate, zip(none, *self._seen, strict=True))
        seen = KeyTable.build(keys, codes.astype(np.int64))
        return Findings(
            tuple(
                RunFindings(check.run, _verdict(check), frozenset(check.open_steps), check.actions)
                for check in self._checks
            ),
            {key: asked for key, asked in self._open.items() if key in open_steps},
            seen.keys,
            seen.edges.astype(np.int8),
        )

    # --- steps ------------------------------------------------------------------------------------

    def _check_steps(self, columns: EventColumns, checks: list[RunCheck]) -> None:
        runs = [check.run for check in checks if check.run is not None]
        last = self._last[1] if self._last and self._last[0] is checks[0] else None
        self._last = checks[-1], columns.last()
        steps = steps_of(columns, runs, last)
        rules = [run.rules for run in runs]
        keys, status = canonical_keys(steps, rules, columns.run)
        codes = self._look_up(steps, keys, np.flatnonzero(status == Status.KEYED), rules, columns)
        codes[(status == Status.FRAME_BROKEN) | (status == Status.OUT_OF_DOMAIN)] = REFUSED
        bounds = np.searchsorted(columns.run, np.arange(len(checks) + 1)).tolist()
        parts = to_arrays(columns).split(bounds)
        for check, part, (start, end) in zip(checks, parts, pairwise(bounds), strict=True):
            if check.malformed:
                continue
            rows, before = slice(start, end), check.events
            check.events += len(part)
            if check.events > MAX_RUN_EVENTS:
                check.arrays = GrowingArrays()
                continue
            check.unchecked += int(np.count_nonzero(status[rows] == Status.UNKNOWN_BEFORE))
            for row in (np.flatnonzero(codes[rows] == REFUSED) + start).tolist():
                self._note_wrong(check, before + row - start, steps, row)
            check.open_steps.update(key_list(keys[rows][codes[rows] == UNKNOWN]))
            check.actions += np.bincount(part.action, minlength=len(ACTION_NAMES))
            check.arrays.add(part)

    def _look_up(
        self, steps: StepColumns, keys: Keys, rows: Ints, rules: list[Rules], columns: EventColumns
    ) -> NDArray[np.int8]:
        """Look up the answer about each step; note a question for each step that has none.

        Only the steps in ``rows`` have a key. The others count as allowed.
        """
        first, places = distinct_keys(keys[rows])
        distinct = keys[rows[first]]
        found = self._answers.look_up(distinct)
        self._seen.append((distinct, found))
        unknown = np.sort(rows[first[found == UNKNOWN]])
        for row, key in zip(unknown.tolist(), key_list(keys[unknown]), strict=True):
            if key not in self._open:
                of = rules[int(columns.run[row])]
                self._open[key] = question(step_of(steps, row), of, key)
        codes = np.full(len(keys), ALLOWED, dtype=np.int8)
        codes[rows] = found[places]
        return codes

    def _note_wrong(self, check: RunCheck, place: int, steps: StepColumns, row: int) -> None:
        """Keep a step that is not allowed, if it is one of the first two of member and action."""
        kind = int(steps.member[row]), int(steps.action[row])
        count = check.wrong_counts[kind] = check.wrong_counts.get(kind, 0) + 1
        if count <= 2:
            check.wrong[place] = step_of(steps, row)

    # --- whole runs -------------------------------------------------------------------------------

    def _end_run(self, check: RunCheck, facts: tuple[Fact, ...]) -> None:
        """Make the checks of a whole run, and decide the verdict; ``facts`` say what is missing."""
        if check.events > MAX_RUN_EVENTS:
            check.malformed = check.malformed or (
                f"{check.path}: TOO_LARGE: {check.events:,} events in the run {check.run_id};"
                f" a run that is checked has at most {MAX_RUN_EVENTS:,}"
            )
        if check.malformed:
            return
        run, arrays = check.run, check.arrays.joined()
        if run is None or arrays is None:
            reason = "the run has no events: nothing was checked"
            verdict = Verdict.MALFORMED
            check.found = RunVerdict(check.run_id, check.path, verdict, facts=facts, reason=reason)
            return
        check.arrays = GrowingArrays()
        if run.member_count == 1:
            # A single member has begun a term since it found its disk: no state shows that disk.
            check.unchecked -= len(run.disk_replaced)
        facts, order, broken = check_whole(run, arrays, facts)
        divergences: tuple[Divergence, ...] = ()
        if check.wrong or order.found.any() or broken:
            divergences = divergences_of(run, arrays, order, broken, check.wrong)
        check.found = verdict_of(
            *(run, check.path),
            events=check.events,
            unchecked=check.unchecked,
            facts=facts,
            divergences=divergences,
        )


def check_whole(
    run: Run, arrays: RunArrays, facts: tuple[Fact, ...]
) -> tuple[tuple[Fact, ...], Order, list[Violation]]:
    """Check causality and the safety monitors; also give all facts about what is missing."""
    facts = with_cuts(run, arrays, facts)
    complete = complete_members(run, facts)
    empty = run.initial == "empty"
    replaced = [(disk.member_id, disk.step) for disk in run.disk_replaced]
    order = order_causes(
        arrays, run.member_count, empty=empty, complete=complete, replaced=replaced
    )
    broken = violations(arrays, order, revision=run.revision, unknown=not empty, complete=complete)
    return facts, order, broken


def verdict_of(
    run: Run,
    path: str,
    *,
    events: int,
    unchecked: int,
    facts: tuple[Fact, ...],
    divergences: tuple[Divergence, ...],
) -> RunVerdict:
    """Give the verdict on a run that could be read, with the limits of the check.

    The limits are the safety properties that were not checked in full, and the releases that wrote
    the logs of an imported run. A divergence decides the verdict even if steps are missing. Without
    one, a run is incomplete if steps are missing, if its import says that something is missing, or
    if ``unchecked`` steps have no known state before them.
    """
    lacks, reason = bool(facts or unchecked or run.missing), ""
    verdict = Verdict.INCOMPLETE if lacks else Verdict.CONFORMS
    if divergences:
        verdict = Verdict.DIVERGES
    elif run.missing:
        reason = "; ".join(run.missing)
    elif run.disk_replaced:
        reason = "remark: " + "; ".join(map(str, run.disk_replaced))
    unknown, whole = run.initial != "empty", all(complete_members(run, facts))
    left_out, in_part = limits(revision=run.revision, unknown=unknown, whole=whole)
    return RunVerdict(
        run_id=run.run_id,
        path=path,
        verdict=verdict,
        events=events,
        unchecked=unchecked,
        divergences=divergences,
        facts=facts,
        reason=reason,
        revision=run.revision,
        not_checked=left_out,
        checked_in_part=in_part,
        releases=releases_of_run(run),
    )


def with_cuts(run: Run, arrays: RunArrays, facts: tuple[Fact, ...]) -> tuple[Fact, ...]:
    """Add to the facts of a run the streams that are truncated between two lines."""
    known = {fact.member_id for fact in facts}
    detail = "others received messages that come after its end"
    unsent = UNSENT if run.is_imported else -1
    return facts + tuple(
        Fact(FactKind.TRUNCATED, run.run_id, member, detail=detail)
        for member in truncated_members(arrays, run.member_count, unsent)
        if member not in known
    )


def complete_members(run: Run, facts: Iterable[Fact]) -> list[bool]:
    """Tell for each member whether no step of it is missing."""
    missing = {fact.member_id for fact in facts}
    return [member not in missing for member in range(run.member_count)]


def _verdict(check: RunCheck) -> RunVerdict:
    """Give the verdict on a run that has ended."""
    if check.malformed or check.found is None:
        return RunVerdict(check.run_id, check.path, Verdict.MALFORMED, reason=check.malformed)
    return check.found

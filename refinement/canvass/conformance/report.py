"""The report of a verification: short texts about runs, and the whole report as data.

``canvass verify --format json`` writes a `Report`; the other forms are in `html` and
`junit`. A `Case` has the data that all forms show of one divergence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import msgspec

from canvass.conformance.step_lookup import StepLookup
from canvass.conformance.verdict import (
    VERDICT_SCHEMA,
    CorpusVerdict,
    Counts,
    Divergence,
    DivergenceClass,
    Record,
    RunVerdict,
    TimingWarning,
    Verdict,
    limits_text,
    revision_choice,
)
from canvass.lanes.model import Diagram, visible
from canvass.traces.counts import counted
from canvass.traces.errors import TraceError
from canvass.traces.run import RunFolder
from canvass.traces.schema import Event, Fact
from canvass.traces.timeouts import duration_text

if TYPE_CHECKING:
    from canvass.conformance.diagnose import RunColumns
    from canvass.conformance.differences import Difference
    from canvass.conformance.refused_step import RefusedStep

CLASS_TEXTS: Final = {
    DivergenceClass.IMPLEMENTATION_STEP: "a step that the spec does not allow",
    DivergenceClass.CAUSALITY: "a message or log bytes without a cause",
    DivergenceClass.SAFETY_PROPERTY: "a violated safety property",
    DivergenceClass.INSTRUMENTATION_GAP: "a step that was not recorded",
}
"""The meaning of each class for a person."""
_MAX_FACTS: Final = 3
_SAID: Final = {"active sets": "sets of members that are heard from"}
_DIGITS: Final = re.compile(r"\d+")


class Report(Record, frozen=True):
    """Verdicts on all runs, and explanations of the first divergences."""

    schema: str
    ok: bool
    exit_code: int
    counts: Counts
    runs: tuple[RunVerdict, ...]
    explanations: tuple[RefusedStep, ...]


def to_report(found: CorpusVerdict, explained: Sequence[RefusedStep]) -> Report:
    """Make a report."""
    return Report(
        schema=VERDICT_SCHEMA,
        ok=found.exit_code == 0,
        exit_code=found.exit_code,
        counts=found.counts,
        runs=found.runs,
        explanations=tuple(explained),
    )


def natural(text: str) -> str:
    """Give a sort key for a text: numbers in it are ordered by size."""
    return _DIGITS.sub(lambda number: number[0].zfill(20), text)


def by_cause(runs: Iterable[RunVerdict]) -> list[list[RunVerdict]]:
    """Group runs by class and name of their first divergence; the largest group comes first.

    The runs of a group are in the natural order of their names.
    """
    found: dict[tuple[DivergenceClass, str], list[RunVerdict]] = {}
    for run in sorted(runs, key=lambda run: (natural(run.run_id), natural(run.path))):
        if run.divergences:
            first = run.divergences[0]
            found.setdefault((first.kind, first.name), []).append(run)
    return sorted(found.values(), key=len, reverse=True)


def run_names(runs: Sequence[RunVerdict]) -> list[str]:
    """Name runs for a list of them: by the id, and by the path too if several runs have the id."""
    counts = Counter(run.run_id for run in runs)
    return [
        visible(f"{run.run_id} ({run.path})" if counts[run.run_id] > 1 else run.run_id)
        for run in runs
    ]


def fact_text(fact: Fact) -> str:
    """Name in a few words a kind of missing steps, with member and line of the stream."""
    line = f" at line {fact.line}" if fact.line > 0 else ""
    return f"{fact.kind.value} of member {fact.member_id}{line}"


def about(run: RunVerdict) -> str:
    """Give in a few words the problem of a run, or an empty text."""
    if run.divergences:
        first = run.divergences[0]
        more = f" (+{len(run.divergences) - 1})" if len(run.divergences) > 1 else ""
        return f"{first.name} at member {first.member}, step {first.step}{more}"
    if run.reason:
        return run.reason
    parts = [fact_text(fact) for fact in run.facts[:_MAX_FACTS]]
    if left_out := len(run.facts) - len(parts):
        parts.append(f"{left_out:,} more")
    if run.unchecked:
        parts.append(f"{counted(run.unchecked, 'step')} from an unknown state")
    if run.timing:
        count = sum(warning.count for warning in run.timing)
        parts.append(counted(count, "timing warning"))
    return ", ".join(parts)


def timing_lines(warning: TimingWarning) -> tuple[str, str]:
    """Give two lines: the step and the warning, and the timeout that was compared with."""
    more = f" (and {warning.count - 1:,} more)" if warning.count > 1 else ""
    step = f"member {warning.member}, step {warning.step}, {warning.action}"
    timeout = f"{warning.setting} is {duration_text(warning.timeout_ns)}"
    return f"{step}: {warning.text}{more}", f"{timeout} [{warning.rule.value}]"


def meaning(runs: Sequence[RunVerdict]) -> str:
    """Give a sentence on the runs that conform: revision, and the inputs that were taken as given.

    The text is empty if no run conforms. If steps of a run are missing, the sentence is about the
    steps that are there. If some runs diverge or are malformed, it is about the other runs.
    """
    sound = [run for run in runs if run.verdict in (Verdict.CONFORMS, Verdict.INCOMPLETE)]
    revisions = sorted({run.revision for run in sound} - {""})
    if not revisions:
        return ""
    counts: dict[str, list[int]] = {}
    for run in sound:
        for choice in run.choices:
            sums = counts.setdefault(choice.name, [0, 0])
            sums[0] += choice.shown
            sums[1] += choice.inferred
    parts = [
        f"{_SAID.get(name, name)} {shown + inferred:,}"
        + (f" ({f'{inferred:,}' if shown else 'all'} inferred)" if inferred else "")
        for name, (shown, inferred) in counts.items()
    ]
    given = ". The spec has no clock; it accepts these inputs as given: "
    taken = f"{given}{', '.join(parts)}" if parts else ""
    there = " that is there" if any(run.verdict is Verdict.INCOMPLETE for run in sound) else ""
    verdict = Verdict.INCOMPLETE if there else Verdict.CONFORMS
    subject = verdict.value if len(sound) == len(runs) else f"{len(sound)} of {len(runs)} runs"
    return (
        f"{subject}: revision {' and '.join(revisions)} of the spec allows every step{there}{taken}"
    )


def limits(runs: Sequence[RunVerdict]) -> list[str]:
    """Give a line for each set of safety properties that some runs were not checked for in full."""
    counts = Counter(filter(None, map(limits_text, runs)))
    return [
        f"Not a full check of {f'{count} of {len(runs)} runs' if len(runs) > 1 else 'the run'};"
        f" {said}"
        for said, count in counts.items()
    ]


def revision_lines(runs: Sequence[RunVerdict], *, every: bool = False) -> list[str]:
    """Give the revisions of runs. Of imported runs, give the releases that wrote their logs, too.

    Of several runs the lines begin with the number of runs that they are about. If a run was not
    imported and does not diverge, `meaning` has its revision; with ``every`` the lines have it.
    """
    found = []
    chosen = (
        revision_choice(run.revision, run.releases)
        for run in runs
        if every or run.releases is not None or run.verdict is Verdict.DIVERGES
    )
    for (first, *notes), count in Counter(filter(None, chosen)).items():
        subject = f"{count} of {len(runs)} runs: " if len(runs) > 1 else ""
        found += [f"{subject}{first}", *notes]
    return found


def show_command(path: str, divergence: Divergence) -> str:
    """Give the command that shows what led to a divergence."""
    return f"canvass trace show {quote(path)} --around {divergence.member}:{divergence.step}"


def summary(counts: Counts) -> str:
    """Give in a few words the amount that was checked, and the origin of the answers."""
    rate = counts.events / counts.seconds if counts.seconds else 0.0
    checked = f"{counted(counts.runs, 'run')}, {counted(counts.events, 'event')}"
    done = f"{checked} in {counts.seconds:.1f} s ({rate:,.0f} events/s)"
    if counts.by_tlc:
        return f"{done}; TLC searched for behaviours"
    return (
        f"{done}; {counted(counts.distinct_steps, 'distinct step')}:"
        f" {counts.found_in_table:,} known, {counts.found_in_cache:,} in the cache,"
        f" {counts.asked_of_oracle:,} asked of TLC"
    )


EVENTS_BEFORE: Final = 24
"""Events drawn before the divergence, which rests on them: as many as a person reads."""
EVENTS_AFTER: Final = 4
"""Events drawn after the divergence: they show whether the run continued."""


@dataclass(frozen=True, slots=True)
class Place:
    """The file and line of an event."""

    file: str
    line: int = 0
    """From 1; 0 if the file has no lines."""

    def __str__(self) -> str:
        """Give file and line as compilers do."""
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class Case:
    """One divergence with its explanation, place and diagram."""

    run: RunVerdict
    explanation: RefusedStep
    places: dict[str, Place]
    """Where the step is, as `places_of` gives it."""
    diagram: Diagram

    @property
    def place(self) -> Place:
        """The file and line in the trace."""
        return next(iter(self.places.values()))

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands that show the divergence again; they work in any folder."""
        place = str(Path(self.run.path).absolute())
        path = quote(place)
        return (
            f"canvass verify {path}",
            show_command(place, self.explanation.divergence),
            f"canvass trace shrink {path} --out shrunk",
        )


def make_case(run: RunVerdict, lookup: StepLookup, loaded: RunColumns | None = None) -> Case:
    """Make the case of a run's first divergence; the run is read, if it is not given."""
    from canvass.conformance.diagnose import load
    from canvass.conformance.refused_step import explain_refusal

    loaded = loaded or load(Path(run.path), run.run_id)
    first = run.divergences[0]
    return Case(
        run=run,
        explanation=explain_refusal(loaded, first, lookup),
        places=places_of(run, first),
        diagram=draw(loaded, first),
    )


def make_cases(runs: Iterable[RunVerdict], lookup: StepLookup, limit: int) -> list[Case]:
    """Make the cases of the first run of each cause, up to ``limit``."""
    return [make_case(alike[0], lookup) for alike in by_cause(runs)[:limit]]


def draw(loaded: RunColumns, divergence: Divergence) -> Diagram:
    """Draw the events that a divergence rests on, its event, and a few events after it."""
    from canvass.lanes.of_run import RunLanes

    lanes = RunLanes(loaded.columns)
    row = loaded.row_of(divergence.member, divergence.step)
    before = lanes.leading_to(row, EVENTS_BEFORE)
    place = lanes.place[row]
    after = lanes.rows[place + 1 : place + 1 + EVENTS_AFTER]
    return lanes.diagram([*before, *after], marks={row: divergence.name})


def places_of(run: RunVerdict, divergence: Divergence) -> dict[str, Place]:
    """Find the step at which a run diverges in the trace and, of an imported run, in Aeron's log.

    Returns
    -------
    dict
        In this order, each by its description. A step that no line shows has the last line before
        it. Of a data set, or if the stream has changed since, there is the path of the run.
    """
    in_trace, path = "the step in the trace", Path(run.path)
    if not path.is_dir():
        return {in_trace: Place(run.path)}
    file, line, log = run.path, 0, dict[str, Place]()
    try:
        folder = RunFolder(path)
        file = str(folder.streams[divergence.member])
        for event in chain.from_iterable(folder.batches(divergence.member)):
            line += 1
            is_step, source = event.step == divergence.step, event.source
            if event.step > divergence.step:
                break
            if source is not None and source.lines:
                what = "the step" if is_step else "the last line before the step"
                shown = source.lines[0] if is_step else source.lines[-1]
                log = {f"{what} in Aeron's event log": Place(source.file, shown)}
            if is_step:
                return {in_trace: Place(file, line)} | log
    except (TraceError, KeyError, OSError):
        pass  # The stream is missing, or the folder was changed since.
    return {in_trace: Place(file)} | log


Style: TypeAlias = Literal["", "title", "bad", "dim"]

_MAX_LINES: Final = 40
_OF_STEPS: Final = (DivergenceClass.IMPLEMENTATION_STEP, DivergenceClass.INSTRUMENTATION_GAP)


def divergence_lines(explanation: RefusedStep) -> Iterator[tuple[str, Style]]:
    """Give the explanation of a divergence as lines of text, each with its style."""
    for text, style in _lines(explanation):
        yield visible(text), style


def _lines(explanation: RefusedStep) -> Iterator[tuple[str, Style]]:
    divergence = explanation.divergence
    head = f"{explanation.run_id}, member {divergence.member}, step {divergence.step}"
    yield f"{head}: {CLASS_TEXTS[divergence.kind]}", "bad"
    yield f"  {divergence.name}: {divergence.text}", ""
    yield "", ""
    yield "  The member's steps up to here", "title"
    for event in (*explanation.earlier, explanation.event):
        yield f"    {_event(event)}", ""
    if explanation.changed:
        yield "", ""
        yield "  Observed changes", "title"
        for change in explanation.changed:
            yield f"    {change.field}: {change.observed} -> {change.allowed}", ""
    yield from _alternatives(explanation)
    if explanation.operator is not None:
        operator = explanation.operator
        yield "", ""
        yield f"  {operator.module}.tla:{operator.line}", "title"
        for line in operator.lines[:_MAX_LINES]:
            yield f"    {line}", "dim"


def _alternatives(explanation: RefusedStep) -> Iterator[tuple[str, Style]]:
    if explanation.note:
        yield "", ""
        yield f"  {explanation.note}", ""
    for number, differences in enumerate(explanation.alternatives, 1):
        yield "", ""
        yield (
            f"  What the spec allows instead ({number} of {len(explanation.alternatives)})",
            "title",
        )
        for line in _alternative(differences):
            yield f"    {line}", ""
    if explanation.divergence.kind in _OF_STEPS and not explanation.note:
        if not explanation.action_enabled:
            yield "", ""
            yield "  The action is not enabled in the state before it.", ""
            for part in explanation.failing:
                yield f"    as its guard in the spec says: {part}", ""
        yield f"  Enabled on the same input: {', '.join(explanation.enabled) or 'none'}", ""


def _alternative(differences: Iterable[Difference]) -> Iterator[str]:
    for difference in differences:
        was = f" (was {difference.before})" if difference.before else ""
        yield (
            f"{difference.field}: observed {difference.observed}, allowed {difference.allowed}{was}"
        )


def _event(event: Event) -> str:
    given = event.input
    parts = [f"{event.step:>6}  {event.action.value}"]
    if given.message is not None:
        fields = msgspec.to_builtins(given.message)
        said = ", ".join(f"{name} {value}" for name, value in fields.items() if name != "type")
        parts.append(f"<- {given.from_} {fields['type']}({said})")
    parts += [
        f"{name}={getattr(given, name)}"
        for name in ("position", "leadership_term_id", "graceful_closed_leader_id")
        if getattr(given, name) != -1
    ]
    parts += [f"-> {send.to} {type(send.message).__name__}" for send in event.sends]
    return "  ".join(parts)

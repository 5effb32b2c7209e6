"""The report of a verification: short texts about runs, and the whole report as data.

``canvass verify --format json`` writes a `VerifyReport`; the other forms are in
`documents`. A `Case` has the data that all forms show of one divergence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

import msgspec

from canvass.cluster.messages import Record
from canvass.conformance.verdict import (
    VERDICT_SCHEMA,
    CorpusVerdict,
    Counts,
    Divergence,
    DivergenceClass,
    RunVerdict,
    TimingWarning,
    Verdict,
    limits_text,
    revision_choice,
)
from canvass.lanes.model import Diagram, visible
from canvass.steps.answers import StepLookup
from canvass.traces.counts import counted
from canvass.traces.errors import TraceError
from canvass.traces.run import RunFolder
from canvass.traces.schema import Event, Fact
from canvass.traces.timeouts import duration_text

if TYPE_CHECKING:
    from canvass.conformance.diagnose import RefusedStep, RunColumns

CLASS_TEXTS: Final = {
    DivergenceClass.IMPLEMENTATION_STEP: "a step that the spec does not allow",
    DivergenceClass.CAUSALITY: "a message or log bytes without a cause",
    DivergenceClass.SAFETY_PROPERTY: "a violated safety property",
    DivergenceClass.INSTRUMENTATION_GAP: "a step that was not recorded",
}
"""The meaning of each class for a person."""
_MAX_FACTS: Final = 3
OF_STEPS: Final = (DivergenceClass.IMPLEMENTATION_STEP, DivergenceClass.INSTRUMENTATION_GAP)
"""The classes of a wrong step; the other classes concern causality and safety properties."""
_SOUND: Final = (Verdict.CONFORMS, Verdict.INCOMPLETE)
_SAID: Final = {"active sets": "sets of members that are heard from"}
_DIGITS: Final = re.compile(r"\d+")


class VerifyReport(Record, frozen=True):
    """Verdicts on all runs, and explanations of the first divergences."""

    schema: str
    ok: bool
    exit_code: int
    counts: Counts
    runs: tuple[RunVerdict, ...]
    explanations: tuple[RefusedStep, ...]


def to_report(found: CorpusVerdict, explained: Sequence[RefusedStep]) -> VerifyReport:
    """Make a report."""
    return VerifyReport(
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


def problem_of(run: RunVerdict) -> str:
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


def notes(found: CorpusVerdict) -> list[str]:
    """Give the lines after a list of runs.

    They name the releases that wrote imported logs, the revision that allows the steps, the inputs
    that were taken as given, and the safety properties that were not checked in full. The last line
    says how much was checked.
    """
    runs = found.runs
    subject = "{} of " + f"{len(runs)} runs" if len(runs) > 1 else "the run"
    chosen = Counter(
        revision_choice(run.revision, run.releases)
        for run in runs
        if run.releases is not None or run.verdict is Verdict.DIVERGES
    )
    lines = []
    for choice, count in chosen.items():
        if choice:
            first, *others = choice
            lines += [f"{subject.format(count)}: {first}" if len(runs) > 1 else first, *others]
    if any(run.verdict in _SOUND and run.revision for run in runs):
        lines.append(_meaning(runs))
    limited = Counter(filter(None, map(limits_text, runs)))
    for said, count in limited.items():
        lines.append(f"Not a full check of {subject.format(count)}; {said}")
    return [*lines, summary(found.counts)]


def _meaning(runs: Sequence[RunVerdict]) -> str:
    """Say which revision allows all steps of the runs that conform or are incomplete."""
    sound = [run for run in runs if run.verdict in _SOUND]
    revisions = " and ".join(sorted({run.revision for run in sound} - {""}))
    shown, inferred = Counter[str](), Counter[str]()
    for choice in chain.from_iterable(run.choices for run in sound):
        shown[choice.name] += choice.shown
        inferred[choice.name] += choice.inferred
    parts = []
    for name in shown:
        some = f"{inferred[name]:,}" if shown[name] else "all"
        part = f"{_SAID.get(name, name)} {shown[name] + inferred[name]:,}"
        parts.append(f"{part} ({some} inferred)" if inferred[name] else part)
    given = ". The spec has no clock; it accepts these inputs as given: "
    verdict = max((run.verdict for run in sound), key=list(_SOUND).index)
    there = " that is there" if verdict is Verdict.INCOMPLETE else ""
    subject = verdict.value if len(sound) == len(runs) else f"{len(sound)} of {len(runs)} runs"
    allows = f"{subject}: revision {revisions} of the spec allows every step{there}"
    return allows + (f"{given}{', '.join(parts)}" if parts else "")


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
"""The most events that are drawn before a divergence, of those that led to it."""
EVENTS_AFTER: Final = 4
"""Events drawn after the divergence: they show whether the run continued."""


@dataclass(frozen=True, slots=True)
class Location:
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
    places: dict[str, Location]
    """Where the step is, as `places_of` gives it."""
    diagram: Diagram

    @property
    def place(self) -> Location:
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


def make_case(run: RunVerdict, lookup: StepLookup) -> Case:
    """Make the case of a run's first divergence; the run is read."""
    from canvass.conformance.diagnose import explain_refusal, load

    loaded = load(Path(run.path), run.run_id)
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
    """Draw the events that led to a divergence, its event, and a few events after it."""
    from canvass.lanes.of_run import RunLanes

    lanes = RunLanes(loaded.columns)
    row = loaded.row_of(divergence.member, divergence.step)
    before = lanes.leading_to(row, EVENTS_BEFORE)
    place = lanes.place[row]
    after = lanes.rows[place + 1 : place + 1 + EVENTS_AFTER]
    return lanes.diagram([*before, *after], marks={row: divergence.name})


def places_of(run: RunVerdict, divergence: Divergence) -> dict[str, Location]:
    """Find the step at which a run diverges in the trace and, of an imported run, in Aeron's log.

    Returns
    -------
    dict
        The locations by their descriptions, the trace first. If no line of the log shows the step,
        its location is the last line before it. In a data set, or if the stream is missing, the
        location in the trace is the path of the run. If the stream no longer has the step, it is
        the file of the stream, without a line.
    """
    in_trace, path = "the step in the trace", Path(run.path)
    if not path.is_dir():
        return {in_trace: Location(run.path)}
    file, line, log = run.path, 0, dict[str, Location]()
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
                log = {f"{what} in Aeron's event log": Location(source.file, shown)}
            if is_step:
                return {in_trace: Location(file, line)} | log
    except (TraceError, KeyError, OSError):
        pass  # The stream is missing, or the folder was changed since.
    return {in_trace: Location(file)} | log


Style: TypeAlias = Literal["", "title", "bad", "dim"]


def divergence_lines(explanation: RefusedStep) -> Iterator[tuple[str, Style]]:
    """Give the explanation of a divergence as lines of text, each with its style."""
    from canvass.conformance.templates import environment

    given = {"found": explanation, "texts": CLASS_TEXTS, "of_steps": OF_STEPS, "event": _event}
    text = environment(markup=False).get_template("refused.txt.jinja").render(given)
    for line in text.splitlines():
        style, _, shown = line.partition("|")
        yield shown, cast(Style, style)


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

"""The report of a verification: as data, as lines of text, as a self-contained page, and as JUnit.

``canvass verify --format json`` writes a `VerifyReport`. A `Case` has the data that all forms show
of one divergence. JUnit is for CI servers. In a page, lanes are drawn as text. A page loads nothing
and runs nothing: the content security policy allows its own style, by the style's hash, and nothing
else, even if an escape is missing. `environment` and `page` serve the pages of other packages, too.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import Any, Final, Literal, TypeAlias, cast
from urllib.parse import quote as url_quoted

import msgspec
from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup, escape

from canvass.cluster.messages import Record
from canvass.conformance.diagnose import (
    OF_STEPS,
    RefusedStep,
    RunColumns,
    explain_refusal,
    find_operator,
    load,
)
from canvass.conformance.findings import (
    VERDICT_SCHEMA,
    WORST_FIRST,
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
from canvass.lanes.diagram import Diagram, Line, TextLanes, shortened, visible
from canvass.lanes.drawing import RunLanes
from canvass.steps.answers import StepLookup
from canvass.traces.errors import TraceError, counted
from canvass.traces.run import RunFolder
from canvass.traces.schema import Event, Fact, encode
from canvass.traces.timeouts import duration_text

# --- words ----------------------------------------------------------------------------------------

CLASS_TEXTS: Final = {
    DivergenceClass.IMPLEMENTATION_STEP: "a step that the spec does not allow",
    DivergenceClass.CAUSALITY: "a message or log bytes without a cause",
    DivergenceClass.SAFETY_PROPERTY: "a violated safety property",
    DivergenceClass.INSTRUMENTATION_GAP: "a step that was not recorded",
}
"""The meaning of each class for a person."""
_MAX_FACTS: Final = 3
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


def _by_name(run: RunVerdict) -> tuple[str, str]:
    return natural(run.run_id), natural(run.path)


def by_cause(runs: Iterable[RunVerdict]) -> list[list[RunVerdict]]:
    """Group runs by class and name of their first divergence; the largest group comes first.

    The runs of a group are in the natural order of their names.
    """
    found: dict[tuple[DivergenceClass, str], list[RunVerdict]] = {}
    for run in sorted(runs, key=_by_name):
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


def show_command(path: str, run_id: str, divergence: Divergence) -> str:
    """Give the command that shows what led to a divergence of a run, which is at a path."""
    place = f"{divergence.member}:{divergence.step}"
    return f"canvass trace show {_named(path, run_id)} --around {place}"


def _named(path: str, run_id: str) -> str:
    """Name a run on a command line; with its id if there may be several at the path."""
    several = path.endswith(".parquet") or "~" in run_id
    return f"{quote(path)} --run {run_id}" if several else quote(path)


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


# --- one divergence -------------------------------------------------------------------------------

_EVENTS_BEFORE: Final = 24
"""The most events that led to a divergence and are drawn before it."""
_EVENTS_AFTER: Final = 4
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
        run_id = self.run.run_id
        return (
            f"canvass verify {quote(place)}",
            show_command(place, run_id, self.explanation.divergence),
            f"canvass trace shrink {_named(place, run_id)} --out shrunk",
        )


def make_case(run: RunVerdict, lookup: StepLookup) -> Case:
    """Make the case of a run's first divergence; the run is read."""
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
    lanes = RunLanes(loaded.columns)
    row = loaded.row_of(divergence.member, divergence.step)
    before = lanes.leading_to(row, _EVENTS_BEFORE)
    place = lanes.place[row]
    after = lanes.rows[place + 1 : place + 1 + _EVENTS_AFTER]
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


# --- documents ------------------------------------------------------------------------------------

MAX_LISTED: Final = 1_000
"""Runs in a table; runs that do not conform come first."""
_MAX_SPEC_LINES: Final = 80
_LANE_COLUMNS: Final = 40
"""Characters of each lane."""
_WORDS: Final = {
    Verdict.CONFORMS: "conforms",
    Verdict.DIVERGES: "diverges",
    Verdict.MALFORMED: "is malformed",
    Verdict.INCOMPLETE: "is incomplete",
}


def to_html(
    found: CorpusVerdict,
    cases: Sequence[Case],
    more: Sequence[str] = (),
    folder: Path | None = None,
) -> str:
    """Write the page.

    Parameters
    ----------
    found
        The verdicts.
    cases
        Divergences to show in full, one of each cause, as `make_cases` makes them.
    more
        Markup of further sections, as `canvass.explanation.explanation` makes them.
    folder
        The folder of the page, for its links to runs; None if it is not known.
    """
    runs, title = found.runs, _title(found)
    given: dict[str, Any] = {
        "found": found,
        "title": title,
        "notes": notes(found),
        "cases": cases,
        "causes": by_cause(runs),
        "more": more,
        "folder": folder,
        "warned": [(run, warning) for run in runs for warning in run.timing],
        "listed": sorted(runs, key=lambda one: (WORST_FIRST.index(one.verdict), _by_name(one))),
        "most": MAX_LISTED,
        "most_lines": _MAX_SPEC_LINES,
        "class_texts": CLASS_TEXTS,
        "of_steps": OF_STEPS,
    }
    words = (problem_of, encode, run_names, timing_lines)
    given |= {word.__name__: word for word in words} | {"lanes": _lanes}
    body = environment().get_template("verify.html.jinja").render(given)
    return page(f"canvass verify: {title}", [body])


def _title(found: CorpusVerdict) -> str:
    runs = found.runs
    counts = Counter(run.verdict for run in runs)
    if not runs:
        return "nothing was checked"
    if counts[Verdict.CONFORMS] == len(runs):
        return "the run conforms" if len(runs) == 1 else f"all {len(runs):,} runs conform"
    if len(runs) == 1:
        return f"the run {_WORDS[runs[0].verdict]}"
    several = (f"{counts[verdict]:,} {verdict.value}" for verdict in WORST_FIRST if counts[verdict])
    return f"{len(runs):,} runs: {', '.join(several)}"


def _lanes(diagram: Diagram) -> Iterator[Line]:
    return TextLanes(diagram, _LANE_COLUMNS * len(diagram.lanes)).lines()


def to_junit(found: CorpusVerdict) -> str:
    """Give the XML document; a case fails or ends in an error where the exit code is not 0."""
    made = environment()
    made.filters["fact"] = fact_text
    words = {word.__name__: word for word in (find_operator, limits_text, places_of)}
    names = run_names(found.runs)
    return made.get_template("junit.xml.jinja").render(
        found=found, names=names, timing=_timing, **words
    )


def _timing(run: RunVerdict) -> list[str]:
    return [": ".join(timing_lines(warning)) for warning in run.timing]


# --- templates ------------------------------------------------------------------------------------

_MAX_TEXT: Final = 400
"""Characters of a text in a sentence or a cell: more than any message of canvass has."""
_MAX_LINE: Final = 20_000
"""Characters of a preformatted line: an event of nine members."""
_HERE: Final = Path(__file__).parent


def environment(folder: Path = _HERE, *, markup: bool = True) -> Environment:
    """Make the environment of the templates in a folder, which may import those beside this module.

    Control characters, which nothing shown should hold, become their names. In markup, texts are
    escaped. A text longer than `_MAX_TEXT` is cut there and ends with an ellipsis; with the filter
    ``line`` the limit is `_MAX_LINE`.
    """

    def shown(value: object) -> object:
        if not isinstance(value, str):
            return value
        return _text(value) if markup else visible(value)

    made = Environment(
        loader=FileSystemLoader([folder, _HERE]),
        autoescape=markup,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["line"] = lambda value: _text(value, _MAX_LINE)
    made.globals |= {"link": _link, "counted": counted}
    return made


def page(title: str, body: Iterable[str], *, style: str = "") -> str:
    """Put a page together.

    Parameters
    ----------
    title
        Plain text.
    body
        Markup.
    style
        Constant rules besides those of all pages.
    """
    rules = Markup((_HERE / "page.css").read_text(encoding="utf-8") + style)
    digest = base64.b64encode(hashlib.sha256(rules.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    given = {"title": title, "policy": Markup(policy), "style": rules, "body": body}
    return environment().get_template("page.html.jinja").render(given)


def _text(value: object, limit: int = _MAX_TEXT) -> Markup:
    """Escape and cut a text, as the templates do; markup stays as it is."""
    return value if isinstance(value, Markup) else escape(shortened(str(value), limit))


def _link(path: str, words: str, folder: Path | None) -> Markup:
    """Give plain words as a link to a file or folder, if it is there.

    Parameters
    ----------
    folder
        The folder of the page: the link stays right if page and target are moved together. None if
        the folder is not known; the link is absolute then.
    """
    place = Path(path).absolute()
    if not os.path.lexists(place):
        return _text(words)
    target = place if folder is None else Path(os.path.relpath(place, folder.absolute()))
    return Markup('<a href="{}">{}</a>').format(url_quoted(os.fsencode(target)), _text(words))

"""The report of a verification as one self-contained page: verdicts, and each divergence drawn.

The frame of the page and its policy are in `canvass.conformance.page`; lanes are drawn as text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from canvass.conformance.differences import Difference
from canvass.conformance.page import block, link, page, table, text
from canvass.conformance.refused_step import Explanation
from canvass.conformance.report import (
    CLASS_TEXTS,
    Case,
    about,
    by_cause,
    meaning,
    natural,
    run_names,
    summary,
    timing_lines,
)
from canvass.conformance.verdict import (
    WORST_FIRST,
    CorpusVerdict,
    DivergenceClass,
    RunVerdict,
    Verdict,
)
from canvass.lanes.model import Diagram
from canvass.lanes.text import TextLanes
from canvass.traces.counts import counted
from canvass.traces.schema import encode

MAX_LISTED: Final = 1_000
"""Runs in the table; runs that do not conform come first."""
_MAX_SPEC_LINES: Final = 80

_SIGNS: Final = {
    Verdict.CONFORMS: "✔",
    Verdict.DIVERGES: "✖",
    Verdict.MALFORMED: "✖",
    Verdict.INCOMPLETE: "…",
}
_WORDS: Final = {
    Verdict.CONFORMS: "conforms",
    Verdict.DIVERGES: "diverges",
    Verdict.MALFORMED: "is malformed",
    Verdict.INCOMPLETE: "is incomplete",
}
_STYLE: Final = """
details { margin: .6rem 0; } summary { cursor: pointer; }
.verdict { white-space: nowrap; }
.lanes { line-height: 1.2; } .title { font-weight: 600; } .dim { color: var(--dim); }
.fault { color: light-dark(#8a5300, #ffc46b); } .message { color: light-dark(#2f5fb3, #8fb4ff); }
"""
_LANE_COLUMNS: Final = 40
"""Of each lane."""


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
        Markup of further sections, as `canvass.explanation.report` makes them.
    folder
        Where the page is written, for its links to runs; none if that is not known.
    """
    body = [_headline(found), _figures(found), _listed(found, folder)]
    causes = by_cause(found.runs)
    for number, (case, alike) in enumerate(zip(cases, causes, strict=False), 1):
        body += _case(case, alike, number, folder)
    hidden = causes[len(cases) :]
    if hidden:
        runs = sum(map(len, hidden))
        note = f"{len(hidden):,} more causes, of {runs:,} runs; verify one alone to see it."
        body.append(f'<p class="note">{note}</p>')
    body += [*more, *_timing(found)]
    title = f"canvass verify: {_title(found)}"
    return page(title, body, style=_STYLE)


def _title(found: CorpusVerdict) -> str:
    runs = found.runs
    counts = Counter(run.verdict for run in runs)
    if not runs:
        return "nothing was checked"
    if counts[Verdict.CONFORMS] == len(runs):
        return "the run conforms" if len(runs) == 1 else f"all {len(runs):,} runs conform"
    if len(runs) == 1:
        return f"the run {_WORDS[runs[0].verdict]}"
    counted = (f"{counts[verdict]:,} {verdict.value}" for verdict in WORST_FIRST if counts[verdict])
    return f"{len(runs):,} runs: {', '.join(counted)}"


def _headline(found: CorpusVerdict) -> str:
    kind = "good" if found.exit_code == 0 else "bad"
    title = _title(found)
    return f'<h1 class="{kind}">{text(title[:1].upper() + title[1:])}</h1>'


def _figures(found: CorpusVerdict) -> str:
    meant = meaning(found.runs)
    shown = f'<p class="note">{text(meant)}</p>' if meant else ""
    return f'{shown}<p class="note">{text(summary(found.counts))}</p>'


def _timing(found: CorpusVerdict) -> Iterator[str]:
    """Show the timing warnings."""
    warned = [(run, warning) for run in found.runs for warning in run.timing]
    if not warned:
        return
    rows = [
        (text(run.run_id), *map(text, timing_lines(warning)))
        for run, warning in warned[:MAX_LISTED]
    ]
    yield "<h2>Timing warnings</h2>"
    yield "<p>No verdict depends on them: the spec is untimed.</p>"
    yield table(("run", "what", "compared with"), rows)
    if len(warned) > MAX_LISTED:
        yield f'<p class="note">{len(warned) - MAX_LISTED:,} more are not listed.</p>'


def _verdict(verdict: Verdict) -> str:
    kind = {Verdict.CONFORMS: "good", Verdict.INCOMPLETE: "note"}.get(verdict, "bad")
    return f'<span class="verdict {kind}">{_SIGNS[verdict]} {verdict.value}</span>'


def _listed(found: CorpusVerdict, folder: Path | None) -> str:
    runs = sorted(
        found.runs,
        key=lambda run: (WORST_FIRST.index(run.verdict), natural(run.run_id), natural(run.path)),
    )
    rows = [
        (
            _verdict(run.verdict),
            text(run.run_id),
            f"{run.events:,}",
            text(about(run)),
            f"<code>{link(run.path, run.path, folder)}</code>",
        )
        for run in runs[:MAX_LISTED]
    ]
    head = ("verdict", "run", "events", "what", "where")
    more = len(runs) - len(rows)
    note = f'<p class="note">{more:,} more runs are not listed.</p>' if more > 0 else ""
    return f"{table(head, rows, numbers=frozenset({2}))}{note}"


# --- one divergence -------------------------------------------------------------------------------


def _case(
    case: Case, alike: Sequence[RunVerdict], number: int, folder: Path | None
) -> Iterator[str]:
    explanation = case.explanation
    first = explanation.divergence
    count = counted(len(alike), "run")
    yield f'<section class="cause"><h2 id="cause-{number}">'
    yield (
        f'<span class="bad">{text(first.name)}</span>:'
        f" {text(CLASS_TEXTS[first.kind])} in {count}</h2>"
    )
    yield _runs(alike, folder)
    yield (
        f"<p>{text(case.run.run_id)} at member {first.member},"
        f" step {first.step}: {text(first.text)}<br>"
        f'<code>{text(case.place)}</code> <span class="note">{text(first.kind.value)}</span></p>'
    )
    if (lines := case.log_lines) is not None:
        yield f"<p>{text(lines.what)}: <code>{text(lines.first)}</code></p>"
    yield from _allowed(explanation)
    yield from _changed(explanation)
    yield from _others(case.run)
    yield f'<h3>What led to it</h3><pre class="lanes">{_lanes(case.diagram)}</pre>'
    yield from _operator(explanation)
    yield from _recorded(explanation)
    yield f"<h3>See it again</h3>{block(case.commands)}"
    yield '<p class="note">The paths are those of when this page was made.</p></section>'


def _lanes(diagram: Diagram) -> str:
    width = _LANE_COLUMNS * len(diagram.lanes)
    return "\n".join(
        "".join(f'<span class="{style}">{text(part)}</span>' for part, style in line)
        for line in TextLanes(diagram, width).lines()
    )


def _runs(alike: Sequence[RunVerdict], folder: Path | None) -> str:
    """List all runs of a cause; each links to its folder."""
    links = ", ".join(
        link(run.path, name, folder)
        for run, name in zip(alike[:MAX_LISTED], run_names(alike), strict=False)
    )
    more = len(alike) - MAX_LISTED
    return f"<p>{links}{f' and {more:,} more' if more > 0 else ''}</p>"


def _allowed(explanation: Explanation) -> Iterator[str]:
    """Show what the spec would have allowed, the nearest outcome first."""
    if explanation.divergence.kind not in (
        DivergenceClass.IMPLEMENTATION_STEP,
        DivergenceClass.INSTRUMENTATION_GAP,
    ):
        return
    yield "<h3>Observed, and what the spec allows</h3>"
    if explanation.note:
        yield f"<p>{text(explanation.note)}.</p>"
    elif not explanation.action_enabled:
        yield "<p>The action is not enabled in the state before the step.</p>"
        for part in explanation.failing:
            yield f"<p>As its guard in the spec says: <code>{text(part)}</code></p>"
    for place, differences in enumerate(explanation.alternatives):
        shown = _differences(differences)
        if place == 0:
            yield shown
            continue
        yield f"<details><summary>Outcome {place + 1} of {len(explanation.alternatives)}</summary>"
        yield f"{shown}</details>"
    if not explanation.note:
        names = ", ".join(explanation.enabled) or "none"
        yield f'<p class="note">Enabled on the same input: {text(names)}.</p>'


def _differences(differences: Sequence[Difference]) -> str:
    rows = (
        (
            f"<code>{text(each.field)}</code>",
            text(each.before),
            f'<span class="bad">✖ {text(each.observed)}</span>',
            f'<span class="good">{text(each.allowed)}</span>',
        )
        for each in differences
    )
    return table(("field that differs", "before", "observed", "allowed"), rows)


def _changed(explanation: Explanation) -> Iterator[str]:
    if explanation.changed:
        rows = (
            (f"<code>{text(each.field)}</code>", text(each.before), text(each.allowed))
            for each in explanation.changed
        )
        yield f"<h3>What the step changed</h3>{table(('field', 'before', 'after'), rows)}"


def _others(run: RunVerdict) -> Iterator[str]:
    if len(run.divergences) > 1:
        rows = (
            (
                text(each.name),
                f"member {each.member}, step {each.step}",
                text(each.text),
                text(each.kind.value),
            )
            for each in run.divergences[1:]
        )
        shown = table(("also", "where", "what", "class"), rows)
        yield f"<h3>What else is wrong with the run</h3>{shown}"


def _operator(explanation: Explanation) -> Iterator[str]:
    operator = explanation.operator
    if operator is None:
        return
    lines = [
        f"{operator.line + place:>5}  {line}"
        for place, line in enumerate(operator.lines[:_MAX_SPEC_LINES])
    ]
    more = len(operator.lines) - len(lines)
    yield f"<h3>The spec: <code>{text(operator.module)}.tla:{operator.line}</code></h3>"
    yield block([*lines, *([f"       … {more} lines more"] if more > 0 else [])])


def _recorded(explanation: Explanation) -> Iterator[str]:
    events = (*explanation.earlier, explanation.event)
    yield "<details><summary>The member's steps up to here, as recorded</summary>"
    yield block(encode(event).decode() for event in events)
    yield "</details>"

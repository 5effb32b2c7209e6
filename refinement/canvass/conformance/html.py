"""The report of a verification as one self-contained page: verdicts, and each divergence drawn.

A page loads nothing and runs nothing: the content security policy allows its own style, by the
style's hash, and nothing else, even if an escape is missing. All text from a trace goes
through `text`. Lanes are drawn as text.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Final
from urllib.parse import quote

from canvass.conformance.differences import Difference
from canvass.conformance.refused_step import RefusedStep
from canvass.conformance.report import (
    CLASS_TEXTS,
    Case,
    about,
    by_cause,
    limits,
    meaning,
    natural,
    revision_lines,
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
from canvass.lanes.model import Diagram, shortened
from canvass.lanes.text import TextLanes
from canvass.traces.counts import counted
from canvass.traces.schema import encode

STYLE: Final = """
:root { color-scheme: light dark; --line: #8886; --bad: #b3261e; --good: #1b6e3c; --dim: #666; }
@media (prefers-color-scheme: dark) { :root { --bad: #ff8a80; --good: #7fd19b; --dim: #aaa; } }
body { font: 15px/1.45 system-ui, sans-serif; max-width: 76rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
h1, h2, h3, p, li, summary { overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; min-width: 40rem; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line);
  vertical-align: top; overflow-wrap: anywhere; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums;
  white-space: nowrap; overflow-wrap: normal; }
dl { display: flex; flex-wrap: wrap; gap: 1rem 2.5rem; }
dt { color: var(--dim); } dd { margin: 0; font-size: 1.3rem; }
.bad { color: var(--bad); font-weight: 600; } .good { color: var(--good); font-weight: 600; }
.note { color: var(--dim); } code, pre { font-size: .92em; }
pre, .wide { overflow-x: auto; } pre { padding: .6rem .8rem; border: 1px solid var(--line);
  border-radius: 4px; }
@media (max-width: 40rem) {
  body { margin: 1rem auto; } table { min-width: 0; } th { display: none; }
  tr, td { display: block; } tr { border-bottom: 1px solid var(--line); padding: .4rem 0; }
  td, td.number { border: 0; padding: .1rem 0; text-align: left; white-space: normal; }
  td::before { content: attr(data-head); display: inline-block; min-width: 6.5rem;
    padding-right: .6rem; color: var(--dim); } td:empty { display: none; }
}
"""
"""The style of all pages."""
MAX_TEXT: Final = 400
"""Characters of a text in a sentence or a cell: more than any message of canvass has."""
MAX_LINE: Final = 20_000
"""Characters of a preformatted line: an event of nine members."""
_NUMBER: Final = ' class="number"'


def page(title: str, body: Iterable[str], *, style: str = "") -> str:
    """Put a page together.

    Parameters
    ----------
    title
        Plain text.
    body
        Markup, of which every part that is not constant went through `text`.
    style
        Constant rules besides `STYLE`.
    """
    rules = STYLE + style
    digest = base64.b64encode(hashlib.sha256(rules.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{text(title)}</title><style>{rules}</style></head><body>",
            *body,
            "</body></html>",
            "",
        ]
    )


def text(value: object, limit: int = MAX_TEXT) -> str:
    """Escape a text; control characters, which no page should hold, become their names.

    A text beyond the limit is cut and ends with an ellipsis. The JSON report has the whole text.
    """
    return escape(shortened(str(value), limit))


def link(path: str, words: str, folder: Path | None) -> str:
    """Give plain words as a link to a file or folder, if it is there.

    Parameters
    ----------
    folder
        The folder of the page: the link stays right if page and target are moved together. None if
        the folder is not known; the link is absolute then.
    """
    place = Path(path).absolute()
    if not os.path.lexists(place):
        return text(words)
    target = place if folder is None else Path(os.path.relpath(place, folder.absolute()))
    return f'<a href="{quote(os.fsencode(target))}">{text(words)}</a>'


def block(lines: Iterable[str]) -> str:
    """Give lines as preformatted text."""
    shown = "\n".join(text(line, MAX_LINE) for line in lines)
    return f"<pre>{shown}</pre>"


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: frozenset[int] = frozenset()
) -> str:
    """Give a table; ``head`` is plain text, the cells of ``rows`` are markup.

    Each cell names its column: on a phone a row is a card.
    """
    kinds = [_NUMBER if place in numbers else "" for place in range(len(head))]
    names = [text(name) for name in head]
    lines = ["".join(f"<th{kind}>{name}</th>" for kind, name in zip(kinds, names, strict=True))]
    lines += (
        "".join(
            f'<td{kind} data-head="{name}">{cell}</td>'
            for kind, name, cell in zip(kinds, names, cells, strict=True)
        )
        for cells in rows
    )
    return f'<div class="wide"><table><tr>{"</tr><tr>".join(lines)}</tr></table></div>'


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
"""Characters of each lane."""


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
    said = filter(None, (*revision_lines(found.runs), meaning(found.runs), *limits(found.runs)))
    shown = "".join(f'<p class="note">{text(each)}</p>' for each in said)
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


def _allowed(explanation: RefusedStep) -> Iterator[str]:
    """Show the outcomes that the spec allows, the nearest first."""
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


def _changed(explanation: RefusedStep) -> Iterator[str]:
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


def _operator(explanation: RefusedStep) -> Iterator[str]:
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


def _recorded(explanation: RefusedStep) -> Iterator[str]:
    events = (*explanation.earlier, explanation.event)
    yield "<details><summary>The member's steps up to here, as recorded</summary>"
    yield block(encode(event).decode() for event in events)
    yield "</details>"

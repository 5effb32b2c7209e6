"""``report.html``: the summary as one page that needs nothing else, not even a script.

Everything that comes from a corpus is escaped, and a content security policy forbids the page to
load or run anything should an escape be missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from shlex import quote
from typing import Final

from canvass.corpus.summary import VERDICTS, Cluster, Summary

REPORT_FILE: Final = "report.html"

_STYLE: Final = """
:root { color-scheme: light dark; --line: #8886; --bad: #b3261e; --good: #1b6e3c; --dim: #777; }
@media (prefers-color-scheme: dark) { :root { --bad: #ff8a80; --good: #7fd19b; --dim: #aaa; } }
body { font: 15px/1.45 system-ui, sans-serif; max-width: 75rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line);
  vertical-align: top; overflow-wrap: anywhere; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums;
  white-space: nowrap; }
dl { display: flex; flex-wrap: wrap; gap: 1rem 2.5rem; }
dt { color: var(--dim); } dd { margin: 0; font-size: 1.3rem; }
.bad { color: var(--bad); font-weight: 600; } .good { color: var(--good); font-weight: 600; }
.note { color: var(--dim); } code { font-size: .92em; }
"""

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"


def render(summary: Summary, new: Sequence[Cluster] | None = None) -> str:
    """Write the page.

    Parameters
    ----------
    summary
        What was found.
    new
        The clusters that a baseline did not have, if there was one.
    """
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>canvass: {summary.runs:,} runs</title><style>{_STYLE}</style></head><body>",
        f"<h1>{_headline(summary)}</h1>",
        _figures(summary),
        _clusters(summary, new),
        _listed(summary),
        _coverage(summary),
        _origin(summary),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _headline(summary: Summary) -> str:
    if not summary.events:
        return '<span class="bad">Nothing was checked</span>'
    wrong = summary.verdicts["DIVERGES"]
    if wrong:
        runs = "run diverges" if wrong == 1 else "runs diverge"
        return f'<span class="bad">{wrong:,} {runs}</span> of {summary.runs:,}'
    if summary.verdicts["CONFORMS"] == summary.runs:
        return f'<span class="good">All {summary.runs:,} runs conform</span>'
    return f"No run diverges; not all of {summary.runs:,} are whole"


def _figures(summary: Summary) -> str:
    figures = [(name, f"{summary.verdicts[name]:,}") for name in VERDICTS]
    figures += [
        ("events", f"{summary.events:,}"),
        ("events/s", f"{summary.events_per_second:,.0f}"),
        ("seconds", f"{summary.seconds:,.1f}"),
        ("steps asked of TLC", f"{summary.judged_steps:,}"),
    ]
    shown = "".join(f"<div><dt>{_text(k)}</dt><dd>{_text(v)}</dd></div>" for k, v in figures)
    return f"<dl>{shown}</dl>"


def _clusters(summary: Summary, new: Sequence[Cluster] | None) -> str:
    if not summary.clusters:
        return ""
    fresh = None if new is None else {cluster.identity for cluster in new}
    rows = []
    for one in summary.clusters:
        mark = "" if fresh is None else ("new" if one.identity in fresh else "known")
        place = f"{one.example_run_id}, member {one.example_member_id}, step {one.example_step}"
        rows.append(
            f"<tr><td>{_text(one.divergence_class)}</td><td><code>{_text(one.name)}</code></td>"
            f'<td class="number">{one.count:,}</td><td class="number">{one.runs:,}</td>'
            f"<td>{_text(place)}<br>{_text(one.example_reason)}"
            f"<br><code>canvass verify {_text(quote(one.example_source))}</code></td>"
            f"<td>{mark}</td></tr>"
        )
    head = _head("class", "action or property", "*count", "*runs", "one example", "")
    return (
        f"<h2>Divergences</h2>{_left_out(len(rows), summary.cluster_count)}"
        f"<table>{head}{''.join(rows)}</table>"
    )


def _listed(summary: Summary) -> str:
    if not summary.listed:
        return ""
    rows = (
        f"<tr><td>{_text(one.verdict)}</td><td>{_text(one.run_id or '')}</td>"
        f'<td class="number">{one.events:,}</td><td>{_text(one.reason)}</td>'
        f"<td><code>{_text(one.source)}</code></td></tr>"
        for one in summary.listed
    )
    head = _head("verdict", "run", "*events", "reason", "where")
    return (
        "<h2>Runs that do not conform</h2>"
        f"{_left_out(len(summary.listed), summary.listed_count)}"
        f"<table>{head}{''.join(rows)}</table>"
    )


def _coverage(summary: Summary) -> str:
    rows = "".join(
        f'<tr><td><code>{_text(one.action)}</code></td><td class="number">{one.events:,}</td></tr>'
        for one in summary.coverage
    )
    never = ", ".join(f"<code>{_text(name)}</code>" for name in summary.never_taken)
    missing = f"<p>Never taken: {never}.</p>" if never else "<p>Every action was taken.</p>"
    head = _head("action", "*events")
    return f"<h2>Actions of the spec</h2>{missing}<table>{head}{rows}</table>"


def _origin(summary: Summary) -> str:
    corpora = ", ".join(f"<code>{_text(name)}</code>" for name in summary.corpora)
    return f'<p class="note">canvass {_text(summary.version)}; corpora: {corpora}</p>'


def _left_out(shown: int, count: int) -> str:
    if shown >= count:
        return ""
    return f'<p class="note">The first {shown:,} of {count:,}; the tables hold all.</p>'


def _head(*names: str) -> str:
    cells = (
        f'<th class="number">{_text(name[1:])}</th>'
        if name.startswith("*")
        else f"<th>{_text(name)}</th>"
        for name in names
    )
    return f"<tr>{''.join(cells)}</tr>"


def _text(value: str) -> str:
    """Escape text; control characters, which no page should hold, become their names."""
    return escape("".join(_visible(value)))


def _visible(value: str) -> Iterable[str]:
    for character in value:
        yield character if character.isprintable() else ascii(character)[1:-1]

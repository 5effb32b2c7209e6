"""The report on a corpus for a person, of a `canvass.corpus.summary.Summary`: text, and a page.

The page has no scripts, and its frame and policy are those of `canvass.conformance.html`. All texts
of a corpus go through the template's escaping, which also shows control characters by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from canvass.conformance.findings import step_name
from canvass.conformance.html import MAX_TEXT, link, page
from canvass.corpus.summary import (
    DivergenceClassSummary,
    Summary,
    in_part_text,
    name_of,
    revision_texts,
    totals,
    verdict_counts,
)
from canvass.lanes.model import shortened, visible
from canvass.traces.counts import counted

REPORT_FILE: Final = "report.html"
_STYLE: Final = ".word { white-space: nowrap; overflow-wrap: normal; }\n"
_New = Sequence[DivergenceClassSummary] | None


def to_html(summary: Summary, new: _New = None, folder: Path | None = None) -> str:
    """Return the page.

    Parameters
    ----------
    summary
        The summary.
    new
        The clusters that the baseline does not have; None without a baseline.
    folder
        Folder of the page, for relative links to runs; None if it is in a store.
    """

    def linked(path: str, words: str) -> Markup:
        return Markup(link(path, words, folder))

    given = {"link": linked, "command": _command}
    body = _rendered("html", summary, new, given)
    return page(f"canvass: {counted(summary.runs, 'run')}", [body], style=_STYLE)


def to_text(summary: Summary, new: _New = None, out: str | None = None) -> str:
    """Return the lines for a terminal; ``out`` is the folder of the report, if there is one."""
    return _rendered("txt", summary, new, {"out": out and out.rstrip("/")})


def _rendered(form: str, summary: Summary, new: _New, given: dict[str, Any]) -> str:
    fresh = None if new is None else {cluster.identity for cluster in new}

    def mark(one: DivergenceClassSummary) -> str:
        return "" if fresh is None else "new" if one.identity in fresh else "known"

    def plain(value: object) -> object:
        if type(value) is not str:
            return value
        return shortened(value, MAX_TEXT) if form == "html" else visible(value)

    words = (counted, name_of, step_name, totals, verdict_counts, mark)
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=form == "html",
        finalize=plain,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {word.__name__: word for word in words}
    notes = [*filter(None, (*revision_texts(summary), in_part_text(summary)))]
    return environment.get_template(f"report.{form}.jinja").render(s=summary, notes=notes, **given)


def _command(source: str) -> str:
    """Return the command that shows an example."""
    if "://" in source:
        return f"canvass batch verify {quote(source)} --out example"
    return f"canvass browse {quote(str(Path(source).absolute()))}"

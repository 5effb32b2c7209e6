"""The report on a corpus for a person, of a `canvass.corpus.summary.Summary`: text, and a page.

The page has no scripts; its frame and policy are those of `canvass.conformance.templates`. All
texts of a corpus go through the template's escaping, which also shows control characters by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Any, Final

from jinja2 import Environment

from canvass.conformance.findings import step_name
from canvass.conformance.templates import environment, page
from canvass.corpus.summary import (
    DivergenceClassSummary,
    Summary,
    in_part_text,
    name_of,
    revision_texts,
    totals,
    verdict_counts,
)
from canvass.traces.counts import counted

REPORT_FILE: Final = "report.html"
_HERE: Final = Path(__file__).parent
_STYLE: Final = ".word { white-space: nowrap; overflow-wrap: normal; }\n"
_New = Sequence[DivergenceClassSummary] | None


def to_html(summary: Summary, new: _New = None, folder: Path | None = None) -> str:
    """Return the page.

    Parameters
    ----------
    summary
        The summary.
    new
        The clusters that are new in the tables; None if all are alike.
    folder
        Folder of the page, for relative links to runs; None if it is in a store.
    """
    made = environment(_HERE)
    body = _rendered(made, "html", summary, new, {"command": _command, "folder": folder})
    return page(f"canvass: {counted(summary.runs, 'run')}", [body], style=_STYLE)


def to_text(summary: Summary, new: _New = None, out: str | None = None) -> str:
    """Return the lines for a terminal; ``out`` is the folder of the report, if there is one."""
    made = environment(_HERE, markup=False)
    return _rendered(made, "txt", summary, new, {"out": out and out.rstrip("/")})


def _rendered(
    made: Environment, form: str, summary: Summary, new: _New, given: dict[str, Any]
) -> str:
    fresh = None if new is None else {cluster.identity for cluster in new}

    def mark(one: DivergenceClassSummary) -> str:
        return "" if fresh is None else "new" if one.identity in fresh else "known"

    words = (counted, name_of, step_name, totals, verdict_counts, mark)
    made.globals |= {word.__name__: word for word in words}
    notes = [*filter(None, (*revision_texts(summary), in_part_text(summary)))]
    return made.get_template(f"report.{form}.jinja").render(s=summary, notes=notes, **given)


def _command(source: str) -> str:
    """Return the command that shows an example."""
    if "://" in source:
        return f"canvass batch verify {quote(source)} --out example"
    return f"canvass browse {quote(str(Path(source).absolute()))}"

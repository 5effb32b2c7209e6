"""Reports as self-contained pages: the frame of all of them, and that of a verification.

A page loads nothing and runs nothing: the content security policy allows its own style, by the
style's hash, and nothing else, even if an escape is missing. Pages are templates of jinja2, beside
this module; the environment escapes all text from a trace. Lanes are drawn as text.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup, escape

from canvass.conformance.report import (
    CLASS_TEXTS,
    OF_STEPS,
    Case,
    about,
    by_cause,
    natural,
    notes,
    run_names,
    timing_lines,
)
from canvass.conformance.verdict import (
    WORST_FIRST,
    CorpusVerdict,
    Verdict,
)
from canvass.lanes.model import Diagram, shortened, visible
from canvass.lanes.text import Line, TextLanes
from canvass.traces.counts import counted
from canvass.traces.schema import encode

MAX_TEXT: Final = 400
"""Characters of a text in a sentence or a cell: more than any message of canvass has."""
MAX_LINE: Final = 20_000
"""Characters of a preformatted line: an event of nine members."""
MAX_LISTED: Final = 1_000
"""Runs in a table; runs that do not conform come first."""
_MAX_SPEC_LINES: Final = 80
_LANE_COLUMNS: Final = 40
"""Characters of each lane."""
_HERE: Final = Path(__file__).parent
_WORDS: Final = {
    Verdict.CONFORMS: "conforms",
    Verdict.DIVERGES: "diverges",
    Verdict.MALFORMED: "is malformed",
    Verdict.INCOMPLETE: "is incomplete",
}


def environment(folder: Path = _HERE, *, markup: bool = True) -> Environment:
    """Make the environment of the templates in a folder, which may import those beside this module.

    Control characters, which nothing shown should hold, become their names. In markup texts are
    escaped. A text beyond `MAX_TEXT` is cut there and ends with an ellipsis; with the filter
    ``line`` beyond `MAX_LINE`.
    """

    def shown(value: object) -> object:
        if not isinstance(value, str):
            return value
        return text(value) if markup else visible(value)

    made = Environment(
        loader=FileSystemLoader([folder, _HERE]),
        autoescape=markup,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["line"] = lambda value: text(value, MAX_LINE)
    made.globals |= {"link": link, "counted": counted}
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


def text(value: object, limit: int = MAX_TEXT) -> Markup:
    """Escape and cut a text, as the templates do; markup stays as it is."""
    return value if isinstance(value, Markup) else escape(shortened(str(value), limit))


def link(path: str, words: str, folder: Path | None) -> Markup:
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
    return Markup('<a href="{}">{}</a>').format(quote(os.fsencode(target)), text(words))


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
        "listed": sorted(
            runs,
            key=lambda one: (
                WORST_FIRST.index(one.verdict),
                natural(one.run_id),
                natural(one.path),
            ),
        ),
        "most": MAX_LISTED,
        "most_lines": _MAX_SPEC_LINES,
        "class_texts": CLASS_TEXTS,
        "of_steps": OF_STEPS,
    }
    words = (about, encode, run_names, timing_lines)
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

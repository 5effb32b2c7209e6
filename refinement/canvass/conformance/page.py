"""One self-contained page: its frame, its policy, and the only way text gets into it.

A page loads nothing and runs nothing: the content security policy allows its own style, by the
style's hash, and nothing else, should an escape ever be missing. Whatever comes from a trace goes
through `text`.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Final
from urllib.parse import quote

from canvass.lanes.model import shortened

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
"""What all pages look like."""
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

    A text beyond the limit is cut and ends with an ellipsis: reports as data hold the whole.
    """
    return escape(shortened(str(value), limit))


def link(path: str, words: str, folder: Path | None) -> str:
    """Give plain words as a link to a file or folder, if it is there.

    Parameters
    ----------
    folder
        Where the page is written: the link holds if both are moved together. None if that is not
        known; the link is absolute then.
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

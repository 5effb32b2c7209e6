"""Templates of jinja2: the environment of all of them, and the frame of all pages.

A page loads nothing and runs nothing: the content security policy allows its own style, by the
style's hash, and nothing else, even if an escape is missing.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup, escape

from canvass.lanes.model import shortened, visible
from canvass.traces.counts import counted

MAX_TEXT: Final = 400
"""Characters of a text in a sentence or a cell: more than any message of canvass has."""
MAX_LINE: Final = 20_000
"""Characters of a preformatted line: an event of nine members."""
_HERE: Final = Path(__file__).parent


def environment(folder: Path = _HERE, *, markup: bool = True) -> Environment:
    """Make the environment of the templates in a folder, which may import those beside this module.

    Control characters, which nothing shown should hold, become their names. In markup, texts are
    escaped. A text longer than `MAX_TEXT` is cut there and ends with an ellipsis; with the filter
    ``line`` the limit is `MAX_LINE`.
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

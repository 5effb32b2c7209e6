"""The pages on hazards that a text names, as blocks for the page to show: ``docs/findings``."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

from canvass.browser import api
from canvass.browser.guard import not_found

_HERE: Final = Path(__file__).resolve().parent
_FOLDERS: Final = (_HERE / "findings", _HERE.parents[2] / "docs" / "findings")
"""Of a wheel, and of a checkout."""
_NAME: Final = re.compile(r"\b(?:HZ\d{1,2}|L-[A-E])\b")
_LINK: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def hazards_in(*texts: str) -> tuple[str, ...]:
    """Give the hazards that texts name and that have a page."""
    names = dict.fromkeys(name for text in texts for name in _NAME.findall(text))
    return tuple(name for name in names if _file(name) is not None)


@cache
def hazard_page(name: str) -> api.HazardPage:
    """Read the page on a hazard.

    Raises
    ------
    Refusal
        If there is none.
    """
    file = _file(name)
    if file is None:
        raise not_found("there is no page on that hazard")
    lines = file.read_text(encoding="utf-8").splitlines()
    title = lines[0].lstrip("# ")
    return api.HazardPage(name=name, title=title, blocks=tuple(_blocks(lines[1:])))


def _file(name: str) -> Path | None:
    if not _NAME.fullmatch(name):
        return None
    return next((f / f"{name}.md" for f in _FOLDERS if (f / f"{name}.md").is_file()), None)


def _blocks(lines: list[str]) -> list[api.TextBlock]:
    """Split Markdown into headings, paragraphs, and parts whose lines are kept."""
    found: list[api.TextBlock] = []
    part: list[str] = []
    fenced = False

    def close(kind: str) -> None:
        text = "\n".join(part) if kind == "code" else _plain(" ".join(part))
        if text.strip():
            found.append(api.TextBlock(kind=kind, text=text))
        part.clear()

    for line in lines:
        if line.startswith("```"):
            close("code" if fenced else "paragraph")
            fenced = not fenced
        elif fenced:
            part.append(line)
        elif line.startswith("#"):
            close("paragraph")
            found.append(api.TextBlock(kind="heading", text=_plain(line.lstrip("# "))))
        elif not line.strip():
            close("paragraph")
        else:
            part.append(line.strip())
    close("code" if fenced else "paragraph")
    return found


def _plain(text: str) -> str:
    return _LINK.sub(r"\1", text).replace("**", "").replace("`", "")

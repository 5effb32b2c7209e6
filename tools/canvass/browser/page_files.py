"""The page's files, read once into a table: no request is ever joined to a path.

The build of ``ui/`` makes the folder; it is in a wheel and not in the repository.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

INDEX: Final = "index.html"
MEDIA_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}
"""What the page may consist of; a file of another kind is not served."""


class PageError(Exception):
    """The page was not built; the message is one line."""


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file of the page."""

    content: bytes
    media_type: str


def page_files() -> dict[str, PageFile]:
    """Read the page's files, by the paths they are asked for under.

    Raises
    ------
    PageError
        If the page was not built.
    """
    folder = files("canvass.browser").joinpath("page")
    index = folder.joinpath(INDEX)
    if not index.is_file():
        raise PageError("the page is not built: `make page` builds it (a wheel has it already)")
    found = {f"/assets/{name}": file for name, file in _files(folder, "")}
    page = found.pop(f"/assets/{INDEX}")
    return {"/": page, **found}


def _files(folder: Traversable, prefix: str) -> list[tuple[str, PageFile]]:
    found: list[tuple[str, PageFile]] = []
    for entry in sorted(folder.iterdir(), key=lambda one: one.name):
        if entry.is_dir():
            # The build may put them into a folder of their name, or beside the page.
            inner = prefix if entry.name == "assets" and not prefix else f"{prefix}{entry.name}/"
            found += _files(entry, inner)
            continue
        kind = MEDIA_TYPES.get("." + entry.name.rpartition(".")[2])
        if kind is not None:
            found.append((f"{prefix}{entry.name}", PageFile(entry.read_bytes(), kind)))
    return found

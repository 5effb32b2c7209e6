"""The page's files, read once into a table: no request is ever joined to a path.

The build of ``ui/`` makes the folder; it is in a wheel and not in the repository.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
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
    found = {"/": PageFile(index.read_bytes(), MEDIA_TYPES[".html"])}
    for file in folder.iterdir():
        kind = MEDIA_TYPES.get("." + file.name.rpartition(".")[2])
        if kind is not None and file.name != INDEX:
            found[f"/assets/{file.name}"] = PageFile(file.read_bytes(), kind)
    return found

"""The application: a fixed table of routes, which question each one asks, and the page's files.

Only arguments are read here; answers come from the sources. Every answer is JSON but those of the
page's own files. These are read once into a table: no request is ever joined to a path. The build
of ``ui/`` makes their folder; it is in a wheel and not in the repository.
"""

from __future__ import annotations

import runpy
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import anyio.to_thread
from anyio import CapacityLimiter
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp

from canvass.browser import api
from canvass.browser.arguments import Arguments, Ask, Question
from canvass.browser.graph_routes import graph_questions
from canvass.browser.guard import Access, Guard, Refusal, bad_request, not_found
from canvass.browser.limits import WORKERS, encoded
from canvass.browser.overview import overview
from canvass.browser.run_routes import run_questions
from canvass.browser.sources import Store
from canvass.graph import GraphError
from canvass.graph.syntax import PredicateError
from canvass.graph.walks import NoPath

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


def page_is_old(package: Path) -> bool:
    """Whether the page was built from other sources than a checkout has now.

    Parameters
    ----------
    package
        The folder with the page and, in a checkout, its sources; `tools/page.py` builds the page.
    """
    if not (package / "ui").is_dir():
        return False
    build = runpy.run_path(str(package.parents[1] / "page.py"))
    return not build["up_to_date"]()


JSON: Final = "application/json"


class Browser:
    """Answers questions about sources.

    Parameters
    ----------
    store
        What was opened.
    files
        The page's files by their paths.
    """

    def __init__(self, store: Store, files: dict[str, PageFile]) -> None:
        self.store = store
        self.files = files
        self._limiter: CapacityLimiter | None = None

    def application(self, access: Access) -> ASGIApp:
        """Give the application for a server."""
        questions = [
            Question("/session", (), self._session),
            Question("/overview", (), lambda _: overview()),
            *graph_questions(self.store),
            *run_questions(self.store),
        ]
        routes = [Route(f"/api{one.path}", self._endpoint(one)) for one in questions]
        routes += [Route(path, self._file(file)) for path, file in self.files.items()]
        router = Router(routes, redirect_slashes=False, default=_nothing)
        return Guard(router, access)

    def _endpoint(self, question: Question) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            if self._limiter is None:
                self._limiter = CapacityLimiter(WORKERS)
            arguments = Arguments(request.scope, question.known)
            return await anyio.to_thread.run_sync(
                _answer, question.ask, arguments, limiter=self._limiter
            )

        return endpoint

    def _file(self, file: PageFile) -> Callable[[Request], Any]:
        async def endpoint(_: Request) -> Response:
            return Response(file.content, media_type=file.media_type)

        return endpoint

    def _session(self, _: Arguments) -> api.Session:
        listed = self.store.listed()
        return api.Session(opened=listed[0].id if listed else "", sources=listed)


def _answer(ask: Ask, arguments: Arguments) -> Response:
    try:
        found = ask(arguments)
    except NoPath as error:
        raise Refusal(404, "no-path", str(error)) from None
    except PredicateError as error:
        raise Refusal(400, "expression", str(error), error.column) from None
    except GraphError as error:
        raise bad_request(str(error)) from None
    if isinstance(found, Response):
        return found
    return Response(encoded(found), media_type=JSON)


async def _nothing(*_: object) -> None:
    raise not_found("there is no such page")

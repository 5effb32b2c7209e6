"""The application: the table of routes, and the page's files.

A route reads arguments; the sources have the answers. Every answer is JSON, except the files of the
page. They are read once into a table, so no part of a request is ever used as a file path.
``make page`` makes their folder from ``ui/``; the folder is in a wheel, not in the repository.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from typing import Any, Final

import anyio.to_thread
from anyio import CapacityLimiter
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp

from canvass.browser import api
from canvass.browser.access import Access, AccessControl
from canvass.browser.graph_routes import GraphRoutes
from canvass.browser.limits import WORKERS, encoded
from canvass.browser.memory import give_back
from canvass.browser.questions import (
    Arguments,
    Ask,
    Refusal,
    at,
    bad_request,
    not_found,
    questions_of,
)
from canvass.browser.run_routes import RunRoutes
from canvass.browser.saved_page import HTML, PageFile, attachment, saved_page
from canvass.browser.sources import Store
from canvass.browser.what_if import WhatIfRoutes
from canvass.graph import GraphError
from canvass.graph.syntax import PredicateError
from canvass.graph.walks import NoPath

INDEX: Final = "index.html"
MEDIA_TYPES: Final = {
    ".html": HTML,
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
}
"""Media types of the page's files; a file of another kind is not served."""


class PageError(Exception):
    """The page is not built; the message is one line."""


def page_files() -> dict[str, PageFile]:
    """Read the page's files; the keys are the paths of their addresses.

    Raises
    ------
    PageError
        If the page is not built.
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


class Browser:
    """The application.

    Parameters
    ----------
    store
        The opened sources.
    files
        The page's files, by the paths of their addresses.
    """

    def __init__(self, store: Store, files: dict[str, PageFile]) -> None:
        self.store = store
        self.files = files
        self._limiter: CapacityLimiter | None = None

    def application(self, access: Access) -> ASGIApp:
        """Build the ASGI application, guarded by ``access``."""
        answering = GraphRoutes(self.store), RunRoutes(self.store)
        questions = questions_of(self, *answering, WhatIfRoutes(self.store, self.files))
        routes = [Route(f"/api{path}", self._endpoint(ask)) for path, ask in questions.items()]
        routes += [Route(path, self._file(file)) for path, file in self.files.items()]
        router = Router(routes, redirect_slashes=False, default=_nothing)
        return AccessControl(router, access)

    def _endpoint(self, ask: Ask) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            if self._limiter is None:
                self._limiter = CapacityLimiter(WORKERS)
            arguments = Arguments(request.scope)
            return await anyio.to_thread.run_sync(_answer, ask, arguments, limiter=self._limiter)

        return endpoint

    def _file(self, file: PageFile) -> Callable[[Request], Any]:
        async def endpoint(_: Request) -> Response:
            return Response(file.content, media_type=file.media_type)

        return endpoint

    @at("/session")
    def session(self, _: Arguments) -> api.Session:
        """List what is open."""
        return api.Session(self.store.listed())

    @at("/page/{source}")
    def page(self, arguments: Arguments) -> Response:
        """Write the page of a run or a counterexample in one file."""
        name = arguments.part("source")
        return attachment(saved_page(self.store, self.files, name), f"{name}.html", HTML)


def _answer(ask: Ask, arguments: Arguments) -> Response:
    try:
        found = ask(arguments)
    except NoPath as error:
        raise Refusal(404, "no-path", str(error)) from None
    except PredicateError as error:
        raise Refusal(400, "expression", str(error), error.column) from None
    except GraphError as error:
        raise bad_request(str(error)) from None
    finally:
        give_back()
    if isinstance(found, Response):
        return found
    return Response(encoded(found), media_type="application/json")


async def _nothing(*_: object) -> None:
    raise not_found("there is no such page")

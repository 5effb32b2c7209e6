"""The application: the table of routes, and the page's files.

Most questions are about one source, and its content answers them (`CONTENTS`). Those about several
sources are answered here, those about steps that are tried in `what_if`. Every answer is JSON,
except files. The files of the page are read once into a table, so no part of a request is ever used
as a file path. ``make page`` makes their folder from ``ui/``; the folder is in a wheel, not in the
repository.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.resources import files
from typing import Final

from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp

from canvass.browser import api
from canvass.browser.access import AccessControl
from canvass.browser.counterexamples import Counterexample
from canvass.browser.graphs import OpenGraph
from canvass.browser.memory import give_back
from canvass.browser.questions import (
    Answer,
    Ask,
    Number,
    Refusal,
    Text,
    arguments_of,
    at,
    bad_request,
    encoded,
    not_found,
    questions_of,
)
from canvass.browser.reports import OpenCorpus, OpenReport
from canvass.browser.saved_page import attachment, saved_page, write_page
from canvass.browser.sources import Store
from canvass.browser.verdicts import RunSource, hazard_page
from canvass.browser.what_if import StartKind, Tried, WhatIf
from canvass.graph import GraphError
from canvass.graph.queries import NoPath
from canvass.graph.syntax import PredicateError

CONTENTS: Final[dict[api.Kind, type]] = {
    "graph": OpenGraph,
    "run": RunSource,
    "corpus": OpenCorpus,
    "report": OpenReport,
    "counterexample": Counterexample,
}
"""The contents of sources, which answer the questions about one source."""
TRIED: Final = "/what-if/{kind}/{source}/{at}"
_INDEX: Final = "index.html"
_MEDIA_TYPES: Final = {"js": "text/javascript", "css": "text/css", "txt": "text/plain"}
"""Media types of the page's other files; a file of another kind is not served."""


class PageError(Exception):
    """The page is not built; the message is one line."""


def page_files() -> dict[str, bytes]:
    """Read the page's files; the keys are the paths of their addresses.

    Raises
    ------
    PageError
        If the page is not built.
    """
    folder = files("canvass.browser").joinpath("page")
    index = folder.joinpath(_INDEX)
    if not index.is_file():
        raise PageError("the page is not built: `make page` builds it (a wheel has it already)")
    others = {
        f"/assets/{file.name}": file.read_bytes()
        for file in folder.iterdir()
        if file.name.rpartition(".")[2] in _MEDIA_TYPES
    }
    return {"/": index.read_bytes(), **others}


class Browser:
    """The application.

    Parameters
    ----------
    store
        The opened sources.
    files
        The page's files, by the paths of their addresses.
    """

    def __init__(self, store: Store, files: dict[str, bytes]) -> None:
        self.store, self.files = store, files
        self.what_if = WhatIf(store)

    def application(self, port: int, token: str) -> ASGIApp:
        """Build the ASGI application for requests to a port with a token."""
        routes = [Route(path, _file(path, content)) for path, content in self.files.items()]
        routes += [Route(f"/api{path}", _endpoint(ask)) for path, ask in questions_of(self)]
        asked: dict[str, tuple[type, Callable[..., object]]] = {
            f"/{kind}/{{source}}": (content, partial(self.store.content, kind))
            for kind, content in CONTENTS.items()
        }
        asked[TRIED] = Tried, self.what_if.tried
        for base, (content, find) in asked.items():
            for path, ask in questions_of(content):
                routes.append(Route(f"/api{base}{path}", _endpoint(ask, find)))
        router = Router(routes, redirect_slashes=False, default=_nothing)
        return AccessControl(router, port, token)

    @at("/session")
    def session(self) -> Answer:
        """List what is open."""
        return api.Session(self.store.listed())

    @at("/page/{source}")
    def page(self, source: str) -> Answer:
        """Write the page of a run or a counterexample in one file."""
        content = saved_page(self.store, self.files, source)
        return attachment(content, f"{source}.html", "text/html")

    @at(f"{TRIED}/page")
    def page_of_tried(self, kind: StartKind, source: str, at: str, path: Text = "") -> Answer:
        """Write the page of the tried steps in one file."""
        view = self.what_if.tried(kind, source, at, path).behaviour().view("what-if")
        shown = api.SourceInfo(id="what-if", kind="counterexample", title=view.title, detail="")
        content = write_page(self.files, shown, [("counterexample/what-if", view)])
        return attachment(content, "what-if.html", "text/html")

    @at("/hazard/{name}")
    def hazard(self, name: str) -> Answer:
        """Give the page on a hazard."""
        return hazard_page(name)

    @at("/run/{source}/step/{member}/{step}")
    def step(self, source: str, member: Number, step: Number) -> Answer:
        """Describe a step of a run, with its place in an open graph."""
        run: RunSource = self.store.content("run", source)
        row = run.opened.lanes.row_of(member, step)
        if row is None:
            raise not_found(f"the run has no step {step} of member {member}")
        answer = run.opened.step(row, run.wrong_at(member, step))
        if (found := run.graph(self.store)) is None:
            return answer
        name, graph, steps = found
        if not steps.ready():
            return replace(answer, graph_pending=True)
        if (place := steps.place(run.opened.loaded, row)) is None:
            return answer
        edge, *ends = place
        begin, end = map(graph.view.id_of, ends)
        return replace(answer, graph=api.InGraph(name, begin, end, edge))


def _endpoint(ask: Ask, find: Callable[..., object] | None = None) -> Callable[[Request], Response]:
    """Make the endpoint of a question; it is asked of what ``find`` gives, if that is not None."""
    arguments_in, place_in = arguments_of(ask), find and arguments_of(find)

    def endpoint(request: Request) -> Response:
        texts = {**request.query_params, **request.path_params}
        try:
            asked = (find(**place_in(texts)),) if find and place_in else ()
            found = ask(*asked, **arguments_in(texts))
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

    return endpoint


def _file(path: str, content: bytes) -> Callable[[Request], Response]:
    media_type = _MEDIA_TYPES.get(path.rpartition(".")[2], "text/html")
    return lambda _: Response(content, media_type=media_type)


async def _nothing(*_: object) -> None:
    raise not_found("there is no such page")

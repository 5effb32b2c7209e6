"""The application: the table of routes, and the page's files.

A route reads arguments; the sources have the answers. The routes on runs, corpora, reports and
counterexamples are here, those on graphs and on steps that were tried beside their subjects. Every
answer is JSON, except the files of the page. They are read once into a table, so no part of a
request is ever used as a file path. ``make page`` makes their folder from ``ui/``; the folder is in
a wheel, not in the repository.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from typing import Any, Final

import anyio.to_thread
from anyio import CapacityLimiter
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp

from canvass.browser import api
from canvass.browser.access import Access, AccessControl
from canvass.browser.counterexamples import Counterexample
from canvass.browser.graphs import GraphRoutes
from canvass.browser.memory import give_back
from canvass.browser.questions import (
    LISTED,
    Answer,
    Arguments,
    Ask,
    Refusal,
    at,
    bad_request,
    encoded,
    not_found,
    questions_of,
)
from canvass.browser.reports import OpenCorpus, OpenReport
from canvass.browser.run_find import find_in_run, next_change
from canvass.browser.runs import FOLDS, timeline_of
from canvass.browser.saved_page import HTML, PageFile, attachment, saved_page
from canvass.browser.sources import Store
from canvass.browser.verdicts import RunSource, hazard_page, marks_of
from canvass.browser.what_if import WhatIfRoutes
from canvass.graph import GraphError
from canvass.graph.queries import NoPath
from canvass.graph.syntax import PredicateError

_WORKERS: Final = 4
"""Requests answered in parallel: more would only compete for the same cores."""
_LANE_EVENTS: Final = 1000
_MAX_PAGE: Final = 1_000_000


class _RunRoutes:
    """Answers about the runs of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def _run(self, arguments: Arguments) -> RunSource:
        run: RunSource = self._store.content("run", arguments.part("run"))
        return run

    @at("/run/{run}")
    def info(self, arguments: Arguments) -> Answer:
        """Describe a run, with its verdict if it is checked."""
        return self._run(arguments).view(arguments.part("run"))

    @at("/run/{run}/lanes")
    def lanes(self, arguments: Arguments) -> Answer:
        """Draw a window of the events."""
        run = self._run(arguments)
        total = run.opened.total
        show = arguments.text("show")
        if show and show not in FOLDS:
            raise bad_request(f"show is one of: {', '.join(FOLDS)}")
        last = max(0, total - 1)
        around = arguments.number("around", 0, last) if arguments.text("around") else None
        start = (
            arguments.number("from", 0, total) if arguments.text("from") or around is None else None
        )
        count = arguments.number("count", 200, _LANE_EVENTS, 1)
        marks = marks_of(run.opened, run.checked.verdict)
        return run.opened.window(count, marks, show=show, start=start, around=around)

    @at("/run/{run}/members")
    def members(self, arguments: Arguments) -> Answer:
        """Give the states of all members after an event."""
        opened = self._run(arguments).opened
        return opened.members_at(arguments.number("at", 0, max(0, opened.total - 1)))

    @at("/run/{run}/step/{member}/{step}")
    def step(self, arguments: Arguments) -> Answer:
        """Describe a step, with its place in an open graph."""
        run = self._run(arguments)
        member, step = arguments.number_in_path("member"), arguments.number_in_path("step")
        row = run.opened.lanes.row_of(member, step)
        if row is None:
            raise not_found(f"the run has no step {step} of member {member}")
        answer = run.opened.step(row, run.wrong_at(member, step))
        if (found := run.graph(self._store)) is None:
            return answer
        name, graph, steps = found
        if not steps.ready():
            return replace(answer, graph_pending=True)
        if (place := steps.place(run.opened.loaded, row)) is None:
            return answer
        edge, *ends = place
        source, target = map(graph.view.id_of, ends)
        return replace(answer, graph=api.InGraph(name, source, target, edge))

    @at("/run/{run}/explanation")
    def explanation(self, arguments: Arguments) -> Answer:
        """Explain what happened in a run."""
        return self._run(arguments).explanation()

    @at("/run/{run}/find")
    def find(self, arguments: Arguments) -> Answer:
        """Find the events after which a predicate holds."""
        run = self._run(arguments)
        limit = arguments.number("limit", 100, LISTED, 1)
        return find_in_run(run.opened, run.states.get(), arguments.text("where"), limit)

    @at("/run/{run}/change")
    def change(self, arguments: Arguments) -> Answer:
        """Find the next change of a field."""
        opened = self._run(arguments).opened
        at = arguments.number("at", 0, max(0, opened.total - 1))
        member = arguments.number("member", 0, max(0, len(opened.places) - 1))
        return next_change(opened, arguments.required("field"), member, at)

    @at("/hazard/{hazard}")
    def hazard(self, arguments: Arguments) -> Answer:
        """Give the page on a hazard."""
        return hazard_page(arguments.part("hazard"))

    @at("/run/{run}/timeline")
    def timeline(self, arguments: Arguments) -> Answer:
        """Give election states, leaderships and marks of the whole run."""
        run = self._run(arguments)
        return timeline_of(run.opened, marks_of(run.opened, run.checked.verdict))

    def _many(self, arguments: Arguments) -> tuple[str, OpenReport | OpenCorpus]:
        kind, name = arguments.place
        found: OpenReport | OpenCorpus = self._store.content(kind, name)
        return name, found

    @at("/report/{report}", "/corpus/{corpus}")
    def many(self, arguments: Arguments) -> Answer:
        """Give the summary of a report, or count the runs of a corpus."""
        name, found = self._many(arguments)
        return found.view(name)

    @at("/report/{report}/runs", "/corpus/{corpus}/runs")
    def runs(self, arguments: Arguments) -> Answer:
        """Give a page of the runs of a report or corpus."""
        name, found = self._many(arguments)
        page = arguments.number("page", 0, _MAX_PAGE)
        return found.runs(name, arguments.text("verdict"), arguments.text("text"), page)

    @at("/counterexample/{counterexample}")
    def counterexample(self, arguments: Arguments) -> Answer:
        """Describe a counterexample."""
        name = arguments.part("counterexample")
        found: Counterexample = self._store.content("counterexample", name)
        return found.view(name)

    @at("/counterexample/{counterexample}/formula")
    def formula(self, arguments: Arguments) -> Answer:
        """Give the definition of the violated property, and its false parts in each state."""
        found: Counterexample = self._store.content(
            "counterexample", arguments.part("counterexample")
        )
        return found.formula()


_INDEX: Final = "index.html"
_MEDIA_TYPES: Final = {
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
    index = folder.joinpath(_INDEX)
    if not index.is_file():
        raise PageError("the page is not built: `make page` builds it (a wheel has it already)")
    found = {"/": PageFile(index.read_bytes(), _MEDIA_TYPES[".html"])}
    for file in folder.iterdir():
        kind = _MEDIA_TYPES.get("." + file.name.rpartition(".")[2])
        if kind is not None and file.name != _INDEX:
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
        on_runs, on_graphs = _RunRoutes(self.store), GraphRoutes(self.store)
        questions = questions_of(self, on_runs, on_graphs, WhatIfRoutes(self.store, self.files))
        routes = [Route(f"/api{path}", self._endpoint(ask)) for path, ask in questions.items()]
        routes += [Route(path, self._file(file)) for path, file in self.files.items()]
        router = Router(routes, redirect_slashes=False, default=_nothing)
        return AccessControl(router, access)

    def _endpoint(self, ask: Ask) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            if self._limiter is None:
                self._limiter = CapacityLimiter(_WORKERS)
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

"""The application: the table of routes, the page's files, and the election's state machine.

A route reads arguments; the sources have the answers. Every answer is JSON, except the files of the
page. They are read once into a table, so no request is ever joined to a path. ``make page`` makes
their folder from ``ui/``; it is in a wheel, not in the repository.

The election's state machine needs no source. `election.json` has the changes of the election state
that TLC printed; a test compares it with state graphs. The places of the states, and the edges of
the published diagram, are written here by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

import anyio.to_thread
import msgspec
from anyio import CapacityLimiter
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp

from canvass.browser import api
from canvass.browser.access import Access, AccessControl
from canvass.browser.api import Overview, OverviewEdge, OverviewState
from canvass.browser.graph_routes import graph_questions
from canvass.browser.limits import WORKERS, encoded
from canvass.browser.questions import Arguments, Ask, Question, Refusal, bad_request, not_found
from canvass.browser.run_routes import run_questions
from canvass.browser.sources import Store
from canvass.cluster.member import ElectionState
from canvass.graph import GraphError
from canvass.graph.syntax import PredicateError
from canvass.graph.walks import NoPath

EDGES_FILE: Final = "election.json"

COLUMN: Final = 340.0
ROW: Final = 90.0
_PLACES: Final[dict[str, tuple[float, float, str]]] = {
    "INIT": (0, 0, "start"),
    "CANVASS": (0, 1, "start"),
    "NOMINATE": (0, 2, "candidate"),
    "CANDIDATE_BALLOT": (0, 3, "candidate"),
    "LEADER_LOG_REPLICATION": (0, 4, "leader"),
    "LEADER_REPLAY": (0, 5, "leader"),
    "LEADER_INIT": (0, 6, "leader"),
    "LEADER_READY": (0, 7, "leader"),
    "CLOSED": (0, 9, "outside"),
    "FOLLOWER_BALLOT": (1, 3, "follower"),
    "FOLLOWER_REPLAY": (1, 4, "follower"),
    "FOLLOWER_LOG_INIT": (1, 6, "follower"),
    "FOLLOWER_READY": (1, 8, "follower"),
    "FOLLOWER_LOG_REPLICATION": (2, 2, "follower"),
    "FOLLOWER_CATCHUP_INIT": (2, 4, "follower"),
    "FOLLOWER_CATCHUP_AWAIT": (2, 5, "follower"),
    "FOLLOWER_CATCHUP": (2, 6, "follower"),
    "FOLLOWER_LOG_AWAIT": (2, 7, "follower"),
}
"""Column, row and phase of each state, as in the published diagram: the leader's states on the
left, a follower's in the middle, those of a catch-up on the right.
"""

SEEDS: Final = frozenset(
    {
        ("INIT", "CANVASS"),
        ("INIT", "LEADER_LOG_REPLICATION"),
        ("CANVASS", "NOMINATE"),
        ("CANVASS", "FOLLOWER_BALLOT"),
        ("CANVASS", "FOLLOWER_LOG_REPLICATION"),
        ("CANVASS", "FOLLOWER_REPLAY"),
        ("NOMINATE", "CANDIDATE_BALLOT"),
        ("NOMINATE", "FOLLOWER_BALLOT"),
        ("CANDIDATE_BALLOT", "CANVASS"),
        ("CANDIDATE_BALLOT", "LEADER_LOG_REPLICATION"),
        ("FOLLOWER_BALLOT", "CANVASS"),
        ("FOLLOWER_BALLOT", "FOLLOWER_LOG_REPLICATION"),
        ("FOLLOWER_BALLOT", "FOLLOWER_REPLAY"),
        ("LEADER_LOG_REPLICATION", "LEADER_REPLAY"),
        ("LEADER_REPLAY", "LEADER_INIT"),
        ("LEADER_INIT", "LEADER_READY"),
        ("LEADER_READY", "CLOSED"),
        ("FOLLOWER_LOG_REPLICATION", "CANVASS"),
        ("FOLLOWER_REPLAY", "FOLLOWER_CATCHUP_INIT"),
        ("FOLLOWER_REPLAY", "FOLLOWER_LOG_INIT"),
        ("FOLLOWER_CATCHUP_INIT", "FOLLOWER_CATCHUP_AWAIT"),
        ("FOLLOWER_CATCHUP_AWAIT", "FOLLOWER_CATCHUP"),
        ("FOLLOWER_CATCHUP", "FOLLOWER_LOG_INIT"),
        ("FOLLOWER_LOG_INIT", "FOLLOWER_LOG_AWAIT"),
        ("FOLLOWER_LOG_INIT", "FOLLOWER_READY"),
        ("FOLLOWER_LOG_AWAIT", "FOLLOWER_READY"),
        ("FOLLOWER_READY", "CLOSED"),
    }
)
"""The edges that the published state diagram or its text names."""


class Change(Struct, frozen=True):
    """A change of the election state, with the actions that cause it."""

    source: str
    target: str
    actions: tuple[str, ...]


@cache
def stored_edges() -> tuple[Change, ...]:
    """Read the changes of the election state that the spec has, from `EDGES_FILE`."""
    text = files("canvass.browser").joinpath(EDGES_FILE).read_bytes()
    return msgspec.json.decode(text, type=tuple[Change, ...])


def overview() -> Overview:
    """Give the election's state machine, with a place for each state."""
    states = tuple(
        OverviewState(
            name=state.value,
            x=_PLACES[state.value][0] * COLUMN,
            y=_PLACES[state.value][1] * ROW,
            phase=_PLACES[state.value][2],
        )
        for state in ElectionState
    )
    edges = tuple(
        OverviewEdge(
            source=one.source,
            target=one.target,
            actions=one.actions,
            seeds=(one.source, one.target) in SEEDS,
        )
        for one in stored_edges()
    )
    return Overview(states=states, edges=edges)


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
"""Media types of the page's files; a file of another kind is not served."""


class PageError(Exception):
    """The page is not built; the message is one line."""


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file of the page."""

    content: bytes
    media_type: str


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


JSON: Final = "application/json"


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
        questions = [
            Question("/session", (), self._session),
            Question("/overview", (), lambda _: overview()),
            *graph_questions(self.store),
            *run_questions(self.store),
        ]
        routes = [Route(f"/api{one.path}", self._endpoint(one)) for one in questions]
        routes += [Route(path, self._file(file)) for path, file in self.files.items()]
        router = Router(routes, redirect_slashes=False, default=_nothing)
        return AccessControl(router, access)

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

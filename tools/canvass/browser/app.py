"""The application: a fixed table of routes, which question each one asks, and the page's files.

Only arguments are read here; answers come from the sources. Every answer is JSON but those of the
page's own files. These are read once into a table: no request is ever joined to a path. The build
of ``ui/`` makes their folder; it is in a wheel and not in the repository.

The one answer that needs no source is the election's state machine as the spec has it:
`election.json` has the changes of the election state that TLC printed; a test reads them off state
graphs and compares. The places, and which edges the published diagram has, are said here by hand.

The socket comes first: uvicorn's protocol with a deadline for every request and a limit of
connections.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import count
from typing import Any, Final

import anyio.to_thread
import h11
import msgspec
import uvicorn
from anyio import CapacityLimiter
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from canvass.browser import api
from canvass.browser.api import Overview, OverviewEdge, OverviewState
from canvass.browser.graph_routes import graph_questions
from canvass.browser.guard import (
    HEADERS,
    Access,
    Arguments,
    Ask,
    Guard,
    Question,
    Refusal,
    bad_request,
    not_found,
)
from canvass.browser.limits import BACKLOG, CONNECTIONS, HEAD_BYTES, SECONDS, WORKERS, encoded
from canvass.browser.run_routes import run_questions
from canvass.browser.sources import Store
from canvass.cluster.member import ElectionState
from canvass.graph import GraphError
from canvass.graph.syntax import PredicateError
from canvass.graph.walks import NoPath

LOOPBACK: Final = "127.0.0.1"
_ARRIVALS: Final = count()
TOKEN_BYTES: Final = 16
"""128 bits."""


class ListenError(Exception):
    """The server cannot listen where it was asked to; the message is one line."""


def make_token() -> str:
    """Draw a secret that can stand in an address."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def listen(port: int) -> socket.socket:
    """Open the socket, on this machine's loopback interface only.

    Raises
    ------
    ListenError
        If the port is taken or not allowed.
    """
    opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((LOOPBACK, port))
        opened.listen(BACKLOG)  # Who has the address may ask before the loop runs.
    except OSError as error:
        opened.close()
        raise ListenError(f"port {port}: {error.strerror}; --port 0 takes a free one") from None
    return opened


class Protocol(H11Protocol):
    """One connection: it is closed when a request takes too long to come, or its answer to go."""

    seconds = SECONDS

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._deadline: asyncio.TimerHandle | None = None
        self._number = next(_ARRIVALS)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection.

        If there are too many, the one that has asked for nothing the longest makes room; if all are
        being answered, the new one is closed.
        """
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS:
            every = (one for one in self.connections if isinstance(one, Protocol))
            idle = [one for one in every if not one._is_answering()]
            oldest = min(idle, key=lambda one: one._number)
            self.connections.discard(oldest)
            oldest.transport.abort()
        if self in self.connections:
            self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadline."""
        self._disarm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes; the deadline stands until they make a whole request."""
        super().data_received(data)
        if self._is_answering() and not self.flow.write_paused:
            self._disarm()

    def pause_writing(self) -> None:
        """Wait no longer for who does not take an answer than for who does not ask."""
        super().pause_writing()
        self._arm()

    def resume_writing(self) -> None:
        """Go on with an answer that is taken."""
        super().resume_writing()
        if self._is_answering():
            self._disarm()

    def on_response_complete(self) -> None:
        """Wait for the next request, and for this answer to be taken."""
        if not self.transport.is_closing() or self.transport.get_write_buffer_size():
            self._arm()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no request."""
        body = msg.encode("ascii")
        status = 431 if self._too_long() else 400
        headers = [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
            *HEADERS,
        ]
        response = h11.Response(status_code=status, headers=headers)
        for event in (response, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _is_answering(self) -> bool:
        cycle: Any = self.cycle  # None before the first request, whatever uvicorn declares.
        return cycle is not None and not cycle.response_complete

    def _too_long(self) -> bool:
        return len(self.conn.trailing_data[0]) > HEAD_BYTES

    def _arm(self) -> None:
        self._disarm()
        self._deadline = self.loop.call_later(self.seconds, self._expire)

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _expire(self) -> None:
        self.transport.abort()


def make_server(application: ASGIApp) -> uvicorn.Server:
    """Make a server that says nothing by itself and believes no proxy."""
    config = uvicorn.Config(
        application,
        http=Protocol,
        ws="none",
        lifespan="off",
        loop="asyncio",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        h11_max_incomplete_event_size=HEAD_BYTES,
        timeout_keep_alive=int(SECONDS),
        timeout_graceful_shutdown=1,
        backlog=BACKLOG,
    )
    return uvicorn.Server(config)


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
"""Column, row and phase of each state: leaders on the left, followers in the middle, those that
must catch up on the right, as in the published diagram.
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
"""The edges that the published state diagram and its text name."""


class Change(Struct, frozen=True):
    """A change of the election state, with the actions that make it."""

    source: str
    target: str
    actions: tuple[str, ...]


@cache
def stored_edges() -> tuple[Change, ...]:
    """Read the changes that the package has."""
    text = files("canvass.browser").joinpath(EDGES_FILE).read_bytes()
    return msgspec.json.decode(text, type=tuple[Change, ...])


def overview() -> Overview:
    """Give the state machine with its places."""
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

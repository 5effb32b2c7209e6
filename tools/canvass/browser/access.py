"""Access to the server: its socket, its connections, and the conditions of each request.

The server listens on this machine only. uvicorn's protocol gets a deadline for every request and a
limit of connections. An ASGI application around another one checks method, host, origin, token and
size of a request before its path; it also puts the headers on every answer, and turns an error of
the inner application into one line. A browser is sent here without the token on its command line,
which others may read: a file that only its owner can read leads on to the address.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import socket
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from itertools import count
from pathlib import Path
from typing import Any, Final

import h11
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from canvass.browser.limits import BACKLOG, CONNECTIONS, HEAD_BYTES, SECONDS
from canvass.browser.questions import Refusal, bad_request

TOKEN_HEADER: Final = b"x-canvass-token"
API: Final = "/api/"
VERSIONS: Final = frozenset({"1.0", "1.1"})

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Final[Sequence[tuple[bytes, bytes]]] = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
)
"""On every answer."""

OWN_SITE: Final = frozenset({b"same-origin", b"none"})
"""``Sec-Fetch-Site`` of the page's own requests, and of an address that the user typed."""


@dataclass(frozen=True, slots=True)
class Access:
    """The conditions that a request must meet.

    Parameters
    ----------
    port
        The port on which the server listens.
    token
        The secret that each request to the API must carry.
    arrival
        The secret of the file that sends a browser here; empty without such a file.
    """

    port: int
    token: str
    arrival: str = ""

    @property
    def hosts(self) -> frozenset[bytes]:
        """The values of ``Host`` that are accepted."""
        found = {f"{name}:{self.port}" for name in ("127.0.0.1", "localhost")}
        if self.port == 80:
            found |= {"127.0.0.1", "localhost"}  # Browsers leave out the default port.
        return frozenset(name.encode() for name in found)

    def check(self, scope: Scope) -> None:
        """Check everything about a request but its path.

        Raises
        ------
        Refusal
            If the request does not come from the page, or is more than a question.
        """
        if scope["method"] != "GET":
            raise Refusal(405, "method", "only GET is answered")
        if scope["http_version"] not in VERSIONS:
            raise Refusal(400, "version", "HTTP/1.1 is spoken here")
        headers = scope["headers"]
        # h11 limits only a head that comes in pieces; one that came at once is measured here.
        size = len(scope["raw_path"]) + len(scope["query_string"])
        if size + sum(len(name) + len(value) + 4 for name, value in headers) > HEAD_BYTES:
            raise Refusal(431, "head", f"the head of a request has at most {HEAD_BYTES} bytes")
        host = _only(headers, b"host")
        if host not in self.hosts:
            raise Refusal(403, "host", "asked under another name than this server's")
        origin = _only(headers, b"origin")
        if origin is not None and origin != b"http://" + host:
            raise Refusal(403, "origin", "asked by a page of another origin")
        site = _only(headers, b"sec-fetch-site")
        if site is not None and site not in OWN_SITE and not self._arrives(scope):
            raise Refusal(403, "origin", "asked by a page of another site")
        if _only(headers, b"transfer-encoding") is not None or (
            _only(headers, b"content-length") not in (None, b"0")
        ):
            raise Refusal(413, "body", "a request has no body here")
        if scope["path"].startswith(API):
            self._check_token(headers)

    def _arrives(self, scope: Scope) -> bool:
        """Tell whether the file of `leading_to` sent the browser here.

        For the browser, that file is another site. The request must carry the secret of the file
        and fill the whole window; it gets the page without any data.
        """
        headers = scope["headers"]
        way = tuple(_only(headers, name) for name in (b"sec-fetch-mode", b"sec-fetch-dest"))
        secret = b"arrival=" + self.arrival.encode()
        return (
            way == (b"navigate", b"document")
            and scope["path"] == "/"
            and bool(self.arrival)
            and hmac.compare_digest(scope["query_string"], secret)
        )

    def _check_token(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        given = _only(headers, TOKEN_HEADER) or b""
        if not hmac.compare_digest(given, self.token.encode()):
            raise Refusal(401, "token", "open the address that `canvass browse` printed")


def _only(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> bytes | None:
    found = [value for key, value in headers if key == name]
    if len(found) > 1:
        raise bad_request(f"the header {name.decode()} is there twice")
    return found[0] if found else None


class AccessControl:
    """An ASGI application that passes on the requests that ``access`` allows."""

    def __init__(self, inner: ASGIApp, access: Access) -> None:
        self._inner = inner
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            raise AssertionError("the server has neither sockets nor a lifespan")
        started = False

        async def dressed(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        try:
            self._access.check(scope)
            await self._inner(scope, receive, dressed)
        except Refusal as refusal:
            response = refusal.response()
            if refusal.status in (405, 413, 431):
                response.headers["connection"] = "close"  # What follows may be a body.
            await response(scope, receive, dressed)
        except Exception as error:  # noqa: BLE001 - the one place where errors become answers
            tell_fault(error)
            if started:
                return
            said = "this is a bug in canvass; the terminal of the server names it"
            fault = Refusal(500, "fault", said)
            await fault.response()(scope, receive, dressed)


def tell_fault(error: BaseException) -> None:
    """Write one line about a bug to stderr; control characters of the error are escaped."""
    text = ascii(str(error))[1:-1][:500]
    print(
        f"canvass: this is a bug in canvass: {type(error).__name__}: {text}",
        file=sys.stderr,
        flush=True,
    )


_PAGE: Final = """<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url={address}">
<title>canvass browse</title>
<p><a href="{address}">Go on to the page</a></p>
"""


@contextmanager
def leading_to(address: str) -> Iterator[str]:
    """Write a file that sends a browser to ``address``, and give the file's own address.

    The file is readable by its owner only, and is removed at the end of the ``with`` block.

    Parameters
    ----------
    address
        The address of the page, with its key.
    """
    # The folder is made for its owner alone, and so is the file, whatever the umask is.
    with tempfile.TemporaryDirectory(prefix="canvass-browse-") as folder:
        path = Path(folder) / "canvass.html"
        path.touch(mode=0o600)
        path.write_text(_PAGE.format(address=escape(address)), encoding="utf-8")
        yield path.as_uri()


LOOPBACK: Final = "127.0.0.1"
_ARRIVALS: Final = count()
TOKEN_BYTES: Final = 16
"""128 bits."""


class ListenError(Exception):
    """The server cannot listen on the port; the message is one line."""


def make_token() -> str:
    """Draw a random secret of `TOKEN_BYTES` bytes that can stand in an address."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def listen(port: int) -> socket.socket:
    """Open a socket on ``port`` of this machine's loopback interface.

    Raises
    ------
    ListenError
        If the port is taken, or the user may not listen on it.
    """
    opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((LOOPBACK, port))
        opened.listen(BACKLOG)  # A browser may connect before the event loop runs.
    except OSError as error:
        opened.close()
        raise ListenError(f"port {port}: {error.strerror}; --port 0 takes a free one") from None
    return opened


class Protocol(H11Protocol):
    """A connection that closes if a request or its answer takes longer than ``seconds``."""

    seconds = SECONDS

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._deadline: asyncio.TimerHandle | None = None
        self._number = next(_ARRIVALS)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection.

        If there are too many, the oldest one without an open request is closed. If all others have
        an open request, that is the new one.
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
        """Read bytes; the deadline holds until the request is complete."""
        super().data_received(data)
        if self._is_answering() and not self.flow.write_paused:
            self._disarm()

    def pause_writing(self) -> None:
        """Start the deadline while the browser does not read the answer."""
        super().pause_writing()
        self._arm()

    def resume_writing(self) -> None:
        """Stop the deadline when the browser reads the answer again."""
        super().resume_writing()
        if self._is_answering():
            self._disarm()

    def on_response_complete(self) -> None:
        """Start the deadline for the next request, and for reading this answer."""
        if not self.transport.is_closing() or self.transport.get_write_buffer_size():
            self._arm()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are no HTTP request."""
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
    """Make a server that logs nothing and trusts no proxy headers."""
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

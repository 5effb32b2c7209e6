"""Access to the server: its socket, and the conditions of each request.

The server listens on this machine's loopback interface only. An ASGI application around another one
checks the host, the origin and the token of a request. It also adds the headers to every answer,
and turns an error of the inner application into one line.

The token must not be on the command line of the browser, which other users may read. So the browser
opens a file that only its owner can read, and the file leads to the address.
"""

from __future__ import annotations

import asyncio
import hmac
import socket
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Final

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from canvass.browser.questions import Refusal

TOKEN_HEADER: Final = b"x-canvass-token"
API: Final = "/api/"

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Final[Sequence[tuple[bytes, bytes]]] = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
)
"""The headers of every answer."""


class AccessControl:
    """An ASGI application that passes on the requests of the page.

    Parameters
    ----------
    inner
        The application.
    port
        The port on which the server listens.
    token
        The secret that each request to the API must carry.
    """

    def __init__(self, inner: ASGIApp, port: int, token: str) -> None:
        self._inner, self._token = inner, token.encode()
        ends = [f":{port}", *([""] if port == 80 else [])]  # Browsers leave out 80.
        self.hosts = {f"{name}{end}".encode() for name in (LOOPBACK, "localhost") for end in ends}
        """The values of ``Host`` that are accepted."""

    def _check(self, scope: Scope) -> None:
        """Check everything about a request but its path.

        Raises
        ------
        Refusal
            If the request does not come from the page.
        """
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"")
        if host not in self.hosts:
            raise Refusal(403, "host", "asked under another name than this server's")
        if headers.get(b"origin", b"http://" + host) != b"http://" + host:
            raise Refusal(403, "origin", "asked by a page of another origin")
        token = headers.get(TOKEN_HEADER, b"")
        if scope["path"].startswith(API) and not hmac.compare_digest(token, self._token):
            raise Refusal(401, "token", "open the address that `canvass browse` printed")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        started = False

        async def dressed(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        try:
            self._check(scope)
            await self._inner(scope, receive, dressed)
        except Refusal as refusal:
            await refusal.response()(scope, receive, dressed)
        except Exception as error:  # noqa: BLE001 - the one place where errors become answers
            tell_fault(error)
            if not started:
                said = "this is a bug in canvass; the terminal of the server names it"
                await Refusal(500, "fault", said).response()(scope, receive, dressed)


def tell_fault(error: BaseException) -> None:
    """Write one line about a bug to stderr; control characters of the error are escaped."""
    text = ascii(str(error))[1:-1][:500]
    line = f"canvass: this is a bug in canvass: {type(error).__name__}: {text}"
    print(line, file=sys.stderr, flush=True)


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


class ListenError(Exception):
    """The server cannot listen on the port; the message is one line."""


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
        opened.listen()  # A browser may connect before the event loop runs.
    except OSError as error:
        opened.close()
        raise ListenError(f"port {port}: {error.strerror}; --port 0 takes a free one") from None
    return opened


class LoopbackServer(uvicorn.Server):
    """A server that leaves no connection open when it ends, whatever it was sending."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Shut down as uvicorn does; then abort each connection that is still open."""
        await super().shutdown(sockets)
        for connection in list(self.server_state.connections):
            if connection.transport is not None:
                connection.transport.abort()
        await asyncio.sleep(0)  # A transport is closed by the event loop's next turn.


def make_server(application: ASGIApp) -> uvicorn.Server:
    """Make a server that logs nothing and trusts no proxy headers."""
    config = uvicorn.Config(
        application,
        ws="none",
        lifespan="off",
        loop="asyncio",
        http="h11",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=1,
    )
    return LoopbackServer(config)

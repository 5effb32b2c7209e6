"""The socket: where the server listens, and how long and how much it listens to.

uvicorn's protocol with a deadline for every request and a limit of connections. Nothing here knows
what is asked.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from itertools import count
from typing import Any, Final

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from canvass.browser.guard import HEADERS
from canvass.browser.limits import BACKLOG, CONNECTIONS, HEAD_BYTES, SECONDS

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

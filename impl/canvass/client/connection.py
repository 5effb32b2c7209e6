"""A client of a cluster on this machine, for programs with `asyncio`.

    async with await Connection.open({0: "127.0.0.1:9000"}) as cluster:
        print(await cluster.request(b"add 1"))

This module has sockets and clocks; `canvass.client.client` has the rules of a client.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Mapping
from typing import Final, Self

from msgspec.msgpack import encode

from canvass.client.client import ClientSettings, ClientState, ClusterClient
from canvass.transport.links import HOST, Link, Listener
from canvass.transport.messages import CLIENT_MESSAGES, Ingress

PERIOD_S: Final = 0.01
"""The interval of a client's work."""


class ClosedError(Exception):
    """The client is closed, or the cluster has refused it."""


class Connection:
    """A client with its sockets; `open` creates it."""

    client: ClusterClient

    def __init__(self) -> None:
        self._listener = Listener(lambda: self._on_message)
        self._waiting: dict[int, asyncio.Future[bytes]] = {}
        self._room = asyncio.Event()
        self._links: dict[str, Link] = {}
        self._task: asyncio.Task[None]

    @classmethod
    async def open(cls, endpoints: Mapping[int, str], *, name: str = "", clock: int = 1) -> Self:
        """Create a client, which then looks for the leader.

        Parameters
        ----------
        endpoints
            The ingress endpoints of some or all members.
        name
            The principal.
        clock
            The divisor of Aeron's durations in the cluster.
        """
        connection = cls()
        await connection._listener.open()
        settings = ClientSettings(
            secrets.randbits(62),
            f"{HOST}:{connection._listener.port}",
            name.encode(),
            connect_retry_ms=max(50, 1_000 // clock),
            offer_retry_ms=max(50, 1_000 // clock),
            keep_alive_ms=max(50, 1_000 // clock),
            silence_ms=max(500, 15_000 // clock),
        )
        connection.client = ClusterClient(settings, endpoints, connection._send)
        connection._task = asyncio.create_task(connection._run())
        return connection

    async def request(self, body: bytes) -> bytes:
        """Offer a request and wait for its answer. Each service applies it exactly once.

        Raises
        ------
        ClosedError
            If the client is closed before the answer arrives. The request may have been applied.
        """
        while True:
            if self.client.state is ClientState.CLOSED:
                raise ClosedError(self.client.closed_reason)
            self.client.now_ms = _now_ms()
            number = self.client.offer(body)
            if number >= 0:
                break
            self._room.clear()
            await self._room.wait()
        waiting = asyncio.get_running_loop().create_future()
        self._waiting[number] = waiting
        found: bytes = await waiting
        return found

    async def close(self) -> None:
        """End the session and close the sockets."""
        self.client.close()
        await asyncio.sleep(PERIOD_S)  # The last messages leave.
        self._task.cancel()
        self._deliver_answers()
        for link in self._links.values():
            link.close()
        self._listener.close()

    async def __aenter__(self) -> Self:
        """Return the client."""
        return self

    async def __aexit__(self, *_error: object) -> None:
        """Close the client."""
        await self.close()

    async def _run(self) -> None:
        while self.client.state is not ClientState.CLOSED:
            self.client.work(_now_ms())
            await asyncio.sleep(PERIOD_S)
        self._deliver_answers()

    def _on_message(self, data: bytes) -> None:
        self.client.on_egress(CLIENT_MESSAGES.decode(data))
        self._deliver_answers()

    def _send(self, endpoint: str, message: Ingress) -> None:
        link = self._links.get(endpoint)
        if link is None or link.dead:
            link = self._links[endpoint] = Link(endpoint)
        link.send(encode(message))

    def _deliver_answers(self) -> None:
        """Deliver the answers to the waiting callers."""
        client = self.client
        while client.answers:
            number, answer = client.answers.popitem(last=False)
            waiting = self._waiting.pop(number, None)
            if waiting is not None and not waiting.done():
                waiting.set_result(answer)
            self._room.set()
        if client.state is ClientState.CLOSED:
            self._room.set()
            error = ClosedError(client.closed_reason)
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(error)
            self._waiting.clear()


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000

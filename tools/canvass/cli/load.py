"""Clients that keep a running cluster busy, and the book that they keep of what they were told.

Each adds to one counter. What was acknowledged has to be in the counter once, whatever happens to
the members: that is looked at in the end.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from canvass.cli.client import connect
from canvass.client.connection import ClosedError, Connection


@dataclass
class LoadBook:
    """What clients were told."""

    base: int = 0
    """The counter before the first request."""
    offered: int = 0
    values: list[int] = field(default_factory=list)
    """The counter after each acknowledged request."""
    latencies_ms: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def percentile_ms(self, share: float) -> float:
        """The latency that so many requests did not exceed."""
        ordered = sorted(self.latencies_ms)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0

    def check(self, value: int) -> list[str]:
        """Compare the counter with the book: what is wrong, in words."""
        wrong = list(self.problems)
        if len(set(self.values)) != len(self.values):
            wrong.append("two requests were told the same value of the counter")
        if not len(self.values) <= value - self.base <= self.offered:
            wrong.append(
                f"the counter has gone from {self.base} to {value}, with {self.offered} requests"
                f" offered and {len(self.values)} acknowledged"
            )
        return wrong


class Load:
    """Clients that add to a counter.

    Parameters
    ----------
    endpoints
        Of the cluster.
    rate
        Requests a second of all clients together.
    clients
        How many there are.
    clock, secret
        Of the cluster.
    """

    def __init__(
        self, endpoints: Mapping[int, str], rate: float, clients: int, clock: int, secret: str = ""
    ) -> None:
        self._endpoints, self._clock, self._secret = dict(endpoints), clock, secret
        self._period_s = clients / rate
        self._count = clients
        self.book = LoadBook()
        self._connections: list[Connection] = []
        self._offering: list[asyncio.Task[None]] = []
        self._requests: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Let the clients begin."""
        for k in range(self._count):
            connection = await connect(
                self._endpoints, name=f"load {k}", secret=self._secret, clock=self._clock
            )
            self._connections.append(connection)
        self.book.base = int(await self._connections[0].request(b"get"))
        for k, connection in enumerate(self._connections):
            self._offering.append(asyncio.create_task(self._offer(connection, k)))

    async def _offer(self, connection: Connection, k: int) -> None:
        loop = asyncio.get_running_loop()
        due_s = loop.time() + self._period_s * k / self._count
        while True:
            await asyncio.sleep(max(0.0, due_s - loop.time()))
            due_s = max(due_s + self._period_s, loop.time() - 10 * self._period_s)
            if connection.client.unanswered_count < 32:  # It waits for the cluster otherwise.
                request = asyncio.create_task(self._request(connection))
                self._requests.add(request)
                request.add_done_callback(self._requests.discard)

    async def _request(self, connection: Connection) -> None:
        began_s = time.monotonic()
        self.book.offered += 1
        try:
            answer = await connection.request(b"add 1")
        except ClosedError as error:
            self.book.problems.append(f"a client was closed: {error}")
            return
        self.book.latencies_ms.append((time.monotonic() - began_s) * 1e3)
        self.book.values.append(int(answer))

    async def finish(self, timeout_s: float) -> int | None:
        """Offer no more, wait for what is open, and ask for the counter; None if nobody answers."""
        for task in self._offering:
            task.cancel()
        try:
            async with asyncio.timeout(timeout_s):
                while self._requests:
                    await asyncio.wait(set(self._requests))
                return int(await self._connections[0].request(b"get"))
        except TimeoutError:
            return None

    async def close(self) -> None:
        """Close the clients."""
        for task in (*self._offering, *self._requests):
            task.cancel()
        for connection in self._connections:
            await connection.close()

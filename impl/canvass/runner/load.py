"""Clients that offer requests to a running cluster, and an account of the answers.

All clients add to one counter. At the end the counter must hold each acknowledged request once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from canvass.client.connection import ClosedError, Connection

CLIENTS: Final = 2


@dataclass
class LoadBook:
    """The requests of clients and the answers that they received."""

    base: int = 0
    """The counter before the first request."""
    offered: int = 0
    values: list[int] = field(default_factory=list)
    """The counter after each acknowledged request."""
    latencies_ms: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def acknowledged(self) -> int:
        """The number of acknowledged requests."""
        return len(self.values)

    def percentile_ms(self, share: float) -> float:
        """The latency that a share of the requests did not exceed, in milliseconds."""
        ordered = sorted(self.latencies_ms)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0

    def latencies(self) -> dict[str, float]:
        """The median, the 99th percentile and the longest latency, in milliseconds."""
        shares = (("p50", 0.5), ("p99", 0.99), ("max", 1.0))
        return {name: round(self.percentile_ms(share), 2) for name, share in shares}

    def check(self, value: int) -> list[str]:
        """Compare the counter with the book. Return a sentence for each problem."""
        wrong = list(self.problems)
        if len(set(self.values)) != len(self.values):
            wrong.append("two requests were answered with the same value of the counter")
        if not len(self.values) <= value - self.base <= self.offered:
            wrong.append(
                f"the counter has gone from {self.base:,} to {value:,}, with"
                f" {self.offered:,} requests offered and {len(self.values):,} acknowledged:"
                " requests were lost or counted twice, or another client has added to it"
            )
        return wrong


class Load:
    """Clients that offer requests to a counter.

    Parameters
    ----------
    endpoints
        The ingress endpoints of the cluster.
    rate
        The requests per second of all clients together.
    clock
        The divisor of Aeron's durations in the cluster.
    """

    def __init__(self, endpoints: Mapping[int, str], rate: float, clock: int) -> None:
        self._endpoints, self._clock = dict(endpoints), clock
        self._period_s = CLIENTS / rate
        self.book = LoadBook()
        self._connections: list[Connection] = []
        self._offering: list[asyncio.Task[None]] = []
        self._requests: set[asyncio.Task[None]] = set()

    async def start(self, timeout_s: float) -> bool:
        """Connect the clients, read the counter, and begin. Return false after the timeout."""
        for k in range(CLIENTS):
            name = f"load {k}"
            self._connections.append(
                await Connection.open(self._endpoints, name=name, clock=self._clock)
            )
        try:
            async with asyncio.timeout(timeout_s):
                self.book.base = await self._value()
        except TimeoutError:
            return False
        for k, connection in enumerate(self._connections):
            self._offering.append(asyncio.create_task(self._offer(connection, k)))
        return True

    async def _offer(self, connection: Connection, k: int) -> None:
        loop = asyncio.get_running_loop()
        due_s = loop.time() + self._period_s * k / CLIENTS
        while True:
            await asyncio.sleep(max(0.0, due_s - loop.time()))
            due_s = max(due_s + self._period_s, loop.time() - 10 * self._period_s)
            if connection.client.unanswered_count < 32:  # Otherwise it waits for the cluster.
                request = asyncio.create_task(self._request(connection))
                self._requests.add(request)
                request.add_done_callback(self._requests.discard)

    async def _request(self, connection: Connection) -> None:
        book, began_s = self.book, time.monotonic()
        book.offered += 1
        try:
            answer = await connection.request(b"add 1")
        except ClosedError as error:
            book.problems.append(f"a client was closed: {error}")
            return
        book.latencies_ms.append((time.monotonic() - began_s) * 1e3)
        book.values.append(int(answer))

    async def _value(self) -> int:
        return int(await self._connections[0].request(b"get"))

    async def finish(self, timeout_s: float) -> int | None:
        """Stop offering, wait for open answers, and read the counter; None after the timeout."""
        for task in self._offering:
            task.cancel()
        try:
            async with asyncio.timeout(timeout_s):
                while self._requests:
                    await asyncio.wait(set(self._requests))
                return await self._value()
        except TimeoutError:
            return None

    async def close(self) -> None:
        """Close the clients."""
        for task in (*self._offering, *self._requests):
            task.cancel()
        for connection in self._connections:
            await connection.close()

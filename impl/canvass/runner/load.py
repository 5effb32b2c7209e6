"""Clients that offer requests to a running cluster, and their book of the answers.

All clients add to one counter. At the end the counter must hold each acknowledged request once. If
a key-value store runs too, every second request of a client sets the client's own key, one at a
time. At the end the store must hold the values that were set last.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle

from canvass.client.connection import ClosedError, Connection


@dataclass
class LoadBook:
    """The requests of clients and the answers that they received."""

    base: int = 0
    """The counter before the first request."""
    offered: int = 0
    added: int = 0
    """The number of requests that were offered to the counter."""
    values: list[int] = field(default_factory=list)
    """The counter after each acknowledged request."""
    stored: dict[str, str] = field(default_factory=dict)
    """The value that was set last, by key."""
    stored_count: int = 0
    """The number of acknowledged requests to set a value."""
    latencies_ms: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def acknowledged(self) -> int:
        """The number of acknowledged requests."""
        return len(self.values) + self.stored_count

    def percentile_ms(self, share: float) -> float:
        """The latency that a share of the requests did not exceed, in milliseconds."""
        ordered = sorted(self.latencies_ms)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0

    def check(self, value: int) -> list[str]:
        """Compare the counter with the book. Return a sentence for each problem."""
        wrong = list(self.problems)
        if len(set(self.values)) != len(self.values):
            wrong.append("two requests were answered with the same value of the counter")
        if not len(self.values) <= value - self.base <= self.added:
            wrong.append(
                f"the counter has gone from {self.base:,} to {value:,}, with"
                f" {self.added:,} requests offered and {len(self.values):,} acknowledged:"
                " requests were lost or counted twice, or another client has added to it"
            )
        return wrong


class Load:
    """Clients that offer requests to a counter, and to a store if the cluster has one.

    Parameters
    ----------
    endpoints
        The ingress endpoints of the cluster.
    rate
        The requests per second of all clients together.
    clients
        The number of clients.
    clock, secret, services
        The divisor, the secret and the services of the cluster. One service must be a counter.
    """

    def __init__(
        self,
        endpoints: Mapping[int, str],
        rate: float,
        clients: int,
        clock: int,
        secret: str = "",
        services: Sequence[str] = ("counter",),
    ) -> None:
        self._endpoints, self._clock, self._secret = dict(endpoints), clock, secret
        self._period_s = clients / rate
        self._count = clients
        self._services = list(services)
        self._counter = self._services.index("counter")
        self.book = LoadBook()
        self._connections: list[Connection] = []
        self._offering: list[asyncio.Task[None]] = []
        self._requests: set[asyncio.Task[None]] = set()
        self._storing: set[int] = set()
        """The clients that wait for an answer from the store."""

    async def start(self, timeout_s: float) -> bool:
        """Connect the clients, read the counter, and begin. Return false after the timeout."""
        for k in range(self._count):
            connection = await Connection.open(
                self._endpoints, name=f"load {k}", secret=self._secret, clock=self._clock
            )
            self._connections.append(connection)
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
        due_s = loop.time() + self._period_s * k / self._count
        for name in cycle(self._services):
            await asyncio.sleep(max(0.0, due_s - loop.time()))
            due_s = max(due_s + self._period_s, loop.time() - 10 * self._period_s)
            if (
                connection.client.unanswered_count < 32
            ):  # Otherwise the client waits for the cluster.
                request = asyncio.create_task(self._request(connection, k, name))
                self._requests.add(request)
                request.add_done_callback(self._requests.discard)

    async def _request(self, connection: Connection, k: int, name: str) -> None:
        book, began_s = self.book, time.monotonic()
        book.offered += 1
        if (
            name == "counter" or k in self._storing
        ):  # One open request for each key: its last value is known.
            name, body = "counter", b"add 1"
            book.added += 1
        else:
            self._storing.add(k)
            key = f"load-{k}"
            book.stored[key] = str(book.offered)
            body = f"set {key} {book.offered}".encode()
        try:
            answer = await connection.request(body, self._services.index(name))
        except ClosedError as error:
            book.problems.append(f"a client was closed: {error}")
            return
        book.latencies_ms.append((time.monotonic() - began_s) * 1e3)
        if name == "counter":
            book.values.append(int(answer))
            return
        self._storing.discard(k)
        if answer == b"ok":
            book.stored_count += 1
        else:
            book.problems.append(f"the store answers {answer!r} to {body!r}")

    async def _value(self) -> int:
        return int(await self._connections[0].request(b"get", self._counter))

    async def _check_store(self) -> None:
        """Check that the store has the value that was last set for each key."""
        for key, value in self.book.stored.items():
            service_id = self._services.index("key-value")
            answer = await self._connections[0].request(f"get {key}".encode(), service_id)
            if answer != f"= {value}".encode():
                problem = f"{key} was set to {value}, and the store says {answer!r}"
                self.book.problems.append(problem)

    async def finish(self, timeout_s: float) -> int | None:
        """Stop offering, wait for open answers, and read the counter; None after the timeout."""
        for task in self._offering:
            task.cancel()
        try:
            async with asyncio.timeout(timeout_s):
                while self._requests:
                    await asyncio.wait(set(self._requests))
                await self._check_store()
                return await self._value()
        except TimeoutError:
            return None

    async def close(self) -> None:
        """Close the clients."""
        for task in (*self._offering, *self._requests):
            task.cancel()
        for connection in self._connections:
            await connection.close()

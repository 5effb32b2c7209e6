"""The clients of a simulated cluster, and the checks of their answers.

The clients add to one counter, so all answers must differ. The checks find requests that were lost
or applied twice. The client itself is in `canvass.client`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

import msgspec

from canvass.client.client import ClientSettings, ClientState, ClusterClient
from canvass.cluster.clocks import MILLISECOND_NS
from canvass.services.applications import Application, ExactlyOnce
from canvass.services.service import ClientSession, Cluster
from canvass.simulation.events import Events
from canvass.simulation.network import CLIENTS, Network
from canvass.simulation.options import rng_of
from canvass.transport.messages import Egress, Ingress

_TIMER_MS: Final = 30
"""The time from a message to the expiry of its timer."""


class WatchedService(ExactlyOnce):
    """A service that checks its own messages and timers.

    For each message of a client it puts a message into the log and schedules a timer. Each message
    must come back once and in order, and each timer must expire once.

    Parameters
    ----------
    application
        Applies the requests.
    number
        The id of the service.
    on_processed
        Called with service, position and contents of each message of a client.
    find
        Called with each violation: a property and a sentence.
    """

    def __init__(
        self,
        application: Application,
        number: int,
        on_processed: Callable[[int, int, bytes], None],
        find: Callable[[str, str], None],
    ) -> None:
        super().__init__(application)
        self._number = number
        self._on_processed, self._find = on_processed, find
        self._asked = self._seen = 0
        """The number of messages that the service has put into the log, and of those processed."""
        self._timers: set[int] = set()

    @property
    def is_quiet(self) -> bool:
        """Whether all messages have come back and all timers have expired."""
        return self._asked == self._seen and not self._timers

    def on_start(self, cluster: Cluster, snapshot: bytes | None) -> None:
        """See `ClusteredService`."""
        if snapshot is not None:
            self._asked, self._seen, timers, snapshot = msgspec.msgpack.decode(
                snapshot, type=tuple[int, int, list[int], bytes]
            )
            self._timers = set(timers)
        super().on_start(cluster, snapshot)

    def on_session_message(
        self, session: ClientSession | None, timestamp: int, payload: bytes
    ) -> None:
        """See `ClusteredService`."""
        cluster = self._cluster
        if session is None:
            self._on_own_message(payload)
            return
        self._on_processed(self._number, cluster.log_position, payload)
        self._asked += 1
        cluster.offer_to_log(b"%d %d" % (self._number, self._asked))
        timer = 2 * cluster.log_position + self._number
        self._timers.add(timer)
        cluster.schedule_timer(timer, timestamp + _TIMER_MS)
        super().on_session_message(session, timestamp, payload)

    def _on_own_message(self, payload: bytes) -> None:
        number, count = map(int, payload.split())
        if number != self._number:
            return  # Another service's.
        self._seen += 1
        if count != self._seen:
            violation = f"{count} comes back to service {number} in place of {self._seen}"
            self._find("ServiceMessages", violation)

    def on_timer_event(self, correlation_id: int, timestamp: int) -> None:
        """See `ClusteredService`."""
        del timestamp
        if correlation_id % 2 != self._number:
            return  # Another service's.
        if correlation_id not in self._timers:
            self._find("Timers", f"{correlation_id} expires, which is not waiting")
        self._timers.discard(correlation_id)

    def on_take_snapshot(self) -> bytes:
        """See `ClusteredService`."""
        content = super().on_take_snapshot()
        return msgspec.msgpack.encode((self._asked, self._seen, sorted(self._timers), content))


class Clients:
    """All clients of one run.

    Parameters
    ----------
    events
        The events of the run.
    network
        The network between clients and members.
    deliver
        Hands a message to a member, which may be down.
    """

    def __init__(
        self, events: Events, network: Network, deliver: Callable[[int, Ingress], None]
    ) -> None:
        self._events, self._network, self._deliver = events, network, deliver
        options = events.options
        unit_ms = options.timing.leader_heartbeat_timeout_ns / 1_000 / MILLISECOND_NS
        self._period_ns = max(1, 5 * options.unit_ns)
        self._members = [
            ClusterClient(
                ClientSettings(
                    k + 1,
                    f"client:{k}",
                    connect_retry_ms=int(200 * unit_ms) + 1,
                    offer_retry_ms=int(500 * unit_ms) + 1,
                    keep_alive_ms=int(1_000 * unit_ms) + 1,
                    silence_ms=int(2_000 * unit_ms) + 1,
                ),
                {i: f"member:{i}" for i in range(options.member_count)},
                lambda endpoint, message, k=k: self._send_ingress(k, endpoint, message),  # type: ignore[misc]
            )
            for k in range(options.client_count)
        ]
        self.offered = [0] * options.client_count
        self.answers: list[dict[int, int]] = [{} for _ in self._members]
        self.quiet = False
        """Whether the clients offer no new requests."""

    def begin(self) -> None:
        """Start the clients."""
        for k in range(len(self._members)):
            self._period(k, rng_of(self._events.options.seed, f"client {k}"))

    def _period(self, k: int, rng: random.Random) -> None:
        client, events = self._members[k], self._events
        client.work(events.now_ns // MILLISECOND_NS)
        mean_ns = events.options.offer_mean_ns
        if not self.quiet and rng.random() < self._period_ns / mean_ns:
            self.offered[k] += client.offer(b"add 1") >= 0
        while client.answers:
            number, answer = client.answers.popitem(last=False)
            events.hash(f"{events.now_ns} {k} {number} ".encode() + answer)
            self.answers[k][number] = int(answer)
        events.schedule(events.now_ns + self._period_ns, lambda: self._period(k, rng))

    # The network.

    def send_egress(self, i: int, channel: str, message: Egress) -> None:
        """Send a message of member ``i`` to a client."""
        client = self._members[int(channel.removeprefix("client:"))]
        self._network.send(i, channel, CLIENTS, lambda: client.on_egress(message))

    def _send_ingress(self, k: int, endpoint: str, message: Ingress) -> None:
        i = int(endpoint.removeprefix("member:"))
        self._network.send(f"client:{k}", i, CLIENTS, lambda: self._deliver(i, message))

    # Checks.

    @property
    def are_answered(self) -> bool:
        """Whether every request has its answer."""
        return all(
            len(answers) == offered
            for answers, offered in zip(self.answers, self.offered, strict=True)
        )

    def check(self) -> None:
        """Check that all answers differ, and that those of each client rise."""
        found = [value for one in self.answers for value in one.values()]
        if len(set(found)) != len(found):
            violation = "two requests were answered with the same value of the counter"
            self._events.find("ExactlyOnce", violation)
        for k, answers in enumerate(self.answers):
            values = [answers[number] for number in sorted(answers)]
            if values != sorted(values):
                self._events.find("ExactlyOnce", f"the answers to client {k} are out of order")

    def check_count(self, value: int) -> None:
        """Check that a counter has every acknowledged request, and none twice."""
        answered = sum(len(one) for one in self.answers)
        if not answered <= value <= sum(self.offered):
            self._events.find("ExactlyOnce", f"{answered} acknowledged, {value} counted")

    def reasons(self) -> list[str]:
        """Sentences about the clients that are not connected or wait for answers."""
        return [
            f"client {k}: {client.state.value}, {client.unanswered_count} unanswered"
            for k, client in enumerate(self._members)
            if client.unanswered_count or client.state is not ClientState.OPEN
        ]

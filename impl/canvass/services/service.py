"""Services: the interfaces `ClusteredService` and `Cluster`, and a service for applications.

Every member runs the same services on the same log. So a service must be deterministic: it may
depend on the parameters of its methods only. `ExactlyOnce` is a service that applies the requests
of a client in order, even if they are offered several times. One is a `Counter`.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

import msgspec

from canvass.cluster.member import Role
from canvass.log.entries import CloseReason, NewLeadershipTermEvent


@dataclass(frozen=True, slots=True)
class ServiceAck:
    """A service has taken a snapshot at a position."""

    log_position: int
    snapshot: bytes
    """Aeron names a recording instead."""


@dataclass(frozen=True, slots=True)
class ScheduleTimer:
    """Schedule a timer, in place of the one with the same id."""

    correlation_id: int
    deadline: int


@dataclass(frozen=True, slots=True)
class ServiceMessage:
    """A message of a service for the log. The service of every member sends the same message."""

    service_id: int
    payload: bytes


FromService: TypeAlias = ServiceAck | ScheduleTimer | ServiceMessage


@dataclass(frozen=True, slots=True)
class ClientSession:
    """The session of a client, as services see it."""

    id: int
    response_stream_id: int
    response_channel: str
    encoded_principal: bytes


class Cluster(Protocol):
    """The cluster as a service can use it within its callbacks."""

    @property
    def log_position(self) -> int:
        """The position up to which the service has processed the log."""
        ...

    def offer(self, cluster_session_id: int, payload: bytes) -> None:
        """Send a message to a client. Only the leader's service sends it."""
        ...

    def offer_to_log(self, payload: bytes) -> None:
        """Put a message into the log. It comes back as a message without a session."""
        ...

    def schedule_timer(self, correlation_id: int, deadline: int) -> None:
        """Schedule a timer. The deadline is in the unit of timestamps."""
        ...


class ClusteredService:
    """An application; each method that is not overridden does nothing."""

    def on_start(self, cluster: Cluster, snapshot: bytes | None) -> None:
        """Begin, from a snapshot if there is one."""

    def on_session_open(self, session: ClientSession, timestamp: int) -> None:
        """A client has connected."""

    def on_session_close(
        self, session: ClientSession, timestamp: int, close_reason: CloseReason
    ) -> None:
        """A client's session has ended."""

    def on_session_message(
        self, session: ClientSession | None, timestamp: int, payload: bytes
    ) -> None:
        """A client, or without a session a service of this cluster, has sent a message."""

    def on_timer_event(self, correlation_id: int, timestamp: int) -> None:
        """A timer has expired."""

    def on_take_snapshot(self) -> bytes:
        """Return all state as bytes."""
        return b""

    def on_role_change(self, role: Role) -> None:
        """The member has another role."""

    def on_new_leadership_term_event(self, event: NewLeadershipTermEvent) -> None:
        """A leadership term begins."""

    def on_terminate(self) -> None:
        """The process ends."""


REQUEST: Final = struct.Struct("<QQ")
"""The client id and the number of the request, before the body of a request or an answer."""
WINDOW: Final = 64
"""The number of answers kept for each client, and of open requests that a client may have."""
MAX_CLIENTS: Final = 10_000
"""The greatest number of clients; above it, the client that was silent longest is forgotten."""
_Snapshot: TypeAlias = tuple[list[tuple[int, int, list[tuple[int, bytes]]]], bytes]
"""Id, number of the last request and kept answers of each client; the snapshot of the state."""


@dataclass
class _Client:
    applied: int = 0
    """The number of the last request."""
    answers: OrderedDict[int, bytes] = field(default_factory=OrderedDict)


class ExactlyOnce(ClusteredService, ABC):
    """A deterministic state machine, which applies each request of each client once."""

    def __init__(self) -> None:
        self._clients: OrderedDict[int, _Client] = OrderedDict()
        self._cluster: Cluster

    @abstractmethod
    def apply(self, request: bytes) -> bytes:
        """Apply a request and return the answer."""

    @abstractmethod
    def snapshot(self) -> bytes:
        """Return all state as bytes."""

    @abstractmethod
    def restore(self, snapshot: bytes) -> None:
        """Restore the state from a snapshot."""

    def on_start(self, cluster: Cluster, snapshot: bytes | None) -> None:
        """See `ClusteredService`."""
        self._cluster = cluster
        if snapshot is not None:
            self._restore(snapshot)

    def on_session_message(
        self,
        session: ClientSession | None,
        timestamp: int,  # noqa: ARG002 - of the callback
        payload: bytes,
    ) -> None:
        """Apply a request, unless it was applied before or an earlier one is missing."""
        if session is None or len(payload) < REQUEST.size:
            return
        client_id, number = REQUEST.unpack_from(payload)
        client = self._clients.setdefault(client_id, _Client())
        self._clients.move_to_end(client_id)
        if len(self._clients) > MAX_CLIENTS:
            self._clients.popitem(last=False)
        if number == client.applied + 1:
            client.applied = number
            client.answers[number] = self.apply(payload[REQUEST.size :])
            if len(client.answers) > WINDOW:
                client.answers.popitem(last=False)
        answer = client.answers.get(number)
        if answer is not None:
            self._cluster.offer(session.id, payload[: REQUEST.size] + answer)

    def on_take_snapshot(self) -> bytes:
        """See `ClusteredService`."""
        clients = [
            (client_id, client.applied, list(client.answers.items()))
            for client_id, client in self._clients.items()
        ]
        return msgspec.msgpack.encode((clients, self.snapshot()))

    def _restore(self, snapshot: bytes) -> None:
        clients, content = msgspec.msgpack.decode(snapshot, type=_Snapshot)
        for client_id, applied, answers in clients:
            self._clients[client_id] = _Client(applied, OrderedDict(answers))
        self.restore(content)


class Counter(ExactlyOnce):
    """A counter: ``add N`` adds N, ``get`` adds nothing. The answer is the value afterwards."""

    def __init__(self) -> None:
        super().__init__()
        self.value = 0

    def apply(self, request: bytes) -> bytes:
        """See `ExactlyOnce`."""
        words = request.split()
        if len(words) == 2 and words[0] == b"add":
            try:
                self.value += int(words[1])
            except ValueError:
                return b"error: not a number"
        elif words != [b"get"]:
            return b"error: unknown request; give: add N, get"
        return str(self.value).encode()

    def snapshot(self) -> bytes:
        """See `ExactlyOnce`."""
        return str(self.value).encode()

    def restore(self, snapshot: bytes) -> None:
        """See `ExactlyOnce`."""
        self.value = int(snapshot)

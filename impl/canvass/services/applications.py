"""Applications on a cluster, and one of them: a counter.

`ExactlyOnce` applies the requests of a client in order, even if they are offered several times.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import msgspec

from canvass.log.entries import CloseReason
from canvass.services.service import ClientSession, Cluster, ClusteredService

REQUEST: Final = struct.Struct("<QQ")
"""The client id and the number of the request, before the body of a request or an answer."""
WINDOW: Final = 64
"""The number of answers kept for each client, and of open requests that a client may have."""
MAX_CLIENTS: Final = 10_000
"""The greatest number of clients; above it, the client that was silent longest is forgotten."""
_Snapshot: TypeAlias = tuple[list[tuple[int, int, list[tuple[int, bytes]]]], bytes]
"""Id, number of the last request and kept answers of each client; the application's snapshot."""


class Application(ABC):
    """A deterministic state machine; `ExactlyOnce` makes a service of it."""

    @abstractmethod
    def apply(self, request: bytes) -> bytes:
        """Apply a request and return the answer."""

    @abstractmethod
    def snapshot(self) -> bytes:
        """Return all state as bytes."""

    @abstractmethod
    def restore(self, snapshot: bytes) -> None:
        """Restore the state from a snapshot."""


@dataclass
class _Client:
    applied: int = 0
    """The number of the last request."""
    answers: OrderedDict[int, bytes] = field(default_factory=OrderedDict)


class ExactlyOnce(ClusteredService):
    """A service that applies each request of each client once."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self._clients: OrderedDict[int, _Client] = OrderedDict()
        self._cluster: Cluster

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
            client.answers[number] = self.application.apply(payload[REQUEST.size :])
            if len(client.answers) > WINDOW:
                client.answers.popitem(last=False)
        answer = client.answers.get(number)
        if answer is not None:
            self._cluster.offer(session.id, payload[: REQUEST.size] + answer)

    def on_session_close(
        self, session: ClientSession, timestamp: int, close_reason: CloseReason
    ) -> None:
        """Keep the state of the client: it may come back in another session."""

    def on_take_snapshot(self) -> bytes:
        """See `ClusteredService`."""
        clients = [
            (client_id, client.applied, list(client.answers.items()))
            for client_id, client in self._clients.items()
        ]
        return msgspec.msgpack.encode((clients, self.application.snapshot()))

    def _restore(self, snapshot: bytes) -> None:
        clients, content = msgspec.msgpack.decode(snapshot, type=_Snapshot)
        for client_id, applied, answers in clients:
            self._clients[client_id] = _Client(applied, OrderedDict(answers))
        self.application.restore(content)


class Counter(Application):
    """A counter: ``add N`` adds N, ``get`` adds nothing. The answer is the value afterwards."""

    def __init__(self) -> None:
        self.value = 0

    def apply(self, request: bytes) -> bytes:
        """See `Application`."""
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
        """See `Application`."""
        return str(self.value).encode()

    def restore(self, snapshot: bytes) -> None:
        """See `Application`."""
        self.value = int(snapshot)

"""A client of a cluster: it finds the leader, opens a session and offers requests.

The caller gives times and received messages, and sends the client's messages. The client offers a
request to the current leader until it is answered. `canvass.services.service` applies each
request once, in order.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from canvass.log.entries import SessionMessageHeader
from canvass.services.service import REQUEST, WINDOW
from canvass.transport.messages import (
    PROTOCOL_VERSION,
    Egress,
    EventCode,
    Ingress,
    NewLeaderEvent,
    SessionCloseRequest,
    SessionConnectRequest,
    SessionEvent,
    SessionKeepAlive,
    parse_endpoints,
)


class ClientState(str, Enum):
    """The state of a client's session."""

    CONNECTING = "CONNECTING"
    OPEN = "OPEN"
    CLOSED = "CLOSED"


@dataclass(frozen=True)
class ClientSettings:
    """The settings of a client; they do not change.

    The defaults are Aeron's, in milliseconds.
    """

    client_id: int
    """The id of this client, which no other client ever has."""
    response_channel: str
    """The endpoint to which the cluster sends its answers."""
    credentials: bytes = b""
    connect_retry_ms: int = 500
    """The time until the client tries the next member."""
    offer_retry_ms: int = 500
    """The time until the client offers an unanswered request again."""
    keep_alive_ms: int = 1_000
    silence_ms: int = 5_000
    """The time without an answer after which the client opens a new session."""


class ClusterClient:
    """A client.

    Parameters
    ----------
    settings
        The settings of the client.
    endpoints
        The ingress endpoints of the members.
    send
        A function that sends a message to an endpoint. The message may be lost.

    Attributes
    ----------
    closed_reason
        The reason why the client is closed.
    """

    def __init__(
        self,
        settings: ClientSettings,
        endpoints: Mapping[int, str],
        send: Callable[[str, Ingress], None],
    ) -> None:
        self._settings, self._send = settings, send
        self.endpoints = dict(endpoints)
        self.state = ClientState.CONNECTING
        self.closed_reason = ""
        self.leader_member_id = min(self.endpoints)
        self.leadership_term_id = -1
        self.session_id = -1
        self.now_ms = 0
        self._correlation_id = 0
        self._deadline_ms = 0
        self._keep_alive_due_ms = 0
        self._heard_ms = 0
        self._number = 0
        self._unanswered: OrderedDict[int, tuple[bytes, int]] = OrderedDict()
        """The payload of each request, and the time at which it is offered again."""
        self.answers: OrderedDict[int, bytes] = OrderedDict()
        """The answers by the number of the request. The caller removes them."""

    @property
    def unanswered_count(self) -> int:
        """The number of requests without an answer."""
        return len(self._unanswered)

    def offer(self, body: bytes) -> int:
        """Offer a request. Return its number, or -1 if there is no room for it."""
        if self.state is ClientState.CLOSED:
            return -1
        if not self._unanswered:
            self._heard_ms = self.now_ms
        elif self._number >= next(iter(self._unanswered)) + WINDOW - 1:
            return -1  # The cluster would forget the missing answer.
        self._number += 1
        payload = REQUEST.pack(self._settings.client_id, self._number) + body
        self._unanswered[self._number] = payload, self.now_ms
        self._offer_due()
        return self._number

    def close(self) -> None:
        """End the session."""
        if self.state is ClientState.OPEN:
            self._to_leader(SessionCloseRequest(self.leadership_term_id, self.session_id))
        self._close("closed by the client")

    def work(self, now_ms: int) -> None:
        """Send the messages that are due."""
        self.now_ms = now_ms
        if self.state is ClientState.CONNECTING:
            if now_ms >= self._deadline_ms:
                self._connect(self._next_member() if self._correlation_id else None)
        elif self.state is ClientState.OPEN:
            if self._unanswered and now_ms >= self._heard_ms + self._settings.silence_ms:
                self._reconnect()
                return
            self._offer_due()
            if now_ms >= self._keep_alive_due_ms:
                self._keep_alive_due_ms = now_ms + self._settings.keep_alive_ms
                self._to_leader(SessionKeepAlive(self.leadership_term_id, self.session_id))

    def on_egress(self, message: Egress | Ingress) -> None:
        """Receive a message of the cluster."""
        match message:
            case SessionEvent():
                self._on_session_event(message)
            case NewLeaderEvent(cluster_session_id=session_id):
                if session_id == self.session_id and self.state is ClientState.OPEN:
                    self._on_new_leader(message)
            case SessionMessageHeader(cluster_session_id=session_id, payload=payload):
                if session_id == self.session_id and len(payload) >= REQUEST.size:
                    self._on_answer(payload)
            case _:
                pass

    # Connecting.

    def _next_member(self) -> int:
        members = sorted(self.endpoints)
        place = members.index(self.leader_member_id) if self.leader_member_id in members else -1
        return members[(place + 1) % len(members)]

    def _connect(self, member_id: int | None) -> None:
        if member_id is not None:
            self.leader_member_id = member_id
        if not self._correlation_id:
            self._correlation_id = (self._settings.client_id << 16 & (1 << 62) - 1) + 1
        self._deadline_ms = self.now_ms + self._settings.connect_retry_ms
        self._to_leader(
            SessionConnectRequest(
                self._correlation_id,
                0,
                PROTOCOL_VERSION,
                self._settings.response_channel,
                self._settings.credentials,
            )
        )

    def _reconnect(self) -> None:
        self.state, self.session_id = ClientState.CONNECTING, -1
        self._correlation_id += 1
        self._connect(self._next_member())

    def _on_session_event(self, event: SessionEvent) -> None:
        if event.cluster_session_id == self.session_id and self.state is ClientState.OPEN:
            if event.code is EventCode.CLOSED:
                self._reconnect()
            return
        if event.correlation_id != self._correlation_id or self.state is not ClientState.CONNECTING:
            return
        match event.code:
            case EventCode.OK:
                self.state, self.session_id = ClientState.OPEN, event.cluster_session_id
                self._follow(event.leadership_term_id, event.leader_member_id)
            case EventCode.REDIRECT:
                self._on_redirect(event)
            case EventCode.ERROR:
                self.closed_reason = event.detail  # The next attempt may succeed.
            case _:
                pass

    def _on_redirect(self, event: SessionEvent) -> None:
        self.endpoints.update(parse_endpoints(event.detail))
        leader = event.leader_member_id
        if leader in self.endpoints and leader != self.leader_member_id:
            self._connect(leader)

    def _on_new_leader(self, event: NewLeaderEvent) -> None:
        if event.leadership_term_id > self.leadership_term_id:
            self.endpoints.update(parse_endpoints(event.ingress_endpoints))
            self._follow(event.leadership_term_id, event.leader_member_id)

    def _follow(self, term: int, leader: int) -> None:
        """Offer all unanswered requests to a new leader."""
        self.leadership_term_id, self.leader_member_id = term, leader
        self._heard_ms = self.now_ms
        self._keep_alive_due_ms = self.now_ms + self._settings.keep_alive_ms
        for number, (payload, _) in self._unanswered.items():
            self._unanswered[number] = payload, self.now_ms
        self._offer_due()

    # Requests.

    def _offer_due(self) -> None:
        if self.state is not ClientState.OPEN:
            return
        for number, (payload, again_ms) in self._unanswered.items():
            if self.now_ms >= again_ms:
                self._unanswered[number] = payload, self.now_ms + self._settings.offer_retry_ms
                self._to_leader(
                    SessionMessageHeader(self.leadership_term_id, self.session_id, 0, payload)
                )

    def _on_answer(self, payload: bytes) -> None:
        client_id, number = REQUEST.unpack_from(payload)
        if client_id != self._settings.client_id:
            return
        self._heard_ms = self.now_ms
        if self._unanswered.pop(number, None) is not None:
            self.answers[number] = payload[REQUEST.size :]

    def _to_leader(self, message: Ingress) -> None:
        endpoint = self.endpoints.get(self.leader_member_id)
        if endpoint is not None:
            self._send(endpoint, message)

    def _close(self, reason: str) -> None:
        self.state, self.closed_reason = ClientState.CLOSED, reason

"""The ingress of one member: the clients that it admits, and the messages that wait for the log.

A follower redirects clients to the leader. A leader admits every client (none is authenticated) and
keeps messages in order. None of this is replicated: an election clears it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from canvass.log.entries import SessionMessageHeader
from canvass.node.module_state import ClusterSession, ReplicatedState
from canvass.transport.messages import (
    PROTOCOL_VERSION,
    AdminRequest,
    AdminResponse,
    AdminResponseCode,
    Egress,
    EventCode,
    Ingress,
    SessionCloseRequest,
    SessionConnectRequest,
    SessionEvent,
    SessionKeepAlive,
)

MAX_SESSIONS: Final = 10
"""Aeron's default."""
MAX_WAITING: Final = 4_096
"""The greatest number of waiting messages. Later ones are dropped; clients offer them again."""
_MAJOR_SHIFT: Final = 16
_OF_SESSIONS: Final = (SessionMessageHeader, SessionKeepAlive, SessionCloseRequest, AdminRequest)
"""The messages that a client sends in an open session."""


@dataclass(slots=True)
class PendingSession:
    """A client that connects."""

    id: int
    request: SessionConnectRequest
    is_admitted: bool = False


class ClientIngress:
    """The messages that clients have sent to one member.

    Parameters
    ----------
    i, endpoints
        The member id, and the ingress endpoints of all members in the form that messages have.
    state
        The replicated state: after the committed messages, on a leader after the appended ones.
    send
        A function that sends a message to an egress channel. The message may be lost.
    request_snapshot
        A function that requests a snapshot and returns the answer to the client.
    """

    def __init__(
        self,
        i: int,
        endpoints: str,
        state: ReplicatedState,
        send: Callable[[str, Egress], None],
        request_snapshot: Callable[[], tuple[AdminResponseCode, str]],
    ) -> None:
        self._id, self._endpoints, self.state = i, endpoints, state
        self._send, self._request_snapshot = send, request_snapshot
        self.leads = False
        self.leader_member_id = -1
        self.leadership_term_id = -1
        self.now = 0
        self.messages: deque[SessionMessageHeader | SessionCloseRequest] = deque()
        """The messages to append, in order of arrival: a close follows a session's messages."""
        self._pending: dict[int, PendingSession] = {}
        self._redirected: deque[SessionConnectRequest] = deque()
        self._rejected: deque[tuple[SessionConnectRequest, str]] = deque()

    def on_message(self, message: Ingress) -> None:
        """Receive a message of a client."""
        if isinstance(message, SessionConnectRequest):
            self._on_connect(message)
        elif self.leads:
            self._on_session(message)

    def next_admitted(self) -> PendingSession | None:
        """The next client whose session can be opened, or None."""
        for pending in self._pending.values():
            if pending.is_admitted:
                return pending
        return None

    def opened(self, session_id: int) -> None:
        """Notify a client that its session is open."""
        pending = self._pending.pop(session_id)
        self.notify(pending.request, EventCode.OK, "", session_id)

    def notify_refused(self) -> None:
        """Send the waiting redirections and rejections; part of the slow tick of every member."""
        while self._redirected:
            self.notify(self._redirected.popleft(), EventCode.REDIRECT, self._endpoints)
        while self._rejected:
            request, detail = self._rejected.popleft()
            self.notify(request, EventCode.ERROR, detail)

    def process_pending(self) -> None:
        """Admit all new clients; part of the slow tick of a leader."""
        for pending in self._pending.values():
            pending.is_admitted = True

    def clear(self) -> None:
        """Forget everything: an election begins."""
        self.leads = False
        self.messages.clear()
        self._pending.clear()
        self._rejected.clear()

    def notify(
        self,
        client: SessionConnectRequest | ClusterSession,
        code: EventCode,
        detail: str,
        session_id: int = -1,
    ) -> None:
        """Send a client the state of its session. A session has no id before it is open."""
        event = SessionEvent(
            session_id,
            client.correlation_id,
            self.leadership_term_id,
            self.leader_member_id,
            code,
            PROTOCOL_VERSION,
            detail,
        )
        self._send(client.response_channel, event)

    def _on_connect(self, request: SessionConnectRequest) -> None:
        if not self.leads:
            self._redirected.append(request)
            return
        asked = request.response_channel, request.correlation_id
        for session in self.state.sessions.values():
            if (session.response_channel, session.correlation_id) == asked:
                # The client has sent the request again.
                self.notify(request, EventCode.OK, "", session.id)
                return
        for pending in self._pending.values():
            if (pending.request.response_channel, pending.request.correlation_id) == asked:
                return
        session_id = self.state.allocate_id()
        if request.version >> _MAJOR_SHIFT != 1:
            self._rejected.append((request, "another version of the protocol"))
        elif len(self.state.sessions) + len(self._pending) >= MAX_SESSIONS:
            self._rejected.append((request, "there are too many sessions"))
        else:
            self._pending[session_id] = PendingSession(session_id, request)

    def _on_session(self, message: object) -> None:
        if not isinstance(message, _OF_SESSIONS):
            return
        session = self.state.sessions.get(message.cluster_session_id)
        if (
            session is None
            or session.is_closing
            or message.leadership_term_id != self.leadership_term_id
        ):
            return
        match message:
            case SessionKeepAlive():
                session.touch(self.now)
            case AdminRequest(correlation_id=correlation_id, request_type=asked):
                code, answer = self._request_snapshot()
                response = AdminResponse(session.id, correlation_id, asked, code, answer, b"")
                self._send(session.response_channel, response)
            case SessionMessageHeader() | SessionCloseRequest():
                if len(self.messages) < MAX_WAITING:
                    self.messages.append(message)

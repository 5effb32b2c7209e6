"""What comes from clients: sessions on their way to be opened, and messages on theirs to the log.

A follower redirects to the leader. A leader lets the authenticator decide, and keeps in order what
is to be appended. Nothing here is replicated: an election forgets all of it.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from canvass.log.messages import SessionMessageHeader
from canvass.node.sessions import (
    Authenticated,
    Authenticator,
    Challenged,
    Decision,
    Sessions,
    SessionState,
)
from canvass.transport.messages import (
    AdminRequest,
    AdminResponse,
    AdminResponseCode,
    Challenge,
    ChallengeResponse,
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
"""Messages that wait to be appended; what comes beyond is dropped, and clients offer it again."""
_MAJOR_SHIFT: Final = 16
_OF_SESSIONS: Final = (SessionMessageHeader, SessionKeepAlive, SessionCloseRequest, AdminRequest)
"""What a client sends in a session that is open."""


class PendingState(str, Enum):
    """How far a client has come that connects."""

    CONNECTED = "CONNECTED"
    CHALLENGED = "CHALLENGED"
    AUTHENTICATED = "AUTHENTICATED"


@dataclass(slots=True)
class PendingSession:
    """A client that connects."""

    id: int
    request: SessionConnectRequest
    state: PendingState
    since: int
    encoded_principal: bytes = b""
    response: bytes | None = None
    """What the client has answered to a challenge, if it has not been examined yet."""


class ClientIngress:
    """What clients have sent to one member.

    Parameters
    ----------
    i, endpoints
        The member, and the ingress endpoints of all as they stand in messages.
    sessions
        The open ones.
    authenticator
        Decides about clients.
    send
        Sends something to an egress channel; it may be lost.
    administer
        Lets the cluster take a snapshot, and says how that went.
    """

    def __init__(
        self,
        i: int,
        endpoints: str,
        sessions: Sessions,
        authenticator: Authenticator,
        send: Callable[[str, Egress], None],
        administer: Callable[[], tuple[AdminResponseCode, str]],
    ) -> None:
        self._id, self._endpoints, self._sessions = i, endpoints, sessions
        self._authenticator, self._send = authenticator, send
        self._administer = administer
        self.leads = False
        self.leader_member_id = -1
        self.leadership_term_id = -1
        self.now = 0
        self.messages: deque[SessionMessageHeader | SessionCloseRequest] = deque()
        """What sessions ask to be appended, in their order: a close comes after what was sent
        before it."""
        self._pending: dict[int, PendingSession] = {}
        self._redirected: deque[SessionConnectRequest] = deque()
        self._rejected: deque[tuple[SessionConnectRequest, EventCode, str]] = deque()
        self.counters: Counter[str] = Counter()

    def on_message(self, message: Ingress) -> None:
        """Take something that a client has sent."""
        if isinstance(message, SessionConnectRequest):
            self._on_connect(message)
        elif not self.leads:
            self.counters["ingress messages dropped"] += 1
        elif isinstance(message, ChallengeResponse):
            self._on_challenge_response(message)
        else:
            self._on_session(message)

    def next_authenticated(self) -> PendingSession | None:
        """The client whose session is to be opened next."""
        for pending in self._pending.values():
            if pending.state is PendingState.AUTHENTICATED:
                return pending
        return None

    def opened(self, session_id: int) -> None:
        """Tell a client that its session is open."""
        pending = self._pending.pop(session_id)
        self._event(pending.request, EventCode.OK, "", session_id)

    def tell_refused(self) -> None:
        """Send the redirections and the rejections that wait: slow tick work of every member."""
        while self._redirected:
            self._event(self._redirected.popleft(), EventCode.REDIRECT, self._endpoints)
        while self._rejected:
            self._event(*self._rejected.popleft())

    def process_pending(self, timeout: int) -> None:
        """Let the authenticator decide about new clients: slow tick work of a leader."""
        for pending in list(self._pending.values()):
            if pending.state is PendingState.AUTHENTICATED:
                continue  # It is appended next.
            if self.now >= pending.since + timeout:
                del self._pending[pending.id]
            elif pending.state is PendingState.CONNECTED:
                credentials = pending.request.encoded_credentials
                self._decide(pending, self._authenticator.on_connect(pending.id, credentials))
            elif pending.response is not None:
                response, pending.response = pending.response, None
                decision = self._authenticator.on_challenge_response(pending.id, response)
                self._decide(pending, decision)

    def clear(self) -> None:
        """Forget everything: an election begins."""
        self.leads = False
        self.messages.clear()
        self._pending.clear()
        self._rejected.clear()

    def _event(
        self, request: SessionConnectRequest, code: EventCode, detail: str, session_id: int = -1
    ) -> None:
        event = SessionEvent(
            session_id,
            request.correlation_id,
            self.leadership_term_id,
            self.leader_member_id,
            code,
            request.version,
            detail,
        )
        self._send(request.response_channel, event)

    def _on_connect(self, request: SessionConnectRequest) -> None:
        if not self.leads:
            self.counters["clients redirected"] += 1
            self._redirected.append(request)
            return
        asked = request.response_channel, request.correlation_id
        for session in self._sessions.by_id.values():
            if (session.response_channel, session.correlation_id) == asked:
                self._event(request, EventCode.OK, "", session.id)  # It is asked for again.
                return
        for pending in self._pending.values():
            if (pending.request.response_channel, pending.request.correlation_id) == asked:
                return
        session_id = self._sessions.allocate_id()
        if request.version >> _MAJOR_SHIFT != 1:
            self._reject(request, EventCode.ERROR, "another version of the protocol")
        elif len(self._sessions.by_id) + len(self._pending) >= MAX_SESSIONS:
            self._reject(request, EventCode.ERROR, "there are too many sessions")
        else:
            connected = PendingState.CONNECTED
            self._pending[session_id] = PendingSession(session_id, request, connected, self.now)

    def _reject(self, request: SessionConnectRequest, code: EventCode, detail: str) -> None:
        self.counters["clients rejected"] += 1
        self._rejected.append((request, code, detail))

    def _on_challenge_response(self, message: ChallengeResponse) -> None:
        pending = self._pending.get(message.cluster_session_id)
        if pending is not None and pending.state is PendingState.CHALLENGED:
            pending.response = message.encoded_credentials

    def _decide(self, pending: PendingSession, decision: Decision) -> None:
        request = pending.request
        match decision:
            case Authenticated(encoded_principal=principal):
                pending.state, pending.encoded_principal = PendingState.AUTHENTICATED, principal
            case Challenged(encoded_challenge=challenge):
                pending.state = PendingState.CHALLENGED
                challenged = Challenge(request.correlation_id, pending.id, challenge)
                self._send(request.response_channel, challenged)
            case _:
                del self._pending[pending.id]
                code = EventCode.AUTHENTICATION_REJECTED
                self._reject(request, code, "credentials are wrong")

    def _on_session(self, message: object) -> None:
        if not isinstance(message, _OF_SESSIONS):
            return
        session = self._sessions.by_id.get(message.cluster_session_id)
        known = session is not None and session.state is SessionState.OPEN
        if session is None or not known or message.leadership_term_id != self.leadership_term_id:
            self.counters["ingress messages dropped"] += 1
            return
        match message:
            case SessionKeepAlive():
                session.last_activity = max(session.last_activity, self.now)
            case AdminRequest(correlation_id=correlation_id, request_type=asked):
                code, answer = self._administer()
                response = AdminResponse(session.id, correlation_id, asked, code, answer, b"")
                self._send(session.response_channel, response)
            case SessionMessageHeader() | SessionCloseRequest():
                if len(self.messages) >= MAX_WAITING:
                    self.counters["ingress messages dropped"] += 1
                else:
                    self.messages.append(message)

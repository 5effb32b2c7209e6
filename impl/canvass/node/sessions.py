"""The clients of the consensus module: their sessions and their messages.

`Sessions` is replicated. A leader changes it when it appends an entry, other members when they read
the log. A leader can undo its uncommitted changes.

`ClientIngress` has the clients that connect, and the messages that wait for the log. A follower
redirects clients to the leader. On a leader the authenticator decides about clients, and messages
are kept in order. None of this is replicated: an election clears it.
"""

from __future__ import annotations

import hmac
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol, TypeAlias

from canvass.log.entries import CloseReason, SessionMessageHeader, SessionOpenEvent
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
    challenge_response,
)


@dataclass(frozen=True, slots=True)
class Authenticated:
    """The client may open a session."""

    encoded_principal: bytes


@dataclass(frozen=True, slots=True)
class Challenged:
    """The client has to answer a challenge first."""

    encoded_challenge: bytes


@dataclass(frozen=True, slots=True)
class Rejected:
    """The client may not open a session."""


Decision: TypeAlias = Authenticated | Challenged | Rejected


class Authenticator(Protocol):
    """An authenticator of clients, which runs on the leader."""

    def on_connect(self, session_id: int, encoded_credentials: bytes) -> Decision:
        """Decide about a client that connects."""
        ...

    def on_challenge_response(self, session_id: int, encoded_credentials: bytes) -> Decision:
        """Decide about a client that has answered a challenge."""
        ...


class AcceptEveryone:
    """An authenticator that accepts every client by its name."""

    def on_connect(self, session_id: int, encoded_credentials: bytes) -> Decision:
        """See `Authenticator`."""
        del session_id
        return Authenticated(encoded_credentials)

    def on_challenge_response(self, session_id: int, encoded_credentials: bytes) -> Decision:
        """See `Authenticator`."""
        del session_id, encoded_credentials
        return Rejected()


class SharedSecret:
    """An authenticator of clients that know a secret. The secret is not sent.

    Parameters
    ----------
    secret
        The secret.
    nonce
        A function that returns unpredictable bytes.
    """

    def __init__(self, secret: bytes, nonce: Callable[[], bytes]) -> None:
        self._secret, self._nonce = secret, nonce
        self._asked: dict[int, tuple[bytes, bytes]] = {}

    def on_connect(self, session_id: int, encoded_credentials: bytes) -> Decision:
        """See `Authenticator`."""
        challenge = self._nonce()
        self._asked[session_id] = encoded_credentials, challenge
        return Challenged(challenge)

    def on_challenge_response(self, session_id: int, encoded_credentials: bytes) -> Decision:
        """See `Authenticator`."""
        name, challenge = self._asked.pop(session_id, (b"", b""))
        expected = challenge_response(self._secret, name, challenge)
        if challenge and hmac.compare_digest(expected, encoded_credentials):
            return Authenticated(name)
        return Rejected()


class SessionState(str, Enum):
    """The state of a session whose opening is in the log."""

    OPEN = "OPEN"
    CLOSING = "CLOSING"


@dataclass(slots=True)
class ClusterSession:
    """One session."""

    id: int
    correlation_id: int
    response_stream_id: int
    response_channel: str
    encoded_principal: bytes
    opened_position: int
    state: SessionState = SessionState.OPEN
    close_reason: CloseReason = CloseReason.CLIENT_ACTION
    last_activity: int = 0
    """The time of the last activity, in the unit of timestamps."""
    is_new_leader_event_pending: bool = False


class Sessions:
    """The open and closing sessions of a cluster."""

    def __init__(self) -> None:
        self.by_id: dict[int, ClusterSession] = {}
        self.next_session_id = 1
        """The session id for the next client that connects to this leader."""
        self.next_committed_session_id = 1
        """The id that a snapshot stores: ids of sessions that are not in the log are used again."""
        self._uncommitted_closed: list[tuple[int, ClusterSession]] = []
        self._uncommitted_ids: list[tuple[int, int]] = []

    def allocate_id(self) -> int:
        """The id of a client that connects."""
        self.next_session_id += 1
        return self.next_session_id - 1

    def opened(self) -> list[ClusterSession]:
        """All sessions, by rising id."""
        return [self.by_id[key] for key in sorted(self.by_id)]

    def on_append_open(self, position: int, event: SessionOpenEvent) -> None:
        """Note that this leader has appended the opening of a session."""
        self._add(position, event)
        self._uncommitted_ids.append((position, event.cluster_session_id + 1))

    def on_append_close(self, position: int, session_id: int) -> None:
        """Note that this leader has appended the end of a session."""
        closed = self.by_id.pop(session_id, None)
        if closed is not None:
            self._uncommitted_closed.append((position, closed))

    def on_replay_open(self, position: int, event: SessionOpenEvent) -> None:
        """Act on the opening of a session in the log."""
        self._add(position, event)
        self._commit_id(event.cluster_session_id + 1)

    def on_replay_close(self, session_id: int) -> None:
        """Act on the end of a session in the log."""
        self.by_id.pop(session_id, None)

    def touch(self, session_id: int, timestamp: int) -> None:
        """Note that a session is active."""
        session = self.by_id.get(session_id)
        if session is not None:
            session.last_activity = max(session.last_activity, timestamp)

    def sweep(self, commit_position: int) -> None:
        """Forget how to undo the entries up to a commit position."""
        for position, next_id in self._uncommitted_ids:
            if position <= commit_position:
                self._commit_id(next_id)
        self._uncommitted_ids = [one for one in self._uncommitted_ids if one[0] > commit_position]
        self._uncommitted_closed = [
            one for one in self._uncommitted_closed if one[0] > commit_position
        ]

    def roll_back(self, commit_position: int) -> list[ClusterSession]:
        """Undo the entries that may never be committed. Return the sessions that end thereby.

        A session whose end may never be committed is restored and about to be closed.
        """
        self.sweep(commit_position)
        for _, session in self._uncommitted_closed:
            session.state = SessionState.CLOSING
            self.by_id[session.id] = session
        self._uncommitted_closed.clear()
        self._uncommitted_ids.clear()
        gone = [one for one in self.opened() if one.opened_position > commit_position]
        for session in gone:
            del self.by_id[session.id]
        self.next_session_id = self.next_committed_session_id
        return gone

    def restore(self, sessions: list[ClusterSession], next_committed_session_id: int) -> None:
        """Restore the sessions from a snapshot."""
        self.by_id = {session.id: session for session in sessions}
        self.next_session_id = self.next_committed_session_id = next_committed_session_id

    def _add(self, position: int, event: SessionOpenEvent) -> None:
        self.by_id[event.cluster_session_id] = ClusterSession(
            event.cluster_session_id,
            event.correlation_id,
            event.response_stream_id,
            event.response_channel,
            event.encoded_principal,
            position,
            last_activity=event.timestamp,
        )

    def _commit_id(self, next_id: int) -> None:
        self.next_committed_session_id = max(self.next_committed_session_id, next_id)
        self.next_session_id = max(self.next_session_id, next_id)


MAX_SESSIONS: Final = 10
"""Aeron's default."""
MAX_WAITING: Final = 4_096
"""The greatest number of waiting messages. Later ones are dropped; clients offer them again."""
_MAJOR_SHIFT: Final = 16
_OF_SESSIONS: Final = (SessionMessageHeader, SessionKeepAlive, SessionCloseRequest, AdminRequest)
"""The messages that a client sends in an open session."""


class PendingState(str, Enum):
    """The progress of a client that connects."""

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
    """The client's answer to a challenge, until the authenticator has decided."""


class ClientIngress:
    """The messages that clients have sent to one member.

    Parameters
    ----------
    i, endpoints
        The member id, and the ingress endpoints of all members in the form of messages.
    sessions
        The sessions of the cluster.
    authenticator
        The authenticator of clients.
    send
        A function that sends a message to an egress channel. The message may be lost.
    request_snapshot
        A function that requests a snapshot and returns the answer to the client.
    """

    def __init__(
        self,
        i: int,
        endpoints: str,
        sessions: Sessions,
        authenticator: Authenticator,
        send: Callable[[str, Egress], None],
        request_snapshot: Callable[[], tuple[AdminResponseCode, str]],
    ) -> None:
        self._id, self._endpoints, self._sessions = i, endpoints, sessions
        self._authenticator, self._send = authenticator, send
        self._request_snapshot = request_snapshot
        self.leads = False
        self.leader_member_id = -1
        self.leadership_term_id = -1
        self.now = 0
        self.messages: deque[SessionMessageHeader | SessionCloseRequest] = deque()
        """The messages to append, in their order: a close follows the earlier messages."""
        self._pending: dict[int, PendingSession] = {}
        self._redirected: deque[SessionConnectRequest] = deque()
        self._rejected: deque[tuple[SessionConnectRequest, EventCode, str]] = deque()
        self.counters: Counter[str] = Counter()

    def on_message(self, message: Ingress) -> None:
        """Receive a message of a client."""
        if isinstance(message, SessionConnectRequest):
            self._on_connect(message)
        elif not self.leads:
            self.counters["ingress messages dropped"] += 1
        elif isinstance(message, ChallengeResponse):
            self._on_challenge_response(message)
        else:
            self._on_session(message)

    def next_authenticated(self) -> PendingSession | None:
        """The next client whose session can be opened, or None."""
        for pending in self._pending.values():
            if pending.state is PendingState.AUTHENTICATED:
                return pending
        return None

    def opened(self, session_id: int) -> None:
        """Notify a client that its session is open."""
        pending = self._pending.pop(session_id)
        self._event(pending.request, EventCode.OK, "", session_id)

    def notify_refused(self) -> None:
        """Send the waiting redirections and rejections; part of the slow tick of every member."""
        while self._redirected:
            self._event(self._redirected.popleft(), EventCode.REDIRECT, self._endpoints)
        while self._rejected:
            self._event(*self._rejected.popleft())

    def process_pending(self, timeout: int) -> None:
        """Let the authenticator decide about new clients; part of the slow tick of a leader."""
        for pending in list(self._pending.values()):
            if pending.state is PendingState.AUTHENTICATED:
                continue  # The opening of the session is appended next.
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
                self._event(
                    request, EventCode.OK, "", session.id
                )  # The client has sent the request again.
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
                code, answer = self._request_snapshot()
                response = AdminResponse(session.id, correlation_id, asked, code, answer, b"")
                self._send(session.response_channel, response)
            case SessionMessageHeader() | SessionCloseRequest():
                if len(self.messages) >= MAX_WAITING:
                    self.counters["ingress messages dropped"] += 1
                else:
                    self.messages.append(message)

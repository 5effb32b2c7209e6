"""The sessions of clients as the consensus module of each member knows them.

A leader changes them when it appends, other members when they read the log. What a leader has
changed and was not committed can be undone. Nothing is sent from here.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeAlias

from canvass.log.messages import CloseReason, SessionOpenEvent
from canvass.transport.messages import challenge_response


@dataclass(frozen=True, slots=True)
class Authenticated:
    """The client may open a session."""

    encoded_principal: bytes


@dataclass(frozen=True, slots=True)
class Challenged:
    """The client has to answer something first."""

    encoded_challenge: bytes


@dataclass(frozen=True, slots=True)
class Rejected:
    """The client may not open a session."""


Decision: TypeAlias = Authenticated | Challenged | Rejected


class Authenticator(Protocol):
    """Decides about clients, on the leader."""

    def on_connect(self, session_id: int, encoded_credentials: bytes) -> Decision:
        """Decide about a client that connects."""
        ...

    def on_challenge_response(self, session_id: int, encoded_credentials: bytes) -> Decision:
        """Decide about a client that has answered a challenge."""
        ...


class AcceptEveryone:
    """Lets every client in, by the name that it gives."""

    def on_connect(self, session_id: int, encoded_credentials: bytes) -> Decision:
        """See `Authenticator`."""
        del session_id
        return Authenticated(encoded_credentials)

    def on_challenge_response(self, session_id: int, encoded_credentials: bytes) -> Decision:
        """See `Authenticator`."""
        del session_id, encoded_credentials
        return Rejected()


class SharedSecret:
    """Authenticates clients that know a secret; the secret is not sent.

    Parameters
    ----------
    secret
        The secret.
    nonce
        Gives unpredictable bytes.
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
    """Of a session that is in the log. Until then a session belongs to the ingress."""

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
    """In the unit of timestamps."""
    is_new_leader_event_pending: bool = False


class Sessions:
    """The open and closing sessions of a cluster."""

    def __init__(self) -> None:
        self.by_id: dict[int, ClusterSession] = {}
        self.next_session_id = 1
        """For the next client that connects to this leader."""
        self.next_committed_session_id = 1
        """What a snapshot stores: ids of clients that never got into the log are used again."""
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
        """Note that this leader has appended that a session is open."""
        self._add(position, event)
        self._uncommitted_ids.append((position, event.cluster_session_id + 1))

    def on_append_close(self, position: int, session_id: int) -> None:
        """Note that this leader has appended that a session is closed."""
        closed = self.by_id.pop(session_id, None)
        if closed is not None:
            self._uncommitted_closed.append((position, closed))

    def on_replay_open(self, position: int, event: SessionOpenEvent) -> None:
        """The log says that a session is open."""
        self._add(position, event)
        self._commit_id(event.cluster_session_id + 1)

    def on_replay_close(self, session_id: int) -> None:
        """The log says that a session is closed."""
        self.by_id.pop(session_id, None)

    def touch(self, session_id: int, timestamp: int) -> None:
        """Note that a session is active."""
        session = self.by_id.get(session_id)
        if session is not None:
            session.last_activity = max(session.last_activity, timestamp)

    def sweep(self, commit_position: int) -> None:
        """Forget what can no more be undone."""
        for position, next_id in self._uncommitted_ids:
            if position <= commit_position:
                self._commit_id(next_id)
        self._uncommitted_ids = [one for one in self._uncommitted_ids if one[0] > commit_position]
        self._uncommitted_closed = [
            one for one in self._uncommitted_closed if one[0] > commit_position
        ]

    def roll_back(self, commit_position: int) -> list[ClusterSession]:
        """Undo what may never commit; give the sessions that are no more.

        A session whose end may not commit is back, and about to be closed.
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
        """Take up what a snapshot says."""
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

"""What one service wants to be in the log, until it is there for good.

Every member's service offers the same messages, and every member numbers them alike. Only a leader
appends them; another member drops those that it sees in the log. So a new leader knows which are
missing: none is lost, none is there twice.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from canvass.cluster.messages import NULL_VALUE

_SIGN = -(1 << 63)
_SERVICE_SHIFT = 56


def first_session_id(service_id: int) -> int:
    """The number before the first message of a service; negative, unlike a client's session."""
    return _SIGN + (service_id << _SERVICE_SHIFT)


def service_of(session_id: int) -> int:
    """The service whose message bears a negative session id."""
    return (session_id - _SIGN) >> _SERVICE_SHIFT


@dataclass(slots=True)
class PendingMessage:
    """A message that is not known to be committed."""

    session_id: int
    payload: bytes
    appended_position: int = NULL_VALUE
    """Where it ends in the log, if this leader has appended it."""


class PendingServiceMessageTracker:
    """The messages of one service."""

    def __init__(self, service_id: int) -> None:
        self.service_id = service_id
        self.next_service_session_id = first_session_id(service_id) + 1
        self.log_service_session_id = first_session_id(service_id)
        """The last one that is in the log for good."""
        self._pending: deque[PendingMessage] = deque()
        self._appended = 0
        """How many at the front have been appended."""

    def enqueue(self, payload: bytes) -> None:
        """Take what the service has offered, unless it is in the log already."""
        session_id = self.next_service_session_id
        self.next_service_session_id += 1
        if session_id > self.log_service_session_id:
            self._pending.append(PendingMessage(session_id, payload))

    def pending(self) -> tuple[PendingMessage, ...]:
        """All that is not known to be committed, in order."""
        return tuple(self._pending)

    def next_to_append(self) -> PendingMessage | None:
        """The first one that has not been appended."""
        return self._pending[self._appended] if self._appended < len(self._pending) else None

    def on_append(self, position: int) -> None:
        """Note that this leader has appended the message that was next."""
        self._pending[self._appended].appended_position = position
        self._appended += 1

    def on_replay(self, session_id: int) -> None:
        """A message is in the log that another member wrote, and committed."""
        self.log_service_session_id = max(self.log_service_session_id, session_id)
        while self._pending and self._pending[0].session_id <= session_id:
            self._pending.popleft()
            self._appended = max(0, self._appended - 1)

    def sweep(self, commit_position: int) -> None:
        """Forget what is in the log for good."""
        while self._appended and self._pending[0].appended_position <= commit_position:
            self.log_service_session_id = self._pending.popleft().session_id
            self._appended -= 1

    def roll_back(self, commit_position: int) -> None:
        """Let those wait again that may never commit."""
        self.sweep(commit_position)
        for message in self._pending:
            message.appended_position = NULL_VALUE
        self._appended = 0

    def restore(self, next_id: int, log_id: int, pending: list[tuple[int, bytes]]) -> None:
        """Take up what a snapshot says."""
        self.next_service_session_id, self.log_service_session_id = next_id, log_id
        self._pending = deque(PendingMessage(key, payload) for key, payload in pending)
        self._appended = 0

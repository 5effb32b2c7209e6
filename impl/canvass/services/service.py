"""What an application that runs on a cluster is: `ClusteredService`, and what it can do: `Cluster`.

Every member runs the same services on the same log. So a service has to be deterministic: it may
depend on what its methods are given, and on nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias

from canvass.cluster.member import Role
from canvass.log.messages import CloseReason, NewLeadershipTermEvent


@dataclass(frozen=True, slots=True)
class JoinLog:
    """Follow a log stream, or a replay of the own recording."""

    log_position: int
    """Where to begin: a service has to stand there."""
    max_log_position: int
    """Where to end at the latest."""
    member_id: int
    is_startup: bool
    """The stream is a replay."""
    role: Role


@dataclass(frozen=True, slots=True)
class ServiceAck:
    """A service has reached a position, at which it has joined the log or taken a snapshot."""

    log_position: int
    timestamp: int
    ack_id: int
    """Counts the acknowledgements of a service from 0."""
    service_id: int
    snapshot: bytes | None = None
    """The snapshot, if that is what is acknowledged. Aeron names a recording instead."""


@dataclass(frozen=True, slots=True)
class ScheduleTimer:
    """Let a timer expire at a deadline; one of the same id is replaced."""

    correlation_id: int
    deadline: int


@dataclass(frozen=True, slots=True)
class ServiceMessage:
    """Something that a service wants to be in the log. Every member's service says the same."""

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
    """What a service can ask of the cluster, within its callbacks."""

    @property
    def member_id(self) -> int:
        """The member that the service runs on. Nothing that a service answers may depend on it."""
        ...

    @property
    def service_id(self) -> int:
        """Which of the cluster's services this one is, from 0."""
        ...

    @property
    def role(self) -> Role:
        """What the member is by now."""
        ...

    @property
    def log_position(self) -> int:
        """Up to where the service has processed the log."""
        ...

    def client_sessions(self) -> tuple[ClientSession, ...]:
        """The open sessions, by rising id."""
        ...

    def offer(self, cluster_session_id: int, payload: bytes) -> None:
        """Send something to a client. Only the leader's service does; the others' is discarded."""
        ...

    def offer_to_log(self, payload: bytes) -> None:
        """Let something be in the log, to come back as a message without a session."""
        ...

    def schedule_timer(self, correlation_id: int, deadline: int) -> None:
        """Let a timer expire; a deadline is in the unit of timestamps."""
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
        """A client has sent something, or, without a session, a service of this cluster."""

    def on_timer_event(self, correlation_id: int, timestamp: int) -> None:
        """A timer has expired."""

    def on_take_snapshot(self) -> bytes:
        """Write down all state."""
        return b""

    def on_role_change(self, role: Role) -> None:
        """The member has another role."""

    def on_new_leadership_term_event(self, event: NewLeadershipTermEvent) -> None:
        """A leadership term begins."""

    def on_terminate(self) -> None:
        """The process ends."""

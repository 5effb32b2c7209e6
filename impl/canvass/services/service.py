"""The interfaces between an application, `ClusteredService`, and its cluster, `Cluster`.

Every member runs the same services on the same log. So a service must be deterministic: it may
depend on the parameters of its methods only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias

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

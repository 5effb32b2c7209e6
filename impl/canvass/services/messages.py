"""What a consensus module and its services tell each other.

Values only, named and fielded as in Aeron's SBE schema, without what only its transport needs.
Module to service: `JoinLog`. Service to module: the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from canvass.cluster.member import Role


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
class CancelTimer:
    """Let a timer not expire."""

    correlation_id: int


@dataclass(frozen=True, slots=True)
class CloseSession:
    """End the session of a client."""

    cluster_session_id: int


@dataclass(frozen=True, slots=True)
class ServiceMessage:
    """Something that a service wants to be in the log. Every member's service says the same."""

    service_id: int
    payload: bytes


FromService: TypeAlias = ServiceAck | ScheduleTimer | CancelTimer | CloseSession | ServiceMessage

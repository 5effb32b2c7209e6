"""The timeouts and intervals of a member, with Aeron's defaults.

`canvass.cluster.clocks` applies most of them, `canvass.cluster.duty_cycle` the others.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

MILLISECOND_NS: Final = 1_000_000
SECOND_NS: Final = 1_000 * MILLISECOND_NS

SLOW_TICK_NS: Final = 10 * MILLISECOND_NS
"""The interval of slow tick work. A constant in Aeron."""
CONSENSUS_FRAGMENT_LIMIT: Final = 10
"""The most consensus messages that one duty cycle polls."""
INGRESS_FRAGMENT_LIMIT: Final = 50
LOG_FRAGMENT_LIMIT: Final = 50


@dataclass(frozen=True, slots=True)
class Timing:
    """The durations of a cluster's configuration.

    Raises
    ------
    ValueError
        If a duration is not positive, or if the startup canvass timeout is less than two leader
        heartbeat timeouts.
    """

    startup_canvass_timeout_ns: int = 60 * SECOND_NS
    """The time that the first CANVASS of a process waits for all members."""
    election_timeout_ns: int = SECOND_NS
    """The duration of a ballot. The nomination delay is drawn from 0 up to half of it."""
    election_status_interval_ns: int = 100 * MILLISECOND_NS
    leader_heartbeat_timeout_ns: int = 10 * SECOND_NS
    leader_heartbeat_interval_ns: int = 200 * MILLISECOND_NS
    termination_timeout_ns: int = 10 * SECOND_NS
    """The time that a leader that terminates the cluster waits for its followers."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) <= 0:
                raise ValueError(f"{field.name} must be positive")
        if self.startup_canvass_timeout_ns < 2 * self.leader_heartbeat_timeout_ns:
            raise ValueError("startup_canvass_timeout_ns must be two leader heartbeat timeouts")

    def divided(self, by: int) -> Timing:
        """The timing with every duration divided by ``by``."""
        return Timing(*(getattr(self, field.name) // by for field in fields(self)))

"""The timeouts and intervals of a member, with Aeron's defaults.

Values only; what each one governs is in `canvass.cluster.clocks`, and when it is looked at in
`canvass.cluster.duty_cycle`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

MILLISECOND_NS: Final = 1_000_000
SECOND_NS: Final = 1_000 * MILLISECOND_NS

SLOW_TICK_NS: Final = 10 * MILLISECOND_NS
"""How often slow tick work is done. A constant in Aeron."""
CONSENSUS_FRAGMENT_LIMIT: Final = 10
"""Consensus messages polled in one duty cycle at most."""
INGRESS_FRAGMENT_LIMIT: Final = 50
LOG_FRAGMENT_LIMIT: Final = 50


@dataclass(frozen=True, slots=True)
class Timing:
    """The durations that a cluster is configured with.

    Raises
    ------
    ValueError
        If one is not positive, or the startup canvass is shorter than two heartbeat timeouts.
    """

    startup_canvass_timeout_ns: int = 60 * SECOND_NS
    """How long the first CANVASS of a process waits for all members."""
    election_timeout_ns: int = SECOND_NS
    """How long a ballot lasts; the nomination delay is drawn from the first half of it."""
    election_status_interval_ns: int = 100 * MILLISECOND_NS
    leader_heartbeat_timeout_ns: int = 10 * SECOND_NS
    leader_heartbeat_interval_ns: int = 200 * MILLISECOND_NS
    termination_timeout_ns: int = 10 * SECOND_NS
    """How long a leader that terminates the cluster waits for its followers."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) <= 0:
                raise ValueError(f"{field.name} is positive")
        if self.startup_canvass_timeout_ns < 2 * self.leader_heartbeat_timeout_ns:
            raise ValueError("the startup canvass lasts two leader heartbeat timeouts at least")

    def divided(self, by: int) -> Timing:
        """The same timing on a faster clock: every duration divided."""
        return Timing(*(getattr(self, field.name) // by for field in fields(self)))

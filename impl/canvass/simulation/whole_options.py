"""What a run of whole members is made of, and how a seed chooses among the faults.

The faults themselves are done in `canvass.simulation.whole`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from canvass.cluster.rules import Rules
from canvass.cluster.timing import SECOND_NS, Timing
from canvass.simulation.options import rng_of

WHOLE_TIMING = Timing(startup_canvass_timeout_ns=20 * SECOND_NS).divided(10)


@dataclass(frozen=True, slots=True)
class WholeFaults:
    """How often each fault strikes; the defaults are those of a world without any.

    A mean is the time between two strikes in milliseconds, 0 for never.
    """

    drop_probability: float = 0.0
    """Of each message between members and of each to or from a client."""
    cut_mean_ms: int = 0
    """Links of one kind of stream, or of all, in one direction or both."""
    kill_mean_ms: int = 0
    """The process ends; what it has written is there."""
    power_mean_ms: int = 0
    """The machine stops within the next writes; what was not synced may be lost, whole or torn."""
    pause_mean_ms: int = 0
    """The process does nothing for a while."""
    clock_mean_ms: int = 0
    """The clock for timestamps jumps, forward or back."""
    full_mean_ms: int = 0
    """There is no room left on a disk, for a while."""
    sync_mean_ms: int = 0
    """A disk fails to make something durable."""
    snapshot_mean_ms: int = 0
    """An operator asks for a snapshot; no fault, but work for the faults to hit."""


@dataclass(frozen=True, slots=True)
class WholeOptions:
    """Everything that a run follows from."""

    seed: int
    member_count: int = 3
    revision: str = "hardened"
    client_count: int = 2
    requests: int = 100
    """Of each client; when all are answered, or the time is over, the faults stop."""
    fault_ms: int = 60_000
    """For how long the faults strike at most."""
    timing: Timing = field(default_factory=lambda: WHOLE_TIMING)
    faults: WholeFaults = field(default_factory=WholeFaults)
    network_delay_ns: int = 200_000
    offer_mean_ms: int = 50

    @property
    def rules(self) -> Rules:
        """The rules of the cluster."""
        return Rules.of(self.revision, self.member_count)


def whole_swarm(base: WholeOptions) -> WholeOptions:
    """The options of a run whose seed chooses the faults."""

    def one_of(name: str, *choices: int) -> int:
        return rng_of(base.seed, f"whole {name}").choice(choices)

    return replace(
        base,
        faults=WholeFaults(
            drop_probability=one_of("drop", 0, 0, 1, 5) / 100,
            cut_mean_ms=one_of("cut", 0, 1_000, 5_000),
            kill_mean_ms=one_of("kill", 0, 2_000, 10_000),
            power_mean_ms=one_of("power", 0, 2_000, 10_000),
            pause_mean_ms=one_of("pause", 0, 2_000, 10_000),
            clock_mean_ms=one_of("clock", 0, 3_000),
            full_mean_ms=one_of("full", 0, 0, 3_000),
            sync_mean_ms=one_of("sync", 0, 0, 3_000),
            snapshot_mean_ms=one_of("snapshot", 0, 1_000, 5_000),
        ),
        network_delay_ns=one_of("delay", 50_000, 200_000, 2_000_000),
        offer_mean_ms=one_of("offers", 5, 50, 500),
    )

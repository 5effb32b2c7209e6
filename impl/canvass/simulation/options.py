"""What a simulated run is made of: the options, and how a seed chooses among the faults.

All of a run follows from its options: they are plain data, printed and recorded with the run. The
faults themselves are done elsewhere.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from canvass.cluster.rules import Rules
from canvass.cluster.timing import MILLISECOND_NS, SECOND_NS, Timing

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Faults:
    """How often each fault strikes, and how hard. The defaults are those of a world without any.

    A mean of 0 switches a fault off. Means and durations are in thousandths of the leader heartbeat
    timeout, so that they mean the same on every clock.
    """

    drop_probability: float = 0.0
    """Of each consensus message."""
    delay_tail_probability: float = 0.0
    """That a message takes up to a thousand times as long as usual."""
    cut_mean: int = 0
    """Between two cuts of links."""
    cut_kinds: tuple[str, ...] = ()
    """Of `CUT_KINDS`."""
    crash_mean: int = 0
    """Between two crashes, each of which is undone after a while."""
    crash_within_step_probability: float = 0.0
    """That a crash waits for the effects of a step and strikes among them."""
    pause_mean: int = 0
    """Between two pauses of a member."""
    slow_archive_mean: int = 0
    """Between two spells in which an archive takes a hundred times as long."""
    termination_mean: int = 0
    """Between two requests to terminate the cluster, whose members start again after a while."""
    error_mean: int = 0
    """Between two errors in elections."""


CUT_KINDS: Final = ("isolate", "split", "one way", "consensus only", "log only")
"""A member from all others; two parts; one direction of a link; one kind of stream of a link."""


@dataclass(frozen=True, slots=True)
class Options:
    """Everything that a run follows from.

    Raises
    ------
    ValueError
        If the number of steps is not positive, or there is no such revision or cluster.
    """

    seed: int
    member_count: int = 3
    revision: str = "hardened"
    steps: int = 5_000
    """How many steps all members take together before the faults stop."""
    timing: Timing = field(default_factory=Timing)
    faults: Faults = field(default_factory=Faults)
    network_delay_ns: int = 100_000
    archive_delay_ns: int = 300_000
    offer_mean_ns: int = 200 * MILLISECOND_NS
    """Between two entries offered by clients."""
    offer_bytes: int = 1_024
    """The longest entry that clients offer, without its frame."""
    snapshot_probability: float = 0.0
    """That what is offered is a request for a snapshot."""
    cold_start: bool = False
    """Whether the first start is spread over more than the startup canvass."""

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ValueError(f"a run takes one step at least, not {self.steps}")
        _ = self.rules

    @property
    def rules(self) -> Rules:
        """The rules of the cluster."""
        return Rules.of(self.revision, self.member_count)


def rng_of(seed: int, name: str) -> random.Random:
    """The random numbers of one part of a run: no draw of one part moves another."""
    return random.Random(f"canvass/{seed}/{name}")


SPARSE: Final = Timing(
    startup_canvass_timeout_ns=20 * SECOND_NS,
    election_status_interval_ns=300 * MILLISECOND_NS,
    leader_heartbeat_interval_ns=1_500 * MILLISECOND_NS,
)
"""Aeron's timeouts with fewer messages between them, so that more happens in as many steps."""


class _Choices:
    """The choices of a seed, each drawn by its own name: a new one moves no other."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def one_of(self, name: str, *choices: _T) -> _T:
        return rng_of(self._seed, f"option {name}").choice(choices)

    def mean(self, name: str, low: int, high: int) -> int:
        """A mean between two bounds, or as likely 0."""
        rng = rng_of(self._seed, f"option {name}")
        return rng.randrange(low, high) if rng.random() < 0.5 else 0


def _faults(choices: _Choices) -> Faults:
    """Choose which faults a run has, and how much of each."""
    cuts = tuple(kind for kind in CUT_KINDS if choices.one_of(f"cut {kind}", True, False))
    return Faults(
        drop_probability=choices.one_of("drop", 0.0, 0.0, 0.01, 0.05, 0.2),
        delay_tail_probability=choices.one_of("delay", 0.0, 0.0, 0.01, 0.05),
        cut_mean=choices.mean("cut", 200, 2_000) if cuts else 0,
        cut_kinds=cuts,
        crash_mean=choices.mean("crash", 100, 2_000),
        crash_within_step_probability=choices.one_of("crash within a step", 0.0, 0.5, 0.9),
        pause_mean=choices.mean("pause", 200, 3_000),
        slow_archive_mean=choices.mean("slow archive", 500, 5_000),
        termination_mean=choices.mean("termination", 2_000, 10_000),
        error_mean=choices.mean("error", 20, 1_000),
    )


def swarm(base: Options) -> Options:
    """The options of a run whose seed chooses the faults, the load and the delays."""
    choices = _Choices(base.seed)
    return replace(
        base,
        faults=_faults(choices),
        network_delay_ns=choices.one_of("network delay", 20_000, 100_000, 1_000_000),
        archive_delay_ns=choices.one_of("archive delay", 50_000, 300_000, 5_000_000),
        offer_mean_ns=choices.one_of("offers", 20, 200, 1_000, 3_000) * MILLISECOND_NS,
        offer_bytes=choices.one_of("length of offers", 64, 1_024, 8_192),
        snapshot_probability=choices.one_of("snapshots", 0.0, 0.01, 0.1),
        cold_start=choices.one_of("cold start", True, False, False, False),
        timing=choices.one_of("timing", base.timing, *(SPARSE,) * 3).divided(
            choices.one_of("clock", 1, 20)
        ),
    )


LIVENESS_TIMEOUTS: Final = 30
"""After healing: so many heartbeat timeouts, and one startup canvass, until the run is stuck."""


def liveness_limit_ns(timing: Timing) -> int:
    """How long members may take after healing until all are closed."""
    return (
        timing.startup_canvass_timeout_ns + LIVENESS_TIMEOUTS * timing.leader_heartbeat_timeout_ns
    )


MAX_TIME_NS: Final = 365 * 24 * 3600 * SECOND_NS
"""No run goes on for longer, however few steps it takes."""

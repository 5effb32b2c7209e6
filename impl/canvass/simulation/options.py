"""The options of a simulated run, and how a seed or a profile chooses them.

The options determine a run completely. They are plain data, recorded with the run.
`canvass.simulation.faults` carries the faults out.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from canvass.cluster.clocks import MILLISECOND_NS, SECOND_NS, Timing
from canvass.cluster.rules import Rules

_T = TypeVar("_T")

DEFAULT_TIMING: Final = Timing(startup_canvass_timeout_ns=20 * SECOND_NS).divided(10)
"""Aeron's timeouts divided by ten, with a third of the startup canvass timeout."""


CUT_KINDS: Final = ("isolate", "split", "one way", "consensus only", "log only")
"""A member from all others; two parts; one direction of a link; one kind of stream of a link."""
MUTE: Final = "mute"
"""A kind of cut that `swarm` does not choose: a member hears all others, and none of them hears
it."""


@dataclass(frozen=True, slots=True)
class Faults:
    """How often each fault occurs, and how hard it strikes. By default there are no faults.

    A mean is the mean time between two faults of a kind; a mean of 0 switches the fault off. Means
    and durations are in thousandths of the leader heartbeat timeout, so that they mean the same on
    every clock.
    """

    drop_probability: float = 0.0
    """The probability that a message is lost: between members, or to or from a client."""
    delay_tail_probability: float = 0.0
    """The probability that a message takes longer than usual, up to a thousand times as long."""
    duplicate_probability: float = 0.0
    """The probability that a message of a log stream, or to or from a client, arrives a second
    time, up to a thousand times as late. Consensus messages do not: their channels are FIFOs."""
    cut_mean: int = 0
    """Links are cut."""
    cut_kinds: tuple[str, ...] = ()
    """The kinds of cuts to choose from: `CUT_KINDS` and `MUTE`."""
    crash_mean: int = 0
    """A process ends, and is started again after some time."""
    crash_within_probability: float = 0.0
    """The probability that the process ends later, before one of its next effects or writes."""
    power_mean: int = 0
    """A machine stops before one of its next writes. Data that was not synced may be lost, whole,
    in part or torn."""
    pause_mean: int = 0
    """A member does nothing for some time."""
    clock_mean: int = 0
    """The clock for timestamps of a member jumps."""
    full_mean: int = 0
    """A disk has no room for some time."""
    sync_mean: int = 0
    """A disk fails to sync."""
    slow_disk_mean: int = 0
    """Writing to a disk takes long for some time."""
    rot_mean: int = 0
    """A bit rots in the recording on the one bad disk of the run."""
    stray_mean: int = 0
    """A write of the bad disk went to a wrong place in the recording, or was lost although the disk
    confirmed it."""
    error_mean: int = 0
    """An election fails with an error."""
    error_pause: int = 0
    """The longest time that a member does nothing after such an error."""
    join_probability: float = 0.0
    """The probability that the end of a process, or the error of an election, waits until the
    member joins a log, and strikes soon after."""
    log_cut_probability: float = 0.0
    """The probability that the end of a process waits until the member has truncated its log, and
    comes before the member's next step."""
    ballot_probability: float = 0.0
    """The probability that a pause waits until the member requests votes, and begins before it has
    them."""
    operator_mean: int = 0
    """An operator asks the leader for a snapshot, or suspends the cluster and resumes it."""
    termination_mean: int = 0
    """An operator ends the cluster. Its members start again after some time."""


@dataclass(frozen=True, slots=True)
class Options:
    """Everything that determines a run.

    Raises
    ------
    ValueError
        If the number of steps is not positive, or there is no such revision or cluster.
    """

    seed: int
    member_count: int = 3
    revision: str = "hardened"
    steps: int = 5_000
    """The steps that all members take together before the faults stop."""
    timing: Timing = field(default_factory=lambda: DEFAULT_TIMING)
    faults: Faults = field(default_factory=Faults)
    network_delay_ns: int = 200_000
    client_count: int = 2
    offer_mean_ns: int = 50 * MILLISECOND_NS
    """The mean time between two requests of a client."""
    service_count: int = 1
    """At most two: `canvass.simulation.cluster.WatchedService` tells their timers apart."""
    cold_start: bool = False
    """Whether the first starts are spread over more than the startup canvass timeout."""

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ValueError(f"a run takes at least one step, not {self.steps}")
        _ = self.rules

    @property
    def rules(self) -> Rules:
        """The rules of the cluster."""
        return Rules.of(self.revision, self.member_count)

    @property
    def unit_ns(self) -> int:
        """A thousandth of the leader heartbeat timeout."""
        return max(1, self.timing.leader_heartbeat_timeout_ns // 1_000)


def rng_of(seed: int, name: str) -> random.Random:
    """The random numbers of one part of a run. They do not depend on draws of other parts."""
    return random.Random(f"canvass/{seed}/{name}")


SPARSE: Final = Timing(
    startup_canvass_timeout_ns=20 * SECOND_NS,
    election_status_interval_ns=300 * MILLISECOND_NS,
    leader_heartbeat_interval_ns=1_500 * MILLISECOND_NS,
)
"""Aeron's timeouts with longer intervals: fewer repeated messages leave more steps for the rest."""


# Each choice of a seed has random numbers of its own: a new choice changes no other.


def _one_of(seed: int, name: str, *choices: _T) -> _T:
    return rng_of(seed, f"option {name}").choice(choices)


def _mean(seed: int, name: str, low: int, high: int) -> int:
    """Draw a mean between two bounds; in half of the cases 0."""
    rng = rng_of(seed, f"option {name}")
    return rng.randrange(low, high) if rng.random() < 0.5 else 0


def _faults(seed: int) -> Faults:
    """Choose which faults a run has, and how often each occurs."""
    cuts = tuple(kind for kind in CUT_KINDS if _one_of(seed, f"cut {kind}", True, False))
    return Faults(
        drop_probability=_one_of(seed, "drop", 0.0, 0.0, 0.01, 0.05, 0.2),
        delay_tail_probability=_one_of(seed, "delay", 0.0, 0.0, 0.01, 0.05),
        duplicate_probability=_one_of(seed, "duplicate", 0.0, 0.0, 0.02, 0.2),
        cut_mean=_mean(seed, "cut", 200, 2_000) if cuts else 0,
        cut_kinds=cuts,
        crash_mean=_mean(seed, "crash", 100, 2_000),
        crash_within_probability=_one_of(seed, "crash within", 0.0, 0.5, 0.9),
        power_mean=_mean(seed, "power", 200, 3_000),
        pause_mean=_mean(seed, "pause", 200, 3_000),
        clock_mean=_mean(seed, "clock jump", 500, 3_000),
        full_mean=_mean(seed, "full", 1_000, 5_000),
        sync_mean=_mean(seed, "sync", 1_000, 5_000),
        slow_disk_mean=_mean(seed, "slow disk", 500, 5_000),
        rot_mean=_mean(seed, "rot", 500, 5_000),
        stray_mean=_mean(seed, "stray", 500, 5_000),
        error_mean=_mean(seed, "error", 20, 1_000),
        operator_mean=_mean(seed, "operator", 300, 3_000),
        termination_mean=_mean(seed, "termination", 2_000, 10_000),
    )


def swarm(base: Options) -> Options:
    """Let the seed choose the faults, the load and the delays of a run."""
    seed = base.seed
    timing = _one_of(seed, "timing", base.timing, *(SPARSE.divided(10),) * 3)
    return replace(
        base,
        faults=_faults(seed),
        network_delay_ns=_one_of(seed, "network delay", 20_000, 200_000, 2_000_000),
        offer_mean_ns=_one_of(seed, "offers", 5, 50, 200, 1_000) * MILLISECOND_NS,
        service_count=_one_of(seed, "services", 1, 2),
        cold_start=_one_of(seed, "cold start", True, False, False, False),
        timing=timing.divided(_one_of(seed, "clock", 1, 4)),
    )


LIVENESS_TIMEOUTS: Final = 30
"""A run is stuck if it has not recovered within this many heartbeat timeouts and one startup
canvass timeout after the faults have stopped.
"""
FAULT_TIMEOUTS: Final = 300
"""The faults stop after this many heartbeat timeouts at the latest."""


FAST: Final = SPARSE.divided(40)
"""A clock on which one late message outlasts a heartbeat timeout."""
LONG_BALLOTS: Final = replace(SPARSE, election_timeout_ns=8 * SECOND_NS).divided(40)
"""The same clock, with ballots that last nearly as long as the heartbeat timeout."""


def _with(
    options: Options, faults: Faults, delay_ns: int, offer_ms: int, timing: Timing = FAST
) -> Options:
    return replace(
        options,
        faults=faults,
        timing=timing,
        network_delay_ns=delay_ns,
        offer_mean_ns=offer_ms * MILLISECOND_NS,
    )


def lost_ballots(options: Options) -> Options:
    """Make ballots take long and miss members, which wait for the result of another ballot."""
    faults = Faults(
        drop_probability=0.2,
        delay_tail_probability=0.05,
        cut_mean=150,
        cut_kinds=("one way", "isolate", "split", "consensus only"),
        pause_mean=150,
        error_mean=40,
    )
    return _with(options, faults, 2_000_000, 20, LONG_BALLOTS)


def late_ends(options: Options) -> Options:
    """Deliver a termination position late, to a member that is a candidate or has won meanwhile."""
    faults = Faults(termination_mean=150, delay_tail_probability=0.2)
    return _with(options, faults, 1_000_000, 20, LONG_BALLOTS)


def late_requests(options: Options) -> Options:
    """Let members fall behind in pauses, and deliver their requests after their leader's end."""
    faults = Faults(pause_mean=150, delay_tail_probability=0.1)
    return _with(options, faults, 5_000_000, 100, LONG_BALLOTS)


def older_leaders(options: Options) -> Options:
    """Silence a leader, pause a candidate while votes for it are on their way, and let its voters
    find the old leader again.
    """
    faults = Faults(cut_mean=500, cut_kinds=(MUTE,), pause_mean=100, ballot_probability=0.9)
    return _with(options, faults, 200_000, 20, LONG_BALLOTS)


def broken_joins(options: Options) -> Options:
    """Let members that join a log fail or end at that moment, and take long to recover."""
    rng = rng_of(options.seed, "joins")
    faults = Faults(
        error_mean=rng.choice((50, 100)),
        error_pause=rng.choice((100, 300)),
        join_probability=0.9,
        cut_mean=rng.choice((0, 300)),
        cut_kinds=("consensus only", "one way", "isolate"),
        delay_tail_probability=rng.choice((0.0, 0.05)),
        crash_mean=rng.choice((0, 300)),
        pause_mean=rng.choice((150, 300)),
    )
    delay_ns = rng.choice((200_000, 1_000_000, 5_000_000))
    return _with(options, faults, delay_ns, rng.choice((5, 20)))


def cut_logs(options: Options) -> Options:
    """Let leaders write entries that no other member records, and end each member that truncates
    its log before its next step.
    """
    rng = rng_of(options.seed, "log cuts")
    faults = Faults(
        cut_mean=800, cut_kinds=("isolate", MUTE), crash_mean=60, log_cut_probability=0.98
    )
    delay_ns = rng.choice((200_000, 5_000_000))
    return _with(options, faults, delay_ns, rng.choice((100, 300)))


def late_reports(options: Options) -> Options:
    """Let members that catch up report to a leader that fails after it has joined another log."""
    faults = Faults(
        error_mean=100,
        error_pause=1_000,
        join_probability=0.9,
        cut_mean=300,
        cut_kinds=("consensus only", "one way", "isolate"),
        delay_tail_probability=0.05,
        crash_mean=300,
        pause_mean=300,
    )
    return _with(options, faults, 1_000_000, 20)


def few_requests(options: Options) -> Options:
    """Add to the choices of `swarm` a log that hardly grows: members differ in terms and states."""
    return replace(swarm(options), offer_mean_ns=2_000 * MILLISECOND_NS)


def everything_fails(options: Options) -> Options:
    """Let members, links and elections fail often, and disks rarely."""
    rng = rng_of(options.seed, "profile everything fails")
    faults = Faults(
        drop_probability=rng.choice((0.0, 0.05, 0.2)),
        delay_tail_probability=rng.choice((0.0, 0.05, 0.2)),
        cut_mean=rng.choice((0, 200, 500)),
        cut_kinds=CUT_KINDS,
        crash_mean=rng.choice((0, 200, 500)),
        crash_within_probability=0.5,
        power_mean=rng.choice((0, 1_000)),
        pause_mean=rng.choice((0, 200)),
        error_mean=rng.choice((0, 100, 300)),
        error_pause=rng.choice((0, 300)),
        join_probability=rng.choice((0.0, 0.5)),
        operator_mean=rng.choice((0, 0, 300)),
        termination_mean=rng.choice((0, 0, 300)),
    )
    delay_ns = rng.choice((200_000, 2_000_000, 5_000_000))
    return _with(options, faults, delay_ns, rng.choice((100, 500)))


PROFILES: Final[Mapping[str, Callable[[Options], Options]]] = {
    "swarm": swarm,
    "broken-joins": broken_joins,
    "cut-logs": cut_logs,
    "everything-fails": everything_fails,
    "few-requests": few_requests,
    "late-ends": late_ends,
    "late-reports": late_reports,
    "late-requests": late_requests,
    "lost-ballots": lost_ballots,
    "older-leaders": older_leaders,
}
"""The profiles of `canvass simulate --profile` by name; `swarm` is the default."""

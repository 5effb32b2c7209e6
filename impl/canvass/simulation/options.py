"""What a simulated run is made of: the options, and how a seed chooses among the faults.

All of a run follows from its options: they are plain data, printed and recorded with the run. The
faults themselves are done elsewhere.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from canvass.cluster.rules import Rules
from canvass.cluster.timing import MILLISECOND_NS, SECOND_NS, Timing

_T = TypeVar("_T")

DEFAULT_TIMING: Final = Timing(startup_canvass_timeout_ns=20 * SECOND_NS).divided(10)
"""Aeron's timeouts on a clock that goes ten times as fast; the startup canvass is shorter still."""


@dataclass(frozen=True, slots=True)
class Faults:
    """How often each fault strikes, and how hard. The defaults are those of a world without any.

    A mean of 0 switches a fault off. Means and durations are in thousandths of the leader heartbeat
    timeout, so that they mean the same on every clock.
    """

    drop_probability: float = 0.0
    """Of each message between members, and of each to or from a client."""
    delay_tail_probability: float = 0.0
    """That a message takes up to a thousand times as long as usual."""
    duplicate_probability: float = 0.0
    """That what a log stream, a client or its session is sent arrives once more, up to a thousand
    times as late. A consensus message does not: its channel is a FIFO."""
    cut_mean: int = 0
    """Between two cuts of links."""
    cut_kinds: tuple[str, ...] = ()
    """Of `CUT_KINDS`, and `MUTE`."""
    crash_mean: int = 0
    """Between two ends of a process, each of which is started again after a while."""
    crash_within_probability: float = 0.0
    """That such an end waits, and comes before one of the next effects or writes to disk."""
    power_mean: int = 0
    """Between two ends of a machine before one of the next writes: what was not synced may be lost,
    whole, in part or torn."""
    pause_mean: int = 0
    """Between two pauses of a member."""
    clock_mean: int = 0
    """Between two jumps of a clock for timestamps."""
    full_mean: int = 0
    """Between two spells in which a disk has no room."""
    sync_mean: int = 0
    """Between two failures of a disk to make something durable."""
    slow_disk_mean: int = 0
    """Between two spells in which writing to a disk takes long."""
    rot_mean: int = 0
    """Between two bits that rot in what a member has recorded; one member of a run has such a
    disk."""
    stray_mean: int = 0
    """Between two writes of that disk that went to a wrong place, over what the member has
    recorded, or that were lost though the disk had said otherwise."""
    disk_loss_mean: int = 0
    """Between two losses of that whole disk. `swarm` does not choose it: no member of the spec
    loses its disk, so that what is recorded of such a run is no behaviour of it."""
    error_mean: int = 0
    """Between two errors in elections."""
    error_pause: int = 0
    """How long a member that such an error has struck does nothing, at most: to handle an error
    takes its time."""
    join_probability: float = 0.0
    """That the end of a process, or an error in an election, waits until its member joins a log,
    and strikes while what follows from that is under way."""
    log_cut_probability: float = 0.0
    """That the end of a process waits until its member has truncated its log, and comes before the
    member's next step."""
    ballot_probability: float = 0.0
    """That a pause waits until its member asks for votes, and begins before it has them."""
    operator_mean: int = 0
    """Between two things that an operator asks of the leader: snapshot, suspend, resume."""
    termination_mean: int = 0
    """Between two requests to end the cluster, whose members start again after a while."""


CUT_KINDS: Final = ("isolate", "split", "one way", "consensus only", "log only")
"""A member from all others; two parts; one direction of a link; one kind of stream of a link."""
MUTE: Final = "mute"
"""A kind of cut that `swarm` does not choose: a member hears all others, and none of them hears
it."""


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
    timing: Timing = field(default_factory=lambda: DEFAULT_TIMING)
    faults: Faults = field(default_factory=Faults)
    network_delay_ns: int = 200_000
    client_count: int = 2
    offer_mean_ns: int = 50 * MILLISECOND_NS
    """Between two requests of a client."""
    service_count: int = 1
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

    @property
    def unit_ns(self) -> int:
        """A thousandth of the leader heartbeat timeout."""
        return max(1, self.timing.leader_heartbeat_timeout_ns // 1_000)


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
        duplicate_probability=choices.one_of("duplicate", 0.0, 0.0, 0.02, 0.2),
        cut_mean=choices.mean("cut", 200, 2_000) if cuts else 0,
        cut_kinds=cuts,
        crash_mean=choices.mean("crash", 100, 2_000),
        crash_within_probability=choices.one_of("crash within", 0.0, 0.5, 0.9),
        power_mean=choices.mean("power", 200, 3_000),
        pause_mean=choices.mean("pause", 200, 3_000),
        clock_mean=choices.mean("clock jump", 500, 3_000),
        full_mean=choices.mean("full", 1_000, 5_000),
        sync_mean=choices.mean("sync", 1_000, 5_000),
        slow_disk_mean=choices.mean("slow disk", 500, 5_000),
        rot_mean=choices.mean("rot", 500, 5_000),
        stray_mean=choices.mean("stray", 500, 5_000),
        error_mean=choices.mean("error", 20, 1_000),
        operator_mean=choices.mean("operator", 300, 3_000),
        termination_mean=choices.mean("termination", 2_000, 10_000),
    )


def swarm(base: Options) -> Options:
    """The options of a run whose seed chooses the faults, the load and the delays."""
    choices = _Choices(base.seed)
    timing = choices.one_of("timing", base.timing, *(SPARSE.divided(10),) * 3)
    return replace(
        base,
        faults=_faults(choices),
        network_delay_ns=choices.one_of("network delay", 20_000, 200_000, 2_000_000),
        offer_mean_ns=choices.one_of("offers", 5, 50, 200, 1_000) * MILLISECOND_NS,
        service_count=choices.one_of("services", 1, 2),
        cold_start=choices.one_of("cold start", True, False, False, False),
        timing=timing.divided(choices.one_of("clock", 1, 4)),
    )


DISK_LOSS_MEAN: Final = 1_000
"""Between two losses of a disk, where they are asked for."""


def with_disk_loss(options: Options) -> Options:
    """The options of a run in which one member loses its disk now and then, besides the rest."""
    return replace(options, faults=replace(options.faults, disk_loss_mean=DISK_LOSS_MEAN))


LIVENESS_TIMEOUTS: Final = 30
"""After healing: so many heartbeat timeouts, and one startup canvass, until the run is stuck."""
FAULT_TIMEOUTS: Final = 300
"""The faults stop after so many heartbeat timeouts, however few steps were taken."""


def liveness_limit_ns(timing: Timing) -> int:
    """How long members may take after healing until all are closed."""
    return (
        timing.startup_canvass_timeout_ns + LIVENESS_TIMEOUTS * timing.leader_heartbeat_timeout_ns
    )


FAST: Final = SPARSE.divided(40)
"""A clock on which one late message outlasts a heartbeat timeout."""
LONG_BALLOTS: Final = replace(SPARSE, election_timeout_ns=8 * SECOND_NS).divided(40)
"""The same clock, with ballots that last nearly as long as a leader may be silent."""

SELDOM_NS: Final = 2_000 * MILLISECOND_NS
"""Between two requests of a client where the log is to grow slowly."""


def _with(options: Options, faults: Faults, delay_ns: int, offer_ms: int) -> Options:
    return replace(
        options,
        faults=faults,
        timing=LONG_BALLOTS,
        network_delay_ns=delay_ns,
        offer_mean_ns=offer_ms * MILLISECOND_NS,
    )


def lost_ballots(options: Options) -> Options:
    """Ballots last long and miss some members, which wait for the result of another meanwhile."""
    faults = Faults(
        drop_probability=0.2,
        delay_tail_probability=0.05,
        cut_mean=150,
        cut_kinds=("one way", "isolate", "split", "consensus only"),
        pause_mean=150,
        error_mean=40,
    )
    return _with(options, faults, 2_000_000, 20)


def late_ends(options: Options) -> Options:
    """The end that a leader names comes late to a member that stands or has won meanwhile."""
    faults = Faults(termination_mean=150, delay_tail_probability=0.2)
    return _with(options, faults, 1_000_000, 20)


def late_requests(options: Options) -> Options:
    """Members fall behind in pauses; what they ask of a leader comes when it leads no more."""
    faults = Faults(pause_mean=150, delay_tail_probability=0.1)
    return _with(options, faults, 5_000_000, 100)


def older_leaders(options: Options) -> Options:
    """A leader is not heard for a while; who stands meanwhile pauses with the votes under way, and
    who voted for it finds the old leader again.
    """
    faults = Faults(cut_mean=500, cut_kinds=(MUTE,), pause_mean=100, ballot_probability=0.9)
    return _with(options, faults, 200_000, 20)


def broken_joins(options: Options) -> Options:
    """Members that join a log fail or end just then, and take long to come to after an error."""
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
    return replace(_with(options, faults, delay_ns, rng.choice((5, 20))), timing=FAST)


def cut_logs(options: Options) -> Options:
    """Leaders write what nobody else records; who cuts that off ends before its next step."""
    rng = rng_of(options.seed, "log cuts")
    faults = Faults(
        cut_mean=800, cut_kinds=("isolate", MUTE), crash_mean=60, log_cut_probability=0.98
    )
    delay_ns = rng.choice((200_000, 5_000_000))
    return replace(_with(options, faults, delay_ns, rng.choice((100, 300))), timing=FAST)


def late_reports(options: Options) -> Options:
    """Members that catch up report to a leader that fails just after it has joined another log."""
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
    return replace(_with(options, faults, 1_000_000, 20), timing=FAST)


def few_requests(options: Options) -> Options:
    """What `swarm` chooses, with a log that hardly grows: members differ in terms and states."""
    return replace(swarm(options), offer_mean_ns=SELDOM_NS)


def everything_fails(options: Options) -> Options:
    """Members, links and elections fail often, and disks seldom."""
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
    return replace(_with(options, faults, delay_ns, rng.choice((100, 500))), timing=FAST)


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
"""By name, as `canvass simulate --profile` takes them; `swarm` is what it does without."""

"""Profiles: faults that make one kind of situation likely, which `swarm` comes to too seldom.

A profile is a choice of options like `swarm`, and nothing else: it sets no member's state, and all
of a run follows from its seed. How many members there are, their revision and the number of steps
are left as they are given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from canvass.cluster.timing import MILLISECOND_NS, SECOND_NS
from canvass.simulation.options import CUT_KINDS, MUTE, SPARSE, Faults, Options, rng_of, swarm

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

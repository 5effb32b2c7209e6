"""Which runs of simulated clusters mutants of the core are hunted in.

One in four is drawn as `canvass simulate` does it. The others have much of what brings members into
rare states: elections that fail, requests to end the cluster, five members that pause. A mutant
that shows in none of these but in one situation alone is hunted in runs that come to that situation
often. What a run is looked at for does not belong here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from canvass.cluster.timing import MILLISECOND_NS, SECOND_NS
from canvass.selftest.mutation import Mutant
from canvass.simulation.options import CUT_KINDS, SPARSE, Faults, Options, rng_of, swarm

STEPS: Final = 1_500
_SHORT: Final = 700
_FAST: Final = SPARSE.divided(40)
"""A clock on which one late message outlasts a heartbeat timeout."""
_LONG_BALLOTS: Final = replace(SPARSE, election_timeout_ns=8 * SECOND_NS).divided(40)
"""The same clock, with ballots that last nearly as long as a leader may be silent."""
_LARGER: Final = 5


def hunted(mutant: Mutant, seed: int) -> Options:
    """Choose the options of one run of a mutant."""
    return SITUATIONS.get(mutant.name, _hunted_anywhere)(mutant, seed)


def _hunted_anywhere(mutant: Mutant, seed: int) -> Options:
    drawn = swarm(Options(seed, mutant.member_count, mutant.revision, STEPS))
    kind = seed % 4
    if kind == 0:
        return drawn
    rng = rng_of(seed, "hunt")
    delay_ns = rng.choice((200_000, 2_000_000, 5_000_000))
    hunt = replace(drawn, network_delay_ns=delay_ns, timing=_FAST, cold_start=False)
    faults = drawn.faults
    larger = _LARGER if mutant.member_count == 3 else mutant.member_count
    if kind == 1:
        faults = replace(
            faults,
            error_mean=rng.choice((20, 60, 200)),
            drop_probability=rng.choice((0.0, 0.05, 0.2)),
            delay_tail_probability=0.05,
            cut_mean=rng.choice((0, 200, 600)),
            cut_kinds=CUT_KINDS,
            pause_mean=rng.choice((0, 300, 1_000)),
        )
        hunt = replace(hunt, member_count=rng.choice((mutant.member_count, larger)))
    elif kind == 2:
        faults = replace(
            faults,
            termination_mean=rng.choice((200, 600)),
            operator_mean=rng.choice((0, 500)),
            delay_tail_probability=rng.choice((0.01, 0.05)),
            crash_mean=rng.choice((0, 500)),
            error_mean=rng.choice((60, 300, 0)),
            pause_mean=rng.choice((0, 300, 1_000)),
        )
    else:
        hunt = replace(hunt, member_count=larger)
        faults = replace(
            faults,
            pause_mean=rng.choice((100, 300)),
            error_mean=rng.choice((0, 60, 200)),
            slow_disk_mean=rng.choice((0, 300)),
            drop_probability=rng.choice((0.0, 0.05)),
            cut_mean=rng.choice((0, 300)),
            cut_kinds=CUT_KINDS,
        )
    return replace(hunt, faults=faults)


def _lost_ballots(mutant: Mutant, seed: int) -> Options:
    """Ballots last long and miss some members, which wait for the result of another meanwhile."""
    faults = Faults(
        drop_probability=0.2,
        delay_tail_probability=0.05,
        cut_mean=150,
        cut_kinds=("one way", "isolate", "split", "consensus only"),
        pause_mean=150,
        error_mean=40,
    )
    return _in_long_ballots(mutant, seed, faults, _LARGER, 2_000_000)


def _late_ends(mutant: Mutant, seed: int) -> Options:
    """The end that a leader names comes late to a member that stands or has won meanwhile."""
    faults = Faults(termination_mean=150, delay_tail_probability=0.2)
    return _in_long_ballots(mutant, seed, faults, mutant.member_count, 1_000_000)


def _late_requests(mutant: Mutant, seed: int) -> Options:
    """Members fall behind in pauses; what they ask of a leader comes when it leads no more."""
    faults = Faults(pause_mean=150, delay_tail_probability=0.1)
    seldom_ns = 100 * MILLISECOND_NS
    return replace(
        _in_long_ballots(mutant, seed, faults, mutant.member_count, 5_000_000),
        offer_mean_ns=seldom_ns,
    )


def _short_and_plain(mutant: Mutant, seed: int) -> Options:
    """As `canvass simulate` draws it, and half as long."""
    return swarm(Options(seed, mutant.member_count, mutant.revision, _SHORT))


def _in_long_ballots(
    mutant: Mutant, seed: int, faults: Faults, member_count: int, delay_ns: int
) -> Options:
    return Options(
        seed,
        member_count,
        mutant.revision,
        STEPS,
        timing=_LONG_BALLOTS,
        faults=faults,
        network_delay_ns=delay_ns,
        offer_mean_ns=20 * MILLISECOND_NS,
    )


SITUATIONS: Final[Mapping[str, Callable[[Mutant, int], Options]]] = {
    "catch_up_is_served_in_any_role": _late_requests,
    "follow_a_leader_of_another_ballot": _lost_ballots,
    "leader_obeys_a_termination": _late_ends,
    "leader_stays_when_a_newer_one_has_been": _short_and_plain,
}
"""Mutants that show in one situation, and the runs that come to it."""

"""The options of simulated clusters in which mutants of the core are searched.

One run in four is drawn as `canvass simulate` draws it. The others bring members into rare states:
elections that fail, requests to end the cluster, five members that pause. Some mutants differ from
the core in one situation only; their runs reach that situation often. This module does not check
runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from canvass.simulation.options import CUT_KINDS, FAST, PROFILES, Options, rng_of, swarm
from support.mutants import Mutant

STEPS: Final = 1_500
_SHORT: Final = 700
_LARGER: Final = 5


def search_options(mutant: Mutant, seed: int) -> Options:
    """Choose the options of one run of a mutant."""
    return SITUATIONS.get(mutant.name, _search_anywhere)(mutant, seed)


def _search_anywhere(mutant: Mutant, seed: int) -> Options:
    drawn = swarm(Options(seed, mutant.member_count, mutant.revision, STEPS))
    kind = seed % 4
    if kind == 0:
        return drawn
    rng = rng_of(seed, "hunt")
    delay_ns = rng.choice((200_000, 2_000_000, 5_000_000))
    options = replace(drawn, network_delay_ns=delay_ns, timing=FAST, cold_start=False)
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
        options = replace(options, member_count=rng.choice((mutant.member_count, larger)))
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
        options = replace(options, member_count=larger)
        faults = replace(
            faults,
            pause_mean=rng.choice((100, 300)),
            error_mean=rng.choice((0, 60, 200)),
            slow_disk_mean=rng.choice((0, 300)),
            drop_probability=rng.choice((0.0, 0.05)),
            cut_mean=rng.choice((0, 300)),
            cut_kinds=CUT_KINDS,
        )
    return replace(options, faults=faults)


def _in(
    profile: str, member_count: int = 0, steps: int = STEPS
) -> Callable[[Mutant, int], Options]:
    """Choose the options of runs with a profile of `canvass simulate --profile`."""

    def situation(mutant: Mutant, seed: int) -> Options:
        count = member_count or mutant.member_count
        return PROFILES[profile](Options(seed, count, mutant.revision, steps))

    return situation


SITUATIONS: Final[Mapping[str, Callable[[Mutant, int], Options]]] = {
    "catch_up_is_served_in_any_role": _in("late-requests"),
    "commit_position_lowers_what_is_notified": _in("older-leaders"),
    "follow_a_leader_of_another_ballot": _in("lost-ballots", _LARGER),
    "init_handles_messages": _in("late-reports", _LARGER),
    "leader_obeys_a_termination": _in("late-ends"),
    "leader_stays_when_a_newer_one_has_been": _in("swarm", steps=_SHORT),
    "quorum_position_is_not_bounded": _in("older-leaders"),
    "log_is_not_cut": _in("cut-logs"),
    "recording_goes_on_into_the_next_election": _in("broken-joins"),
    "services_do_not_receive_the_commit": _in("swarm", steps=_SHORT),
    "termination_outlives_its_term": _in("late-ends"),
}
"""Mutants that show in one situation only, or after a long wait, and the runs that reach it."""

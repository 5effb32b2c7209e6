"""Which runs of simulated clusters mutants of the core are hunted in.

One in four is drawn as `canvass simulate` does it. The others have much of what brings members into
rare states: elections that fail, requests to end the cluster, five members that pause. What a run
is looked at for does not belong here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from canvass.selftest.mutation import Mutant
from canvass.simulation.options import CUT_KINDS, SPARSE, Options, rng_of, swarm

STEPS: Final = 1_500
_FAST: Final = SPARSE.divided(40)
"""A clock on which one late message outlasts a heartbeat timeout."""
_LARGER: Final = 5


def hunted(mutant: Mutant, seed: int) -> Options:
    """Choose the options of one run of a mutant."""
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

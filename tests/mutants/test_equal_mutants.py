"""Mutants of which it is argued that whole members never show them: no step of any run differs.

Runs of the unbroken core are runs of such a mutant as long as no step differs, so that all of them
are looked at together, in runs of every profile of faults.
"""

from __future__ import annotations

from typing import Final

import pytest

from canvass.cluster import core
from canvass.cluster.member import Input, Member
from canvass.cluster.outcome import Outcome
from canvass.cluster.rules import Rules
from canvass.selftest.mutants import MUTANTS
from canvass.selftest.mutation import load
from canvass.selftest.uncaught import EQUAL
from canvass.simulation.options import Options
from canvass.simulation.profiles import PROFILES
from canvass.simulation.simulator import Simulator

SEEDS: Final = 4
KINDS: Final = ((3, "1.50"), (2, "hardened"), (5, "1.50"), (3, "hardened"))
SHOWN: Final = sorted(name for name in EQUAL if MUTANTS[name].shows_in == "outcome")
"""Those that would show in a state or in what is sent."""


class Compared:
    """The core, with each of its steps compared with what mutants would do."""

    def __init__(self, names: list[str]) -> None:
        self._broken = {name: load(MUTANTS[name]) for name in names}
        self.differing: set[str] = set()
        self.steps = 0

    def step(self, rules: Rules, i: int, s: Member, action: str, x: Input) -> Outcome | None:
        sound = core.step(rules, i, s, action, x)
        self.steps += 1
        for name, broken in self._broken.items():
            outcome = broken.step(rules, i, s, action, x)
            if outcome is None:
                continue
            idle = x.message is None and not outcome.effects and outcome.next == s
            same = sound is not None and (outcome.next, outcome.sends) == (sound.next, sound.sends)
            if not same and not idle:
                self.differing.add(name)
        return sound


def test_a_mutant_that_shows_differs_in_such_runs() -> None:
    compared = Compared(["quorum_of_half", "vote_twice_in_a_term"])
    Simulator(PROFILES["swarm"](Options(1, steps=200)), step=compared.step).run()

    assert "quorum_of_half" in compared.differing


@pytest.mark.night
@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_no_step_of_a_run_differs(profile: str) -> None:
    compared = Compared(SHOWN)
    for seed in range(SEEDS):
        members, revision = KINDS[seed]
        options = PROFILES[profile](Options(seed, members, revision, 600))
        Simulator(options, step=compared.step).run()

    assert (len(SHOWN), compared.differing) == (11, set())
    assert compared.steps > 2_000

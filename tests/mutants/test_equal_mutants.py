"""Mutants that differ from the core in no step of whole members, or in no behaviour of the spec.

As long as no step differs, a run of the core is also a run of the mutant. So all these mutants are
compared with the core in the same runs: of whole members with every profile of faults, and of cores
alone. TLC checks the facts that make some of them equal in every behaviour.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from canvass.cluster import core
from canvass.cluster.effects import Outcome
from canvass.cluster.member import Input, Member
from canvass.cluster.rules import HAZARDS, Rules
from canvass.selftest.runs import record_run
from canvass.simulation.options import PROFILES, Options, rng_of
from canvass.simulation.simulator import Simulator
from canvass.spec.files import spec_root
from canvass.spec.manifest import Expected, load_manifest
from support.core_clusters import EndingCluster
from support.findings import config_of
from support.mutants import EQUAL, MASKED, MUTANTS, load

SEEDS: Final = 4
KINDS: Final = ((3, "1.50"), (2, "hardened"), (5, "1.50"), (3, "hardened"))
WHOLE: Final = sorted([*EQUAL, *MASKED])
"""The mutants that no run of whole members shows."""


class Compared:
    """The core; each of its steps is compared with the steps of mutants."""

    def __init__(self, names: list[str]) -> None:
        self._broken = {name: load(MUTANTS[name]) for name in names}
        self.differing: set[str] = set()
        self.steps = 0

    def step(self, rules: Rules, i: int, s: Member, action: str, x: Input) -> Outcome | None:
        sound = core.step(rules, i, s, action, x)
        self.steps += 1
        for name, broken in self._broken.items():
            if (outcome := broken.step(rules, i, s, action, x)) is None:
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


@pytest.mark.parametrize(
    "profile",
    [
        profile if profile == "few-requests" else pytest.param(profile, marks=pytest.mark.night)
        for profile in sorted(PROFILES)
    ],
)
def test_no_step_of_a_run_differs(profile: str) -> None:
    compared = Compared(WHOLE)
    for seed in range(SEEDS):
        members, revision = KINDS[seed]
        options = PROFILES[profile](Options(seed, members, revision, 600))
        Simulator(options, step=compared.step).run()

    assert compared.differing == set()
    assert compared.steps > 2_000


@pytest.mark.parametrize(
    "seeds", [range(12), pytest.param(range(12, 250), marks=pytest.mark.night, id="night")]
)
def test_of_cores_alone_only_steps_of_mutants_that_whole_members_mask_differ(
    tmp_path: Path, seeds: range
) -> None:
    compared = Compared(WHOLE)
    for seed in seeds:
        members, revision = (*KINDS, (3, "1.49"))[seed % 5]
        rules = Rules.of(revision, members)
        if seed % 3 == 0:
            rng = rng_of(seed, "hardening")
            hardening = frozenset(one for one in sorted(HAZARDS) if rng.random() < 0.5)
            rules = Rules(members, hardening=hardening)
        faults = (0.01, 0.1)[seed % 2]
        folder = tmp_path / f"run-{seed}"
        record_run(
            folder, rules, seed, 400, faults=faults, step=compared.step, cluster=EndingCluster
        )

    assert {"ballots_are_sent_again"} <= compared.differing <= MASKED.keys()


@pytest.mark.parametrize("name", sorted(EQUAL))
def test_the_fact_that_makes_a_mutant_equal_is_checked_and_can_be_broken(name: str) -> None:
    fact = EQUAL[name].lemma
    text = (spec_root() / "Properties.tla").read_text("utf-8")
    result = re.search(rf"((?:^\\\*.*\n)+){fact} ==", text, re.MULTILINE)
    claim, broken = set(), set()
    for model in load_manifest().models:
        config = config_of(model)
        if fact in config.invariants and model.expected is Expected.SUCCESS:
            claim.add(model.name)
        if fact == model.violates:
            broken.add(model.name)

    assert result is not None
    assert "\\* Guard: " in result[1]
    assert {"BallotMutants", "LogMutants", "MCFactsHazard3", "MCFive"} <= claim
    assert broken


def test_every_lemma_of_the_spec_makes_a_mutant_equal() -> None:
    text = (spec_root() / "Properties.tla").read_text("utf-8")
    text = text.partition("\\* Lemmas: ")[2].partition("-" * 60)[0]

    assert sorted(re.findall(r"^\\\* INV: (\w+)\.", text, re.MULTILINE)) == sorted(
        one.lemma for one in EQUAL.values()
    )

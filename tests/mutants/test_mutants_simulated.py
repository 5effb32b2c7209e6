"""Mutants of the core in simulated clusters: each is caught within so many seeds, or named here."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from canvass.cluster import core
from canvass.conformance.judge import Judge
from canvass.selftest.mutants import MUTANTS
from canvass.selftest.runs import CoreThenOracle
from canvass.selftest.simulated import simulate_mutants, wrong_with
from canvass.simulation.options import Options, swarm

SEEDS: Final = range(60)
QUICK: Final = {
    "replication_ends_without_a_commit": "verification",
    "replication_goes_on_after_an_error": "simulation",
}
"""Caught by the first seeds, and by whom."""


def test_what_is_wrong_with_a_mutant_is_not_with_the_core() -> None:
    assert wrong_with(swarm(Options(0, revision="hardened", steps=300)), core.step) == ""


def test_mutants_are_caught_by_verification_or_by_the_simulation(tmp_path: Path) -> None:
    judge = Judge(oracle=CoreThenOracle().ask)
    mutants = [MUTANTS[name] for name in QUICK]
    found = simulate_mutants(mutants, range(2), tmp_path, judge)

    assert {kill.mutant.name: kill.by for kill in found} == QUICK
    assert all(kill.told for kill in found)

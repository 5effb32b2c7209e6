"""Mutants of the core in simulated clusters: caught by verification, or by the simulation."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import pytest

from canvass.cluster import core
from canvass.conformance.judge import Judge
from canvass.selftest.mutants import MUTANTS
from canvass.selftest.runs import CoreThenOracle
from canvass.selftest.simulated import simulate_mutants, wrong_with
from canvass.simulation.options import Options, swarm

SEEDS: Final = range(60)
LEAST: Final = 60
"""Of all mutants; the others are printed."""
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


@pytest.mark.night
def test_most_mutants_are_caught_within_so_many_seeds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those that are not differ in states that simulated clusters are in too seldom.

    `test_mutants_on_edges.py` kills every one of them on the state graphs.
    """
    judge = Judge(oracle=CoreThenOracle().ask)
    found = simulate_mutants(MUTANTS.values(), SEEDS, tmp_path, judge)
    lines = [f"{kill.mutant.name}: {kill.by}, {kill.seeds} seeds, {kill.told}" for kill in found]
    with capsys.disabled():
        sys.stdout.write("\n".join(["", *lines, ""]))

    assert sum(kill.by != "nothing" for kill in found) >= LEAST

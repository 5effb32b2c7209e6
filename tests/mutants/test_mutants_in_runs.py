"""A run of a mutant diverges if and only if one of its steps differs from the core's."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import pytest

from canvass.selftest.runs import CoreThenOracle
from canvass.steps.answers import StepLookup
from support.mutants import MUTANTS
from support.traced_mutants import TracedRun, trace_mutants


def by_mutant(found: list[TracedRun]) -> dict[str, bool]:
    """Tell for each mutant whether a run catches it."""
    caught: dict[str, bool] = defaultdict(bool)
    for run in found:
        caught[run.mutant.name] |= run.differs
    return caught


@pytest.mark.parametrize(
    ("seeds", "steps", "least"),
    [
        (range(1), 160, 25),
        pytest.param(range(12), 400, 55, marks=[pytest.mark.night, pytest.mark.tlc], id="night"),
    ],
)
def test_runs_of_mutants_diverge_exactly_where_they_differ_from_the_core(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], seeds: range, steps: int, least: int
) -> None:
    answering = CoreThenOracle()
    lookup = StepLookup(oracle=answering.ask)

    found = trace_mutants(tmp_path, MUTANTS.values(), seeds, steps, lookup)
    caught = by_mutant(found)
    with capsys.disabled():
        sys.stdout.write(f" {sum(caught.values())} of {len(caught)} mutants show in runs ")

    # An error may end a run within a step that is not recorded.
    wrong = [run for run in found if not run.is_right and not run.raised]
    assert [(run.mutant.name, run.differs, run.verdict.divergences) for run in wrong] == []
    assert all(not run.differs for run in found if run.mutant.shows_in == "effects")
    assert sum(caught.values()) >= least
    if len(seeds) > 1:
        assert answering.confirm() == []

"""Counterexamples of reduced searches are behaviours of Cluster.

TLC looks at each step of a counterexample of MCTwoElections, its variants, MCFrom and MCHazard11
with StepsOfCluster, the one exception taken out. That the core takes the steps of the spec is shown
by the state graphs.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from canvass.spec.files import spec_root
from canvass.spec.manifest import ModelEntry, load_manifest
from canvass.tlc.config import TlcConfig, given
from canvass.tlc.output import TraceState
from canvass.tlc.runner import SHORT_RUN, check
from support.findings import config_of, found_by_reduced_searches, night_marks, run_of

REPLAYED = Path(__file__).parent / "Replayed.tla"
MODELS = {model.name: model for model in load_manifest().models}
FOUND = found_by_reduced_searches()
FINDINGS = [pytest.param(one, id=one.name, marks=night_marks(one.name)) for one in FOUND]

pytestmark = pytest.mark.tlc


def test_each_finding_is_the_same_each_time() -> None:
    """With several threads TLC may find another one, which may have the exceptional step."""
    assert {model.workers for model in FOUND} == {1}


def states_of(model: ModelEntry) -> tuple[TraceState, ...]:
    counterexample = run_of(model.name).counterexample
    assert counterexample is not None
    return counterexample.violation.states


def replaying(model: ModelEntry) -> TlcConfig:
    """Give the configuration of the model with the switches of MCReduction."""
    switches = config_of(MODELS["MCStepsOfCluster"])
    given = config_of(model).constants
    switched = {
        name: value for name, value in switches.constants.items() if value == f"<- RE{name}"
    }
    constants = {**switches.constants, **given, **switched, "GoesOnCanvassing": "<- Never"}
    return replace(
        switches, constants=constants, init="ReplayedInit", next="ReplayedNext", constraints=()
    )


@pytest.mark.parametrize("model", FINDINGS)
def test_each_step_is_one_of_the_unreduced_cluster(model: ModelEntry, tmp_path: Path) -> None:
    states = states_of(model)
    behaviour = tuple(dict(state.values) for state in states)
    found = check(
        *given(REPLAYED, replaying(model), {"Behaviour": behaviour}, tmp_path),
        library=(spec_root(), REPLAYED.parent),
        check_deadlock=False,
        workers=1,
        jvm_args=SHORT_RUN,
    )

    assert found.ok, found.message
    fewest = 4 if model.name == "MCFromLate" else 6  # MCFromLate ends within four steps.
    assert found.distinct == len(states) >= fewest

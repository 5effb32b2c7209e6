"""MCStepsOfCluster checks the reduction that MCTwoElections and its variants are searched with."""

from __future__ import annotations

import re

from canvass.cli.models import config_of
from canvass.spec import load_manifest, spec_root

MODELS = {model.name: model for model in load_manifest().models}
SWITCH = (spec_root() / "MCReduction.tla").read_text("utf-8")
SWITCHED = {
    found["name"]: found
    for found in re.finditer(
        r"^RE(?P<name>\w+)(?P<formal>\(.*?\)) ==\s+IF Reduced THEN (?P<reduced>\w+)(?P=formal)"
        r" ELSE (?P<own>\w+!?\w+)(?P=formal)(?: \\/ (?P<exception>\w+\(i\)))?$",
        SWITCH,
        re.MULTILINE,
    )
}
"""By the name of an operator of Cluster what it is if reduced, and what else."""


LOSSY = {"Take": "LossyTake", "MayArrive": "LossyArrival"}


def replaced(name: str) -> dict[str, str]:
    """The operators that a model's configuration puts in the place of others."""
    constants = config_of(spec_root(), MODELS[name]).constants
    return {left: right[3:] for left, right in constants.items() if right.startswith("<- ")}


def test_each_operator_is_switched_to_what_the_reduction_puts_in_its_place() -> None:
    reduced, checked = replaced("MCTwoTermsHardened"), replaced("MCStepsOfCluster")

    assert checked.keys() == reduced.keys()
    for name, by in reduced.items():
        found = SWITCHED.get(name)
        if found is None:
            assert checked[name] == by
            assert name.startswith("Bound") or name == "AppointedLeaderId"
        else:
            assert (checked[name], found["reduced"]) == (f"RE{name}", by)


def test_switched_off_each_is_what_cluster_says() -> None:
    """Two rules are written again: a step may lose messages after it, an arrival before it."""
    assert len(SWITCHED) == len(re.findall("IF Reduced", SWITCH))
    for name, found in SWITCHED.items():
        assert found["own"] == LOSSY.get(name, f"Own!{name}")
        assert found["exception"] == ("GoesOnCanvassing(i)" if name == "TakeCanvass" else None)


def test_no_model_reduces_in_another_way() -> None:
    """What the models of the reduction replace besides, only limits what MCStepsOfCluster has; but
    a restart, which may keep what is under way, and an election's error are Cluster's own.
    """
    common = replaced("MCTwoTermsHardened")
    narrower = {("BoundTerm", "MCBoundTerm"), ("ActiveSets", "AllActive")}
    narrower |= {("BoundRestart", "Never")}
    narrower |= {("BoundLate", "TEBoundRestart"), ("BoundError", "TEBoundError")}
    late = {("MayArrive", "FRMayArrive"), ("HasRoom", "FRHasRoom")}
    for name, model in MODELS.items():
        if model.module in {"MCTwoElections", "MCFrom"}:
            own = late if model.module == "MCFrom" else set()
            found = {left: right for left, right in replaced(name).items() if left != "From"}
            assert found.items() - common.items() <= narrower | own, name


def test_messages_under_way_at_the_beginning_are_checked_against_cluster() -> None:
    for name in ("MCStepsOfClusterFrom", "MCStepsOfClusterLate"):
        found = replaced(name)
        assert (found["MayArrive"], found["HasRoom"]) == ("REMayArrive", "FRHasRoom")


def test_what_bounds_the_length_of_a_behaviour_is_asked_of_steps() -> None:
    """Asked of states, the newest TLC ends a search one step earlier than TLC 2.15."""
    configurations = {path.name: path.read_text("utf-8") for path in spec_root().glob("*.cfg")}
    bounded = [text for text in configurations.values() if "NearEnough" in text]

    assert {"MCFrom.cfg", "MCStepsOfCluster.cfg"} <= configurations.keys()
    assert len(bounded) == 2
    assert all("\nACTION_CONSTRAINT NearEnough\n" in text for text in bounded)

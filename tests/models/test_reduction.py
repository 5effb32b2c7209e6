"""MCStepsOfCluster checks the reduction of MCTwoElections and its variants."""

from __future__ import annotations

import re

from canvass.spec.files import spec_root
from canvass.spec.manifest import load_manifest
from support.findings import config_of

MODELS = {model.name: model for model in load_manifest().models}
SWITCH = (spec_root() / "MCReduction.tla").read_text("utf-8").replace("A(_, _, _)", "A")
SWITCHED = {
    found["name"]: found
    for found in re.finditer(
        r"^RE(?P<name>\w+)(?P<formal>\(.*?\)) ==\s+IF Reduced THEN (?P<reduced>\w+)(?P=formal)"
        r" ELSE (?P<own>\w+!?\w+)(?P=formal)(?: \\/ (?P<exception>\w+\(i\)))?$",
        SWITCH,
        re.MULTILINE,
    )
}
"""For an operator of Cluster: its definition if reduced, and its definition otherwise."""


LOSSY = {"Take": "LossyTake", "Fail": "LossyTake", "MayArrive": "LossyArrival"}


def replaced(name: str) -> dict[str, str]:
    """Give the operators that a model's configuration replaces, with their replacements.

    The rules of a revision and of hardenings are not a matter of the reduction.
    """
    constants = config_of(MODELS[name]).constants
    rules = re.compile(r"<- (Rev149|UpstreamFix|HZ\d+)_")
    return {
        left: right[3:]
        for left, right in constants.items()
        if right.startswith("<- ") and not rules.match(right)
    }


def test_each_operator_is_switched_to_its_replacement_in_the_reduction() -> None:
    reduced, checked = replaced("MCTwoTermsHardened"), replaced("MCStepsOfCluster")

    assert checked.keys() == reduced.keys()
    for name, by in reduced.items():
        if (found := SWITCHED.get(name)) is None:
            assert checked[name] == by
            assert name.startswith("Bound") or name == "AppointedLeaderId"
        else:
            assert (checked[name], found["reduced"]) == (f"RE{name}", by)


def test_switched_off_each_operator_is_the_one_of_cluster() -> None:
    """Two rules are repeated: a step may lose messages after it, an arrival before it."""
    assert len(SWITCHED) == len(re.findall("IF Reduced", SWITCH))
    for name, found in SWITCHED.items():
        assert found["own"] == LOSSY.get(name, f"Own!{name}")
        assert found["exception"] == ("GoesOnCanvassing(i)" if name == "TakeCanvass" else None)


def test_no_model_reduces_in_another_way() -> None:
    """Further replacements in the models of the reduction only limit MCStepsOfCluster.

    Three exceptions are Cluster's own: a restart, which may keep the messages under way to the
    member, or let its new messages arrive before older ones, and an error of an election.
    """
    common = replaced("MCTwoTermsHardened")
    narrower = {("BoundTerm", "MCBoundTerm"), ("ActiveSets", "AllActive")}
    narrower |= {("BoundRestart", "Never")}
    narrower |= {("BoundLate", "TEBoundRestart"), ("BoundOvertaking", "TEBoundRestart")}
    narrower |= {("BoundError", "TEBoundError")}
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


def test_the_bound_of_the_length_of_a_behaviour_is_a_condition_on_steps() -> None:
    """As a condition on states, the newest TLC ends a search one step earlier than TLC 2.15."""
    configurations = {path.name: path.read_text("utf-8") for path in spec_root().glob("*.cfg")}
    bounded = [text for text in configurations.values() if "NearEnough" in text]

    assert {"MCFrom.cfg", "MCStepsOfCluster.cfg"} <= configurations.keys()
    assert len(bounded) >= 2
    assert all("\nACTION_CONSTRAINT NearEnough\n" in text for text in bounded)

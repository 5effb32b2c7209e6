"""The mutants of the spec: each differs from a model that holds in one operator, which kills it.

That each mutant dies, and by the property that the manifest names, and that the families without a
mutant hold, is run with all other models in `test_models`. Here is what makes that mean something.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from canvass.spec.files import find_file, spec_root
from canvass.spec.manifest import Expected, ModelEntry, load_manifest
from canvass.tlc.config import TlcConfig
from support.findings import config_of

MODELS = load_manifest().models
MUTANTS = [model for model in MODELS if model.name.startswith("MUT_")]
LIVE = {"MCLive": "MCLiveThree", "MCLiveE": "MCLiveLost"}
"""The modules whose mutants break a promise of liveness, each with the model without a mutant."""
SAFE = {model.module: model for model in MODELS if model.name.endswith("Mutants")}
FAMILIES = SAFE | {model.module: model for model in MODELS if LIVE.get(model.module) == model.name}

UNBROKEN = {"ReportersHaveNotVotedSince": "without HZ3 it is broken: MCTwoElectionsNoHZ3Reports"}
"""Properties that no mutant breaks, with the reason."""

each_mutant = pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)


def claims(config: TlcConfig) -> set[str]:
    return {*config.invariants, *config.properties}


def override(mutant: ModelEntry) -> tuple[str, str]:
    """Give the operator that a mutant replaces, and the replacement."""
    family = config_of(FAMILIES[mutant.module]).constants
    changed = {
        name: value
        for name, value in config_of(mutant).constants.items()
        if family.get(name) != value
    }
    assert len(changed) == 1, f"{mutant.name} changes {sorted(changed)}"
    ((name, value),) = changed.items()
    arrow, by = value.split()
    assert arrow == "<-", f"{mutant.name} gives {name} a value"
    return name, by


@cache
def definitions(module: Path) -> dict[str, int]:
    """Give the operators that a module defines, with the number of their parameters."""
    found = re.finditer(r"^(\w+)(?:\(([^)]*)\))?\s*==", module.read_text(), re.MULTILINE)
    return {one[1]: len(one[2].split(",")) if one[2] else 0 for one in found}


def comment_above(module: Path, name: str) -> str:
    """Give the comment that ends on the line before a definition."""
    text = module.read_text()
    found = re.search(rf"((?:^\\\*.*\n)+){name}\b", text, re.MULTILINE)
    return found[1] if found else ""


def safety_properties() -> set[str]:
    """Give the claims of models that Properties.tla defines, except goals and liveness."""
    text = (spec_root() / "Properties.tla").read_text()
    bodies = dict(re.findall(r"^(\w+) ==(.*?)(?=^\w+ ==|^\\\*|\Z)", text, re.MULTILINE | re.DOTALL))
    claimed: set[str] = set()
    for model in MODELS:
        claimed |= claims(config_of(model))
    return {
        name
        for name in claimed & bodies.keys()
        if not re.search(r"~>|<>|WF_|SF_", bodies[name]) and not name.startswith("Never")
    }


def test_there_are_enough_mutants_to_mean_something() -> None:
    assert len(MUTANTS) >= 70


@pytest.mark.parametrize(
    ("mistake", "name", "violated"),
    [
        ("inactive members count in a quorum", "MUT_SilentMembersCount", "QuorumIsHeardOf"),
        ("a commit position falls", "MUT_CommitFalls", "CommitMonotonic"),
        ("what was committed is replaced", "MUT_CommittedIsReplaced", "StateMachineSafety"),
        ("snapshots disagree with the log", "MUT_SnapshotOfOtherTerm", "SnapshotAgreement"),
        ("figure 8 of Raft's paper", "MUT_Figure8", "CommittedIsDurable"),
    ],
)
def test_a_mistake_that_papers_warn_of_has_its_mutant(
    mistake: str, name: str, violated: str
) -> None:
    assert [mutant.violates for mutant in MUTANTS if mutant.name == name] == [violated], mistake


@each_mutant
def test_a_mutant_is_expected_to_die_of_the_one_property_that_it_claims(mutant: ModelEntry) -> None:
    of_all_behaviours = mutant.module in LIVE
    assert mutant.expected is (Expected.LIVENESS if of_all_behaviours else Expected.SAFETY)
    assert claims(config_of(mutant)) == {mutant.violates}


@each_mutant
def test_a_mutant_differs_from_a_model_that_holds_in_one_operator(mutant: ModelEntry) -> None:
    """So the operator kills the mutant, not the setup."""
    family = FAMILIES[mutant.module]
    name, by = override(mutant)
    healthy, sick = config_of(family), config_of(mutant)
    constants = {key: value for key, value in sick.constants.items() if key != name}
    if name in healthy.constants:
        constants[name] = healthy.constants[name]

    assert family.expected is Expected.SUCCESS
    assert claims(sick) <= claims(healthy)
    assert healthy == replace(
        sick, constants=constants, invariants=healthy.invariants, properties=healthy.properties
    )
    assert by != name


@each_mutant
def test_a_mutant_replaces_an_operator_of_the_protocol_by_one_of_its_family(
    mutant: ModelEntry,
) -> None:
    name, by = override(mutant)
    protocol: dict[str, int] = {}
    for module in spec_root().glob("*.tla"):
        if not module.stem.startswith("MC"):
            protocol |= definitions(module)
    family = definitions(find_file(f"{mutant.module}.tla"))

    assert protocol[name] == family[by]


@each_mutant
def test_the_comment_above_the_operator_names_its_mutant(mutant: ModelEntry) -> None:
    _, by = override(mutant)

    assert f"{mutant.name}:" in comment_above(find_file(f"{mutant.module}.tla"), by)


def test_models_that_hold_discharge_the_assumption_of_the_member_graph() -> None:
    """The graph of one member is exhaustive for a cluster whose messages are all well-formed."""
    holding = {
        model.name
        for model in MODELS
        if "MessagesAreWellFormed" in claims(config_of(model))
        and model.expected is Expected.SUCCESS
    }

    of_a_cluster = {
        family.name
        for family in SAFE.values()
        if "OrderAbstraction" not in claims(config_of(family))
    }

    assert of_a_cluster <= holding
    assert {"MCElection", "MCHazard1Hardened", "MCHazard2Hardened", "MCHazard6Hardened"} <= holding


def test_every_operator_of_a_mutant_has_its_mutant() -> None:
    written = {
        (module, name)
        for module in FAMILIES
        for name in definitions(find_file(f"{module}.tla"))
        if name.startswith("Mut")
    }
    used = Counter((mutant.module, override(mutant)[1]) for mutant in MUTANTS)

    assert written == used.keys()
    assert max(used.values()) == 1


def test_every_safety_property_kills_a_mutant() -> None:
    killers = {mutant.violates for mutant in MUTANTS}
    properties = safety_properties()

    assert {"ElectionSafety", "NoTruncationBelowCommit"} <= properties
    assert properties - killers == UNBROKEN.keys()


def test_every_claim_of_a_model_that_holds_is_violated_by_another_model() -> None:
    """So no claim is one that cannot fail."""
    held: set[str] = set()
    for model in MODELS:
        if model.expected is Expected.SUCCESS:
            held |= claims(config_of(model))
    of_the_search = {"HistoryIsTrue", "UrgentMayMove"}

    assert {"EventuallyApplied", "RefinesBallots", "TypeOK"} <= held
    assert held - {model.violates for model in MODELS} == of_the_search

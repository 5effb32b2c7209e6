"""Counterexamples of reduced searches are behaviours of Cluster, and the core takes their steps.

A counterexample of MCTwoElections, its variants, MCFrom and MCHazard11 is replayed twice. TLC looks
at each of its steps with StepsOfCluster, the one exception taken out. And for each step there is an
input on which the core, in the state before, comes to the state after and sends what got under way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations, pairwise, product
from pathlib import Path
from typing import Any

import msgspec
import pytest

from canvass.cluster import core
from canvass.cluster.effects import Send
from canvass.cluster.member import Input, Member
from canvass.cluster.messages import Message
from canvass.cluster.rules import Rules
from canvass.lanes.drawing import action_name
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
OF_CORE = [
    one
    for one, model in zip(FINDINGS, FOUND, strict=True)
    if "upstream-fix" not in config_of(model).constants["Revision"]
]
"""The core does not have the corrections of upstream-fix."""


Tree = dict[str, Any]

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


@pytest.mark.parametrize("model", OF_CORE)
def test_the_core_takes_each_step(model: ModelEntry) -> None:
    constants = config_of(model).constants
    rules = rules_of(constants)
    states = states_of(model)
    values = [dict(one.values) for one in states]

    for (before, after), state in zip(pairwise(values), states[1:], strict=True):
        action = action_name(state.action or "").removesuffix("Member")
        assert takes(rules, action, before, after), (state.number, action)


def rules_of(constants: Mapping[str, str]) -> Rules:
    (revision,) = re.findall(r'"(.*?)"', constants["Revision"])
    members = int(constants["MemberCount"].removeprefix("="))
    return Rules(members, revision, frozenset(re.findall(r'"(.*?)"', constants["Hardening"])))


def sets_of(members: Sequence[int]) -> Iterator[frozenset[int]]:
    sizes = range(len(members) + 1)
    return map(frozenset, chain.from_iterable(combinations(members, size) for size in sizes))


def member_of(state: Tree, i: int) -> Member:
    fields = state["member"][i]
    return msgspec.convert({**fields, "members": tuple(fields["members"].values())}, Member)


def inputs(state: Tree, i: int, action: str) -> Iterator[Input]:
    """Give the possible inputs of an action: a superset of the inputs in Cluster."""
    s, log, members = member_of(state, i), state["log"][i], range(len(state["member"]))
    match action:
        case "Restart" | "EnterElection":
            yield Input()
        case "RecordLog":
            yield Input(position=s.recorded_position + 1)
        case "AppendEntry":
            yield Input(position=s.publication_position + 1)
        case "ConsumeLog":
            yield Input(position=s.commit_position + 1)
        case "OnReplayNewLeadershipTermEvent":
            base = s.commit_position
            yield Input(
                position=base + 1, leadership_term_id=log[base], term_base_log_position=base
            )
        case _ if action.startswith("On"):
            # In MCFrom a message may arrive while earlier ones in its channel are lost.
            arriving = [one for queues in state["channel"].values() for one in queues[i]]
            for one, active in product(arriving, sets_of(members)):
                if f"On{one['type']}" == action:
                    yield Input(message=msgspec.convert(one, Message), active=active)
        case _:
            yield from (Input(accepted=each) for each in sets_of(members))
            for active, due, commits, timeout, position in product(
                sets_of(members),
                *([False, True],) * 3,
                (-1, s.publication_position + 1, s.commit_position),
            ):
                yield Input(
                    active=active,
                    interval=due,
                    commit_interval=commits,
                    timeout=timeout,
                    position=position,
                )


def takes(rules: Rules, action: str, before: Tree, after: Tree) -> bool:
    """Tell whether a member takes the action, and sends the new messages under way."""
    for i in before["member"]:
        sent = {
            j: one[-1]
            for j, one in after["channel"][i].items()
            if one and one[-1]["type"] != "ProcessEnd"
        }
        new = {j: one for j, one in sent.items() if before["channel"][i][j] != (one,)}
        others = [j for j in before["member"] if j != i]
        if all(before["member"][j] == after["member"][j] for j in others):
            for x in inputs(before, i, action):
                outcome = core.step(rules, i, member_of(before, i), action, x)
                if outcome is None or outcome.next != member_of(after, i):
                    continue
                sends = [
                    (one.to, msgspec.to_builtins(one.message))
                    for one in outcome.effects
                    if isinstance(one, Send)
                ]
                if all(one in sends for one in new.items()):
                    return True
    return False

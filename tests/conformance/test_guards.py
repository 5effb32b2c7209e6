"""A step whose action is not enabled is explained by the parts of the guard that say so."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from msgspec.structs import replace

from canvass.cluster.member import NO_INPUT, ElectionState, Member, ModuleState, Role, new_member
from canvass.cluster.rules import Rules
from canvass.conformance.diagnose import (
    core_outcome,
    explain_refusal,
    failing_parts,
    find_operator,
    guard_of,
    load,
)
from canvass.conformance.verify import check_run
from canvass.selftest.runs import record_run
from canvass.steps.answers import StepLookup
from canvass.steps.oracle import OracleError
from canvass.steps.step import Step
from canvass.traces.actions import ACTIONS, Action
from support import corruptions, random_steps
from support.core_lookup import ask_core
from support.corruptions import corrupted

ALWAYS_ENABLED = {
    action
    for action in ACTIONS
    if (action.value.startswith("On") and action is not Action.ON_REPLAY_NEW_LEADERSHIP_TERM_EVENT)
    or action is Action.RESTART
}


def leader() -> Member:
    return replace(
        new_member(3),
        module_state=ModuleState.ACTIVE,
        role=Role.LEADER,
        election_state=ElectionState.CLOSED,
        leader_member_id=0,
        module_leadership_term_id=1,
        publication_position=4,
        recorded_position=3,
    )


def test_guards_every_action_that_can_be_disabled_has_one() -> None:
    guards = {}
    for action in ACTIONS:
        operator = find_operator(action.value)
        assert operator is not None
        guards[action] = guard_of(operator)

    assert {action for action, guard in guards.items() if guard is None} == ALWAYS_ENABLED


def test_a_divergence_is_explained_without_its_guard_if_tlc_cannot_run(tmp_path: Path) -> None:
    """The explanation has what the step changes, and that TLC could not be asked."""

    def fail(*_: object) -> tuple[str, ...]:
        raise OracleError("no Java")

    record_run(tmp_path / "good", Rules.of("1.50"), 0, 600, faults=0.0)
    bad = corrupted(tmp_path / "good", tmp_path / "bad", too_far)
    found = check_run(bad, StepLookup(ask_core))
    first = next(each for each in found.divergences if each.name == "ConsumeLog")

    explained = explain_refusal(load(bad, found.run_id), first, StepLookup(ask_core, guards=fail))

    assert explained.divergence == first
    assert all((explained.changed, explained.enabled))
    assert explained.note == "TLC could not be asked: no Java"


def test_a_step_that_the_core_takes_and_tlc_refuses_is_explained_so(tmp_path: Path) -> None:
    record_run(tmp_path / "run", Rules.of("1.50"), 0, 600, faults=0.0)
    lookup = StepLookup(lambda _, steps: [False] * len(steps))
    found = check_run(tmp_path / "run", lookup)

    explained = explain_refusal(load(tmp_path / "run", found.run_id), found.divergences[0], lookup)

    assert explained.note == "the Python core takes this step, and TLC refuses it"


def too_far(streams: corruptions.Streams) -> None:
    """Let a follower process further than it may, from an input that says so."""
    _, _, line = list(corruptions.events(streams, "ConsumeLog"))[3]
    line["input"]["position"] += 1 << 20
    line["state"]["commitPosition"] += 1 << 20


@pytest.mark.tlc
def test_guards_the_parts_that_hold_are_named() -> None:
    rules = Rules.of("1.50")
    state = leader()
    short = Step(0, state, Action.RECORD_LOG, replace(NO_INPUT, position=3), state, ())
    follower = replace(state, role=Role.FOLLOWER)
    append = Step(0, follower, Action.APPEND_ENTRY, replace(NO_INPUT, position=4), follower, ())

    assert failing_parts(short, rules) == ("x.position <= s.recordedPosition",)
    assert failing_parts(append, rules) == (
        '~Closed(s, "LEADER")',
        "x.position <= s.publicationPosition",
    )


@pytest.mark.tlc
def test_guards_a_report_names_them(tmp_path: Path) -> None:
    record_run(tmp_path / "good", Rules.of("1.50"), 0, 600, faults=0.0)
    run = corrupted(tmp_path / "good", tmp_path / "bad", too_far)
    lookup = StepLookup(oracle=ask_core, digest="the core")
    verdict = check_run(run, lookup)
    first = next(each for each in verdict.divergences if each.name == "ConsumeLog")

    explanation = explain_refusal(load(run, verdict.run_id), first, lookup)

    assert explanation.failing == ("x.position > ConsumeBound(s) /\\ ~IsBoundWithinEntry(s, x)",)


@pytest.mark.tlc
@pytest.mark.night
def test_guards_some_part_holds_whenever_the_core_refuses() -> None:
    rng = random.Random(5)
    rules = Rules.of("1.50", 3)
    refused = 0
    while refused < 12:
        step = random_steps.random_step(rng, rules)
        if core_outcome(rules, step) is None:
            refused += 1
            assert failing_parts(step, rules), step

"""The reduced form of a step has the verdict of the step, and forgets what does not decide it."""

from __future__ import annotations

import lzma
import random
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from canvass.cluster import core
from canvass.cluster.member import ElectionState, Input, ModuleState, Role, new_member
from canvass.cluster.rules import HAZARDS, Rules
from canvass.conformance.step_checker import Example, example_of, reduced_example
from canvass.conformance.step_lookup import StepLookup
from canvass.steps import leader_rules
from canvass.steps.distinct import KeyTable
from canvass.steps.oracle import Answer, ask
from canvass.steps.reduction import RULES, reduced
from canvass.steps.step import Step
from canvass.traces.actions import Action
from support.random_steps import allowed, changed_step, random_step

SEEDS = st.integers(0, 2**32 - 1)
CAPTURED = Path(__file__).parents[2] / "captures" / "steps.msgpack.xz"
"""Distinct steps of captured clusters; see the README there."""


def captured_steps(rng: random.Random, count: int) -> list[Example]:
    """Some steps of captured clusters, of all revisions and sizes."""
    found: list[Example | None] = []
    by_rules = msgspec.msgpack.decode(
        lzma.decompress(CAPTURED.read_bytes()), type=dict[str, list[Step]]
    )
    for name, steps in by_rules.items():
        revision, members = name.split("-")
        rules = Rules(int(members), revision)
        found += [example_of(step, rules) for step in rng.sample(steps, count)]
    return [step for step in found if step is not None]


def random_example(rng: random.Random) -> Example | None:
    rules = Rules(rng.choice((3, 4, 5)), rng.choice(("1.49", "1.50")))
    rules = replace_appointed(rules, rng.choice((-1, -1, 0, 1)))
    return example_of(random_step(rng, rules), rules)


def replace_appointed(rules: Rules, member: int) -> Rules:
    return Rules(rules.member_count, rules.revision, appointed_leader_id=member)


@given(SEEDS)
def test_reduced_a_random_step_is_allowed_if_and_only_if_its_reduced_form_is(seed: int) -> None:
    example = random_example(random.Random(seed))

    if example is not None:
        form = reduced_example(example)
        assert allowed(form.rules, form.step) == allowed(example.rules, example.step)


def test_reduced_a_captured_step_that_was_changed_has_the_verdict_of_its_reduced_form() -> None:
    rng = random.Random(4)
    verdicts = []

    for example in captured_steps(rng, 400):
        step = example.step
        for _ in range(rng.choice((0, 1, 1, 2))):
            step = changed_step(rng, step)
        changed = example_of(step, example.rules)
        if changed is not None:
            form = reduced_example(changed)
            verdicts.append(allowed(changed.rules, changed.step))
            assert allowed(form.rules, form.step) == verdicts[-1], changed.step.action

    assert len(verdicts) // 5 < sum(verdicts) < len(verdicts) * 49 // 50


@pytest.mark.tlc
def test_reduced_a_step_and_its_reduced_form_have_one_verdict_of_tlc() -> None:
    rng = random.Random(5)
    examples = captured_steps(rng, 100)
    examples += [
        found
        for each in captured_steps(rng, 100)
        if (found := example_of(changed_step(rng, each.step), each.rules)) is not None
    ]
    forms = list(map(reduced_example, examples))

    answers = StepLookup(ask).allowed([*examples, *forms])

    verdicts = answers[: len(examples)]
    assert verdicts == answers[len(examples) :]
    assert len(verdicts) // 2 < sum(verdicts) < len(verdicts)


def test_reduced_a_rule_that_counts_wrongly_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leader_rules, "quorum_position", lambda given, _: min(given, default=0))

    with pytest.raises(AssertionError):
        test_reduced_a_captured_step_that_was_changed_has_the_verdict_of_its_reduced_form()


def leader_step(*positions: int) -> Step:
    """A leader of five commits what a quorum has recorded."""
    rules = Rules(5)
    state = new_member(5)
    members = tuple(
        replace(record, leadership_term_id=0, log_position=position)
        for record, position in zip(state.members, positions, strict=True)
    )
    state = replace(
        state,
        module_state=ModuleState.ACTIVE,
        role=Role.LEADER,
        election_state=ElectionState.CLOSED,
        leader_member_id=0,
        module_leadership_term_id=0,
        recorded_position=500,
        members=members,
    )
    given = Input(active=frozenset(range(5)))
    outcome = core.step(rules, 0, state, Action.UPDATE_LEADER_POSITION.value, given)
    assert outcome is not None
    sends = tuple((send.to, send.message) for send in outcome.sends)
    return Step(0, state, Action.UPDATE_LEADER_POSITION, given, outcome.next, sends)


def form_of(step: Step) -> tuple[int, int]:
    example = example_of(step, Rules(5))
    assert example is not None
    return reduced_example(example).key


def test_reduced_it_does_not_matter_who_has_recorded_what_but_what_a_quorum_has() -> None:
    one, other = leader_step(400, 400, 300, 100, 0), leader_step(300, 350, 320, 200, 100)
    nobody = leader_step(400, 300, 0, 0, 0)

    assert form_of(one) == form_of(other)
    assert form_of(nobody) != form_of(one)
    early = replace(one, after=replace(one.after, commit_position=400))
    assert form_of(early) != form_of(one)


def test_reduced_steps_of_hardened_members_and_of_small_clusters_stay_as_they_are() -> None:
    rng = random.Random(6)
    for rules in (Rules(3, "1.50", HAZARDS), Rules(2), Rules(1)):
        for _ in range(50):
            example = example_of(random_step(rng, rules), rules)
            if example is not None:
                assert reduced(example.step, example.rules) is example.step


def test_reduced_every_rule_reduces_some_captured_step() -> None:
    examples = captured_steps(random.Random(7), 480)

    changed = {e.step.action for e in examples if reduced(e.step, e.rules) is not e.step}

    assert set(RULES) - changed <= {Action.ELECTION_ERROR}


def table_of(*examples: Example) -> KeyTable:
    keys = np.array([example.key for example in examples], dtype=np.uint64).reshape(-1, 2)
    return KeyTable.build(keys, np.zeros(len(examples), dtype=np.int64))


def refuse(asked: list[Step], _: Rules, steps: Sequence[Step]) -> list[Answer]:
    """An oracle that allows nothing."""
    asked.extend(steps)
    return [Answer(allowed=False, enabled=False) for _ in steps]


def test_lookup_a_step_is_known_by_its_reduced_form_if_that_is_wanted() -> None:
    example = example_of(leader_step(400, 400, 300, 100, 0), Rules(5))
    assert example is not None
    asked: list[Step] = []
    refuses = partial(refuse, asked)

    shipped = table_of(reduced_example(example))
    knowing = StepLookup(refuses, shipped=shipped, reduces=True)

    assert knowing.allowed([example]) == [True]
    assert knowing.unknown([example]) == []
    assert not asked
    assert StepLookup(refuses, shipped=shipped).allowed([example]) == [False]
    assert asked == [example.step]


def test_lookup_a_step_is_asked_about_itself_if_its_reduced_form_is_not_known() -> None:
    example = example_of(leader_step(400, 400, 300, 100, 0), Rules(5))
    assert example is not None
    asked: list[Step] = []
    refuses = partial(refuse, asked)

    assert StepLookup(refuses, reduces=True).allowed([example]) == [False]
    assert asked == [example.step]


def test_lookup_a_wrong_rule_alone_allows_nothing() -> None:
    step = leader_step(400, 400, 300, 100, 0)
    wrong = example_of(replace(step, after=replace(step.after, commit_position=400)), Rules(5))
    assert wrong is not None
    asked: list[Step] = []

    lookup = StepLookup(
        partial(refuse, asked), shipped=table_of(reduced_example(wrong)), reduces=True
    )

    assert lookup.allowed([wrong]) == [False]
    assert asked == [wrong.step]

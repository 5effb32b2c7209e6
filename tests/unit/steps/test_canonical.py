"""The canonical form keeps what is allowed, forgets names and sizes, and the kernel agrees."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from canvass.cluster.rules import Rules
from canvass.steps.canonical import Canonical, FrameBroken, OutOfDomain, canonical, ranks
from canvass.steps.frames import FIELDS, Regime, frame_of
from canvass.steps.kernel import Status, canonical_keys, flavour
from canvass.steps.step import Step
from canvass.traces.actions import Action
from support.random_steps import allowed, random_rules, random_step, renumbered, shuffled
from support.step_columns import columns_of

SEEDS = st.integers(0, 2**32 - 1)


def canonical_rules(rules: Rules, form: Canonical) -> Rules:
    return replace(rules, appointed_leader_id=1 if form.step.barred else -1)


def form_of(step: Step, rules: Rules) -> Canonical | None:
    try:
        return canonical(step, rules)
    except (FrameBroken, OutOfDomain):
        return None


@given(SEEDS)
@example(160)  # A single member's new election opens a term in its recording log.
def test_canonical_a_step_is_allowed_if_and_only_if_its_form_is(seed: int) -> None:
    rng = random.Random(seed)
    rules = random_rules(rng)
    step = random_step(rng, rules)

    form = form_of(step, rules)

    if form is None:
        assert not allowed(rules, step) or not all(
            0 <= to < rules.member_count for to, _ in step.sends
        )
    else:
        assert allowed(rules, step) == allowed(canonical_rules(rules, form), form.step)


@given(SEEDS)
@example(26)  # A message names members that it does not go to.
@example(951)
def test_canonical_the_form_does_not_depend_on_numbers_names_or_the_order_of_sends(
    seed: int,
) -> None:
    rng = random.Random(seed)
    rules = random_rules(rng, appointed=False)
    step = random_step(rng, rules)

    other = shuffled(rng, renumbered(rng, step))

    form, other_form = form_of(step, rules), form_of(other, rules)
    assert (form is None) == (other_form is None)
    if form is not None and other_form is not None:
        assert form == other_form
        assert form.key == other_form.key


@given(SEEDS)
def test_canonical_the_form_of_a_form_is_itself(seed: int) -> None:
    rng = random.Random(seed)
    rules = random_rules(rng)

    form = form_of(random_step(rng, rules), rules)

    if form is not None:
        assert canonical(form.step, canonical_rules(rules, form)) == form


@given(SEEDS)
def test_frame_what_it_erases_has_no_influence(seed: int) -> None:
    rng = random.Random(seed)
    rules = random_rules(rng)
    step = random_step(rng, rules, corrupt=0)
    form = form_of(step, rules)
    if form is None:
        return
    untouched = frame_of(step.action, form.regime).untouched
    donor = random_step(rng, rules, corrupt=0).before
    changes: dict[str, Any] = {
        name: getattr(donor, name) for name in untouched if not name.startswith("members.")
    }
    changed = replace(
        step, before=replace(step.before, **changes), after=replace(step.after, **changes)
    )

    assert allowed(rules, changed) == allowed(rules, step)
    assert canonical(changed, rules) == form


def test_frame_a_change_of_an_untouched_field_is_named() -> None:
    rng = random.Random(3)
    rules = Rules(3)
    step = random_step(rng, rules, corrupt=0)
    while step.action is not Action.ON_STOP_CATCHUP:
        step = random_step(rng, rules, corrupt=0)
    wrong = replace(step, after=replace(step.after, commit_position=step.after.commit_position + 1))

    with pytest.raises(FrameBroken) as broken:
        canonical(wrong, rules)

    assert broken.value.fields == ("commit_position",)


def test_frame_every_field_is_kept_or_untouched() -> None:
    for action in Action:
        for regime in Regime:
            frame = frame_of(action, regime)
            assert frame.untouched | frame.after == FIELDS
            assert frame.before <= frame.after


@pytest.mark.parametrize("member_count", [1, 2, 3, 5])
def test_kernel_keys_are_those_of_the_plain_definition(member_count: int) -> None:
    rng = random.Random(member_count)
    rules = [random_rules(rng, member_count=member_count) for _ in range(1500)]
    steps = [random_step(rng, each) for each in rules]

    keys, status = canonical_keys(
        flavours=np.array([flavour(each) for each in rules]), **columns_of(steps)
    )

    for own, step, key, found in zip(rules, steps, keys, status, strict=True):
        try:
            expected = canonical(step, own).key
        except FrameBroken:
            assert found == Status.FRAME_BROKEN
        except OutOfDomain:
            assert found == Status.OUT_OF_DOMAIN
        else:
            assert found == Status.KEYED
            assert tuple(int(half) for half in key) == expected


@given(SEEDS)
def test_kernel_a_log_too_long_for_its_window_is_left_to_the_plain_definition(seed: int) -> None:
    rng = random.Random(seed)
    rules = Rules(3)
    step = random_step(rng, rules, corrupt=0)
    long = step.before.recording_log[:1] * 20
    step = replace(
        step,
        action=Action.LEADER_INIT,
        before=replace(step.before, recording_log=long),
        after=replace(step.before, recording_log=long),
        input=replace(step.input, message=None),
        sends=(),
    )

    _, status = canonical_keys(flavours=np.array([flavour(rules)]), **columns_of([step]))

    assert status[0] in (Status.LONG, Status.KEYED, Status.FRAME_BROKEN)
    assert (status[0] == Status.LONG) == (len(long) > 0 and form_of(step, rules) is not None)


def test_ranks_positions_keep_none_and_zero_and_terms_keep_which_follow_each_other() -> None:
    assert ranks([-1, 0, 7, 1000, 8], terms=False) == {-1: -1, 0: 0, 7: 1, 8: 2, 1000: 3}
    assert ranks([-1, 3, 4, 9], terms=True) == {-1: -1, 3: 1, 4: 2, 9: 4}
    assert ranks([0, 1, 3], terms=True) == {-1: -1, 0: 0, 1: 1, 3: 3}
    assert ranks([-5, -2], terms=False) == {-1: -1, 0: 0, -2: -2, -5: -3}

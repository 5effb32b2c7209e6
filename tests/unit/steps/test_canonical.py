"""The canonical form keeps what is allowed, and forgets names, sizes and dead fields."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from canvass.cluster.member import MAX_RECORDING_LOG, TermEntry
from canvass.cluster.messages import Message
from canvass.cluster.rules import Rules
from canvass.conformance.diagnose import as_if_changed_before
from canvass.steps import compiled_loops
from canvass.steps.action_fields import FIELDS, Regime, frame_of
from canvass.steps.kernel import Status, canonical_keys
from canvass.steps.step import columns_of, question_of, ranks, regime
from canvass.traces.actions import Action
from canvass.traces.schema import NumberKind, kind
from support.random_steps import (
    allowed,
    changed_step,
    key_of,
    random_rules,
    random_step,
    renumbered,
    shuffled,
)

SEEDS = st.integers(0, 2**32 - 1)


@given(SEEDS)
@example(160)  # A single member's new election opens a term in its recording log.
def test_canonical_a_step_is_allowed_if_and_only_if_its_question_is(seed: int) -> None:
    rng = random.Random(seed)
    rules = random_rules(rng)
    step = random_step(rng, rules)

    found = question_of(step, rules)

    if isinstance(found, Status):
        assert not allowed(rules, step) or not all(
            0 <= to < rules.member_count for to, _ in step.sends
        )
    else:
        assert allowed(rules, step) == allowed(found.rules, found.step)
        assert key_of(found.step, rules) == found.key


@given(SEEDS)
def test_canonical_the_key_does_not_depend_on_numbers_names_or_the_order_of_sends(
    seed: int,
) -> None:
    rng = random.Random(seed)
    rules = random_rules(rng, appointed=False)
    step = random_step(rng, rules)

    if any(names_another(step.member, to, message) for to, message in step.sends):
        return  # No allowed step sends such a message.
    other = shuffled(rng, renumbered(rng, step))

    assert key_of(step, rules) == key_of(other, rules)


def names_another(sender: int, receiver: int, message: Message) -> bool:
    fields = message.__struct_fields__
    named = (getattr(message, name) for name in fields if kind(name) is NumberKind.MEMBER)
    return any(member not in (-1, sender, receiver) for member in named)


@given(SEEDS)
def test_frame_what_it_erases_has_no_influence(seed: int) -> None:
    rng = random.Random(seed)
    rules = random_rules(rng)
    step = random_step(rng, rules, corrupt=0)
    key = key_of(step, rules)
    if key is None:
        return
    shows_votes = rules.is_hardened("HZ11")
    untouched = frame_of(step.action, regime(step), shows_votes=shows_votes).untouched
    donor = random_step(rng, rules, corrupt=0).before
    changes: dict[str, Any] = {
        name: getattr(donor, name) for name in untouched if not name.startswith("members.")
    }
    changed = replace(
        step, before=replace(step.before, **changes), after=replace(step.after, **changes)
    )

    assert allowed(rules, changed) == allowed(rules, step)
    assert key_of(changed, rules) == key


def test_frame_a_change_of_an_untouched_field_is_named() -> None:
    rng = random.Random(3)
    rules = Rules(3)
    step = random_step(rng, rules, corrupt=0)
    while step.action is not Action.ON_STOP_CATCHUP:
        step = random_step(rng, rules, corrupt=0)
    wrong = replace(step, after=replace(step.after, commit_position=step.after.commit_position + 1))

    assert question_of(wrong, rules) is Status.FRAME_BROKEN
    sound = as_if_changed_before(wrong, frame_of(wrong.action, regime(wrong)))
    assert sound.before == replace(wrong.before, commit_position=wrong.after.commit_position)


def test_frame_every_field_is_kept_or_untouched() -> None:
    for action in Action:
        for case in Regime:
            frame = frame_of(action, case)
            assert frame.untouched | frame.after == FIELDS
            assert frame.before <= frame.after


@given(SEEDS)
def test_canonical_steps_with_different_answers_never_share_a_key(seed: int) -> None:
    """A step with something of it changed has another key, unless the change decides nothing."""
    rng = random.Random(seed)
    rules = random_rules(rng)
    step = random_step(rng, rules, corrupt=0.1)
    key = key_of(step, rules)
    for _ in range(10):
        other = changed_step(rng, rules, step)
        if key is not None and key == key_of(other, rules):
            assert allowed(rules, other) == allowed(rules, step)


@pytest.mark.parametrize("member_count", [1, 2, 3, 5])
def test_kernel_machine_code_gives_the_same_keys(
    member_count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(member_count)
    rules = [random_rules(rng, member_count=member_count) for _ in range(300)]
    steps = columns_of([random_step(rng, each) for each in rules])
    own = np.arange(len(rules))
    plain = canonical_keys(steps, rules, own)
    monkeypatch.setattr(compiled_loops, "ROWS_TO_COMPILE", 0)

    compiled = canonical_keys(steps, rules, own)

    keyed = plain[1] == Status.KEYED
    assert 200 < keyed.sum() < 300
    np.testing.assert_array_equal(compiled[1], plain[1])
    np.testing.assert_array_equal(compiled[0][keyed], plain[0][keyed])


@pytest.mark.parametrize("entries", [20, 70, MAX_RECORDING_LOG])
def test_kernel_a_log_of_any_length_has_a_key(entries: int) -> None:
    rules = Rules(3)
    step = random_step(random.Random(1), rules, corrupt=0)
    log = tuple(TermEntry(1, 32 * place, 32 * place + 32) for place in range(entries))
    step = replace(
        step,
        action=Action.LEADER_INIT,
        before=replace(step.before, recording_log=log),
        after=replace(step.before, recording_log=log),
        input=replace(step.input, message=None),
        sends=(),
    )

    (key,), (status,) = canonical_keys(columns_of([step]), [rules])

    assert status == Status.KEYED
    assert key_of(step, rules) == key.tobytes()


def test_ranks_positions_keep_none_and_zero_and_terms_keep_which_follow_each_other() -> None:
    assert ranks([-1, 0, 7, 1000, 8], terms=False) == {-1: -1, 0: 0, 7: 1, 8: 2, 1000: 3}
    assert ranks([-1, 3, 4, 9], terms=True) == {-1: -1, 3: 1, 4: 2, 9: 4}
    assert ranks([0, 1, 3], terms=True) == {-1: -1, 0: 0, 1: 1, 3: 3}
    assert ranks([-5, -2], terms=False) == {-1: -1, 0: 0, -2: -2, -5: -3}

"""TLC's answers about given steps, held against the core and against each other."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace

from canvass.cluster.rules import Rules
from canvass.steps.oracle import ask
from canvass.steps.step import Sends, Step
from support import random_steps

pytestmark = pytest.mark.tlc


@pytest.mark.parametrize("revision", ["1.50", "1.49", "hardened"])
def test_core_and_oracle_agree_on_random_steps(revision: str) -> None:
    """The core is one author's reading of the spec, TLC another's."""
    rng = random.Random(revision)
    rules = Rules.of(revision, 3)
    steps = [random_steps.random_step(rng, rules) for _ in range(120)]
    expected = [random_steps.allowed(rules, step) for step in steps]

    answers = ask(Rules(3, rules.revision, rules.hardening), steps)

    assert expected == [answer.allowed for answer in answers]
    assert 12 < sum(expected) < 108


def test_oracle_says_what_would_have_been_right() -> None:
    """A step that is not allowed comes back with the outcome that is."""
    rng = random.Random(1)
    rules = Rules.of("1.50", 3)
    good: list[Step] = []
    while len(good) < 40:
        step = random_steps.random_step(rng, rules, corrupt=0)
        if random_steps.allowed(rules, step):
            good.append(step)
    wrong = [
        replace(step, after=replace(step.after, commit_position=step.after.commit_position + 7))
        for step in good
    ]

    answers = ask(Rules(3, "1.50"), wrong)

    assert not any(answer.allowed for answer in answers)
    assert [((step.after, step.sends),) for step in good] == [
        tuple((after, _as_sent(step, sends)) for after, sends in answer.outcomes)
        for step, answer in zip(good, answers, strict=True)
    ]


def _as_sent(step: Step, sends: Sends) -> Sends:
    """The sends in the step's order, if they are the same for each receiver."""
    same = sorted(sends, key=lambda send: send[0]) == sorted(step.sends, key=lambda send: send[0])
    return step.sends if same else sends

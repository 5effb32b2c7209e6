"""TLC's answers about given steps, held against the core and against each other."""

from __future__ import annotations

import random

import pytest

from canvass.cluster.rules import Rules
from canvass.steps.oracle import ask
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

    assert expected == answers
    assert 12 < sum(expected) < 108

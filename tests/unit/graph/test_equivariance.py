"""The spec does not care about names and sizes, as TLC says, and it would show if it did."""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from canvass.cluster.rules import HAZARDS, Rules
from canvass.graph import oracle
from canvass.graph.canonical import FrameBroken, OutOfDomain, canonical
from canvass.graph.oracle import Ruleset, ask
from canvass.graph.steps import Step
from canvass.spec.files import spec_root
from support.random_steps import allowed, random_step, renumbered, shuffled

pytestmark = pytest.mark.tlc

STEPS = 250
RULES = [Rules(3, "1.50"), Rules(3, "1.49"), Rules(3, "1.50", HAZARDS)]


def sound_steps(rules: Rules, seed: int, count: int = STEPS) -> list[tuple[Step, Step]]:
    """Random steps without impossible values, each with its canonical form."""
    rng = random.Random(seed)
    found: list[tuple[Step, Step]] = []
    while len(found) < count:
        step = random_step(rng, rules)
        try:
            found.append((step, canonical(step, rules).step))
        except (FrameBroken, OutOfDomain):
            continue
    return found


def verdicts(rules: Rules, steps: Sequence[Step]) -> list[bool]:
    ruleset = Ruleset(rules.member_count, rules.revision, rules.hardening)
    return [answer.allowed for answer in ask(ruleset, steps)]


@pytest.mark.parametrize("rules", RULES, ids=["1.50", "1.49", "hardened"])
def test_spec_a_step_its_form_and_its_like_under_other_names_are_judged_alike(rules: Rules) -> None:
    rng = random.Random(8)
    pairs = sound_steps(rules, 17)
    others = [shuffled(rng, renumbered(rng, step, 1 << 20)) for step, _ in pairs]

    found = verdicts(rules, [*(s for s, _ in pairs), *(form for _, form in pairs), *others])

    own, forms, renamed = (found[k * STEPS : (k + 1) * STEPS] for k in range(3))
    assert own == forms == renamed
    assert own == [allowed(rules, step) for step, _ in pairs]
    assert STEPS // 5 < sum(own) < STEPS


def test_spec_a_rule_that_looks_at_the_size_of_a_number_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = tmp_path / "spec"
    shutil.copytree(spec_root(), spec)
    module = spec / "MemberState.tla"
    text = module.read_text(encoding="utf-8")
    wrong = text.replace("(p > 0 /\\ reached(p))", "(p > 40 /\\ reached(p))")
    assert wrong != text
    module.write_text(wrong, encoding="utf-8")
    monkeypatch.setattr(oracle, "spec_root", lambda: spec)
    rules = RULES[0]
    pairs = sound_steps(rules, 17, 2 * STEPS)

    found = verdicts(rules, [*(s for s, _ in pairs), *(form for _, form in pairs)])

    assert found[: 2 * STEPS] != found[2 * STEPS :]

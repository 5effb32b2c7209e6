"""The spec does not care about names and sizes, as TLC says, and it would show if it did."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from canvass.cluster.rules import HAZARDS, Rules
from canvass.spec.files import find_file
from canvass.spec.manifest import load_manifest
from canvass.steps import oracle
from canvass.steps.kernel import Status
from canvass.steps.oracle import ask
from canvass.steps.step import Step, question_of
from canvass.tlc.config import TlcConfig
from support.findings import config_of
from support.random_steps import allowed, random_step, renumbered, shuffled

pytestmark = pytest.mark.tlc

STEPS = 250
RULES = [Rules(3, "1.50"), Rules(3, "1.49"), Rules(3, "1.50", HAZARDS)]


def sound_steps(rules: Rules, seed: int, count: int = STEPS) -> list[tuple[Step, Step]]:
    """Random steps without impossible values, each with the question about it."""
    rng = random.Random(seed)
    found: list[tuple[Step, Step]] = []
    while len(found) < count:
        step = random_step(rng, rules)
        question = question_of(step, rules)
        if not isinstance(question, Status):
            found.append((step, question.step))
    return found


def verdicts(rules: Rules, steps: Sequence[Step]) -> list[bool]:
    return ask(rules, steps)


@pytest.mark.parametrize("rules", RULES, ids=["1.50", "1.49", "hardened"])
def test_spec_a_step_its_question_and_its_renaming_have_one_verdict(rules: Rules) -> None:
    rng = random.Random(8)
    pairs = sound_steps(rules, 17)
    others = [shuffled(rng, renumbered(rng, step, 1 << 20)) for step, _ in pairs]

    found = verdicts(rules, [*(s for s, _ in pairs), *(asked for _, asked in pairs), *others])

    own, asked, renamed = (found[k * STEPS : (k + 1) * STEPS] for k in range(3))
    assert own == asked == renamed
    assert own == [allowed(rules, step) for step, _ in pairs]
    assert STEPS // 5 < sum(own) < STEPS


def mutated_by(monkeypatch: pytest.MonkeyPatch, module: str, mutant: str) -> None:
    """Let the oracle decide by the spec with one operator replaced, as a mutant's model does."""
    family = find_file(f"{module}.tla").read_text(encoding="utf-8")
    entries = {model.name: model for model in load_manifest().models}
    own, healthy = (config_of(entries[one]) for one in (mutant, module))
    ((name, value),) = own.constants.items() - healthy.constants.items()
    by = value.removeprefix("<- ")
    definition = re.search(rf"^{by}\(.*?(?=^\\\*|^---|^===)", family, re.MULTILINE | re.DOTALL)
    assert definition is not None
    module_text, config = oracle.module_text, oracle.config_of

    def with_definition(steps: Sequence[Step]) -> str:
        return module_text(steps).replace("GivenSteps ==", f"{definition[0]}\nGivenSteps ==")

    def with_replacement(rules: Rules) -> TlcConfig:
        found = config(rules)
        return replace(found, constants={**found.constants, name: f"<- {by}"})

    monkeypatch.setattr(oracle, "module_text", with_definition)
    monkeypatch.setattr(oracle, "config_of", with_replacement)


def test_spec_a_rule_that_looks_at_the_size_of_a_number_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """TLC finds the same mutant on the steps of a graph: a model of the manifest."""
    mutated_by(monkeypatch, "SizeMutants", "MUT_LargePositionsCountForNothing")
    rules = RULES[0]
    pairs = sound_steps(rules, 17, 2 * STEPS)

    found = verdicts(rules, [*(s for s, _ in pairs), *(asked for _, asked in pairs)])

    assert found[: 2 * STEPS] != found[2 * STEPS :]

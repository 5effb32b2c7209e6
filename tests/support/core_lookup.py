"""A lookup that asks the core instead of TLC, for tests of everything around the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from canvass.cluster import core
from canvass.cluster.rules import Rules
from canvass.conformance.step_lookup import StepLookup
from canvass.steps.oracle import Answer
from canvass.steps.step import Step
from support.random_steps import allowed


def ask_core(rules: Rules, steps: Sequence[Step]) -> list[Answer]:
    """Answer for the core's outcome of each step."""
    return [_answer(rules, step) for step in steps]


def _answer(rules: Rules, step: Step) -> Answer:
    outcome = core.step(rules, step.member, step.before, step.action.value, step.input)
    if outcome is None:
        return Answer(False, False)
    if allowed(rules, step):
        return Answer(True, True)
    sends = tuple((send.to, send.message) for send in outcome.sends)
    return Answer(False, True, ((outcome.next, sends),))


def _no_parts(*_: object) -> tuple[str, ...]:
    """Name no part of a guard."""
    return ()


def core_lookup(cache: Path | None = None) -> StepLookup:
    """A lookup for tests."""
    return StepLookup(oracle=ask_core, guards=_no_parts, cache=cache, digest="the core")

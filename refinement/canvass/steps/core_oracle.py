"""The second oracle: what the Python core says of given steps."""

from __future__ import annotations

from collections.abc import Sequence

from canvass.cluster import core
from canvass.cluster.rules import Rules
from canvass.steps.oracle import Answer
from canvass.steps.step import Step


def ask_core(rules: Rules, steps: Sequence[Step]) -> list[Answer]:
    """Ask the core about steps under given rules; sends to different members have no order."""
    return [core_answer(rules, step) for step in steps]


def core_answer(rules: Rules, step: Step) -> Answer:
    """Say what the core says of one step."""
    outcome = core.step(rules, step.member, step.before, step.action.value, step.input)
    if outcome is None:
        return Answer(False, False)
    sends = tuple((send.to, send.message) for send in outcome.sends)
    same = sorted(sends, key=lambda s: s[0]) == sorted(step.sends, key=lambda s: s[0])
    if same and outcome.next == step.after:
        return Answer(True, True)
    return Answer(False, True, ((outcome.next, sends),))

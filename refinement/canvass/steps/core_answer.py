"""The Python core's answer about a step: for words about a refused step, and for mutants.

It never decides a verdict: TLC does.
"""

from __future__ import annotations

from canvass.cluster.rules import Rules
from canvass.steps.oracle import Answer
from canvass.steps.step import Step


def core_answer(rules: Rules, step: Step) -> Answer:
    """Give the core's answer about one step. Sends to different members have no order."""
    from canvass.cluster import core

    outcome = core.step(rules, step.member, step.before, step.action.value, step.input)
    if outcome is None:
        return Answer(False, False)
    sends = tuple((send.to, send.message) for send in outcome.sends)
    same = sorted(sends, key=lambda s: s[0]) == sorted(step.sends, key=lambda s: s[0])
    if same and outcome.next == step.after:
        return Answer(True, True)
    return Answer(False, True, ((outcome.next, sends),))

"""Mutants that no state which a member can reach gives away: TLC is asked about other states.

A state of the graph with one number changed is no state of a member, but the spec's operators are
defined on it. Where mutant and core part there, the oracle says who is right.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from canvass.cluster import core as unbroken
from canvass.cluster.member import Input, Member, MemberRecord
from canvass.cluster.outcome import Outcome
from canvass.selftest.edges import EdgeKill, Trials
from canvass.steps.oracle import Ruleset, ask
from canvass.steps.step import Step
from canvass.traces.actions import Action

STATES: Final = 20_000
"""Changed states that are tried for each action."""
ASKED: Final = 20
"""Steps that the oracle is asked about."""
_NUMBERS: Final = (-1, 0, 1, 2, 3, 4)


def find_unreachable_kill(
    trials: Trials, core: Any, actions: Iterable[Action], seed: int = 0
) -> EdgeKill | None:
    """Find a step of a mutant that the oracle refuses.

    Parameters
    ----------
    trials
        Of the graph whose states are changed.
    core
        A module with ``ACTIONS``, as `canvass.cluster.core` has it.
    actions
        Those that are tried.
    seed
        Chooses states, inputs and changes.
    """
    rng = random.Random(seed)
    steps: list[Step] = []
    tried = 0
    for action in actions:
        for before, given in _changed_states(trials, action, rng):
            tried += 1
            broken = core.ACTIONS[action.value](trials.rules, 0, before, given)
            sound = unbroken.ACTIONS[action.value](trials.rules, 0, before, given)
            if isinstance(broken, Outcome) and broken != sound:
                sends = tuple((send.to, send.message) for send in broken.sends)
                steps.append(Step(0, before, action, given, broken.next, sends))
            if len(steps) == ASKED:
                break
    rules = trials.rules
    answers = ask(Ruleset(rules.member_count, rules.revision, rules.hardening), steps)
    refused = [step for step, answer in zip(steps, answers, strict=True) if not answer.allowed]
    if not refused:
        return None
    first = refused[0]
    reason = "the oracle refuses what it does in a state that no member reaches"
    return EdgeKill("StepOracle", first.action, reason, tried, first.before, first.input)


def _changed_states(
    trials: Trials, action: Action, rng: random.Random
) -> Iterator[tuple[Member, Input]]:
    known = trials.of(action)
    for _ in range(STATES):
        source, given, _, _ = rng.choice(known)
        yield _changed(trials.states[source], rng), trials.inputs[given]


def _changed(state: Member, rng: random.Random) -> Member:
    """Give another number to one field of the state or of one record."""
    if rng.random() < 0.5:
        single: dict[str, Any] = {rng.choice(_names(Member)): rng.choice(_NUMBERS)}
        return replace(state, **single)
    j = rng.randrange(len(state.members))
    change: dict[str, Any] = {rng.choice(_names(MemberRecord)): rng.choice(_NUMBERS)}
    record = replace(state.members[j], **change)
    return replace(state, members=(*state.members[:j], record, *state.members[j + 1 :]))


def _names(of: type[Struct]) -> list[str]:
    return [name for name, kind in of.__annotations__.items() if kind == "Int64"]

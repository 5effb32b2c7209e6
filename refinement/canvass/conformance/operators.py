"""The definitions of actions and properties in the spec, and the guards of actions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from canvass.cluster.messages import Record
from canvass.cluster.rules import Rules
from canvass.conformance.verdict import LOG_STREAM, MESSAGE_CAUSALITY
from canvass.spec.files import find_definition, spec_root
from canvass.steps.step import Step
from canvass.traces.actions import Action

_STANDS_FOR: Final = {MESSAGE_CAUSALITY: "Arrive", LOG_STREAM: "NextEntry"}
"""For each check of causality the operator of ``Cluster.tla`` that it checks."""
_JOINS: Final = ("FollowerCatchupAwait", "FollowerLogAwait")
"""The steps that join a log; the operator of ``Cluster.tla`` is ``IsConnected``."""


class Operator(Record, frozen=True):
    """A definition of the spec."""

    module: str
    line: int
    lines: tuple[str, ...]


@cache
def find_operator(name: str, action: str = "") -> Operator | None:
    """Find the definition behind an action, a safety property or a check of causality.

    Parameters
    ----------
    name
        The name of a divergence.
    action
        The action of the step that diverges, if known. For a log, the definition depends on it.

    Returns
    -------
    Operator or None
        None for a name that the spec does not define.
    """
    is_join = name == LOG_STREAM and action in _JOINS
    meant = "IsConnected" if is_join else _STANDS_FOR.get(name, name)
    found = find_definition(spec_root(), spec_root() / "Properties.tla", meant)
    return None if found is None else Operator(found.module.stem, found.line, found.lines)


def operator_place(action: Action) -> str:
    """Give the name of an action with the file and line of its definition."""
    found = find_operator(action.value)
    return action.value if found is None else f"{action.value}, {found.module}.tla:{found.line}"


_ROOT_MODULE: Final = "GuardProbe"
_GUARD: Final = re.compile(
    r"\A[^=]*?==\s*(?P<defs>LET\b.*?\bIN\b\s*)?IF\s+(?P<guard>.*?)\s*\bTHEN\s+\{\}", re.DOTALL
)
_OPEN, _CLOSE = "([{", ")]}"


@dataclass(frozen=True, slots=True)
class Guard:
    """The condition under which an action is not enabled: a disjunction of parts."""

    definitions: str
    """``LET ... IN`` with the definitions that the parts use, or nothing."""
    parts: tuple[str, ...]


def guard_of(operator: Operator) -> Guard | None:
    """Take the guard from the definition of an action; None if the action is always enabled."""
    match = _GUARD.match("\n".join(operator.lines))
    if match is None:
        return None
    return Guard(match["defs"] or "", tuple(_disjuncts(match["guard"])))


def _disjuncts(text: str) -> list[str]:
    """Split a condition at those of its disjunctions that are not in brackets."""
    depth = 0
    parts = [""]
    for at, sign in enumerate(text):
        if text.startswith("\\/", at) and not depth:
            parts.append("")
            continue
        depth += (sign in _OPEN) - (sign in _CLOSE)
        if not (sign == "/" and text.startswith("\\/", at - 1) and not depth):
            parts[-1] += sign
    return [" ".join(part.split()) for part in parts if part.strip()]


def failing_parts(step: Step, rules: Rules) -> tuple[str, ...]:
    """Give the parts of an action's guard that keep it from being enabled.

    Raises
    ------
    TlcError
        If TLC cannot run.
    """
    return tuple(part for part, holds in guard_parts(step, rules) if holds)


def guard_parts(step: Step, rules: Rules) -> tuple[tuple[str, bool], ...]:
    """Give the parts of an action's guard, and whether each keeps it from being enabled.

    Raises
    ------
    TlcError
        If TLC cannot run.
    """
    operator = find_operator(step.action.value)
    guard = None if operator is None else guard_of(operator)
    if guard is None:
        return ()
    return tuple(zip(guard.parts, _evaluate(step, rules, guard), strict=True))


def _evaluate(step: Step, rules: Rules, guard: Guard) -> Sequence[bool]:
    from canvass.steps.oracle import constants_of, printed_by, step_text
    from canvass.tlc.config import TlcConfig
    from canvass.tlc.results import Outcome
    from canvass.tlc.workspace import SHORT_RUN

    bits = ", ".join(f"Bit({part})" for part in guard.parts)
    text = (
        f"---- MODULE {_ROOT_MODULE} ----\nEXTENDS Encoding, TLC\n"
        f'ASSUME LET r == IntegersOf("{step_text(step)}")\n'
        "           i == r[1]\n"
        "           s == DecodeState(r, 3)\n"
        "           x == DecodeInput(r, AfterState(r, AfterState(r, 3)))\n"
        f"       IN PrintT({guard.definitions} <<{bits}>>)\n====\n"
    )
    config = TlcConfig(constants=constants_of(rules))
    printed, result, _ = printed_by(
        _ROOT_MODULE, text, config, heap_mib=512, stack_mib=64, jvm_args=SHORT_RUN
    )
    if result.outcome is not Outcome.SUCCESS or len(printed) != 1:
        return (False,) * len(guard.parts)
    return [bit == 1 for bit in printed[0]]

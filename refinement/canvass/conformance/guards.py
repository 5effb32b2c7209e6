"""Why an action is not enabled: which parts of its guard in the spec hold, as TLC evaluates them.

The actions that can be disabled read ``IF guard THEN {} ELSE ...``. The guard is taken from the
spec's own text and evaluated, part by part, on the step as it was recorded. It explains and decides
nothing.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.rules import Rules
from canvass.conformance.operators import Operator, find_operator
from canvass.spec.files import module_folders
from canvass.steps.oracle import Ruleset, step_text
from canvass.steps.step import Step
from canvass.tlc import Outcome, TlcConfig, TlcOptions, run, to_python

_ROOT_MODULE: Final = "GuardProbe"
_GUARD: Final = re.compile(
    r"\A[^=]*?==\s*(?P<defs>LET\b.*?\bIN\b\s*)?IF\s+(?P<guard>.*?)\s*\bTHEN\s+\{\}", re.DOTALL
)
_OPEN, _CLOSE = "([{", ")]}"


@dataclass(frozen=True, slots=True)
class Guard:
    """The condition under which an action is not enabled: any of some parts."""

    definitions: str
    """``LET ... IN`` or nothing: what the parts refer to."""
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

    Parameters
    ----------
    step
        With numbers that TLC can hold.
    rules
        As the oracle takes them.

    Raises
    ------
    TlcError
        If TLC cannot run.
    """
    operator = find_operator(step.action.value)
    guard = None if operator is None else guard_of(operator)
    if guard is None:
        return ()
    held = _evaluate(step, rules, guard)
    return tuple(part for part, holds in zip(guard.parts, held, strict=True) if holds)


def _evaluate(step: Step, rules: Rules, guard: Guard) -> Sequence[bool]:
    bits = ", ".join(f"Bit({part})" for part in guard.parts)
    text = (
        f"---- MODULE {_ROOT_MODULE} ----\nEXTENDS Encoding, TLC\n"
        f'ASSUME LET r == IntegersOf("{step_text(step)}")\n'
        "           i == r[1]\n"
        "           s == DecodeState(r, 3)\n"
        "           x == DecodeInput(r, AfterState(r, AfterState(r, 3)))\n"
        f"       IN PrintT({guard.definitions} <<{bits}>>)\n====\n"
    )
    barred = rules.appointed_leader_id != NULL_VALUE
    ruleset = Ruleset(rules.member_count, rules.revision, rules.hardening, barred)
    constants = dict(ruleset.config().constants)
    constants.pop("Steps")
    with tempfile.TemporaryDirectory(prefix="canvass-guard-") as folder:
        module = Path(folder) / f"{_ROOT_MODULE}.tla"
        module.write_text(text, encoding="utf-8")
        options = TlcOptions(heap_mib=512, stack_mib=64, library=module_folders())
        with run(module, TlcConfig(constants=constants), options) as tlc:
            printed = [to_python(value) for value in tlc.printed_values()]
            result = tlc.wait()
    if result.outcome is not Outcome.SUCCESS or len(printed) != 1:
        return (False,) * len(guard.parts)
    return [bit == 1 for bit in printed[0]]

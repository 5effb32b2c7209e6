"""The explanation of a divergence: the step, its changes, and the outcomes that the spec allows.

The oracle gives these outcomes for the step as it was recorded. Nothing here changes a verdict. If
the oracle fails, only the outcomes are missing.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from canvass.cluster.names import wire_name
from canvass.cluster.rules import Rules
from canvass.conformance.diagnose import RunColumns
from canvass.conformance.differences import Difference, differences
from canvass.conformance.operators import Operator, find_operator
from canvass.conformance.step_lookup import StepLookup
from canvass.conformance.verdict import Divergence, DivergenceClass
from canvass.steps.renaming import impossible_field, map_message, map_state, renumbered
from canvass.steps.step import Step
from canvass.tlc.errors import TlcError
from canvass.traces.actions import ACTION_INPUTS, ACTIONS
from canvass.traces.layout import NONE
from canvass.traces.layout import kind as kind_of
from canvass.traces.schema import Event

STEPS_BEFORE: Final = 5
"""Steps of the member that a report shows before the divergence."""


class RefusedStep(Struct, frozen=True, rename=wire_name):
    """A divergence with its context."""

    run_id: str
    divergence: Divergence
    event: Event
    earlier: tuple[Event, ...]
    """The member's steps before it."""
    changed: tuple[Difference, ...] = ()
    """The changes of the step, as observed."""
    enabled: tuple[str, ...] = ()
    """Actions without a message that the spec allows in the state before, on the same input."""
    action_enabled: bool = False
    failing: tuple[str, ...] = ()
    """If the action is not enabled: the parts of its guard in the spec that hold."""
    alternatives: tuple[tuple[Difference, ...], ...] = ()
    """For each outcome that the spec allows its differences to the observed one, nearest first."""
    operator: Operator | None = None
    note: str = ""
    """The reason why there are no alternatives, if the oracle could not be asked."""


def explain_refusal(loaded: RunColumns, divergence: Divergence, lookup: StepLookup) -> RefusedStep:
    """Explain a divergence."""
    columns = loaded.columns
    row = loaded.row_of(divergence.member, divergence.step)
    first = row
    while columns.predecessor[first] != NONE and row - first < STEPS_BEFORE:
        first -= 1
    event = columns.event(row)
    base = RefusedStep(
        run_id=loaded.run.run_id,
        divergence=divergence,
        event=event,
        earlier=tuple(columns.event(at) for at in range(first, row)),
        operator=find_operator(divergence.name, event.action.value),
    )
    if int(loaded.steps.before[row]) < 0:
        return base
    step = loaded.step(row)
    changed = tuple(differences(step.before, step.before, step.after, (), ()))
    fields: dict[str, Any] = {"changed": changed}
    if divergence.kind in (
        DivergenceClass.IMPLEMENTATION_STEP,
        DivergenceClass.INSTRUMENTATION_GAP,
    ):
        fields |= _alternatives(step, loaded.run.rules, lookup)
    return replace(base, **fields)


def _alternatives(step: Step, rules: Rules, lookup: StepLookup) -> dict[str, Any]:
    if wrong := impossible_field(step):
        return {"note": f"{wrong} is out of range, so that the spec has nothing to say"}
    small, given = renumbered(step)
    tables = {
        kind: {rank: number for number, rank in table.items()} for kind, table in given.items()
    }

    def restored(name: str, value: int) -> int:
        """Give the number of a rank, or of the next rank: the spec adds one to a term."""
        table = tables.get(kind_of(name), {})
        near = (distance for distance in (0, 1, -1) if value - distance in table)
        return next((table[value - distance] + distance for distance in near), value)

    others = [
        replace(small, action=action, input=replace(small.input, message=None))
        for action in ACTIONS
        if ACTION_INPUTS[action].message is None
    ]
    try:
        answers = lookup.oracle(rules, [small, *others])
        failing = () if answers[0].enabled else lookup.guards(small, rules)
    except TlcError as error:
        return {"note": f"TLC could not be asked: {error}"}
    alternatives = []
    for state, sends in answers[0].outcomes:
        after = map_state(state, restored)
        sent = tuple((to, map_message(message, restored)) for to, message in sends)
        alternatives.append(tuple(differences(step.before, step.after, after, step.sends, sent)))
    return {
        "enabled": tuple(
            other.action.value
            for other, answer in zip(others, answers[1:], strict=True)
            if answer.enabled
        ),
        "action_enabled": answers[0].enabled,
        "failing": failing,
        "alternatives": tuple(sorted(alternatives, key=len)),
    }

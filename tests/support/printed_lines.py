"""TLC's output for a small graph, made by the core for tests without Java."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from canvass.cluster.core import step
from canvass.cluster.member import NO_INPUT, Input, Member
from canvass.cluster.messages import CanvassPosition
from canvass.cluster.rules import Rules
from canvass.steps.step import flat_member, flat_message, input_cells
from canvass.traces.actions import ACTIONS, Action

RULES = Rules.of("1.50", 3)

INPUTS: dict[Action, list[Input]] = {
    Action.ON_CANVASS_POSITION: [
        Input(message=CanvassPosition(0, position, 0, peer))
        for position in (0, 1)
        for peer in (1, 2)
    ],
    Action.CANVASS: [Input(interval=interval) for interval in (False, True)],
    Action.RESTART: [NO_INPUT],
}


def _flat(cells: Sequence[object]) -> str:
    """Print as TLC does: nested tuples, here one level deep, in a string."""
    return '"<<' + ", ".join(map(str, cells)) + '>>"'


def input_lines() -> Iterator[str]:
    """Give the lines of the inputs."""
    for action, values in INPUTS.items():
        for place, value in enumerate(values):
            cells = [*input_cells(value), *flat_message(value.message)]
            yield _flat([0, ACTIONS.index(action), place, *cells])


def state_lines(state: Member) -> list[str]:
    """Give the lines of one state that is expanded."""
    lines = [_flat([1, *flat_member(state)])]
    for action in ACTIONS:
        code = ACTIONS.index(action)
        outcomes = [step(RULES, 0, state, action.value, value) for value in INPUTS.get(action, [])]
        if all(outcome is None for outcome in outcomes):
            lines.append(_flat([3, code]))
            continue
        kinds = [
            0 if outcome is None else 1 if outcome.next == state and not outcome.sends else 2
            for outcome in outcomes
        ]
        lines.append(_flat([2, code, *kinds]))
        for place, outcome in enumerate(outcomes):
            if outcome is not None and kinds[place] == 2:
                sends = [
                    cell
                    for send in outcome.sends
                    for cell in (send.to, *flat_message(send.message))
                ]
                lines.append(
                    _flat([4, place, *flat_member(outcome.next), len(outcome.sends), *sends])
                )
    return lines


def explored(first: Member, depth: int) -> list[Member]:
    """Give the states within a number of steps."""
    found = [first]
    for state in found:
        if len(found) < depth:
            for action, values in INPUTS.items():
                for value in values:
                    outcome = step(RULES, 0, state, action.value, value)
                    if outcome is not None and outcome.next not in found:
                        found.append(outcome.next)
    return found[:depth]

"""Silent control steps, moved to the earliest place that the core allows.

A replay takes a silent step right before the line that needs it. Others may have received earlier
what the member sends in the state that follows. So each such step is moved left past the steps with
which the core commutes: the same lines, the same state after both.
"""

from __future__ import annotations

from typing import Final

from canvass.cluster.copies import replace
from canvass.cluster.member import Member
from canvass.traces.alignment.moves import ASSUME_COMMIT, END_OF_LIFE, Moves
from canvass.traces.alignment.printing import printed_lines
from canvass.traces.alignment.replay import Step, Trajectory

_FIXED: Final = frozenset(
    {END_OF_LIFE, ASSUME_COMMIT, "Restart", "TakeSnapshot", "InitiateTermination"}
)
"""Steps that stay where they are: assumed ones, and one that sends an open position."""


def move_left(trajectory: Trajectory, moves: Moves, before: Member) -> None:
    """Move the silent control steps of a trajectory; ``before`` is the state at its beginning."""
    steps = trajectory.steps
    for index in range(1, len(steps)):
        step = steps[index]
        if step.lines or step.given.message or step.action in _FIXED or step.resynchronised:
            continue
        if _control(step.state) == _control(steps[index - 1].state):
            continue
        place = index
        while place > 0 and _swap(steps, place, moves, before):
            place -= 1


def _control(s: Member) -> Member:
    return replace(s, recorded_position=0, commit_position=0, publication_position=0)


def _swap(steps: list[Step], place: int, moves: Moves, before: Member) -> bool:
    """Exchange a step with the one before it, if the core commutes."""
    step, earlier = steps[place], steps[place - 1]
    if earlier.action in _FIXED or earlier.resynchronised or earlier.gap or step.gap:
        return False
    start = steps[place - 2].state if place > 1 else before
    first = moves.take(start, step.action, step.given)
    if first is None or printed_lines(step.action, start, first):
        return False
    second = moves.take(first.next, earlier.action, earlier.given)
    if second is None or second.next != step.state:
        return False
    if printed_lines(earlier.action, first.next, second) != printed_lines(
        earlier.action, start, earlier.outcome
    ):
        return False
    steps[place - 1] = Step(step.action, step.given, first)
    steps[place] = Step(earlier.action, earlier.given, second, earlier.lines)
    return True

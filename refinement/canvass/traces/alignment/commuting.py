"""Silent control steps, moved to the earliest place that the core allows.

A replay takes a silent step right before the line that needs it. Others may have received earlier
what the member sends in the state that follows. So each such step is moved left past the steps with
which the core commutes: the same lines, the same state after both.
"""

from __future__ import annotations

from itertools import chain
from typing import Final

from msgspec.structs import replace

from canvass.cluster.member import NO_INPUT, ElectionState, Member
from canvass.cluster.outcome import Outcome
from canvass.traces.alignment.member_lines import MemberLines
from canvass.traces.alignment.moves import ASSUME_COMMIT, END_OF_LIFE, RESUME, TICKS, Moves
from canvass.traces.alignment.printing import lines_met, printed_lines, said_lines
from canvass.traces.alignment.replay import Step, Trajectory

_FIXED: Final = frozenset(
    {END_OF_LIFE, ASSUME_COMMIT, RESUME, "Restart", "TakeSnapshot", "InitiateTermination"}
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


def moved_before(
    trajectory: Trajectory, index: int, place: int, moves: Moves, before: Member
) -> Trajectory | None:
    """A trajectory in which the step at an index comes at an earlier place; None if the core does
    not commute.
    """
    steps = list(trajectory.steps)
    while index > place:
        if not _swap(steps, index, moves, before):
            return None
        index -= 1
    return trajectory.with_steps(steps)


def begun_at_once(trajectory: Trajectory, moves: Moves, before: Member) -> Trajectory | None:
    """A trajectory whose silent duty cycles come right after the change to their election state;
    None if no duty cycle can come earlier than it did.

    Notes
    -----
    Such a step need not commute with the receipts that it passes: a leader of 1.49 that begins its
    replay forgets what was reported before. All lines are met as before. Nor need the own lines
    ask for it: a follower that begins to copy its leader's log reports what it has.
    """
    steps = list(trajectory.steps)
    moved = False
    for index in range(1, len(steps)):
        step, state = steps[index], steps[index - 1].state.election_state
        if step.action != TICKS.get(state) or step.lines or step.resynchronised:
            continue
        place = index
        while place > 0 and _can_wait(steps, place - 1, state):
            place -= 1
        start = steps[place - 1].state if place else before
        if place == index:
            continue
        passed, rest = steps[place:index], steps[index + 1 :]
        taken = _taken_first([step, *passed], step.state, rest, trajectory.lines, moves, start)
        if taken is not None:
            steps[place : place + len(taken)] = taken
            moved = True
    for place in range(len(steps) - 1, 0, -1):
        taken = _inserted(steps, place, trajectory.lines, moves)
        if taken is not None:
            steps[place : place + len(taken) - 1] = taken
            moved = True
    return trajectory.with_steps(steps) if moved else None


def _inserted(steps: list[Step], place: int, lines: MemberLines, moves: Moves) -> list[Step] | None:
    """A duty cycle right after a change of the election state, with the steps that follow."""
    s = steps[place - 1].state
    earlier = steps[place - 2].state if place > 1 else None
    entered = earlier is not None and earlier.election_state is not s.election_state
    action = TICKS.get(s.election_state)
    if not entered or action is None or steps[place].action == action:
        return None
    outcome = moves.take(s, action, NO_INPUT)
    if outcome is None or outcome.next == s or printed_lines(action, s, outcome):
        return None
    first = [Step(action, NO_INPUT, outcome), steps[place]]
    return _taken_first(first, steps[place].state, steps[place + 1 :], lines, moves, s)


def _can_wait(steps: list[Step], at: int, state: ElectionState) -> bool:
    """Whether a step begins in an election state, and a duty cycle may come before it."""
    step = steps[at]
    if step.action in _FIXED or step.action == TICKS[state] or step.resynchronised or step.gap:
        return False
    return at > 0 and steps[at - 1].state.election_state is state


def _taken_first(
    first: list[Step],
    reached: Member,
    rest: list[Step],
    lines: MemberLines,
    moves: Moves,
    s: Member,
) -> list[Step] | None:
    """The ``first`` steps from a state, then others up to where it is as it was: ``reached``.

    None if one of them is not possible then, or prints other lines.
    """
    taken: list[Step] = []
    for step in chain(first, rest):
        if step.resynchronised or step.false:
            return None
        ends = step.action == END_OF_LIFE
        outcome = Outcome(s) if ends else moves.take(s, step.action, step.given)
        if outcome is None:
            return None
        printed = said_lines(lines.vocabulary, step.action, s, outcome)
        met = lines_met(lines, printed, step.printed.start)
        if met != len(step.printed) and not ends:
            return None
        taken.append(Step(step.action, step.given, outcome, step.lines, step.gap))
        s = outcome.next
        more = len(taken) - len(first)
        if more >= 0 and s == (step.state if more else reached):
            break
    return taken


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

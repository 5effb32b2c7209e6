"""The search for the solution of a segment: the stages, and the choices that no line decides.

One of these is where silent control steps have their places. A replay takes such a step right
before the line that needs it; others may have received earlier what the member sends in the state
that follows. So it is moved left past the steps with which the core commutes: the same lines, the
same state after both.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final

from msgspec import structs

from canvass.cluster.member import NO_INPUT, ElectionState, Member
from canvass.cluster.messages import Message
from canvass.cluster.outcome import Outcome
from canvass.traces.alignment.channel_matching import (
    Carried,
    Matching,
    Receipt,
    match,
)
from canvass.traces.alignment.gaps import Repairs
from canvass.traces.alignment.member_lines import MemberLines
from canvass.traces.alignment.moves import ASSUME_COMMIT, END_OF_LIFE, RESUME, TICKS, Moves
from canvass.traces.alignment.printing import lines_met, printed_lines, said_lines
from canvass.traces.alignment.replay import Replay, Step, Trajectory
from canvass.traces.alignment.schedule import Schedule
from canvass.traces.alignment.unsent import (
    settle_entries,
    settle_falling,
    settle_gaps,
    settle_recorded,
    settle_unsent,
)
from canvass.traces.alignment.windows import Windows

ROUNDS: Final = 60
"""Rounds in which impossible receipts without a line are inferred otherwise."""
SUSPECTS: Final = 60
"""Solutions that are tried with other receipts than those before a conflict."""
BEFORE: Final = 40
"""Steps before a conflict in which a receipt without a line may have caused it."""
SEARCH: Final = 1_000_000
"""Steps that the core is asked for after the first solution, until the best one so far is taken."""
CHOICES: Final = 3
"""Other receipts that are tried in the place of one."""
_FIXED: Final = frozenset(
    {END_OF_LIFE, ASSUME_COMMIT, RESUME, "Restart", "TakeSnapshot", "InitiateTermination"}
)
"""Steps that stay where they are: assumed ones, and one that sends an open position."""


@dataclass(slots=True)
class Segment:
    """The part of the logs that is aligned at once.

    Parameters
    ----------
    carried
        What the segment before has left.
    ends
        For each member the line before which the segment ends; empty if the logs end with it.
    unread
        The members of whose logs more follows.
    lines
        Of each member: the lines of the segment, and those that are looked at after it.
    """

    lines: dict[int, MemberLines]
    carried: Carried | None = None
    ends: dict[int, int] = field(default_factory=dict)
    unread: frozenset[int] = frozenset()

    def steps(self, windows: Mapping[int, Windows]) -> dict[int, int]:
        """For each member the step before which the segment ends."""
        found = {}
        for i, end in self.ends.items():
            steps = windows[i].steps
            at = (t for t, one in enumerate(steps) if one.lines and one.lines.start >= end)
            found[i] = next(at, len(steps))
        return found


@dataclass(slots=True)
class Solution:
    """The stages' results, of one choice of the receipts that no line shows."""

    windows: dict[int, Windows]
    matching: Matching
    schedule: Schedule

    @property
    def quality(self) -> tuple[int, int]:
        """How much of the logs is met: receipts with a window, and lines of the steps taken."""
        met = sum(
            len(step.lines)
            for live in self.schedule.members.values()
            for step in live.windows.steps[: live.frontier + 1]
        )
        return -len(self.matching.unmatched), met

    def line_at(self, j: int, step: int) -> int:
        """The index of the line that comes at a step of a member, or after it."""
        trajectory = self.windows[j].trajectory
        following = (one.lines.start for one in trajectory.steps[step:] if one.lines)
        return next(following, len(trajectory.lines.records))

    def hinders(self, receipt: Receipt) -> bool:
        """Whether the members can be driven without a receipt, though not with it."""
        if not self.schedule.conflicts:
            return False
        channels = {
            key: [one for one in several if one is not receipt]
            for key, several in self.matching.channels.items()
        }
        others = replace(self.matching, channels=channels)
        return Schedule(self.windows, others).run()

    def suspects(self) -> list[tuple[int, int]]:
        """The receipts without a line that come before a conflict, or whose messages are on their
        way there: member and step, last first.
        """
        found = [
            (self.windows[conflict.member_id].due[at], conflict.member_id, at)
            for conflict in self.schedule.conflicts
            for at in (
                *range(max(conflict.step - BEFORE, 0), conflict.step + 1),
                *self.schedule.on_way(conflict.member_id),
            )
            if self.windows[conflict.member_id].steps[at].is_inferred_receipt
        ]
        return [(j, step) for _, j, step in sorted(found, reverse=True)]

    def impossible(self) -> Iterator[tuple[int, Receipt]]:
        """Receipts without a line that nobody can have sent, that can be sent only after what a
        later line shows, or for which members wait.
        """
        # Only what comes first in a channel is looked into: the rest may follow from it.
        first: dict[tuple[int, int], Receipt] = {}
        for i, j, receipt in self.matching.unmatched:
            if receipt.hidden:
                yield j, receipt
            elif receipt.step < first.setdefault((i, j), receipt).step:
                first[i, j] = receipt
        for (i, j), receipt in first.items():
            if any(one.hidden for one in self.matching.channels.get((i, j), ())):
                late = self.later_sent(i, j, receipt)
                yield from ((j, one) for one in late if one.hidden)
        yield from self.schedule.awaited()

    def later_sent(self, i: int, j: int, receipt: Receipt) -> list[Receipt]:
        """The receipts that come before one in its channel, although they can only have been sent
        later.
        """
        if i not in self.windows:
            return []
        place = self.windows[i].first(0, j, receipt.message)
        if place is None:
            return []
        several = self.matching.channels[i, j]
        return [one for one in several if one.step < receipt.step and one.earliest > place]


def solve(replays: dict[int, Replay], segment: Segment) -> Solution:
    """Replay, match and drive; what turns out impossible is not inferred again."""
    search = _Search(replays, segment)
    best = search.run()
    best = _begun_at_once(best, segment)
    # In a segment a message may have been sent before it, and a member waits for what follows it.
    whole = segment.carried is None and not segment.ends
    for number in range(ROUNDS):
        stuck = best.schedule.conflicts or best.matching.unmatched
        decided = not (number and search.is_spent()) and (
            (whole and settle_gaps(best.windows))
            or (whole and settle_entries(best.windows))
            or (whole and settle_recorded(best.windows, best.matching))
            or (whole and stuck and settle_falling(best.windows, best.matching, best.hinders))
            or settle_unsent(best.windows, best.matching)
        )
        if not decided:
            break
        best = _driven(_again(best), segment)
    if best.schedule.conflicts:
        found = _driven(_again(best), segment, waits_for_starts=True)
        best = max(best, found, key=lambda one: one.quality)
    return best


def _again(found: Solution) -> dict[int, Windows]:
    """The windows of the same trajectories, with nothing found in them yet."""
    return {i: Windows(one.trajectory, one.moves) for i, one in found.windows.items()}


def _driven(
    windows: dict[int, Windows], segment: Segment, *, waits_for_starts: bool = False
) -> Solution:
    """Match the receipts of trajectories, and drive the members."""
    carried, ends = segment.carried, segment.steps(windows)
    matching = match(windows, carried.sent if carried is not None else None)
    matching.postpone(ends, segment.unread, is_first=carried is not None)
    found = Solution(dict(windows), matching, Schedule(windows, matching, carried))
    found.schedule.waits_for_starts = waits_for_starts
    found.schedule.run(ends)
    return found


@dataclass(slots=True)
class _Search:
    """The search for receipts without a line that go together."""

    replays: dict[int, Replay]
    segment: Segment
    _rounds: int = 0
    _limit: int = sys.maxsize

    def run(self) -> Solution:
        """The best solution: impossible receipts are replaced, then those before a conflict."""
        windows = {i: replayed(one) for i, one in self.replays.items()}
        first = _driven(windows, self.segment)
        effort = max(one.effort for one in self.replays.values())
        self._limit = _asked(self.replays) + SEARCH * effort
        best = self._without_impossible(first)
        tried: set[tuple[int, int, Message | None]] = set()
        improved = True
        while improved and not self.is_spent() and best.schedule.conflicts:
            improved = False
            for j, step in best.suspects():
                message = best.windows[j].steps[step].given.message
                key = (j, best.line_at(j, step), message)
                if key in tried or self._rounds > SUSPECTS or self.is_spent():
                    continue
                tried.add(key)
                found = self._replaced(best, j, step)
                if found is not None:
                    best = self._without_impossible(found)
                    improved = True
                    break
        return best

    def is_spent(self) -> bool:
        """Whether the search has met its bound."""
        return _asked(self.replays) > self._limit

    def _without_impossible(self, found: Solution) -> Solution:
        """Replace receipts that nobody can have sent, or not in time."""
        best, banned = found, self._banned()
        for _ in range(ROUNDS):
            windows = None if self.is_spent() else self._possible(found)
            if windows is None:
                break
            found = _driven(windows, self.segment)
            if found.quality > best.quality:
                best, banned = found, self._banned()
        # What was replaced without use may be right with other choices.
        for i, replay in self.replays.items():
            replay.moves.banned = banned[i]
        return best

    def _banned(self) -> dict[int, set[tuple[int, Message | None]]]:
        """What each member is known not to have received."""
        return {i: set(replay.moves.banned) for i, replay in self.replays.items()}

    def _possible(self, found: Solution) -> dict[int, Windows] | None:
        """Trajectories without one of the receipts that are impossible; None if there is none."""
        windows = _received_in_order(found)
        if windows is not None:
            return windows
        for j, receipt in found.impossible():
            windows = self._otherwise(found, j, receipt.step)
            if windows is not None:
                return windows
        return None

    def _replaced(self, best: Solution, j: int, step: int) -> Solution | None:
        """A better solution with another receipt in the place of one, or None."""
        moves = self.replays[j].moves
        before = set(moves.banned)
        found = best
        for _ in range(CHOICES):
            if step >= len(found.windows[j].steps):
                break
            windows = self._otherwise(found, j, step)
            if windows is None:
                break
            self._rounds += 1
            found = _driven(windows, self.segment)
            while (windows := _received_in_order(found)) is not None:
                found = _driven(windows, self.segment)
            if found.quality > best.quality:
                return found
        moves.banned = before
        return None

    def _otherwise(self, found: Solution, j: int, step: int) -> dict[int, Windows] | None:
        """Replay a member without a receipt; None if its lines are not met as well without."""
        replay, inferred = self.replays[j], found.windows[j].steps[step]
        key = (found.line_at(j, step), inferred.given.message)
        if not inferred.is_inferred_receipt or key in replay.moves.banned:
            return None
        replay.moves.banned.add(key)
        other = replayed(replay)
        if not _is_as_good(other.trajectory, found.windows[j].trajectory):
            return None
        return found.windows | {j: other}


def _asked(replays: Mapping[int, Replay]) -> int:
    return sum(one.moves.asked for one in replays.values())


def _received_in_order(found: Solution) -> dict[int, Windows] | None:
    """Let a member receive a message without a line before those that were sent after it."""
    for i, j, receipt in found.matching.unmatched:
        late = found.later_sent(i, j, receipt) if receipt.hidden else []
        if late:
            one, first = found.windows[j], min(other.step for other in late)
            trajectory = moved_before(one.trajectory, receipt.step, first, one.moves)
            if trajectory is not None:
                return found.windows | {j: Windows(trajectory, one.moves)}
    return None


def _begun_at_once(best: Solution, segment: Segment) -> Solution:
    """Let members that cannot send or go on take their duty cycles at once, if that is better."""
    unsent = {i for i, _, _ in best.matching.unmatched if i in best.windows}
    for i in sorted(unsent | {conflict.member_id for conflict in best.schedule.conflicts}):
        one = best.windows[i]
        trajectory = begun_at_once(one.trajectory, one.moves)
        if trajectory is None:
            continue
        found = _driven(_again(best) | {i: Windows(trajectory, one.moves)}, segment)
        if found.quality > best.quality:
            best = found
    return best


def _is_as_good(other: Trajectory, one: Trajectory) -> bool:
    """Whether a trajectory meets as many lines with as few repairs."""
    repairs = len(other.gaps) + len(other.false_lines)
    return other.stopped >= one.stopped and repairs <= len(one.gaps) + len(one.false_lines)


def replayed(replay: Replay) -> Windows:
    """Replay one member, and prepare where it can have sent what."""
    trajectory = replay.run(Repairs(replay).cheapest)
    if replay.start is not None:
        trajectory.steps.insert(0, Step(RESUME, NO_INPUT, Outcome(replay.before)))
    move_left(trajectory, replay.moves)
    return Windows(trajectory, replay.moves)


def move_left(trajectory: Trajectory, moves: Moves) -> None:
    """Move the silent control steps of a trajectory as far as the core commutes."""
    steps = trajectory.steps
    for index in range(1, len(steps)):
        step = steps[index]
        if step.lines or step.given.message or step.action in _FIXED or step.resynchronised:
            continue
        if _control(step.state) == _control(steps[index - 1].state):
            continue
        place = index
        while place > 0 and _swap(trajectory, place, moves):
            place -= 1


def moved_before(trajectory: Trajectory, index: int, place: int, moves: Moves) -> Trajectory | None:
    """A trajectory in which the step at an index comes at an earlier place; None if the core does
    not commute.
    """
    moved = trajectory.with_steps(list(trajectory.steps))
    while index > place:
        if not _swap(moved, index, moves):
            return None
        index -= 1
    return moved


def begun_at_once(trajectory: Trajectory, moves: Moves) -> Trajectory | None:
    """A trajectory whose silent duty cycles come right after the change to their election state;
    None if no duty cycle can come earlier than it did.

    Notes
    -----
    Such a step need not commute with the receipts that it passes: a leader of 1.49 that begins its
    replay forgets what was reported before. All lines are met as before. Nor need the own lines
    ask for it: a follower that begins to copy its leader's log reports what it has.
    """
    trajectory = trajectory.with_steps(list(trajectory.steps))
    steps, moved = trajectory.steps, False
    for index in range(1, len(steps)):
        step, state = steps[index], steps[index - 1].state.election_state
        if step.action != TICKS.get(state) or step.lines or step.resynchronised:
            continue
        place = index
        while place > 0 and _can_wait(steps, place - 1, state):
            place -= 1
        if place == index:
            continue
        start = trajectory.state_before(place)
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
    return trajectory if moved else None


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
    rest: Iterable[Step],
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
    return structs.replace(s, recorded_position=0, commit_position=0, publication_position=0)


def _swap(trajectory: Trajectory, place: int, moves: Moves) -> bool:
    """Exchange a step with the one before it, if the core commutes."""
    steps = trajectory.steps
    step, earlier = steps[place], steps[place - 1]
    if earlier.action in _FIXED or earlier.resynchronised or earlier.gap or step.gap:
        return False
    start, lines = trajectory.state_before(place - 1), trajectory.lines
    taken = _taken_first([step, earlier], step.state, (), lines, moves, start)
    if taken is None or taken[-1].state != step.state:
        return False
    steps[place - 1 : place + 1] = taken
    return True

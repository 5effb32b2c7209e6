"""The search for the solution of a segment: it repeats the stages with other choices.

One choice is the place of silent steps that change the election state. The replay takes such a step
right before the line that needs it. But other members may already have received what the member
sends in the new state. So the step is moved to the left, past all steps that it commutes with. Two
steps commute if they print the same lines and lead to the same state in both orders.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final

from msgspec import structs

from canvass.cluster.effects import Outcome
from canvass.cluster.member import NO_INPUT, ElectionState, Member
from canvass.cluster.messages import Message
from canvass.traces.alignment.channel_matching import Matching, Receipt, match
from canvass.traces.alignment.member_lines import MemberLines
from canvass.traces.alignment.possible_steps import ASSUME_COMMIT, PROCESS_END, RESUME, TICKS, Moves
from canvass.traces.alignment.printing import count_logged, logged_lines, printed_lines
from canvass.traces.alignment.repairs import Repairs
from canvass.traces.alignment.replay import PathStep, Replay, Trajectory
from canvass.traces.alignment.schedule import Conflict, Schedule, SegmentEnd
from canvass.traces.alignment.send_windows import Windows
from canvass.traces.alignment.unmatched import (
    decide_near_gaps,
    decide_recorded,
    decide_term_entries,
    decide_unmatched,
)

ROUNDS: Final = 60
"""The most rounds in which impossible inferred receipts are replaced."""
SUSPECTS: Final = 60
"""The most solutions in which a receipt before a conflict is replaced."""
BEFORE: Final = 40
"""The number of steps before a conflict among which an inferred receipt may have caused it."""
SEARCH: Final = 1_000_000
"""The most steps that the core computes after the first solution."""
CHOICES: Final = 3
"""The most receipts that are tried in place of one suspect receipt."""
_FIXED: Final = frozenset(
    {PROCESS_END, ASSUME_COMMIT, RESUME, "Restart", "TakeSnapshot", "InitiateTermination"}
)
"""The steps that are not moved: starts and ends, snapshots, assumed steps, and a step whose message
has an open position."""


@dataclass(slots=True)
class Segment:
    """The part of the logs that is aligned at once.

    Parameters
    ----------
    lines
        For each member, the lines of the segment and some lines after it.
    carried
        The situation at the end of the segment before.
    ends
        For each member, the index of the line before which the segment ends. Empty in the last
        segment.
    unread
        The members whose logs have not been read to the end.
    """

    lines: dict[int, MemberLines]
    carried: SegmentEnd | None = None
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
    """The results of stages 1 to 3 for one choice of the inferred receipts."""

    windows: dict[int, Windows]
    matching: Matching
    schedule: Schedule

    @property
    def quality(self) -> tuple[int, int]:
        """The negated number of receipts without a window, and the number of matched lines.

        The greater quality is better.
        """
        matched = sum(
            len(step.lines)
            for live in self.schedule.members.values()
            for step in live.windows.steps[: live.frontier + 1]
        )
        return -len(self.matching.unmatched), matched

    def line_at(self, j: int, step: int) -> int:
        """The index of the line of a member's step, or of the next line if the step has none."""
        trajectory = self.windows[j].trajectory
        following = (one.lines.start for one in trajectory.steps[step:] if one.lines)
        return next(following, len(trajectory.lines.records))

    def causes(self) -> list[Conflict]:
        """The conflicts that cause the others.

        They are those of members that wait for each other in a circle, or that wait for no member
        with a conflict.
        """
        stuck = {conflict.member_id: conflict for conflict in self.schedule.conflicts}
        found: set[int] = set()
        for i in stuck:
            passed: list[int] = []
            while i in stuck and i not in passed:
                passed.append(i)
                i = stuck[i].waits_for
            found.update(passed[passed.index(i) :] if i in passed else passed[-1:])
        return [conflict for i, conflict in stuck.items() if i in found]

    def suspect_receipts(self) -> list[tuple[int, int]]:
        """The inferred receipts before a conflict, or whose messages are on their way there.

        Each one is given by its member and its step. Receipts at conflicts that cause the others
        come first, and later receipts before earlier ones.
        """
        causes = self.causes()
        found = [
            (conflict in causes, self.windows[j].next_line_ns[at], j, at)
            for conflict in self.schedule.conflicts
            for j in (conflict.member_id,)
            for at in (
                *range(max(conflict.step - BEFORE, 0), conflict.step + 1),
                *self.schedule.on_way(j),
            )
            if self.windows[j].steps[at].is_inferred_receipt
        ]
        return [(j, step) for *_, j, step in sorted(found, reverse=True)]

    def impossible_receipts(self) -> Iterator[tuple[int, Receipt]]:
        """The inferred receipts that are impossible, each with its receiver. These are

        * inferred receipts without a window,
        * inferred receipts before a receipt of their channel without a window, if their messages
          can be sent only after the message of that receipt, and
        * inferred receipts whose messages are not sent, if that causes a conflict.
        """
        # Only the first such receipt of each channel counts, because later ones may depend on it.
        first: dict[tuple[int, int], Receipt] = {}
        for i, j, receipt in self.matching.unmatched:
            if receipt.is_inferred:
                yield j, receipt
            else:
                first.setdefault((i, j), receipt)
        for (i, j), receipt in first.items():
            if any(one.is_inferred for one in self.matching.channels.get((i, j), ())):
                late = self.later_sent(i, j, receipt)
                yield from ((j, one) for one in late if one.is_inferred)
        for conflict in self.causes():
            awaited = self.schedule.unsent_yet(conflict.member_id, conflict.step)
            if awaited is not None and awaited.is_inferred:
                yield conflict.member_id, awaited

    def later_sent(self, i: int, j: int, receipt: Receipt) -> list[Receipt]:
        """The receipts before a receipt in its channel whose messages can only be sent after its
        message.
        """
        if i not in self.windows:
            return []
        place = self.windows[i].first(0, j, receipt.message)
        if place is None:
            return []
        several = self.matching.channels[i, j]
        return [one for one in several if one.step < receipt.step and one.earliest > place]


def solve(replays: dict[int, Replay], segment: Segment) -> Solution:
    """Replay, match and drive a segment. Repeat this with other choices as long as that helps."""
    search = _Search(replays, segment)
    best = search.run()
    best = _with_early_ticks(best, segment)
    # At the ends of a segment, messages and steps seem to be missing: other segments have them.
    whole = segment.carried is None and not segment.ends
    for number in range(ROUNDS):
        decided = not (number and search.is_spent()) and (
            (whole and decide_near_gaps(best.windows))
            or (whole and decide_term_entries(best.windows))
            or (whole and decide_recorded(best.windows, best.matching))
            or decide_unmatched(best.windows, best.matching)
        )
        if not decided:
            break
        best = _match_and_drive(_new_windows(best), segment)
    if best.schedule.conflicts:
        found = _match_and_drive(_new_windows(best), segment, awaits_starts=False)
        best = max(best, found, key=lambda one: one.quality)
    return best


def _new_windows(found: Solution) -> dict[int, Windows]:
    """New windows of the same trajectories."""
    return {i: Windows(one.trajectory, one.moves) for i, one in found.windows.items()}


def _match_and_drive(
    windows: dict[int, Windows], segment: Segment, *, awaits_starts: bool = True
) -> Solution:
    """Match the receipts of trajectories, and drive the members."""
    carried, ends = segment.carried, segment.steps(windows)
    matching = match(windows, carried.sent if carried is not None else None)
    matching.postpone(ends, segment.unread, is_first=carried is not None)
    schedule = Schedule(windows, matching, carried, awaits_starts=awaits_starts)
    schedule.run(ends)
    return Solution(dict(windows), matching, schedule)


@dataclass(slots=True)
class _Search:
    """The search for inferred receipts that fit together."""

    replays: dict[int, Replay]
    segment: Segment
    _rounds: int = 0
    _limit: int = sys.maxsize

    def run(self) -> Solution:
        """Find the best solution. Replace the impossible inferred receipts, then suspect ones."""
        windows = {i: replayed(one) for i, one in self.replays.items()}
        first = _match_and_drive(windows, self.segment)
        effort = max(one.effort for one in self.replays.values())
        self._limit = _core_steps(self.replays) + SEARCH * effort
        best = self._without_impossible(first)
        tried: set[tuple[int, int, Message | None]] = set()
        improved = True
        while improved and not self.is_spent() and best.schedule.conflicts:
            improved = False
            for j, step in best.suspect_receipts():
                message = best.windows[j].steps[step].given.message
                key = (j, best.line_at(j, step), message)
                if key in tried or self._rounds > SUSPECTS or self.is_spent():
                    continue
                tried.add(key)
                found = self._improved(best, j, step)
                if found is not None:
                    best = self._without_impossible(found)
                    improved = True
                    break
        return best

    def is_spent(self) -> bool:
        """Whether the search has reached its limit."""
        return _core_steps(self.replays) > self._limit

    def _without_impossible(self, found: Solution) -> Solution:
        """Replace impossible inferred receipts, and return the best solution."""
        best, banned = found, self._banned()
        for _ in range(ROUNDS):
            windows = None if self.is_spent() else self._possible(found)
            if windows is None:
                break
            found = _match_and_drive(windows, self.segment)
            if found.quality > best.quality:
                best, banned = found, self._banned()
        # Receipts that were replaced without success may be right with other choices.
        for i, replay in self.replays.items():
            replay.moves.banned = banned[i]
        return best

    def _banned(self) -> dict[int, set[tuple[int, Message | None]]]:
        """For each member, a copy of its inferred receipts that are not tried again."""
        return {i: set(replay.moves.banned) for i, replay in self.replays.items()}

    def _possible(self, found: Solution) -> dict[int, Windows] | None:
        """Trajectories without one of the impossible receipts; None if each of them is needed."""
        windows = _received_in_order(found)
        if windows is not None:
            return windows
        for j, receipt in found.impossible_receipts():
            windows = self._without_receipt(found, j, receipt.step)
            if windows is not None:
                return windows
        return None

    def _improved(self, best: Solution, j: int, step: int) -> Solution | None:
        """A better solution in which another receipt replaces that of a step, or None."""
        moves = self.replays[j].moves
        before = set(moves.banned)
        found = best
        for _ in range(CHOICES):
            if step >= len(found.windows[j].steps):
                break
            windows = self._without_receipt(found, j, step)
            if windows is None:
                break
            self._rounds += 1
            found = _match_and_drive(windows, self.segment)
            while (windows := _received_in_order(found)) is not None:
                found = _match_and_drive(windows, self.segment)
            if found.quality > best.quality:
                return found
        moves.banned = before
        return None

    def _without_receipt(self, found: Solution, j: int, step: int) -> dict[int, Windows] | None:
        """Trajectories without an inferred receipt.

        None if fewer lines are matched or more repairs are needed without it, if it has been tried
        before, or if a line shows the receipt.
        """
        replay, inferred = self.replays[j], found.windows[j].steps[step]
        key = (found.line_at(j, step), inferred.given.message)
        if not inferred.is_inferred_receipt or key in replay.moves.banned:
            return None
        replay.moves.banned.add(key)
        other = replayed(replay)
        if not _is_as_good(other.trajectory, found.windows[j].trajectory):
            return None
        return found.windows | {j: other}


def _core_steps(replays: Mapping[int, Replay]) -> int:
    return sum(one.moves.core_steps for one in replays.values())


def _received_in_order(found: Solution) -> dict[int, Windows] | None:
    """Trajectories in which an inferred receipt without a window comes earlier.

    It then comes before the receipts whose messages were sent after its message. None if there is
    no such receipt, or it cannot be moved.
    """
    for i, j, receipt in found.matching.unmatched:
        late = found.later_sent(i, j, receipt) if receipt.is_inferred else []
        if late:
            one, first = found.windows[j], min(other.step for other in late)
            trajectory = moved_before(one.trajectory, receipt.step, first, one.moves)
            if trajectory is not None:
                return found.windows | {j: Windows(trajectory, one.moves)}
    return None


def _with_early_ticks(best: Solution, segment: Segment) -> Solution:
    """The solution with early duty cycles, if that is better.

    Members that are in conflict, and senders of receipts without a window, are tried one by one.
    First a member gets early duty cycles in all its elections, then only from the election of its
    conflict on: it may receive messages before a duty cycle in one election, and after it in
    another.
    """
    unsent = {i for i, _, _ in best.matching.unmatched if i in best.windows}
    conflicts = {conflict.member_id: conflict.step for conflict in best.schedule.conflicts}
    for i in sorted(unsent | conflicts.keys()):
        one = best.windows[i]
        for since in dict.fromkeys((0, _election_start(one.steps, conflicts.get(i, 0)))):
            trajectory = with_early_ticks(one.trajectory, one.moves, since)
            if trajectory is None:
                continue
            windows = _new_windows(best) | {i: Windows(trajectory, one.moves)}
            found = _match_and_drive(windows, segment)
            if found.quality > best.quality:
                best = found
                break
    return best


def _election_start(steps: list[PathStep], at: int) -> int:
    """The last step before an election: that of step ``at``, or the last one before it."""
    closed = ElectionState.CLOSED
    while at > 0 and steps[at].state.election_state is closed:
        at -= 1
    while at > 0 and steps[at].state.election_state is not closed:
        at -= 1
    return at


def _is_as_good(other: Trajectory, one: Trajectory) -> bool:
    """Whether a trajectory matches as many lines as ``one`` or more, with no more repairs."""

    def repairs(trajectory: Trajectory) -> int:
        return len(trajectory.gaps) + (trajectory.false_line is not None)

    return other.stopped >= one.stopped and repairs(other) <= repairs(one)


def replayed(replay: Replay) -> Windows:
    """Replay one member, and make its send windows."""
    trajectory = replay.run(Repairs(replay).cheapest)
    if replay.start is not None:
        trajectory.steps.insert(0, PathStep(RESUME, NO_INPUT, Outcome(replay.before)))
    move_left(trajectory, replay.moves)
    return Windows(trajectory, replay.moves)


def move_left(trajectory: Trajectory, moves: Moves) -> None:
    """Move silent steps to the left, past all steps that they commute with.

    Steps that change only positions are not moved.
    """
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
    """A trajectory in which the step at ``index`` is moved to ``place``.

    None if it does not commute with one of the steps between.
    """
    moved = replace(trajectory, steps=list(trajectory.steps))
    while index > place:
        if not _swap(moved, index, moves):
            return None
        index -= 1
    return moved


def with_early_ticks(trajectory: Trajectory, moves: Moves, since: int = 0) -> Trajectory | None:
    """A trajectory in which silent duty cycles come right after the change to their election state.

    Only steps after the one at ``since`` are moved. None if no duty cycle can come earlier.

    Notes
    -----
    A duty cycle need not commute with the receipts that it passes: a leader of 1.49 that begins its
    replay forgets earlier reports. But all lines must still be matched. A duty cycle may also be
    added that no line of the member needs: a follower that begins to copy its leader's log reports
    its position.
    """
    trajectory = replace(trajectory, steps=list(trajectory.steps))
    steps, moved = trajectory.steps, False
    for index in range(since + 1, len(steps)):
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
    for place in range(len(steps) - 1, since, -1):
        taken = _inserted(steps, place, trajectory.lines, moves)
        if taken is not None:
            steps[place : place + len(taken) - 1] = taken
            moved = True
    return trajectory if moved else None


def _inserted(
    steps: list[PathStep], place: int, lines: MemberLines, moves: Moves
) -> list[PathStep] | None:
    """The steps from ``place`` on with a duty cycle before them, if the state has just changed."""
    s = steps[place - 1].state
    earlier = steps[place - 2].state if place > 1 else None
    entered = earlier is not None and earlier.election_state is not s.election_state
    action = TICKS.get(s.election_state)
    if not entered or action is None or steps[place].action == action:
        return None
    outcome = moves.take(s, action, NO_INPUT)
    if outcome is None or outcome.next == s or printed_lines(action, s, outcome):
        return None
    first = [PathStep(action, NO_INPUT, outcome), steps[place]]
    return _taken_first(first, steps[place].state, steps[place + 1 :], lines, moves, s)


def _can_wait(steps: list[PathStep], at: int, state: ElectionState) -> bool:
    """Whether a step begins in an election state, and a duty cycle may be moved before it."""
    step = steps[at]
    if step.action in _FIXED or step.action == TICKS[state] or step.resynchronised or step.gap:
        return False
    return at > 0 and steps[at - 1].state.election_state is state


def _taken_first(
    first: list[PathStep],
    reached: Member,
    rest: Iterable[PathStep],
    lines: MemberLines,
    moves: Moves,
    s: Member,
) -> list[PathStep] | None:
    """The steps ``first``, taken from the state ``s``, then steps of ``rest``.

    Steps of ``rest`` follow until the state is that of the old trajectory again. In the old
    trajectory ``reached`` was the state after the steps ``first``. None if one of the steps is
    impossible now, or prints other lines.
    """
    taken: list[PathStep] = []
    for step in chain(first, rest):
        if step.is_taken_from_lines or step.false:
            return None
        ends = step.action == PROCESS_END
        outcome = Outcome(s) if ends else moves.take(s, step.action, step.given)
        if outcome is None:
            return None
        printed = logged_lines(lines.vocabulary, step.action, s, outcome)
        matched = count_logged(lines, printed, step.printed.start)
        if matched != len(step.printed) and not ends:
            return None
        taken.append(structs.replace(step, outcome=outcome))
        s = outcome.next
        more = len(taken) - len(first)
        if more >= 0 and s == (step.state if more else reached):
            break
    return taken


def _control(s: Member) -> Member:
    return structs.replace(s, recorded_position=0, commit_position=0, publication_position=0)


def _swap(trajectory: Trajectory, place: int, moves: Moves) -> bool:
    """Exchange a step with the one before it, if they commute; false if they do not."""
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

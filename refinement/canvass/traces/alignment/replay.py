"""Replay of one member alone: its lines drive the core.

Each member's log holds all its inputs, so its trajectory is nearly determined by its own log. Only
quantities that grow by themselves are not: the positions recorded, committed and published. Of
these a state holds a lower bound. The upper one comes from the next step that fixes the value, and
from what received messages said of it. Between two lines the shortest sequence of silent steps is
looked for that makes the next line possible.

The spec leaves to chance which members are active, so that each set is a possible one. A log is
explained best if those count that the leader has heard of, and nobody else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from dataclasses import replace as replace_fields
from itertools import chain
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from canvass.cluster.member import NO_INPUT, ElectionState, Input, Member, Role
from canvass.cluster.messages import NULL_VALUE, AppendPosition, Message, RequestVote
from canvass.cluster.outcome import Outcome
from canvass.cluster.quorum import is_quorum
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member
from canvass.traces.aeron_log.records import LifeStart, unaligned
from canvass.traces.alignment.facts import ClusterFacts
from canvass.traces.alignment.member_lines import MemberLines
from canvass.traces.alignment.moves import END_OF_LIFE, Move, Moves, receive
from canvass.traces.alignment.printing import PrintedLine, lines_met, said_lines

DEPTH: Final = 6
"""Silent steps between two lines; four are the most that captures need."""
NODES: Final = 4_000
"""Steps tried for one line: a line that contradicts the state is given up soon."""
WINDOW: Final = 60
"""Lines back to which another choice is looked for when a line cannot be met."""
TRIES: Final = 600
"""Choices that are taken back for one line."""
BUDGET: Final = 15_000
"""Steps tried for one line with all the choices before it."""
REPAIRS: Final = 12
"""Repairs of one log; one that needs more is not taken for a log of this member."""
LOOSE_DEPTH: Final = 3
MISSING_DEPTH: Final = 3
"""Lines of which one gap is made up, if they can be named one by one."""
MISSING_FOUND: Final = 6
_REMEMBERED: Final = 200


UNBOUNDED: Final = 1 << 60
_CLOSED: Final = ElectionState.CLOSED


class Step(Struct):
    """One step of a trajectory.

    Parameters
    ----------
    action, given
        As the core takes them.
    outcome
        The state after it, with lower bounds of what grows by itself, and the effects.
    lines
        Indexes of the records that it accounts for; the first is that of a receipt.
    gap
        Lines must be missing before it: which, in words.
    resynchronised
        The state after it was taken from a line, not reached by a step.
    false
        It stands for a line that no step prints.
    """

    action: str
    given: Input
    outcome: Outcome
    lines: range = range(0)
    gap: str = ""
    resynchronised: bool = False
    false: bool = False

    @property
    def state(self) -> Member:
        """The state after the step."""
        return self.outcome.next

    @property
    def printed(self) -> range:
        """Indexes of the records that it prints, its receipt aside."""
        return self.lines if self.given.message is None else self.lines[1:]

    @property
    def is_inferred_receipt(self) -> bool:
        """Whether it is the receipt of a message that no line shows."""
        return self.given.message is not None and not self.lines


Moved: TypeAlias = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Repair:
    """One way to go on where a line cannot be met.

    Parameters
    ----------
    cost
        Of its moves.
    length
        How many steps of the trajectory are kept.
    path
        The steps that follow them.
    false_line
        The index of the line that is false, or -1.
    reason
        What is wrong, in words.
    is_certain
        The line is false whatever follows.
    """

    cost: int
    length: int
    path: Moved
    false_line: int
    reason: str
    is_certain: bool = False


FindMoves: TypeAlias = Callable[[Member], Iterable[Move]]
FindRepair: TypeAlias = Callable[[list[Step], int], Repair | None]
"""Finds how a trajectory with some steps goes on that cannot meet a line."""


def false_step(lines: MemberLines, line: int, state: Member) -> Step:
    """A step that stands for a false line, and changes nothing."""
    m = lines.messages[line]
    action, given = ("", NO_INPUT) if m is None else (f"On{type(m).__name__}", Input(message=m))
    return Step(action, given, Outcome(state), range(line, line + 1), false=True)


@dataclass(slots=True)
class Trajectory:
    """What a member did, by its own log alone.

    Parameters
    ----------
    lines, before
        Of the member, and its state before the first step.
    steps
        In order.
    stopped
        The index of the record that could not be met, or the number of records.
    gaps, false_lines
        Indexes of records before which lines must be missing, and of false ones, with the reason.
    """

    lines: MemberLines
    before: Member
    steps: list[Step] = field(default_factory=list)
    stopped: int = 0
    gaps: list[tuple[int, str]] = field(default_factory=list)
    false_lines: list[tuple[int, str]] = field(default_factory=list)

    def with_steps(self, steps: list[Step]) -> Trajectory:
        """The same with other steps, which meet the same lines."""
        return replace_fields(
            self, steps=steps, gaps=list(self.gaps), false_lines=list(self.false_lines)
        )

    def state_before(self, index: int) -> Member:
        """The state before a step."""
        return self.steps[index - 1].state if index else self.before


class Replay:
    """Replays one member.

    Its lines begin in the state ``start``, by default with an empty disk. ``effort`` is a factor of
    the bounds of the search.
    """

    def __init__(
        self,
        rules: Rules,
        lines: MemberLines,
        facts: ClusterFacts,
        effort: int = 1,
        start: Member | None = None,
    ) -> None:
        self.rules, self.lines = rules, lines
        self.start, self.effort = start, effort
        self.before = persistent_member(rules) if start is None else start
        self.moves = Moves(rules, lines, facts)
        self._hidden = lines.vocabulary.silent_messages
        self._nodes = NODES * effort
        self._tries = TRIES * effort
        self._budget, self._repairs = BUDGET * effort, REPAIRS * effort
        self.spent = 0

    def _walk(
        self,
        s: Member,
        moves: FindMoves,
        passes: Callable[[Step, list[PrintedLine]], bool],
        depth: int,
    ) -> Iterator[tuple[Moved, Step, list[PrintedLine]]]:
        """Sequences of steps, the shortest first: those before the last one, the last one, and the
        lines that it prints.

        A step that prints lines comes before another one if it ``passes``; at most ``depth`` do.
        """
        level: list[tuple[Member, Moved]] = [(s, ())]
        seen = {s}
        nodes = 0
        while level and depth >= 0 and nodes <= self._nodes:
            following: list[tuple[Member, Moved]] = []
            for at, path in level:
                for action, given in moves(at):
                    nodes += 1
                    outcome = self.moves.take(at, action, given)
                    if outcome is None:
                        continue
                    step = Step(action, given, outcome)
                    printed = said_lines(self.lines.vocabulary, action, at, outcome)
                    yield path, step, printed
                    if outcome.next not in seen and passes(step, printed):
                        seen.add(outcome.next)
                        following.append((outcome.next, (*path, step)))
                if nodes > self._nodes:
                    break
            level, depth = following, depth - 1
        self.spent += nodes

    def _first_printed(
        self, s: Member, k: int, receipt: Message | None, depth: int
    ) -> Iterator[tuple[Moved, Step, list[PrintedLine]]]:
        """Sequences of silent steps, each with a step after it, which may print lines or receive a
        message.
        """
        received = [] if receipt is None else [receive(receipt, self.moves.all)]

        def moves(at: Member) -> Iterable[Move]:
            return chain(received, self.moves.silent(at, k, self._hidden))

        def passes(step: Step, printed: list[PrintedLine]) -> bool:
            return not printed and (receipt is None or step.given.message is not receipt)

        return self._walk(s, moves, passes, depth)

    def meet(self, s: Member, k: int, depth: int = DEPTH) -> Iterator[Moved]:
        """Sequences of steps after which line ``k`` is met, the shortest first."""
        message = self.lines.messages[k]
        for path, step, printed in self._first_printed(s, k, message, depth):
            first = k + (message is not None and step.given.message is message)
            count = lines_met(self.lines, printed, first)
            if count > 0 or (count == 0 and first > k):
                yield (*path, replace(step, lines=range(k, first + count)))

    def meet_loosely(self, s: Member, k: int) -> Iterator[tuple[Moved, int, int]]:
        """Sequences of steps of which one line from ``k`` on says something else, with the index of
        that line, and in how many fields it differs.
        """
        message = self.lines.messages[k]
        for path, step, printed in self._first_printed(s, k, message, LOOSE_DEPTH):
            first = k + (message is not None and step.given.message is message)
            if (found := self._differing(printed, first)) is not None:
                lines = range(k, first + len(printed))
                yield (*path, replace(step, lines=lines, false=True)), *found

    def _differing(self, printed: list[PrintedLine], k: int) -> tuple[int, int] | None:
        """Which line from ``k`` on differs from some lines, and in how many fields; None unless it
        is one of the same kind.
        """
        own = self.lines.records[k : k + len(printed)]
        if len(own) < len(printed):
            return None
        pairs = enumerate(zip(printed, own, strict=True), k)
        others = [(at, line, record) for at, (line, record) in pairs if not line.agrees(record)]
        if len(others) != 1:
            return None
        at, line, record = others[0]
        fields = line.differing(record)
        return (at, fields) if fields else None

    def meet_partly(self, s: Member, k: int) -> Iterator[Moved]:
        """Sequences of steps of whose lines some are there, from line ``k`` on, and some not."""
        for path, step, printed in self._first_printed(s, k, None, LOOSE_DEPTH):
            count, missing = self._some_matched(printed, k)
            if count and missing:
                yield (*path, replace(step, lines=range(k, k + count), gap=missing))

    def _some_matched(self, printed: list[PrintedLine], k: int) -> tuple[int, str]:
        """How many of some lines are there from ``k`` on, and the events of those that are not."""
        count = 0
        missing = []
        for line in printed:
            at = k + count
            if at < len(self.lines.records) and line.agrees(self.lines.records[at]):
                count += 1
            else:
                missing.append(line.kind.__name__)
        return count, " and ".join(missing)

    def meet_with_missing(self, s: Member, k: int) -> Iterator[Moved]:
        """Sequences after which line ``k`` is met if other lines are missing before it."""
        tried, found = {s}, 0

        def passes(step: Step, printed: list[PrintedLine]) -> bool:
            return step.given.message is not None or lines_met(self.lines, printed, k) <= 0

        def moves(at: Member) -> Iterable[Move]:
            return self.moves.possible(at, k)

        for path, step, printed in self._walk(s, moves, passes, MISSING_DEPTH - 1):
            step.gap = self._missing_lines(step.given, printed)
            if step.state in tried:
                continue
            tried.add(step.state)
            if not step.gap or not passes(step, printed):
                continue
            if (met := next(self.meet(step.state, k, depth=2), None)) is not None:
                yield (*path, step, *met)
                found += 1
            if found >= MISSING_FOUND:
                return

    def _missing_lines(self, given: Input, printed: list[PrintedLine]) -> str:
        """The events of the lines that a step should have printed."""
        names = [type(given.message).__name__] if given.message is not None else []
        names = [name for name in names if name not in self._hidden]
        names += [line.kind.__name__ for line in printed]
        return " and ".join(names)

    def run(self, repair: FindRepair | None = None) -> Trajectory:
        """Replay the lines; ``repair`` is asked how to go on where one cannot be met."""
        state, k = self.before, 0
        trajectory = Trajectory(self.lines, self.before)
        steps = trajectory.steps
        reached: list[Step] = []
        choices: list[tuple[int, Member, Iterator[Moved], int]] = []
        furthest = tries = spent = repaired = 0
        count = len(self.lines.records)
        while k < count:
            if what := unaligned(self.lines.records[k]):
                trajectory.false_lines.append((k, f"{what} is no position of a log"))
                steps.append(false_step(self.lines, k, state))
                trajectory.stopped = k + 1
                return trajectory
            if isinstance(self.lines.records[k], LifeStart):
                steps.append(Step(END_OF_LIFE, NO_INPUT, Outcome(state), range(k, k + 1)))
                k += 1
                continue
            paths = self.meet(state, k)
            path = next(paths, None)
            while path is None:
                if k > furthest:
                    furthest, tries, spent = k, 0, self.spent
                    reached = list(steps)
                tries += 1
                exhausted = tries > self._tries or self.spent - spent > self._budget
                if not choices or furthest - choices[-1][0] > WINDOW or exhausted:
                    repaired += 1
                    more = repair if repaired <= self._repairs else None
                    path = self._repair(trajectory, reached, furthest, more)
                    if path is None:
                        trajectory.stopped = furthest
                        return trajectory
                    choices.clear()
                    break
                k, state, paths, length = choices.pop()
                path = next(paths, None)
                if path is not None:
                    del steps[length:]
            if not (any(step.gap for step in path) or path[-1].false):
                choices.append((k, state, paths, len(steps)))
            if len(choices) > _REMEMBERED:
                del choices[: -WINDOW - 1]
            steps.extend(path)
            state = path[-1].state
            k = path[-1].lines.stop
            if trajectory.false_lines:
                trajectory.stopped = k
                return trajectory
        trajectory.stopped = count
        return trajectory

    def _repair(
        self,
        trajectory: Trajectory,
        reached: list[Step],
        k: int,
        repair: FindRepair | None,
    ) -> Moved | None:
        """Ask how to go on at line ``k``, and note what is wrong there."""
        found = repair(reached, k) if repair is not None else None
        if found is None:
            trajectory.steps[:] = reached
            return None
        trajectory.steps[:] = reached[: found.length]
        if found.false_line >= 0:
            trajectory.false_lines.append((found.false_line, found.reason))
            # The trajectory ends with the false line: what comes after it is not held against it.
            state = trajectory.state_before(len(trajectory.steps))
            return (false_step(self.lines, found.false_line, state),)
        trajectory.gaps.append((found.path[-1].lines.start, found.reason))
        return found.path


class Upper(Struct):
    """Upper bounds in one state, and how far a leader must have written by then.

    A member that copies its leader's log notes what it reports: ``reported`` is the position that
    it has noted when that is over.
    """

    recorded: int = UNBOUNDED
    committed: int = UNBOUNDED
    published: int = UNBOUNDED
    written: int = NULL_VALUE
    reported: int = UNBOUNDED


def upper_bounds(trajectory: Trajectory) -> list[Upper]:
    """The upper bounds after each step, by the steps that follow."""
    steps = trajectory.steps
    bounds: list[Upper] = []
    recorded = committed = reported = UNBOUNDED
    for index in range(len(steps) - 1, -1, -1):
        step, s = steps[index], steps[index].state
        if s.election_state is not ElectionState.FOLLOWER_LOG_REPLICATION:
            reported = s.append_position
        bounds.append(
            Upper(
                max(recorded, s.recorded_position),
                max(committed, s.commit_position),
                reported=reported,
            )
        )
        before = steps[index - 1].state if index else None
        reported = min(reported, _noted_at_most(step))
        if step.resynchronised or step.action in (END_OF_LIFE, "Terminate"):
            committed = reported = UNBOUNDED
            if step.resynchronised:
                recorded = UNBOUNDED
        elif _begins_election(step, before):
            recorded = s.append_position
            committed = UNBOUNDED if step.action == "Restart" else s.commit_position
        elif before is not None and s.recorded_position < before.recorded_position:
            recorded = UNBOUNDED
        elif step.action in ("OnReplayNewLeadershipTermEvent", "TakeSnapshot"):
            committed = before.commit_position if before is not None else 0
        elif step.lines and step.given.message is None:
            committed = s.commit_position
    bounds.reverse()
    _note_written(steps, bounds)
    return bounds


def _noted_at_most(step: Step) -> int:
    """How much a member that receives a request for votes can have noted of its log, if it passes
    the request over: a refusal, as its log is longer, uses up the candidate's term.
    """
    s, m = step.state, step.given.message
    if not isinstance(m, RequestVote) or m.candidate_term_id <= s.candidate_term_id:
        return UNBOUNDED
    return m.log_position if m.log_leadership_term_id == s.log_leadership_term_id else UNBOUNDED


def _note_written(steps: list[Step], bounds: list[Upper]) -> None:
    """Note what leaders have written by what followers report of it in the leader's term."""
    term, written = NULL_VALUE, NULL_VALUE
    for step, upper in zip(steps, bounds, strict=True):
        s, m = step.state, step.given.message
        if s.module_leadership_term_id != term or not leads_closed(s, term):
            term, written = s.module_leadership_term_id, NULL_VALUE
        if leads_closed(s, term) and isinstance(m, AppendPosition) and m.leadership_term_id == term:
            written = max(written, m.log_position)
        upper.written = written


def _begins_election(step: Step, before: Member | None) -> bool:
    if step.action in ("Restart", "ElectionInit"):
        return True
    if before is None:
        return False
    return before.election_state is _CLOSED and step.state.election_state is not _CLOSED


def leads_closed(s: Member, term: int) -> bool:
    """Whether a member leads a term and no election runs."""
    return (
        s.role is Role.LEADER
        and s.election_state is _CLOSED
        and s.module_leadership_term_id == term
    )


def heard_of(i: int, s: Member) -> frozenset[int]:
    """Member ``i`` and the members it has heard of, in this election or in the term it leads."""
    closed = s.election_state is ElectionState.CLOSED
    heard = {
        j
        for j, known in enumerate(s.members)
        if known.log_position >= 0
        and (not closed or known.leadership_term_id == s.module_leadership_term_id)
    }
    return frozenset({i, *heard})


def is_reported_by_quorum(i: int, s: Member, position: int) -> bool:
    """Whether enough members have reported a position in the term that ``i`` leads.

    What a member had in an older term counts for the leader while the member is active, but need
    not be what the leader has there.
    """
    reported = [j for j in heard_of(i, s) if j != i and s.members[j].log_position >= position]
    return is_quorum(1 + len(reported), len(s.members))

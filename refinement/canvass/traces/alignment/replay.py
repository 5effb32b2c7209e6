"""Replay of one member alone: its lines drive the core.

A member's log contains all inputs of the member, so it nearly determines the member's steps. It
does not determine the positions that grow between lines: recorded, committed and published. A state
of the trajectory has lower bounds of these positions. Their upper bounds come from the next step
that fixes the value, and from messages that others received.

Between two lines the replay searches for the shortest sequence of silent steps after which the next
line is matched.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from canvass.cluster.effects import Outcome
from canvass.cluster.member import NO_INPUT, ElectionState, Input, Member, Role
from canvass.cluster.messages import NULL_VALUE, AppendPosition, Message, RequestVote
from canvass.cluster.predicates import is_quorum
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member
from canvass.traces.aeron_log.records import ProcessStart, unaligned
from canvass.traces.alignment.cluster_facts import ClusterFacts
from canvass.traces.alignment.member_lines import MemberLines
from canvass.traces.alignment.possible_steps import PROCESS_END, Move, Moves, receive
from canvass.traces.alignment.printing import PrintedLine, count_logged, logged_lines

DEPTH: Final = 6
"""The most silent steps between two lines. Captured logs need at most four."""
NODES: Final = 4_000
"""The most steps that are tried for one line, so that a false line does not take long."""
CHOICES: Final = 300
"""If a line cannot be matched, the last so many choices before it are tried again."""
BUDGET: Final = 15_000
"""The most steps that are tried to match one line, with those of other choices before it."""
REPAIRS: Final = 12
"""The most repairs of one log. At the next line that needs one, the replay stops."""
LOOSE_DEPTH: Final = 3
"""The most silent steps before a step that is matched only in part."""
MISSING_DEPTH: Final = 3
"""The most missing lines in a gap whose lines are named."""
MISSING_FOUND: Final = 6
"""The most gaps that are tried before one line."""

UNBOUNDED: Final = 1 << 60
_CLOSED: Final = ElectionState.CLOSED


class PathStep(Struct):
    """One step of a trajectory.

    Parameters
    ----------
    action, given
        The action and the input, as the core takes them.
    outcome
        The effects, and the state after the step. Positions that grow are lower bounds in it.
    lines
        The indexes of the records that the step accounts for. If a line shows that the step
        receives a message, the first index is that of this line.
    gap
        Why lines must be missing before the step; empty if none are.
    resynchronised
        Whether the state after the step was taken from a line, not reached by a step.
    false
        Why the line of the step is false: no step prints it. Empty if the line is true.
    has_thrown
        Whether the handler of the message in the first line has thrown an exception, so that the
        election fails.
    replaced
        How the disk with which the member starts differs from the one that it left; empty if it
        does not.
    """

    action: str
    given: Input
    outcome: Outcome
    lines: range = range(0)
    gap: str = ""
    resynchronised: bool = False
    false: str = ""
    has_thrown: bool = False
    replaced: str = ""

    @property
    def is_taken_from_lines(self) -> bool:
        """Whether the state after it was taken from lines, not reached from the state before."""
        return self.resynchronised or bool(self.replaced)

    @property
    def state(self) -> Member:
        """The state after the step."""
        return self.outcome.next

    @property
    def printed(self) -> range:
        """The indexes of the records that it prints, without the line of a receipt."""
        return self.lines[1:] if self.has_thrown or self.given.message else self.lines

    @property
    def shows_commit_position(self) -> bool:
        """Whether its lines depend on the commit position."""
        ends = self.action in ("InitiateTermination", "Terminate")
        return bool(self.lines) and self.given.message is None and not ends

    @property
    def is_inferred_receipt(self) -> bool:
        """Whether it receives a message, and no line shows that."""
        return self.given.message is not None and not self.lines


Path: TypeAlias = tuple[PathStep, ...]


@dataclass(frozen=True, slots=True)
class Repair:
    """One way to go on where a line cannot be matched.

    Parameters
    ----------
    cost
        The cost of its moves.
    length
        The number of steps at the beginning of the trajectory that are kept.
    path
        The steps that follow the kept ones.
    false_line
        The index of the false line, or -1.
    reason
        Why that line is false.
    """

    cost: int
    length: int
    path: Path
    false_line: int = NULL_VALUE
    reason: str = ""


FindMoves: TypeAlias = Callable[[Member], Iterable[Move]]
FindRepair: TypeAlias = Callable[[list[PathStep], int], Repair | None]
"""Finds a repair, given the steps of a trajectory and the index of the line that is not matched."""


@dataclass(slots=True)
class Trajectory:
    """The steps of one member that explain its own log.

    Parameters
    ----------
    lines, before
        The member's lines, and its state before the first step.
    steps
        The steps in order.
    stopped
        The index of the first record that is not matched, or the number of records.
    """

    lines: MemberLines
    before: Member
    steps: list[PathStep] = field(default_factory=list)
    stopped: int = 0

    @property
    def gaps(self) -> list[tuple[int, str]]:
        """The indexes of the records before which lines must be missing, each with the reason."""
        found, line = [], self.stopped
        for step in reversed(self.steps):
            line = step.lines.start if step.lines else line
            if step.gap:
                found.append((line, step.gap))
        return found[::-1]

    @property
    def has_gap(self) -> bool:
        """Whether lines must be missing somewhere."""
        return any(step.gap for step in self.steps)

    @property
    def false_line(self) -> tuple[int, str] | None:
        """The index of the false line with which the trajectory ends, and the reason, if any."""
        last = self.steps[-1] if self.steps else None
        return (last.lines.start, last.false) if last is not None and last.false else None

    def end_with(self, line: int, reason: str) -> None:
        """End the trajectory with a false line, and remove its steps from that line on.

        The lines after a false line are not explained.
        """
        steps = self.steps
        at = next((t for t, step in enumerate(steps) if step.lines.stop > line), len(steps))
        while at and steps[at - 1].gap and not steps[at - 1].lines:
            at -= 1
        m, state = self.lines.messages[line], self.state_before(at)
        action, given = ("", NO_INPUT) if m is None else (f"On{type(m).__name__}", Input(message=m))
        lines = range(line, line + 1)
        steps[at:] = [PathStep(action, given, Outcome(state), lines, false=reason)]
        self.stopped = line + 1

    def state_before(self, index: int) -> Member:
        """The state before a step."""
        return self.steps[index - 1].state if index else self.before


class Replay:
    """Replays one member.

    The member's lines begin in the state ``start``, by default with an empty disk. ``effort`` is a
    factor of the limits of the search.
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
        self._silent_messages = lines.vocabulary.silent_messages
        self._nodes = NODES * effort
        self._budget, self._repairs = BUDGET * effort, REPAIRS * effort
        self.spent = 0

    def _walk(
        self,
        s: Member,
        moves: FindMoves,
        passes: Callable[[PathStep, list[PrintedLine]], bool],
        depth: int,
    ) -> Iterator[tuple[Path, PathStep, list[PrintedLine]]]:
        """Sequences of steps, the shortest first.

        Each item has the steps before the last one, the last step, and the lines that the last step
        prints. A sequence is continued after a step only if the step ``passes``. A sequence has at
        most ``depth`` steps before the last one.
        """
        level: list[tuple[Member, Path]] = [(s, ())]
        seen = {s}
        nodes = 0
        while level and depth >= 0 and nodes <= self._nodes:
            following: list[tuple[Member, Path]] = []
            for at, path in level:
                for action, given in moves(at):
                    nodes += 1
                    self.spent += 1
                    outcome = self.moves.take(at, action, given)
                    if outcome is None:
                        continue
                    step = PathStep(action, given, outcome)
                    printed = logged_lines(self.lines.vocabulary, action, at, outcome)
                    yield path, step, printed
                    if outcome.next not in seen and passes(step, printed):
                        seen.add(outcome.next)
                        following.append((outcome.next, (*path, step)))
                if nodes > self._nodes:
                    break
            level, depth = following, depth - 1

    def _first_printed(
        self, s: Member, k: int, receipt: Message | None, depth: int
    ) -> Iterator[tuple[Path, PathStep, list[PrintedLine]]]:
        """Sequences of silent steps, whose last step may print lines or receive the ``receipt``."""
        received = [] if receipt is None else [receive(receipt, self.moves.all)]

        def moves(at: Member) -> Iterable[Move]:
            return chain(received, self.moves.silent(at, k, self._silent_messages))

        def passes(step: PathStep, printed: list[PrintedLine]) -> bool:
            return not printed and (receipt is None or step.given.message is not receipt)

        return self._walk(s, moves, passes, depth)

    def match_line(self, s: Member, k: int, depth: int = DEPTH) -> Iterator[Path]:
        """Sequences of steps after which line ``k`` is matched, the shortest first.

        The last sequences assume that the line shows a message whose handler has thrown an
        exception: the election fails, and the message has changed nothing.
        """
        message = self.lines.messages[k]
        for path, step, printed in self._first_printed(s, k, message, depth):
            first = k + (message is not None and step.given.message is message)
            count = count_logged(self.lines, printed, first)
            if count > 0 or (count == 0 and first > k):
                yield (*path, replace(step, lines=range(k, first + count)))
        if message is not None and self.lines.fails_at(k + 1):
            for *steps, failed in self.match_line(s, k + 1, depth):
                if failed.action == "ElectionError":
                    matched = replace(failed, lines=range(k, failed.lines.stop), has_thrown=True)
                    yield (*steps, matched)

    def match_but_one(self, s: Member, k: int) -> Iterator[tuple[Path, int, int]]:
        """Sequences of steps whose lines are in the log from index ``k`` on, but one line differs.

        Each comes with the index of the line that differs, and the number of fields in which it
        differs.
        """
        message = self.lines.messages[k]
        for path, step, printed in self._first_printed(s, k, message, LOOSE_DEPTH):
            first = k + (message is not None and step.given.message is message)
            if (found := self._differing(printed, first)) is not None:
                lines = range(k, first + len(printed))
                yield (*path, replace(step, lines=lines, false="other numbers")), *found

    def _differing(self, printed: list[PrintedLine], k: int) -> tuple[int, int] | None:
        """The index of the only line from ``k`` on that differs from the printed lines, and the
        number of fields in which it differs.

        None if no line or several lines differ, or if that line is of another kind.
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

    def match_in_part(self, s: Member, k: int) -> Iterator[Path]:
        """Sequences of steps whose last step prints line ``k``, but also lines that are missing."""
        for path, step, printed in self._first_printed(s, k, None, LOOSE_DEPTH):
            count, missing = self._some_matched(printed, k)
            if count and missing:
                yield (*path, replace(step, lines=range(k, k + count), gap=missing))

    def _some_matched(self, printed: list[PrintedLine], k: int) -> tuple[int, str]:
        """The number of printed lines that are in the log from ``k`` on, and the reason of the gap.

        The reason is empty if all of them are there.
        """
        count = 0
        missing = []
        for line in printed:
            at = k + count
            if at < len(self.lines.records) and line.agrees(self.lines.records[at]):
                count += 1
            else:
                missing.append(line.kind.__name__)
        return count, _missing(missing)

    def match_after_missing(self, s: Member, k: int) -> Iterator[Path]:
        """Sequences of steps that match line ``k`` if other lines are missing before it."""
        tried, found = {s}, 0

        def passes(step: PathStep, printed: list[PrintedLine]) -> bool:
            return step.given.message is not None or count_logged(self.lines, printed, k) <= 0

        def moves(at: Member) -> Iterable[Move]:
            return self.moves.possible(at, k)

        for path, step, printed in self._walk(s, moves, passes, MISSING_DEPTH - 1):
            step.gap = self._missing_lines(step.given, printed)
            if step.state in tried:
                continue
            tried.add(step.state)
            if not step.gap or not passes(step, printed):
                continue
            if (matched := next(self.match_line(step.state, k, depth=2), None)) is not None:
                yield (*path, step, *matched)
                found += 1
            if found >= MISSING_FOUND:
                return

    def _missing_lines(self, given: Input, printed: list[PrintedLine]) -> str:
        """The reason of the gap if all lines of a step are missing; empty if it prints none."""
        names = [type(given.message).__name__] if given.message is not None else []
        names = [name for name in names if name not in self._silent_messages]
        names += [line.kind.__name__ for line in printed]
        return _missing(names)

    def run(self, repair: FindRepair | None = None) -> Trajectory:
        """Replay all lines. Where a line cannot be matched, ``repair`` finds how to go on."""
        state, k = self.before, 0
        trajectory = Trajectory(self.lines, self.before)
        steps = trajectory.steps
        reached: list[PathStep] = []
        choices: deque[tuple[int, Member, Iterator[Path], int]] = deque(maxlen=CHOICES)
        # From these lines and states nothing beyond the furthest line is matched. They are
        # forgotten when a further line is reached, because there may be many.
        failed: set[tuple[int, Member]] = set()
        furthest = spent = repaired = 0
        count = len(self.lines.records)
        while k < count:
            if what := unaligned(self.lines.records[k]):
                trajectory.end_with(k, f"{what} is no position of a log")
                return trajectory
            if isinstance(self.lines.records[k], ProcessStart):
                steps.append(PathStep(PROCESS_END, NO_INPUT, Outcome(state), range(k, k + 1)))
                k += 1
                continue
            paths = iter(()) if (k, state) in failed else self.match_line(state, k)
            path = next(paths, None)
            while path is None:
                if k > furthest:
                    furthest, spent = k, self.spent
                    reached = list(steps)
                    failed.clear()
                failed.add((k, state))
                if not choices or self.spent - spent > self._budget:
                    repaired += 1
                    more = repair if repaired <= self._repairs else None
                    trajectory.steps[:], trajectory.stopped = reached, furthest
                    found = more(reached, furthest) if more is not None else None
                    if found is None:
                        return trajectory
                    del steps[found.length :]
                    if found.false_line >= 0:
                        trajectory.end_with(found.false_line, found.reason)
                        return trajectory
                    path = found.path
                    choices.clear()
                    break
                k, state, paths, length = choices.pop()
                path = next(paths, None)
                if path is not None:
                    del steps[length:]
            if not any(step.gap for step in path):
                choices.append((k, state, paths, len(steps)))
            steps.extend(path)
            state = path[-1].state
            k = path[-1].lines.stop
        trajectory.stopped = count
        return trajectory


def _missing(names: list[str]) -> str:
    """The reason of a gap in which lines of the events ``names`` are missing; empty if none are."""
    return "missing: " + " and ".join(names) if names else ""


class PositionBounds(Struct):
    """Upper bounds of a member's positions in one state. The names are those of the state's fields.

    Parameters
    ----------
    append_position
        The bound for a member that copies its leader's log. Only then does the append position grow
        between lines; the member reports it.
    written
        A lower bound instead: the position up to which a leader must have written its log.
    """

    recorded_position: int = UNBOUNDED
    commit_position: int = UNBOUNDED
    publication_position: int = UNBOUNDED
    append_position: int = UNBOUNDED
    written: int = NULL_VALUE


def upper_bounds(trajectory: Trajectory) -> list[PositionBounds]:
    """The upper bounds after each step. They come from the steps that follow."""
    steps = trajectory.steps
    bounds: list[PositionBounds] = []
    recorded = committed = copied = UNBOUNDED
    for index in range(len(steps) - 1, -1, -1):
        step, s = steps[index], steps[index].state
        if s.election_state is not ElectionState.FOLLOWER_LOG_REPLICATION:
            copied = s.append_position
        bounds.append(
            PositionBounds(
                max(recorded, s.recorded_position),
                max(committed, s.commit_position),
                append_position=copied,
            )
        )
        before = steps[index - 1].state if index else None
        copied = min(copied, _most_copied(step))
        if step.is_taken_from_lines or step.action in (PROCESS_END, "Terminate"):
            committed = copied = UNBOUNDED
            if step.is_taken_from_lines:
                recorded = UNBOUNDED
        elif step.action in ("Restart", "ElectionInit") or (
            before is not None and before.election_state is _CLOSED is not s.election_state
        ):
            recorded = s.append_position
            committed = UNBOUNDED if step.action == "Restart" else s.commit_position
        elif before is not None and s.recorded_position < before.recorded_position:
            recorded = UNBOUNDED
        elif step.action in ("OnReplayNewLeadershipTermEvent", "TakeSnapshot"):
            committed = before.commit_position if before is not None else 0
        elif step.shows_commit_position:
            committed = s.commit_position
    bounds.reverse()
    _note_written(steps, bounds)
    return bounds


def _most_copied(step: PathStep) -> int:
    """An upper bound of the append position of a member that ignores a request for votes: it
    neither grants nor refuses the vote.

    If the member's log were longer than the candidate's, the member would refuse, and take over the
    candidate's term.
    """
    s, m = step.state, step.given.message
    if not isinstance(m, RequestVote) or m.candidate_term_id <= s.candidate_term_id:
        return UNBOUNDED
    return m.log_position if m.log_leadership_term_id == s.log_leadership_term_id else UNBOUNDED


def _note_written(steps: list[PathStep], bounds: list[PositionBounds]) -> None:
    """Note the positions up to which leaders must have written: followers reported them in the same
    term.
    """
    term, written = NULL_VALUE, NULL_VALUE
    for step, bound in zip(steps, bounds, strict=True):
        s, m = step.state, step.given.message
        if s.module_leadership_term_id != term or not leads_closed(s, term):
            term, written = s.module_leadership_term_id, NULL_VALUE
        if leads_closed(s, term) and isinstance(m, AppendPosition) and m.leadership_term_id == term:
            written = max(written, m.log_position)
        bound.written = written


def leads_closed(s: Member, term: int) -> bool:
    """Whether a member leads a term and is closed."""
    return (
        s.role is Role.LEADER
        and s.election_state is _CLOSED
        and s.module_leadership_term_id == term
    )


def reporters_to(i: int, s: Member) -> frozenset[int]:
    """Member ``i`` and the members that have reported a position to it.

    If ``i`` is closed, only reports of its term count. In an election all reports count.
    """
    closed = s.election_state is ElectionState.CLOSED
    heard = {
        j
        for j, known in enumerate(s.members)
        if known.log_position >= 0
        and (not closed or known.leadership_term_id == s.module_leadership_term_id)
    }
    return frozenset({i, *heard})


def is_reported_by_quorum(i: int, s: Member, position: int) -> bool:
    """Whether a quorum has reported a position in the term that ``i`` leads; ``i`` itself counts.

    Aeron's leader also counts reports of older terms (HZ1). They do not count here, because the log
    of a member that reports them may differ.
    """
    reported = [j for j in reporters_to(i, s) if j != i and s.members[j].log_position >= position]
    return is_quorum(1 + len(reported), len(s.members))

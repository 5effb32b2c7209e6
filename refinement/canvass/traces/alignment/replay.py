"""Replay of one member alone: its lines drive the core.

Each member's log holds all its inputs, so its trajectory is nearly determined by its own log. Only
quantities that grow by themselves are not: of these a state holds a lower bound. Between two lines
the shortest sequence of silent steps is looked for that makes the next line possible.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from canvass.cluster.member import NO_INPUT, Input, Member
from canvass.cluster.outcome import Outcome
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member
from canvass.traces.aeron_log.records import LifeStart
from canvass.traces.alignment.facts import ClusterFacts
from canvass.traces.alignment.member_lines import MemberLines
from canvass.traces.alignment.moves import END_OF_LIFE, Moves
from canvass.traces.alignment.printing import printed_lines

DEPTH: Final = 6
"""Silent steps between two lines; four are the most that captures need."""
NODES: Final = 4_000
"""Steps tried for one line: a line that contradicts the state is given up soon."""
WINDOW: Final = 60
"""Lines back to which another choice is looked for when a line cannot be met."""
TRIES: Final = 600
"""Choices that are taken back for one line."""
_REMEMBERED: Final = 200


@dataclass(slots=True)
class Step:
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
    """

    action: str
    given: Input
    outcome: Outcome
    lines: range = range(0)
    gap: str = ""
    resynchronised: bool = False

    @property
    def state(self) -> Member:
        """The state after the step."""
        return self.outcome.next


Moved: TypeAlias = tuple[Step, ...]


@dataclass(slots=True)
class Trajectory:
    """What a member did, by its own log alone.

    Parameters
    ----------
    lines
        Of the member.
    steps
        In order.
    stopped
        The index of the record that could not be met, or the number of records.
    """

    lines: MemberLines
    steps: list[Step] = field(default_factory=list)
    stopped: int = 0


class Replay:
    """Replays one member.

    Parameters
    ----------
    rules, lines, facts
        Of the cluster and the member.
    effort
        Factor of the bounds of the search.
    """

    def __init__(
        self, rules: Rules, lines: MemberLines, facts: ClusterFacts, effort: int = 1
    ) -> None:
        self.rules, self.lines = rules, lines
        self.moves = Moves(rules, lines, facts)
        self._hidden = lines.vocabulary.silent_messages
        self._nodes = NODES * effort
        self._tries = TRIES * effort
        self.spent = 0

    def matched(self, action: str, s: Member, outcome: Outcome, k: int) -> int:
        """How many lines from ``k`` on a step prints, or -1 if they say something else."""
        count = 0
        for line in printed_lines(action, s, outcome):
            if not self.lines.vocabulary.prints(line.kind):
                continue
            if k + count >= len(self.lines.records):
                return -1
            if not line.agrees(self.lines.records[k + count]):
                return -1
            count += 1
        return count

    def receive(self, s: Member, k: int) -> Step | None:
        """The receipt that line ``k`` says, if what it causes is what follows."""
        message = self.lines.messages[k]
        action = f"On{type(message).__name__}"
        given = Input(message=message, active=self.moves.all)
        outcome = self.moves.take(s, action, given)
        if outcome is None:
            return None
        count = self.matched(action, s, outcome, k + 1)
        return None if count < 0 else Step(action, given, outcome, range(k, k + 1 + count))

    def meet(self, s: Member, k: int, depth: int = DEPTH) -> Iterator[Moved]:
        """Sequences of steps after which line ``k`` is met, the shortest first."""
        lines = self.lines
        receipt = lines.messages[k] is not None
        level: list[tuple[Member, Moved]] = [(s, ())]
        seen = {s}
        nodes = 0
        for _ in range(depth + 1):
            following: list[tuple[Member, Moved]] = []
            for at, path in level:
                if receipt and (met := self.receive(at, k)) is not None:
                    yield (*path, met)
                for action, given in self.moves.silent(at, k, self._hidden):
                    nodes += 1
                    outcome = self.moves.take(at, action, given)
                    if outcome is None:
                        continue
                    count = self.matched(action, at, outcome, k)
                    if count > 0:
                        yield (*path, Step(action, given, outcome, range(k, k + count)))
                    elif count == 0 and outcome.next not in seen:
                        seen.add(outcome.next)
                        following.append((outcome.next, (*path, Step(action, given, outcome))))
                if nodes > self._nodes:
                    self.spent += nodes
                    return
            level = following
            if not level:
                break
        self.spent += nodes

    def run(self, s: Member | None = None, k: int = 0) -> Trajectory:
        """Replay the lines from ``k`` on, from a state, by default from an empty disk."""
        state = persistent_member(self.rules) if s is None else s
        trajectory = Trajectory(self.lines)
        steps = trajectory.steps
        choices: list[tuple[int, Member, Iterator[Moved], int]] = []
        furthest = tries = 0
        count = len(self.lines.records)
        while k < count:
            if isinstance(self.lines.records[k], LifeStart):
                steps.append(Step(END_OF_LIFE, NO_INPUT, Outcome(state), range(k, k + 1)))
                k += 1
                continue
            paths = self.meet(state, k)
            path = next(paths, None)
            while path is None:
                if k > furthest:
                    furthest, tries = k, 0
                tries += 1
                if not choices or furthest - choices[-1][0] > WINDOW or tries > self._tries:
                    trajectory.stopped = furthest
                    return trajectory
                k, state, paths, length = choices.pop()
                path = next(paths, None)
                if path is not None:
                    del steps[length:]
            choices.append((k, state, paths, len(steps)))
            if len(choices) > _REMEMBERED:
                del choices[: -WINDOW - 1]
            steps.extend(path)
            state = path[-1].state
            k = path[-1].lines.stop
        trajectory.stopped = count
        return trajectory

"""One member driven with real numbers: each step is a step of the core, each message has a number.

Open positions of the trajectory get their values here: the smallest values that the member's lines
and the receipts of its messages allow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import Final

from msgspec.structs import replace

from canvass.cluster.member import NO_INPUT, ElectionState, Input, Member, Role
from canvass.cluster.messages import NULL_VALUE, AppendPosition, CommitPosition, Message
from canvass.traces.alignment.channel_matching import Receipt
from canvass.traces.alignment.possible_steps import TICKS, Move
from canvass.traces.alignment.replay import UNBOUNDED, PathStep, PositionBounds
from canvass.traces.alignment.send_windows import Windows, keeps_phase, positions_in
from canvass.traces.schema import MAX_ID_DIGITS

LOST: Final = 10**MAX_ID_DIGITS - 1
"""The number of a message that its sender sent in missing steps. No message that the run shows as
sent has so great a number. So the run shows that steps of the sender are missing, even if the
sender's part of the run ends before them.
"""
FIND_DEPTH: Final = 3
"""The most silent steps before a send: one for each position that grows."""

_CLOSED: Final = ElectionState.CLOSED
_CONTROL: Final = attrgetter(
    "module_state",
    "role",
    "module_leadership_term_id",
    "leader_member_id",
    "election_state",
    "log_leadership_term_id",
    "leadership_term_id",
    "candidate_term_id",
    "persisted_candidate_term_id",
    "log_replication",
    "log_subscription",
    "replication_stop_position",
    "snapshot_log_position",
)
"""The fields in which the states of the trajectory and of the run must agree. Positions may differ.
"""
_STREAMED: Final = frozenset(
    {
        ElectionState.CLOSED,
        ElectionState.FOLLOWER_CATCHUP,
        ElectionState.FOLLOWER_READY,
        ElectionState.FOLLOWER_LOG_INIT,
    }
)
"""The states in which a follower records its leader's log stream."""


class RunStep(PathStep):
    """One step of the run.

    Parameters
    ----------
    first
        The number of the first message that it sends.
    sender, number
        The sender of the message that it receives, and the number of that message; -1 if there is
        none. The number is ``LOST`` if the sender sent the message in missing steps.
    """

    first: int = 1
    sender: int = NULL_VALUE
    number: int = NULL_VALUE


def term_of(s: Member) -> int:
    """The term of a member: that of its module if it is closed, else that of its election."""
    return s.module_leadership_term_id if s.election_state is _CLOSED else s.leadership_term_id


def streams_from(i: int, s: Member) -> int:
    """The leader whose log stream a follower records, or -1."""
    follows = s.role is Role.FOLLOWER and s.election_state in _STREAMED
    return s.leader_member_id if follows and s.leader_member_id != i else -1


@dataclass(slots=True)
class DrivenMember:
    """One member of the run that is being made.

    Parameters
    ----------
    on_send
        Called with each message that the member sends: sender, receiver, message, number.
    limit
        Called with upper bounds. It lowers them to the positions in messages that the member has
        still to send.
    frontier
        The index of the last step of the trajectory that the member has taken.
    emitted
        The steps of the run.
    published
        For each term that the member led, the position up to which it has written.
    received
        The number of its messages that others have received.
    number
        The number of its next message.
    gap
        Why lines must be missing before its next step; empty if none are.
    end
        The index of the step of its trajectory before which it stops.
    skips
        Whether its last step is a false line, and the steps before that line could not be taken.
    dropped
        The number of its lines that are dropped before the next segment.
    """

    windows: Windows
    on_send: Callable[[int, int, Message, int], None]
    limit: Callable[[DrivenMember, PositionBounds], PositionBounds]
    frontier: int = -1
    emitted: list[RunStep] = field(default_factory=list)
    published: dict[int, int] = field(default_factory=dict)
    received: int = 0
    number: int = 1
    gap: str = ""
    end: int = UNBOUNDED
    skips: bool = False
    dropped: int = 0
    member_id: int = field(init=False)
    state: Member = field(init=False)

    def __post_init__(self) -> None:
        """Begin with the state before the trajectory."""
        self.member_id = self.windows.moves.member_id
        self.state = self.windows.trajectory.before

    @property
    def bounds(self) -> PositionBounds:
        """The present upper bounds of its positions."""
        bounds = self.windows.bounds
        return self.limit(self, bounds[max(self.frontier, 0)] if bounds else PositionBounds())

    def next_step(self) -> PathStep | None:
        """The next step of its trajectory, or None at its end."""
        steps, after = self.windows.steps, self.frontier + 1
        return steps[after] if after < min(len(steps), self.end) else None

    def try_step(self, action: str, given: Input = NO_INPUT) -> PathStep | None:
        """A step of the core from the present state, or None if it is not possible."""
        outcome = self.windows.moves.take(self.state, action, given)
        return None if outcome is None else PathStep(action, given, outcome)

    def take(self, action: str, given: Input = NO_INPUT) -> bool:
        """Take a step if it is possible; false if it is not."""
        step = self.try_step(action, given)
        if step is not None:
            self.append(step)
        return step is not None

    def append(self, step: PathStep, sender: int = -1, number: int = -1) -> None:
        """Make a step the next one of the run.

        ``sender`` and ``number`` are those of the message that the step receives.
        """
        outcome, first = step.outcome, self.number
        before, s, gap = self.state, outcome.next, step.gap or self.gap
        sends = outcome.sends
        if sends or step.lines or gap or s is not before:
            self.gap = ""
            taken = RunStep(step.action, step.given, outcome, step.lines, gap)
            taken.replaced = step.replaced
            taken.first, taken.sender, taken.number = first, sender, number
            self.emitted.append(taken)
        self.state = s
        if s.role is Role.LEADER and s is not before and s.publication_position >= 0:
            term = term_of(s)
            known = self.published.get(term, -1)
            self.published[term] = max(known, s.publication_position)
        if sends:
            self.number += len(sends)
            for place, send in enumerate(sends, first):
                self.on_send(self.member_id, send.to, send.message, place)

    def record_own(self, recorded: int) -> list[PathStep] | None:
        """The steps by which a leader writes and records up to a position; None if impossible."""
        path: list[PathStep] = []
        s, given = self.state, Input(position=recorded)
        for action, now in (
            ("AppendEntry", s.publication_position),
            ("RecordLog", s.recorded_position),
        ):
            if recorded <= now:
                continue
            outcome = self.windows.moves.take(s, action, given)
            if outcome is None:
                return None
            path.append(PathStep(action, given, outcome))
            s = outcome.next
        return path

    def find(
        self, to: int, wanted: Receipt, receipts: Callable[[], Iterable[Move]]
    ) -> list[PathStep]:
        """The shortest sequence of silent steps whose last one sends the message of a receipt.

        Open positions get the numbers of the message. The steps keep the phase of the member, and
        may include inferred ``receipts``. The list is empty if there is no such sequence.
        """
        m, start = wanted.message, self.state
        if isinstance(m, AppendPosition) and start.election_state is _CLOSED:
            reported = self.reports(to, AppendPosition, m.log_position)
            if reported is not None and wanted.accepts(reported[1]):
                return reported[0]  # The search below would find the same, more slowly.
        bounds = self.bounds
        committed = max(bounds.commit_position, start.commit_position)
        received = cache(lambda: list(receipts()))
        level: list[tuple[Member, list[PathStep]]] = [(start, [])]
        seen: set[Member] = set()
        for _ in range(FIND_DEPTH + 1):
            following: list[tuple[Member, list[PathStep]]] = []
            for s, path in level:
                if s in seen:
                    continue
                seen.add(s)
                preparing = self._preparing(s, m, bounds, received)
                for action, given in chain(self.windows.sending(s, type(m)), preparing):
                    outcome = self.windows.moves.take(s, action, given)
                    if outcome is None or not keeps_phase(s, action, outcome):
                        continue
                    if outcome.next.commit_position > committed:
                        continue
                    grown = [*path, PathStep(action, given, outcome)]
                    if any(
                        send.to == to and wanted.accepts(send.message) for send in outcome.sends
                    ):
                        return grown
                    following.append((outcome.next, grown))
            level = following
        return []

    def _preparing(
        self, s: Member, m: Message, bounds: PositionBounds, received: Callable[[], list[Move]]
    ) -> Iterator[Move]:
        """Silent steps that may be needed before a message is sent.

        They raise positions to those in the message, or receive messages.
        """
        for position in positions_in(m):
            given = Input(position=position)
            if s.recorded_position < position <= bounds.recorded_position:
                yield "RecordLog", given
            if s.publication_position < position <= bounds.publication_position:
                yield "AppendEntry", given
            if s.commit_position < position <= bounds.commit_position:
                yield "ConsumeLog", given
        if isinstance(m, CommitPosition) and s.role is Role.LEADER and s.election_state is _CLOSED:
            yield "UpdateLeaderPosition", Input(active=self.windows.moves.all)
        elif s.role is Role.LEADER and s.election_state is not _CLOSED:
            yield TICKS[s.election_state], Input(active=self.windows.moves.all)
        yield from received()

    def reports(
        self, to: int, kind: type[Message], position: int
    ) -> tuple[list[PathStep], Message] | None:
        """The steps by which the member sends a message of a kind now, and the message.

        The first step records up to ``position``, if the member has recorded less. None if the
        member cannot send such a message.
        """
        path: list[PathStep] = []
        s, bounds = self.state, self.bounds
        copies = s.election_state is ElectionState.FOLLOWER_LOG_REPLICATION
        known = max(position, s.recorded_position)
        if copies and kind is AppendPosition and known > bounds.append_position:
            return None
        if s.recorded_position < position <= bounds.recorded_position:
            given = Input(position=position)
            outcome = self.windows.moves.take(s, "RecordLog", given)
            if outcome is not None:
                path.append(PathStep("RecordLog", given, outcome))
                s = outcome.next
        for action, given in self.windows.sending(s, kind):
            outcome = self.windows.moves.take(s, action, given)
            if outcome is None or not keeps_phase(s, action, outcome):
                continue
            for send in outcome.sends:
                if send.to == to and type(send.message) is kind:
                    return [*path, PathStep(action, given, outcome)], send.message
        return None

    def inputs(self, step: PathStep) -> Iterator[Input]:
        """The possible inputs of a step of the trajectory: its own input, and variants of it."""
        given, s = step.given, self.state
        leads_election = s.role is Role.LEADER and s.election_state is not _CLOSED
        if given.message is not None and leads_election:
            for active in self.windows.likely(s):
                yield replace(given, active=active)
        elif step.action in TICKS.values() and leads_election and step.action != "LeaderInit":
            likely = self.windows.likely(s)
            yield replace(given, active=likely[0])
            for active in likely:
                for interval in (False, True):
                    for due in (False, True):
                        yield replace(given, active=active, interval=interval, commit_interval=due)
        else:
            yield given
            if step.action in TICKS.values():
                yield replace(given, interval=True)
                yield replace(given, accepted=self.windows.moves.all)

    def agrees(self, step: PathStep, after: Member) -> bool:
        """Whether the state after a step agrees with that of the trajectory.

        Open positions are not compared.
        """
        planned = step.state
        if _CONTROL(after) != _CONTROL(planned):
            return False
        if step.shows_commit_position and planned.commit_position != after.commit_position:
            return False
        replicates = planned.election_state is ElectionState.FOLLOWER_LOG_REPLICATION
        return replicates or planned.append_position == after.append_position

"""One member driven with real numbers: each step is a step of the core, each message has a number.

Positions that a trajectory leaves open get their values here, the smallest that its own lines and
the messages that others received allow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from canvass.cluster.member import NO_INPUT, ElectionState, Input, Member, Role
from canvass.cluster.messages import (
    AppendPosition,
    CommitPosition,
    Message,
)
from canvass.cluster.outcome import Outcome
from canvass.traces.alignment.channel_matching import Receipt
from canvass.traces.alignment.moves import TICKS, Move
from canvass.traces.alignment.replay import UNBOUNDED, Step, Upper
from canvass.traces.alignment.windows import Windows, positions_in, stays

FIND_DEPTH: Final = 3
"""Silent steps before a send: at most one for each quantity that grows by itself."""

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
"""What a step of the trajectory and the live step have in common; positions may differ."""
_STREAMED: Final = frozenset(
    {
        ElectionState.CLOSED,
        ElectionState.FOLLOWER_CATCHUP,
        ElectionState.FOLLOWER_READY,
        ElectionState.FOLLOWER_LOG_INIT,
    }
)
"""The states in which a follower records what its leader writes in their term."""


Steps: TypeAlias = list[tuple[str, Input, Outcome]]


class Emitted(Struct):
    """One step of the run.

    Parameters
    ----------
    first
        The number of the first message sent.
    sender, number
        Of the message consumed.
    lines
        Indexes of the records that the step accounts for.
    gap
        Lines are missing before it.
    """

    action: str
    given: Input
    state: Member
    sends: tuple[tuple[int, Message], ...]
    first: int
    sender: int = -1
    number: int = -1
    lines: range = range(0)
    gap: bool = False


def term_of(s: Member) -> int:
    """The term that a member is in."""
    return s.module_leadership_term_id if s.election_state is _CLOSED else s.leadership_term_id


def streams_from(i: int, s: Member) -> int:
    """The leader whose log stream a follower records, or -1."""
    follows = s.role is Role.FOLLOWER and s.election_state in _STREAMED
    return s.leader_member_id if follows and s.leader_member_id != i else -1


@dataclass(slots=True)
class LiveMember:
    """One member of the run that is being made.

    Parameters
    ----------
    frontier
        The index of the trajectory's last step that was taken.
    published
        For each term that it led how far it has written.
    received
        How many of its messages others have received.
    on_send
        Is called with each message that leaves: sender, receiver, message, number.
    limit
        Narrows the upper bounds by what the member has still to send.
    number
        Of its next message.
    gap
        Lines are missing before its next step.
    end
        The step of its trajectory before which it stops for now.
    """

    windows: Windows
    on_send: Callable[[int, int, Message, int], None]
    limit: Callable[[LiveMember, Upper], Upper]
    frontier: int = -1
    emitted: list[Emitted] = field(default_factory=list)
    published: dict[int, int] = field(default_factory=dict)
    received: int = 0
    number: int = 1
    gap: bool = False
    end: int = UNBOUNDED
    member_id: int = field(init=False)
    state: Member = field(init=False)

    def __post_init__(self) -> None:
        """Begin with the state before the trajectory."""
        self.member_id = self.windows.moves.member_id
        self.state = self.windows.trajectory.before

    @property
    def upper(self) -> Upper:
        """The upper bounds of its quantities now."""
        bounds = self.windows.bounds
        return self.limit(self, bounds[max(self.frontier, 0)] if bounds else Upper())

    def next_step(self) -> Step | None:
        """The next step of its trajectory."""
        steps, after = self.windows.steps, self.frontier + 1
        return steps[after] if after < min(len(steps), self.end) else None

    def take(self, action: str, given: Input) -> Outcome | None:
        """What the core says of a step from the state now."""
        return self.windows.moves.take(self.state, action, given)

    def adopt(
        self,
        action: str,
        given: Input,
        outcome: Outcome,
        *,
        lines: range = range(0),
        sender: int = -1,
        number: int = -1,
        gap: bool = False,
    ) -> None:
        """Make a step the next one of the run."""
        sends: tuple[tuple[int, Message], ...] = ()
        if outcome.effects:
            sends = tuple([(send.to, send.message) for send in outcome.sends])
        before, s, first = self.state, outcome.next, self.number
        gap |= self.gap
        if sends or lines or gap or s is not before:
            self.gap = False
            self.emitted.append(Emitted(action, given, s, sends, first, sender, number, lines, gap))
        self.state = s
        if s.role is Role.LEADER and s is not before and s.publication_position >= 0:
            term = term_of(s)
            known = self.published.get(term, -1)
            self.published[term] = max(known, s.publication_position)
        if sends:
            self.number += len(sends)
            for place, (to, message) in enumerate(sends, first):
                self.on_send(self.member_id, to, message, place)

    def try_step(self, action: str, given: Input = NO_INPUT) -> bool:
        """Take a step if it is possible."""
        outcome = self.take(action, given)
        if outcome is not None:
            self.adopt(action, given, outcome)
        return outcome is not None

    def record_own(self, recorded: int) -> Steps | None:
        """The steps by which a leader writes and records up to a position."""
        path: Steps = []
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
            path.append((action, given, outcome))
            s = outcome.next
        return path

    def find(self, to: int, wanted: Receipt, receipts: Callable[[], Iterable[Move]]) -> Steps:
        """The shortest silent steps after which the message of a receipt goes to a member.

        Numbers that the message gives are put in where quantities are open, and ``receipts`` that
        no line shows are taken; the election state stays as it is.
        """
        m, start = wanted.message, self.state
        if isinstance(m, AppendPosition) and start.election_state is _CLOSED:
            reported = self.reports(to, AppendPosition, m.log_position)
            if reported is not None and wanted.accepts(reported[1]):
                return reported[0]  # The search finds the same, but most messages are reports.
        upper = self.upper
        committed = max(upper.committed, start.commit_position)
        received = cache(lambda: list(receipts()))
        level: list[tuple[Member, Steps]] = [(start, [])]
        seen: set[Member] = set()
        for _ in range(FIND_DEPTH + 1):
            following: list[tuple[Member, Steps]] = []
            for s, path in level:
                if s in seen:
                    continue
                seen.add(s)
                preparing = self._preparing(s, m, upper, received)
                for action, given in chain(self.windows.sending(s, type(m)), preparing):
                    outcome = self.windows.moves.take(s, action, given)
                    if outcome is None or not stays(s, action, outcome):
                        continue
                    if outcome.next.commit_position > committed:
                        continue
                    grown = [*path, (action, given, outcome)]
                    if any(
                        send.to == to and wanted.accepts(send.message) for send in outcome.sends
                    ):
                        return grown
                    following.append((outcome.next, grown))
            level = following
        return []

    def _preparing(
        self, s: Member, m: Message, upper: Upper, received: Callable[[], list[Move]]
    ) -> Iterator[Move]:
        """Silent steps that may have to be taken before a message is sent: quantities grow by the
        numbers that it gives, and messages are received.
        """
        for position in positions_in(m):
            given = Input(position=position)
            if s.recorded_position < position <= upper.recorded:
                yield "RecordLog", given
            if s.publication_position < position <= upper.published:
                yield "AppendEntry", given
            if s.commit_position < position <= upper.committed:
                yield "ConsumeLog", given
        if isinstance(m, CommitPosition) and s.role is Role.LEADER and s.election_state is _CLOSED:
            yield "UpdateLeaderPosition", Input(active=self.windows.moves.all)
        elif s.role is Role.LEADER and s.election_state is not _CLOSED:
            yield TICKS[s.election_state], Input(active=self.windows.moves.all)
        yield from received()

    def reports(self, to: int, kind: type[Message], position: int) -> tuple[Steps, Message] | None:
        """How the member sends a message of a kind now, having recorded up to a position."""
        path: Steps = []
        s, upper = self.state, self.upper
        copies = s.election_state is ElectionState.FOLLOWER_LOG_REPLICATION
        known = max(position, s.recorded_position)
        if copies and kind is AppendPosition and known > upper.reported:
            return None
        if s.recorded_position < position <= upper.recorded:
            given = Input(position=position)
            outcome = self.windows.moves.take(s, "RecordLog", given)
            if outcome is not None:
                path.append(("RecordLog", given, outcome))
                s = outcome.next
        for action, given in self.windows.sending(s, kind):
            outcome = self.windows.moves.take(s, action, given)
            if outcome is None or not stays(s, action, outcome):
                continue
            for send in outcome.sends:
                if send.to == to and type(send.message) is kind:
                    return [*path, (action, given, outcome)], send.message
        return None

    def inputs(self, step: Step) -> Iterator[Input]:
        """The input of a step of the trajectory, and others of the same step."""
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

    def agrees(self, step: Step, after: Member) -> bool:
        """Whether a live step comes to what the trajectory says, positions aside."""
        planned = step.state
        if _CONTROL(after) != _CONTROL(planned):
            return False
        printed = step.lines and step.given.message is None and step.action != "Terminate"
        if printed and planned.commit_position != after.commit_position:
            return False
        replicates = planned.election_state is ElectionState.FOLLOWER_LOG_REPLICATION
        return replicates or planned.append_position == after.append_position

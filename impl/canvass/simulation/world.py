"""A cluster of bare protocol cores, with the channels between them and the contents of their logs.

`World.take` takes a step: it runs the core, keeps the log up to the recorded position of the new
state, and puts the sends into the channels. No other effect is carried out here:
`canvass.node.node.Node` does that. Channels are first in, first out; a message waits in its
channel until it is delivered or dropped. The caller decides what happens.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeAlias

from msgspec import structs

from canvass.cluster import core
from canvass.cluster.duty_cycle import ACTION_OF, EVENT_LENGTH, Received, StepFunction, StepRecorder
from canvass.cluster.effects import Outcome
from canvass.cluster.member import ElectionState, Input, Member, ModuleState, Role
from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.predicates import current_term, is_at, is_publisher
from canvass.cluster.replication import consume_bound
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member

# --- the log of a core alone: the term of each byte -----------------------------------------------


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive bytes of one term, from ``start`` to ``end``.

    ``base`` is where the term begins in its leader's log, with its NewLeadershipTermEvent. A
    segment that starts later does not have that entry. A term has one leader and one base, so a
    term and a position identify a byte.
    """

    term: int
    base: int
    start: int
    end: int


Log: TypeAlias = tuple[Segment, ...]


def length(log: Log) -> int:
    """The position at which a log ends."""
    return log[-1].end if log else 0


def cut(log: Log, position: int) -> Log:
    """The log up to a position."""
    return tuple(
        segment if segment.end <= position else replace(segment, end=position)
        for segment in log
        if segment.start < position
    )


def append(log: Log, segment: Segment) -> Log:
    """The log continued with a segment, which is merged with the last one if the term is equal."""
    if segment.start != length(log):
        raise ValueError(f"bytes from {segment.start} do not follow a log up to {length(log)}")
    if segment.start >= segment.end:
        return log
    if log and log[-1].term == segment.term:
        return (*log[:-1], replace(log[-1], end=segment.end))
    return (*log, segment)


def copy(log: Log, source: Log, position: int) -> Log:
    """The log continued up to a position with the bytes of another log."""
    for segment in cut(source, position):
        start = length(log)
        if segment.end > start:
            log = append(log, replace(segment, start=max(start, segment.start)))
    return log


def segment_at(log: Log, position: int) -> Segment | None:
    """The segment that holds the byte after a position, or None at the log's end."""
    return next((segment for segment in log if segment.start <= position < segment.end), None)


def agreement(a: Log, b: Log) -> int:
    """The length of the longest common prefix of two logs."""
    agreed = 0
    for mine in a:
        theirs = segment_at(b, agreed)
        while theirs is not None and agreed < mine.end and theirs.term == mine.term:
            agreed = min(mine.end, theirs.end)
            theirs = segment_at(b, agreed)
        if agreed < mine.end:
            break
    return agreed


def checksum(log: Log, position: int) -> int:
    """A checksum of 64 bits of the log up to a position; equal logs have equal checksums."""
    text = ",".join(f"{part.term}:{part.start}-{part.end}" for part in cut(log, position))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


# --- the cluster ----------------------------------------------------------------------------------

_AWAITED: Final = (ElectionState.FOLLOWER_CATCHUP_AWAIT, ElectionState.FOLLOWER_LOG_AWAIT)
"""The states in which a member waits until the leader's log stream connects."""


@dataclass(frozen=True, slots=True)
class AttemptedStep:
    """A step that the caller asked for. The outcome is None if the action was not enabled."""

    member: int
    action: str
    input: Input
    before: Member
    outcome: Outcome | None


def _written(log: Log, term: int, position: int) -> Log:
    """A log that is continued in a term up to a position."""
    base = log[-1].base if log and log[-1].term == term else length(log)
    return append(log, Segment(term, base, length(log), position))


@dataclass
class World:
    """A cluster whose caller chooses every step.

    Parameters
    ----------
    rules
        The protocol that all members run.
    event_length
        The length of the first entry of a term, in bytes.
    step
        The protocol core of all members.
    recorders
        The recorders of the members, or none.
    """

    rules: Rules
    event_length: int = EVENT_LENGTH
    step: StepFunction = core.step
    recorders: Sequence[StepRecorder] = ()
    members: list[Member] = field(init=False)
    logs: list[Log] = field(init=False)
    up: set[int] = field(init=False, default_factory=set)
    channels: dict[tuple[int, int], deque[Received]] = field(init=False)
    steps: list[AttemptedStep] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        count = self.rules.member_count
        self.members = [persistent_member(self.rules) for _ in range(count)]
        self.logs = [() for _ in range(count)]
        self.channels = {(i, j): deque() for i in range(count) for j in range(count) if i != j}

    def time_ns(self, _i: int) -> int:
        """The time at which member ``i`` records a step: the number of steps so far."""
        return len(self.steps)

    def set_disk(self, i: int, found: Member, log: Log) -> None:
        """Set the state and the log that member ``i`` finds on its disk when it starts."""
        self.members[i] = found
        self.logs[i] = log

    def crash(self, i: int) -> None:
        """End member ``i``. Messages to it are lost; messages that it has sent may still arrive."""
        self.up.discard(i)
        for j in range(self.rules.member_count):
            if j != i:
                self.channels[j, i].clear()

    def start(self, i: int) -> AttemptedStep:
        """Start member ``i`` with the data on its disk."""
        self.crash(i)
        self.up.add(i)
        return self.take(i, "Restart")

    def take(
        self,
        i: int,
        action: str,
        x: Input | None = None,
        term: int | None = None,
        received: Received | None = None,
    ) -> AttemptedStep:
        """Let member ``i`` take an action; nothing happens if it is not enabled.

        Parameters
        ----------
        i
            The member.
        action, x
            The action and its input.
        term
            The term of the bytes that a ``RecordLog`` records, if no leader has them.
        received
            The message of the input as it has arrived, with its sender and number.
        """
        given = x if x is not None else Input()
        before = self.members[i]
        outcome = self.step(self.rules, i, before, action, given)
        if outcome is not None:
            self._follow_state(i, before, outcome, term)
            self._send(i, outcome, self._record(i, action, given, received, outcome))
        taken = AttemptedStep(i, action, given, before, outcome)
        self.steps.append(taken)
        return taken

    def _follow_state(self, i: int, before: Member, outcome: Outcome, term: int | None) -> None:
        """Adopt the new state; truncate or continue the log up to its recorded position."""
        recorded = outcome.next.recorded_position
        self.logs[i] = cut(self.logs[i], recorded)
        if recorded > before.recorded_position:
            source = self.source(i)
            if term is not None:
                source = _written(self.logs[i], term, recorded)
            self.logs[i] = copy(self.logs[i], source, recorded)
        self.members[i] = outcome.next

    def _record(
        self, i: int, action: str, x: Input, received: Received | None, outcome: Outcome
    ) -> int:
        """Record a step. Return the number of the first message that it sends."""
        if not self.recorders:
            return NULL_VALUE
        s = outcome.next
        reported = sorted({s.recorded_position, s.commit_position})
        return self.recorders[i].record(
            self.time_ns(i),
            action,
            s,
            inputs=x,
            sender=NULL_VALUE if received is None else received.sender,
            number=NULL_VALUE if received is None else received.number,
            sends=[(send.to, send.message) for send in outcome.sends],
            log_checksums=[
                (position, checksum(self.logs[i], position))
                for position in reported
                if 0 < position <= length(self.logs[i])
            ],
        )

    def _send(self, i: int, outcome: Outcome, first: int) -> None:
        """Put the sends of a step into the channels. ``first`` is the number of the first send."""
        for place, send in enumerate(outcome.sends):
            if send.to in self.up and i in self.up:
                self.channels[i, send.to].append(Received(i, first + place, send.message))
        if outcome.next.module_state is ModuleState.CLOSED:
            self.crash(i)

    def stream(self, j: int) -> Log:
        """The log stream of leader ``j``: its recording, then entries that it has only written."""
        s, log = self.members[j], self.logs[j]
        if s.publication_position <= length(log):
            return log
        return _written(log, current_term(s), s.publication_position)

    def _leads(self, j: int, term: int) -> bool:
        s = self.members[j]
        return j in self.up and is_publisher(s) and current_term(s) == term

    def source(self, i: int) -> Log:
        """The log from which member ``i`` records now."""
        s = self.members[i]
        if is_publisher(s):
            return self.stream(i)
        j = s.leader_member_id
        if j in (NULL_VALUE, i):
            return ()
        if is_at(s, ElectionState.FOLLOWER_LOG_REPLICATION):
            return self.logs[j]
        return self.stream(j) if self._leads(j, current_term(s)) else ()

    def recordable(self, i: int) -> int:
        """The position up to which the archive of member ``i`` has recorded by default.

        A member sees a recording as soon as it runs, so nothing is recorded before the stream
        connects.
        """
        s = self.members[i]
        if s.election_state in _AWAITED:
            return s.recorded_position
        position = length(self.source(i))
        if is_at(s, ElectionState.FOLLOWER_LOG_REPLICATION):
            return min(position, s.replication_stop_position)
        return position

    def record(self, i: int, to: int | None = None, term: int | None = None) -> AttemptedStep:
        """Let the archive of member ``i`` record up to a position, or all data that it has."""
        position = self.recordable(i) if to is None else to
        available = position if term is not None else length(self.source(i))
        return self.take(i, "RecordLog", Input(position=min(position, available)), term)

    def consume(self, i: int, to: int | None = None) -> list[AttemptedStep]:
        """Let member ``i`` process its log, term by term, up to a position or as far as it may."""
        taken: list[AttemptedStep] = []
        while not taken or taken[-1].outcome is not None:
            next_one = self.processing(i, consume_bound(self.members[i]) if to is None else to)
            if next_one is None:
                break
            taken.append(self.take(i, *next_one))
        return taken

    def processing(self, i: int, bound: int) -> tuple[str, Input] | None:
        """The next step in which member ``i`` processes its log up to a bound, or None.

        A step processes entries of one term. The first entry of a term takes a step of its own.
        """
        commit = self.members[i].commit_position
        segment = segment_at(self.logs[i], commit)
        if commit >= bound or segment is None:
            return None
        if segment.base == segment.start == commit:
            x = Input(
                position=min(commit + self.event_length, segment.end),
                leadership_term_id=segment.term,
                term_base_log_position=commit,
            )
            return "OnReplayNewLeadershipTermEvent", x
        return "ConsumeLog", Input(position=min(segment.end, bound))

    def tick(self, i: int, x: Input) -> AttemptedStep:
        """Let member ``i`` take the step of its election state. If closed, it reports or commits.

        In LEADER_READY the leader writes the first entry of the term as soon as it can, unless the
        input says where that entry ends.
        """
        s = self.members[i]
        if s.election_state is ElectionState.CLOSED:
            action = "UpdateLeaderPosition" if s.role is Role.LEADER else "UpdateFollowerPosition"
            return self.take(i, action, x)
        action = ACTION_OF[s.election_state]
        if s.election_state is ElectionState.LEADER_READY and x.position == NULL_VALUE:
            opening = structs.replace(x, position=s.publication_position + self.event_length)
            if self.step(self.rules, i, s, action, opening) is not None:
                return self.take(i, action, opening)
        return self.take(i, action, x)

    def deliver(self, i: int, j: int, active: frozenset[int]) -> AttemptedStep:
        """Deliver the next message from member ``i`` to member ``j``."""
        return self.handle(j, self.channels[i, j].popleft(), active)

    def handle(self, j: int, received: Received, active: frozenset[int]) -> AttemptedStep:
        """Let member ``j`` handle a message that has left its channel."""
        x = Input(message=received.message, active=active)
        return self.take(j, f"On{type(received.message).__name__}", x, received=received)

    def may_tick(self, i: int) -> bool:
        """Whether member ``i`` can take the step of its election state. If it waits for a log
        stream, its leader must have that stream.
        """
        s = self.members[i]
        catches_up = is_at(s, ElectionState.FOLLOWER_CATCHUP_AWAIT)
        if not (catches_up or is_at(s, ElectionState.FOLLOWER_LOG_AWAIT)):
            return True
        if not self._leads(s.leader_member_id, s.leadership_term_id):
            return False
        leader = self.members[s.leader_member_id]
        if catches_up:
            return leader.members[i].catchup_replay
        return leader.publication_position >= s.commit_position

    def settle(
        self,
        together: Iterable[int],
        standing: int | None = None,
        until: tuple[int, ElectionState] | None = None,
        rounds: int | None = None,
    ) -> None:
        """Let some members take steps, connected to each other only, until nothing changes.

        A round without a change may still send a message, so it takes two such rounds in a row.
        With a ``standing`` member it takes three: other members' ballots time out in the last one.

        Parameters
        ----------
        together
            The members that take steps. Their messages to other members are lost.
        standing
            The member whose deadlines pass, so that it becomes a candidate; or None.
        until
            A member and a state: stop as soon as the member is in the state.
        rounds
            The number of rounds after which to stop; or None.

        Raises
        ------
        RuntimeError
            If the members still take steps after 500 rounds, and ``rounds`` is not given.
        """
        going = sorted(set(together) & self.up)
        limit, resting = (500 if rounds is None else rounds), 0
        for _ in range(limit):
            before = [self.members[i] for i in going], [self.logs[i] for i in going]
            for turn in self._round(frozenset(going), standing, overdue=resting > 1):
                turn()
                if until is not None and is_at(self.members[until[0]], until[1]):
                    return
            rests = before == ([self.members[i] for i in going], [self.logs[i] for i in going])
            resting = resting + 1 if rests else 0
            if resting > 1 + (standing is not None):
                return
        if rounds is None:
            raise RuntimeError(f"members {going} do not come to rest")

    def _round(
        self, active: frozenset[int], standing: int | None, *, overdue: bool
    ) -> Iterator[Callable[[], object]]:
        """The steps of one round.

        The deadlines of the member ``standing`` pass. The deadline of its ballot passes only once
        it has asked all members and no message is under way. The deadlines of other members'
        ballots pass when nothing else happens.
        """
        quiet = not any(self.channels[i, j] for i in active for j in active if i != j)
        for i in sorted(active):
            s = self.members[i]
            asks = is_at(s, ElectionState.CANDIDATE_BALLOT) and not (
                quiet and all(s.members[j].ballot_sent for j in active)
            )
            ballots = (ElectionState.CANDIDATE_BALLOT, ElectionState.FOLLOWER_BALLOT)
            late = overdue and s.election_state in ballots
            yield from self._go_on(i, active, timeout=late or (i == standing and not asks))
        for (i, j), channel in self.channels.items():
            while channel and i in active:
                yield partial(self.deliver, i, j, active) if j in active else channel.popleft

    def _go_on(
        self, i: int, active: frozenset[int], *, timeout: bool
    ) -> Iterator[Callable[[], object]]:
        if self.may_tick(i):
            x = Input(
                interval=True,
                commit_interval=True,
                timeout=timeout,
                active=active,
                accepted=active - {i},
            )
            yield partial(self.tick, i, x)
        if self.recordable(i) > self.members[i].recorded_position:
            yield partial(self.record, i)
        yield partial(self.consume, i)

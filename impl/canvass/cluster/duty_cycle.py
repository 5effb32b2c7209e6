"""The duty cycle of one member: the order in which the consensus module takes steps.

Each cycle reads the clock once, does slow tick work if that is due, polls consensus messages, and
then does election work or consensus work. `canvass.cluster.clocks` turns times into the facts of an
input. The core decides what a step does.

A `Port` reaches messages, archive, log, clients and chance: the duty cycle opens no file and no
socket and reads no clock. `canvass.node.node.Node` implements it, in processes and in simulations.

Sessions, timers, messages of services and control toggles belong to the consensus module behind the
port (`canvass.node.consensus_module`). The mark file belongs to the module's process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from msgspec.structs import replace

from canvass.cluster import core
from canvass.cluster.clocks import (
    CONSENSUS_FRAGMENT_LIMIT,
    INGRESS_FRAGMENT_LIMIT,
    LOG_FRAGMENT_LIMIT,
    SLOW_TICK_NS,
    Clocks,
    Timing,
)
from canvass.cluster.effects import Outcome
from canvass.cluster.member import NO_INPUT, ElectionState, Input, Member, ModuleState, Role
from canvass.cluster.messages import (
    NULL_VALUE,
    CanvassPosition,
    Message,
    RequestVote,
    TerminationAck,
)
from canvass.cluster.predicates import bounded_quorum_position, in_election, is_quorum
from canvass.cluster.replication import consume_bound
from canvass.cluster.rules import Rules

StepFunction: TypeAlias = Callable[[Rules, int, Member, str, Input], Outcome | None]
"""The protocol core: `canvass.cluster.core.step`, or a mutant of it."""


class StepRecorder(Protocol):
    """Where the steps of one member are recorded."""

    def record(
        self,
        time_ns: int,
        action: str,
        state: Member,
        *,
        inputs: Input = NO_INPUT,
        sender: int = NULL_VALUE,
        number: int = NULL_VALUE,
        sends: Sequence[tuple[int, Message]] = (),
        log_checksums: Sequence[tuple[int, int]] = (),
    ) -> int:
        """Record one step.

        Parameters
        ----------
        time_ns
            The member's clock.
        action
            Name of the action, such as ``"OnVote"``.
        state
            The state after the step.
        inputs
            What the step consumed.
        sender, number
            The member that sent the consumed message, and the number that its recorder gave the
            message.
        sends
            Receiver and message, in the order of sending.
        log_checksums
            Position, and 64-bit checksum of the member's log from its start up to that position.

        Returns
        -------
        int
            The number of the first message sent; the others follow it.
        """
        ...


@dataclass(frozen=True, slots=True)
class Received:
    """A consensus message that has arrived."""

    sender: int
    number: int
    """The number that the sender's recorder gave it, or -1 without a recorder."""
    message: Message


@dataclass(frozen=True, slots=True)
class LogPart:
    """Whole entries of the member's log. The first entry of a term is a part of its own."""

    position: int
    """The end of the last entry."""
    count: int
    leadership_term_id: int = NULL_VALUE
    """The term that the entry opens, or -1 if it opens none."""
    term_base_log_position: int = NULL_VALUE
    snapshot: bool = False
    """Whether the last entry asks for a snapshot, which must be taken at its end."""
    entry_position: int = NULL_VALUE
    """Where the entry begins, if the bound lies within it: then it is a part of its own."""


@dataclass(frozen=True, slots=True)
class Offer:
    """An entry for a leader to append to its log."""

    length: int
    """Its length in bytes, aligned, with its frame."""
    snapshot: bool = False
    """Whether it asks all members for a snapshot at its end."""


class Port(Protocol):
    """Everything around the duty cycle of one member. No call blocks."""

    def poll(self) -> Received | None:
        """Take the next consensus message, if there is one."""
        ...

    def accepts(self, to: int) -> bool:
        """Whether the transport accepts a message to member ``to`` now."""
        ...

    def recorded_position(self) -> int:
        """The position up to which the archive has recorded the log."""
        ...

    def log_part(self, position: int, bound: int, limit: int) -> LogPart | None:
        """Read at most ``limit`` entries of the recorded log, from ``position`` on.

        The last one begins before ``bound``.

        Return None if no such entry is there.
        """
        ...

    def log_join_position(self) -> int:
        """The position at which the log subscription has connected, or -1 if it has not."""
        ...

    def log_closed(self) -> bool | None:
        """None while the log stream lasts; true if it has ended in good order, false if not."""
        ...

    def add_live_destination(self) -> None:
        """Add the live log to the log subscription."""
        ...

    def poll_ingress(self) -> Offer | None:
        """The next entry that a client or an operator offers, or None.

        It stays the next entry until `adopt` carries out its `AppendToLog`.
        """
        ...

    def is_active(self) -> bool:
        """Whether the module is active: not suspended, not taking a snapshot, and not ending."""
        ...

    def poll_termination(self) -> bool:
        """Take an operator's request to terminate the cluster. Each request is returned once."""
        ...

    def nomination_delay_ns(self, limit_ns: int) -> int:
        """Draw the wait before a ballot, from 0 up to ``limit_ns``, exclusive."""
        ...

    def adopt(
        self, now_ns: int, action: str, x: Input, sender: int, number: int, outcome: Outcome
    ) -> None:
        """Record a step, and carry out its effects in their order.

        Parameters
        ----------
        now_ns
            The time of the cycle.
        action, x
            The action and its input.
        sender, number
            The sender and the number of the consumed message, or -1.
        outcome
            The state after the step, and its effects. The state holds once this call returns.
        """
        ...


EVENT_LENGTH: Final = 96
"""Bytes of a NewLeadershipTermEvent in the log, with its frame."""

ACTION_OF: Final[Mapping[ElectionState, str]] = {
    state: "".join(word.capitalize() for word in state.value.split("_"))
    for state in ElectionState
    if state not in (ElectionState.INIT, ElectionState.CLOSED)
} | {ElectionState.INIT: "ElectionInit"}
"""The action of each election state."""

_LEADER_WAITS: Final = (ElectionState.LEADER_LOG_REPLICATION, ElectionState.LEADER_READY)
"""The election states in which a leader waits for a quorum."""

_READ_ACTIVE: Final = (CanvassPosition, RequestVote)
"""The messages whose handlers read the active members, for the quorum position in the answer."""


class Termination:
    """A termination of the cluster that a leader has initiated.

    Parameters
    ----------
    i, member_count
        The leader's id, and the number of members.
    term
        The leader's term.
    deadline_ns
        The leader ends at this time at the latest.
    """

    def __init__(self, i: int, member_count: int, term: int, deadline_ns: int) -> None:
        self._ended = {i}
        self.term = term
        self._count, self._deadline_ns = member_count, deadline_ns

    def on_message(self, message: Message) -> None:
        """Note the sender of a `TerminationAck` of this term; ignore other messages."""
        if isinstance(message, TerminationAck) and message.leadership_term_id == self.term:
            self._ended.add(message.member_id)

    def is_complete(self, now_ns: int) -> bool:
        """Whether all members have ended, or the deadline has passed: the leader may end."""
        return len(self._ended) == self._count or now_ns >= self._deadline_ns


class DutyCycle:
    """The consensus module of one process of one member.

    Parameters
    ----------
    rules, i, timing
        The protocol, the member's own id, its durations.
    found
        The state that the process finds on its disk.
    port
        Everything outside of the duty cycle.
    step
        The protocol core.

    Attributes
    ----------
    member
        The protocol state.
    clocks
        When the member last received and sent messages, and when it changed its state.
    slow_tick_deadline_ns
        When the next slow tick work is due.
    """

    def __init__(
        self,
        rules: Rules,
        i: int,
        timing: Timing,
        found: Member,
        port: Port,
        step: StepFunction = core.step,
    ) -> None:
        self._rules, self._id, self._timing, self._port, self._step = rules, i, timing, port, step
        self.member = found
        self.clocks = Clocks(rules, timing, i, port.nomination_delay_ns)
        self._snapshot_position = NULL_VALUE
        self._idle: tuple[Member, str, Input] | None = None
        self.slow_tick_deadline_ns = 0
        self._termination: Termination | None = None

    def start(self, now_ns: int) -> None:
        """Take the ``Restart`` step, with the data on disk."""
        self.clocks.now_ns = now_ns
        self._take("Restart")
        self.slow_tick_deadline_ns = now_ns + SLOW_TICK_NS

    def do_work(self, now_ns: int) -> bool:
        """Do one cycle. Return whether there was anything to do.

        Notes
        -----
        Source: ``ConsensusModuleAgent.doWork``, ``slowTickWork``, ``consensusWork``.
        """
        self.clocks.now_ns = now_ns
        worked = False
        if now_ns >= self.slow_tick_deadline_ns:
            worked = self._slow_tick()
            self.slow_tick_deadline_ns = now_ns + (1 if worked else SLOW_TICK_NS)
        for _ in range(CONSENSUS_FRAGMENT_LIMIT):
            received = self._port.poll()
            if received is None:
                break
            self._on_message(received)
            worked = True
        if in_election(self.member):
            self.take_up_recording()
            return self.election_work() or worked
        if self.member.module_state is ModuleState.ACTIVE:
            return self._consensus_work() or worked
        return worked

    def fail(self, now_ns: int) -> bool:
        """Let the election fail with an error. Return false if no election runs.

        Notes
        -----
        Source: ``Election.handleError``.
        """
        self.clocks.now_ns = now_ns
        self.take_up_recording()
        return self._take("ElectionError")

    def _slow_tick(self) -> bool:
        worked = self.take_up_recording()
        s = self.member
        if s.module_state is not ModuleState.ACTIVE or in_election(s):
            return worked
        if s.role is Role.LEADER:
            return self._leader_slow_tick(s) or worked
        if s.termination_position == NULL_VALUE and self.clocks.has_lost_leader():
            return self._take("EnterElection")
        return worked

    def _leader_slow_tick(self, s: Member) -> bool:
        """Initiate or complete a termination, or start an election if the quorum is lost.

        A leader that terminates the cluster needs no quorum.
        """
        term, now_ns = s.module_leadership_term_id, self.clocks.now_ns
        if self._termination is not None and self._termination.term == term:
            return self._termination.is_complete(now_ns) and self._take("Terminate")
        if self._port.poll_termination() and self._take("InitiateTermination"):
            until_ns = now_ns + self._timing.termination_timeout_ns
            self._termination = Termination(self._id, self._rules.member_count, term, until_ns)
            return True
        active = self.clocks.active() | {self._id}
        if not self._port.is_active() or is_quorum(len(active), self._rules.member_count):
            return False  # As in Aeron, a suspended leader does not check for a quorum.
        return self._take("EnterElection")

    def _on_message(self, received: Received) -> None:
        self.take_up_recording()
        message = received.message
        self.clocks.on_message(self.member, received.sender, message)
        active: frozenset[int] = frozenset()
        if isinstance(message, _READ_ACTIVE):
            active = self.clocks.active()
        if self._termination is not None:
            self._termination.on_message(message)
        x = replace(NO_INPUT, message=message, active=active)
        self._take(f"On{type(message).__name__}", x, received.sender, received.number)

    # Steps.

    def take_up_recording(self) -> bool:
        """Take a ``RecordLog`` step, if the archive has recorded more than the state says.

        This comes before every step that may begin an election, because an election truncates the
        recording at the recorded position of the state.
        """
        position = self._port.recorded_position()
        if position <= self.member.recorded_position:
            return False
        return self._take("RecordLog", replace(NO_INPUT, position=position))

    def _take(
        self, action: str, x: Input = NO_INPUT, sender: int = NULL_VALUE, number: int = NULL_VALUE
    ) -> bool:
        """Take a step. Return false if it is not enabled, or if it has no effect and no change."""
        before = self.member
        outcome = self._step(self._rules, self._id, before, action, x)
        if outcome is None:
            return False
        if x.message is None and not outcome.effects and outcome.next == before:
            return False
        self._port.adopt(self.clocks.now_ns, action, x, sender, number, outcome)
        self.member = outcome.next
        if outcome.next.publication_position == NULL_VALUE:
            self._snapshot_position = NULL_VALUE
        self.clocks.on_transition(before, outcome.next)
        return True

    def _take_unless_idle(self, action: str, x: Input) -> bool:
        """Take a step, unless the last attempt at the same step in the same state did nothing."""
        if self._idle is not None:
            state, last_action, last_input = self._idle
            if state is self.member and last_action == action and last_input == x:
                return False
        if self._take(action, x):
            self._idle = None
            return True
        self._idle = self.member, action, x
        return False

    # Election work.

    def election_work(self) -> bool:
        """Do the work of the election state. Return whether there was anything to do.

        Notes
        -----
        Source: ``Election.doWork``.
        """
        work = _WORK_OF.get(self.member.election_state, DutyCycle._tick)
        return work(self)

    def _tick(self, *, interval: bool | None = None, timeout: bool | None = None) -> bool:
        """Take the step of the election state. By default the clocks give interval and timeout."""
        s, clocks = self.member, self.clocks
        reads_interval = s.election_state in (ElectionState.CANVASS, ElectionState.NOMINATE)
        due = clocks.interval(s) if interval is None and reads_interval else bool(interval)
        late = clocks.state_timeout(s) if timeout is None else timeout
        x = Input(interval=due, timeout=late) if due or late else NO_INPUT
        worked = self._take_unless_idle(ACTION_OF[s.election_state], x)
        if worked and due and self.member.election_state is s.election_state:
            clocks.last_update_ns = clocks.now_ns
        return worked

    def _candidate_ballot(self) -> bool:
        s = self.member
        unsent = (j for j, record in enumerate(s.members) if not record.ballot_sent)
        accepted = frozenset(j for j in unsent if self._port.accepts(j))
        x = Input(timeout=self.clocks.state_timeout(s), accepted=accepted)
        return self._take_unless_idle("CandidateBallot", x)

    def _leader(self) -> bool:
        s, clocks = self.member, self.clocks
        clocks.heard_ns[self._id] = clocks.now_ns
        worked = False
        if s.election_state is ElectionState.LEADER_REPLAY:
            worked = self._poll_log()
            s = self.member
        active, action = clocks.active(), ACTION_OF[s.election_state]
        reached = bounded_quorum_position(
            self._rules, s, s.leadership_term_id, s.append_position, active
        )
        waits = s.election_state in _LEADER_WAITS and self._rules.sets_deadlines
        if waits and clocks.has_stalled(reached):
            return self._take("ElectionError")
        interval, commit_interval = clocks.interval(s), clocks.commit_interval(reached)
        x = Input(
            interval=interval,
            commit_interval=commit_interval,
            timeout=clocks.state_timeout(s),
            active=active,
        )
        opening = replace(x, position=s.publication_position + EVENT_LENGTH)
        ready = s.election_state is ElectionState.LEADER_READY
        taken = ready and self._take_unless_idle(action, opening)
        taken = taken or self._take_unless_idle(action, x)
        if taken and commit_interval:
            clocks.last_published_commit_position = reached
        if taken and self.member.election_state is s.election_state:
            clocks.last_update_ns = clocks.now_ns if interval else clocks.last_update_ns
            clocks.last_commit_ns = clocks.now_ns if commit_interval else clocks.last_commit_ns
        return taken or worked

    def _report(self) -> bool:
        """Take the step of the election state. It reports the recorded position once an interval,
        and whenever the position has risen.
        """
        position = self.member.recorded_position
        due = self.clocks.append_interval(position)
        worked = self._tick(interval=due, timeout=False)
        if worked and due:
            self.clocks.last_published_append_position = position
        return worked

    def _follower_log_replication(self) -> bool:
        s, clocks = self.member, self.clocks
        if not s.log_replication:
            timeout_ns = self._timing.leader_heartbeat_timeout_ns
            clocks.replication_deadline_ns = clocks.now_ns + timeout_ns
            return self._tick(interval=False, timeout=False)
        if s.recorded_position < s.replication_stop_position:
            if clocks.has_stalled(s.recorded_position):
                return self._take("ElectionError")
        elif (
            s.notified_commit_position < s.recorded_position
            and clocks.now_ns >= clocks.replication_deadline_ns
        ):
            return self._take("ElectionError")
        return self._report()

    def _follower_replay(self) -> bool:
        worked = self._poll_log()
        stalled = self.clocks.has_stalled(self.member.commit_position)
        if not worked and stalled and self._rules.sets_deadlines:
            return self._take("ElectionError")
        return self._report() or worked

    def _follower_sends(self) -> bool:
        """Take the step of the election state once the transport accepts its message.

        The election fails if the state has lasted for a heartbeat timeout.
        """
        if self._port.accepts(self.member.leader_member_id):
            return self._tick(interval=False, timeout=False)
        return self.clocks.is_overdue() and self._take("ElectionError")

    def _follower_awaits_log(self) -> bool:
        s = self.member
        joined = self._port.log_join_position()
        if joined == NULL_VALUE:
            return self.clocks.is_overdue() and self._take("ElectionError")
        if joined != s.commit_position or joined != s.recorded_position:
            return self._take("ElectionError")  # The recording cannot continue from there.
        return self._tick(interval=False, timeout=False)

    def _follower_catchup(self) -> bool:
        self._port.add_live_destination()  # Aeron waits until the live log is near.
        worked = self._poll_log()
        stalled = self.clocks.has_stalled(self.member.commit_position)
        if not worked and (stalled or self._port.log_closed() is not None):
            return self._take("ElectionError")
        return self._report() or worked

    # The log.

    def _poll_log(self) -> bool:
        """Process the log up to `consume_bound`, within the limit of one cycle."""
        left = LOG_FRAGMENT_LIMIT
        while left > 0:
            s = self.member
            bound = consume_bound(s)
            if s.commit_position >= bound:
                break
            part = self._port.log_part(s.commit_position, bound, left)
            if part is None:
                break
            left -= part.count
            x = Input(
                position=part.position,
                entry_position=part.entry_position,
                leadership_term_id=part.leadership_term_id,
                term_base_log_position=part.term_base_log_position,
            )
            opens_term = part.leadership_term_id != NULL_VALUE
            action = "OnReplayNewLeadershipTermEvent" if opens_term else "ConsumeLog"
            if not self._take(action, x):
                break
            if part.snapshot:
                self._take("TakeSnapshot")
                break
        return left < LOG_FRAGMENT_LIMIT

    # Consensus work.

    def _consensus_work(self) -> bool:
        if self.member.role is Role.LEADER:
            return self._leader_work()
        self.take_up_recording()
        if self.member.termination_position != NULL_VALUE and self._take("Terminate"):
            return True
        worked = self._poll_log()
        if not worked:
            in_good_order = self._port.log_closed()
            if in_good_order is not None:
                leader = self.member.leader_member_id if in_good_order else NULL_VALUE
                return self._take("EnterElection", Input(graceful_closed_leader_id=leader))
        position, clocks = self.member.recorded_position, self.clocks
        if not clocks.append_is_due(position):
            return worked
        sent = self._take("UpdateFollowerPosition")
        clocks.last_append_send_ns = clocks.now_ns
        clocks.last_published_append_position = position
        return sent or worked

    def _leader_work(self) -> bool:
        clocks = self.clocks
        worked = self._poll_ingress()
        self.take_up_recording()
        clocks.heard_ns[self._id] = clocks.now_ns
        due, before = clocks.commit_is_due(), self.member.commit_position
        x = replace(NO_INPUT, commit_interval=due, active=clocks.active())
        if self._take_unless_idle("UpdateLeaderPosition", x):
            if due or self.member.commit_position != before:
                clocks.last_commit_ns = clocks.now_ns
            worked = True
        if self._snapshot_position != NULL_VALUE:
            worked = self._leader_snapshot() or worked
        return worked

    def _poll_ingress(self) -> bool:
        """Append the offered entries. After a request for a snapshot, append none until the
        snapshot is taken.
        """
        for done in range(INGRESS_FRAGMENT_LIMIT):
            if self._snapshot_position != NULL_VALUE:
                return done > 0
            offer = self._port.poll_ingress()
            if offer is None:
                return done > 0
            position = self.member.publication_position + offer.length
            x = replace(NO_INPUT, position=position)
            if self._take("AppendEntry", x) and offer.snapshot:
                self._snapshot_position = position
        return True

    def _leader_snapshot(self) -> bool:
        if self.member.commit_position < self._snapshot_position:
            return False
        self._snapshot_position = NULL_VALUE
        return self._take("TakeSnapshot")


_WORK_OF: Final[Mapping[ElectionState, Callable[[DutyCycle], bool]]] = {
    ElectionState.FOLLOWER_LOG_REPLICATION: DutyCycle._follower_log_replication,
    ElectionState.FOLLOWER_REPLAY: DutyCycle._follower_replay,
    ElectionState.FOLLOWER_CATCHUP_INIT: DutyCycle._follower_sends,
    ElectionState.FOLLOWER_CATCHUP_AWAIT: DutyCycle._follower_awaits_log,
    ElectionState.FOLLOWER_CATCHUP: DutyCycle._follower_catchup,
    ElectionState.FOLLOWER_LOG_AWAIT: DutyCycle._follower_awaits_log,
    ElectionState.FOLLOWER_READY: DutyCycle._follower_sends,
    ElectionState.CANDIDATE_BALLOT: DutyCycle._candidate_ballot,
    ElectionState.LEADER_LOG_REPLICATION: DutyCycle._leader,
    ElectionState.LEADER_REPLAY: DutyCycle._leader,
    ElectionState.LEADER_READY: DutyCycle._leader,
}
"""The work of each election state that does more than `DutyCycle._tick`."""

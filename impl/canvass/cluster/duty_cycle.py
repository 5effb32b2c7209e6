"""The duty cycle of one member: what the consensus module does, in which order, around the core.

Each cycle reads the clock once, does slow tick work when that is due, polls consensus messages, and
then does election work or consensus work. Clocks become facts here (`canvass.cluster.clocks`), and
everything outside is reached through a port (`canvass.cluster.ports`). What a step means is decided
in the core and nowhere else.

Sessions, timers, services' messages and the control toggles are the business of the consensus
module behind the port (`canvass.node.consensus_module`); the mark file is its process's.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from canvass.cluster.member import NO_INPUT, Input, Member, ModuleState, Role
from canvass.cluster.messages import (
    NULL_VALUE,
    CanvassPosition,
    Message,
    RequestVote,
    TerminationAck,
)
from canvass.cluster.ports import Received
from canvass.cluster.predicates import in_election
from canvass.cluster.quorum import is_quorum
from canvass.cluster.stepping import ElectionWork
from canvass.cluster.timing import (
    CONSENSUS_FRAGMENT_LIMIT,
    INGRESS_FRAGMENT_LIMIT,
    SLOW_TICK_NS,
)


class Termination:
    """A termination that runs.

    Parameters
    ----------
    i, member_count
        The leader, and how many members there are.
    term
        The term in which it was asked for.
    deadline_ns
        When the leader ends at the latest.
    """

    def __init__(self, i: int, member_count: int, term: int, deadline_ns: int) -> None:
        self._ended = {i}
        self.term = term
        self._count, self._deadline_ns = member_count, deadline_ns

    def on_message(self, message: Message) -> None:
        """Note who says that it has ended; any other message is passed over."""
        if isinstance(message, TerminationAck) and message.leadership_term_id == self.term:
            self._ended.add(message.member_id)

    def is_complete(self, now_ns: int) -> bool:
        """Whether the leader may end now."""
        return len(self._ended) == self._count or now_ns >= self._deadline_ns


_ASKS_WHO_IS_ACTIVE: Final = (CanvassPosition, RequestVote)
"""The messages whose handling depends on who has been heard of: a leader answers with its quorum
position."""


class DutyCycle(ElectionWork):
    """The consensus module of one process of one member; it is made as `Stepping` is."""

    slow_tick_deadline_ns = 0
    """When the next cycle is due, if nothing happens before."""
    _termination: Termination | None = None

    def start(self, now_ns: int) -> None:
        """Start the process on what is on disk."""
        self.clocks.now_ns = now_ns
        self._take("Restart")
        self.slow_tick_deadline_ns = now_ns + SLOW_TICK_NS

    def do_work(self, now_ns: int) -> bool:
        """Do one cycle; say whether there was anything to do.

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
        """Let the election that runs fail with an error; false if none runs.

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
        """Terminate if that is asked for; a leader that terminates no longer needs a quorum."""
        term, now_ns = s.module_leadership_term_id, self.clocks.now_ns
        if self._termination is not None and self._termination.term == term:
            return self._termination.is_complete(now_ns) and self._take("Terminate")
        if self._port.poll_termination() and self._take("InitiateTermination"):
            until_ns = now_ns + self._timing.termination_timeout_ns
            self._termination = Termination(self._id, self._rules.member_count, term, until_ns)
            return True
        active = self.clocks.active() | {self._id}
        if not self._port.is_active() or is_quorum(len(active), self._rules.member_count):
            return False  # As in Aeron, a leader that is suspended looks for no quorum.
        return self._take("EnterElection")

    def _on_message(self, received: Received) -> None:
        self.take_up_recording()
        message = received.message
        self.clocks.on_message(self.member, received.sender, message)
        active: frozenset[int] = frozenset()
        if isinstance(message, _ASKS_WHO_IS_ACTIVE):
            active = self.clocks.active()
        if self._termination is not None:
            self._termination.on_message(message)
        x = replace(NO_INPUT, message=message, active=active)
        self._take(f"On{type(message).__name__}", x, received.sender, received.number)

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
        """Write what is offered; after a request for a snapshot nothing, until that is taken."""
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

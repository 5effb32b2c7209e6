"""How a member takes the steps of the core, and the steps of its election.

A step has an input and is adopted by the port, if it is enabled. `canvass.cluster.duty_cycle`
decides when the election and the other work have their turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from msgspec.structs import replace

from canvass.cluster import core
from canvass.cluster.clocks import Clocks
from canvass.cluster.member import NO_INPUT, ElectionState, Input, Member
from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.ports import Port, StepFunction
from canvass.cluster.predicates import bounded_quorum_position
from canvass.cluster.replication import consume_bound
from canvass.cluster.rules import Rules
from canvass.cluster.timing import LOG_FRAGMENT_LIMIT, Timing


class Stepping:
    """One process of one member that takes steps.

    Parameters
    ----------
    rules, i, timing
        The protocol, the member's own id, its timers.
    found
        What is on disk.
    port
        The world.
    step
        The protocol core.

    Attributes
    ----------
    member
        The protocol state.
    clocks
        When the member last heard, sent and changed.
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

    def take_up_recording(self) -> bool:
        """Take note of what the archive has recorded; false if there is nothing new.

        Every step that may begin an election comes after this: the election would truncate what the
        archive has recorded and the module has not noted.
        """
        position = self._port.recorded_position()
        if position <= self.member.recorded_position:
            return False
        return self._take("RecordLog", replace(NO_INPUT, position=position))

    def _take(
        self, action: str, x: Input = NO_INPUT, sender: int = NULL_VALUE, number: int = NULL_VALUE
    ) -> bool:
        """Take a step. False if it is not enabled, or would change and send nothing."""
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
        """Take a step, unless the same one did nothing just now and nothing has changed since."""
        if self._idle is not None:
            state, last_action, last_input = self._idle
            if state is self.member and last_action == action and last_input == x:
                return False
        if self._take(action, x):
            self._idle = None
            return True
        self._idle = self.member, action, x
        return False

    def _poll_log(self) -> bool:
        """Process the log as far as that is allowed now, within the limit of one cycle."""
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
            if part.leadership_term_id == NULL_VALUE:
                taken = self._take("ConsumeLog", replace(NO_INPUT, position=part.position))
            else:
                x = Input(
                    position=part.position,
                    leadership_term_id=part.leadership_term_id,
                    term_base_log_position=part.term_base_log_position,
                )
                taken = self._take("OnReplayNewLeadershipTermEvent", x)
            if not taken:
                break
            if part.snapshot:
                self._take("TakeSnapshot")
                break
        return left < LOG_FRAGMENT_LIMIT


EVENT_LENGTH: Final = 96
"""Bytes of a NewLeadershipTermEvent in the log, with its frame."""

ACTION_OF: Final[Mapping[ElectionState, str]] = {
    state: "".join(word.capitalize() for word in state.value.split("_"))
    for state in ElectionState
    if state not in (ElectionState.INIT, ElectionState.CLOSED)
} | {ElectionState.INIT: "ElectionInit"}
"""The step of each election state."""

_LEADER_WAITS: Final = (ElectionState.LEADER_LOG_REPLICATION, ElectionState.LEADER_READY)
"""The election states in which a leader waits for a quorum."""


class ElectionWork(Stepping):
    """The part of a duty cycle that is done while an election runs."""

    def election_work(self) -> bool:
        """Do the work of the election state; say whether there was anything to do.

        Notes
        -----
        Source: ``Election.doWork``.
        """
        work = _WORK_OF.get(self.member.election_state, ElectionWork._tick)
        return work(self)

    def _tick(self, *, interval: bool | None = None, timeout: bool | None = None) -> bool:
        """Take the step of the election state, with the facts of the clocks."""
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
        """Take the step of a state that reports what is recorded: at intervals and on changes."""
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
        """Take a step once the transport accepts its message; fail if that takes too long."""
        if self._port.accepts(self.member.leader_member_id):
            return self._tick(interval=False, timeout=False)
        return self.clocks.is_overdue() and self._take("ElectionError")

    def _follower_awaits_log(self) -> bool:
        s = self.member
        joined = self._port.log_join_position()
        if joined == NULL_VALUE:
            return self.clocks.is_overdue() and self._take("ElectionError")
        if joined != s.commit_position or joined != s.recorded_position:
            return self._take("ElectionError")  # Nothing can be recorded from there on.
        return self._tick(interval=False, timeout=False)

    def _follower_catchup(self) -> bool:
        self._port.add_live_destination()  # Aeron waits until that is near; here it always is.
        worked = self._poll_log()
        stalled = self.clocks.has_stalled(self.member.commit_position)
        if not worked and (stalled or self._port.log_closed() is not None):
            return self._take("ElectionError")
        return self._report() or worked


_WORK_OF: Final[Mapping[ElectionState, Callable[[ElectionWork], bool]]] = {
    ElectionState.FOLLOWER_LOG_REPLICATION: ElectionWork._follower_log_replication,
    ElectionState.FOLLOWER_REPLAY: ElectionWork._follower_replay,
    ElectionState.FOLLOWER_CATCHUP_INIT: ElectionWork._follower_sends,
    ElectionState.FOLLOWER_CATCHUP_AWAIT: ElectionWork._follower_awaits_log,
    ElectionState.FOLLOWER_CATCHUP: ElectionWork._follower_catchup,
    ElectionState.FOLLOWER_LOG_AWAIT: ElectionWork._follower_awaits_log,
    ElectionState.FOLLOWER_READY: ElectionWork._follower_sends,
    ElectionState.CANDIDATE_BALLOT: ElectionWork._candidate_ballot,
    ElectionState.LEADER_LOG_REPLICATION: ElectionWork._leader,
    ElectionState.LEADER_REPLAY: ElectionWork._leader,
    ElectionState.LEADER_READY: ElectionWork._leader,
}
"""What is done in an election state beyond taking its step."""

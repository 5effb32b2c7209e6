"""A member's timeouts, intervals and limits, and its clocks: when it last received and sent
messages, and when it changed its state.

Only this module, which applies most of the times, and the duty cycle know times. From the clocks
follow the facts in a step's input, such as "the deadline has passed", and the core sees only these.
A clock has the name of Aeron's field if there is one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Final

from canvass.cluster.member import ElectionState, Member, Role
from canvass.cluster.messages import (
    NULL_VALUE,
    AppendPosition,
    CanvassPosition,
    CommitPosition,
    Message,
    NewLeadershipTerm,
    TerminationPosition,
    Vote,
)
from canvass.cluster.predicates import in_election, is_at, is_closed
from canvass.cluster.rules import Rules

MILLISECOND_NS: Final = 1_000_000
SECOND_NS: Final = 1_000 * MILLISECOND_NS

SLOW_TICK_NS: Final = 10 * MILLISECOND_NS
"""The interval of slow tick work. A constant in Aeron."""
CONSENSUS_FRAGMENT_LIMIT: Final = 10
"""The most consensus messages that one duty cycle polls."""
INGRESS_FRAGMENT_LIMIT: Final = 50
LOG_FRAGMENT_LIMIT: Final = 50


@dataclass(frozen=True, slots=True)
class Timing:
    """The durations of a cluster's configuration, with Aeron's defaults.

    Raises
    ------
    ValueError
        If a duration is not positive, or if the startup canvass timeout is less than two leader
        heartbeat timeouts.
    """

    startup_canvass_timeout_ns: int = 60 * SECOND_NS
    """The time that the first CANVASS of a process waits for all members."""
    election_timeout_ns: int = SECOND_NS
    """The duration of a ballot. The nomination delay is drawn from 0 up to half of it."""
    election_status_interval_ns: int = 100 * MILLISECOND_NS
    leader_heartbeat_timeout_ns: int = 10 * SECOND_NS
    leader_heartbeat_interval_ns: int = 200 * MILLISECOND_NS
    termination_timeout_ns: int = 10 * SECOND_NS
    """The time that a leader that terminates the cluster waits for its followers."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) <= 0:
                raise ValueError(f"{field.name} must be positive")
        if self.startup_canvass_timeout_ns < 2 * self.leader_heartbeat_timeout_ns:
            raise ValueError("startup_canvass_timeout_ns must be two leader heartbeat timeouts")

    def divided(self, by: int) -> Timing:
        """The timing with every duration divided by ``by``."""
        return Timing(*(getattr(self, field.name) // by for field in fields(self)))


LONG_AGO_NS: Final = -(1 << 62)
"""A time before all others: a message that was never sent is due at once."""

_CANVASSING: Final = (ElectionState.CANVASS, ElectionState.NOMINATE)
_BALLOTS: Final = (ElectionState.CANDIDATE_BALLOT, ElectionState.FOLLOWER_BALLOT)


class Clocks:
    """The clocks of one process of one member.

    Parameters
    ----------
    rules, timing
        The rules and durations of the cluster.
    i
        The member's own id.
    draw
        Draws the nomination delay, see `canvass.cluster.duty_cycle.Port.nomination_delay_ns`.

    Notes
    -----
    Source: the times that ``ConsensusModuleAgent``, ``Election`` and ``ClusterMember`` keep.
    """

    def __init__(self, rules: Rules, timing: Timing, i: int, draw: Callable[[int], int]) -> None:
        self._rules, self._timing, self._id, self._draw = rules, timing, i, draw
        self.now_ns = 0
        self.heard_ns = [LONG_AGO_NS] * rules.member_count
        self.last_leader_update_ns = LONG_AGO_NS
        self.last_log_update_ns = LONG_AGO_NS
        self.last_state_change_ns = 0
        self.last_update_ns = LONG_AGO_NS
        self.last_commit_ns = LONG_AGO_NS
        self.last_append_send_ns = LONG_AGO_NS
        self.last_published_commit_position = 0
        self.last_published_append_position = 0
        self.replication_deadline_ns = 0
        self.nomination_deadline_ns = 0
        self._extended_canvass = True
        self._progress_position = NULL_VALUE
        self._progress_ns = 0

    def active(self) -> frozenset[int]:
        """The members heard from within the heartbeat timeout (``ClusterMember.isActive``)."""
        since = self.now_ns - self._timing.leader_heartbeat_timeout_ns
        return frozenset(j for j, heard in enumerate(self.heard_ns) if heard > since)

    def on_message(self, s: Member, sender: int, m: Message) -> None:
        """Note the arrival of a message, before its handler runs in state ``s``."""
        if isinstance(m, NewLeadershipTerm | CommitPosition):
            self._on_leader_message(s, m)
        elif isinstance(m, TerminationPosition):
            if s.role is Role.FOLLOWER and m.leadership_term_id == s.module_leadership_term_id:
                self.last_log_update_ns = self.now_ns
        elif self._updates_record(s, m):
            self.heard_ns[sender] = self.now_ns

    def _on_leader_message(self, s: Member, m: NewLeadershipTerm | CommitPosition) -> None:
        if m.leadership_term_id >= s.module_leadership_term_id and self._would_follow(s, m):
            self.last_leader_update_ns = self.now_ns
        ours = m.leader_member_id == s.leader_member_id
        if ours and is_closed(s, Role.FOLLOWER):
            if m.leadership_term_id == s.module_leadership_term_id:
                self.last_log_update_ns = self.now_ns
        elif ours and is_at(s, ElectionState.FOLLOWER_LOG_REPLICATION):
            about_ours = (
                isinstance(m, CommitPosition)
                or m.log_leadership_term_id == s.log_leadership_term_id
            )
            if about_ours:
                timeout_ns = self._timing.leader_heartbeat_timeout_ns
                self.replication_deadline_ns = self.now_ns + timeout_ns

    def _would_follow(self, s: Member, m: NewLeadershipTerm | CommitPosition) -> bool:
        """Whether a leader's message keeps a canvassing member from becoming a candidate.

        Every such message does whose term is not below the module's leadership term, which the
        caller checks, unless the rules are hardened against HZ3. Then a member does not follow a
        leader whose term is below its own candidate term. A leader that has no quorum for this
        reason must not make the members wait for it.
        """
        canvasses = is_at(s, ElectionState.CANVASS) and self._rules.is_hardened("HZ3")
        return not canvasses or m.leadership_term_id >= s.candidate_term_id

    def _updates_record(self, s: Member, m: Message) -> bool:
        """Whether the handler of the message makes the member count its sender as active."""
        elects = in_election(s)
        if elects and s.election_state is ElectionState.INIT:
            return False
        leads = is_closed(s, Role.LEADER)
        match m:
            case CanvassPosition(log_leadership_term_id=term):
                noted = leads and term <= s.module_leadership_term_id
                return elects or (noted and not self._rules.is_149)
            case AppendPosition(leadership_term_id=term):
                if elects:
                    return term <= s.leadership_term_id
                return leads and term <= s.module_leadership_term_id
            case Vote(candidate_term_id=term, candidate_member_id=candidate):
                asked = is_at(s, ElectionState.CANDIDATE_BALLOT)
                return asked and term == s.candidate_term_id and candidate == self._id
            case _:
                return False

    def on_transition(self, before: Member, after: Member) -> None:
        """Note a change of the election state."""
        if after.election_state is before.election_state:
            return
        if before.election_state is ElectionState.CANVASS:
            self._extended_canvass = False
        self.last_state_change_ns = self.now_ns
        self.last_update_ns = self.last_commit_ns = LONG_AGO_NS
        self._progress_position, self._progress_ns = NULL_VALUE, self.now_ns
        match after.election_state:
            case ElectionState.NOMINATE:
                limit_ns = max(1, self._timing.election_timeout_ns // 2)
                self.nomination_deadline_ns = self.now_ns + self._draw(limit_ns)
            case ElectionState.INIT | ElectionState.CANVASS:
                self.last_published_commit_position = self.last_published_append_position = 0
            case ElectionState.CLOSED:
                self._extended_canvass = False
                self.last_log_update_ns = self.last_append_send_ns = self.now_ns
                self.last_published_append_position = after.recorded_position
            case _:
                pass

    def state_timeout(self, s: Member) -> bool:
        """Whether the deadline of the election state has passed; false if it has none."""
        now_ns, timing, entered_ns = self.now_ns, self._timing, self.last_state_change_ns
        match s.election_state:
            case ElectionState.CANVASS:
                if self._extended_canvass:
                    return now_ns >= entered_ns + timing.startup_canvass_timeout_ns
                return now_ns >= self.last_leader_update_ns + timing.leader_heartbeat_timeout_ns
            case ElectionState.NOMINATE:
                return now_ns >= self.nomination_deadline_ns
            case ElectionState.CANDIDATE_BALLOT | ElectionState.FOLLOWER_BALLOT:
                return now_ns >= entered_ns + timing.election_timeout_ns
            case ElectionState.LEADER_READY:
                return self._rules.is_149 and self.is_overdue()
            case _:
                return False

    def is_overdue(self) -> bool:
        """Whether the election state has lasted for a heartbeat timeout."""
        return self.now_ns >= self.last_state_change_ns + self._timing.leader_heartbeat_timeout_ns

    def interval(self, s: Member) -> bool:
        """Whether the repeated message of the election state is due."""
        interval_ns = self._timing.leader_heartbeat_interval_ns
        if s.election_state in _CANVASSING:
            interval_ns = self._timing.election_status_interval_ns
        elif s.election_state in _BALLOTS:
            return False
        return self.now_ns >= self.last_update_ns + interval_ns

    def append_interval(self, position: int) -> bool:
        """Whether a report in an election is due: the position has advanced, or an interval has
        passed.
        """
        if position > self.last_published_append_position:
            return True
        return self.now_ns >= self.last_update_ns + self._timing.leader_heartbeat_interval_ns

    def commit_interval(self, reached: int) -> bool:
        """Whether a leader in its election publishes the quorum position ``reached``.

        It does if the position has risen, or if it is unchanged and an interval has passed.
        """
        if reached != self.last_published_commit_position:
            return reached > self.last_published_commit_position
        return self.now_ns >= self.last_commit_ns + self._timing.leader_heartbeat_interval_ns

    def has_stalled(self, position: int) -> bool:
        """Whether a position has not advanced for a heartbeat timeout. Call this in each cycle."""
        if position > self._progress_position:
            self._progress_position, self._progress_ns = position, self.now_ns
            return False
        return self.now_ns >= self._progress_ns + self._timing.leader_heartbeat_timeout_ns

    def has_lost_leader(self) -> bool:
        """Whether a follower has not heard from its leader for a heartbeat timeout.

        Notes
        -----
        Source: ``ConsensusModuleAgent.slowTickWork``.
        """
        timeout_ns = self._timing.leader_heartbeat_timeout_ns
        return self.now_ns >= self.last_log_update_ns + timeout_ns

    def commit_is_due(self) -> bool:
        """Whether a closed leader must repeat its commit position.

        Notes
        -----
        Source: ``ConsensusModuleAgent.updateLeaderPosition``.
        """
        return self.now_ns >= self.last_commit_ns + self._timing.leader_heartbeat_interval_ns

    def append_is_due(self, position: int) -> bool:
        """Whether a closed follower must report its recorded position.

        Notes
        -----
        Source: ``ConsensusModuleAgent.updateFollowerPosition``.
        """
        if position > self.last_published_append_position:
            return True
        return self.now_ns >= self.last_append_send_ns + self._timing.leader_heartbeat_interval_ns

"""The election of a member that has won the ballot: the steps of the leader's states.

A leader waits until a quorum has recorded its log, processes the log itself, opens its term, and
waits for a quorum in the term. A step that renews the leader's own record before it computes the
quorum position counts the leader as active. Other steps count it only if it is in ``x.active``.
"""

from __future__ import annotations

from collections.abc import Set

from msgspec.structs import replace

from canvass.cluster.effects import (
    AppendNewLeadershipTermEvent,
    Effects,
    JoinLog,
    Outcome,
    StartRecording,
    StartReplay,
    StopReplay,
    broadcast,
    record_terms,
)
from canvass.cluster.member import ElectionState, Input, Member
from canvass.cluster.messages import NULL_VALUE, CommitPosition
from canvass.cluster.predicates import (
    bounded_quorum_position,
    election_new_leadership_term,
    election_quorum_position,
    has_quorum_at_position,
    has_voters_at_position,
    is_at,
)
from canvass.cluster.replication import (
    commit_leader_position,
    leader_quorum_position,
    note_own_position,
)
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import election_complete, open_term, update_member_log_position


def _publish_leadership(
    rules: Rules, i: int, s: Member, x: Input, announces: bool, reached: int
) -> Effects:
    """Send NewLeadershipTerm if the leader ``announces`` itself, and CommitPosition if it is due.

    A timer and the value published last decide whether CommitPosition is due. Receivers keep the
    greatest value, so the spec leaves this to the input. 1.49 publishes in the module's term.
    """
    sends: Effects = ()
    if announces:
        message = election_new_leadership_term(rules, i, s, s.log_leadership_term_id, reached)
        sends += broadcast(i, rules.member_count, message)
    if x.commit_interval:
        term = s.module_leadership_term_id if rules.is_149 else s.leadership_term_id
        sends += broadcast(i, rules.member_count, CommitPosition(term, reached, i))
    return sends


def _quorum_position(rules: Rules, s: Member, active: Set[int]) -> int:
    return bounded_quorum_position(rules, s, s.leadership_term_id, s.append_position, active)


def _is_replicated(rules: Rules, s: Member, active: Set[int]) -> bool:
    """Whether a quorum has recorded the log, and, hardened against HZ5, opened the new term."""
    if rules.is_hardened("HZ5"):
        return has_quorum_at_position(rules, s, s.leadership_term_id, s.append_position, active)
    return _quorum_position(rules, s, active) >= s.append_position


def leader_log_replication(rules: Rules, i: int, s: Member, x: Input) -> Outcome | None:
    """Wait until a quorum has recorded the whole log of this leader.

    Notes
    -----
    There is no deadline (hazard L-A), and reports of every term count (hazard HZ1). Hardened
    against HZ5, the quorum must have opened the new term too. Source:
    ``Election.leaderLogReplication``.
    """
    # Refuse.
    if not is_at(s, ElectionState.LEADER_LOG_REPLICATION):
        return None

    # Decide.
    noted = note_own_position(i, s, s.append_position)
    active = x.active | {i}
    after = noted
    if _is_replicated(rules, noted, active):
        after = replace(noted, election_state=ElectionState.LEADER_REPLAY)

    # Effects.
    reached = election_quorum_position(rules, noted, active)
    return Outcome(after, _publish_leadership(rules, i, noted, x, x.interval, reached))


def leader_replay(rules: Rules, i: int, s: Member, x: Input) -> Outcome | None:
    """Replay its own log from the commit position to its end.

    Notes
    -----
    ``ConsumeLog`` and ``OnReplayNewLeadershipTermEvent`` process the replay. The whole log counts
    as committed because a quorum has reached its end, although no member has opened the new term
    yet: hazard HZ5. 1.49 forgets the followers' positions here. The leader renews its own record
    when the replay starts, and not while it runs. The leader always announces itself when it leaves
    the state, because the timer has been reset. Source: ``Election.leaderReplay``, ``state``.
    """
    # Refuse.
    if not is_at(s, ElectionState.LEADER_REPLAY):
        return None

    # Decide.
    starts = s.replay_stop_position == NULL_VALUE
    done = s.commit_position >= s.append_position
    noted, active = s, x.active
    if starts:
        members = s.members
        if rules.is_149:
            members = tuple(replace(record, log_position=NULL_VALUE) for record in members)
        members = update_member_log_position(members, i, s.leadership_term_id, s.append_position)
        noted, active = replace(s, members=members), active | {i}
    reached = _quorum_position(rules, noted, active)

    # Effects.
    sends = _publish_leadership(rules, i, noted, x, x.interval or done, reached)
    if done:
        after = replace(
            noted, election_state=ElectionState.LEADER_INIT, replay_stop_position=NULL_VALUE
        )
        return Outcome(after, (() if starts else (StopReplay(),)) + sends)
    if not starts:
        return Outcome(noted, sends)
    after = replace(noted, replay_stop_position=s.append_position)
    return Outcome(after, (StartReplay(s.commit_position, s.append_position), *sends))


def leader_init(_rules: Rules, _i: int, s: Member, _x: Input) -> Outcome | None:
    """Start recording its own log stream and open the term in the recording log.

    Notes
    -----
    This step makes the term durable at its leader. Aeron starts to record first; here the term is
    on disk before any of its entries is recorded. Source: ``Election.leaderInit``.
    """
    # Refuse.
    if not is_at(s, ElectionState.LEADER_INIT):
        return None

    # Effects.
    after = replace(
        s,
        election_state=ElectionState.LEADER_READY,
        module_leadership_term_id=s.leadership_term_id,
        log_leadership_term_id=s.leadership_term_id,
        recording_log=open_term(s, s.leadership_term_id, s.commit_position),
    )
    joined: Effects = (StartRecording(s.append_position), JoinLog(s.commit_position))
    return Outcome(after, record_terms(s, after) + joined)


def _is_ready(rules: Rules, i: int, s: Member, x: Input) -> bool:
    """Whether enough members have reported the leader's position in the new term."""
    term, position = s.leadership_term_id, s.append_position
    quorum = has_quorum_at_position(rules, s, term, position, x.active | {i})
    if rules.is_149:
        return has_voters_at_position(s, term, position) or (x.timeout and quorum)
    return quorum


def leader_ready(rules: Rules, i: int, s: Member, x: Input) -> Outcome | None:
    """Wait until a quorum has reported the leader's position in the new term, then write the first
    entry of the term and close the election.

    Notes
    -----
    ``x.position`` is the end of that entry, a NewLeadershipTermEvent, or -1 if the log stream
    accepts no entry. The step is not enabled if ``x.position`` is given without a quorum. A member
    that still copies older terms reports in the new term and counts: hazard HZ7. Source:
    ``Election.leaderReady``, ``ConsensusModuleAgent.updateLeaderPosition``.
    """
    # Refuse.
    if not is_at(s, ElectionState.LEADER_READY):
        return None

    # Decide.
    term, end = s.leadership_term_id, s.append_position
    reached = leader_quorum_position(rules, i, s, term, end, x.active)
    waiting, effects = commit_leader_position(rules, i, s, x, end, reached)
    opens = _is_ready(rules, i, waiting, x) and x.position > waiting.publication_position
    if x.position != NULL_VALUE and not opens:
        return None

    # Effects.
    if x.interval:
        log_term = waiting.log_leadership_term_id
        announced = election_new_leadership_term(rules, i, waiting, log_term, reached)
        effects += broadcast(i, rules.member_count, announced)
    if not opens:
        return Outcome(waiting, effects)
    event = AppendNewLeadershipTermEvent(
        s.leadership_term_id, waiting.publication_position, x.position
    )
    completed = election_complete(rules, replace(waiting, publication_position=x.position))
    return completed.after(*effects, event)

"""The election of one member that has won the ballot: what one duty cycle does in the states that
lead.

A leader waits until a quorum has recorded its log, processes that log itself, opens its term and
waits for a quorum in the term. Each step but LEADER_INIT is taken only by a member that counts
itself as active, as a leader always does.
"""

from __future__ import annotations

from canvass.cluster.copies import replace
from canvass.cluster.effects import (
    AppendNewLeadershipTermEvent,
    Effects,
    JoinLog,
    StartRecording,
    StartReplay,
    StopReplay,
)
from canvass.cluster.member import ElectionState, Input, Member
from canvass.cluster.messages import NULL_VALUE, CommitPosition
from canvass.cluster.outcome import Outcome, broadcast, record_terms
from canvass.cluster.predicates import (
    bounded_quorum_position,
    election_new_leadership_term,
    election_quorum_position,
    has_quorum_at_position,
    has_voters_at_position,
    is_at,
    is_heard_of,
)
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import (
    advance_commit,
    election_complete,
    open_term,
    update_member_log_position,
    with_record,
)


def _publish_new_leadership_term(
    rules: Rules, i: int, s: Member, x: Input, reached: int
) -> Effects:
    if not x.interval:
        return ()
    message = election_new_leadership_term(rules, i, s, s.log_leadership_term_id, reached)
    return broadcast(i, rules.member_count, message)


def _publish_commit_position(rules: Rules, i: int, term: int, x: Input, reached: int) -> Effects:
    """Publish the quorum position, when it is due.

    Whether it is due follows from a timer and the value last published; receivers keep the
    greatest, so it is left to the input.
    """
    if not x.commit_interval:
        return ()
    return broadcast(i, rules.member_count, CommitPosition(term, reached, i))


def _publish_leadership(rules: Rules, i: int, s: Member, x: Input, reached: int) -> Effects:
    announced = _publish_new_leadership_term(rules, i, s, x, reached)
    return announced + _publish_commit_position(rules, i, s.leadership_term_id, x, reached)


def _note_own_position(i: int, s: Member) -> Member:
    own = replace(s.members[i], log_position=s.append_position)
    return replace(s, members=with_record(s.members, i, own))


def _quorum_position(rules: Rules, s: Member, x: Input) -> int:
    return bounded_quorum_position(rules, s, s.leadership_term_id, s.append_position, x.active)


def _is_replicated(rules: Rules, s: Member, x: Input) -> bool:
    """Whether a quorum has recorded the log, and, hardened against HZ5, opened the new term."""
    if rules.is_hardened("HZ5"):
        term = s.leadership_term_id
        return has_quorum_at_position(rules, s, term, s.append_position, x.active)
    return _quorum_position(rules, s, x) >= s.append_position


def leader_log_replication(rules: Rules, i: int, s: Member, x: Input) -> Outcome | None:
    """Wait until a quorum has recorded all that this leader has.

    Notes
    -----
    There is no deadline (L-A), and the terms of the reports are not looked at (hazard HZ1).
    Hardened against HZ5, the quorum must have opened the new term too. Source:
    ``Election.leaderLogReplication``.
    """
    # Refuse.
    if not is_at(s, ElectionState.LEADER_LOG_REPLICATION) or not is_heard_of(i, x.active):
        return None

    # Decide.
    noted = _note_own_position(i, s)
    after = noted
    if _is_replicated(rules, noted, x):
        after = replace(noted, election_state=ElectionState.LEADER_REPLAY)

    # Effects.
    reached = election_quorum_position(rules, noted, x.active)
    return Outcome(after, _publish_leadership(rules, i, noted, x, reached))


def leader_replay(rules: Rules, i: int, s: Member, x: Input) -> Outcome | None:
    """Replay to itself what the own log holds beyond the commit position.

    Notes
    -----
    The replay's progress is ``ConsumeLog`` and ``OnReplayNewLeadershipTermEvent``. Everything
    replayed counts as committed by its position alone, though nobody has opened the new term yet:
    hazard HZ5. 1.49 forgets the followers' positions here. Source: ``Election.leaderReplay``.
    """
    # Refuse.
    if not is_at(s, ElectionState.LEADER_REPLAY) or not is_heard_of(i, x.active):
        return None

    # Decide.
    starts = s.replay_stop_position == NULL_VALUE
    done = s.commit_position >= s.append_position
    members = s.members
    if starts and rules.is_149:
        members = tuple(replace(record, log_position=NULL_VALUE) for record in members)
    members = update_member_log_position(members, i, s.leadership_term_id, s.append_position)
    noted = replace(s, members=members)
    reached = _quorum_position(rules, noted, x)

    # Effects.
    sends = _publish_leadership(rules, i, noted, x, reached)
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
    """Start recording the own log stream and open the term in the recording log.

    Notes
    -----
    This is where the term becomes durable at its leader. Aeron starts to record before; here what
    is on disk never lags behind what is recorded. Source: ``Election.leaderInit``.
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


def _is_ready(rules: Rules, s: Member, x: Input) -> bool:
    """Whether enough members stand at the leader's position in the new term."""
    term, position = s.leadership_term_id, s.append_position
    quorum = has_quorum_at_position(rules, s, term, position, x.active)
    if rules.is_149:
        return has_voters_at_position(s, term, position) or (x.timeout and quorum)
    return quorum


def leader_ready(rules: Rules, i: int, s: Member, x: Input) -> Outcome | None:
    """Wait for a quorum that stands at the leader's position in the new term, then write the first
    entry of the term and close the election.

    Notes
    -----
    ``x.position`` is where that entry, a NewLeadershipTermEvent, ends, or -1 if the log stream
    takes nothing; given while there is no quorum yet, the step is not enabled. A member that is
    still copying older terms reports in the new term too and is counted: hazard HZ7. Source:
    ``Election.leaderReady``, ``ConsensusModuleAgent.updateLeaderPosition``.
    """
    # Refuse.
    if not is_at(s, ElectionState.LEADER_READY) or not is_heard_of(i, x.active):
        return None

    # Decide.
    noted = _note_own_position(i, s)
    reached = _quorum_position(rules, noted, x)
    commit = min(max(noted.commit_position, reached), noted.append_position)
    waiting = replace(noted, commit_position=commit)
    opens = _is_ready(rules, waiting, x) and x.position > waiting.publication_position
    if x.position != NULL_VALUE and not opens:
        return None

    # Effects.
    sends = _publish_commit_position(
        rules, i, waiting.module_leadership_term_id, x, reached
    ) + _publish_new_leadership_term(rules, i, waiting, x, reached)
    effects = advance_commit(s.commit_position, commit) + sends
    if not opens:
        return Outcome(waiting, effects)
    event = AppendNewLeadershipTermEvent(
        s.leadership_term_id, waiting.publication_position, x.position
    )
    completed = election_complete(replace(waiting, publication_position=x.position))
    return completed.after(*effects, event)

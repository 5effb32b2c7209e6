"""The handlers of the messages that decide elections: positions, vote requests, votes, and the
announcement of a leader.

A handler is enabled in every state. In INIT it ignores all messages about the election. The
handlers of catch-up and termination are in `canvass.cluster.replication`.

A leader announces itself by NewLeadershipTerm. The message names a log term, and says which term
follows it in the leader's log. A member whose log ends with that log term learns whether to
truncate its log, to copy a term, or to follow.
"""

from __future__ import annotations

from msgspec.structs import replace

from canvass.cluster.effects import (
    Outcome,
    PersistCandidateTerm,
    Send,
    StopCatchupReplay,
    TruncateLog,
    received,
    record_terms,
)
from canvass.cluster.member import ElectionState, Input, Member, Role
from canvass.cluster.messages import (
    CATCHUP_FLAG,
    NULL_VALUE,
    AppendPosition,
    CanvassPosition,
    CommitPosition,
    NewLeadershipTerm,
    RequestVote,
    StopCatchup,
    Vote,
)
from canvass.cluster.predicates import (
    BALLOT_OPEN,
    RECORDS_READ,
    compare_log,
    election_new_leadership_term,
    election_quorum_position,
    is_at,
    is_closed,
    is_electing,
    is_from_leader,
    is_from_newer_term,
    leader_new_leadership_term,
    outside_elections,
)
from canvass.cluster.recording_log import commit_log_position, cut_terms
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import (
    enter_canvass,
    enter_follower_state,
    enter_init,
    forget_records,
    new_election,
    open_term,
    update_member_log_position,
    with_record,
)


def _forget_graceful_closed_leader(s: Member, j: int) -> Member:
    """The state in which member ``j`` counts as present again, if it is the leader that closed."""
    if s.graceful_closed_leader_id != j:
        return s
    return replace(s, graceful_closed_leader_id=NULL_VALUE)


def _record(s: Member, j: int, term: int, position: int) -> Member:
    """The state with a report of member ``j`` noted, if the election state reads reports."""
    if s.election_state not in RECORDS_READ:
        return s
    return replace(s, members=update_member_log_position(s.members, j, term, position))


def _without_catchup_replay(s: Member, j: int) -> Member:
    stopped = replace(s.members[j], catchup_replay=False)
    return replace(s, members=with_record(s.members, j, stopped))


def _has_voted_since(rules: Rules, m: CanvassPosition, term: int) -> bool:
    """Whether the sender may have voted in a newer term than ``term``, the leader's.

    Hardened against HZ11, its position does not count for that leader.
    """
    return rules.is_hardened("HZ11") and m.leadership_term_id > term


def _on_canvass_position_in_election(
    rules: Rules, i: int, s: Member, x: Input, m: CanvassPosition
) -> Outcome:
    # Decide.
    j, log_term = m.follower_member_id, m.log_leadership_term_id
    noted = _forget_graceful_closed_leader(s, j)
    if s.role is not Role.LEADER or not _has_voted_since(rules, m, s.leadership_term_id):
        noted = _record(noted, j, log_term, m.log_position)

    # Effects.
    if log_term < s.leadership_term_id and s.role is Role.LEADER:
        reached = election_quorum_position(rules, noted, x.active | {j})
        answer = election_new_leadership_term(rules, i, noted, log_term, reached)
        return Outcome(noted, (Send(j, answer),))
    if log_term > s.leadership_term_id and s.election_state in (
        ElectionState.LEADER_LOG_REPLICATION,
        ElectionState.LEADER_READY,
    ):
        return enter_init(noted)
    return Outcome(noted)


def on_canvass_position(rules: Rules, i: int, s: Member, x: Input) -> Outcome | None:
    """Note how much the sender has recorded. A leader answers with the term that follows the
    sender's log term in its own log.

    Notes
    -----
    A log term above the leader's term shows that there was a newer leader: in an election the
    leader gives up; outside elections it does not answer (hazard L-C). From 1.50 on, a leader
    outside elections notes the position too. It does so for every log term up to its own, which is
    half of hazard HZ1, and although the sender may have voted in a newer term since: hazard HZ11.
    The sender counts as active when the quorum position for the answer is computed. Source:
    ``Election.onCanvassPosition``, ``ConsensusModuleAgent.onCanvassPosition``,
    ``updateMemberLogPosition``.
    """
    m = received(x, CanvassPosition)
    j, log_term = m.follower_member_id, m.log_leadership_term_id
    if is_electing(s):
        return _on_canvass_position_in_election(rules, i, s, x, m)

    # Refuse.
    if not is_closed(s, Role.LEADER) or log_term > s.module_leadership_term_id:
        return Outcome(s)

    # Effects.
    after = _without_catchup_replay(s, j)
    if not rules.is_149 and not _has_voted_since(rules, m, s.module_leadership_term_id):
        members = update_member_log_position(after.members, j, log_term, m.log_position)
        after = replace(after, members=members)
    stopped = (StopCatchupReplay(j),) if s.members[j].catchup_replay else ()
    answer = leader_new_leadership_term(rules, i, s, log_term)
    return Outcome(after, (*stopped, Send(j, answer)))


def _vote_used_up(s: Member, m: RequestVote) -> bool:
    """Whether the member's vote in the candidate's term is used up: its own term is not lower."""
    return m.candidate_term_id <= s.candidate_term_id


def _on_request_vote_in_election(
    rules: Rules, i: int, s: Member, x: Input, m: RequestVote
) -> Outcome:
    candidate, candidate_term, log_term = (
        m.candidate_member_id,
        m.candidate_term_id,
        m.log_leadership_term_id,
    )

    def answer(vote: bool) -> Send:
        own_log = (s.log_leadership_term_id, s.append_position)
        return Send(candidate, Vote(candidate_term, *own_log, candidate, i, vote))

    if candidate == i:
        return Outcome(s)

    # Refuse: the vote of this term is used up.
    if _vote_used_up(s, m):
        return Outcome(s, (answer(vote=False),))

    # Compare the logs.
    longer = compare_log(s.log_leadership_term_id, s.append_position, log_term, m.log_position) > 0
    if not longer and s.election_state not in BALLOT_OPEN:
        return Outcome(s)
    term = max(s.persisted_candidate_term_id, candidate_term)
    raised = replace(s, candidate_term_id=term, persisted_candidate_term_id=term)

    # Grant.
    if not longer:
        after = replace(
            raised,
            election_state=ElectionState.FOLLOWER_BALLOT,
            members=forget_records(s.members),
        )
        return Outcome(after, (PersistCandidateTerm(term), answer(vote=True)))

    # Refuse: the candidate's log is older. The vote of the term is used up, too.
    outcome = Outcome(raised, (PersistCandidateTerm(term), answer(vote=False)))
    if s.role is not Role.LEADER:
        return outcome
    reached = election_quorum_position(rules, s, x.active)
    hint = election_new_leadership_term(rules, i, s, log_term, reached)
    return outcome.also(Send(candidate, hint))


def on_request_vote(rules: Rules, i: int, s: Member, x: Input) -> Outcome | None:
    """Grant or refuse a vote.

    Notes
    -----
    A member grants at most one vote in each term. To grant it, the member raises its candidate
    term, on disk before the vote is sent, and it refuses requests at or below its candidate term.
    It also raises the term when it refuses because the candidate's log is older. In the election
    states of leaders and followers a member answers only the requests that it refuses. Outside
    elections a request of a newer term starts an election, and the request itself is lost. Source:
    ``Election.onRequestVote``, ``ConsensusModuleAgent.onRequestVote``.
    """
    m = received(x, RequestVote)
    if is_electing(s):
        return _on_request_vote_in_election(rules, i, s, x, m)
    if outside_elections(s) and m.candidate_term_id > s.module_leadership_term_id:
        return new_election(rules, i, s, NULL_VALUE)
    return Outcome(s)


def on_vote(_rules: Rules, i: int, s: Member, x: Input) -> Outcome | None:
    """Note a vote in its own ballot, and the position of the voter's log.

    Notes
    -----
    A later vote of the same member replaces the earlier one. Source: ``Election.onVote``.
    """
    m = received(x, Vote)

    # Refuse.
    if (
        not is_at(s, ElectionState.CANDIDATE_BALLOT)
        or m.candidate_term_id != s.candidate_term_id
        or m.candidate_member_id != i
    ):
        return Outcome(s)

    # Effects.
    j = m.follower_member_id
    voter = replace(
        s.members[j],
        leadership_term_id=m.log_leadership_term_id,
        log_position=m.log_position,
        candidate_term_id=m.candidate_term_id,
        vote=1 if m.vote else 0,
    )
    return Outcome(replace(s, members=with_record(s.members, j, voter)))


def _track_catchup(s: Member, m: AppendPosition) -> Outcome:
    """Stop the catch-up of a follower that has reached the end of this leader's log stream."""
    j = m.follower_member_id
    catches_up = s.members[j].catchup_replay or m.flags == CATCHUP_FLAG
    if not catches_up or m.log_position < s.publication_position:
        return Outcome(s)
    stopped = (StopCatchupReplay(j),) if s.members[j].catchup_replay else ()
    stop = Send(j, StopCatchup(m.leadership_term_id, j))
    return Outcome(_without_catchup_replay(s, j), (*stopped, stop))


def on_append_position(rules: Rules, _i: int, s: Member, x: Input) -> Outcome | None:
    """Note how much of the log a follower has recorded.

    Notes
    -----
    The report may have any term up to the leader's, so reports of older terms count (hazards HZ1,
    HZ2). If a follower that catches up has reached the end of the leader's stream, the leader sends
    ``StopCatchup``. A closed leader of 1.49 notes the position without the term. Source:
    ``ConsensusModuleAgent.onAppendPosition``, ``trackCatchupCompletion``,
    ``Election.onAppendPosition``.
    """
    m = received(x, AppendPosition)
    j, term = m.follower_member_id, m.leadership_term_id

    # Effects.
    if is_electing(s) and term <= s.leadership_term_id:
        return _track_catchup(_record(s, j, term, m.log_position), m)
    if is_closed(s, Role.LEADER) and term <= s.module_leadership_term_id:
        noted = s.members[j].leadership_term_id if rules.is_149 else term
        members = update_member_log_position(s.members, j, noted, m.log_position)
        return _track_catchup(replace(s, members=members), m)
    return Outcome(s)


def _on_commit_position_in_election(rules: Rules, s: Member, m: CommitPosition) -> Outcome:
    # Decide.
    ours = m.leader_member_id == s.leader_member_id
    catches_up = s.election_state is ElectionState.FOLLOWER_CATCHUP
    noted = (
        not rules.is_149
        or s.election_state is ElectionState.FOLLOWER_LOG_REPLICATION
        or (catches_up and m.leadership_term_id == s.leadership_term_id)
    )

    # Effects.
    if ours and noted:
        notified = max(s.notified_commit_position, m.log_position)
        return Outcome(replace(s, notified_commit_position=notified))
    newer = not ours and m.leadership_term_id > s.leadership_term_id
    if newer and s.election_state is ElectionState.LEADER_READY:
        return enter_init(s)
    return Outcome(s)


def on_commit_position(rules: Rules, i: int, s: Member, x: Input) -> Outcome | None:
    """Note the commit position that the leader publishes.

    Notes
    -----
    In an election the member checks the sender of the message, not its term. In 1.49 it notes the
    position only in FOLLOWER_LOG_REPLICATION, or in FOLLOWER_CATCHUP if the term is its own. A
    closed follower of 1.49 notes the position of the last message, so the position can fall.
    Source: ``Election.onCommitPosition``, ``ConsensusModuleAgent.onCommitPosition``.
    """
    m = received(x, CommitPosition)
    if is_electing(s):
        return _on_commit_position_in_election(rules, s, m)
    if is_from_leader(s, m):
        notified = m.log_position
        if not rules.is_149:
            notified = max(s.module_notified_commit_position, notified)
        return Outcome(replace(s, module_notified_commit_position=notified))
    if is_from_newer_term(s, m):
        return new_election(rules, i, s, NULL_VALUE)
    return Outcome(s)


def _truncate_log(rules: Rules, s: Member, position: int) -> Outcome:
    """Truncate its own log where the leader's next term begins, and start the election again.

    The position is not compared with the commit position. Hardened against HZ5, the recording
    log also loses the terms that begin beyond the position: leaders without a quorum opened them.
    1.49 keeps the old append position until INIT.
    """
    if rules.is_hardened("HZ5"):
        log = cut_terms(s.recording_log, position)
    else:
        log = commit_log_position(s.recording_log, s.log_leadership_term_id, position)
    appended = s.append_position if rules.is_149 else position
    after = replace(s, recorded_position=position, append_position=appended, recording_log=log)
    return enter_init(after).also(TruncateLog(position), *record_terms(s, after))


def _follow_leader(s: Member, m: NewLeadershipTerm) -> Member:
    """The state that follows the leader of the message in its term."""
    behind = s.append_position < m.log_position
    return replace(
        s,
        leader_member_id=m.leader_member_id,
        leadership_term_id=m.leadership_term_id,
        candidate_term_id=max(s.candidate_term_id, m.leadership_term_id),
        catchup_join_position=m.log_position if behind else NULL_VALUE,
        notified_commit_position=max(s.notified_commit_position, m.commit_position),
    )


def _join_term(rules: Rules, s: Member, m: NewLeadershipTerm) -> Outcome:
    """Enter FOLLOWER_REPLAY: the member's log has all terms before the leader's.

    Hardened against HZ5, a member whose log ends where the term begins opens the term before it
    reports its position. 1.49 forgets the notified commit position.
    """
    after = replace(s, notified_commit_position=0) if rules.is_149 else s
    if rules.is_hardened("HZ5") and s.append_position == m.term_base_log_position:
        after = replace(
            after,
            recording_log=open_term(s, m.leadership_term_id, m.term_base_log_position),
            log_leadership_term_id=max(s.log_leadership_term_id, m.leadership_term_id),
        )
    joined = enter_follower_state(after, ElectionState.FOLLOWER_REPLAY)
    return joined.after(*record_terms(s, after))


def _replicate(s: Member, term: int, base: int, stop: int) -> Outcome:
    """Enter FOLLOWER_LOG_REPLICATION to copy ``term`` up to ``stop``."""
    after = replace(
        s,
        replication_leadership_term_id=term,
        replication_term_base_log_position=base,
        replication_stop_position=stop,
    )
    return enter_follower_state(after, ElectionState.FOLLOWER_LOG_REPLICATION)


def _log_ends_in_other_term(s: Member, m: NewLeadershipTerm) -> bool:
    return m.log_leadership_term_id != s.log_leadership_term_id


def _log_is_too_long(s: Member, m: NewLeadershipTerm) -> bool:
    """Whether the member's log extends beyond the base of the leader's next term."""
    return NULL_VALUE != m.next_term_base_log_position < s.append_position


def _has_older_terms(s: Member, m: NewLeadershipTerm) -> bool:
    """Whether the member's log has all terms before the leader's."""
    return s.append_position >= m.term_base_log_position


def _replicate_older_terms(s: Member, m: NewLeadershipTerm) -> Outcome:
    """Copy the rest of its own last term, or the next term, from a leader that is terms ahead."""
    next_base = m.next_term_base_log_position
    if m.next_leadership_term_id == NULL_VALUE:
        return enter_init(s)
    if next_base == NULL_VALUE:
        return Outcome(s)
    if s.append_position < next_base:
        return _replicate(s, s.log_leadership_term_id, NULL_VALUE, next_base)
    if m.next_log_position != NULL_VALUE:
        return _replicate(s, m.next_leadership_term_id, next_base, m.next_log_position)
    return Outcome(s)


def _accept_new_leadership_term(rules: Rules, i: int, s: Member, m: NewLeadershipTerm) -> Outcome:
    # Refuse: the log term of the message is not the last term of the member's log.
    if _log_ends_in_other_term(s, m):
        return Outcome(s) if s.election_state is ElectionState.CANVASS else enter_canvass(i, s)

    # Effects.
    if _log_is_too_long(s, m):
        return _truncate_log(rules, s, m.next_term_base_log_position)
    follower = _follow_leader(s, m)
    if _has_older_terms(s, m):
        return _join_term(rules, follower, m)
    return _replicate_older_terms(follower, m)


def _accepts_new_leadership_term(rules: Rules, s: Member, m: NewLeadershipTerm) -> bool:
    if s.election_state is ElectionState.CANVASS:
        return not rules.is_hardened("HZ3") or m.leadership_term_id >= s.candidate_term_id
    return (
        s.election_state in (ElectionState.FOLLOWER_BALLOT, ElectionState.CANDIDATE_BALLOT)
        and m.leadership_term_id == s.candidate_term_id
    )


def _on_new_leadership_term_in_election(
    rules: Rules, i: int, s: Member, m: NewLeadershipTerm
) -> Outcome:
    # Refuse.
    if m.leader_member_id == i and m.leadership_term_id == s.leadership_term_id:
        return Outcome(s)

    # Effects.
    heard = _forget_graceful_closed_leader(s, m.leader_member_id)
    if _accepts_new_leadership_term(rules, heard, m):
        return _accept_new_leadership_term(rules, i, heard, m)
    return Outcome(heard)


def on_new_leadership_term(rules: Rules, i: int, s: Member, x: Input) -> Outcome | None:
    """Follow the leader that announces itself: replay, copy an older term, or truncate the log.

    Notes
    -----
    In CANVASS the member accepts a leader of any term (hazard HZ3), in a ballot only a leader of
    the term that it voted in. The message must name the last term of the member's log. Then, up to
    the base of the leader's next term, one log is a prefix of the other. If the member's log is
    longer than that, it is truncated there. If it lacks only the leader's own term, the member
    replays it. Otherwise the member copies one older term and canvasses again. A closed follower of
    1.49 takes the end of the leader's log for the commit position, although it need not be
    committed. Source: ``Election.onNewLeadershipTerm``,
    ``ConsensusModuleAgent.onNewLeadershipTerm``.
    """
    m = received(x, NewLeadershipTerm)
    if is_electing(s):
        return _on_new_leadership_term_in_election(rules, i, s, m)
    if is_from_leader(s, m):
        committed = m.log_position if rules.is_149 else m.commit_position
        notified = max(s.module_notified_commit_position, committed)
        return Outcome(replace(s, module_notified_commit_position=notified))
    if is_from_newer_term(s, m):
        return new_election(rules, i, s, NULL_VALUE)
    return Outcome(s)

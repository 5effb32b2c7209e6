"""The handlers of the messages that decide elections: positions, vote requests and votes.

A handler is enabled in every state. In INIT it ignores all messages about the election. The
handlers of catch-up and termination are in `canvass.cluster.replication`, and that of
NewLeadershipTerm in `canvass.cluster.new_leadership_term`.
"""

from __future__ import annotations

from msgspec.structs import replace

from canvass.cluster.effects import PersistCandidateTerm, Send, StopCatchupReplay
from canvass.cluster.member import ElectionState, Input, Member, Role
from canvass.cluster.messages import (
    CATCHUP_FLAG,
    NULL_VALUE,
    AppendPosition,
    CanvassPosition,
    CommitPosition,
    RequestVote,
    StopCatchup,
    Vote,
)
from canvass.cluster.outcome import Outcome, received
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
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import (
    enter_init,
    forget_records,
    new_election,
    update_member_log_position,
    with_record,
)


def forget_graceful_closed_leader(s: Member, j: int) -> Member:
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
    noted = forget_graceful_closed_leader(s, j)
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

"""The handler of NewLeadershipTerm, with which a leader announces itself.

The message names a log term, and says which term follows it in the leader's log. A member whose log
ends with that log term learns whether to truncate its log, to copy a term, or to follow.
"""

from __future__ import annotations

from msgspec.structs import replace

from canvass.cluster.effects import TruncateLog
from canvass.cluster.election_messages import forget_graceful_closed_leader
from canvass.cluster.member import ElectionState, Input, Member
from canvass.cluster.messages import NULL_VALUE, NewLeadershipTerm
from canvass.cluster.outcome import Outcome, received, record_terms
from canvass.cluster.predicates import is_electing, is_from_leader, is_from_newer_term
from canvass.cluster.recording_log import commit_log_position, cut_terms
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import (
    enter_canvass,
    enter_follower_state,
    enter_init,
    new_election,
    open_term,
)


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
    heard = forget_graceful_closed_leader(s, m.leader_member_id)
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

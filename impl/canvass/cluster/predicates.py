"""Predicates and other functions of a member's state; none of them changes it.

They tell which of two logs is newer, who may be a candidate, who has won a ballot, which position a
quorum has recorded, and which NewLeadershipTerm a leader sends. The arithmetic of majorities comes
first: functions of numbers only, so that tests can compare each with a slow form of its definition.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Final

from canvass.cluster.member import ElectionState, Member, MemberRecord, ModuleState, Role
from canvass.cluster.messages import NULL_VALUE, CommitPosition, NewLeadershipTerm
from canvass.cluster.recording_log import NO_TERM_ENTRY, find_term_entry
from canvass.cluster.rules import Rules


def quorum_size(count: int) -> int:
    """The smallest number of ``count`` members such that any two sets of that size overlap.

    Parameters
    ----------
    count
        How many members there are in all, at least 1.

    Notes
    -----
    1 of 1, 2 of 2, 2 of 3, 3 of 4, 3 of 5. Source: ``ClusterMember.quorumThreshold``.
    """
    return count // 2 + 1


def is_quorum(count_in_favour: int, count: int) -> bool:
    """Whether ``count_in_favour`` of ``count`` members are a majority."""
    return count_in_favour >= quorum_size(count)


def quorum_position(positions: Iterable[int], count: int) -> int:
    """The greatest position that a majority of ``count`` members has reached, at least 0.

    Parameters
    ----------
    positions
        The positions of the members that are counted, in any order. A member that is not among
        them, or whose position is negative, counts as 0.
    count
        The number of all members. A majority is more than half of ``count``, not of ``positions``.

    Notes
    -----
    This is the k-th largest position, where k is the quorum size. Time: O(n log n). Source:
    ``ClusterMember.quorumPosition``.
    """
    descending = sorted((position for position in positions if position > 0), reverse=True)
    size = quorum_size(count)
    return descending[size - 1] if len(descending) >= size else 0


# Every step reads these. To look an enum member up in its class takes longer than to compare it.
_ACTIVE: Final = ModuleState.ACTIVE
_CLOSED: Final = ElectionState.CLOSED
_INIT: Final = ElectionState.INIT

BALLOT_OPEN: Final = frozenset(
    {
        ElectionState.CANVASS,
        ElectionState.NOMINATE,
        ElectionState.CANDIDATE_BALLOT,
        ElectionState.FOLLOWER_BALLOT,
    }
)
"""The states in which a vote may be granted."""

RECORDS_READ: Final = frozenset(
    {
        ElectionState.CANVASS,
        ElectionState.NOMINATE,
        ElectionState.CANDIDATE_BALLOT,
        ElectionState.LEADER_LOG_REPLICATION,
        ElectionState.LEADER_REPLAY,
        ElectionState.LEADER_INIT,
        ElectionState.LEADER_READY,
    }
)
"""The election states in which a member reads its records of the other members."""


def in_election(s: Member) -> bool:
    """Whether an election runs."""
    return s.module_state is _ACTIVE and s.election_state is not _CLOSED


def current_term(s: Member) -> int:
    """The term that a member leads or follows: the election's while one runs."""
    return s.leadership_term_id if in_election(s) else s.module_leadership_term_id


def is_electing(s: Member) -> bool:
    """Whether an election runs and handles messages; in INIT it ignores them."""
    return in_election(s) and s.election_state is not _INIT


def outside_elections(s: Member) -> bool:
    """Whether the member is active and no election runs."""
    return s.module_state is _ACTIVE and s.election_state is _CLOSED


def is_closed(s: Member, role: Role) -> bool:
    """Whether the member serves in ``role``, and no election runs."""
    return s.module_state is _ACTIVE and s.election_state is _CLOSED and s.role is role


def is_at(s: Member, election_state: ElectionState) -> bool:
    """Whether the member's election is in ``election_state``."""
    return s.module_state is _ACTIVE and s.election_state is election_state


def is_publisher(s: Member) -> bool:
    """Whether the member has a log stream of its own, which ends at ``publication_position``."""
    publishes = s.role is Role.LEADER and s.publication_position != NULL_VALUE
    return publishes and s.module_state is _ACTIVE


def is_from_leader(s: Member, m: NewLeadershipTerm | CommitPosition) -> bool:
    """Whether a message is from the leader that this member follows outside elections."""
    return (
        is_closed(s, Role.FOLLOWER)
        and m.leader_member_id == s.leader_member_id
        and m.leadership_term_id == s.module_leadership_term_id
    )


def is_from_newer_term(s: Member, m: NewLeadershipTerm | CommitPosition) -> bool:
    """Whether a message starts an election: none runs, and the message has a newer term."""
    return outside_elections(s) and m.leadership_term_id > s.module_leadership_term_id


def has_recording(s: Member) -> bool:
    """Whether the state shows a recording of the log. It does not show an empty recording."""
    return bool(s.recording_log) or s.recorded_position > s.snapshot_log_position


def compare_log(term_1: int, position_1: int, term_2: int, position_2: int) -> int:
    """Compare two logs by their last term, then by their length.

    Returns
    -------
    int
        1 if the first is newer, -1 if the second is, 0 if neither.

    Notes
    -----
    Source: ``ClusterMember.compareLog``.
    """
    first, second = (term_1, position_1), (term_2, position_2)
    return (first > second) - (first < second)


def will_vote_for(voter: MemberRecord, candidate: MemberRecord) -> bool:
    """Whether a member is expected to vote for a candidate, by the records of the two.

    Notes
    -----
    A voter that is not active counts too. Source: ``ClusterMember.willVoteFor``.
    """
    return (
        voter.log_position != NULL_VALUE
        and compare_log(
            voter.leadership_term_id,
            voter.log_position,
            candidate.leadership_term_id,
            candidate.log_position,
        )
        <= 0
    )


def is_unanimous_candidate(rules: Rules, i: int, s: Member) -> bool:
    """Whether all members are expected to vote for this member.

    Notes
    -----
    A leader that closed in good order need not vote, but all members count for the size of a
    quorum. Source: ``ClusterMember.isUnanimousCandidate``.
    """
    voters = [record for j, record in enumerate(s.members) if j != s.graceful_closed_leader_id]
    return all(will_vote_for(voter, s.members[i]) for voter in voters) and is_quorum(
        len(voters), rules.member_count
    )


def is_quorum_candidate(rules: Rules, i: int, s: Member) -> bool:
    """Whether a quorum is expected to vote for this member, whatever the others do.

    Notes
    -----
    Source: ``ClusterMember.isQuorumCandidate``.
    """
    in_favour = sum(will_vote_for(voter, s.members[i]) for voter in s.members)
    return is_quorum(in_favour, rules.member_count)


def is_unanimous_leader(rules: Rules, s: Member) -> bool:
    """Whether all members have voted for this member in its candidate term.

    Notes
    -----
    As in `is_unanimous_candidate`, a leader that closed in good order need not have voted. Source:
    ``ClusterMember.isUnanimousLeader``.
    """
    voters = [record for j, record in enumerate(s.members) if j != s.graceful_closed_leader_id]
    return all(
        voter.candidate_term_id == s.candidate_term_id and voter.vote == 1 for voter in voters
    ) and is_quorum(len(voters), rules.member_count)


def is_quorum_leader(rules: Rules, s: Member) -> bool:
    """Whether a quorum has voted for this member in its candidate term, and no vote was refused.

    Notes
    -----
    Source: ``ClusterMember.isQuorumLeader``.
    """
    ballot = [voter for voter in s.members if voter.candidate_term_id == s.candidate_term_id]
    in_favour = sum(voter.vote == 1 for voter in ballot)
    return all(voter.vote != 0 for voter in ballot) and is_quorum(in_favour, rules.member_count)


def counted_position(rules: Rules, s: Member, term: int, own: int, record: MemberRecord) -> int:
    """The position that a leader counts for the report of a member.

    Parameters
    ----------
    rules, s
        The rules and the leader's state.
    term
        The term of the leader that counts.
    own
        The position up to which that leader has recorded.
    record
        The leader's record of the member that reported.

    Notes
    -----
    A report of any term counts in full: hazard HZ1. Hardened against it, a report of an older term
    counts at most up to the end of that term in the leader's own log: beyond it, the two logs may
    differ. Source: ``ClusterMember.quorumPosition``.
    """
    if not rules.is_hardened("HZ1") or record.leadership_term_id == term:
        return record.log_position
    entry = find_term_entry(s.recording_log, record.leadership_term_id)
    if entry == NO_TERM_ENTRY:
        end = 0
    else:
        end = own if entry.log_position == NULL_VALUE else entry.log_position
    return min(record.log_position, end)


def bounded_quorum_position(rules: Rules, s: Member, term: int, own: int, active: Set[int]) -> int:
    """The position that a quorum has recorded, at most ``own``.

    Parameters
    ----------
    rules, s, term, own
        As in `counted_position`.
    active
        The members heard from within the heartbeat timeout.

    Notes
    -----
    The leader's record of itself counts in full. 1.49 counts members that are not active, and does
    not bound the position by ``own``. Source: ``Election.quorumPosition``,
    ``ClusterMember.quorumPosition``.
    """
    counted = [
        record.log_position
        if j == s.leader_member_id
        else counted_position(rules, s, term, own, record)
        for j, record in enumerate(s.members)
        if rules.is_149 or j in active
    ]
    reached = quorum_position(counted, rules.member_count)
    return reached if rules.is_149 else min(reached, own)


def election_quorum_position(rules: Rules, s: Member, active: Set[int]) -> int:
    """The quorum position that a leader publishes in its election.

    Notes
    -----
    Hardened against HZ5, the leader commits nothing before a quorum has opened the term. Until then
    it stays in LEADER_LOG_REPLICATION and publishes its commit position. Source:
    ``Election.quorumPosition``.
    """
    if rules.is_hardened("HZ5") and s.election_state is ElectionState.LEADER_LOG_REPLICATION:
        return s.commit_position
    return bounded_quorum_position(rules, s, s.leadership_term_id, s.append_position, active)


def has_quorum_at_position(
    rules: Rules, s: Member, term: int, position: int, active: Set[int]
) -> bool:
    """Whether a quorum has reported ``position`` or a greater one in exactly ``term``.

    Notes
    -----
    1.49 counts members that are not active. Source: ``ClusterMember.hasQuorumAtPosition``.
    """
    there = sum(
        record.leadership_term_id == term and record.log_position >= position
        for j, record in enumerate(s.members)
        if rules.is_149 or j in active
    )
    return is_quorum(there, rules.member_count)


def has_voters_at_position(s: Member, term: int, position: int) -> bool:
    """Whether every member that voted has reported ``position`` or a greater one in ``term``.

    Notes
    -----
    Revision 1.49 only. Source: ``ClusterMember.hasVotersAtPosition``.
    """
    return all(
        record.leadership_term_id == term and record.log_position >= position
        for record in s.members
        if record.vote != NULL_VALUE
    )


def election_new_leadership_term(
    rules: Rules, i: int, s: Member, log_term: int, reached: int
) -> NewLeadershipTerm:
    """The NewLeadershipTerm of a leader in its election, about the term that follows ``log_term``.

    Parameters
    ----------
    rules, i, s
        The rules, the leader and its state.
    log_term
        The log term that the message names: the leader's own, or the receiver's.
    reached
        The quorum position.

    Notes
    -----
    If the recording log has no next term, the message names the term that this leader will open. It
    does so even if ``log_term`` is the leader's term: then the message gives the base of that term
    as the base of its next term (hazard HZ8). Source: ``Election.publishNewLeadershipTerm``.
    """
    following = find_term_entry(s.recording_log, log_term + 1)
    found = following != NO_TERM_ENTRY
    known = found or (rules.is_hardened("HZ8") and log_term >= s.leadership_term_id)
    end = following.log_position
    if found and end == NULL_VALUE:
        end = s.append_position
    return NewLeadershipTerm(
        log_leadership_term_id=log_term,
        next_leadership_term_id=following.leadership_term_id if known else s.leadership_term_id,
        next_term_base_log_position=(
            following.term_base_log_position if known else s.append_position
        ),
        next_log_position=end,
        leadership_term_id=s.leadership_term_id,
        term_base_log_position=s.append_position,
        log_position=s.append_position,
        commit_position=NULL_VALUE if rules.is_149 else reached,
        leader_member_id=i,
    )


def leader_new_leadership_term(rules: Rules, i: int, s: Member, log_term: int) -> NewLeadershipTerm:
    """The NewLeadershipTerm with which a closed leader answers a CanvassPosition of ``log_term``.

    Notes
    -----
    Source: ``ConsensusModuleAgent.onCanvassPosition``.
    """
    term = s.module_leadership_term_id
    following = NO_TERM_ENTRY
    if log_term < term:
        following = find_term_entry(s.recording_log, log_term + 1)
    return NewLeadershipTerm(
        log_leadership_term_id=log_term,
        next_leadership_term_id=following.leadership_term_id,
        next_term_base_log_position=following.term_base_log_position,
        next_log_position=following.log_position,
        leadership_term_id=term,
        term_base_log_position=find_term_entry(s.recording_log, term).term_base_log_position,
        log_position=s.publication_position,
        commit_position=NULL_VALUE if rules.is_149 else s.commit_position,
        leader_member_id=i,
    )

"""Receipts whose lines are missing in the middle of a life: what a member must have received before
a line that nothing explains, by what the others' logs tell.

Nothing here is supposed of which a line that is false, or two that have changed places, would leave
as much: another line has to agree with the one that nothing explains, and what would explain it
must not stand right after it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import combinations
from typing import Final

from canvass.cluster.member import Input, Role
from canvass.cluster.messages import (
    CATCHUP_FLAG,
    AppendPosition,
    CanvassPosition,
    CommitPosition,
    Message,
    StopCatchup,
    Vote,
)
from canvass.cluster.quorum import quorum_size
from canvass.traces.aeron_import.evidence import (
    MemberEvidence,
    Segment,
    is_message,
    message_of,
    segment_at,
)
from canvass.traces.aeron_import.proposal import Proposal
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.records import (
    ElectionStateChange,
    Line,
    NewElection,
    ReplayNewLeadershipTerm,
)

EXCUSED: Final = (ElectionStateChange, NewElection, ReplayNewLeadershipTerm)
"""The kinds of lines before which a receipt may be missing."""

_SWAPPED_NS: Final = 10_000_000
"""Lines that have changed places were written within so long."""

_EVENT_OF: Final[dict[type[Message], str]] = {
    CanvassPosition: "CANVASS_POSITION",
    CommitPosition: "COMMIT_POSITION",
    AppendPosition: "APPEND_POSITION",
    StopCatchup: "STOP_CATCHUP",
    Vote: "VOTE",
}


def suppositions(proposal: Proposal, index: int) -> Iterator[tuple[Message, ...]]:
    """What may have been received before a record that nothing explains: the likeliest first.

    Parameters
    ----------
    proposal
        As it is before the record.
    index
        Of the record.
    """
    record = proposal.evidence.records[index]
    found: list[Message] = []
    match record:
        case ElectionStateChange():
            if _next_agrees(proposal, index, record):
                found = list(_before_change(proposal, index, record))
        case NewElection():
            following = proposal.next_change(index + 1)
            if following is not None and following.log_position == record.log_position:
                found = list(_commit_position(proposal, index, record.log_position))
        case ReplayNewLeadershipTerm():
            if _is_known_entry(proposal, record):
                found = list(_commit_position(proposal, index, record.log_position))
        case _:
            pass
    found = [message for message in found if not _stands_after(proposal, index, message)]
    for count in (1, 2):
        yield from combinations(found, count)


def receive(proposal: Proposal, messages: tuple[Message, ...]) -> bool:
    """Let a member have received messages of which its log has no line; say whether it has."""
    for message in messages:
        given = Input(message=message, active=proposal.everyone)
        outcome = proposal.attempt("On" + type(message).__name__, given)
        if outcome is None or outcome.next.election_state is not proposal.state.election_state:
            return False
        proposal.state = outcome.next
        proposal.lost_lines_at += ((proposal.index, _EVENT_OF[type(message)]),)
    proposal.gap = True
    return True


# What agrees.


def _next_agrees(proposal: Proposal, index: int, record: ElectionStateChange) -> bool:
    """Whether the next change begins where this one has led; where the election has closed there
    is none.
    """
    following = proposal.next_change(index + 1)
    if record.new_state == "CLOSED":
        return True
    return following is not None and following.old_state == record.new_state


def _is_known_entry(proposal: Proposal, record: ReplayNewLeadershipTerm) -> bool:
    """Whether another log tells that a term begins there."""
    term, base = record.leadership_term_id, record.term_base_log_position
    return any(
        (
            isinstance(other, ReplayNewLeadershipTerm)
            and (other.leadership_term_id, other.log_position) == (term, record.log_position)
        )
        or (
            isinstance(other, ElectionStateChange)
            and (other.old_state, other.new_state) == ("LEADER_READY", "CLOSED")
            and (other.leadership_term_id, other.append_position) == (term, base)
        )
        for evidence in _others(proposal)
        for _, other in evidence.others
    )


def _stands_after(proposal: Proposal, index: int, message: Message) -> bool:
    """Whether the line that is supposed to be missing may be the next one."""
    following = proposal.record(index + 1)
    if following is None or not is_message(following):
        return False
    times = proposal.evidence.times
    return message_of(following) == message and times[index + 1] - times[index] <= _SWAPPED_NS


# What may be missing.


def _others(proposal: Proposal) -> list[MemberEvidence]:
    members = proposal.plan.members
    return [members[j] for j in proposal.others if j in members]


def _before_change(
    proposal: Proposal, index: int, record: ElectionStateChange
) -> Iterator[Message]:
    s = proposal.state
    match record.old_state, record.new_state:
        case "CANVASS", "NOMINATE":
            yield from _canvasses(proposal, index)
        case "FOLLOWER_CATCHUP", "FOLLOWER_LOG_INIT":
            following = proposal.next_change(index + 1)
            if following is not None and following.log_position == record.log_position:
                yield from _commit_position(proposal, index, record.log_position)
            if s.catchup_destination and _has_caught_up(proposal, index):
                yield StopCatchup(s.leadership_term_id, proposal.member_id)
        case "LEADER_READY", "CLOSED":
            for other in _others(proposal):
                at = segment_at(other, proposal.time_at(index))
                if at is not None and at.term == s.leadership_term_id and _follows(at):
                    yield AppendPosition(at.term, s.append_position, other.member_id, 0)
        case "CANDIDATE_BALLOT", "CANVASS":
            yield from _refusals(proposal, index)
        case "CANDIDATE_BALLOT", "LEADER_LOG_REPLICATION":
            yield from _grants(proposal, index)
        case _:
            return


def _follows(segment: Segment) -> bool:
    return segment.state in ("FOLLOWER_READY", "CLOSED")


def _canvasses(proposal: Proposal, index: int) -> Iterator[Message]:
    """Canvass positions of those that canvassed at that time."""
    for other in _others(proposal):
        at = segment_at(other, proposal.time_at(index))
        if at is not None and at.state in ("CANVASS", "NOMINATE"):
            yield CanvassPosition(at.log_term, at.append, at.term, other.member_id)


def _refusals(proposal: Proposal, index: int) -> Iterator[Message]:
    """Refusals of those that were asked for their vote."""
    term, i = proposal.state.candidate_term_id, proposal.member_id
    for other, at in _asked(proposal, index):
        yield Vote(term, at.log_term, at.append, i, other.member_id, vote=False)


def _grants(proposal: Proposal, index: int) -> Iterator[Message]:
    """Votes of those that were asked for theirs, and wait for who has won, if the change of the
    role is missing as well: that is no log of which the votes alone were taken.
    """
    term, i = proposal.state.candidate_term_id, proposal.member_id
    role_changes = records.RoleChange
    logged = any(isinstance(one, role_changes) for _, one in proposal.evidence.others)
    if not logged or isinstance(proposal.record(index - 1), role_changes):
        return
    for other, at in _asked(proposal, index):
        if (at.state, at.candidate_term) == ("FOLLOWER_BALLOT", term):
            yield Vote(term, at.log_term, at.append, i, other.member_id, vote=True)


def _asked(proposal: Proposal, index: int) -> Iterator[tuple[MemberEvidence, Segment]]:
    """The others that this candidate had asked for their vote, and what they were in by then."""
    term, i = proposal.state.candidate_term_id, proposal.member_id
    time = proposal.time_at(index)
    for other in _others(proposal):
        at = segment_at(other, time)
        asked = any(
            isinstance(record, records.RequestVote)
            and (record.candidate_member_id, record.candidate_term_id) == (i, term)
            and other.times[place] <= time
            for place, record in other.others
        )
        if asked and at is not None:
            yield other, at


def _has_caught_up(proposal: Proposal, index: int) -> bool:
    """Whether the leader has heard of this member that it caught up."""
    leader = proposal.plan.members.get(proposal.state.leader_member_id)
    return leader is not None and any(
        record.flags == CATCHUP_FLAG
        for record in _reports(leader, proposal, index)
        if record.follower_member_id == proposal.member_id
    )


def _reports(
    leader: MemberEvidence, proposal: Proposal, index: int
) -> Iterator[records.AppendPosition]:
    """What a leader had been told by the time of a record, in its life and term or the one before,
    the latest first.
    """
    for place in range(bisect_right(leader.times, proposal.time_at(index)) - 1, -1, -1):
        record: Line = leader.records[place]
        if isinstance(record, NewElection | records.LifeStart):
            return
        if isinstance(record, records.AppendPosition):
            yield record


def _commit_position(proposal: Proposal, index: int, position: int) -> Iterator[Message]:
    """The commit position up to which a follower has processed its log, if a quorum had told its
    leader that it had recorded so much.
    """
    s = proposal.state
    closed = proposal.is_closed(Role.FOLLOWER)
    term = s.module_leadership_term_id if closed else s.leadership_term_id
    leader = proposal.plan.members.get(s.leader_member_id)
    if leader is None or leader.member_id == proposal.member_id:
        return
    recorded = {
        report.follower_member_id
        for report in _reports(leader, proposal, index)
        if report.leadership_term_id == term and report.log_position >= position
    }
    if len(recorded) >= quorum_size(proposal.rules.member_count) - 1:
        yield CommitPosition(term, position, leader.member_id)

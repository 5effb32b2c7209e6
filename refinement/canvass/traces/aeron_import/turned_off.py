"""Events that were not turned on: logs without a line of a kind that their member must have had.

The agent can be told to leave any event out, and of those that come often it is often told so.
Nothing here says what a log without them means.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, TypeAlias

from canvass.traces.aeron_import.evidence import MemberEvidence, Segment, is_message
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.records import ElectionStateChange, Line, NewElection
from canvass.traces.aeron_log.table import EVENT_TYPES
from canvass.traces.aeron_log.vocabulary import Vocabulary

_LONG_NS: Final = 1_000_000_000
"""Of service in a role: five times the interval at which leaders and followers send."""

_WINS: Final = 2
"""Elections that must have been won without a vote for votes to be taken as turned off: of one, the
votes may have been taken out, and that is the same text.
"""

_Members: TypeAlias = Mapping[int, MemberEvidence]


def find_turned_off(
    members: _Members, silent: Mapping[int, Collection[str]]
) -> dict[int, tuple[str, ...]]:
    """For each member the events of which its log must have had lines, and has none, and those that
    it is known not to print.
    """
    found = {}
    for member_id, evidence in members.items():
        kinds = set(map(type, evidence.records))
        lacking = tuple(
            name
            for name, (kind, is_due) in _EXPECTED.items()
            if name in silent[member_id]
            or (kind not in kinds and len(members) > 1 and is_due(evidence, members))
        )
        if lacking:
            found[member_id] = lacking
    return found


def find_silent(
    vocabularies: Mapping[int, Sequence[Vocabulary]], *, declared: bool
) -> dict[int, frozenset[str]]:
    """For each member the events that it is known not to print: those that no release of its log
    has and, if the user has declared the events, those that are disabled.
    """
    return {
        member_id: frozenset(
            name
            for name, row in EVENT_TYPES.items()
            if all(one.is_silent(name) and (declared or row.since > one.release) for one in found)
        )
        for member_id, found in vocabularies.items()
    }


def _has_begun(evidence: MemberEvidence, _members: _Members) -> bool:
    """Whether a member has had an election, or heard of one."""
    return any(is_message(record) or type(record) is NewElection for record in evidence.records)


def _has_changed(old: str = "", new: str = "") -> Callable[[MemberEvidence, _Members], bool]:
    """Whether the election state of a member has changed so; an empty name is any."""

    def found(evidence: MemberEvidence, _members: _Members) -> bool:
        return any(
            old in ("", record.old_state) and new in ("", record.new_state)
            for _, record in evidence.others
            if isinstance(record, ElectionStateChange)
        )

    return found


def _has_followed(evidence: MemberEvidence, _members: _Members) -> bool:
    """Whether a member has taken what a leader announced."""
    changed = ("FOLLOWER_REPLAY", "FOLLOWER_LOG_REPLICATION")
    return any(segment.state in changed for segment in evidence.segments)


def _has_been_asked(evidence: MemberEvidence, members: _Members) -> bool:
    """Whether a member has gone into another's ballot, or another has its vote."""
    if any(segment.state == "FOLLOWER_BALLOT" for segment in evidence.segments):
        return True
    return _is_heard(members, records.Vote, evidence.member_id)


def _has_won(evidence: MemberEvidence, members: _Members) -> bool:
    """Whether elections were won, by this member or, if nobody has a vote, by all together."""
    nobody = not any(
        isinstance(record, records.Vote) for one in members.values() for _, record in one.others
    )
    return (
        sum(
            before.state == "CANDIDATE_BALLOT" and after.state == "LEADER_LOG_REPLICATION"
            for one in (members.values() if nobody else (evidence,))
            for before, after in zip(one.segments, one.segments[1:], strict=False)
        )
        >= _WINS
    )


def _has_replayed_to(evidence: MemberEvidence, members: _Members) -> bool:
    """Whether a follower of this member has caught up, while its log goes on."""
    return any(
        segment.state == "FOLLOWER_CATCHUP"
        and segment.leader == evidence.member_id
        and one.times[segment.start] < evidence.times[-1]
        for one in members.values()
        for segment in one.segments
    )


def _has_acknowledged(evidence: MemberEvidence, members: _Members) -> bool:
    """Whether a leader has heard that this member has come to the end that it was told."""
    return _is_heard(members, records.TerminationAck, evidence.member_id)


def _is_heard(members: _Members, kind: type[Line], member_id: int) -> bool:
    name = "sender_member_id" if kind is records.TerminationAck else "follower_member_id"
    return any(
        isinstance(record, kind) and getattr(record, name) == member_id
        for one in members.values()
        for _, record in one.others
    )


def _has_led(evidence: MemberEvidence, _members: _Members) -> bool:
    """Whether a member has come to lead, which takes reports of a quorum."""
    return any(
        segment.state == "CLOSED" and segment.leads(evidence.member_id)
        for segment in evidence.segments
    )


def _has_obeyed(evidence: MemberEvidence, _members: _Members) -> bool:
    """Whether a member has served as a follower for long."""
    return any(
        segment.state == "CLOSED"
        and not segment.leads(evidence.member_id)
        and _lasted_ns(evidence, segment) >= _LONG_NS
        for segment in evidence.segments
    )


def _has_been_told(evidence: MemberEvidence, members: _Members) -> bool:
    """Whether a member must have heard how far it may process: it has served as a follower for
    long, or has processed what begins a term while it did.
    """
    return _has_obeyed(evidence, members) or any(
        isinstance(record, records.ReplayNewLeadershipTerm) and not record.is_in_election
        for _, record in evidence.others
    )


def _lasted_ns(evidence: MemberEvidence, segment: Segment) -> int:
    times = evidence.times
    return times[min(segment.end, len(times) - 1)] - times[segment.start]


_EXPECTED: Final[dict[str, tuple[type[Line], Callable[[MemberEvidence, _Members], bool]]]] = {
    "APPEND_POSITION": (records.AppendPosition, _has_led),
    "COMMIT_POSITION": (records.CommitPosition, _has_been_told),
    "CANVASS_POSITION": (records.CanvassPosition, _has_changed(new="CANDIDATE_BALLOT")),
    "NEW_ELECTION": (NewElection, _has_changed("INIT", "CANVASS")),
    "ELECTION_STATE_CHANGE": (ElectionStateChange, _has_begun),
    "REQUEST_VOTE": (records.RequestVote, _has_been_asked),
    "VOTE": (records.Vote, _has_won),
    "NEW_LEADERSHIP_TERM": (records.NewLeadershipTerm, _has_followed),
    "REPLAY_NEW_LEADERSHIP_TERM": (records.ReplayNewLeadershipTerm, _has_obeyed),
    "CATCHUP_POSITION": (records.CatchupPosition, _has_replayed_to),
    "STOP_CATCHUP": (
        records.StopCatchup,
        _has_changed("FOLLOWER_CATCHUP", "FOLLOWER_LOG_INIT"),
    ),
    "TERMINATION_POSITION": (records.TerminationPosition, _has_acknowledged),
}
"""Those without which not all can be explained; other lines make up for the rest."""

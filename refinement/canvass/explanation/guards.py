"""The guard that a stuck member waits for, as the spec names it, with the values that lines show.

A value is named only with the line that holds it. Where a run has states, what they hold is added,
and said to be recorded or inferred.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from canvass.cluster.member import Member
from canvass.cluster.names import wire_name
from canvass.explanation.evidence import Evidence, Sentence, States
from canvass.explanation.timeline import MemberTimeline, Phase, Timeline
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.records import ElectionStateChange, Line


@dataclass(frozen=True, slots=True)
class UnmetGuard:
    """A condition, and what is known of it.

    Parameters
    ----------
    condition
        Operator and conjunct of the spec.
    page
        The finding that describes the situation; empty if none does.
    """

    condition: str
    page: str
    sentences: tuple[Sentence, ...]


def unmet_guard(
    timeline: Timeline, one: MemberTimeline, phase: Phase, states: States | None
) -> UnmetGuard:
    """Say what a phase waited for."""
    guard = _GUARDS.get(phase.state, _Guard(""))
    sentences = list(guard.values(timeline, one, phase))
    page = ""
    commit = _last(one, phase, (records.CommitPosition, records.NewLeadershipTerm), whole=True)
    if phase.state == "LEADER_LOG_REPLICATION":
        page = "L-A"
    elif phase.state == "FOLLOWER_REPLAY" and commit is not None:
        record = one.records[commit]
        page = "L-B" if _commit_of(record) <= 0 else ""
    elif phase.state in ("FOLLOWER_CATCHUP_AWAIT", "FOLLOWER_LOG_AWAIT", "FOLLOWER_CATCHUP_INIT"):
        by = phase.entered_by
        if isinstance(by, ElectionStateChange) and by.log_position > by.append_position >= 0:
            page = "L-D"
    elif phase.state == "CANVASS" and _newer_than_leader(one, phase):
        page = "L-C"
    sentences += _of_states(one, phase, states, guard.fields)
    return UnmetGuard(guard.condition, page, tuple(sentences))


def _commit_of(record: Line) -> int:
    if isinstance(record, records.NewLeadershipTerm):
        return -1 if record.commit_position is None else record.commit_position
    return record.log_position if isinstance(record, records.CommitPosition) else -1


def _last(
    one: MemberTimeline, phase: Phase, kinds: tuple[type[Line], ...], *, whole: bool = False
) -> int | None:
    """Index of the last record of some kinds in a phase, or also before it in the election."""
    begin = phase.begin
    if whole:
        attempt = next(
            (a for a in one.attempts if a.begin <= phase.begin < max(a.end, a.begin + 1)), None
        )
        begin = attempt.begin if attempt else begin
    for index in range(min(phase.end, len(one.records)) - 1, begin - 1, -1):
        if isinstance(one.records[index], kinds):
            return index
    return None


def _no_values(_: Timeline, _one: MemberTimeline, _phase: Phase) -> Iterator[Sentence]:
    yield from ()


def _canvass(timeline: Timeline, one: MemberTimeline, phase: Phase) -> Iterator[Sentence]:
    """Who answered, and with which log."""
    heard: dict[int, int] = {}
    for index in range(phase.begin, min(phase.end, len(one.records))):
        record = one.records[index]
        if isinstance(record, records.CanvassPosition):
            heard[record.follower_member_id] = index
    others = {*timeline.ids} - {one.member_id}
    silent = sorted(others - heard.keys())
    begin = one.evidence(phase.begin)
    logged = any(isinstance(record, records.CanvassPosition) for record in one.records)
    if not logged:
        text = "Its log has no CANVASS_POSITION at all, so no line shows which members it heard."
        yield Sentence(text, (begin,))
    elif silent:
        who = ", ".join(str(k) for k in silent)
        needed = timeline.quorum - 1
        noun = "member" if len(silent) == 1 else "members"
        text = f"It heard {len(heard)} of {len(others)} members, not {noun} {who};"
        text += f" it needs {needed}."
        seen = tuple(one.evidence(k) for k in heard.values())
        yield Sentence(text, (begin, *seen))
    own = phase.entered_by
    if isinstance(own, ElectionStateChange):
        for member_id, index in sorted(heard.items()):
            record = one.records[index]
            assert isinstance(record, records.CanvassPosition)
            its = (record.log_leadership_term_id, record.log_position)
            mine = (own.log_leadership_term_id, own.append_position)
            if its > mine:
                text = f"Member {member_id} has a newer log, ({its[0]}, {its[1]:,}) against"
                text += f" ({mine[0]}, {mine[1]:,})."
                yield Sentence(text, (one.evidence(index), begin))
    yield from _ignored_terms(one, phase)


def _ignored_terms(one: MemberTimeline, phase: Phase) -> Iterator[Sentence]:
    """A leader's announcement that is about another log term changes nothing."""
    own = phase.entered_by
    place = _last(one, phase, (records.NewLeadershipTerm,))
    if place is None or not isinstance(own, ElectionStateChange):
        return
    record = one.records[place]
    assert isinstance(record, records.NewLeadershipTerm)
    if record.log_leadership_term_id != own.log_leadership_term_id:
        text = (
            f"Member {record.leader_member_id} announces term {record.leadership_term_id} for logs"
            f" of term {record.log_leadership_term_id}; its own log ends in term"
            f" {own.log_leadership_term_id}."
        )
        yield Sentence(text, (one.evidence(place), one.evidence(phase.begin)))


def _newer_than_leader(one: MemberTimeline, phase: Phase) -> bool:
    own = phase.entered_by
    place = _last(one, phase, (records.NewLeadershipTerm, records.CommitPosition))
    if place is None or not isinstance(own, ElectionStateChange):
        return False
    term = getattr(one.records[place], "leadership_term_id", own.log_leadership_term_id)
    return bool(own.log_leadership_term_id > term)


def _leader_waits(timeline: Timeline, one: MemberTimeline, phase: Phase) -> Iterator[Sentence]:
    """Which positions the leader has, and how many it needs."""
    own = phase.entered_by
    if not isinstance(own, ElectionStateChange):
        return
    reported: dict[int, int] = {}
    kinds = (records.AppendPosition, records.Vote, records.CanvassPosition)
    for index in range(phase.begin, min(phase.end, len(one.records))):
        record = one.records[index]
        if isinstance(record, kinds):
            reported[record.follower_member_id] = index
    begin = one.evidence(phase.begin)
    needed = timeline.quorum - 1
    text = f"It needs {needed} other members at {own.append_position:,}"
    text += f" in term {own.leadership_term_id}." if phase.state == "LEADER_READY" else "."
    yield Sentence(text, (begin,))
    for member_id in timeline.ids:
        if member_id == one.member_id:
            continue
        place = reported.get(member_id)
        if place is None:
            text = f"No line shows a position of member {member_id} in that time."
            yield Sentence(text, (begin,))
            continue
        record = one.records[place]
        assert isinstance(record, kinds)
        if isinstance(record, records.AppendPosition):
            term = record.leadership_term_id
        else:
            term = record.log_leadership_term_id
        text = f"Member {member_id} last reported {record.log_position:,} in term {term}."
        yield Sentence(text, (one.evidence(place),))


def _replication(timeline: Timeline, one: MemberTimeline, phase: Phase) -> Iterator[Sentence]:
    """Where the copy has to end, what is copied, and the commit position that is needed."""
    cause = _announcement(one, phase)
    stop = None
    if cause is not None:
        record = one.records[cause]
        assert isinstance(record, records.NewLeadershipTerm)
        own = phase.entered_by
        append = own.append_position if isinstance(own, ElectionStateChange) else -1
        base, end = record.next_term_base_log_position, record.next_log_position
        stop = base if append < base else end
        text = f"It copies its leader's log up to {stop:,}."
        yield Sentence(text, (one.evidence(cause),))
    ended = _last(one, phase, (records.ReplicationEnded,))
    if ended is not None:
        record = one.records[ended]
        assert isinstance(record, records.ReplicationEnded)
        text = f"The copy ended at {record.position:,}."
        yield Sentence(text, (one.evidence(ended),))
    yield from _commit(timeline, one, phase, stop)


def _announcement(one: MemberTimeline, phase: Phase) -> int | None:
    """The NewLeadershipTerm that led into a phase."""
    for index in range(phase.begin - 1, max(phase.begin - 4, -1), -1):
        if isinstance(one.records[index], records.NewLeadershipTerm):
            return index
    return None


def _commit(
    timeline: Timeline, one: MemberTimeline, phase: Phase, needed: int | None
) -> Iterator[Sentence]:
    """The highest commit position that the member was notified of."""
    best: int | None = None
    for index in range(max(phase.begin - 3, 0), min(phase.end, len(one.records))):
        value = _commit_of(one.records[index])
        if value >= 0 and (best is None or value >= _commit_of(one.records[best])):
            best = index
    if best is None:
        text = "No line shows a commit position of its leader in that time."
        yield Sentence(text, (one.evidence(phase.begin),))
        return
    value = _commit_of(one.records[best])
    text = f"The highest commit position that it was notified of is {value:,}"
    if needed is not None:
        text = f"It waits for a commit position of at least {needed:,}; the highest was {value:,}"
    yield Sentence(f"{text}.", (one.evidence(best),))
    yield from _reported_to(timeline, one, phase)


def _reported_to(timeline: Timeline, one: MemberTimeline, phase: Phase) -> Iterator[Sentence]:
    """What the leader's log shows of positions in that time."""
    own = phase.entered_by
    leader = own.leader_member_id if isinstance(own, ElectionStateChange) else -1
    other = timeline.members.get(leader)
    if other is None or leader == one.member_id:
        return
    last: dict[int, tuple[int, Evidence, int]] = {}
    end_ns = one.times[min(phase.end, len(one.records) - 1)]
    for index in other.within(one.times[phase.begin], end_ns):
        record = other.records[index]
        if isinstance(record, records.AppendPosition):
            place = other.evidence(index)
            last[record.follower_member_id] = (
                record.log_position,
                place,
                record.leadership_term_id,
            )
    for member_id, (position, place, term) in sorted(last.items()):
        text = f"Member {member_id} last reported {position:,} to the leader in term {term}."
        yield Sentence(text, (place,))


def _replay(timeline: Timeline, one: MemberTimeline, phase: Phase) -> Iterator[Sentence]:
    own = phase.entered_by
    if isinstance(own, ElectionStateChange):
        text = f"It has processed its log to {own.log_position:,} and holds it to"
        text += f" {own.append_position:,}."
        yield Sentence(text, (one.evidence(phase.begin),))
    yield from _commit(timeline, one, phase, None)


def _catchup(timeline: Timeline, one: MemberTimeline, phase: Phase) -> Iterator[Sentence]:
    own = phase.entered_by
    if isinstance(own, ElectionStateChange):
        text = f"It catches up from {own.log_position:,} and joins at"
        text += f" {own.catchup_join_position:,} or later."
        yield Sentence(text, (one.evidence(phase.begin),))
    stop = _last(one, phase, (records.StopCatchup,))
    if stop is None:
        text = "No STOP_CATCHUP line ends its catch-up."
        yield Sentence(text, (one.evidence(phase.begin),))
    else:
        yield Sentence("Its leader has stopped the catch-up.", (one.evidence(stop),))
    yield from _commit(timeline, one, phase, None)


def _image(_: Timeline, one: MemberTimeline, phase: Phase) -> Iterator[Sentence]:
    own = phase.entered_by
    if not isinstance(own, ElectionStateChange):
        return
    line = one.evidence(phase.begin)
    if own.log_position > own.append_position >= 0:
        text = (
            f"It has processed {own.log_position:,} and holds its log only to"
            f" {own.append_position:,}: no image can begin where it needs one."
        )
        yield Sentence(text, (line,))
    else:
        text = f"It waits for an image of the leader's log that begins at {own.log_position:,}."
        yield Sentence(text, (line,))


def _services(_: Timeline, one: MemberTimeline, phase: Phase) -> Iterator[Sentence]:
    """Which acknowledgements of services came."""
    ack = _last(one, phase, (records.ServiceAck,))
    if ack is None:
        text = "No SERVICE_ACK line came in that time: it waits for its services to join."
        yield Sentence(text, (one.evidence(phase.begin),))
        return
    record = one.records[ack]
    assert isinstance(record, records.ServiceAck)
    text = f"Service {record.service_id} acknowledged {record.log_position:,}."
    yield Sentence(text, (one.evidence(ack),))


_Values: TypeAlias = Callable[[Timeline, MemberTimeline, Phase], Iterator[Sentence]]


@dataclass(frozen=True, slots=True)
class _Guard:
    """The guard of an election state.

    Parameters
    ----------
    condition
        Operator and conjunct of the spec.
    values
        Says which values the lines show.
    fields
        The fields of the member state that the guard reads.
    """

    condition: str
    values: _Values = _no_values
    fields: tuple[str, ...] = ()


_GUARDS: Final = {
    "CANVASS": _Guard(
        "Canvass: IsUnanimousCandidate \\/ (timeout /\\ IsQuorumCandidate)",
        _canvass,
        ("log_leadership_term_id", "append_position", "leadership_term_id"),
    ),
    "NOMINATE": _Guard("Nominate: timeout"),
    "CANDIDATE_BALLOT": _Guard(
        "CandidateBallot: IsUnanimousLeader \\/ (timeout /\\ IsQuorumLeader)"
    ),
    "FOLLOWER_BALLOT": _Guard("OnNewLeadershipTerm: m.leadershipTermId = s.candidateTermId"),
    "LEADER_LOG_REPLICATION": _Guard(
        "LeaderLogReplication: BoundedQuorumPosition >= appendPosition",
        _leader_waits,
        ("append_position",),
    ),
    "LEADER_REPLAY": _Guard(
        "LeaderReplay: commitPosition >= appendPosition",
        _services,
        ("commit_position", "append_position"),
    ),
    "LEADER_INIT": _Guard("LeaderInit (archive and services)", _services),
    "LEADER_READY": _Guard(
        "LeaderReady: HasQuorumAtPosition(leadershipTermId, appendPosition)",
        _leader_waits,
        ("leadership_term_id", "append_position"),
    ),
    "FOLLOWER_LOG_REPLICATION": _Guard(
        (
            "FollowerLogReplication: recordedPosition = replicationStopPosition"
            " /\\ notifiedCommitPosition >= appendPosition"
        ),
        _replication,
        (
            "recorded_position",
            "replication_stop_position",
            "notified_commit_position",
            "append_position",
        ),
    ),
    "FOLLOWER_REPLAY": _Guard(
        "FollowerReplay: notifiedCommitPosition > 0 /\\ commitPosition >= replayStopPosition",
        _replay,
        ("notified_commit_position", "commit_position", "append_position"),
    ),
    "FOLLOWER_CATCHUP_INIT": _Guard(
        "FollowerCatchupInit (the transport takes the CatchupPosition)", _image
    ),
    "FOLLOWER_CATCHUP_AWAIT": _Guard("FollowerCatchupAwait (an image at logPosition)", _image),
    "FOLLOWER_CATCHUP": _Guard(
        (
            "FollowerCatchup: commitPosition >= catchupJoinPosition"
            " /\\ commitPosition >= notifiedCommitPosition /\\ ~catchupDestination"
        ),
        _catchup,
        (
            "commit_position",
            "catchup_join_position",
            "notified_commit_position",
            "catchup_destination",
        ),
    ),
    "FOLLOWER_LOG_INIT": _Guard("FollowerLogInit (a log subscription)"),
    "FOLLOWER_LOG_AWAIT": _Guard("FollowerLogAwait (an image at logPosition)", _image),
    "FOLLOWER_READY": _Guard("FollowerReady (the transport takes the AppendPosition)"),
}
"""By the election state that they end."""


def _of_states(
    one: MemberTimeline, phase: Phase, states: States | None, fields: tuple[str, ...]
) -> Iterator[Sentence]:
    """What the last state of a phase holds of the guard's variables."""
    last = min(phase.end, len(one.records)) - 1
    if states is None or not fields or last < phase.begin:
        return
    state: Member | None = states.at(one.member_id, one.times[last])
    if state is None or state.election_state.value != phase.state:
        return
    values = ", ".join(f"{wire_name(name)} = {_shown(getattr(state, name))}" for name in fields)
    how = "As inferred by the import" if states.inferred else "As recorded"
    yield Sentence(f"{how}: {values}.", (one.evidence(last),))


def _shown(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)

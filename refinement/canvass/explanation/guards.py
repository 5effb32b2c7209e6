"""The guard for which a stuck member waits, with the values that lines show.

The guard has the name that the spec gives it. Each value comes with its line.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from canvass.explanation.evidence import Sentence
from canvass.explanation.timeline import (
    POSITIONS,
    MemberTimeline,
    Phase,
    Timeline,
    last_of_each,
    term_of,
)
from canvass.traces.aeron_log import records
from canvass.traces.errors import counted, member_names

_Record = TypeVar("_Record", bound=records.Line)


@dataclass(frozen=True, slots=True)
class UnmetGuard:
    """A condition of the spec that is not satisfied, and sentences about its values.

    Parameters
    ----------
    condition
        The operator and the conjunct of the spec.
    page
        The finding that describes the situation; empty if none does.
    """

    condition: str
    page: str
    sentences: tuple[Sentence, ...]


@dataclass(frozen=True, slots=True)
class _Stay:
    """A member's stay in an election state, with access to its lines."""

    timeline: Timeline
    one: MemberTimeline
    phase: Phase

    @property
    def own(self) -> records.ElectionStateChange | None:
        """The line that began the phase. It has the election's variables. None if it is missing."""
        by = self.phase.entered_by
        return by if isinstance(by, records.ElectionStateChange) else None

    def records(self, begin: int | None = None) -> Iterator[tuple[int, records.Line]]:
        """The records from ``begin`` to the end of the phase, with indexes.

        By default ``begin`` is the begin of the phase.
        """
        first = self.phase.begin if begin is None else begin
        return enumerate(self.one.records[first : self.phase.end], first)

    def last(self, *kinds: type[_Record], begin: int | None = None) -> tuple[int, _Record] | None:
        """The last record of the given kinds that `records` gives, with its index."""
        found = None
        for index, record in self.records(begin):
            if isinstance(record, kinds):
                found = index, record
        return found

    def say(self, text: str, *places: int) -> Sentence:
        """A sentence with the lines at ``places`` as evidence; default: the phase's first line."""
        return self.one.say(text, *(places or (self.phase.begin,)))


def unmet_guard(timeline: Timeline, one: MemberTimeline, phase: Phase) -> UnmetGuard:
    """Name the guard of the step that ends a phase, and the values that lines show."""
    stay = _Stay(timeline, one, phase)
    condition, values = _GUARDS.get(phase.state, ("", ""))
    if isinstance(values, str):
        sentences = [stay.say(values.format(stay.own))] if values and stay.own else []
    else:
        sentences = list(values(stay))
    return UnmetGuard(condition, _page(stay), tuple(sentences))


def _page(stay: _Stay) -> str:
    """The finding that describes the situation; empty if none does."""
    state, own = stay.phase.state, stay.own
    if state == "LEADER_LOG_REPLICATION":
        return "L-A"
    if state == "FOLLOWER_REPLAY":
        phase = stay.phase
        attempts = (
            a for a in stay.one.attempts if a.begin <= phase.begin < max(a.end, a.begin + 1)
        )
        begin = next((attempt.begin for attempt in attempts), phase.begin)
        commit = stay.last(records.CommitPosition, records.NewLeadershipTerm, begin=begin)
        return "L-B" if commit is not None and _commit_of(commit[1]) <= 0 else ""
    if own is None:
        return ""
    if state in ("FOLLOWER_CATCHUP_AWAIT", "FOLLOWER_LOG_AWAIT", "FOLLOWER_CATCHUP_INIT"):
        return "L-D" if own.log_position > own.append_position >= 0 else ""
    leader = stay.last(records.NewLeadershipTerm, records.CommitPosition)
    if state != "CANVASS" or leader is None:
        return ""
    term: int = getattr(leader[1], "leadership_term_id", own.log_leadership_term_id)
    return "L-C" if own.log_leadership_term_id > term else ""


def _commit_of(record: records.Line) -> int:
    if isinstance(record, records.NewLeadershipTerm):
        return -1 if record.commit_position is None else record.commit_position
    return record.log_position if isinstance(record, records.CommitPosition) else -1


def _votes(stay: _Stay) -> Iterator[Sentence]:
    """The votes that the candidate lacks."""
    yield stay.say(
        "It waits for the votes of all members; after the election timeout a majority is enough."
    )
    own, seen = stay.own, (isinstance(record, records.Vote) for record in stay.one.records)
    if own is None or not any(seen):
        return
    answers = {
        record.follower_member_id: index
        for index, record in stay.records()
        if isinstance(record, records.Vote) and record.candidate_term_id == own.candidate_term_id
    }
    if silent := {*stay.timeline.ids} - {stay.one.member_id} - answers.keys():
        yield stay.say(f"No vote came from {member_names(silent)}.", *answers.values())


def _canvass(stay: _Stay) -> Iterator[Sentence]:
    """The canvass positions that the member has received and lacks, and newer logs among them."""
    one, own = stay.one, stay.own
    heard = last_of_each(one, stay.phase.begin, stay.phase.end, records.CanvassPosition)
    others = {*stay.timeline.ids} - {one.member_id}
    silent = sorted(others - heard.keys())
    if not any(isinstance(record, records.CanvassPosition) for record in one.records):
        yield stay.say(
            "Its log has no CANVASS_POSITION line, so no line shows which members it heard."
        )
    elif silent:
        received = "no canvass position"
        if heard:
            received = f"canvass positions of {member_names(heard)}, but none"
        needed = counted(stay.timeline.quorum - 1, "other member")
        yield stay.say(
            f"It received {received} of {member_names(silent)}. A quorum needs {needed}.",
            stay.phase.begin,
            *(index for index, _ in heard.values()),
        )
    if own is None:
        return
    mine = (own.log_leadership_term_id, own.append_position)
    for member_id, (index, position) in sorted(heard.items()):
        its = (position.log_leadership_term_id, position.log_position)
        if its > mine:
            yield stay.say(
                f"Member {member_id} has a newer log, ({its[0]}, {its[1]}), than its own"
                f" ({mine[0]}, {mine[1]}).",
                index,
                stay.phase.begin,
            )
    announced = stay.last(records.NewLeadershipTerm)
    # A canvassing member ignores an announcement that is for logs of another term.
    if announced is not None and announced[1].log_leadership_term_id != mine[0]:
        index, leader = announced
        yield stay.say(
            f"Member {leader.leader_member_id} announces term {leader.leadership_term_id} for logs"
            f" of term {leader.log_leadership_term_id}; its own log ends in term {mine[0]}.",
            index,
            stay.phase.begin,
        )


def _leader_waits(stay: _Stay) -> Iterator[Sentence]:
    """The positions that the leader knows, and the position that it needs from a quorum."""
    own = stay.own
    if own is None:
        return
    reported = last_of_each(stay.one, stay.phase.begin, stay.phase.end, *POSITIONS)
    needed = counted(stay.timeline.quorum - 1, "other member")
    text = f"It needs {needed} at {own.append_position}"
    ready = stay.phase.state == "LEADER_READY"
    yield stay.say(f"{text} in term {own.leadership_term_id}." if ready else f"{text}.")
    for member_id in stay.timeline.ids:
        if member_id == stay.one.member_id:
            continue
        if member_id not in reported:
            yield stay.say(f"In that time no line shows a position of member {member_id}.")
            continue
        index, record = reported[member_id]
        text = f"Member {member_id} last reported {record.log_position} in term {term_of(record)}."
        yield stay.say(text, index)


def _replication(stay: _Stay) -> Iterator[Sentence]:
    """The end of the copy, the position at which it has to end, and the needed commit position."""
    stop = None
    begin = stay.phase.begin
    for index in range(begin - 1, max(begin - 4, -1), -1):
        record = stay.one.records[index]
        if isinstance(record, records.NewLeadershipTerm):  # This message began the phase.
            append = -1 if stay.own is None else stay.own.append_position
            base, end = record.next_term_base_log_position, record.next_log_position
            stop = base if append < base else end
            yield stay.say(f"It copies its leader's log up to {stop}.", index)
            break
    if (ended := stay.last(records.ReplicationEnded)) is not None:
        yield stay.say(f"The copy ended at {ended[1].position}.", ended[0])
    yield from _commit(stay, stop)


def _commit(stay: _Stay, needed: int | None = None) -> Iterator[Sentence]:
    """The highest commit position of which the member was notified."""
    notified = [
        (value, index)
        for index, record in stay.records(max(stay.phase.begin - 3, 0))
        if (value := _commit_of(record)) >= 0
    ]
    if not notified:
        yield stay.say("In that time no line shows a commit position of its leader.")
        return
    value, best = max(notified)
    text = f"The highest commit position that it was notified of is {value}."
    if needed is not None:
        text = f"It waits for a commit position of at least {needed}; the highest was {value}."
    yield stay.say(text, best)
    yield from _reported_to(stay)


def _reported_to(stay: _Stay) -> Iterator[Sentence]:
    """The last position that each member reported to the leader during the phase."""
    one, phase = stay.one, stay.phase
    leader = -1 if stay.own is None else stay.own.leader_member_id
    other = stay.timeline.members.get(leader)
    if other is None or leader == one.member_id:
        return
    end_ns = one.times[min(phase.end, len(one.records) - 1)]
    begin = bisect_left(other.times, one.times[phase.begin])
    end = bisect_right(other.times, end_ns)
    last = last_of_each(other, begin, end, records.AppendPosition)
    for member_id, (place, record) in sorted(last.items(), key=lambda item: item[0]):
        text = f"Member {member_id} last reported {record.log_position} to the leader in term"
        yield other.say(f"{text} {record.leadership_term_id}.", place)


def _replay(stay: _Stay) -> Iterator[Sentence]:
    if (own := stay.own) is not None:
        text = f"It has processed its log up to {own.log_position} and holds it up to"
        yield stay.say(f"{text} {own.append_position}.")
    yield from _commit(stay)


def _catchup(stay: _Stay) -> Iterator[Sentence]:
    if (own := stay.own) is not None:
        text = f"It catches up from {own.log_position} and joins at"
        yield stay.say(f"{text} {own.catchup_join_position} or later.")
    stop = stay.last(records.StopCatchup)
    if stop is None:
        yield stay.say("No STOP_CATCHUP line ends its catch-up.")
    else:
        yield stay.say("Its leader has stopped the catch-up.", stop[0])
    yield from _commit(stay)


def _image(stay: _Stay) -> Iterator[Sentence]:
    own = stay.own
    if own is None:
        return
    if own.log_position > own.append_position >= 0:
        text = f"It has processed {own.log_position} and holds its log only up to"
        text += f" {own.append_position}: no image of the leader's log can begin at"
        yield stay.say(f"{text} {own.log_position}.")
    else:
        text = "It waits for an image of the leader's log that begins at"
        yield stay.say(f"{text} {own.log_position}.")


def _services(stay: _Stay) -> Iterator[Sentence]:
    """The last acknowledgement of a service."""
    ack = stay.last(records.ServiceAck)
    if ack is None:
        yield stay.say("No SERVICE_ACK line came in that time: it waits for its services to join.")
    else:
        index, record = ack
        text = f"Service {record.service_id} acknowledged {record.log_position}."
        yield stay.say(text, index)


_Values: TypeAlias = Callable[[_Stay], Iterator[Sentence]] | str


_GUARDS: Final[dict[str, tuple[str, _Values]]] = {
    "CANVASS": ("Canvass: IsUnanimousCandidate \\/ (timeout /\\ IsQuorumCandidate)", _canvass),
    "NOMINATE": (
        "Nominate: timeout",
        "It waits for a random part of half of the election timeout.",
    ),
    "CANDIDATE_BALLOT": (
        "CandidateBallot: IsUnanimousLeader \\/ (timeout /\\ IsQuorumLeader)",
        _votes,
    ),
    "FOLLOWER_BALLOT": (
        "OnNewLeadershipTerm: m.leadershipTermId = s.candidateTermId",
        "It has voted, and waits for a leader to announce term {0.candidate_term_id}.",
    ),
    "LEADER_LOG_REPLICATION": (
        "LeaderLogReplication: BoundedQuorumPosition >= appendPosition",
        _leader_waits,
    ),
    "LEADER_REPLAY": ("LeaderReplay: commitPosition >= appendPosition", _services),
    "LEADER_INIT": ("LeaderInit (archive and services)", _services),
    "LEADER_READY": (
        "LeaderReady: HasQuorumAtPosition(leadershipTermId, appendPosition)",
        _leader_waits,
    ),
    "FOLLOWER_LOG_REPLICATION": (
        (
            "FollowerLogReplication: recordedPosition = replicationStopPosition"
            " /\\ notifiedCommitPosition >= appendPosition"
        ),
        _replication,
    ),
    "FOLLOWER_REPLAY": (
        "FollowerReplay: notifiedCommitPosition > 0 /\\ commitPosition >= replayStopPosition",
        _replay,
    ),
    "FOLLOWER_CATCHUP_INIT": (
        "FollowerCatchupInit (the transport takes the CatchupPosition)",
        _image,
    ),
    "FOLLOWER_CATCHUP_AWAIT": ("FollowerCatchupAwait (an image at logPosition)", _image),
    "FOLLOWER_CATCHUP": (
        (
            "FollowerCatchup: commitPosition >= catchupJoinPosition"
            " /\\ commitPosition >= notifiedCommitPosition /\\ ~catchupDestination"
        ),
        _catchup,
    ),
    "FOLLOWER_LOG_INIT": ("FollowerLogInit (a log subscription)", ""),
    "FOLLOWER_LOG_AWAIT": ("FollowerLogAwait (an image at logPosition)", _image),
    "FOLLOWER_READY": ("FollowerReady (the transport takes the AppendPosition)", ""),
}
"""For each election state, the guard of the step that ends it, in the words of the spec, and the
values that lines show. The values are a function, or a sentence with fields of the line that began
the phase.
"""

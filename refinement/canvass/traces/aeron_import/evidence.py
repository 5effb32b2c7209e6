"""What one member logged, as the importer needs it: records on the common clock, the messages
among them, and what its segments of constant election state were.

Nothing here infers a step.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, Final

from canvass.cluster import messages
from canvass.cluster.messages import NULL_VALUE, Message
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.logs import MemberLog
from canvass.traces.aeron_log.records import (
    ClusterEvent,
    DamagedLine,
    ElectionStateChange,
    LifeStart,
    Line,
    NewElection,
    RoleChange,
    StateChange,
    TruncatedLine,
    TruncateLogEntry,
)

UNDER_WAY_NS: Final = 15_000_000_000
"""A message may have been under way so long: after 10 s without a sign Aeron gives a stream up."""

STARTED: Final = "node started"
"""The reason of the election that begins the life of a process."""

_MESSAGE_OF: Final[Mapping[type[Line], type[Message]]] = {
    getattr(records, message.__name__): message for message in messages.MESSAGE_TYPES
}
RECEIPTS: Final = tuple(_MESSAGE_OF)
"""The kinds of records that are receipts of consensus messages."""
_SENDER_FIELD: Final[Mapping[type[Line], str]] = {
    records.CanvassPosition: "follower_member_id",
    records.RequestVote: "candidate_member_id",
    records.Vote: "follower_member_id",
    records.NewLeadershipTerm: "leader_member_id",
    records.AppendPosition: "follower_member_id",
    records.CommitPosition: "leader_member_id",
    records.CatchupPosition: "follower_member_id",
    records.TerminationAck: "sender_member_id",
}
_VALUES: Final[Mapping[type[Line], Callable[[Line], tuple[Any, ...]]]] = {
    record: attrgetter(
        *(
            "sender_member_id" if name == "member_id" else name
            for name in message.__dataclass_fields__
        )
    )
    for record, message in _MESSAGE_OF.items()
}

_REPEATED: Final = (records.AppendPosition, records.CommitPosition)
_BALLOTS: Final = ("CANDIDATE_BALLOT", "FOLLOWER_BALLOT")


def is_message(record: Line) -> bool:
    """Whether a record is the receipt of a consensus message."""
    return type(record) in _MESSAGE_OF


def message_of(record: Line) -> Message:
    """The message that a record says was received; what its release does not print is -1, as in the
    revision of the spec that knows no such field.
    """
    kind = type(record)
    values = _VALUES[kind](record)
    if None in values:
        values = tuple(NULL_VALUE if value is None else value for value in values)
    return _MESSAGE_OF[kind](*values)


def sender_of(record: Line) -> int:
    """Who sent the message of a record, or -1 where the log does not say."""
    name = _SENDER_FIELD.get(type(record))
    return NULL_VALUE if name is None else int(getattr(record, name))


@dataclass(slots=True)
class Segment:
    """A stretch of a member's log in which its election state was one and the same.

    Parameters
    ----------
    start
        Index of the record that shows the entry; what the segment holds comes after it.
    state
        The election state, ``CLOSED`` included.
    leader, term, log_term, candidate_term, append
        The election's variables as they were printed at the entry.
    end
        Index of the first record that belongs to the step which ends the segment.
    """

    start: int
    state: str
    leader: int
    term: int
    log_term: int
    candidate_term: int
    append: int
    end: int = 0

    def leads(self, member_id: int) -> bool:
        """Whether the member leads in this segment."""
        closed = self.state == "CLOSED" and self.leader == member_id
        return closed or self.state.startswith("LEADER_")


@dataclass(slots=True)
class MemberEvidence:
    """The records of one member, in order, and their times.

    Parameters
    ----------
    member_id
        The member.
    files
        Names of its log files, for reports.
    records
        All but what other components wrote.
    offset_ns
        What is to be added to the member's clock to make the common one.
    times
        Of the records on the common clock; they never fall within one life.
    segments
        In order.
    elections
        Indexes of the records that show a new election.
    lacks_lives
        Whether others have heard of the member before its log begins.
    boots
        Indexes of the headers after which the host's clock had begun anew.
    holes
        Indexes of records before which lines are missing, each with that of the record before which
        the member is known again.
    state_holes
        Indexes of changes of the module's state before which another one is missing.
    closings
        Indexes of records before which an election must have closed, though no line says so.
    """

    member_id: int
    files: tuple[str, ...]
    records: list[Line]
    offset_ns: int = 0
    times: list[int] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    elections: list[int] = field(default_factory=list)
    lacks_lives: bool = False
    boots: list[int] = field(default_factory=list)
    holes: dict[int, int] = field(default_factory=dict)
    state_holes: frozenset[int] = frozenset()
    closings: frozenset[int] = frozenset()
    _others: list[int] | None = field(default=None, init=False, repr=False)

    @property
    def others(self) -> list[tuple[int, Line]]:
        """The records, with their indexes, that are neither an `AppendPosition` nor a
        `CommitPosition`: most are one of these, so who looks for others looks here.
        """
        found = self.records
        if self._others is None:
            kinds = enumerate(map(type, found))
            self._others = [index for index, kind in kinds if kind not in _REPEATED]
        return [(index, found[index]) for index in self._others]

    def hole_at(self, time: int, after_ns: int = 0) -> int | None:
        """The hole in which a message of the member came, or so long after it at most."""
        for begin, end in self.holes.items():
            known = self.times[end] + after_ns if end < len(self.times) else time
            if self.times[begin - 1] <= time <= known:
                return begin
        return None

    def known_again(self, index: int) -> int:
        """The first record from ``index`` on before which the member's state follows from what the
        record shows: of an election that begins, is begun anew or comes to a ballot.
        """
        found = self.records
        for place in range(index, len(found)):
            record = found[place]
            if isinstance(record, NewElection):
                return place
            if isinstance(record, ElectionStateChange) and _shows_all(record):
                return place
        return len(found)


def _shows_all(record: ElectionStateChange) -> bool:
    """Whether a change shows all that matters of the state before it."""
    if record.new_state == "CANDIDATE_BALLOT":
        return record.old_state == "NOMINATE"
    return record.new_state == "CANVASS" and record.old_state in ("INIT", *_BALLOTS)


def evidence_of(log: MemberLog) -> MemberEvidence:
    """Take what matters from a member's log."""
    kinds = (ClusterEvent, LifeStart, TruncatedLine, DamagedLine)
    kept: list[Line] = [record for record in log.records if isinstance(record, kinds)]
    return MemberEvidence(log.member_id, tuple(path.name for path in log.files), kept)


def set_times(evidence: MemberEvidence, offset_ns: int) -> None:
    """Put the records on the common clock; one whose stamp says nothing has that of the one before:
    what stands in a damaged line may be anything.
    """
    evidence.offset_ns = offset_ns
    stamped = (record.time_ns for record in evidence.records if is_stamped(record))
    latest = next(stamped, 0) + offset_ns
    times = []
    for record in evidence.records:
        if is_stamped(record):
            latest = max(latest, record.time_ns + offset_ns)
        times.append(latest)
    evidence.times = times


def moments(times: Iterable[int], apart_ns: int, begin: int = -(1 << 62)) -> list[int]:
    """Those of the times, which are in order, that lie so far apart from each other at least, and
    from a beginning.
    """
    found: list[int] = []
    latest = begin
    for time in times:
        if time - latest >= apart_ns:
            found.append(time)
            latest = time
    return found


def is_stamped(record: Line) -> bool:
    """Whether a record's stamp says when it was written."""
    if not isinstance(record, TruncatedLine):
        return True
    return not isinstance(record, DamagedLine) and record.time_ns != 0


def _may_cause(message: Line, change: Line) -> bool:
    """Whether the receipt of a message can be the step that a change of state belongs to."""
    if isinstance(change, NewElection):
        if isinstance(message, records.RequestVote):
            return message.candidate_term_id > change.leadership_term_id
        if not isinstance(message, records.NewLeadershipTerm | records.CommitPosition):
            return False
        later = message.leadership_term_id > change.leadership_term_id
        return later and change.reason != STARTED
    if not isinstance(change, ElectionStateChange):
        return False
    old, new = change.old_state, change.new_state
    match message:
        case records.RequestVote():
            return new == "FOLLOWER_BALLOT"
        case records.NewLeadershipTerm(log_leadership_term_id=about):
            if new == "INIT":
                cuts = message.next_term_base_log_position == change.append_position
                ends = cuts or message.next_leadership_term_id == NULL_VALUE
                return ends and about == change.log_leadership_term_id
            if new == "CANVASS":
                awaited = message.leadership_term_id == change.candidate_term_id
                return old in _BALLOTS and awaited and about != change.log_leadership_term_id
            return new in ("FOLLOWER_LOG_REPLICATION", "FOLLOWER_REPLAY")
        case (
            records.CommitPosition(leadership_term_id=term)
            | records.CanvassPosition(log_leadership_term_id=term)
        ):
            fails = new == "INIT" and old.startswith("LEADER_")
            return fails and term > change.leadership_term_id
        case _:
            return False


def cause_index(evidence: MemberEvidence, index: int) -> int:
    """Index of the first record of the step that the state change at ``index`` belongs to."""
    found = evidence.records
    first, change = index, found[index]
    while first > 0 and isinstance(found[first - 1], RoleChange | TruncateLogEntry | NewElection):
        first -= 1
        if isinstance(found[first], NewElection):
            change = found[first]
    if first > 0 and _may_cause(found[first - 1], change):
        first -= 1
    return first


def segment_at(evidence: MemberEvidence, time: int) -> Segment | None:
    """The stretch of constant election state that a member was in at a time."""
    place = bisect_right(evidence.times, time)
    before = [one for one in evidence.segments if one.start < place]
    return before[-1] if before else None


def _ends_process(record: Line) -> bool:
    return isinstance(record, StateChange) and record.new_state == "CLOSED"


def _split(segment: Segment, closings: frozenset[int]) -> list[Segment]:
    """A stretch, and where its election has closed without a line the one that comes after it."""
    found = [index for index in closings if segment.start < index < segment.end]
    if not found or found[0] + 1 >= segment.end:
        return [segment]
    start = max(found[0] - 1, segment.start + 1)
    closed = replace(segment, start=start, state="CLOSED")
    return [replace(segment, end=start), closed]


def set_segments(evidence: MemberEvidence) -> None:
    """Find the segments: each begins with an ``ELECTION_STATE_CHANGE``."""
    segments: list[Segment] = []
    for index, record in evidence.others:
        if isinstance(record, ElectionStateChange):
            if segments and segments[-1].end == 0:
                first = cause_index(evidence, index)
                segments[-1].end = max(first, segments[-1].start + 1)
            segments.append(
                Segment(
                    index,
                    record.new_state,
                    record.leader_member_id,
                    record.leadership_term_id,
                    record.log_leadership_term_id,
                    record.candidate_term_id,
                    record.append_position,
                )
            )
        elif not segments or segments[-1].end:
            continue
        elif isinstance(record, NewElection):
            segments[-1].end = max(cause_index(evidence, index), segments[-1].start + 1)
        elif isinstance(record, LifeStart) or _ends_process(record):
            segments[-1].end = max(index, segments[-1].start + 1)
    if segments and segments[-1].end == 0:
        segments[-1].end = len(evidence.records)
    evidence.segments = [part for one in segments for part in _split(one, evidence.closings)]
    evidence.elections = [
        index for index, record in evidence.others if isinstance(record, NewElection)
    ]

"""The records of all members on one clock, and each member's elections taken apart into phases.

Here is what the lines say, in order; what it means for the cluster is in the other modules.

Each host has a monotonic clock of its own. A message is received after it was sent, and some
messages after what in the sender's log they were sent: a request for votes after its ballot was
opened, a vote after the request, a commit position after the reports that make it. In both
directions between two members that gives an interval for the difference of their clocks; its
middle is taken. Where one end is missing the wall clocks of the headers stand in.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from canvass.cluster.quorum import quorum_size
from canvass.explanation.evidence import Evidence
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.logs import MemberLog
from canvass.traces.aeron_log.records import (
    NULL_VALUE,
    AppendPosition,
    CanvassPosition,
    ClusterEvent,
    CommitPosition,
    DamagedLine,
    ElectionStateChange,
    LifeStart,
    Line,
    NewElection,
    RoleChange,
    StateChange,
    TruncatedLine,
    TruncateLogEntry,
    Vote,
)

_GUESSED_DELAY_NS: Final = 1_000_000
"""Of a message, where only one direction is known: what local networks take at most."""

_SAME_START_NS: Final = 100_000_000
"""Difference of two hosts' starts below which they are taken for one; a wall clock that is set
while members run moves it by a few milliseconds.
"""

Lines: TypeAlias = Sequence[Line]

Bounds: TypeAlias = dict[tuple[int, int], int]
"""For a sender and a receiver the least that the receiver's clock is to be moved against the
sender's, so that nothing is received before it was sent.
"""


def align_clocks(members: Mapping[int, Lines]) -> dict[int, int]:
    """Give for each member what is to be added to its clock.

    Parameters
    ----------
    members
        The lines of each member.
    """
    if _one_host(members):
        return dict.fromkeys(members, 0)
    bounds = find_bounds(members)
    if all(bound <= 0 for bound in bounds.values()) and _overlap(members):
        return dict.fromkeys(members, 0)
    return _offsets(members, bounds)


def _wall_offset(lines: Lines) -> int:
    """What is to be added to a member's clock to make it the wall clock, by its first header."""
    for record in lines:
        if isinstance(record, LifeStart):
            return record.wall_time_ms * 1_000_000 - record.time_ns
    return 0


def _one_host(members: Mapping[int, Lines]) -> bool:
    """Whether the headers say that all members ran on one host: no two hosts are started at times
    that are so near to each other.
    """
    walls = [wall for lines in members.values() if (wall := _wall_offset(lines))]
    near = not walls or max(walls) - min(walls) < _SAME_START_NS
    return near and (len(walls) == len(members) or _overlap(members))


def _overlap(members: Mapping[int, Lines]) -> bool:
    """Whether the stamps of all members are of one time."""
    spans = [(lines[0].time_ns, lines[-1].time_ns) for lines in members.values() if lines]
    return max((a for a, _ in spans), default=0) <= min((b for _, b in spans), default=0)


def _offsets(members: Mapping[int, Lines], bounds: Bounds) -> dict[int, int]:
    """Move one member after the other against the ones moved before, the best known first."""
    waiting = list(members)
    offsets = {waiting[0]: 0}
    while len(offsets) < len(waiting):
        pairs = [(_width(bounds, i, j), i, j) for i in offsets for j in waiting if j not in offsets]
        _, i, j = min(pairs)
        wall = _wall_offset(members[j]) - _wall_offset(members[i])
        offsets[j] = offsets[i] + _between(bounds.get((i, j)), bounds.get((j, i)), wall)
    return offsets


def _width(bounds: Bounds, i: int, j: int) -> int:
    low, high = bounds.get((i, j)), bounds.get((j, i))
    return -high - low if low is not None and high is not None else 1 << 62


def _between(forth: int | None, back: int | None, wall: int) -> int:
    """The difference of two clocks, given what is known of each direction."""
    if forth is not None and back is not None:
        return (forth - back) // 2
    if forth is not None:
        return max(wall, forth + _GUESSED_DELAY_NS)
    if back is not None:
        return min(wall, -back - _GUESSED_DELAY_NS)
    return wall


def find_bounds(members: Mapping[int, Lines]) -> Bounds:
    """What messages say of each two clocks."""
    sent = {member_id: earliest_sends(lines) for member_id, lines in members.items()}
    bounds: Bounds = {}
    for receiver, lines in members.items():
        for record in lines:
            key = None if type(record) is records.CommitPosition else key_of(record)
            if key is None:
                continue
            sender, what = key
            known_sends = sent.get(sender, {})
            begun = known_sends.get((receiver, *what)) or known_sends.get(what)
            if begun is not None and sender != receiver:
                least = begun - record.time_ns
                known = bounds.get((sender, receiver), least)
                bounds[sender, receiver] = max(known, least)
    _bound_commits(members, bounds)
    return bounds


def key_of(record: object) -> tuple[int, tuple[object, ...]] | None:
    """The sender of a message and what names it, if its earliest send is known."""
    match record:
        case records.RequestVote():
            return record.candidate_member_id, ("RV", record.candidate_term_id)
        case records.Vote():
            return record.follower_member_id, ("VOTE", record.candidate_term_id)
        case records.NewLeadershipTerm():
            return record.leader_member_id, ("NLT", record.leadership_term_id)
        case records.AppendPosition(flags=0):
            return record.follower_member_id, ("AP", record.leadership_term_id)
        case records.CatchupPosition():
            return record.follower_member_id, ("CATCHUP", record.leadership_term_id)
        case records.TerminationAck():
            return record.sender_member_id, ("TA", record.leadership_term_id)
        case records.CanvassPosition():
            return record.follower_member_id, (
                "CAN",
                record.log_leadership_term_id,
                record.log_position,
                record.leadership_term_id,
            )
        case _:
            return None


def earliest_sends(logged: Iterable[Line]) -> dict[tuple[object, ...], int]:
    """When, on its own clock, a member can first have sent what."""
    first: dict[tuple[object, ...], int] = {}
    for record in logged:
        if isinstance(record, records.RequestVote):
            answer = (record.candidate_member_id, "VOTE", record.candidate_term_id)
            first.setdefault(answer, record.time_ns)
        elif isinstance(record, records.TerminationPosition):
            first.setdefault(("TA", record.leadership_term_id), record.time_ns)
        elif isinstance(record, records.ElectionStateChange):
            state, term = record.new_state, record.leadership_term_id
            if state == "CANDIDATE_BALLOT":
                first.setdefault(("RV", record.candidate_term_id), record.time_ns)
            elif record.old_state == "CANDIDATE_BALLOT" and state == "LEADER_LOG_REPLICATION":
                first.setdefault(("NLT", term), record.time_ns)
            elif _reports_in(record):
                first.setdefault(("AP", term), record.time_ns)
            elif state == "FOLLOWER_CATCHUP_INIT":
                first.setdefault(("CATCHUP", term), record.time_ns)
            elif state == "CANVASS":
                log = (record.log_leadership_term_id, record.append_position, term)
                first.setdefault(("CAN", *log), record.time_ns)
    return first


def _reports_in(record: records.ElectionStateChange) -> bool:
    """Whether the state that is entered is one in which a follower reports in its leader's term."""
    if record.new_state == "FOLLOWER_REPLAY":
        return record.log_position < record.append_position
    return record.new_state in ("FOLLOWER_LOG_REPLICATION", "FOLLOWER_READY")


def _bound_commits(members: Mapping[int, Lines], bounds: Bounds) -> None:
    """A commit position is sent after the reports of a quorum, of whatever term they are."""
    needed = quorum_size(max(members) + 1) - 1
    reached = {leader: _reports(lines, needed) for leader, lines in members.items()}
    for receiver, lines in members.items():
        for record in lines:
            if not isinstance(record, records.CommitPosition) or record.log_position <= 0:
                continue
            leader = record.leader_member_id
            positions, times = reached.get(leader, ([], []))
            place = bisect_left(positions, record.log_position)
            if leader != receiver and place < len(positions):
                least = times[place] - record.time_ns
                known = bounds.get((leader, receiver), least)
                bounds[leader, receiver] = max(known, least)


def _reports(leader: Lines, needed: int) -> tuple[list[int], list[int]]:
    """Rising positions that so many others have reported, and when it was so first."""
    last: dict[int, int] = {}
    positions: list[int] = []
    times: list[int] = []
    kinds = records.AppendPosition | records.CanvassPosition | records.Vote
    for record in leader:
        if isinstance(record, kinds):
            last[record.follower_member_id] = record.log_position
            if 0 < needed <= len(last):
                position = sorted(last.values(), reverse=True)[needed - 1]
                if not positions or position > positions[-1]:
                    positions.append(position)
                    times.append(record.time_ns)
    return positions, times


CLOSED: Final = "CLOSED"
SEEKING: Final = frozenset({"INIT", "CANVASS", "NOMINATE", "CANDIDATE_BALLOT", "FOLLOWER_BALLOT"})
"""Election states of a member that has no leader yet."""
LEADING: Final = frozenset(
    {"LEADER_LOG_REPLICATION", "LEADER_REPLAY", "LEADER_INIT", "LEADER_READY"}
)
POSITIONS: Final = (AppendPosition, Vote, CanvassPosition)
"""Messages that say how far a member's log reaches."""
_BESIDE: Final = (RoleChange, TruncateLogEntry)
"""Records that a change of the election state brings, and which stand before it."""


@dataclass(slots=True)
class Phase:
    """A member's stay in one election state.

    Parameters
    ----------
    begin
        Index of the record that shows the state entered.
    end
        Index of the record that ends it; the number of records if none does.
    left_by
        The change of state that ends it; none if the process, the election or the log ends.
    """

    member_id: int
    state: str
    begin: int
    end: int
    entered_by: ElectionStateChange | NewElection | None
    left_by: ElectionStateChange | None


@dataclass(slots=True)
class Attempt:
    """One election of one member: from its start until it closes, or ends otherwise.

    Parameters
    ----------
    reason
        As the NEW_ELECTION line gives it; empty if there is no such line.
    outcome
        ``closed``, ``process ended``, ``new election`` or ``log ends``.
    """

    member_id: int
    reason: str
    begin: int
    end: int
    outcome: str
    phases: list[Phase] = field(default_factory=list)

    @property
    def is_startup(self) -> bool:
        """Whether the process had just started."""
        return self.reason == "node started"


@dataclass(slots=True)
class MemberTimeline:
    """The records of one member.

    Parameters
    ----------
    times
        Of the records, on the common clock, never falling.
    offset_ns
        What was added to the member's clock.
    lacks_start
        Whether the log begins within a process.
    """

    member_id: int
    files: tuple[str, ...]
    records: Sequence[Line]
    times: list[int]
    offset_ns: int
    lacks_start: bool
    attempts: list[Attempt] = field(default_factory=list)

    def evidence(self, index: int) -> Evidence:
        """Name the line of a record."""
        record = self.records[index]
        name = self.files[record.file] if record.file < len(self.files) else "?"
        return Evidence(name, record.line, self.member_id, record.time_ns)

    def last_before(self, index: int) -> int:
        """Index of the last record with a stamp before another one; the first if there is none."""
        place = index - 1
        while place > 0 and not is_stamped(self.records[place]):
            place -= 1
        return max(place, 0)

    def cause(self, index: int) -> int:
        """Index of the record before a change of state, those that the change brings left out;
        `NULL_VALUE` if there is none in that process.
        """
        place = index - 1
        while place >= 0 and isinstance(self.records[place], _BESIDE):
            place -= 1
        return place if place >= 0 and isinstance(self.records[place], ClusterEvent) else NULL_VALUE

    def index_at(self, time_ns: int) -> int:
        """Index of the first record later than a time of the common clock."""
        return bisect_right(self.times, time_ns)

    def within(self, begin_ns: int, end_ns: int) -> range:
        """Indexes of the records from one time to another."""
        return range(bisect_left(self.times, begin_ns), bisect_right(self.times, end_ns))


@dataclass(slots=True)
class Timeline:
    """The records of a cluster.

    Parameters
    ----------
    ids
        Of the members that the logs name, those without a log included.
    missing
        Members without a log.
    timeouts
        The timeouts in the files of the logs or the run, in ns by property.
    """

    members: dict[int, MemberTimeline]
    ids: tuple[int, ...]
    missing: tuple[int, ...]
    timeouts: Mapping[str, int] = field(default_factory=dict)
    _merged: dict[tuple[type[Line], ...], list[tuple[int, int, int]]] = field(
        default_factory=dict, repr=False
    )

    @property
    def member_count(self) -> int:
        """How many members the logs name."""
        return len(self.ids)

    @property
    def quorum(self) -> int:
        """How many members are a quorum."""
        return quorum_size(self.member_count)

    @property
    def begin_ns(self) -> int:
        """The first stamp, on the common clock."""
        return min((one.times[0] for one in self.members.values() if one.times), default=0)

    @property
    def end_ns(self) -> int:
        """The last stamp, on the common clock."""
        return max((one.times[-1] for one in self.members.values() if one.times), default=0)

    def merged(self, *kinds: type[Line]) -> list[tuple[int, int, int]]:
        """Records of some kinds, in the order of the common clock: time, member, index."""
        if kinds not in self._merged:
            self._merged[kinds] = sorted(
                (one.times[index], member_id, index)
                for member_id, one in self.members.items()
                for index, record in enumerate(one.records)
                if isinstance(record, kinds)
            )
        return self._merged[kinds]

    def record(self, member_id: int, index: int) -> Line:
        """The record at a place."""
        return self.members[member_id].records[index]

    def attempts(self) -> Iterator[Attempt]:
        """All members' elections, by member."""
        for one in self.members.values():
            yield from one.attempts


def make_timeline(
    logs: Mapping[int, MemberLog],
    missing: tuple[int, ...] = (),
    timeouts: Mapping[str, int] | None = None,
) -> Timeline:
    """Put the members' records on one clock, and take their elections apart.

    Parameters
    ----------
    logs
        By member id.
    missing
        Members that others name, and whose logs are not there.
    timeouts
        As far as they are known beside the logs, in ns by property.
    """
    found = {member_id: list[Line](log.records) for member_id, log in logs.items()}
    known = {member_id: lines for member_id, lines in found.items() if lines}
    offsets = align_clocks(known) if len(known) > 1 else dict.fromkeys(known, 0)
    members = {}
    for member_id, lines in known.items():
        files = tuple(path.name for path in logs[member_id].files)
        times = _times(lines, offsets[member_id])
        lacks_start = not isinstance(lines[0], LifeStart)
        timeline = MemberTimeline(member_id, files, lines, times, offsets[member_id], lacks_start)
        timeline.attempts = list(_attempts(timeline))
        members[member_id] = timeline
    silent = set(logs) - set(known)
    ids = tuple(sorted({*logs, *missing} - {NULL_VALUE}))
    absent = tuple(sorted({*missing, *silent} - {NULL_VALUE}))
    return Timeline(members, ids, absent, timeouts or {})


def is_stamped(record: Line) -> bool:
    """Whether the stamp of a record says when it was written."""
    if not isinstance(record, TruncatedLine):
        return True
    return not isinstance(record, DamagedLine) and record.time_ns != 0


def _times(records: Sequence[Line], offset_ns: int) -> list[int]:
    """Stamps on the common clock. After a reboot of the host its clock counts from 0 again: the
    wall clocks of two headers then say how far it has fallen.
    """
    times: list[int] = []
    header: tuple[int, int] | None = None
    latest = next((one.time_ns + offset_ns for one in records if is_stamped(one)), 0)
    for record in records:
        if is_stamped(record):
            time_ns = record.time_ns + offset_ns
            if isinstance(record, LifeStart):
                if header is not None and time_ns < latest:
                    passed_ns = (record.wall_time_ms - header[1]) * 1_000_000
                    due_ns = max(latest, header[0] + passed_ns)
                    offset_ns += due_ns - time_ns
                    time_ns = due_ns
                header = (time_ns, record.wall_time_ms)
            latest = max(latest, time_ns)
        times.append(latest)
    return times


class _Parts:
    """Takes a member's records apart, one after the other."""

    def __init__(self, timeline: MemberTimeline) -> None:
        self.timeline = timeline
        self.found: list[Attempt] = []
        self.open: Attempt | None = None

    def begin(self, index: int, reason: str) -> Attempt:
        self.end(index, "new election")
        self.open = Attempt(self.timeline.member_id, reason, index, index, "log ends")
        self.found.append(self.open)
        return self.open

    def phase(self, index: int, state: str, by: ElectionStateChange | NewElection | None) -> None:
        assert self.open is not None
        self._leave(index, by if isinstance(by, ElectionStateChange) else None)
        count = len(self.timeline.records)
        self.open.phases.append(Phase(self.timeline.member_id, state, index, count, by, None))

    def _leave(self, index: int, by: ElectionStateChange | None) -> None:
        phases = self.open.phases if self.open else []
        if phases and phases[-1].left_by is None:
            phases[-1].end, phases[-1].left_by = index, by

    def end(self, index: int, outcome: str, by: ElectionStateChange | None = None) -> None:
        if self.open is not None:
            self._leave(index, by)
            self.open.end, self.open.outcome = index, outcome
            self.open = None


def _attempts(timeline: MemberTimeline) -> Iterator[Attempt]:
    parts = _Parts(timeline)
    for index, record in enumerate(timeline.records):
        if isinstance(record, NewElection):
            parts.begin(index, record.reason)
            parts.phase(index, "INIT", record)
        elif isinstance(record, ElectionStateChange):
            if parts.open is None:
                # Before 1.44 there is no NEW_ELECTION line, and elsewhere it may be missing.
                parts.begin(index, "")
            if record.new_state == CLOSED:
                parts.end(index, "closed", record)
            else:
                parts.phase(index, record.new_state, record)
        elif _ends_process(record):
            parts.end(index, "process ended")
    parts.end(len(timeline.records), "log ends")
    yield from parts.found


def _ends_process(record: Line) -> bool:
    if isinstance(record, StateChange):
        return record.new_state == CLOSED
    return isinstance(record, LifeStart)


def is_heartbeat(record: Line) -> bool:
    """Whether a record is of a kind that a working member writes all the time."""
    return isinstance(record, AppendPosition | CommitPosition)


def is_damaged(record: Line) -> bool:
    """Whether a record stands for a line that cannot be read."""
    return isinstance(record, TruncatedLine)


def answered(one: MemberTimeline, begin: int, end: int) -> set[int]:
    """Members whose positions came between two places of a log."""
    return {
        record.follower_member_id
        for record in one.records[begin:end]
        if isinstance(record, POSITIONS)
    }

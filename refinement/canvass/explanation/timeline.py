"""The records of all members on one clock, and each member's elections divided into phases.

A `Sentence` about them names its `Evidence`: lines of the members' logs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from canvass.cluster.messages import NULL_VALUE, Record
from canvass.cluster.predicates import quorum_size
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.clocks import ClockedLog, align_clocks
from canvass.traces.aeron_log.incarnations import MemberLog
from canvass.traces.aeron_log.releases import LogReleases


class Evidence(Record, frozen=True):
    """One line of a member's log.

    Parameters
    ----------
    file
        The name of the file.
    line
        The number of the line, counted from 1.
    member_id
        The member that wrote the line.
    time_ns
        The line's own stamp, on the clock of that member's host.
    """

    file: str
    line: int
    member_id: int
    time_ns: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Sentence(Record, frozen=True):
    """A statement and the lines that show it; at least one."""

    text: str
    evidence: tuple[Evidence, ...]

    def __str__(self) -> str:
        places = ", ".join(dict.fromkeys(str(one) for one in self.evidence))
        return f"{self.text} [{places}]"


def in_findings(page: str) -> str:
    """Name the page of a finding, in brackets after a blank; empty if there is no page."""
    return f" (docs/findings/{page}.md)" if page else ""


def seconds_of(time_ns: int | None) -> str:
    """Write a time in seconds; a question mark if it is not known."""
    return "?" if time_ns is None else f"{time_ns / 1e9:.3f}"


def shown_ns(duration_ns: int) -> str:
    """Write a duration: milliseconds below ten seconds, else seconds."""
    ms = duration_ns / 1_000_000
    if abs(ms) < 10:
        return f"{ms:.1f} ms"
    return f"{ms:,.0f} ms" if abs(ms) < 10_000 else f"{ms / 1000:,.1f} s"


ACTIVE: Final = "ACTIVE"
CLOSED: Final = "CLOSED"
SEEKING: Final = frozenset({"INIT", "CANVASS", "NOMINATE", "CANDIDATE_BALLOT", "FOLLOWER_BALLOT"})
"""The election states of a member that has no leader yet."""
LEADING: Final = frozenset(
    {"LEADER_LOG_REPLICATION", "LEADER_REPLAY", "LEADER_INIT", "LEADER_READY"}
)
POSITIONS: Final = (records.AppendPosition, records.Vote, records.CanvassPosition)
"""The messages that report how far a member's log reaches."""
_BESIDE: Final = (records.RoleChange, records.TruncateLogEntry)
"""The records that a change of the election state logs before its own line."""
_Line = TypeVar("_Line", bound=records.Line)
_Report = TypeVar("_Report", bound=records.AppendPosition | records.CanvassPosition | records.Vote)
_ONE_HOST_NS: Final = 60_000_000_000
"""If the time between two headers differs more between their stamps and their wall clocks, the
stamps are of two hosts. On one host, a wall clock that is set while members run moves it by less.
"""


@dataclass(slots=True, eq=False)
class MemberTimeline:
    """The records of one member.

    Parameters
    ----------
    cluster
        The records of all members.
    times
        The times of the records, on the common clock, in ascending order.
    offset_ns
        The common clock minus the member's clock.
    """

    cluster: Timeline = field(repr=False)
    member_id: int
    files: tuple[str, ...]
    records: Sequence[records.Line]
    times: list[int]
    offset_ns: int
    attempts: list[Attempt] = field(default_factory=list)

    @property
    def phases(self) -> Iterator[Phase]:
        """The phases of all elections."""
        return (phase for attempt in self.attempts for phase in attempt.phases)

    def evidence(self, index: int) -> Evidence:
        """Name the line of a record."""
        record = self.records[index]
        name = self.files[record.file] if record.file < len(self.files) else "?"
        return Evidence(name, record.line, self.member_id, record.time_ns)

    def say(self, text: str, *places: int) -> Sentence:
        """A sentence with the records at ``places`` as evidence."""
        return Sentence(text, tuple(self.evidence(place) for place in places))

    def sign_of_end(self, index: int) -> int:
        """The index of the last sign of what ends at ``index``.

        That is the line there. If the log ends, or the process without a line of its own, it is the
        last line with a stamp before.
        """
        if index < len(self.records) and not isinstance(self.records[index], records.ProcessStart):
            return index
        place = index - 1
        while place > 0 and not _is_stamped(self.records[place]):
            place -= 1
        return max(place, 0)

    def cause(self, index: int) -> int:
        """The index of the last record before a change of state that the change did not log itself.

        `NULL_VALUE` if the process has no such record.
        """
        place = index - 1
        while place >= 0 and isinstance(self.records[place], _BESIDE):
            place -= 1
        found = place >= 0 and isinstance(self.records[place], records.ClusterEvent)
        return place if found else NULL_VALUE


@dataclass(slots=True, eq=False)
class Phase:
    """A member's stay in one election state, with access to its lines.

    Parameters
    ----------
    begin
        The index of the record that shows that the member entered the state.
    end
        The index of the record that ends the phase; the number of records if none does.
    left_by
        The change of state that ends the phase; none if the process, the election or the log ends.
    """

    attempt: Attempt
    state: str
    begin: int
    end: int
    entered_by: records.ElectionStateChange | records.NewElection
    left_by: records.ElectionStateChange | None

    @property
    def one(self) -> MemberTimeline:
        """The records of the member."""
        return self.attempt.one

    @property
    def own(self) -> records.ElectionStateChange:
        """The line that began the phase, with the election's variables. INIT may have none."""
        assert isinstance(self.entered_by, records.ElectionStateChange)
        return self.entered_by

    @property
    def begin_ns(self) -> int:
        """The begin on the common clock."""
        return self.one.times[self.begin]

    @property
    def end_ns(self) -> int:
        """The time of the last sign of the phase, on the common clock."""
        return self.one.times[self.one.sign_of_end(self.end)]

    @property
    def lasted_ns(self) -> int:
        """The time from the begin to the last sign."""
        return self.end_ns - self.begin_ns

    def lines(self, begin: int | None = None) -> Iterator[tuple[int, records.Line]]:
        """The records from ``begin`` to the end of the phase, with indexes.

        By default ``begin`` is the begin of the phase.
        """
        first = self.begin if begin is None else begin
        return enumerate(self.one.records[first : self.end], first)

    def last(self, *kinds: type[_Line], begin: int | None = None) -> tuple[int, _Line] | None:
        """The last record of the given kinds that `lines` gives, with its index."""
        found = None
        for index, record in self.lines(begin):
            if isinstance(record, kinds):
                found = index, record
        return found

    def last_reports(self, *kinds: type[_Report]) -> dict[int, tuple[int, _Report]]:
        """The last message of some kinds from each member, with its index."""
        return last_of_each(self.one, self.begin, self.end, *kinds)

    def say(self, text: str, *places: int) -> Sentence:
        """A sentence with the lines at ``places`` as evidence; default: the phase's first line."""
        return self.one.say(text, *(places or (self.begin,)))


@dataclass(slots=True, eq=False)
class Attempt:
    """One election of one member: from its start until it closes, or ends otherwise.

    Parameters
    ----------
    reason
        The reason in the NEW_ELECTION line; empty if there is no such line.
    outcome
        ``closed``, ``process ended``, ``new election`` or ``log ends``.
    """

    one: MemberTimeline
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
class Timeline:
    """The records of a cluster.

    Parameters
    ----------
    ids
        The ids of the members that the logs name, including those without a log.
    missing
        The members without a log.
    timeouts
        The timeouts in the files of the logs or the run, in ns by property.
    releases
        The releases that wrote the logs, and the revision for them; None if a run does not say.
    ignored
        Names of files that resemble names of logs. These files are not read.
    earlier
        The number of clusters that ran before in the same log.
    """

    members: dict[int, MemberTimeline]
    ids: tuple[int, ...]
    missing: tuple[int, ...]
    timeouts: Mapping[str, int] = field(default_factory=dict)
    releases: LogReleases | None = None
    ignored: tuple[str, ...] = ()
    earlier: int = 0
    _merged: dict[tuple[type[records.Line], ...], list[tuple[int, MemberTimeline, int]]] = field(
        default_factory=dict, repr=False
    )

    @property
    def member_count(self) -> int:
        """The number of members that the logs name."""
        return len(self.ids)

    def last_line(self) -> Evidence:
        """Name the line with the last stamp."""
        one = max(self.members.values(), key=lambda member: member.times[-1])
        return one.evidence(len(one.records) - 1)

    @property
    def quorum(self) -> int:
        """The number of members that are a quorum."""
        return quorum_size(self.member_count)

    @property
    def begin_ns(self) -> int:
        """The first stamp, on the common clock."""
        return min((one.times[0] for one in self.members.values() if one.times), default=0)

    @property
    def end_ns(self) -> int:
        """The last stamp, on the common clock."""
        return max((one.times[-1] for one in self.members.values() if one.times), default=0)

    def merged(self, *kinds: type[records.Line]) -> list[tuple[int, MemberTimeline, int]]:
        """The records of some kinds in the order of the common clock, as time, member and index."""
        if kinds not in self._merged:
            found = [
                (one.times[index], one, index)
                for one in self.members.values()
                for index, record in enumerate(one.records)
                if isinstance(record, kinds)
            ]
            found.sort(key=lambda row: (row[0], row[1].member_id, row[2]))
            self._merged[kinds] = found
        return self._merged[kinds]

    def attempts(self) -> Iterator[Attempt]:
        """The elections of all members, one member after the other."""
        for one in self.members.values():
            yield from one.attempts


def make_timeline(
    logs: Mapping[int, MemberLog],
    missing: tuple[int, ...] = (),
    timeouts: Mapping[str, int] | None = None,
) -> Timeline:
    """Put the members' records on one clock, and divide their elections into phases.

    Parameters
    ----------
    logs
        The logs by member id.
    missing
        The members without a log that the logs of others name.
    timeouts
        The timeouts in a file beside the logs, in ns by property.
    """
    clocked = {
        member_id: ClockedLog(log.records, host_times(log.records))
        for member_id, log in logs.items()
        if log.records
    }
    offsets = align_clocks(clocked)
    silent = set(logs) - set(clocked)
    ids = tuple(sorted({*logs, *missing} - {NULL_VALUE}))
    absent = tuple(sorted({*missing, *silent} - {NULL_VALUE}))
    found = Timeline({}, ids, absent, timeouts or {})
    for member_id, log in clocked.items():
        lines, offset = log.records, offsets[member_id]
        files = tuple(path.name for path in logs[member_id].files)
        times = [time_ns + offset for time_ns in log.times]
        one = MemberTimeline(found, member_id, files, lines, times, offset)
        one.attempts += _attempts(one)
        found.members[member_id] = one
    return found


def _is_stamped(record: records.Line) -> bool:
    """Whether the stamp of a record shows when the record was written."""
    if not isinstance(record, records.TruncatedLine):
        return True
    return not isinstance(record, records.DamagedLine) and record.time_ns != 0


def host_times(lines: Sequence[records.Line]) -> list[int]:
    """Give the times of a member's lines, on the clock that its host had first; they never fall.

    After a host reboot, or if the member starts again on another host, the clock has another zero.
    The wall clocks of the headers before and after then give the time between the headers.
    """
    # Lines without a stamp may come first. They get the time of the first line that has a stamp.
    latest = next((one.time_ns for one in lines if _is_stamped(one)), 0)
    header: tuple[int, int] | None = None
    shift_ns, times = 0, list[int]()
    for record in lines:
        if _is_stamped(record):
            time_ns = record.time_ns + shift_ns
            if isinstance(record, records.ProcessStart):
                if header is not None:
                    passed_ns = (record.wall_time_ms - header[1]) * 1_000_000
                    due_ns = max(latest, header[0] + passed_ns)
                    if time_ns < latest or abs(due_ns - time_ns) > _ONE_HOST_NS:
                        shift_ns += due_ns - time_ns
                        time_ns = due_ns
                header = (time_ns, record.wall_time_ms)
            latest = max(latest, time_ns)
        times.append(latest)
    return times


def _attempts(one: MemberTimeline) -> Iterator[Attempt]:
    """Divide a member's records into elections and phases."""
    attempt: Attempt | None = None
    for index, record in enumerate([*one.records, None]):
        by = record if isinstance(record, records.ElectionStateChange) else None
        outcome = ends_election(record)
        if by is None and not outcome:
            continue
        if by is not None and attempt is None:
            # Releases before 1.44 print no NEW_ELECTION line. In other logs it may be missing.
            attempt = Attempt(one, "", index, index, "log ends")
        if attempt is not None and attempt.phases:
            attempt.phases[-1].end, attempt.phases[-1].left_by = index, by
        if attempt is not None and outcome:
            attempt.end, attempt.outcome = index, outcome
            yield attempt
            attempt = None
        if isinstance(record, records.NewElection):
            attempt = Attempt(one, record.reason, index, index, "log ends")
        if isinstance(record, records.ElectionStateChange | records.NewElection) and attempt:
            state, end = "INIT" if by is None else by.new_state, len(one.records)
            attempt.phases.append(Phase(attempt, state, index, end, record, None))


def ends_election(record: records.Line | None) -> str:
    """The outcome of the election that a record ends; empty if it ends none.

    ``None`` as the record is the end of the log.
    """
    match record:
        case records.NewElection():
            return "new election"
        case records.ElectionStateChange(new_state="CLOSED"):
            return "closed"
        case records.StateChange(new_state="CLOSED") | records.ProcessStart():
            return "process ended"
        case None:
            return "log ends"
        case _:
            return ""


def is_heartbeat(record: records.Line) -> bool:
    """Whether a record is of a kind that a working member logs all the time."""
    return isinstance(record, records.AppendPosition | records.CommitPosition)


def last_of_each(
    one: MemberTimeline, begin: int, end: int, *kinds: type[_Report]
) -> dict[int, tuple[int, _Report]]:
    """The last message of some kinds from each member between two indexes, with its index."""
    return {
        record.follower_member_id: (index, record)
        for index, record in enumerate(one.records[begin:end], begin)
        if isinstance(record, kinds)
    }


def term_of(record: records.AppendPosition | records.CanvassPosition | records.Vote) -> int:
    """The term of the position that a member reports."""
    if isinstance(record, records.AppendPosition):
        return record.leadership_term_id
    return record.log_leadership_term_id

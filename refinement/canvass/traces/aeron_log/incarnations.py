"""The records of a member's log (`MemberLog`), divided into process incarnations, and the logs of a
cluster (`ClusterLogs`).

Some lines are kept back, because only the next line decides what they are:

* An unreadable line was cut by a crash (`TruncatedLine`) if a process starts after it, or nothing
  follows. Otherwise it is damaged (`DamagedLine`).
* A header at the beginning of a later file was written by a process that started, or by an agent
  that rolled its file. The next event decides.

If a member starts again in the same process, there is no header, so one is inferred. A new start is
recognised if the module has closed, or if the member begins its first election again. The inferred
header comes before the first line of the new start. Lines that a start prints before its election
are kept back until the election begins.

A log may hold the lines of several members. Each member is read alone, and the lines of the others
are passed over. A header then counts for a member only if the next line of the member is that of a
start.

One thread of a process writes its cluster events, so their stamps never fall. A line that is older
than the line before it counts as damaged. If a header occurs twice, the log contains a copy of
itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from canvass.traces.aeron_log.line import LineProblem, stamp_of
from canvass.traces.aeron_log.records import (
    SENDER_FIELDS,
    ClusterEvent,
    ClusterSessionStateChange,
    DamagedLine,
    ElectionStateChange,
    Line,
    LogRecord,
    NewElection,
    ProcessStart,
    ServiceAck,
    Start,
    StateChange,
    TruncatedLine,
)
from canvass.traces.aeron_log.source import AeronLogError, LogCode


@dataclass(slots=True)
class LineCounts:
    """The numbers of lines of one member's log, by kind. Each line counts once.

    A truncated line with a header after it counts twice: as a line and as a header.

    Parameters
    ----------
    members
        The member ids in lines of the cluster component, each with file and line of its first line.
    events
        For each event of the cluster component, the lines that became a record.
    unknown_events
        For each event of the cluster component that this reader does not know, its lines. The name
        of an event of an unknown component begins with the component.
    other_components
        Lines of Aeron's other components.
    unreadable
        Lines that became a `DamagedLine` or `TruncatedLine`.
    other_members
        Lines of the cluster component in the same log that another member wrote, or that name no
        member.
    foreign
        Lines that the logging did not write (an application may write to the same stream), empty
        lines, and the further lines of an event whose text contains line ends.
    headers
        Headers of processes that start, and of rolled files.
    overlap
        File and line of the first line that shows two members with the same id at the same time.
    framings
        The framings of its files (`line.FRAMINGS`).
    """

    members: dict[int, tuple[int, int]] = field(default_factory=dict)
    events: dict[str, int] = field(default_factory=dict)
    unknown_events: dict[str, int] = field(default_factory=dict)
    other_components: int = 0
    other_members: int = 0
    unreadable: int = 0
    foreign: int = 0
    headers: int = 0
    overlap: tuple[int, int] | None = None
    framings: set[str] = field(default_factory=set)

    @property
    def lines(self) -> int:
        """All lines."""
        named = sum(self.events.values()) + sum(self.unknown_events.values())
        others = self.other_components + self.other_members + self.foreign
        return named + others + self.unreadable + self.headers


_EARLIEST: Final = -(1 << 63)
"""A stamp that is older than all others."""


class Broken(NamedTuple):
    """A line that cannot be read. The next line decides which record it becomes."""

    file: int
    line: int
    text: str
    problem: LineProblem


class IncarnationStream:
    """Makes the records of a member's log, and counts its lines.

    Parameters
    ----------
    alone
        Whether the log has only lines of this member.

    Attributes
    ----------
    counts
        The counts so far.
    broken
        The unreadable line that is kept back, if there is one.
    """

    def __init__(self, *, alone: bool = True) -> None:
        self.counts = LineCounts()
        self.broken: Broken | None = None
        self._alone = alone
        self._out: list[LogRecord] = []
        self._header: ProcessStart | None = None
        self._held: list[tuple[str, ClusterEvent, str]] = []
        self._known: ProcessStart | None = None
        self._headers: set[tuple[int, int]] = set()
        self._starts: set[int] = set()
        self._stamps = (_EARLIEST, _EARLIEST)
        self._life = _Life()
        self._version: Start | None = None

    def take(self) -> list[LogRecord]:
        """The records that are complete and have not been taken yet."""
        out, self._out = self._out, []
        return out

    def event(self, name: str, record: ClusterEvent, line: str) -> None:
        """Add a line of the cluster component."""
        if isinstance(record, Start) and not self._alone:
            self._version = record
            self.counts.other_members += 1
            return
        if self._is_prelude(record):
            self._held.append((name, record, line))
            return
        starts = starts_process(record)
        if self.broken is not None or self._header is not None:
            self._decide_header(starts=starts or not (self._alone or self.counts.events))
            self._record_broken_line(DamagedLine)
        elif self._held or starts:
            self._infer_header(record)
            self._release()
        self._add(name, record, line, starts=starts)

    def _is_prelude(self, record: ClusterEvent) -> bool:
        """Whether only the next line decides to which process a line belongs.

        Such a line can be the first one of a process that starts: the process first opens the
        sessions of its snapshot, and its services acknowledge that they have started.
        """
        if self._header is not None:
            return isinstance(record, ClusterSessionStateChange)
        if isinstance(record, ClusterSessionStateChange):
            return self._life.is_begun and record.old_state in ("null", "INIT")
        return self._life.is_begun and isinstance(record, ServiceAck) and record.ack_id == 0

    def _infer_header(self, *records: ClusterEvent) -> None:
        """Add the missing header, if a line that is kept back or one of ``records`` shows a start.

        The header's clocks follow from those of the header before it. If there is none, the wall
        clock is taken to be equal to the monotonic one.
        """
        several = [*(record for _, record, _ in self._held), *records]
        if not any(map(self._starts_again, several)):
            return
        first, known = several[0], self._known or ProcessStart(0, 0, 0, 0, ())
        passed_ms = (first.time_ns - known.time_ns) // 1_000_000
        time_ns = max(known.time_ns + passed_ms * 1_000_000, self._stamps[1])
        wall_time_ms = known.wall_time_ms + passed_ms
        place = first.file, first.line, time_ns, wall_time_ms
        self._begin(ProcessStart(*place, known.loggers))
        self._life.before = None
        self._life = _Life(self._life)

    def _begin(self, header: ProcessStart) -> None:
        """Begin a process, with the version that a `Start` has named since the last process."""
        self._out.append(header)
        version, self._version = self._version, None
        if version is not None and version.time_ns >= header.time_ns:
            self._out.append(version)

    def _starts_again(self, record: ClusterEvent) -> bool:
        """Whether a line is the first one of a new start that has no header."""
        life = self._life
        is_known = record.time_ns < self._stamps[1] or record.time_ns in self._starts
        if is_known or not life.is_begun or not starts_process(record):
            return False
        if isinstance(record, StateChange):
            return False  # The election begins before the module leaves INIT.
        if isinstance(record, ElectionStateChange) and life.state == record.old_state:
            return False  # The module of a client that fails closes before its agent ends.
        return life.is_closed or (isinstance(record, NewElection) and bool(life.state))

    def _add(self, name: str, record: ClusterEvent, line: str, *, starts: bool) -> None:
        before, latest = self._stamps
        # After a host reboot, the clock of a new process counts from 0 again.
        if record.time_ns < latest and not (starts and record.time_ns not in self._starts):
            if record.time_ns >= before:
                latest = record.time_ns  # The stamp of the line before this one is false.
            self._stamps = before, latest
            reason = (
                "older than the line before it: lines were copied or moved, or a stamp is false"
            )
            problem = LineProblem(1, reason)
            self.break_off(Broken(record.file, record.line, line, problem))
            return
        self._stamps = latest, record.time_ns
        if starts:
            self._starts.add(record.time_ns)
        counts = self.counts
        if record.member_id not in counts.members:
            counts.members[record.member_id] = (record.file, record.line)
        counts.events[name] = counts.events.get(name, 0) + 1
        if self._life.note(record) and counts.overlap is None:
            counts.overlap = (record.file, record.line)
        self._out.append(record)

    def _release(self) -> None:
        """Add the lines that were kept back."""
        held, self._held = self._held, []
        for name, record, line in held:
            self._add(name, record, line, starts=starts_process(record))

    def unknown_event(self, name: str) -> None:
        """Count a line of an event that is not in the table, or of an unknown component."""
        self._record_broken_line(DamagedLine)
        counts = self.counts.unknown_events
        counts[name] = counts.get(name, 0) + 1

    def other_component(self) -> None:
        """Count a line of another component of Aeron."""
        self._record_broken_line(DamagedLine)
        self.counts.other_components += 1

    def other_member(self) -> None:
        """Count a line that another member wrote, or that names no member."""
        self.counts.other_members += 1

    def foreign(self) -> None:
        """Count a line that the logging did not write."""
        self.counts.foreign += 1

    def break_off(self, broken: Broken) -> None:
        """Keep back a line that cannot be read. A line that was kept back before is damaged."""
        self._decide_header(starts=self._alone or not self.counts.events)
        self._release()
        self._record_broken_line(DamagedLine)
        self.broken = broken

    def header(self, header: ProcessStart) -> bool:
        """Add the header of a new process, or of a file that the agent has rolled.

        Returns
        -------
        bool
            Whether the header is new. A header that occurs again is not added.
        """
        key = header.wall_time_ms, header.time_ns
        if key in self._headers:
            return False
        self._headers.add(key)
        self._decide_header(starts=self._alone)
        self._header = header
        if self._known is not None and header.wall_time_ms == self._known.wall_time_ms:
            self._decide_header(starts=False)
        elif self._alone and (header.file == 0 or header.line > 1):
            self._decide_header(starts=True)
        return True

    def close(self) -> None:
        """Complete the records at the end of the log."""
        self._decide_header(starts=self._alone)
        self._infer_header()
        self._release()
        self._record_broken_line(TruncatedLine)

    def _record_broken_line(self, kind: type[TruncatedLine]) -> None:
        """Make a record of the unreadable line, unless a header after it is still kept back."""
        broken = self.broken
        if broken is None or self._header is not None:
            return
        self.broken = None
        stamp = stamp_of(broken.text)
        column, reason = broken.problem.column, broken.problem.reason
        time_ns = stamp[0] if stamp else 0
        self._out.append(kind(broken.file, broken.line, time_ns, column, reason, broken.text))
        self.counts.unreadable += 1

    def _decide_header(self, *, starts: bool) -> None:
        """Decide whether the header that is kept back starts a process, and add it if so."""
        header = self._header
        if header is None:
            return
        self._header = None
        if starts:
            self._record_broken_line(TruncatedLine)
            self._stamps = (_EARLIEST, _EARLIEST)
            self._starts.clear()
            self._known, self._life = header, _Life()
            self._begin(header)
        else:
            self._record_broken_line(DamagedLine)
        self.counts.headers += 1
        self._release()


@dataclass(slots=True)
class _Life:
    """A process incarnation, as far as its lines have been read.

    Parameters
    ----------
    before
        The incarnation before this one, if this one has no header of its own.

    Attributes
    ----------
    is_begun
        Whether it has a line.
    is_closed
        Whether its module has closed.
    state
        The state of its election; empty before its first one.
    """

    before: _Life | None = None
    is_begun: bool = False
    is_closed: bool = False
    state: str = ""

    def note(self, record: ClusterEvent) -> bool:
        """Note a line. Say whether it shows that the incarnation before has not ended."""
        self.is_begun = True
        before = self.before if self.before is not None and not self.before.is_closed else None
        if isinstance(record, StateChange) and record.new_state == "CLOSED":
            was_closed, self.is_closed = self.is_closed, True
            return before is not None and was_closed
        if isinstance(record, NewElection):
            self.state = "INIT"
        if not isinstance(record, ElectionStateChange):
            return False
        state, self.state = self.state, record.new_state
        return (
            before is not None
            and record.old_state not in (state, "INIT")
            and (record.old_state == before.state)
        )


def starts_process(record: ClusterEvent) -> bool:
    """Whether a process can begin its log with an event."""
    if isinstance(record, NewElection):
        return record.reason == "node started"
    if isinstance(record, ServiceAck):
        return record.ack_id == 0
    if isinstance(record, ElectionStateChange | StateChange):
        return record.old_state == "INIT"
    return isinstance(record, Start)


_NAMES_MEMBER: Final[dict[type[Line], str]] = {
    **SENDER_FIELDS,
    ElectionStateChange: "leader_member_id",
}
"""The field with a sender or leader, for each record that has one."""


@dataclass(frozen=True, slots=True)
class MemberLog:
    """The log of one member.

    Parameters
    ----------
    member_id
        The member in its lines. If it has no line of the cluster, the member in the file's name, or
        `NULL_VALUE`.
    files
        The files in reading order. A record's ``file`` is an index into them.
    records
        The records in the order of the lines. If the log is too long for the memory, only the
        key records (`logs`), and for each process incarnation the first record of each kind and
        the last record.
    counts
        The numbers of its lines by kind.
    unknown_fields
        For each unknown field, as ``EVENT.name``, the number of its occurrences.
    named
        The members that its lines name as senders or leaders.
    reread
        A function that reads all records again; None if all are in memory.
    """

    member_id: int
    files: tuple[Path, ...]
    records: list[LogRecord]
    counts: LineCounts = field(default_factory=LineCounts)
    unknown_fields: dict[str, int] = field(default_factory=dict)
    named: Collection[int] = ()
    reread: Callable[[], Iterator[LogRecord]] | None = None

    def every_record(self) -> Iterable[LogRecord]:
        """All records in the order of the lines; records that are not in memory are read again."""
        return self.records if self.reread is None else self.reread()


@dataclass(frozen=True, slots=True)
class ClusterLogs:
    """The logs of one cluster.

    Parameters
    ----------
    members
        The logs by member id.
    missing
        The members that other logs name, but that have no log.
    ignored
        Names of files that resemble names of logs. These files are not read.
    member_count
        The number of members; 0 if only the lines show it.
    real_ids
        For each member whose number here differs from its id in the logs, that id.
    """

    members: dict[int, MemberLog]
    missing: tuple[int, ...]
    ignored: tuple[str, ...]
    member_count: int = 0
    real_ids: Mapping[int, int] = field(default_factory=dict)

    def need_lines(self) -> None:
        """Check that the logs have a line.

        Raises
        ------
        AeronLogError
            If all files are empty.
        """
        if not any(log.counts.lines for log in self.members.values()):
            first = next(iter(self.members.values())).files[0]
            more = " and all others" if len(self.members) > 1 else ""
            reason = f"the log is empty{more}"
            raise AeronLogError(str(first), 0, 0, LogCode.NO_LOG, reason)


def members_named(records: Iterable[LogRecord]) -> set[int]:
    """The ids of members that records name as senders or leaders."""
    heard: set[int] = set()
    for record in records:
        if (name := _NAMES_MEMBER.get(type(record))) is not None:
            heard.add(getattr(record, name))
    return heard

"""The records of a member's log, divided into process incarnations.

The next line decides what some lines are, so they are kept back. A line that is no record was cut
by a crash (`TruncatedLine`) if a process starts after it, or nothing follows; else it is damaged
(`DamagedLine`). A header at the beginning of a later file is written by a process that starts, or
by an agent that rolls its file; the next event decides.

One thread of a process writes its cluster events, so their stamps never fall. A line that is older
than the line before it counts as damaged. A header that is there twice shows that the log is there
twice.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from canvass.traces.aeron_log.errors import LineProblem, LogCode
from canvass.traces.aeron_log.line import stamp_of
from canvass.traces.aeron_log.records import (
    ClusterEvent,
    ClusterSessionStateChange,
    DamagedLine,
    ElectionStateChange,
    LogRecord,
    NewElection,
    ProcessStart,
    ServiceAck,
    Start,
    StateChange,
    TruncatedLine,
)


@dataclass(slots=True)
class LineCounts:
    """The numbers of lines of one member's log, by kind. Each line counts once.

    A truncated line with a header behind it counts twice: as a line and as a header.

    Parameters
    ----------
    members
        The member ids in lines of the cluster component, each with file and line of the first one.
    events
        Lines per event of the cluster component that became a record.
    unknown_events
        Lines per event of the cluster component that this reader does not know.
    other_components
        Lines of other components.
    unreadable
        Lines that became a `DamagedLine` or `TruncatedLine`.
    foreign
        Lines that the logging did not write (an application may write to the same stream), empty
        lines, and further lines of an event whose text contains line ends.
    headers
        Headers of processes that start, and of rolled files.
    """

    members: dict[int, tuple[int, int]] = field(default_factory=dict)
    events: dict[str, int] = field(default_factory=dict)
    unknown_events: dict[str, int] = field(default_factory=dict)
    other_components: int = 0
    unreadable: int = 0
    foreign: int = 0
    headers: int = 0

    @property
    def lines(self) -> int:
        """All lines."""
        named = sum(self.events.values()) + sum(self.unknown_events.values())
        return named + self.other_components + self.unreadable + self.foreign + self.headers


_EARLIEST: Final = -(1 << 63)
"""No stamp is older."""


class Broken(NamedTuple):
    """A line that cannot be read. The line after it decides which record it becomes."""

    file: int
    line: int
    text: str
    problem: LineProblem


class IncarnationStream:
    """Makes the records of a member's log, and counts its lines.

    Attributes
    ----------
    counts
        The counts so far.
    broken
        The unreadable line that is kept back, if there is one.
    """

    def __init__(self) -> None:
        self.counts = LineCounts()
        self.broken: Broken | None = None
        self._out: list[LogRecord] = []
        self._header: ProcessStart | None = None
        self._held: list[tuple[str, ClusterEvent, str]] = []
        self._wall_time_ms: int | None = None
        self._headers: set[tuple[int, int]] = set()
        self._starts: set[int] = set()
        self._stamps = (_EARLIEST, _EARLIEST)

    def take(self) -> list[LogRecord]:
        """The records that are complete and have not been taken yet."""
        out, self._out = self._out, []
        return out

    def event(self, name: str, record: ClusterEvent, line: str) -> None:
        """Add a line of the cluster component."""
        if self._header is not None and isinstance(record, ClusterSessionStateChange):
            # A process that starts opens the sessions of its snapshot before all else.
            self._held.append((name, record, line))
            return
        starts = starts_process(record)
        if self.broken is not None or self._header is not None:
            self._decide(starts=starts)
            self._settle(DamagedLine)
        before, latest = self._stamps
        # After a reboot the clock of a new process counts from 0 again.
        if record.time_ns < latest and not (starts and record.time_ns not in self._starts):
            if record.time_ns >= before:
                latest = record.time_ns  # The stamp of the line before it is the false one.
            self._stamps = before, latest
            reason = (
                "older than the line before it: lines were copied or moved, or a stamp is false"
            )
            problem = LineProblem(LogCode.OUT_OF_ORDER, 1, reason)
            self.break_off(Broken(record.file, record.line, line, problem))
            return
        self._stamps = latest, record.time_ns
        if starts:
            self._starts.add(record.time_ns)
        counts = self.counts
        if record.member_id not in counts.members:
            counts.members[record.member_id] = (record.file, record.line)
        counts.events[name] = counts.events.get(name, 0) + 1
        self._out.append(record)

    def unknown_event(self, name: str) -> None:
        """Count an event of the cluster component that is not in the table."""
        self._settle(DamagedLine)
        counts = self.counts.unknown_events
        counts[name] = counts.get(name, 0) + 1

    def other_component(self) -> None:
        """Count a line of another component."""
        self._settle(DamagedLine)
        self.counts.other_components += 1

    def foreign(self) -> None:
        """Count a line that the logging did not write."""
        self.counts.foreign += 1

    def break_off(self, broken: Broken) -> None:
        """Keep back a line that cannot be read. A line kept before is damaged."""
        self._decide(starts=True)
        self._settle(DamagedLine)
        self.broken = broken

    def header(self, header: ProcessStart) -> bool:
        """Add the header of a new process, or of a file that the agent has rolled.

        Returns
        -------
        bool
            Whether the header is new. A header that was there already is not added.
        """
        key = header.wall_time_ms, header.time_ns
        if key in self._headers:
            return False
        self._headers.add(key)
        self._decide(starts=True)
        self._header = header
        if header.wall_time_ms == self._wall_time_ms:
            self._decide(starts=False)
        elif header.file == 0 or header.line > 1:
            self._decide(starts=True)
        return True

    def close(self) -> None:
        """Complete the records at the end of the log."""
        self._decide(starts=True)
        self._settle(TruncatedLine)

    def _settle(self, kind: type[TruncatedLine]) -> None:
        """Make a record of the line kept back, unless a header after it is still kept back."""
        broken = self.broken
        if broken is None or self._header is not None:
            return
        self.broken = None
        stamp = stamp_of(broken.text)
        code, column, reason = broken.problem.code, broken.problem.column, broken.problem.reason
        time_ns = stamp[0] if stamp else 0
        self._out.append(
            kind(broken.file, broken.line, time_ns, column, code.value, reason, broken.text)
        )
        self.counts.unreadable += 1

    def _decide(self, *, starts: bool) -> None:
        """Decide whether the header kept back starts a process."""
        header = self._header
        if header is None:
            return
        self._header = None
        if starts:
            self._settle(TruncatedLine)
            self._stamps = (_EARLIEST, _EARLIEST)
            self._starts.clear()
            self._wall_time_ms = header.wall_time_ms
            self._out.append(header)
        else:
            self._settle(DamagedLine)
        self.counts.headers += 1
        held, self._held = self._held, []
        for name, record, line in held:
            self.event(name, record, line)


def starts_process(record: ClusterEvent) -> bool:
    """Whether an event is one with which a process begins its log."""
    if isinstance(record, NewElection):
        return record.reason == "node started"
    if isinstance(record, ServiceAck):
        return record.ack_id == 0
    if isinstance(record, ElectionStateChange | StateChange):
        return record.old_state == "INIT"
    return isinstance(record, Start)

"""From classified lines to the record stream of a member: lives begin, cut lines get their name.

Nothing here looks into a line. A line that is no record is kept back until it is known what
follows: before the next life, or at the very end, it was cut by a crash (`TruncatedLine`); anywhere
else it is damage (`DamagedLine`). So is the header of a later file: the agent writes one when it
rolls, the same as a process that starts, and only the next event tells which of the two it was.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from canvass.traces.aeron_log.errors import LineProblem
from canvass.traces.aeron_log.line import stamp_of
from canvass.traces.aeron_log.records import (
    ClusterEvent,
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
    """What the lines of one member's log are; each line counts in one field.

    A cut line that goes over into the header of the next life counts twice: the line and the
    header.

    Parameters
    ----------
    members
        Member ids of the cluster lines, each with the file and line of the first.
    events
        Lines per event of the cluster component that became a record.
    unknown_events
        Lines per event of the cluster component that this reader does not know.
    other_components
        Lines of other components.
    unreadable
        Lines that became a `DamagedLine` or `TruncatedLine`.
    foreign
        Lines that are not the log's (an application writing to the same stream), empty ones and the
        further lines of an event whose text holds line ends included.
    headers
        Of processes that start, and of files that were rolled.
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


class Broken(NamedTuple):
    """A line that is no record; what it becomes depends on what follows."""

    file: int
    line: int
    text: str
    problem: LineProblem


class IncarnationStream:
    """Puts the lines of a member in the order of its lives, and counts them.

    Attributes
    ----------
    counts
        What the lines so far are.
    broken
        The line that is kept back, if there is one.
    """

    def __init__(self) -> None:
        self.counts = LineCounts()
        self.broken: Broken | None = None
        self._out: list[LogRecord] = []
        self._header: ProcessStart | None = None
        self._wall_time_ms: int | None = None

    def take(self) -> list[LogRecord]:
        """Records that are settled, each once."""
        out, self._out = self._out, []
        return out

    def event(self, name: str, record: ClusterEvent) -> None:
        """Add a line of the cluster component."""
        if self.broken is not None or self._header is not None:
            self._decide(starts=starts_process(record))
            self._settle(DamagedLine)
        counts = self.counts
        if record.member_id not in counts.members:
            counts.members[record.member_id] = (record.file, record.line)
        counts.events[name] = counts.events.get(name, 0) + 1
        self._out.append(record)

    def unknown_event(self, name: str) -> None:
        """Count an event of the cluster component that the table does not have."""
        self._settle(DamagedLine)
        counts = self.counts.unknown_events
        counts[name] = counts.get(name, 0) + 1

    def other_component(self) -> None:
        """Count a line of another component."""
        self._settle(DamagedLine)
        self.counts.other_components += 1

    def foreign(self) -> None:
        """Count a line that is not the log's."""
        self.counts.foreign += 1

    def break_off(self, broken: Broken) -> None:
        """Keep a line back that is no record; one kept before now stands within a life."""
        self._decide(starts=True)
        self._settle(DamagedLine)
        self.broken = broken

    def header(self, header: ProcessStart) -> None:
        """Add a header: of a new life, or of a file that the agent has rolled."""
        self._decide(starts=True)
        self._header = header
        if header.wall_time_ms == self._wall_time_ms:
            self._decide(starts=False)
        elif header.file == 0 or header.line > 1:
            self._decide(starts=True)

    def close(self) -> None:
        """Settle what is kept back: nothing follows."""
        self._decide(starts=True)
        self._settle(TruncatedLine)

    def _settle(self, kind: type[TruncatedLine]) -> None:
        """Say what the line kept back is, unless a header must be decided first."""
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
        """Settle whether the header kept back starts a life."""
        header = self._header
        if header is None:
            return
        self._header = None
        if starts:
            self._settle(TruncatedLine)
            self._wall_time_ms = header.wall_time_ms
            self._out.append(header)
        else:
            self._settle(DamagedLine)
        self.counts.headers += 1


def starts_process(record: ClusterEvent) -> bool:
    """Whether an event is one that only a process that has just started writes first."""
    if isinstance(record, NewElection):
        return record.reason == "node started"
    if isinstance(record, ServiceAck):
        return record.ack_id == 0
    if isinstance(record, ElectionStateChange | StateChange):
        return record.old_state == "INIT"
    return isinstance(record, Start)

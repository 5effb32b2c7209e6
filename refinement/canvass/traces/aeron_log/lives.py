"""From classified lines to the record stream of a member: lives begin, cut lines get their name.

Nothing here looks into a line. A line that is no record is kept back until it is known what
follows: before the next life, or at the very end, it was cut by a crash (`TruncatedLine`); anywhere
else it is damage (`DamagedLine`). So is the header of a later file: the agent writes one when it
rolls, the same as a process that starts, and only the next event tells which of the two it was.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from canvass.traces.aeron_log.errors import LineProblem
from canvass.traces.aeron_log.line import stamp_of
from canvass.traces.aeron_log.records import (
    ClusterEvent,
    DamagedLine,
    ElectionStateChange,
    LifeStart,
    LogContinued,
    LogRecord,
    NewElection,
    ServiceAck,
    Start,
    StateChange,
    TruncatedLine,
)


@dataclass(slots=True)
class LifeSummary:
    """What one process life wrote.

    Parameters
    ----------
    life
        Counted from 0.
    start
        Its header; none if the log begins within the life.
    members
        Member ids of its cluster lines, each with the file and line of the first.
    events
        Lines per event of the cluster component that became a record.
    components
        Lines of each other component.
    unknown_events
        Events of the cluster component that this reader does not know.
    damaged, truncated
        Lines that became a `DamagedLine` or `TruncatedLine`.
    foreign
        Lines that are not the log's (an application writing to the same stream), empty ones and the
        further lines of an event whose text holds line ends included.
    headers
        Its own, and those of files that were rolled.
    """

    life: int
    start: LifeStart | None = None
    members: dict[int, tuple[int, int]] = field(default_factory=dict)
    events: dict[str, int] = field(default_factory=dict)
    components: dict[str, int] = field(default_factory=dict)
    unknown_events: dict[str, int] = field(default_factory=dict)
    damaged: int = 0
    truncated: int = 0
    foreign: int = 0
    headers: int = 0

    @property
    def cluster_lines(self) -> int:
        """Lines of the cluster component that were read, of known events and unknown ones."""
        return sum(self.events.values()) + sum(self.unknown_events.values())

    @property
    def lines(self) -> int:
        """All lines, each counted in one field.

        A cut line that goes over into the header of the next life counts in both lives.
        """
        others = self.damaged + self.truncated + self.foreign + self.headers
        return self.cluster_lines + sum(self.components.values()) + others

    def absorb(self, other: LifeSummary) -> None:
        """Add the lines of other components and of nobody, counted before the life was known."""
        self.components = add_up([self.components, other.components])
        self.unknown_events = add_up([self.unknown_events, other.unknown_events])
        self.foreign += other.foreign


def add_up(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    """Add counts up by name, the names in alphabetical order."""
    total: dict[str, int] = {}
    for count in counts:
        for name, number in count.items():
            total[name] = total.get(name, 0) + number
    return dict(sorted(total.items()))


class Broken(NamedTuple):
    """A line that is no record; what it becomes depends on what follows."""

    file: int
    line: int
    text: str
    problem: LineProblem


class LifeStream:
    """Puts the lines of a member in the order of its lives, and counts them.

    Attributes
    ----------
    lives
        What has come so far; the last one is still growing.
    broken
        The line that is kept back, if there is one.
    """

    def __init__(self) -> None:
        self.lives = [LifeSummary(0)]
        self.broken: Broken | None = None
        self._current = self.lives[0]
        self._out: list[LogRecord] = []
        self._header: LifeStart | None = None
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
        life = self._current
        if record.member_id not in life.members:
            life.members[record.member_id] = (record.file, record.line)
        life.events[name] = life.events.get(name, 0) + 1
        self._out.append(record)

    def unknown_event(self, name: str) -> None:
        """Count an event of the cluster component that the table does not have."""
        self._settle(DamagedLine)
        counts = self._current.unknown_events
        counts[name] = counts.get(name, 0) + 1

    def component(self, name: str) -> None:
        """Count a line of another component."""
        self._settle(DamagedLine)
        counts = self._current.components
        counts[name] = counts.get(name, 0) + 1

    def foreign(self) -> None:
        """Count a line that is not the log's."""
        self._current.foreign += 1

    def break_off(self, broken: Broken) -> None:
        """Keep a line back that is no record; one kept before now stands within a life."""
        self._decide(starts=True)
        self._settle(DamagedLine)
        self.broken = broken

    def header(self, header: LifeStart) -> None:
        """Add a header: of a new life, or of a file that the agent has rolled."""
        self._decide(starts=True)
        self._header = header
        self._current = LifeSummary(len(self.lives), header)
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
        if kind is DamagedLine:
            self.lives[-1].damaged += 1
        else:
            self.lives[-1].truncated += 1

    def _decide(self, *, starts: bool) -> None:
        """Settle whether the header kept back starts a life."""
        header = self._header
        if header is None:
            return
        self._header = None
        if starts:
            self._settle(TruncatedLine)
            self._wall_time_ms = header.wall_time_ms
            if self.lives[-1].lines == 0:
                self.lives.pop()
                self._current.life -= 1
            self.lives.append(self._current)
            self._out.append(header)
        else:
            self._settle(DamagedLine)
            self.lives[-1].absorb(self._current)
            self._current = self.lives[-1]
            self._out.append(
                LogContinued(header.file, header.line, header.time_ns, header.wall_time_ms)
            )
        self.lives[-1].headers += 1


def starts_process(record: ClusterEvent) -> bool:
    """Whether an event is one that only a process that has just started writes first."""
    if isinstance(record, NewElection):
        return record.reason == "node started"
    if isinstance(record, ServiceAck):
        return record.ack_id == 0
    if isinstance(record, ElectionStateChange | StateChange):
        return record.old_state == "INIT"
    return isinstance(record, Start)

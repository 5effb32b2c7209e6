"""What was read, counted: one `LifeSummary` per process life, so that nothing is passed over in
silence.

Nothing here reads a line; `parser` counts into these objects while it does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from canvass.traces.aeron_log.records import LifeStart


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
    first_time_ns, last_time_ns
        Stamps of the first and last cluster line; 0 if there is none.
    damaged, truncated
        Lines that became a `DamagedLine` or `TruncatedLine`.
    backward
        Cluster lines whose stamp is before that of the line above; the agent writes none.
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
    first_time_ns: int = 0
    last_time_ns: int = 0
    damaged: int = 0
    truncated: int = 0
    backward: int = 0
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

"""What an import made of the logs, in numbers and places: what the command prints.

Nothing here decides anything; a verdict is the checker's.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from msgspec import Struct

from canvass.cluster.names import wire_name

EXPLAINED: Final = "EXPLAINED"
"""Every line is met by a step of the spec."""
INCOMPLETE: Final = "INCOMPLETE"
"""So it is, but lines or logs are missing."""
CONTRADICTED: Final = "CONTRADICTED"
"""The run ends with a line that no step explains."""


class Place(Struct, frozen=True, rename=wire_name):
    """A line of a log, and what is to be said of it."""

    member_id: int
    file: str
    line: int
    reason: str


class MemberSummary(Struct, rename=wire_name):
    """What became of one member's log."""

    member_id: int
    files: tuple[str, ...]
    lines: int
    """Lines of the cluster component."""
    accounted: int
    """Those that an event of the run accounts for."""
    steps: int
    observed: int
    """Steps that lines show."""
    inferred: int
    """Steps that no line shows."""
    sends: int
    """Messages sent."""
    received_sends: int
    """Those among them that somebody has received."""


class ImportSummary(Struct, rename=wire_name):
    """What became of the logs of a cluster."""

    outcome: str
    run_id: str
    member_count: int
    members: list[MemberSummary]
    events: dict[str, int]
    """Lines for each event of the cluster component."""
    unknown_events: dict[str, int]
    """Those that the reader does not know."""
    unknown_fields: dict[str, int]
    foreign_lines: int
    """Lines that are not the log's."""
    ignored: list[str]
    """Names of files in the folder that are not read."""
    missing: list[str]
    """What is not there, one sentence each."""
    contradiction: Place | None
    """What ends the run, as nothing explains it."""
    stopped: Place | None
    """Where a search that met its bound found no explanation; the run ends before it."""
    seconds: float
    lines_per_second: int


def add_counts(total: Counter[str], more: dict[str, int]) -> None:
    """Add counts by name."""
    for name, count in more.items():
        total[name] += count

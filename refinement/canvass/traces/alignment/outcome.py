"""What an alignment means: the outcome, counts, and sentences about what is missing.

Nothing here decides whether a run conforms; that is the checker's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Final

from msgspec import Struct

from canvass.cluster.names import wire_name
from canvass.traces.aeron_log.logs import MemberLog
from canvass.traces.aeron_log.records import TruncatedLine
from canvass.traces.alignment.alignment import Alignment, Remark
from canvass.traces.alignment.run_events import MemberCounts, Share, add_up

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
    """Names of files that are almost those of logs, and that are not read."""
    missing: list[str]
    """What is not there, one sentence each."""
    contradiction: Place | None
    """What ends the run, as nothing explains it."""
    stopped: Place | None
    """Where a search that met its bound found no explanation; the run ends before it."""
    seconds: float
    lines_per_second: int
    observed: dict[str, Share]
    """Of the run's steps, of the messages sent, and of the positions that members reached."""


def summarise(found: Alignment, run_id: str, seconds: float) -> ImportSummary:
    """Count what became of the logs."""
    events: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    fields: Counter[str] = Counter()
    foreign = 0
    missing = [f"the log of member {k} is not there" for k in found.logs.missing]
    members = []
    for member_id, log in found.logs.members.items():
        events.update(log.counts.events)
        unknown.update(log.counts.unknown_events)
        foreign += log.counts.foreign
        lines = sum(log.counts.events.values())
        fields.update(log.unknown_fields)
        missing += _unread(member_id, log)
        if member_id in found.members:
            members.append(_summarise_member(member_id, found.members[member_id], lines))
    missing += [_sentence(gap) for gap in found.gaps]
    missing += [
        f"an explanation of {_sentence(one)}; the run ends before the line" for one in found.stopped
    ]
    contradiction = _place(found.false_lines[0]) if found.false_lines else None
    stopped = _place(found.stopped[0]) if found.stopped else None
    outcome = CONTRADICTED if contradiction else INCOMPLETE if missing else EXPLAINED
    total = sum(one.lines for one in members)
    return ImportSummary(
        outcome,
        run_id,
        found.rules.member_count,
        members,
        dict(sorted(events.items())),
        dict(sorted(unknown.items())),
        dict(sorted(fields.items())),
        foreign,
        list(found.logs.ignored),
        missing,
        contradiction,
        stopped,
        round(seconds, 3),
        round(total / seconds) if seconds else 0,
        _observed(found.members.values()),
    )


def _observed(members: Collection[MemberCounts]) -> dict[str, Share]:
    """The shares of all members together."""
    return {
        "steps": add_up(Share(one.observed, one.steps) for one in members),
        "messages": add_up(Share(one.shown.sends, one.sends) for one in members),
        "positions": add_up(one.shown.positions for one in members),
    }


def _unread(member_id: int, log: MemberLog) -> Iterator[str]:
    """Where and why lines cannot be read; of lines that are not in memory how many."""
    count = log.counts.unreadable
    for line in log.records:
        if isinstance(line, TruncatedLine):
            count -= 1
            yield f"{log.files[line.file]}:{line.line}:{line.column}: {line.reason}"
    if count > 0:
        yield f"{count} more lines of member {member_id} cannot be read"


def _sentence(remark: Remark) -> str:
    if remark.is_after:
        return f"after the end of the log of member {remark.member_id}: {remark.reason}"
    return f"{remark.file}:{remark.line}: {remark.reason}"


def _place(remark: Remark) -> Place:
    return Place(remark.member_id, remark.file, remark.line, remark.reason)


def _summarise_member(member_id: int, counts: MemberCounts, lines: int) -> MemberSummary:
    return MemberSummary(
        member_id,
        counts.files,
        lines,
        counts.accounted,
        counts.steps,
        counts.observed,
        counts.steps - counts.observed,
        counts.sends,
        counts.received,
    )

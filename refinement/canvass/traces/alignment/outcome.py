"""What an alignment means: the outcome, counts, and sentences about what is missing."""

from __future__ import annotations

from collections import Counter

from canvass.traces.aeron_import.summary import (
    CONTRADICTED,
    EXPLAINED,
    INCOMPLETE,
    ImportSummary,
    MemberSummary,
    Place,
    add_counts,
)
from canvass.traces.alignment.alignment import Alignment, Remark
from canvass.traces.alignment.run_events import MemberCounts


def summarise(found: Alignment, run_id: str, seconds: float) -> ImportSummary:
    """Count what became of the logs."""
    events: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    fields: Counter[str] = Counter()
    foreign = 0
    missing = [f"the log of member {k} is not there" for k in found.logs.missing]
    members = []
    for member_id, log in found.logs.members.items():
        lines = damaged = 0
        for life in log.lives:
            add_counts(events, life.events)
            add_counts(unknown, life.unknown_events)
            foreign += life.foreign
            lines += sum(life.events.values())
            damaged += life.damaged + life.truncated
        add_counts(fields, log.unknown_fields)
        if damaged:
            missing.append(f"{damaged} lines of member {member_id} cannot be read")
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
    )


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

"""Leaderships: one `Leadership` for each time that a member opened a term, and the gaps between.

A leadership begins when the leader's election closes: the log then has the first entry of the term.
The leadership ends with the line that shows its end. A killed process writes no such line.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from canvass.cluster.messages import NULL_VALUE, Record
from canvass.explanation.timeline import (
    ACTIVE,
    CLOSED,
    Evidence,
    MemberTimeline,
    Sentence,
    Timeline,
    ends_election,
    is_heartbeat,
    shown_ns,
)
from canvass.traces.aeron_log import records

ALIVE_NS: Final = 1_000_000_000
"""If a leader's log has heartbeats, but no line for so long, the leader was paused or cut off."""
_WAKES_NS: Final = 100_000_000
"""A leader that was paused for too long ends its leadership within this time after the pause."""


class Leadership(Record, frozen=True):
    """A term, and the member that led it.

    Parameters
    ----------
    leader_member_id
        The leader; null if the lines show only that the term was opened.
    from_ns
        The time, by the leader's own clock, at which the leader's election closed; null if no line
        shows it.
    until_ns
        The time, by the leader's own clock, at which the leadership ended; null if no line shows
        it, or if the leadership lasts until the leader's log ends.
    until_earliest_ns, until_latest_ns
        If no line shows the exact end: the last sign of the leader, and the first line that shows
        that it no longer led.
    ended_by
        ``new election``, ``process closed``, ``process ended`` (without a line: the process was
        killed, or its last lines are missing), ``log ends`` or ``unknown`` (no line shows it).
    reason
        The reason of the end in the words of the log, for instance ``inactive follower quorum``.
    evidence
        The lines that show the beginning and the end.
    """

    leadership_term_id: int
    leader_member_id: int | None
    from_ns: int | None
    until_ns: int | None
    until_earliest_ns: int | None
    until_latest_ns: int | None
    term_base_log_position: int | None
    ended_by: str
    reason: str
    is_exact: bool
    evidence: tuple[Evidence, ...]


class Gap(Record, frozen=True):
    """A time without a working leader, on the common clock.

    Parameters
    ----------
    from_ns
        The beginning; null if no line shows when the last leader stopped.
    leadership_term_id
        The term of the leadership that ended the gap; null if none did.
    """

    from_ns: int | None
    until_ns: int
    leadership_term_id: int | None
    sentence: Sentence


@dataclass(slots=True)
class Span:
    """A leadership with its places in the timeline. Its times are on the common clock.

    Parameters
    ----------
    begin
        The index of the line, in the log of ``member_id``, that shows that the term is open.
    working_ns
        The time of the last sign that the leader worked, before the next leadership began; none if
        unknown.
    """

    row: Leadership
    member_id: int
    begin: int
    end: int
    from_ns: int
    until_ns: int | None
    working_ns: int | None
    working_by: Evidence | None


def find_leaderships(timeline: Timeline) -> list[Span]:
    """List the leaderships in the order in which they began."""
    spans: list[Span] = []
    for one in timeline.members.values():
        spans += _of_leader(one)
    led = {(span.row.leadership_term_id, span.row.leader_member_id) for span in spans}
    spans += _by_others(timeline, {term for term, _ in led})
    spans.sort(key=lambda span: (span.from_ns, span.row.leadership_term_id))
    _set_working(timeline, spans)
    return spans


def _of_leader(one: MemberTimeline) -> Iterator[Span]:
    for index, record in enumerate(one.records):
        if not isinstance(record, records.ElectionStateChange) or record.new_state != CLOSED:
            continue
        if record.leader_member_id != one.member_id:
            continue
        stop, changes = len(one.records), records.ElectionStateChange
        later = ((k, one.records[k]) for k in range(index + 1, stop))
        ends = (k for k, line in later if isinstance(line, changes) or ends_election(line))
        end = next(ends, stop)
        yield _span(one, index, end, record)


def _span(one: MemberTimeline, index: int, end: int, record: records.ElectionStateChange) -> Span:
    evidence = [one.evidence(index)]
    until: int | None = None
    common: int | None = None
    earliest: int | None = None
    latest: int | None = None
    ended_by, reason = "log ends", ""
    if end < len(one.records):
        closing = one.records[end]
        evidence.append(one.evidence(end))
        if isinstance(closing, records.ProcessStart):
            ended_by, reason = "process ended", ""
            last = one.last_before(end)
            evidence.insert(1, one.evidence(last))
            earliest, latest = one.records[last].time_ns, closing.time_ns
            if _has_heartbeats(one, index, end):
                until, common = earliest, one.times[last]
        else:
            until, common = closing.time_ns, one.times[end]
            ended_by = (
                "process closed" if isinstance(closing, records.StateChange) else "new election"
            )
            reason = _why(one, index, end)
    else:
        last = one.last_before(end)
        evidence.append(one.evidence(last))
        earliest = one.records[last].time_ns
    row = Leadership(
        record.leadership_term_id, one.member_id, record.time_ns, until, earliest, latest,
        record.log_position, ended_by, reason, True, tuple(evidence),
    )  # fmt: skip
    return Span(row, one.member_id, index, end, one.times[index], common, None, None)


def _why(one: MemberTimeline, begin: int, end: int) -> str:
    """The reason in the line that ended a leadership.

    A module may go through other states before it closes. Then the reason is that of the line in
    which it left ACTIVE.
    """
    closing = one.records[end]
    if isinstance(closing, records.StateChange):
        changes = (one.records[k] for k in range(end, begin, -1))
        closing = next(
            (r for r in changes if isinstance(r, records.StateChange) and r.old_state == ACTIVE),
            closing,
        )
    return getattr(closing, "reason", "") or ""


def _has_heartbeats(one: MemberTimeline, begin: int, end: int) -> bool:
    """Whether the leader's log shows the reports of followers.

    If so, the last line of the log is near the end of the leadership.
    """
    return any(is_heartbeat(one.records[k]) for k in range(begin, end))


def _by_others(timeline: Timeline, known: set[int]) -> Iterator[Span]:
    """The leaderships whose beginning the leader's own log does not show, each at its first sign.

    A commit position does not show who led its term: before 1.50, the leader of a later term sends
    one with the last term of its log.
    """
    first: dict[int, tuple[int, int, int]] = {}
    leaders: dict[int, tuple[int, int, int]] = {}
    kinds: tuple[type[records.Line], ...] = (
        records.ReplayNewLeadershipTerm,
        records.AppendSessionOpen,
        records.AppendSessionClose,
    )
    for time_ns, member_id, index in timeline.merged(records.ClusterEvent):
        record = timeline.record(member_id, index)
        if isinstance(record, records.NewLeadershipTerm | records.ElectionStateChange):
            if record.leader_member_id != NULL_VALUE:
                leaders[record.leadership_term_id] = (record.leader_member_id, member_id, index)
        elif isinstance(record, kinds):
            term = getattr(record, "leadership_term_id", NULL_VALUE)
            if isinstance(record, records.AppendSessionOpen | records.AppendSessionClose):
                leaders[term] = (member_id, member_id, index)
            if term not in known and term >= 0:
                first.setdefault(term, (time_ns, member_id, index))
    for term, (time_ns, member_id, index) in sorted(first.items()):
        one = timeline.members[member_id]
        record = one.records[index]
        live = isinstance(record, records.ReplayNewLeadershipTerm) and not record.is_in_election
        base = getattr(record, "term_base_log_position", None)
        evidence = [one.evidence(index)]
        if term in leaders:
            evidence.append(timeline.members[leaders[term][1]].evidence(leaders[term][2]))
        row = Leadership(
            term, leaders[term][0] if term in leaders else None, record.time_ns if live else None,
            None, None, None, base, "unknown", "", False, tuple(evidence),
        )  # fmt: skip
        yield Span(row, member_id, index, index, time_ns, None, None, None)


def _set_working(timeline: Timeline, spans: list[Span]) -> None:
    """Find the last sign of each leader's work before the next leadership began."""
    nexts = [*(span.from_ns for span in spans[1:]), timeline.end_ns]
    for span, next_ns in zip(spans, nexts, strict=False):
        if not span.row.is_exact:
            continue
        one = timeline.members[span.member_id]
        limit = next_ns
        if span.until_ns is not None:
            limit = min(limit, span.until_ns)
        if not _has_heartbeats(one, span.begin, span.end):
            if span.until_ns is not None and span.until_ns <= limit:
                span.working_ns, span.working_by = span.until_ns, one.evidence(span.end)
            continue
        last = min(
            bisect_right(one.times, limit), span.end if span.end > span.begin else len(one.records)
        )
        place = max(last - 1, span.begin)
        # A leader that receives nothing still writes other lines, such as ends of sessions.
        while place > span.begin and not is_heartbeat(one.records[place]):
            place -= 1
        by_line = span.end < len(one.records) and not isinstance(
            one.records[span.end], records.ProcessStart
        )
        # After a pause, a leader at once writes the line of its end, perhaps after some others.
        awake = place
        while awake > span.begin and limit - one.times[awake] <= _WAKES_NS:
            awake -= 1
        if limit - one.times[awake] > ALIVE_NS:
            place = awake
        elif by_line and span.until_ns == limit:
            span.working_ns, span.working_by = limit, one.evidence(span.end)
            continue
        span.working_ns, span.working_by = one.times[place], one.evidence(place)


def find_gaps(timeline: Timeline, spans: list[Span]) -> list[Gap]:
    """List the times without a working leader, also the time before the first leadership.

    The list is empty if no line shows a leader or an election: the events may be disabled.
    """
    if not spans and not timeline.merged(records.ElectionStateChange):
        return []
    gaps: list[Gap] = []
    # A process may run for long before its module starts.
    begin_ns, first, index = timeline.merged(records.ClusterEvent)[0]
    before: tuple[int | None, Evidence | None, int | None]
    before = (begin_ns, timeline.members[first].evidence(index), None)
    unseen = {one.row.leadership_term_id: one.row for one in spans if one.row.from_ns is None}
    for span in [one for one in spans if one.row.from_ns is not None]:
        row = span.row
        least = row.leadership_term_id if before[2] is None else before[2] + 1
        if passed := [k for k in range(least, row.leadership_term_id) if k in unseen]:
            before = (None, unseen[passed[-1]].evidence[-1], passed[-1])
        gaps.append(_gap(before, span.from_ns, row.leadership_term_id, row.evidence[0]))
        before = (span.working_ns, span.working_by, row.leadership_term_id)
        if span.working_by is None:
            before = (None, row.evidence[-1], row.leadership_term_id)
    ended = spans and spans[-1].row.ended_by not in ("log ends", "unknown")
    if before[1] is not None and (ended or not spans):
        gaps.append(_gap(before, timeline.end_ns, None, timeline.last_line()))
    return [gap for gap in gaps if gap.from_ns is None or gap.until_ns > gap.from_ns]


def _gap(
    before: tuple[int | None, Evidence | None, int | None],
    until_ns: int,
    term: int | None,
    by: Evidence,
) -> Gap:
    from_ns, from_by, old = before
    what = (
        "from the first line of the cluster" if old is None else f"after the leader of term {old}"
    )
    if from_ns is None:
        text = f"No line shows when the leader of term {old} stopped before term {term} began."
    else:
        text = f"{shown_ns(until_ns - from_ns)} without a leader {what}"
        text += "; no leader follows in the logs." if term is None else f", until term {term}."
    evidence = (by,) if from_by is None else (from_by, by)
    return Gap(from_ns, until_ns, term, Sentence(text, evidence))


def sentence_of(row: Leadership) -> Sentence:
    """Say who led, from when on, and what ended it."""
    who = "an unknown member" if row.leader_member_id is None else f"member {row.leader_member_id}"
    text = f"Term {row.leadership_term_id}: {who} led"
    if not row.is_exact:
        text += "; the leader's own line is not in the logs"
    reason = row.reason or "no reason logged"
    ends = {
        "new election": f"until it began an election ({reason})",
        "process closed": "until it closed" + ("" if reason == "closed" else f" ({reason})"),
        "process ended": "until its process ended without a line",
        "log ends": "until its log ends",
        "unknown": "and no line shows its end",
    }
    return Sentence(f"{text}, {ends[row.ended_by]}.", row.evidence)

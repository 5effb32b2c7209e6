"""Leaderships: one `Leadership` for each time that a member opened a term, and the gaps between.

A leadership begins when the leader's election closes: the log then has the first entry of the term.
The leadership ends with the line that shows its end. A killed process writes no such line.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

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
        The index of the line, in the log of ``one``, that shows that the term is open.
    working_ns
        The time of the last sign that the leader worked, before the next leadership began; none if
        unknown.
    """

    row: Leadership
    one: MemberTimeline
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
        yield _span(one, index, next(ends, stop), record)


def _span(one: MemberTimeline, index: int, end: int, record: records.ElectionStateChange) -> Span:
    closing = one.records[end] if end < len(one.records) else None
    sign = one.sign_of_end(end)
    places, at_ns = [index, sign], one.records[sign].time_ns
    ended_by, reason, latest, is_known = "log ends", "", None, False
    if isinstance(closing, records.ProcessStart):
        ended_by, latest = "process ended", closing.time_ns
        is_known = _has_heartbeats(one, index, end)
        places.append(end)
    elif closing is not None:
        ended_by = "process closed" if isinstance(closing, records.StateChange) else "new election"
        reason, is_known = _why(one, index, end), True
    row = Leadership(
        record.leadership_term_id, one.member_id, record.time_ns, at_ns if is_known else None,
        None if sign == end else at_ns, latest, record.log_position, ended_by, reason, True,
        tuple(one.evidence(place) for place in places),
    )  # fmt: skip
    until_ns = one.times[sign] if is_known else None
    return Span(row, one, index, end, one.times[index], until_ns, None, None)


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
    first: dict[int, tuple[int, MemberTimeline, int]] = {}
    leaders: dict[int, tuple[int, Evidence]] = {}
    for time_ns, one, index in timeline.merged(records.ClusterEvent):
        match one.records[index]:
            case records.NewLeadershipTerm() | records.ElectionStateChange() as record:
                if record.leader_member_id != NULL_VALUE:
                    line = one.evidence(index)
                    leaders[record.leadership_term_id] = (record.leader_member_id, line)
                continue
            case records.ReplayNewLeadershipTerm(leadership_term_id=term):
                pass
            case records.AppendSessionOpen() | records.AppendSessionClose() as record:
                term = record.leadership_term_id
                leaders[term] = (one.member_id, one.evidence(index))
            case _:
                continue
        if term not in known and term >= 0:
            first.setdefault(term, (time_ns, one, index))
    for term, (time_ns, one, index) in sorted(first.items(), key=lambda item: item[0]):
        sign = one.records[index]
        live = isinstance(sign, records.ReplayNewLeadershipTerm) and not sign.is_in_election
        leader = leaders.get(term)
        row = Leadership(
            term, leader[0] if leader else None, sign.time_ns if live else None, None, None, None,
            getattr(sign, "term_base_log_position", None), "unknown", "", False,
            (one.evidence(index), *(leader[1:] if leader else ())),
        )  # fmt: skip
        yield Span(row, one, index, index, time_ns, None, None, None)


def _set_working(timeline: Timeline, spans: list[Span]) -> None:
    """Find the last sign of each leader's work before the next leadership began."""
    nexts = [*(span.from_ns for span in spans[1:]), timeline.end_ns]
    for span, next_ns in zip(spans, nexts, strict=False):
        if span.row.is_exact:
            place = _last_work(span, next_ns)
            if place is not None:
                span.working_ns = span.one.times[place]
                span.working_by = span.one.evidence(place)


def _last_work(span: Span, next_ns: int) -> int | None:
    """The index of the last sign of a leader's work before a time; none if it is unknown."""
    one = span.one
    limit = next_ns if span.until_ns is None else min(next_ns, span.until_ns)
    if not _has_heartbeats(one, span.begin, span.end):
        return span.end if span.until_ns == limit else None
    last = min(bisect_right(one.times, limit), span.end)
    place = max(last - 1, span.begin)
    # A leader that receives nothing still writes other lines, such as ends of sessions.
    while place > span.begin and not is_heartbeat(one.records[place]):
        place -= 1
    # After a pause, a leader at once writes the line of its end, perhaps after some others.
    awake = place
    while awake > span.begin and limit - one.times[awake] <= _WAKES_NS:
        awake -= 1
    if limit - one.times[awake] > ALIVE_NS:
        return awake
    by_line = one.sign_of_end(span.end) == span.end
    return span.end if by_line and span.until_ns == limit else place


def find_gaps(timeline: Timeline, spans: list[Span]) -> list[Gap]:
    """List the times without a working leader, also the time before the first leadership.

    The list is empty if no line shows a leader or an election: the events may be disabled.
    """
    if not spans and not timeline.merged(records.ElectionStateChange):
        return []
    gaps: list[Gap] = []
    # A process may run for long before its module starts.
    begin_ns, first, index = timeline.merged(records.ClusterEvent)[0]
    before = _Stop(begin_ns, first.evidence(index), None)
    unseen = {one.row.leadership_term_id: one.row for one in spans if one.row.from_ns is None}
    for span in [one for one in spans if one.row.from_ns is not None]:
        row, term = span.row, span.row.leadership_term_id
        least = term if before.term is None else before.term + 1
        if passed := [k for k in range(least, term) if k in unseen]:
            before = _Stop(None, unseen[passed[-1]].evidence[-1], passed[-1])
        gaps.append(_gap(before, span.from_ns, term, row.evidence[0]))
        before = _Stop(span.working_ns, span.working_by or row.evidence[-1], term)
    if not spans or spans[-1].row.ended_by not in ("log ends", "unknown"):
        gaps.append(_gap(before, timeline.end_ns, None, timeline.last_line()))
    return [gap for gap in gaps if gap.from_ns is None or gap.until_ns > gap.from_ns]


class _Stop(NamedTuple):
    """The last sign of a leader: its time, if a line shows it, and the term; none at the begin."""

    at_ns: int | None
    by: Evidence
    term: int | None


def _gap(before: _Stop, until_ns: int, term: int | None, by: Evidence) -> Gap:
    if before.at_ns is None:
        text = f"No line shows when the leader of term {before.term} stopped"
        text += "." if term is None else f" before term {term} began."
    else:
        text = f"{shown_ns(until_ns - before.at_ns)} without a leader "
        text += (
            "from the first line of the cluster"
            if before.term is None
            else f"after the leader of term {before.term}"
        )
        text += "; no leader follows in the logs." if term is None else f", until term {term}."
    return Gap(before.at_ns, until_ns, term, Sentence(text, (before.by, by)))


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

"""Events between elections: of modules and services, and of members that join a leader again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, TypeAlias

from canvass.explanation.elections import ElectionReport
from canvass.explanation.evidence import Sentence, shown_ns
from canvass.explanation.leaderships import ALIVE_NS, Span
from canvass.explanation.stuck import goes_back
from canvass.explanation.timeline import ACTIVE, CLOSED, MemberTimeline, Timeline
from canvass.traces.aeron_log import records
from canvass.traces.errors import counted

_Timed: TypeAlias = tuple[int, Sentence]
_IN_ORDER: Final = frozenset({"", "closed", "expected termination"})
"""The reasons of a member that closes because it was asked to."""
_OUTCOMES: Final = {
    "closed": "joined after {}",
    "process ended": "its process ended after {}, before it had joined",
    "new election": "began again after {}",
    "log ends": "has not joined after {}, where its log ends",
}


def find_between(
    timeline: Timeline, spans: list[Span], elections: list[ElectionReport]
) -> list[Sentence]:
    """List the events in the order of time.

    They are: a leader's module leaves ACTIVE; a member closes without being asked to; a service
    does not acknowledge a snapshot; a member starts, or begins an election, while a leader works.
    """
    found = [event for one in timeline.members.values() for event in _modules(one, spans)]
    found += _rejoins(timeline, spans, elections)
    return [sentence for _, sentence in sorted(found, key=lambda event: event[0])]


def _modules(one: MemberTimeline, spans: list[Span]) -> Iterator[_Timed]:
    kinds = (records.StateChange, records.ProcessStart)
    places = [k for k, record in enumerate(one.records) if isinstance(record, kinds)]
    services = {
        record.service_id for record in one.records if isinstance(record, records.ServiceAck)
    }
    for place, following in pairwise([*places, len(one.records)]):
        record = one.records[place]
        if not isinstance(record, records.StateChange) or record.new_state in (ACTIVE, "INIT"):
            continue
        mine = (s for s in spans if s.member_id == one.member_id and s.begin <= place < s.end)
        span, reason = next(mine, None), record.reason or ""
        ended = following < len(one.records) and isinstance(
            one.records[following], records.StateChange
        )
        last = following if ended else max(following - 1, place)
        lasted = one.times[last] - one.times[place]
        missing = set[int]()
        if record.new_state == "SNAPSHOT" and not ended and lasted > ALIVE_NS:
            acks = (r for r in one.records[place:following] if isinstance(r, records.ServiceAck))
            missing = services - {ack.service_id for ack in acks}
        if record.new_state == CLOSED and reason not in _IN_ORDER:
            what = "closed"
        elif record.new_state != CLOSED and (span is not None or missing):
            what = f"was in {record.new_state}"
            what += f" for {shown_ns(lasted)}" if ended else ""
        else:
            continue
        text = f"Member {one.member_id}"
        if span is not None:
            text = f"Term {span.row.leadership_term_id}: leader {one.member_id}"
        text += f" {what}" + (f" ({reason})" if reason else "")
        for service in sorted(missing):
            text += f"; for {shown_ns(lasted)} no SERVICE_ACK of service {service} came"
        yield one.times[place], one.say(f"{text}.", place, *([last] if ended or missing else []))


def _rejoins(
    timeline: Timeline, spans: list[Span], elections: list[ElectionReport]
) -> Iterator[_Timed]:
    """List the elections of one member that are no part of an election of the cluster."""
    listed = {(phase.member_id, phase.from_ns) for one in elections for phase in one.phases}
    for attempt in timeline.attempts():
        one = timeline.members[attempt.member_id]
        end = min(attempt.end, len(one.records) - 1)
        begin_ns, end_ns = one.times[attempt.begin], one.times[end]
        stands = (
            span
            for span in spans
            if span.row.is_exact
            and span.member_id != one.member_id
            and span.from_ns <= begin_ns
            and end_ns <= (timeline.end_ns if span.until_ns is None else span.until_ns)
        )
        first, span = one.records[attempt.begin].time_ns, next(stands, None)
        if span is None or end == attempt.begin or (one.member_id, first) in listed:
            continue
        why = "started" if attempt.is_startup else f"began an election ({attempt.reason or '?'})"
        how = _OUTCOMES[attempt.outcome].format(shown_ns(end_ns - begin_ns))
        text = f"Member {one.member_id} {why} while member {span.member_id} led term"
        text += f" {span.row.leadership_term_id}, and {how}"
        changes = (phase.left_by for phase in attempt.phases if phase.left_by is not None)
        returns = Counter((by.old_state, by.new_state) for by in changes if goes_back(by))
        for (state, back), count in returns.most_common(2):
            text += f", with {counted(count, 'return')} from {state} to {back}"
        yield begin_ns, one.say(f"{text}.", attempt.begin, end)

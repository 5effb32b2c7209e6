"""Clients' sessions, as far as members log them. Requests are in no event log."""

from __future__ import annotations

from collections import Counter

import msgspec

from canvass.explanation.evidence import Evidence, Sentence
from canvass.explanation.timeline import Timeline
from canvass.traces.aeron_log.records import AppendSessionClose, AppendSessionOpen
from canvass.traces.counts import counted


class SessionsReport(msgspec.Struct, frozen=True, rename="camel"):
    """What leaders logged of sessions.

    Parameters
    ----------
    opened
        SessionOpenEvents that leaders appended.
    closed
        SessionCloseEvents by reason.
    """

    opened: int
    closed: dict[str, int]
    sentences: tuple[Sentence, ...]


def find_sessions(timeline: Timeline) -> SessionsReport:
    """Count the sessions that leaders opened and closed, by leader and term."""
    opened: dict[tuple[int, int], list[Evidence]] = {}
    closed: dict[tuple[int, int, str], list[Evidence]] = {}
    for _, member_id, index in timeline.merged(AppendSessionOpen, AppendSessionClose):
        one = timeline.members[member_id]
        record = one.records[index]
        if isinstance(record, AppendSessionOpen):
            key = (record.leadership_term_id, member_id)
            opened.setdefault(key, []).append(one.evidence(index))
        elif isinstance(record, AppendSessionClose):
            why = (record.leadership_term_id, member_id, record.close_reason)
            closed.setdefault(why, []).append(one.evidence(index))
    sentences = []
    for (term, member_id), lines in sorted(opened.items()):
        text = f"Term {term}: leader {member_id} opened {counted(len(lines), 'session')}."
        sentences.append(Sentence(text, _ends(lines)))
    for (term, member_id, reason), lines in sorted(closed.items()):
        text = (
            f"Term {term}: leader {member_id} closed {counted(len(lines), 'session')} ({reason})."
        )
        sentences.append(Sentence(text, _ends(lines)))
    reasons: Counter[str] = Counter()
    for (_, _, reason), lines in closed.items():
        reasons[reason] += len(lines)
    total = sum(len(lines) for lines in opened.values())
    return SessionsReport(total, dict(sorted(reasons.items())), tuple(sentences))


def _ends(lines: list[Evidence]) -> tuple[Evidence, ...]:
    return (lines[0],) if len(lines) == 1 else (lines[0], lines[-1])

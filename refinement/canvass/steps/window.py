"""The window of the recording log: the entries that a step may look up or write, and no others.

A production log goes on for ever, and a step looks at a few entries of it. What lies outside the
window must be equal before and after, or all entries are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from canvass.cluster.member import TermEntry
from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.rules import Rules
from canvass.steps.frames import Frame
from canvass.steps.regimes import LOG, Lookup
from canvass.steps.step import Step
from canvass.traces.limits import MAX_INT


def _looked_up(step: Step, frame: Frame, rules: Rules) -> Iterator[int]:
    """Give the terms that the step may look up in the state before it."""
    s, x = step.before, step.input
    message_term = getattr(x.message, "log_leadership_term_id", NULL_VALUE)
    terms = {
        Lookup.OWN_LOG_TERM: s.log_leadership_term_id,
        Lookup.AFTER_OWN_LOG_TERM: _next(s.log_leadership_term_id),
        Lookup.MESSAGE_LOG_TERM: message_term,
        Lookup.AFTER_MESSAGE_LOG_TERM: _next(message_term),
        Lookup.MODULE_TERM: s.module_leadership_term_id,
        Lookup.LEADERSHIP_TERM: s.leadership_term_id,
        Lookup.REPLICATION_TERM: s.replication_leadership_term_id,
        Lookup.INPUT_TERM: x.leadership_term_id,
    }
    yield from (terms[lookup] for lookup in frame.lookups if lookup is not Lookup.RECORD_TERMS)
    if Lookup.RECORD_TERMS in frame.lookups and rules.is_hardened("HZ1"):
        yield from (record.leadership_term_id for record in s.members)


def _next(term: int) -> int:
    return term + 1 if term < MAX_INT else term


def _rises(log: Sequence[TermEntry]) -> bool:
    return all(a.leadership_term_id < b.leadership_term_id for a, b in pairwise(log))


def window(
    step: Step, frame: Frame, rules: Rules
) -> tuple[Sequence[TermEntry], Sequence[TermEntry]]:
    """Give the entries kept of the two recording logs: all of them if they differ elsewhere."""
    before, after = step.before.recording_log, step.after.recording_log
    if LOG not in frame.after:
        return (), ()
    if not (_rises(before) and _rises(after)):
        return before, after
    kept = {before[-1].leadership_term_id} if before else set()
    for term in _looked_up(step, frame, rules):
        first = next((e for e in before if e.leadership_term_id >= term), None)
        if first is not None:
            kept.add(first.leadership_term_id)
    last = before[-1].leadership_term_id if before else None

    def inside(entry: TermEntry) -> bool:
        term = entry.leadership_term_id
        return term in kept or last is None or term > last

    if [e for e in before if not inside(e)] != [e for e in after if not inside(e)]:
        return before, after
    return [e for e in before if inside(e)], [e for e in after if inside(e)]

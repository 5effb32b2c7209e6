"""Where lines are missing by what the changes of a module's state show: a process that goes on
after its end, one that begins without its header, a snapshot that no service has acknowledged.

Nothing here is said of changes that do not fit to those around them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from canvass.cluster.messages import NULL_VALUE
from canvass.traces.aeron_import.evidence import MemberEvidence
from canvass.traces.aeron_log.records import (
    LifeStart,
    NewElection,
    ServiceAck,
    StateChange,
    TruncatedLine,
)

_SILENCE_NS: Final = 1_000_000_000
"""Between the last line of a process and what the next one logs after its header."""
_BOUNDS: Final = (LifeStart, NewElection, TruncatedLine)


def find_module_holes(evidence: MemberEvidence) -> Iterator[int]:
    """Find the records before which lines are missing."""
    yield from _lost_lives(evidence)
    yield from _lost_acknowledgements(evidence)


def _lost_lives(evidence: MemberEvidence) -> Iterator[int]:
    """The first records after a silence before which the header of a process is missing."""
    latest: StateChange | None = None
    for index, record in evidence.others:
        if isinstance(record, LifeStart):
            latest = None
        if not isinstance(record, StateChange):
            continue
        fits = latest is None or latest.new_state == record.old_state
        latest = record
        if fits and record.new_state == "CLOSED" and _goes_on(evidence, index):
            yield index + 1
        elif record.old_state == "INIT" and index in evidence.state_holes:
            yield from _silence_before(evidence, index)


def _goes_on(evidence: MemberEvidence, index: int) -> bool:
    """Whether a line follows long after one that is the last of its process."""
    found, after = evidence.records, index + 1
    return (
        after < len(found)
        and not isinstance(found[after], _BOUNDS)
        and evidence.times[after] - evidence.times[index] >= _SILENCE_NS
    )


def _silence_before(evidence: MemberEvidence, index: int) -> Iterator[int]:
    """The end of the silence before a module's first state, if there is one."""
    for place in range(index, 0, -1):
        if isinstance(evidence.records[place], _BOUNDS):
            return
        if evidence.times[place] - evidence.times[place - 1] >= _SILENCE_NS:
            yield place
            return
        if place < index and isinstance(evidence.records[place], StateChange):
            return


def _lost_acknowledgements(evidence: MemberEvidence) -> Iterator[int]:
    """A module leaves its state of a snapshot once each service has acknowledged where it is; if a
    log has such lines at all, one is there.
    """
    if not any(isinstance(record, ServiceAck) for _, record in evidence.others):
        return
    begin, is_acknowledged, state = -1, False, ""
    for index, record in evidence.others:
        if isinstance(record, _BOUNDS):
            begin, is_acknowledged, state = -1, True, ""
        elif isinstance(record, ServiceAck):
            is_acknowledged |= record.relevant_id != NULL_VALUE
        elif isinstance(record, StateChange):
            fits = state == record.old_state
            known = fits or index in evidence.state_holes
            if record.old_state == "SNAPSHOT" and known and not is_acknowledged:
                yield begin + 1 if fits else index
            begin, is_acknowledged, state = index, False, record.new_state

"""Elections that have closed though no line says so: what the member logged next shows that it
serves.

Where lines show what an election came to otherwise, nothing is said here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from canvass.traces.aeron_import import changing
from canvass.traces.aeron_import.evidence import MemberEvidence, Segment, moments
from canvass.traces.aeron_import.proposal import Proposal
from canvass.traces.aeron_log.records import (
    AppendPosition,
    CommitPosition,
    ElectionStateChange,
    ReplayNewLeadershipTerm,
)

_MOMENTS: Final = 5
"""So often a follower must have logged something since it was ready; who is only paused does so
once.
"""
_MOMENT_NS: Final = 200_000_000
"""Between two of these: the interval at which leaders and followers send."""


def find_closings(evidence: MemberEvidence) -> frozenset[int]:
    """Find the records before which an election must have closed."""
    return frozenset(_closings(evidence))


def _closings(evidence: MemberEvidence) -> Iterator[int]:
    following: list[Segment | None] = [*evidence.segments[1:], None]
    for segment, after in zip(evidence.segments, following, strict=False):
        change = None if after is None else evidence.records[after.start]
        if isinstance(change, ElectionStateChange) and change.old_state == segment.state:
            continue
        if segment.state == "FOLLOWER_READY" and _serves(evidence, segment):
            yield next(
                index
                for index in range(segment.start + 1, len(evidence.records))
                if isinstance(evidence.records[index], CommitPosition | ReplayNewLeadershipTerm)
            )
        elif segment.state == "LEADER_READY":
            yield from _first_report_beyond(evidence, segment)


def _serves(evidence: MemberEvidence, segment: Segment) -> bool:
    """Whether a follower that was ready has processed entries outside an election, or went on for
    long: it is ready for as long as it takes to send one report.
    """
    heard: list[int] = []
    for index in range(segment.start + 1, segment.end):
        record = evidence.records[index]
        if isinstance(record, ReplayNewLeadershipTerm) and not record.is_in_election:
            return True
        if isinstance(record, CommitPosition):
            heard.append(evidence.times[index])
    return len(moments(heard, _MOMENT_NS, evidence.times[segment.start])) >= _MOMENTS


def _first_report_beyond(evidence: MemberEvidence, segment: Segment) -> Iterator[int]:
    """A leader writes into its term once the election has closed."""
    for index in range(segment.start + 1, segment.end):
        record = evidence.records[index]
        if (
            isinstance(record, AppendPosition)
            and record.leadership_term_id == segment.term
            and record.log_position > segment.append
        ):
            yield index
            return


def close_unlogged(proposal: Proposal, index: int) -> None:
    """Let an election close, if it can, though no line says so."""
    if proposal.changes and proposal.changes[0].new == "CLOSED":
        proposal.changes.popleft()  # A report was sent, and closed it.
        return
    s, found = proposal.state, proposal.evidence.records
    latest = next(
        (one for one in reversed(found[:index]) if isinstance(one, ElectionStateChange)), None
    )
    if latest is None or latest.new_state != proposal.election_state or proposal.changes:
        return
    closing = replace(
        latest, old_state=latest.new_state, new_state="CLOSED", log_position=s.append_position
    )
    if changing.change(proposal, index, closing) is not None:
        proposal.changes.clear()

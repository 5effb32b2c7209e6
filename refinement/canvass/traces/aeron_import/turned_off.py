"""Events that were not turned on: logs without a line of a kind that their member must have had.

Whoever leads hears reports, whoever follows hears commit positions, whoever stands has heard others
canvass; the agent can be told to leave any of these out, and often is, as there are so many.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from canvass.traces.aeron_import.evidence import MemberEvidence, Segment
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.records import Line

_LONG_NS: Final = 1_000_000_000
"""Of service in a role: five times the interval at which leaders and followers send."""


def find_turned_off(members: Mapping[int, MemberEvidence]) -> dict[int, tuple[str, ...]]:
    """For each member the events of which its log must have had lines, and has none."""
    found = {}
    for member_id, evidence in members.items():
        kinds = {type(record) for record in evidence.records}
        expected: dict[str, tuple[type[Line], bool]] = {
            "APPEND_POSITION": (records.AppendPosition, _has_served(evidence, leading=True)),
            "COMMIT_POSITION": (records.CommitPosition, _has_served(evidence, leading=False)),
            "CANVASS_POSITION": (records.CanvassPosition, _has_stood(evidence)),
        }
        lacking = tuple(name for name, (kind, due) in expected.items() if due and kind not in kinds)
        if lacking and len(members) > 1:
            found[member_id] = lacking
    return found


def _has_stood(evidence: MemberEvidence) -> bool:
    """Whether a member has asked for votes."""
    return any(segment.state == "CANDIDATE_BALLOT" for segment in evidence.segments)


def _has_served(evidence: MemberEvidence, *, leading: bool) -> bool:
    """Whether a member has served in a role for long."""
    return any(
        segment.state == "CLOSED"
        and segment.leads(evidence.member_id) == leading
        and _lasted_ns(evidence, segment) >= _LONG_NS
        for segment in evidence.segments
    )


def _lasted_ns(evidence: MemberEvidence, segment: Segment) -> int:
    times = evidence.times
    return times[min(segment.end, len(times) - 1)] - times[segment.start]

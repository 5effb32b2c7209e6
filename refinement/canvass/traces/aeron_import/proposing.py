"""From the logs of a cluster to proposals: plan, drive each member, let the members agree, cut at
what nothing explains.

Nothing here is written anywhere.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.rules import Rules
from canvass.traces.aeron_import.attempt import Attempt, attempt, cut_at
from canvass.traces.aeron_import.clocks import align
from canvass.traces.aeron_import.deliveries import Plan
from canvass.traces.aeron_import.driver import Failure, begin, observe
from canvass.traces.aeron_import.evidence import (
    MemberEvidence,
    evidence_of,
    set_segments,
    set_times,
)
from canvass.traces.aeron_import.proposal import Proposal
from canvass.traces.aeron_log.logs import ClusterLogs
from canvass.traces.limits import MAX_MEMBERS

REVISION: Final = "1.50"
"""The revision whose rules current releases follow."""

_SLACK_NS: Final = 2_000_000
"""How well the clocks of two hosts are put on one: half the time of the fastest round trip."""


class ImportFault(Exception):
    """The logs cannot be made into a run; the message is one line."""


@dataclass(slots=True)
class Imported:
    """Logs, made into proposals.

    Parameters
    ----------
    rules, logs, plan
        The rules of the run, what was read, and what was planned.
    proposals
        Of each member that has a log.
    failure
        The first record that nothing explains, if there is one; the proposals end there.
    """

    rules: Rules
    logs: ClusterLogs
    plan: Plan
    proposals: dict[int, Proposal]
    failure: Failure | None


def propose(logs: ClusterLogs) -> Imported:
    """Propose a run that explains the logs.

    Raises
    ------
    ImportFault
        If the logs name members that no cluster can have.
    """
    members = {
        member_id: evidence_of(log) for member_id, log in logs.members.items() if member_id >= 0
    }
    highest = max([*members, *logs.missing], default=NULL_VALUE)
    if not members:
        raise ImportFault("no line of the logs is a cluster's")
    if highest >= MAX_MEMBERS:
        raise ImportFault(f"member {highest} is named; a run has at most {MAX_MEMBERS} members")
    offsets = set()
    for evidence, offset in align(members):
        offsets.add(offset)
        set_times(evidence, offset)
        set_segments(evidence)
    rules = Rules(highest + 1, REVISION)
    slack_ns = _SLACK_NS if len(offsets) > 1 else 0
    found = attempt(rules, members, slack_ns)
    if found.first is None:
        return Imported(rules, logs, found.plan, found.proposals, None)
    return _first_false(rules, logs, members, slack_ns, found)


def _first_false(
    rules: Rules,
    logs: ClusterLogs,
    members: Mapping[int, MemberEvidence],
    slack_ns: int,
    found: Attempt,
) -> Imported:
    """Find the first line such that what was logged up to it has no explanation.

    An attempt looks ahead, so a false line may make one before it seem to be unexplained.
    """
    first = found.first
    assert first is not None
    within = attempt(rules, cut_at(members, first.time), slack_ns, whole=False)
    if within.first is not None:
        _cut(within.proposals, within.first)
        return Imported(rules, logs, within.plan, within.proposals, within.first)
    stamps = sorted({time for one in members.values() for time in one.times if time > first.time})
    low, high, good = -1, len(stamps) - 1, within
    while high - low > 1:
        middle = (low + high) // 2
        within = attempt(rules, cut_at(members, stamps[middle]), slack_ns, whole=False)
        if within.first is None:
            low, good = middle, within
        else:
            high, first = middle, within.first
    return _ends_with(
        Imported(rules, logs, good.plan, good.proposals, first), members, stamps[high]
    )


def _ends_with(found: Imported, members: Mapping[int, MemberEvidence], time: int) -> Imported:
    """Add the record of a time, which is the first that cannot be, to what explains all before."""
    member_id, index = next(
        (member_id, place)
        for member_id, evidence in members.items()
        if (place := bisect_left(evidence.times, time)) < len(evidence.times)
        and evidence.times[place] == time
    )
    assert found.failure is not None
    reason = found.failure.reason
    if (found.failure.member_id, found.failure.index) != (member_id, index):
        evidence = members[found.failure.member_id]
        line = evidence.records[found.failure.index]
        reason = (
            f"with this line {evidence.files[line.file]}:{line.line} is not explained: {reason}"
        )
    found.failure = Failure(member_id, index, time, reason)
    proposal = found.proposals.get(member_id)
    if proposal is None:
        proposal = begin(found.rules, found.plan, members[member_id])
        found.proposals[member_id] = proposal
    proposal.evidence = members[member_id]
    proposal.time = time
    observe(proposal, index)
    return found


def _cut(proposals: Mapping[int, Proposal], failure: Failure) -> None:
    """Let the run end with the first record that nothing explains."""
    for proposal in proposals.values():
        kept = [step for step in proposal.steps if step.time <= failure.time]
        if proposal.member_id == failure.member_id:
            last = next(
                (k for k, step in enumerate(proposal.steps) if failure.index in step.lines), None
            )
            if last is not None:
                kept = proposal.steps[: last + 1]
        proposal.steps = kept

"""From the logs of a cluster to proposals: plan, drive each member, let the members agree, cut at
what nothing explains.

Nothing here is written anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.rules import Rules
from canvass.traces.aeron_import.agreement import demand_writing
from canvass.traces.aeron_import.clocks import align
from canvass.traces.aeron_import.deliveries import Plan, make_plan
from canvass.traces.aeron_import.driver import Failure, drive, find_begin
from canvass.traces.aeron_import.evidence import (
    MemberEvidence,
    evidence_of,
    is_message,
    sender_of,
    set_segments,
    set_times,
)
from canvass.traces.aeron_import.lost_lines import LostLines
from canvass.traces.aeron_import.proposal import NEVER, Proposal
from canvass.traces.aeron_log.logs import ClusterLogs
from canvass.traces.aeron_log.records import NewElection
from canvass.traces.limits import MAX_MEMBERS

REVISION: Final = "1.50"
"""The revision whose rules current releases follow."""

_SLACK_NS: Final = 2_000_000
"""How well the clocks of two hosts are put on one: half the time of the fastest round trip."""

_CUT_OFF_COUNT: Final = 3
"""So many messages heard of a member after the end of its log say that the log goes on elsewhere;
fewer may be false.
"""

_UNDER_WAY_NS: Final = 15_000_000_000
"""A message may have been under way so long: after 10 s without a sign Aeron gives a stream up."""

_ROUNDS: Final = 6
"""How often leaders are driven anew to have written what others have recorded."""


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
    spans = {
        member_id: (evidence.times[begin] if begin < len(evidence.times) else NEVER, NEVER)
        for member_id, evidence in members.items()
        if (begin := find_begin(evidence)) > 0
    }
    for member_id in _lacking_lives(members):
        members[member_id].lacks_lives = True
        spans.setdefault(member_id, (members[member_id].times[0], NEVER))
    proposals, failures, plan = _drive_all(rules, members, spans, slack_ns)
    if failures:
        ends = _ends(members, plan)
        if ends:
            for member_id, end in ends.items():
                spans[member_id] = (spans.get(member_id, (-NEVER, 0))[0], end)
            again = _drive_all(rules, members, spans, slack_ns)
            if not again[1]:
                proposals, failures, plan = again
                for member_id in ends:
                    _mark_cut_off(proposals[member_id])
    first = min(failures, key=lambda failure: failure.time, default=None)
    if first is not None:
        _cut(proposals, first)
    return Imported(rules, logs, plan, proposals, first)


def _lacking_lives(members: Mapping[int, MemberEvidence]) -> set[int]:
    """Members that start on something, and of which others have heard before."""
    begins = {}
    for member_id, evidence in members.items():
        place = evidence.elections[0] if evidence.elections else 0
        record = evidence.records[place] if evidence.records else None
        if isinstance(record, NewElection) and record.append_position > 0:
            begins[member_id] = evidence.times[0]
    return {
        sender
        for evidence in members.values()
        for record, time_ns in zip(evidence.records, evidence.times, strict=True)
        if is_message(record) and time_ns < begins.get(sender := sender_of(record), -NEVER)
    }


def _drive_all(
    rules: Rules,
    members: Mapping[int, MemberEvidence],
    spans: Mapping[int, tuple[int, int]],
    slack_ns: int,
) -> tuple[dict[int, Proposal], list[Failure], Plan]:
    """Plan and drive all members; give what failed as well."""
    plan = make_plan(members, spans)
    plan.slack_ns = slack_ns
    proposals: dict[int, Proposal] = {}
    failed: dict[int, Failure | None] = {}
    lost = LostLines(members, plan)
    waiting = set(members)
    for _ in range(_ROUNDS):
        for member_id in sorted(waiting):
            ends = lost.ends.get(member_id, ())
            proposals[member_id], failed[member_id] = drive(rules, plan, members[member_id], ends)
        waiting = demand_writing(plan, proposals) | lost.suppose(proposals)
        for member_id, failure in failed.items():
            if failure is not None and lost.add(member_id, failure.end):
                waiting.add(member_id)
        if not waiting:
            break
    for member_id, ends in lost.ends.items():
        proposals[member_id].lost_lines = len(ends)
        if len(members[member_id].records) in ends:
            _mark_cut_off(proposals[member_id])
    failures = [failure for failure in failed.values() if failure is not None]
    for sender, proposal in proposals.items():
        first, last = spans.get(sender, (-NEVER, NEVER))
        for delivery in proposal.unsent:
            late = proposal.late and delivery.time < first + _UNDER_WAY_NS
            if delivery.excused:
                continue
            if first <= delivery.time <= last and not late and delivery.receiver in members:
                kind = type(delivery.message).__name__
                reason = f"member {sender} did not send this {kind}"
                failures.append(Failure(delivery.receiver, delivery.index, delivery.time, reason))
    return proposals, failures, plan


def _ends(members: Mapping[int, MemberEvidence], plan: Plan) -> dict[int, int]:
    """When the logs end that seem to have lost their ends: others have heard more of the member."""
    ends = {}
    for member_id, evidence in members.items():
        end = evidence.times[-1] if evidence.times else -NEVER
        after = sum(
            delivery.time > end
            for (sender, _), queue in plan.queues.items()
            if sender == member_id
            for delivery in queue
        )
        if after >= _CUT_OFF_COUNT:
            ends[member_id] = end
    return ends


def _mark_cut_off(proposal: Proposal) -> None:
    """Leave a number out before the last event: what follows is missing."""
    proposal.cut_off = True
    if proposal.steps:
        proposal.steps[-1].gap = True


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

"""From the logs of a cluster to proposals: plan, drive each member, let the members agree, cut at
what nothing explains.

Nothing here is written anywhere.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.rules import Rules
from canvass.traces.aeron_import.agreement import is_circular
from canvass.traces.aeron_import.attempt import (
    Attempt,
    Say,
    Setting,
    attempt,
    cut_at,
    mark_cut_off,
    no_words,
)
from canvass.traces.aeron_import.boots import join_boots, settle_boots
from canvass.traces.aeron_import.clocks import align
from canvass.traces.aeron_import.closings import find_closings
from canvass.traces.aeron_import.deliveries import Plan
from canvass.traces.aeron_import.driver import Failure, begin, observe
from canvass.traces.aeron_import.evidence import (
    MemberEvidence,
    evidence_of,
    set_segments,
    set_times,
)
from canvass.traces.aeron_import.missing_lines import (
    Missing,
    find_missing,
    find_state_holes,
    mark_missing,
)
from canvass.traces.aeron_import.proposal import Proposal
from canvass.traces.aeron_import.search import EFFORT
from canvass.traces.aeron_import.turned_off import find_silent, find_turned_off
from canvass.traces.aeron_import.unheard import Unheard, find_unheard
from canvass.traces.aeron_log.logs import ClusterLogs
from canvass.traces.aeron_log.records import CatchupPosition, LifeStart, TruncatedLine
from canvass.traces.aeron_log.vocabulary import revision_of, vocabularies_of
from canvass.traces.limits import MAX_MEMBERS

_MORE: Final = 4
"""How much wider the bounds are of a search that follows one that met them."""

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
    turned_off
        For each member the events that its log must have had, and has not.
    silent
        For each member the events that it is known not to print.
    failure
        The first record that nothing explains, if there is one; the proposals end there.
    stopped
        The first record for which no explanation was found by a search that met its bound, or where
        lines are missing; the proposals end before it.
    cuts
        For each member the indexes of records before which lines seem to be cut out.
    unheard
        For each member where it lacks what it must have heard, though all that is there is
        explained.
    missing
        For each member single lines that must have been written, though all else is explained.
    """

    rules: Rules
    logs: ClusterLogs
    plan: Plan
    proposals: dict[int, Proposal]
    failure: Failure | None
    stopped: Failure | None = None
    turned_off: dict[int, tuple[str, ...]] = field(default_factory=dict)
    silent: dict[int, frozenset[str]] = field(default_factory=dict)
    cuts: dict[int, set[int]] = field(default_factory=dict)
    unheard: dict[int, tuple[Unheard, ...]] = field(default_factory=dict)
    missing: dict[int, list[Missing]] = field(default_factory=dict)


def propose(
    logs: ClusterLogs,
    *,
    effort: int = EFFORT,
    events: Collection[str] | None = None,
    revision: str = "",
    say: Say = no_words,
) -> Imported:
    """Propose a run that explains the logs.

    Parameters
    ----------
    logs
        As they were read.
    events
        The events that are enabled, as for `vocabularies_of`.
    revision
        Of the spec; empty for that of the logs' release.
    effort
        The factor of the bounds of the search. Where it meets one, it is tried once more with
        wider ones.
    say
        Called with what begins, in a few words.

    Raises
    ------
    ImportFault
        If the logs name members that no cluster can have.
    """
    known = [member_id for member_id in logs.members if member_id >= 0]
    highest = max([*known, *logs.missing], default=NULL_VALUE)
    if not known:
        raise ImportFault("no line of the logs is a cluster's")
    if highest >= MAX_MEMBERS:
        raise ImportFault(f"member {highest} is named; a run has at most {MAX_MEMBERS} members")
    vocabularies = vocabularies_of(logs, events)
    rules = Rules(highest + 1, revision or revision_of(vocabularies))
    silent = find_silent(vocabularies, declared=events is not None)
    found = _propose(rules, logs, effort, silent, say)
    offsets = {proposal.evidence.offset_ns for proposal in found.proposals.values()}
    booted = any(proposal.evidence.boots for proposal in found.proposals.values())
    if (booted or len(offsets) > 1) and not _is_whole(found):
        # The clocks are known but roughly: where they stand to each other may be what does not fit.
        other = _propose(rules, logs, effort, silent, say, likely=True)
        found = other if _is_whole(other) else found
    found.silent = silent
    if found.failure is None:
        for member_id, proposal in found.proposals.items():
            if missing := find_missing(proposal):
                found.missing[member_id] = missing
                mark_missing(proposal, missing)
    return found


def _is_whole(found: Imported) -> bool:
    """Whether all is explained, and nothing seems to be missing."""
    if found.failure is not None or found.stopped is not None or found.cuts or found.unheard:
        return False
    if is_circular(found.proposals):
        return False
    return not any(
        one.lost_lines or one.cut_off or one.evidence.holes for one in found.proposals.values()
    )


def _propose(
    rules: Rules,
    logs: ClusterLogs,
    effort: int,
    silent: Mapping[int, Collection[str]],
    say: Say,
    *,
    likely: bool = False,
) -> Imported:
    """Propose a run with the clocks put on one in one way, which `align` says."""
    members = {
        member_id: evidence_of(log) for member_id, log in logs.members.items() if member_id >= 0
    }
    booted = join_boots(members)
    offsets = align(members, likely=likely)
    settle_boots(members, offsets, likely=likely)
    for member_id, evidence in members.items():
        set_times(evidence, offsets[member_id])
        set_segments(evidence)
        evidence.state_holes = find_state_holes(evidence)
        evidence.closings = find_closings(evidence)
        if evidence.closings:
            set_segments(evidence)
    slack_ns = _SLACK_NS if booted or len(set(offsets.values())) > 1 else 0
    setting = Setting(rules, slack_ns, effort, say)
    found = _explain(setting, logs, members)
    if found.failure is None and is_circular(found.proposals):
        found = _in_order(setting, logs, members) or found
    if found.failure is not None and found.failure.is_bound_met:
        found = _explain(replace(setting, effort=_MORE * effort), logs, members)
    found.turned_off = find_turned_off(members, silent)
    if found.failure is None:
        found.failure = _not_granted(found, members)
        if found.failure is not None:
            _stop(found)
        else:
            _mark_unheard(found, members)
    elif found.failure.is_bound_met or found.turned_off or _is_torn(found, members):
        _stop(found)
    return found


def _mark_unheard(found: Imported, members: Mapping[int, MemberEvidence]) -> None:
    """Leave a number out before each event before which a member lacks what it must have heard."""
    found.unheard = find_unheard(members)
    for member_id, places in found.unheard.items():
        proposal = found.proposals[member_id]
        indexes = {place.index for place in places}
        for step in proposal.steps:
            step.gap |= not indexes.isdisjoint(step.lines)
        if len(proposal.evidence.records) in indexes:
            mark_cut_off(proposal)


def _not_granted(found: Imported, members: Mapping[int, MemberEvidence]) -> Failure | None:
    """The first catch-up of which its leader's log does not show that it was asked for, though no
    other line of that log is missing.
    """
    asked = {
        (member_id, record.follower_member_id, record.leadership_term_id)
        for member_id, evidence in members.items()
        for record in evidence.records
        if isinstance(record, CatchupPosition)
    }
    whole = {
        member_id
        for member_id, one in found.proposals.items()
        if not (one.late or one.cut_off or any(step.gap for step in one.steps))
    }
    joined = [
        Failure(
            member_id,
            segment.start,
            evidence.times[segment.start],
            f"member {segment.leader} did not log who asks it for this catch-up",
        )
        for member_id, evidence in members.items()
        for segment in evidence.segments
        if segment.state == "FOLLOWER_CATCHUP"
        and segment.leader in whole
        and (segment.leader, member_id, segment.term) not in asked
    ]
    return min(joined, key=lambda failure: failure.time, default=None)


def _in_order(
    setting: Setting, logs: ClusterLogs, members: Mapping[int, MemberEvidence]
) -> Imported | None:
    """Explain the logs so that no step comes before itself: the less the clocks are taken to be
    wrong, the fewer sends are put after what they cause. Of two members that wake at once not each
    can have heard before what the other says then.
    """
    narrower = (setting.slack_ns // 2, setting.slack_ns // 8, 0, -1)
    for slack_ns in dict.fromkeys(one for one in narrower if one < setting.slack_ns):
        found = _explain(replace(setting, slack_ns=slack_ns), logs, members)
        whole = found.failure is None and not found.cuts
        if whole and not is_circular(found.proposals):
            return found
    return None


def _is_torn(found: Imported, members: Mapping[int, MemberEvidence]) -> bool:
    """Whether lines are missing that may have explained what is not: of the member that has not
    sent a message, or before a record in the life that it is of.
    """
    failure = found.failure
    assert failure is not None
    sent = failure.sender != NULL_VALUE
    concerned = (members.get(failure.member_id), members.get(failure.sender))
    if sent and any(one.boots for one in concerned if one is not None):
        # After a boot the clocks are known by the wall clock: a message may only seem out of order.
        return True
    shown = found.proposals[failure.member_id].steps
    first = len(shown) == 1 and any(one.unknown_past for one in found.proposals.values())
    if not shown:
        return True
    last = shown[-1]
    received = last.delivery is not None and last.delivery.number < 0
    if not received and (not last.impossible or last.gap or first):
        return True
    evidence = members.get(failure.sender if sent else failure.member_id)
    if evidence is None:
        return True
    proposal = found.proposals.get(evidence.member_id)
    if sent and proposal is not None and (proposal.late or any(s.gap for s in proposal.steps)):
        return True
    end = bisect_right(evidence.times, failure.time) if sent else failure.index
    for index in range(end - 1, -1, -1):
        record = evidence.records[index]
        if isinstance(record, TruncatedLine):
            return True
        if isinstance(record, LifeStart) and not sent:
            return False
    return False


def _explain(
    setting: Setting, logs: ClusterLogs, members: Mapping[int, MemberEvidence]
) -> Imported:
    found = attempt(setting, members)
    if found.first is None:
        return Imported(setting.rules, logs, found.plan, found.proposals, None, cuts=found.cuts)
    return _first_false(setting, logs, members, found)


def _first_false(
    setting: Setting, logs: ClusterLogs, members: Mapping[int, MemberEvidence], found: Attempt
) -> Imported:
    """Find the first line such that what was logged up to it has no explanation.

    An attempt looks ahead, so a false line may make one before it seem to be unexplained.
    """
    first = found.first
    assert first is not None
    rules = setting.rules
    within = attempt(setting, cut_at(members, first.time), whole=False)
    if within.first is not None:
        _cut(within.proposals, within.first)
        return Imported(rules, logs, within.plan, within.proposals, within.first)
    stamps = sorted({time for one in members.values() for time in one.times if time > first.time})
    low, high, good = -1, len(stamps) - 1, within
    while high - low > 1:
        middle = (low + high) // 2
        setting.say("looking for the first line that nothing explains")
        within = attempt(setting, cut_at(members, stamps[middle]), whole=False)
        if within.first is None:
            low, good = middle, within
        else:
            high, first = middle, within.first
    return _ends_with(
        Imported(rules, logs, good.plan, good.proposals, first), members, stamps[high]
    )


def _stop(found: Imported) -> None:
    """End the run before a record of which it is not known whether it can be explained."""
    failure = found.failure
    assert failure is not None
    found.failure, found.stopped = None, failure
    for proposal in found.proposals.values():
        proposal.steps = [
            step for step in proposal.steps if step.time < failure.time and not step.impossible
        ]
        mark_cut_off(proposal)
        proposal.cut_off = False


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
    found.failure = replace(
        found.failure, member_id=member_id, index=index, time=time, reason=reason
    )
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

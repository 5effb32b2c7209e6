"""One attempt to explain logs, or their beginnings: plan, drive each member, let the members agree.

What seems to be missing from the logs is told here from what is false: the beginning or the end of
a log, the last lines before a kill; lines cut out of the middle are told by `holes`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from canvass.cluster.rules import Rules
from canvass.traces.aeron_import.agreement import demand_writing
from canvass.traces.aeron_import.deliveries import Plan, make_plan
from canvass.traces.aeron_import.driver import Failure, drive, find_begin
from canvass.traces.aeron_import.evidence import (
    MemberEvidence,
    is_message,
    sender_of,
    set_segments,
)
from canvass.traces.aeron_import.holes import find_holes
from canvass.traces.aeron_import.lost_lines import LostLines
from canvass.traces.aeron_import.proposal import NEVER, Proposal
from canvass.traces.aeron_import.search import EFFORT
from canvass.traces.aeron_log.records import NewElection

_CUT_OFF_COUNT: Final = 3
"""So many messages heard of a member after the end of its log say that the log goes on elsewhere;
fewer may be false.
"""

_ROUNDS: Final = 10
"""How often leaders are driven anew to have written what others have recorded."""


Say = Callable[[str], object]


def no_words(_: str) -> None:
    """Say nothing."""


@dataclass(slots=True)
class Attempt:
    """What came of an attempt.

    Parameters
    ----------
    proposals, plan
        Of each member, and what they rest on.
    failures
        Records that nothing explains.
    cuts
        For each member the indexes of records before which lines seem to be cut out.
    """

    proposals: dict[int, Proposal]
    plan: Plan
    failures: list[Failure]
    cuts: dict[int, set[int]] = field(default_factory=dict)

    @property
    def first(self) -> Failure | None:
        """The first record that nothing explains."""
        return min(self.failures, key=lambda failure: failure.time, default=None)


@dataclass(frozen=True, slots=True)
class Setting:
    """What all attempts of an import have in common.

    Parameters
    ----------
    rules
        Of the run.
    slack_ns
        How far the clocks of two members may be wrong against each other.
    effort
        Of the search, as a factor of its bounds.
    say
        Called with what begins, in a few words.
    """

    rules: Rules
    slack_ns: int
    effort: int = EFFORT
    say: Say = no_words


def attempt(
    setting: Setting, members: Mapping[int, MemberEvidence], *, whole: bool = True
) -> Attempt:
    """Explain what was logged; the logs may lack their ends if they are said to be ``whole``."""
    spans = {
        member_id: (evidence.times[begin] if begin < len(evidence.times) else NEVER, NEVER)
        for member_id, evidence in members.items()
        if (begin := find_begin(evidence)) > 0
    }
    for member_id in _lacking_lives(members):
        members[member_id].lacks_lives = True
        spans.setdefault(member_id, (members[member_id].times[0], NEVER))
    found = _drive_all(setting, members, spans, whole=whole)
    if found.failures and whole:
        found = _with_missing(setting, members, dict(spans), found)
    if found.failures:
        excused = _drive_all(setting, members, spans, whole=whole, excuse=True)
        return found if excused.failures else excused
    return found


def _with_missing(
    setting: Setting,
    members: Mapping[int, MemberEvidence],
    spans: dict[int, tuple[int, int]],
    found: Attempt,
) -> Attempt:
    """Try whether all is explained if lines are missing where they seem to be."""
    ends = _ends(members, found.plan)
    for member_id, end in ends.items():
        spans[member_id] = (spans.get(member_id, (-NEVER, 0))[0], end)
    again = _drive_all(setting, members, spans) if ends else found
    holes: dict[int, dict[int, int]] = {}
    if again.failures:
        holes = find_holes(members, again.plan, again.failures)
        torn = {
            member_id: replace(evidence, holes=holes.get(member_id, {}))
            for member_id, evidence in members.items()
        }
        again = _drive_all(setting, torn, spans) if holes else again
    if again.failures:
        return found
    cut_in_hole = {m for m, torn_at in holes.items() if len(members[m].records) in torn_at.values()}
    for member_id in {*ends, *cut_in_hole}:
        mark_cut_off(again.proposals[member_id])
    return again


def cut_at(members: Mapping[int, MemberEvidence], time: int) -> dict[int, MemberEvidence]:
    """What had been logged by a time."""
    cut = {}
    for member_id, evidence in members.items():
        count = bisect_right(evidence.times, time)
        if count:
            part = replace(evidence, records=evidence.records[:count], times=evidence.times[:count])
            set_segments(part)
            cut[member_id] = part
    return cut


def _lacking_lives(members: Mapping[int, MemberEvidence]) -> set[int]:
    """Members that start on something, and of which others have heard before."""
    begins = {}
    for member_id, evidence in members.items():
        place = evidence.elections[0] if evidence.elections else 0
        record = evidence.records[place] if evidence.records else None
        if isinstance(record, NewElection) and record.append_position > 0:
            begins[member_id] = evidence.times[0]
    if not begins:
        return set()
    return {
        sender
        for evidence in members.values()
        for record, time_ns in zip(evidence.records, evidence.times, strict=True)
        if is_message(record) and time_ns < begins.get(sender := sender_of(record), -NEVER)
    }


def _drive_all(
    setting: Setting,
    members: Mapping[int, MemberEvidence],
    spans: Mapping[int, tuple[int, int]],
    *,
    whole: bool = True,
    excuse: bool = False,
) -> Attempt:
    """Plan and drive all members; give what failed as well."""
    plan = make_plan(members, spans, setting.slack_ns)
    proposals: dict[int, Proposal] = {}
    failed: dict[int, Failure | None] = {}
    lost = LostLines(members, plan, whole, excuse)
    waiting = set(members)
    for _ in range(_ROUNDS):
        for member_id in sorted(waiting):
            count = len(members[member_id].records)
            setting.say(f"explaining {count:,} lines of member {member_id}")
            ends = lost.missing_before(member_id)
            proposals[member_id], failed[member_id] = drive(
                setting.rules, plan, members[member_id], ends, setting.effort, excuse=excuse
            )
        waiting = demand_writing(plan, proposals) | lost.suppose(proposals)
        for member_id, failure in failed.items():
            if excuse and failure is not None and lost.add(member_id, failure.end):
                waiting.add(member_id)
        if not waiting:
            break
    for member_id, ends in lost.ends.items():
        proposals[member_id].lost_lines = len(ends)
        if len(members[member_id].records) in ends:
            mark_cut_off(proposals[member_id])
    failures = [failure for failure in failed.values() if failure is not None]
    for sender, proposal in proposals.items():
        span = spans.get(sender, (-NEVER, NEVER))
        for delivery in lost.unexplained(proposals, sender, span):
            reason = f"member {sender} did not send this {type(delivery.message).__name__}"
            place = (delivery.receiver, delivery.index, delivery.time)
            failure = Failure(*place, reason, sender=sender)
            failure.is_bound_met = proposal.lacks_tries
            failures.append(failure)
    return Attempt(proposals, plan, failures, lost.cuts)


def _ends(members: Mapping[int, MemberEvidence], plan: Plan) -> dict[int, int]:
    """When the logs end that seem to have lost their ends: others have heard more of the member."""
    ends = {}
    for member_id, evidence in members.items():
        end = evidence.times[-1] if evidence.times else -NEVER
        after = sum(
            delivery.time > end and not delivery.is_supposed
            for (sender, _), queue in plan.queues.items()
            if sender == member_id
            for delivery in queue
        )
        if after >= _CUT_OFF_COUNT:
            ends[member_id] = end
    return ends


def mark_cut_off(proposal: Proposal) -> None:
    """Leave a number out before the last event: what follows is missing."""
    proposal.cut_off = True
    if proposal.steps:
        proposal.steps[-1].gap = True

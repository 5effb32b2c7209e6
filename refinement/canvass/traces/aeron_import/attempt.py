"""One attempt to explain logs, or their beginnings: plan, drive each member, let the members agree.

What seems to be missing from the logs is told here from what is false: the beginning or the end of
a log, the last lines before a kill, lines cut out of the middle.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from canvass.cluster.messages import Message
from canvass.cluster.rules import Rules
from canvass.traces.aeron_import.agreement import demand_writing
from canvass.traces.aeron_import.deliveries import Plan, make_plan
from canvass.traces.aeron_import.driver import Failure, drive, find_begin
from canvass.traces.aeron_import.evidence import (
    UNDER_WAY_NS,
    MemberEvidence,
    is_message,
    sender_of,
    set_segments,
)
from canvass.traces.aeron_import.lost_lines import LostLines
from canvass.traces.aeron_import.proposal import NEVER, Proposal
from canvass.traces.aeron_import.search import EFFORT
from canvass.traces.aeron_log.records import DamagedLine, LifeStart, NewElection

_CUT_OFF_COUNT: Final = 3
"""So many messages heard of a member after the end of its log say that the log goes on elsewhere;
fewer may be false.
"""

_ROUNDS: Final = 10
"""How often leaders are driven anew to have written what others have recorded."""

_SILENCE_NS: Final = 150_000_000
"""Between two lines of one life: longer than the shortest interval of repetition, 100 ms."""
_MOMENT_NS: Final = 50_000_000
"""Messages that were on their way when a process paused come within less."""
_HEARD_COUNT: Final = 3
"""Moments at which others must have heard of a member for a silence of its log to be a hole: who is
only paused is not heard of, but for what was on its way.
"""
_LACKING_COUNT: Final = 3
"""So many things must not follow from the lines before a silence for it to be a hole where less was
heard: one false line makes fewer.
"""


@dataclass(slots=True)
class Attempt:
    """What came of an attempt.

    Parameters
    ----------
    proposals, plan
        Of each member, and what they rest on.
    failures
        Records that nothing explains.
    """

    proposals: dict[int, Proposal]
    plan: Plan
    failures: list[Failure]

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
    """

    rules: Rules
    slack_ns: int
    effort: int = EFFORT


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
        holes = _holes(members, again)
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


def _holes(members: Mapping[int, MemberEvidence], found: Attempt) -> dict[int, dict[int, int]]:
    """Where lines seem to be cut out of logs, before what is not explained: for each member the
    index of the first record after a hole, and of the election with which it is known again.
    """
    heard: dict[int, list[int]] = {}
    for delivery in found.plan.by_record.values():
        heard.setdefault(delivery.sender, []).append(delivery.time)
    holes: dict[int, dict[int, int]] = {}
    for member_id, evidence in members.items():
        times = sorted(heard.get(member_id, []))
        for index in range(1, len(evidence.records)):
            damaged = isinstance(evidence.records[index], DamagedLine)
            if not (damaged or _is_hole(evidence, index, times, found)):
                continue
            end, known = len(evidence.records), evidence.known_again(index)
            shown = evidence.times[index] + _SILENCE_NS
            if damaged:
                shown = evidence.times[known] + UNDER_WAY_NS if known < end else NEVER
            begin = evidence.times[index - 1]
            if any(
                (one.member_id == member_id and one.index >= index)
                or (one.sender == member_id and begin <= one.time <= shown)
                for one in found.failures
            ):
                holes.setdefault(member_id, {})[index] = known
    return holes


def _is_hole(evidence: MemberEvidence, index: int, heard: Sequence[int], found: Attempt) -> bool:
    """Whether a member was silent before a record, and others heard of it all the time, or what
    does not follow from the lines before.
    """
    begin, end = evidence.times[index - 1 : index + 1]
    if end - begin < _SILENCE_NS or isinstance(evidence.records[index], LifeStart):
        return False
    within = heard[bisect_right(heard, begin) : bisect_left(heard, end)]
    if _moments(within, begin) >= _HEARD_COUNT:
        return True
    return _lacking(evidence, index, found) >= _LACKING_COUNT


def _lacking(evidence: MemberEvidence, index: int, found: Attempt) -> int:
    """Count what does not follow from the lines before a silence: different messages that others
    received in it, and what the member logged after it, which counts once.
    """
    begin, end = evidence.times[index - 1 : index + 1]
    known = evidence.known_again(index)
    lacking: set[Message | None] = set()
    for one in found.failures:
        if one.sender == evidence.member_id and begin <= one.time < end:
            lacking.add(found.plan.by_record[one.member_id, one.index].message)
        elif one.member_id == evidence.member_id and index <= one.index <= known:
            lacking.add(None)
    return len(lacking)


def _moments(times: Sequence[int], begin: int) -> int:
    """Count the times that lie apart from each other, and from a beginning."""
    count, latest = 0, begin
    for time in times:
        if time - latest >= _MOMENT_NS:
            count, latest = count + 1, time
    return count


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
    plan = make_plan(members, spans)
    plan.slack_ns = setting.slack_ns
    proposals: dict[int, Proposal] = {}
    failed: dict[int, Failure | None] = {}
    lost = LostLines(members, plan, whole, excuse)
    waiting = set(members)
    for _ in range(_ROUNDS):
        for member_id in sorted(waiting):
            ends = lost.ends.get(member_id, ())
            proposals[member_id], failed[member_id] = drive(
                setting.rules, plan, members[member_id], ends, setting.effort
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
    return Attempt(proposals, plan, failures)


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

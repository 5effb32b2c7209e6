"""Which step of its sender each received message may come from: the plan that the proposal follows.

For each message that somebody received, the latest place in its sender's log is found at which the
sender, by the election states that it logged, could have sent it: not after its receipt, and in
the order of the channel. Only what the logs show is used; no step is taken here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from canvass.cluster.messages import (
    CATCHUP_FLAG,
    NULL_VALUE,
    AppendPosition,
    CatchupPosition,
    CommitPosition,
    NewLeadershipTerm,
    StopCatchup,
    TerminationPosition,
    Vote,
)
from canvass.traces.aeron_import.channels import Channel, Delivery
from canvass.traces.aeron_import.evidence import (
    STARTED,
    MemberEvidence,
    is_message,
    message_of,
    sender_of,
)
from canvass.traces.aeron_import.known import Known
from canvass.traces.aeron_import.places import (
    UNPLANNED,
    Places,
    is_reply,
    reply_key,
    segment_key,
)
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.records import ElectionStateChange

EVENT_BYTES: Final = 96
"""Length of a NewLeadershipTermEvent in the log, frame and alignment included, in all releases that
print these lines; used where no follower has logged the event.
"""

_ALWAYS = (-(1 << 63), 1 << 63)
_NAMING_LEADERS = (records.CommitPosition, records.NewLeadershipTerm, ElectionStateChange)
_NAMING_NO_SENDER = (StopCatchup, TerminationPosition)
_OF_A_POSITION = (AppendPosition, CatchupPosition)
_NO_REPLIES = (AppendPosition, CommitPosition)


@dataclass(slots=True)
class Plan:
    """The deliveries of a run.

    Parameters
    ----------
    by_record
        For each member and index of a record the delivery that it is the receipt of.
    queues
        For each sender and receiver the deliveries in the order of receipt.
    leaders
        The leader of each term, as anybody logged it.
    published
        For each term the times from which on its leader must have written up to a position.
    slack_ns
        How far the clocks of two members may be wrong against each other; -1: see `_place`.
    event_bases, event_ends
        For each term where its first entry begins and ends, as far as that was logged.
    first_entries
        Where the first entries of terms begin and end, and their terms: as somebody has processed
        them or, of other places, as a leader wrote them.
    members
        What was logged.
    places, known
        From where each member can have sent what, and what receipts say of leaders' logs.
    """

    by_record: dict[tuple[int, int], Delivery] = field(default_factory=dict)
    queues: dict[tuple[int, int], list[Delivery]] = field(default_factory=lambda: defaultdict(list))
    leaders: dict[int, int] = field(default_factory=dict)
    slack_ns: int = 0
    published: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    event_ends: dict[int, int] = field(default_factory=dict)
    event_bases: dict[int, int] = field(default_factory=dict)
    first_entries: list[tuple[int, int, int]] = field(default_factory=list)
    members: Mapping[int, MemberEvidence] = field(default_factory=dict)
    places: dict[int, Places] = field(default_factory=dict)
    known: Known = field(default_factory=lambda: Known(()))


def find_leaders(members: Mapping[int, MemberEvidence]) -> dict[int, int]:
    """Which member led which term; the first record that says so decides."""
    leaders: dict[int, int] = {}
    for evidence in members.values():
        for record in evidence.records:
            if isinstance(record, _NAMING_LEADERS) and record.leader_member_id != NULL_VALUE:
                leaders.setdefault(record.leadership_term_id, record.leader_member_id)
    return leaders


def make_plan(
    members: Mapping[int, MemberEvidence],
    spans: Mapping[int, tuple[int, int]] | None = None,
    slack_ns: int = 0,
) -> Plan:
    """Plan the sends of everything that was received.

    Parameters
    ----------
    members
        What was logged.
    spans
        For members whose log has lost its beginning or end the times between which it is there:
        what others received outside is not planned.
    slack_ns
        Of the plan.
    """
    plan = Plan(leaders=find_leaders(members), members=members, slack_ns=slack_ns)
    for receiver, evidence in members.items():
        started = _ALWAYS[0]
        for index, record in enumerate(evidence.records):
            if isinstance(record, records.LifeStart):
                started = evidence.times[index]
            if not is_message(record):
                continue
            message = message_of(record)
            sender = sender_of(record)
            if isinstance(message, _NAMING_NO_SENDER):
                sender = plan.leaders.get(message.leadership_term_id, NULL_VALUE)
            delivery = Delivery(sender, receiver, message, index, evidence.times[index], started)
            plan.by_record[receiver, index] = delivery
    own = _own_reports(members)
    known = plan.known = Known(
        (d.time, d.message)
        for d in plan.by_record.values()
        if not isinstance(d.message, AppendPosition) or _report_of(d) not in own
    )
    plan.places = {sender: Places(evidence, known) for sender, evidence in members.items()}
    for delivery in plan.by_record.values():
        if isinstance(delivery.message, StopCatchup):
            delivery.sender = _find_stopper(plan, members, delivery)
        plan.queues[delivery.sender, delivery.receiver].append(delivery)
    for (sender, receiver), queue in plan.queues.items():
        if sender in members:
            first, last = (spans or {}).get(sender, _ALWAYS)
            for delivery in queue:
                if members[sender].holes:
                    delivery.excused = members[sender].hole_at(delivery.time) is not None
                delivery.lost = delivery.excused or not first <= delivery.time <= last
            plan_channel(plan, members[sender], receiver, queue)
    _plan_published(plan, members, own)
    return plan


def _find_stopper(plan: Plan, members: Mapping[int, MemberEvidence], delivery: Delivery) -> int:
    """Who ended a catch-up: who led, and heard last of what is answered."""
    receiver, term = delivery.receiver, delivery.message.leadership_term_id  # type: ignore[union-attr]
    best = -_ALWAYS[1], delivery.sender
    for sender, evidence in members.items():
        if sender == receiver:
            continue
        before = bisect_right(evidence.times, delivery.time)
        for kind in ("STOP", "STOP?"):
            place = plan.places[sender].latest_record((kind, receiver, term), before)
            if place != UNPLANNED:
                best = max(best, (evidence.times[place], sender))
                break
    return best[1]


def plan_channel(
    plan: Plan, evidence: MemberEvidence, receiver: int, queue: list[Delivery]
) -> None:
    """Give each delivery of a channel its place, but for those that are not sent or settled."""
    open_ones = [one for one in queue if not (one.lost or one.supposed)]
    _plan_channel(plan, evidence, receiver, open_ones)
    for place, delivery in enumerate(queue):
        delivery.place, delivery.planned = place, delivery.due


def _plan_channel(
    plan: Plan, evidence: MemberEvidence, receiver: int, queue: list[Delivery]
) -> None:
    """Give each delivery of a channel its place, from the last to the first.

    Of two that cannot both have one the odd one goes without: if the delivery before agrees with
    this one, that is the later of the two.
    """
    places = plan.places[evidence.member_id]
    find = partial(_place, places, plan.known, evidence, receiver, slack_ns=plan.slack_ns)
    limits = [len(evidence.records)]
    hinted = False
    setters: list[Delivery] = []
    place = len(queue) - 1
    while place >= 0:
        delivery = queue[place]
        # A refusal and the hint after it are sent in one step.
        room = limits[-1] + (hinted and isinstance(delivery.message, Vote))
        due = find(delivery, room)
        if due == UNPLANNED and setters:
            wider = find(delivery, limits[-2])
            before = queue[place - 1] if place else None
            if wider != UNPLANNED and before is not None:
                now = find(before, limits[-1])
                then = find(before, min(wider, limits[-2]))
                if now == UNPLANNED and then != UNPLANNED:
                    setters.pop().due = UNPLANNED
                    limits.pop()
                    continue
        delivery.due = due
        if due != UNPLANNED:
            hinted = delivery.reply and isinstance(delivery.message, NewLeadershipTerm)
        if due != UNPLANNED and due < limits[-1]:
            limits.append(due)
            setters.append(delivery)
        place -= 1


def _place(
    places: Places,
    known: Known,
    evidence: MemberEvidence,
    receiver: int,
    delivery: Delivery,
    limit: int,
    *,
    bounded: bool = True,
    slack_ns: int = 0,
) -> int:
    """The latest place of a delivery that is at most ``limit``, if it is ``bounded`` not after what
    it says was out of date. Clocks may be wrong against each other by ``slack_ns``, which is made
    use of only if there is no other place; if that is below 0, so is a record of the very time of
    the receipt.
    """
    place = partial(_place_within, places, known, evidence, receiver, delivery, limit, bounded)
    due = place(min(slack_ns, 0))
    return place(max(slack_ns, 0)) if due == UNPLANNED and slack_ns else due


def _place_within(
    places: Places,
    known: Known,
    evidence: MemberEvidence,
    receiver: int,
    delivery: Delivery,
    limit: int,
    bounded: bool,
    slack_ns: int,
) -> int:
    message = delivery.message
    before = min(bisect_right(evidence.times, delivery.time + slack_ns), limit)
    slack_ns = max(slack_ns, 0)
    answer = None if type(message) in _NO_REPLIES else reply_key(message, receiver)
    replied = lasting = UNPLANNED
    if answer is not None:
        bound = known.bound(message) if bounded else None
        latest = before if bound is None else bisect_right(evidence.times, bound + slack_ns)
        replied = places.latest_record(answer, min(before, latest))
        if replied == UNPLANNED and isinstance(message, StopCatchup):
            term = message.leadership_term_id
            replied = places.latest_record(("STOP?", receiver, term), before)
    if answer is None or not is_reply(places, message, receiver):
        lasting = places.latest_segment(segment_key(message, receiver), before)
        if lasting != UNPLANNED and isinstance(message, _OF_A_POSITION):
            lasting = places.settled(lasting, limit)
            if isinstance(message, AppendPosition) and message.flags == CATCHUP_FLAG:
                lasting = places.before_term(lasting, message.leadership_term_id)
    delivery.reply = replied >= lasting
    due = max(replied, lasting)
    ends = (UNPLANNED, len(evidence.times))
    if due in ends or evidence.times[due] >= delivery.not_before - slack_ns:
        return due
    return UNPLANNED


def replan(
    plan: Plan, evidence: MemberEvidence, channel: Channel, delivery: Delivery, limit: int
) -> list[tuple[Delivery, int, bool]] | None:
    """Let a delivery be sent at ``limit`` at the latest, and those before it on its channel too.

    Returns
    -------
    list or None
        What has changed, as it was: for `Plan` to be put back; None if it is not possible, and then
        nothing has changed.
    """
    places = plan.places[evidence.member_id]
    find = partial(_place, places, plan.known, evidence, delivery.receiver, slack_ns=plan.slack_ns)
    changed: list[tuple[Delivery, int, bool]] = []
    place = delivery.place
    hinted = False
    while place >= 0:
        one = channel.items[place]
        place -= 1
        if one.lost:
            continue
        was = (one, one.planned, one.reply)
        room = limit + (hinted and isinstance(one.message, Vote))
        # No two answers are to one receipt, nor is an answer sent before what goes before it.
        fits = one.planned < room if one.reply else one.planned <= limit
        if one is not delivery and one.planned > UNPLANNED and fits:
            break
        free = one is delivery
        due = find(one, room, bounded=not free)
        changed.append(was)
        one.planned = one.due = due
        if due == UNPLANNED:
            put_back(changed)
            return None
        hinted = one.reply and isinstance(one.message, NewLeadershipTerm)
        limit = due
    return changed


def put_back(changed: list[tuple[Delivery, int, bool]]) -> None:
    """Undo what `replan` has done."""
    for one, planned, reply in changed:
        one.planned = one.due = planned
        one.reply = reply


def _own_reports(members: Mapping[int, MemberEvidence]) -> set[tuple[int, int, int]]:
    """Sender, term and position of reports that are not of what the leader of the term has written:
    a member that waits in FOLLOWER_REPLAY says how long its own log is, one in FOLLOWER_READY how
    far it has processed, even if its log was cut below that.
    """
    own = set()
    for member_id, evidence in members.items():
        for segment in evidence.segments:
            record = evidence.records[segment.start]
            if segment.state == "FOLLOWER_REPLAY":
                own.add((member_id, segment.term, segment.append))
            elif segment.state == "FOLLOWER_READY" and isinstance(record, ElectionStateChange):
                own.add((member_id, segment.term, max(record.log_position, segment.append + 1)))
    return own


def _report_of(delivery: Delivery) -> tuple[int, int, int]:
    message = delivery.message
    assert isinstance(message, AppendPosition)
    return delivery.sender, message.leadership_term_id, message.log_position


def _plan_published(
    plan: Plan, members: Mapping[int, MemberEvidence], own: set[tuple[int, int, int]]
) -> None:
    """Note from when on a leader must have written what others have recorded of its term."""
    for (sender, receiver), queue in plan.queues.items():
        evidence = members.get(sender)
        for delivery in queue:
            message = delivery.message
            if (
                isinstance(message, AppendPosition)
                and delivery.due != UNPLANNED
                and evidence
                # Who catches up reports in an older term what it has of a newer leader.
                and plan.leaders.get(message.leadership_term_id) == receiver
                and _report_of(delivery) not in own
            ):
                place = min(delivery.due, len(evidence.times) - 1)
                sent = min(delivery.time, evidence.times[place])
                plan.published[message.leadership_term_id].append((sent, message.log_position))
    for evidence in members.values():
        term = NULL_VALUE
        for index, record in evidence.others:
            if isinstance(record, ElectionStateChange):
                term = record.leadership_term_id
            elif isinstance(record, records.NewElection) and record.reason != STARTED:
                needed = (evidence.times[index], record.append_position)
                plan.published[record.leadership_term_id].append(needed)
            elif isinstance(record, records.ReplayNewLeadershipTerm):
                needed = (evidence.times[index], record.log_position)
                plan.published[term].append(needed)
                plan.event_ends.setdefault(record.leadership_term_id, record.log_position)
                plan.event_bases.setdefault(
                    record.leadership_term_id, record.term_base_log_position
                )
    for needs in plan.published.values():
        needs.sort()
    _find_first_entries(plan, members)


def _find_first_entries(plan: Plan, members: Mapping[int, MemberEvidence]) -> None:
    """Note where terms begin in the log."""
    found = {base: (base, plan.event_ends[term], term) for term, base in plan.event_bases.items()}
    for evidence in members.values():
        for segment, before in zip(evidence.segments[1:], evidence.segments, strict=False):
            if (before.state, segment.state) == ("LEADER_READY", "CLOSED"):
                base = segment.append
                found.setdefault(base, (base, base + EVENT_BYTES, segment.term))
    plan.first_entries = sorted(found.values())

"""Which step of its sender each received message may come from: the plan that the proposal follows.

For each message that somebody received, the latest place in its sender's log is found at which the
sender, by the election states that it logged, could have sent it: not after its receipt, and in
the order of the channel. Only what the logs show is used; no step is taken here.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from canvass.cluster.messages import (
    CATCHUP_FLAG,
    NULL_VALUE,
    AppendPosition,
    CanvassPosition,
    CatchupPosition,
    CommitPosition,
    Message,
    NewLeadershipTerm,
    RequestVote,
    StopCatchup,
    TerminationAck,
    TerminationPosition,
    Vote,
)
from canvass.traces.aeron_import.evidence import (
    STARTED,
    MemberEvidence,
    Segment,
    is_message,
    message_of,
    sender_of,
)
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.records import ElectionStateChange

UNPLANNED = -1
_NAMING_LEADERS = (records.CommitPosition, records.NewLeadershipTerm, ElectionStateChange)
LEADING = ("LEADER_LOG_REPLICATION", "LEADER_REPLAY", "LEADER_READY")


@dataclass(slots=True, eq=False)
class Delivery:
    """One message that was received, and where its send belongs.

    Parameters
    ----------
    sender, receiver, message
        As logged by the receiver.
    index
        Of the record in the receiver's log.
    time
        Of the receipt, on the common clock.
    due
        Index of the record in the sender's log before which it is to be sent, or at which if it is
        a reply; `UNPLANNED` if the sender could not have sent it.
    reply
        Whether it is sent in the step that record ``due`` causes.
    number
        Running number of the send, once it is found; -1 until then.
    """

    sender: int
    receiver: int
    message: Message
    index: int
    time: int
    due: int = UNPLANNED
    reply: bool = False
    number: int = -1


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
    event_bases, event_ends
        For each term where its first entry begins and ends, as far as that was logged.
    """

    by_record: dict[tuple[int, int], Delivery] = field(default_factory=dict)
    queues: dict[tuple[int, int], list[Delivery]] = field(default_factory=lambda: defaultdict(list))
    leaders: dict[int, int] = field(default_factory=dict)
    published: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    event_ends: dict[int, int] = field(default_factory=dict)
    event_bases: dict[int, int] = field(default_factory=dict)


def find_leaders(members: Mapping[int, MemberEvidence]) -> dict[int, int]:
    """Which member led which term; the first record that says so decides."""
    leaders: dict[int, int] = {}
    for evidence in members.values():
        for record in evidence.records:
            if isinstance(record, _NAMING_LEADERS) and record.leader_member_id != NULL_VALUE:
                leaders.setdefault(record.leadership_term_id, record.leader_member_id)
    return leaders


def make_plan(members: Mapping[int, MemberEvidence]) -> Plan:
    """Plan the sends of everything that was received."""
    plan = Plan(leaders=find_leaders(members))
    for receiver, evidence in members.items():
        for index, record in enumerate(evidence.records):
            if not is_message(record):
                continue
            message = message_of(record)
            sender = sender_of(record)
            if isinstance(message, StopCatchup | TerminationPosition):
                sender = plan.leaders.get(message.leadership_term_id, NULL_VALUE)
            delivery = Delivery(sender, receiver, message, index, evidence.times[index])
            plan.by_record[receiver, index] = delivery
            plan.queues[sender, receiver].append(delivery)
    for sender, evidence in members.items():
        places = _Places(evidence)
        for (origin, receiver), queue in plan.queues.items():
            if origin == sender:
                _plan_channel(places, evidence, receiver, queue)
    _plan_published(plan, members)
    return plan


class _Places:
    """Where in a sender's log what kind of message can come from."""

    def __init__(self, evidence: MemberEvidence) -> None:
        self.segments = evidence.segments
        self.starts: dict[Hashable, list[int]] = defaultdict(list)
        self.ends: dict[Hashable, list[int]] = defaultdict(list)
        self.records: dict[Hashable, list[int]] = defaultdict(list)
        for segment in evidence.segments:
            for key in _segment_keys(segment, evidence.member_id):
                self.starts[key].append(segment.start)
                self.ends[key].append(segment.end)
        for index, record in enumerate(evidence.records):
            key = _record_key(record)
            if key is not None:
                self.records[key].append(index)

    def latest_segment(self, key: Hashable, before: int) -> int:
        """The latest index, at most ``before``, within a segment that has the key; or -1."""
        starts = self.starts.get(key, [])
        place = bisect_left(starts, before) - 1
        return min(before, self.ends[key][place]) if place >= 0 else UNPLANNED

    def latest_record(self, key: Hashable, before: int) -> int:
        """The latest record below ``before`` that has the key; or -1."""
        found = self.records.get(key, [])
        place = bisect_left(found, before) - 1
        return found[place] if place >= 0 else UNPLANNED


def _segment_keys(segment: Segment, member_id: int) -> list[Hashable]:
    """What can be sent in a segment, as `_message_keys` names it."""
    state, term, leader = segment.state, segment.term, segment.leader
    if state in ("CANVASS", "NOMINATE"):
        return [("CAN", segment.log_term, segment.append, term)]
    if state == "CANDIDATE_BALLOT":
        return [("RV", segment.candidate_term)]
    if state in LEADING:
        about = term if state == "LEADER_READY" else segment.log_term
        return [("CP", term), ("NLT", term, about)]
    if state == "CLOSED" and leader == member_id:
        return [("CP", term), ("TP", term)]
    if state in ("FOLLOWER_LOG_REPLICATION", "FOLLOWER_REPLAY", "FOLLOWER_READY"):
        return [("AP", term, leader)]
    if state == "CLOSED":
        return [("AP", term, leader), ("TA", leader)]
    if state == "FOLLOWER_CATCHUP":
        return [("AP+", leader)]
    if state == "FOLLOWER_CATCHUP_INIT":
        return [("CATCHUP", term, leader)]
    return []


def _record_key(record: object) -> Hashable:
    """To which replies the receipt of a message can lead, as `_message_keys` names them."""
    if isinstance(record, records.RequestVote):
        return ("VOTE", record.candidate_member_id, record.candidate_term_id)
    if isinstance(record, records.CanvassPosition):
        return ("HINT", record.follower_member_id, record.log_leadership_term_id)
    if isinstance(record, records.AppendPosition):
        return ("STOP", record.follower_member_id, record.leadership_term_id)
    return None


def _segment_key(message: Message, receiver: int) -> Hashable:
    match message:
        case CanvassPosition():
            return (
                "CAN",
                message.log_leadership_term_id,
                message.log_position,
                message.leadership_term_id,
            )
        case RequestVote():
            return ("RV", message.candidate_term_id)
        case CommitPosition():
            return ("CP", message.leadership_term_id)
        case NewLeadershipTerm():
            return ("NLT", message.leadership_term_id, message.log_leadership_term_id)
        case AppendPosition(flags=flags) if flags == CATCHUP_FLAG:
            return ("AP+", receiver)
        case AppendPosition():
            return ("AP", message.leadership_term_id, receiver)
        case CatchupPosition():
            return ("CATCHUP", message.leadership_term_id, receiver)
        case TerminationPosition():
            return ("TP", message.leadership_term_id)
        case TerminationAck():
            return ("TA", receiver)
        case _:
            return None


def _reply_key(message: Message, receiver: int) -> Hashable:
    match message:
        case Vote():
            return ("VOTE", receiver, message.candidate_term_id)
        case NewLeadershipTerm():
            return ("HINT", receiver, message.log_leadership_term_id)
        case StopCatchup():
            return ("STOP", receiver, message.leadership_term_id)
        case _:
            return None


def _is_reply(places: _Places, message: Message, receiver: int) -> bool:
    if isinstance(message, Vote | StopCatchup):
        return True
    if not isinstance(message, NewLeadershipTerm):
        return False
    if message.log_position > message.term_base_log_position:
        return True  # Of a leader that has opened its term.
    if message.next_log_position != NULL_VALUE:
        return True  # About a term that has ended: a broadcast is about the last one.
    return _segment_key(message, receiver) not in places.starts


def _plan_channel(
    places: _Places, evidence: MemberEvidence, receiver: int, queue: list[Delivery]
) -> None:
    """Give each delivery of a channel its place, from the last to the first."""
    limit = len(evidence.records)
    for delivery in reversed(queue):
        message = delivery.message
        before = min(bisect_right(evidence.times, delivery.time), limit)
        if _is_reply(places, message, receiver):
            due = places.latest_record(_reply_key(message, receiver), before)
            delivery.reply = True
        else:
            due = places.latest_segment(_segment_key(message, receiver), before)
            if isinstance(message, AppendPosition | CatchupPosition) and due != UNPLANNED:
                due = _settled(places, due, limit)
        delivery.due = due
        if due != UNPLANNED:
            limit = due


def _settled(places: _Places, due: int, limit: int) -> int:
    """Move a send that only the end of a segment can make there, if it lies in one."""
    starts = [segment.start for segment in places.segments]
    segment = places.segments[bisect_left(starts, due) - 1]
    if segment.state in ("FOLLOWER_READY", "FOLLOWER_CATCHUP_INIT") and segment.end <= limit:
        return segment.end
    return due


def _plan_published(plan: Plan, members: Mapping[int, MemberEvidence]) -> None:
    """Note from when on a leader must have written what others have recorded of its term."""
    for (sender, _), queue in plan.queues.items():
        evidence = members.get(sender)
        for delivery in queue:
            message = delivery.message
            if isinstance(message, AppendPosition) and delivery.due != UNPLANNED and evidence:
                place = min(delivery.due, len(evidence.times) - 1)
                sent = min(delivery.time, evidence.times[place])
                plan.published[message.leadership_term_id].append((sent, message.log_position))
    for evidence in members.values():
        term = NULL_VALUE
        for index, record in enumerate(evidence.records):
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

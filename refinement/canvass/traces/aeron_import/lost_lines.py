"""Lines that a kill has taken with it: what a member did in its last moments, others may still have
received.

A process that is killed loses the lines that were in memory. For a message that somebody received
after a member's last line, and that nothing logged explains, a receipt is supposed that the member
had no time to log. Where that does not help, the end of that life is known to be missing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from canvass.cluster.messages import (
    AppendPosition,
    CanvassPosition,
    CommitPosition,
    Message,
    NewLeadershipTerm,
    RequestVote,
    Vote,
)
from canvass.cluster.quorum import quorum_size
from canvass.traces.aeron_import.channels import Delivery
from canvass.traces.aeron_import.deliveries import Plan, plan_channel
from canvass.traces.aeron_import.evidence import UNDER_WAY_NS, MemberEvidence
from canvass.traces.aeron_import.plausible import Plausible
from canvass.traces.aeron_import.proposal import Proposal
from canvass.traces.aeron_log.records import LifeStart, StateChange

_NEAR_NS: Final = 1_000_000_000
"""Commit positions that lack the reports that they come of are received within so long."""
_SEVERAL: Final = 2
"""So many messages are not all false: one is, where one line is."""


@dataclass(slots=True)
class LostLines:
    """What has been supposed so far.

    Parameters
    ----------
    members, plan
        What was logged, and the plan, in which supposed messages are put.
    whole
        Whether the logs are all that there is: then a log may end with a kill.
    excuse
        Whether lines may be missing for which nothing can be supposed.
    ends
        For each member the indexes of records before which lines are known to be missing.
    cuts
        For each member the indexes of records before which lines seem to be cut out of a life.
    """

    members: Mapping[int, MemberEvidence]
    plan: Plan
    whole: bool = True
    excuse: bool = False
    ends: dict[int, set[int]] = field(default_factory=dict)
    cuts: dict[int, set[int]] = field(default_factory=dict)
    judging: Plausible = field(init=False)

    def __post_init__(self) -> None:
        self.judging = Plausible(self.members, self.plan)

    def missing_before(self, member_id: int) -> set[int]:
        """Indexes of a member's records before which lines are missing."""
        return self.ends.get(member_id, set()) | self.cuts.get(member_id, set())

    def suppose(self, proposals: Mapping[int, Proposal]) -> set[int]:
        """Suppose what may explain messages that are not sent; give the members concerned."""
        concerned: set[int] = set()
        made: dict[tuple[int, int, Message], list[Delivery]] = {}
        for sender, proposal in proposals.items():
            for delivery in sorted(proposal.unsent, key=lambda one: one.time):
                if delivery.is_supposed:
                    # Nobody can have sent it, so it was not received.
                    if not delivery.excused:
                        concerned.add(delivery.receiver)
                    delivery.lost = delivery.excused = True
                    continue
                if self.members[sender].hole_at(delivery.time) is not None:
                    continue  # What is lost there is no end of a life.
                if delivery.receiver not in self.members:
                    continue
                end = self._killed_before(sender, delivery)
                if end is None:
                    concerned.update(self._excuse(proposals, delivery, None))
                    continue
                if not delivery.supposed and end < len(self.members[sender].records):
                    key = (sender, end, delivery.message)
                    if key not in made:
                        made[key] = self._cause(proposals, delivery, end)
                        concerned.update(self._insert(one) for one in made[key])
                    supposed = made[key]
                    if supposed:
                        concerned.add(sender)
                        delivery.supposed = supposed
                        delivery.lost = delivery.reply = False
                        delivery.planned = delivery.due = end
                        continue
                concerned.update(self._excuse(proposals, delivery, end))
        return concerned

    def _excuse(
        self, proposals: Mapping[int, Proposal], delivery: Delivery, end: int | None
    ) -> set[int]:
        """Let lines be missing that would explain a message that is not sent, if they may be: the
        last ones before an ``end`` by a kill, or reports in the middle of a life. Give its sender
        if that is so.
        """
        sender = delivery.sender
        if not self.excuse or delivery.excused:
            return set()
        if end is None:
            place = bisect_right(self.members[sender].times, delivery.time)
            missing, found = self.cuts, self._lacks_reports(proposals, delivery, place)
        else:
            place, missing = end, self.ends
            found = self.judging.is_plausible(proposals, delivery, end)
        if not found:
            return set()
        delivery.lost = delivery.excused = True
        missing.setdefault(sender, set()).add(place)
        return {sender}

    def is_excused(self, proposals: Mapping[int, Proposal], delivery: Delivery) -> bool:
        """Whether lines are missing that would explain a message that is not sent."""
        evidence = self.members[delivery.sender]
        hole = evidence.hole_at(delivery.time, UNDER_WAY_NS)
        if hole is None:
            return delivery.excused
        # What came after the member was known again, and was sent before, came before all else.
        begin = evidence.times[hole - 1]
        first = delivery.excused or all(
            one.number < 0 or one.time < begin
            for one in self.plan.queues[delivery.sender, delivery.receiver][: delivery.place]
        )
        return first and self.judging.is_plausible(proposals, delivery, hole, in_hole=True)

    def is_out_of_sight(
        self, proposals: Mapping[int, Proposal], delivery: Delivery, last: int
    ) -> bool:
        """Whether a message came after the end of a log that lacks its end, and may be true."""
        end = len(self.members[delivery.sender].records)
        return delivery.time > last and self.judging.is_plausible(
            proposals, delivery, end, in_hole=True
        )

    def unexplained(
        self, proposals: Mapping[int, Proposal], sender: int, span: tuple[int, int]
    ) -> list[Delivery]:
        """What a member did not send of what was received, and no line that is missing explains.

        Parameters
        ----------
        proposals, sender
            What is proposed, and of whom.
        span
            From when to when the log of that member goes.
        """
        (first, last), proposal = span, proposals[sender]
        return [
            one
            for one in proposal.unsent
            if not (one.is_supposed or one.time < first or one.receiver not in self.members)
            and not (proposal.late and one.time < first + UNDER_WAY_NS)
            and not self.is_excused(proposals, one)
            and not self.is_out_of_sight(proposals, one, last)
        ]

    def add(self, member_id: int, end: int) -> bool:
        """Note that lines are missing before a record, if there is one; say whether that is new."""
        ends = self.ends.setdefault(member_id, set()) if end >= 0 else None
        if ends is None or end in ends:
            return False
        ends.add(end)
        return True

    def _lacks_reports(
        self, proposals: Mapping[int, Proposal], delivery: Delivery, place: int
    ) -> bool:
        """Whether a leader seems to have had reports that its log lacks: commit positions were
        received of what a quorum had recorded. A single one may be false; it is not if nobody who
        must have reported so much reports less from then on. So it is with what a leader answers to
        a report, if whoever received it went on from there, and with what a member acknowledges
        that has terminated.
        """
        if not isinstance(delivery.message, CommitPosition):
            return self.judging.has_led_on(delivery) or self.judging.has_ended(delivery)
        near = {
            (one.receiver, one.message)
            for one in proposals[delivery.sender].unsent
            if isinstance(one.message, CommitPosition)
            and not one.is_supposed
            and abs(one.time - delivery.time) <= _NEAR_NS
        }
        if len(near) >= _SEVERAL:
            return self.judging.is_plausible(proposals, delivery, place)
        return self.judging.was_reported(delivery, delivery.message)

    def _killed_before(self, member_id: int, delivery: Delivery) -> int | None:
        """The record before which a life ended by a kill, after whose last line a message came."""
        evidence = self.members[member_id]
        place = bisect_right(evidence.times, delivery.time)
        while place > 0:
            end = place
            while end < len(evidence.records) and not isinstance(evidence.records[end], LifeStart):
                end += 1
            last = evidence.records[place - 1]
            if end == len(evidence.records) and not self.whole:
                return None
            if end == place and not _is_closing(last):
                return end
            while place > 0 and not isinstance(evidence.records[place - 1], LifeStart):
                place -= 1
            place -= 1
        return None

    def _cause(
        self, proposals: Mapping[int, Proposal], delivery: Delivery, end: int
    ) -> list[Delivery]:
        """What the sender may have received last, so that it sent this."""
        message, sender = delivery.message, delivery.sender
        causes: list[tuple[int, Message]] = []
        match message:
            case CommitPosition():
                causes = self._reports(proposals, delivery, end)
            case Vote():
                segment = self.judging.segment(delivery.receiver, delivery.time, "CANDIDATE_BALLOT")
                if segment and segment.candidate_term == message.candidate_term_id:
                    candidate = message.candidate_member_id
                    log = (segment.log_term, segment.append)
                    request = RequestVote(*log, message.candidate_term_id, candidate)
                    causes = [(delivery.receiver, request)]
            case NewLeadershipTerm():
                segment = self.judging.segment(delivery.receiver, delivery.time, "CANVASS")
                if segment and segment.log_term == message.log_leadership_term_id:
                    canvass = CanvassPosition(
                        segment.log_term, segment.append, segment.term, delivery.receiver
                    )
                    causes = [(delivery.receiver, canvass)]
            case _:
                pass
        started = self._life_start(sender, end)
        return [
            # Whoever reports has not received yet what comes of it.
            Delivery(origin, sender, cause, end, delivery.time - 1, started, is_supposed=True)
            for origin, cause in causes
        ]

    def _reports(
        self, proposals: Mapping[int, Proposal], delivery: Delivery, end: int
    ) -> list[tuple[int, Message]]:
        """Reports of a position that enough others have recorded by then."""
        message = delivery.message
        assert isinstance(message, CommitPosition)
        position, term = message.log_position, message.leadership_term_id
        leader = proposals[delivery.sender]
        step = next((step for step in reversed(leader.steps) if step.index < end), None)
        state = leader.found if step is None else step.state
        lacking = quorum_size(leader.rules.member_count) - 1
        reports: list[tuple[int, Message]] = []
        for j in leader.others:
            if state.members[j].log_position >= position:
                lacking -= 1
            elif j in proposals and self.judging.had_recorded(j, position, delivery.time):
                reports.append((j, AppendPosition(term, position, j, 0)))
        return reports[:lacking] if 0 < lacking <= len(reports) else []

    def _life_start(self, member_id: int, end: int) -> int:
        evidence = self.members[member_id]
        for index in range(end - 1, -1, -1):
            if isinstance(evidence.records[index], LifeStart):
                return evidence.times[index]
        return -(1 << 63)

    def _insert(self, supposed: Delivery) -> int:
        """Put a supposed receipt in its channel; give its sender."""
        queue = self.plan.queues[supposed.sender, supposed.receiver]
        place = next((k for k, one in enumerate(queue) if one.index >= supposed.index), len(queue))
        queue.insert(place, supposed)
        plan_channel(self.plan, self.members[supposed.sender], supposed.receiver, queue)
        return supposed.sender


def _is_closing(record: object) -> bool:
    return isinstance(record, StateChange) and record.new_state == "CLOSED"

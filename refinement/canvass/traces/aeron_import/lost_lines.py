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
    NULL_VALUE,
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
from canvass.traces.aeron_import.evidence import UNDER_WAY_NS, MemberEvidence, Segment
from canvass.traces.aeron_import.proposal import Proposal
from canvass.traces.aeron_log.records import LifeStart, NewElection, StateChange

_LOST_NS: Final = 50_000_000
"""A message comes at most so long after the last line that was not lost: what a kill takes is of
some milliseconds.
"""


_NEAR_NS: Final = 1_000_000_000
"""Commit positions that lack the reports that they come of are received within so long."""
_SEVERAL: Final = 2
"""So many messages are not all false: one is, where one line is."""

_RECORDING_NOTHING: Final = (
    "CANVASS", "NOMINATE", "CANDIDATE_BALLOT", "FOLLOWER_BALLOT", "LEADER_LOG_REPLICATION",
)  # fmt: skip
"""States in which a log is as long as it was when they were entered."""


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
            found = self._is_plausible(proposals, delivery, end)
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
        return first and self._is_plausible(proposals, delivery, hole, in_hole=True)

    def is_out_of_sight(
        self, proposals: Mapping[int, Proposal], delivery: Delivery, last: int
    ) -> bool:
        """Whether a message came after the end of a log that lacks its end, and may be true."""
        end = len(self.members[delivery.sender].records)
        return delivery.time > last and self._is_plausible(proposals, delivery, end, in_hole=True)

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
        """Whether a leader seems to have had reports that its log lacks: several commit positions
        were received of what a quorum had recorded. One may be false.
        """
        if not isinstance(delivery.message, CommitPosition):
            return False
        near = {
            (one.receiver, one.message)
            for one in proposals[delivery.sender].unsent
            if isinstance(one.message, CommitPosition)
            and not one.is_supposed
            and abs(one.time - delivery.time) <= _NEAR_NS
        }
        return len(near) >= _SEVERAL and self._is_plausible(proposals, delivery, place)

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
                segment = self._segment(delivery.receiver, delivery.time, "CANDIDATE_BALLOT")
                if segment and segment.candidate_term == message.candidate_term_id:
                    candidate = message.candidate_member_id
                    log = (segment.log_term, segment.append)
                    request = RequestVote(*log, message.candidate_term_id, candidate)
                    causes = [(delivery.receiver, request)]
            case NewLeadershipTerm():
                segment = self._segment(delivery.receiver, delivery.time, "CANVASS")
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
            elif j in proposals and self._had_recorded(j, position, delivery.time):
                reports.append((j, AppendPosition(term, position, j, 0)))
        return reports[:lacking] if 0 < lacking <= len(reports) else []

    def _segment(self, member_id: int, time: int, state: str) -> Segment | None:
        evidence = self.members[member_id]
        index = bisect_right(evidence.times, time)
        before = [one for one in evidence.segments if one.start < index and one.state == state]
        return before[-1] if before else None

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

    def _is_plausible(
        self,
        proposals: Mapping[int, Proposal],
        delivery: Delivery,
        end: int,
        *,
        in_hole: bool = False,
    ) -> bool:
        """Whether a message can be true at all, by what others logged."""
        message = delivery.message
        if isinstance(message, CommitPosition):
            position, time = message.log_position, delivery.time
            last = self.members[delivery.sender].times[end - 1]
            having = sum(
                self._had_recorded(j, position, time)
                or (
                    (in_hole or time - last <= _LOST_NS)
                    and self._may_have_recorded(j, position, time)
                )
                for j in proposals
                if j != delivery.sender
            )
            return having >= quorum_size(len(self.members)) - 1
        if isinstance(message, Vote):
            segment = self._segment(delivery.receiver, delivery.time, "CANDIDATE_BALLOT")
            if segment is None or segment.candidate_term != message.candidate_term_id:
                return False
            own, log = (message.log_leadership_term_id, message.log_position), segment
            if message.vote and own > (log.log_term, log.append):
                return False
            return not self._has_voted_otherwise(delivery.sender, message)
        if isinstance(message, CanvassPosition | AppendPosition):
            return in_hole or self._may_report(delivery.sender, message.log_position, end)
        if isinstance(message, NewLeadershipTerm):
            return self.plan.leaders.get(message.leadership_term_id, NULL_VALUE) == delivery.sender
        return True

    def _has_voted_otherwise(self, member_id: int, vote: Vote) -> bool:
        """Whether a member is heard to have granted a vote to another one in the same term."""
        return any(
            isinstance(other := one.message, Vote)
            and other.vote
            and vote.vote
            and other.candidate_term_id == vote.candidate_term_id
            and other.candidate_member_id != vote.candidate_member_id
            for (sender, _), queue in self.plan.queues.items()
            if sender == member_id
            for one in queue
        )

    def _had_recorded(self, member_id: int, position: int, time: int) -> bool:
        """Whether a member is known to have recorded a position not long after a time, by what it
        reported or what its next election found.
        """
        evidence = self.members[member_id]
        for place in evidence.elections:
            record = evidence.records[place]
            if evidence.times[place] > time and isinstance(record, NewElection):
                return record.append_position >= position
        return any(
            isinstance(one.message, AppendPosition | CanvassPosition)
            and one.message.log_position >= position
            and one.time <= time + UNDER_WAY_NS
            for (sender, _), queue in self.plan.queues.items()
            if sender == member_id
            for one in queue
            if not one.is_supposed
        )

    def _may_have_recorded(self, member_id: int, position: int, time: int) -> bool:
        """Whether nothing shows how far a member had recorded after a time."""
        evidence = self.members[member_id]
        place = bisect_right(evidence.times, time)
        before = [one for one in evidence.segments if one.start < place]
        if before and before[-1].state in _RECORDING_NOTHING and position > before[-1].append:
            return False
        if evidence.elections and evidence.times[evidence.elections[-1]] > time:
            return False
        return not any(
            isinstance(one.message, AppendPosition | CanvassPosition) and one.time > time
            for (sender, _), queue in self.plan.queues.items()
            if sender == member_id
            for one in queue
            if not one.is_supposed
        )

    def _may_report(self, member_id: int, position: int, end: int) -> bool:
        """Whether a member's log may have ended at a position when it was killed: there it ends for
        the next life, unless it went on a little.
        """
        evidence = self.members[member_id]
        later = [place for place in evidence.elections if place >= end]
        record = evidence.records[later[0]] if later else None
        if not isinstance(record, NewElection) or position == record.append_position:
            return True
        before = [one for one in evidence.segments if one.start < end]
        if not before or before[-1].state != "CLOSED":
            return False
        return before[-1].append <= position < record.append_position


def _is_closing(record: object) -> bool:
    return isinstance(record, StateChange) and record.new_state == "CLOSED"

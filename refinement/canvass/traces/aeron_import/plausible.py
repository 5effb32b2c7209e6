"""Whether a message that nobody is seen to have sent can be true at all, by what others logged.

Nothing here supposes anything, or changes a plan.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from canvass.cluster.messages import (
    NULL_VALUE,
    AppendPosition,
    CanvassPosition,
    CommitPosition,
    NewLeadershipTerm,
    StopCatchup,
    TerminationAck,
    Vote,
)
from canvass.cluster.quorum import quorum_size
from canvass.traces.aeron_import.channels import Delivery
from canvass.traces.aeron_import.deliveries import Plan
from canvass.traces.aeron_import.evidence import (
    UNDER_WAY_NS,
    MemberEvidence,
    Segment,
    segment_at,
)
from canvass.traces.aeron_log.records import NewElection, StateChange

_LOST_NS: Final = 50_000_000
"""A message comes at most so long after the last line that was not lost: what a kill takes is of
some milliseconds.
"""

_RECORDING_NOTHING: Final = (
    "CANVASS", "NOMINATE", "CANDIDATE_BALLOT", "FOLLOWER_BALLOT", "LEADER_LOG_REPLICATION",
)  # fmt: skip
"""States in which a log is as long as it was when they were entered."""
_TERMINATING_NS: Final = 1_000_000_000
"""A member acknowledges that it is to end not longer than this before or after it says that it
does: services have to reach the position first.
"""


@dataclass(frozen=True, slots=True)
class Plausible:
    """Judges messages by the logs.

    Parameters
    ----------
    members, plan
        What was logged, and the plan.
    """

    members: Mapping[int, MemberEvidence]
    plan: Plan

    def segment(self, member_id: int, time: int, state: str) -> Segment | None:
        """The last stretch of a member's log before a time that is in an election state."""
        evidence = self.members[member_id]
        index = bisect_right(evidence.times, time)
        before = [one for one in evidence.segments if one.start < index and one.state == state]
        return before[-1] if before else None

    def is_plausible(
        self,
        having_logs: Collection[int],
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
                self.had_recorded(j, position, time)
                or (
                    (in_hole or time - last <= _LOST_NS)
                    and self._may_have_recorded(j, position, time)
                )
                for j in having_logs
                if j != delivery.sender
            )
            return having >= quorum_size(len(self.members)) - 1
        if isinstance(message, Vote):
            segment = self.segment(delivery.receiver, delivery.time, "CANDIDATE_BALLOT")
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

    def was_reported(self, delivery: Delivery, message: CommitPosition) -> bool:
        """Whether a quorum may have reported a commit position to its leader by when it was
        received: what they report from then on is not below it, and they do report.

        Notes
        -----
        A channel keeps its order, so that who has reported a position reports no less later.
        """
        reporting = sum(
            next(
                (
                    one.message.log_position >= message.log_position
                    for one in queue
                    if one.time > delivery.time
                    and isinstance(one.message, AppendPosition)
                    and one.message.leadership_term_id == message.leadership_term_id
                    and not one.is_supposed
                ),
                False,
            )
            for (_, leader), queue in self.plan.queues.items()
            if leader == delivery.sender
        )
        return reporting >= quorum_size(len(self.members)) - 1

    def has_led_on(self, delivery: Delivery) -> bool:
        """Whether a message is one with which the leader of a term answers, and the receiver has
        gone on to another state by it, as the change after it shows.
        """
        message, receiver = delivery.message, delivery.receiver
        own = segment_at(self.members[delivery.sender], delivery.time)
        evidence = self.members[receiver]
        place = bisect_left(evidence.segments, delivery.index, key=lambda one: one.start)
        if own is None or not 0 < place < len(evidence.segments):
            return False
        before, after = evidence.segments[place - 1 : place + 1]
        if not own.leads(delivery.sender):
            return False
        if isinstance(message, StopCatchup):
            went = ("FOLLOWER_CATCHUP", "FOLLOWER_LOG_INIT")
            return own.term == message.leadership_term_id and (before.state, after.state) == went
        return (
            isinstance(message, NewLeadershipTerm)
            and own.term == message.leadership_term_id
            and before.end == delivery.index
            and before.log_term == message.log_leadership_term_id
            and after.leader == delivery.sender
        )

    def has_ended(self, delivery: Delivery) -> bool:
        """Whether a message is the acknowledgement of a member that terminates at that time, by the
        changes of its module's state.
        """
        evidence = self.members[delivery.sender]
        return isinstance(delivery.message, TerminationAck) and any(
            isinstance(record, StateChange)
            and "TERMINATING" in (record.old_state, record.new_state)
            and abs(evidence.times[index] - delivery.time) <= _TERMINATING_NS
            for index, record in evidence.others
        )

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

    def had_recorded(self, member_id: int, position: int, time: int) -> bool:
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

"""The search for what the logs leave open: drives one member through its log and, where a message
that somebody received cannot be sent as planned, tries to send it, or what goes before it, earlier.

The plan has the latest place for each message; so the nearest explanation is tried first, and then
one earlier place after the other. A try goes back to the last point that was kept before the place
and on from there to where the difficulty was; it holds if that is passed. The work is bounded by
the length of the log. What is left unexplained is settled as such, and reported.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from canvass.cluster.member import ElectionState, Member, Role
from canvass.cluster.messages import AppendPosition, CommitPosition, NewLeadershipTerm
from canvass.traces.aeron_import.channels import Delivery
from canvass.traces.aeron_import.deliveries import put_back, replan
from canvass.traces.aeron_import.evidence import UNDER_WAY_NS
from canvass.traces.aeron_import.places import LEADING, UNPLANNED, reply_keys
from canvass.traces.aeron_import.proposal import Proposal
from canvass.traces.aeron_import.sending import position_of
from canvass.traces.aeron_import.step import Contradiction, Mark, Unsendable
from canvass.traces.aeron_log.records import NewElection

EVERY: Final = 32
"""Records from one point that can be gone back to to the next."""
KEPT: Final = 256
"""Such points: choices that lie farther back are not looked at again."""
TRIES: Final = 48
"""Places that are tried for one message."""
DEPTH: Final = 3
"""Messages that are moved to make room for one."""
_STATES: Final = EVERY * KEPT * 4
"""Steps that are looked at to see what could be sent when."""
WORK_PER_RECORD: Final = 5
"""Records that may be gone over again, for each record of the log."""
WORK_AT_LEAST: Final = 8_000
EFFORT: Final = 1
"""The factor of all these bounds but the depth, if nobody asks for another."""


@dataclass(slots=True)
class Search:
    """One member's way through its log.

    Parameters
    ----------
    proposal
        What is proposed so far.
    meet
        Looks at the record with an index: sends what is to be sent before it, and meets it.
    index
        Of the record that is next.
    effort
        The factor of the bounds.
    work
        Records that may still be gone over again.
    is_bound_met
        Whether a record is left unexplained for which not every commit was tried.
    settled
        Records for which nothing else is to be tried.
    """

    proposal: Proposal
    meet: Callable[[Proposal, int], None]
    index: int
    effort: int = EFFORT
    marks: deque[tuple[int, Mark]] = field(default_factory=deque)
    work: int = 0
    is_bound_met: bool = False
    settled: set[int] = field(default_factory=set)
    _cut_short: bool = False
    _first: int = 0

    def __post_init__(self) -> None:
        records = len(self.proposal.evidence.records)
        self._first = self.index
        self.marks = deque(maxlen=KEPT * self.effort)
        self.work = max(WORK_AT_LEAST, WORK_PER_RECORD * records) * self.effort

    def run(self) -> None:
        """Go through the whole log.

        Raises
        ------
        Contradiction
            At a record that nothing explains.
        """
        end = len(self.proposal.evidence.records) + 1
        while self.index < end:
            try:
                self._advance(end)
            except Unsendable as found:
                message = found.delivery.message
                self._cut_short = False
                hint = isinstance(message, NewLeadershipTerm) and found.delivery.reply
                if self._repair(found.delivery):
                    continue
                if hint and self._repair_commit(position_of(message)):
                    continue
                self._go_back(self.index)
                found.delivery.lost = True
                found.delivery.untried = self._cut_short
            except Contradiction as found:
                record = self.proposal.evidence.records[found.index]
                if not isinstance(record, NewElection) or found.index in self.settled:
                    raise
                if not self.proposal.is_closed(Role.LEADER):
                    raise
                self._cut_short = False
                if not self._repair_commit(record.log_position):
                    self.settled.add(found.index)
                    self.is_bound_met |= self._cut_short

    def _advance(self, end: int) -> None:
        proposal, meet = self.proposal, self.meet
        index = self.index
        marks = self.marks
        while index < end:
            if not marks or (not index % EVERY and marks[-1][0] < index):
                marks.append((index, proposal.mark()))
            self.index = index
            meet(proposal, index)
            index += 1
        self.index = index

    def _go_back(self, index: int) -> bool:
        """Go back to a point at or before an index; say whether one was kept."""
        marks = self.marks
        if marks[0][0] > index:
            return False
        while marks[-1][0] > index:
            marks.pop()
        self.work -= max(self.index - marks[-1][0], 0)
        self.index = marks[-1][0]
        self.proposal.restore(marks[-1][1])
        return True

    def _repair(self, delivery: Delivery, moving: tuple[Delivery, ...] = ()) -> bool:
        """Find another place for a message, so that where it failed is passed."""
        depth = len(moving)
        if delivery in moving:
            return False
        if depth > DEPTH:
            self._cut_short = True
            return False
        if delivery.lost or (delivery.planned == UNPLANNED and not delivery.reply):
            return False
        failed = self.index
        proposal = self.proposal
        channel = proposal.queues[delivery.receiver]
        tries = 0
        tried = {delivery.planned}
        for limit in self._limits(delivery):
            tries += 1
            if tries > TRIES * self.effort >> 2 * depth or self.work <= 0:
                self._cut_short = True
                break
            changed = replan(proposal.plan, proposal.evidence, channel, delivery, limit)
            if changed is None:
                break
            if delivery.planned in tried:
                put_back(changed)
                continue
            tried.add(delivery.planned)
            if not self._go_back(min(_earlier(one.planned, was) for one, was, _ in changed)):
                put_back(changed)
                self._cut_short = True
                break
            if self._passes(max(failed, delivery.planned + 1), (*moving, delivery)):
                return True
            put_back(changed)
        self._rewind_to(failed)
        return False

    def _rewind_to(self, index: int) -> None:
        self._go_back(min(self.index, index))

    def _passes(self, failed: int, moving: tuple[Delivery, ...]) -> bool:
        try:
            self._advance(min(failed + 1, len(self.proposal.evidence.records) + 1))
        except Contradiction:
            return False
        except Unsendable as found:
            return self._repair(found.delivery, moving)
        return True

    def _repair_commit(self, position: int) -> bool:
        """Let a leader have committed up to a position while its members' reports made that so."""
        proposal, failed = self.proposal, self.index
        if proposal.state.commit_position >= position:
            return False
        for tries, limit in enumerate(list(self._commit_places(position))):
            if tries >= TRIES * self.effort or self.work <= 0 or not self._go_back(limit):
                self._cut_short = True
                break
            proposal.forced[limit] = position
            if self._passes(failed, ()):
                return True
            del proposal.forced[limit]
        self._rewind_to(failed)
        return False

    def _commit_places(self, position: int) -> Iterator[int]:
        """Records before which a leader could commit up to a position, the nearest first."""
        proposal = self.proposal
        before = self.index
        for step in reversed(proposal.steps[-_STATES * self.effort :]):
            s = step.state
            if step.index < self.marks[0][0] or s.role is not Role.LEADER:
                return
            if step.index < before:
                if proposal.can_reach(s, s.recorded_position, position):
                    yield before
                before = step.index

    def _limits(self, delivery: Delivery) -> Iterator[int]:
        """Records before which a message might be sent, the nearest first."""
        steps = self.proposal.steps[-_STATES * self.effort :]
        earliest = self.marks[0][0]
        if self._was_forgotten(earliest, delivery.time - UNDER_WAY_NS):
            self._cut_short = True
        latest = min(delivery.planned, self.index)
        if delivery.reply:
            limit = bisect_right(self.proposal.evidence.times, delivery.time)
            while limit > earliest:
                yield limit
                limit = min(self._receipt_before(delivery, limit), limit - 1)
            return
        before = latest
        for place in range(len(steps) - 1, -1, -1):
            step = steps[place]
            if step.index < earliest:
                return
            if step.index < before:
                # The state after this step lasts up to the record `before`.
                if before < latest and _can_send(step.state, delivery, self.proposal):
                    yield before
                before = step.index

    def _was_forgotten(self, index: int, since: int) -> bool:
        """Whether there are records before ``index`` that are of that time or later."""
        return index > self._first and self.proposal.time_at(index) > since

    def _receipt_before(self, delivery: Delivery, limit: int) -> int:
        """The latest receipt before a record that a message may answer."""
        places = self.proposal.plan.places[self.proposal.member_id]
        found = (
            places.latest_record(key, limit)
            for key in reply_keys(delivery.message, delivery.receiver)
        )
        return max(found, default=UNPLANNED)


def _earlier(planned: int, was: int) -> int:
    return planned if was == UNPLANNED else min(planned, was)


def _can_send(s: Member, delivery: Delivery, proposal: Proposal) -> bool:
    """Whether a message may be sent in a state, by what does not depend on hidden steps alone."""
    message = delivery.message
    if isinstance(message, CommitPosition | NewLeadershipTerm):
        closed = s.election_state is ElectionState.CLOSED
        if s.role is not Role.LEADER or not (closed or s.election_state.value in LEADING):
            return False
        return proposal.can_reach(s, s.recorded_position, position_of(message))
    if isinstance(message, AppendPosition):
        return s.recorded_position <= message.log_position
    return True

"""The steps proposed for one member: the state that they lead to, their sends, and the log lines
that each accounts for.

Each step is what the core says, but for one: the last step of a proposal that failed, which shows
what was observed and cannot be.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from operator import attrgetter
from types import MappingProxyType
from typing import Final

from canvass.cluster.core import step as core_step
from canvass.cluster.effects import Send
from canvass.cluster.member import NO_INPUT, ElectionState, Input, Member, ModuleState, Role
from canvass.cluster.messages import CanvassPosition, Message, NewLeadershipTerm, StopCatchup
from canvass.cluster.outcome import Outcome
from canvass.cluster.quorum import quorum_position, quorum_size
from canvass.cluster.rules import Rules
from canvass.traces.aeron_import.channels import Channel, Delivery
from canvass.traces.aeron_import.deliveries import Plan
from canvass.traces.aeron_import.evidence import STARTED, MemberEvidence
from canvass.traces.aeron_import.places import UNPLANNED
from canvass.traces.aeron_import.step import Change, Mark, Step, Unsendable
from canvass.traces.aeron_log.records import CatchupPosition, ElectionStateChange, Line, NewElection

NEAR_NS: Final = 50_000_000
"""A repeated message is taken for the one received if it came within this time: below the shortest
interval of repetition, 100 ms.
"""

NEVER: Final = 1 << 62
"""A time after all others."""

NOTHING: Final[Mapping[int, int]] = MappingProxyType({})

# To look an enum's member up by its class takes longer than what is done with it here.
_ACTIVE: Final = ModuleState.ACTIVE
_CLOSED: Final = ElectionState.CLOSED

MAX_LINES: Final = 4000
"""Lines that one step accounts for at most."""


_KEPT_NAMES: Final = (
    "state", "found", "time", "index", "numbers", "received", "gap", "module", "snapshot_position",
    "unknown_past", "late", "cut_off", "life_time", "lost_lines_at",
)  # fmt: skip
_KEPT: Final = attrgetter(*_KEPT_NAMES)
"""What a mark keeps as it is."""


def _commit_caps(queues: Iterable[Iterable[Delivery]]) -> list[tuple[int, int]]:
    """For each answer of a closed leader its place, and the least commit position that it or a
    later one shows.
    """
    answers = [
        (delivery.due, delivery.message.commit_position)
        for queue in queues
        for delivery in queue
        if delivery.reply
        and isinstance(delivery.message, NewLeadershipTerm)
        and delivery.message.log_position > delivery.message.term_base_log_position
    ]
    caps = []
    least: int | None = None
    for due, position in sorted(answers, reverse=True):
        least = position if least is None else min(least, position)
        caps.append((due, least))
    return caps[::-1]


class Proposal:
    """The steps of one member as far as they are proposed.

    Parameters
    ----------
    rules, plan, evidence
        The rules of the run, its plan, and what the member logged.
    """

    def __init__(self, rules: Rules, plan: Plan, evidence: MemberEvidence, start: Member) -> None:
        self.rules = rules
        self.plan = plan
        self.evidence = evidence
        self.member_id = evidence.member_id
        self.state = self.found = start
        self.steps: list[Step] = []
        self.time = evidence.times[0] if evidence.times else 0
        self.index = 0
        self.waiting: list[int] = []
        self.changes: deque[Change] = deque()
        self.unsent: list[Delivery] = []
        self.numbers = 1
        self.received = 0
        self.gap = False
        self.others = [j for j in range(rules.member_count) if j != self.member_id]
        self.everyone = frozenset(range(rules.member_count))
        self.queues: dict[int, Channel] = {
            j: Channel(plan.queues.get((self.member_id, j), [])) for j in self.others
        }
        self.module = "ACTIVE"
        self.snapshot_position = -1
        self.unknown_past = False
        self.late = False
        self.lost_lines = 0
        self.lost_lines_at: tuple[tuple[int, str], ...] = ()
        self.excuses = False
        self.cut_off = False
        self.life_time = self.time
        for queue in self.queues.values():
            queue.reset()
        self.forced: dict[int, int] = {}
        self.missing_before: Collection[int] = ()
        self.commit_caps = _commit_caps(self.queues.values())
        self.published_place: dict[int, int] = {}
        self.stops = {
            j: [one for one in queue.items if isinstance(one.message, StopCatchup)]
            for j, queue in self.queues.items()
        }

    # What is.

    @property
    def election_state(self) -> str:
        """Name of the election state."""
        return self.state.election_state._value_

    def is_closed(self, role: Role) -> bool:
        """Whether the member serves in a role."""
        s = self.state
        return s.role is role and s.election_state is _CLOSED and s.module_state is _ACTIVE

    @property
    def lacks_tries(self) -> bool:
        """Whether a message is not sent for which not every place was tried."""
        return any(delivery.untried for delivery in self.unsent)

    def head(self, receiver: int) -> Delivery | None:
        """The next message that a member has received from this one."""
        return self.queues[receiver].head

    def record(self, index: int) -> Line | None:
        """The record at an index, if there is one."""
        found = self.evidence.records
        return found[index] if index < len(found) else None

    def segment_end(self) -> int:
        """Index of the first record of the step that ends the present election state."""
        segments = self.evidence.segments
        place = bisect_right(segments, self.index, key=lambda segment: segment.start) - 1
        return segments[place].end if place >= 0 else 0

    def may_change(self) -> bool:
        """Whether the present election state ends with the record that is looked at."""
        segments = self.evidence.segments
        place = bisect_left(segments, self.index, key=lambda segment: segment.start) - 1
        return place < 0 or segments[place].end <= self.index

    def next_change(self, index: int) -> ElectionStateChange | None:
        """The next logged change of the election state in this life, from ``index`` on."""
        segments = self.evidence.segments
        place = bisect_left(segments, index, key=lambda segment: segment.start)
        record = self.record(segments[place].start) if place < len(segments) else None
        return record if isinstance(record, ElectionStateChange) else None

    def next_election(self, index: int, *, started: bool = False) -> NewElection | None:
        """The next election from ``index`` on, or the next that a process began with."""
        elections = self.evidence.elections
        for place in range(bisect_left(elections, index), len(elections)):
            record = self.evidence.records[elections[place]]
            if isinstance(record, NewElection) and (not started or record.reason == STARTED):
                return record
        return None

    def asks_again(self, follower: int, before: int) -> bool:
        """Whether a follower asks for a catch-up between here and a record."""
        records = self.evidence.records
        return any(
            isinstance(records[index], CatchupPosition)
            and records[index].follower_member_id == follower  # type: ignore[attr-defined]
            for index in range(self.index + 1, before)
        )

    def commit_cap(self) -> int | None:
        """The commit position that is not to be passed yet, as an answer to come shows it."""
        if not self.commit_caps:
            return None
        place = bisect_left(self.commit_caps, (self.index, -1))
        return self.commit_caps[place][1] if place < len(self.commit_caps) else None

    @property
    def last_time(self) -> int:
        """Time of the last step."""
        return self.steps[-1].time if self.steps else self.time

    def time_at(self, index: int) -> int:
        """Time of the record at an index; after the last one everything is still to come."""
        times = self.evidence.times
        return times[index] if index < len(times) else NEVER

    def can_reach(self, s: Member, own: int, position: int) -> bool:
        """Whether a leader may find that a quorum has reached a position, once it has itself."""
        size = quorum_size(self.rules.member_count)
        others = [s.members[j].log_position for j in self.others]
        if position <= 0 or size == 1:
            return True
        reached = sum(other >= position for other in others)
        return reached >= size - 1 and (own <= position or position in others)

    def quorum_position(self, own: int, noted: Mapping[int, int] = NOTHING) -> int:
        """What a quorum has reached, as far as this member knows, if all count as active. What is
        ``noted`` goes before what is known.
        """
        others = [noted.get(j, self.state.members[j].log_position) for j in self.others]
        return quorum_position([own, *others], self.rules.member_count)

    def finds_as_it_is(self, position: int) -> bool:
        """Whether a closed leader finds that a quorum has reached exactly ``position`` with what it
        noted of itself in its last duty cycle, if all count as active.
        """
        s = self.state
        reached = self.quorum_position(s.members[self.member_id].log_position)
        return min(reached, s.recorded_position) == position

    def active_for(
        self,
        own: int,
        position: int,
        noted: Mapping[int, int] = NOTHING,
        *,
        renewed: Collection[int],
    ) -> frozenset[int] | None:
        """Members that have to count as active for the bounded quorum position to be ``position``.

        All members if they will do, else the largest set that will, None if no set does. What is
        ``noted`` goes before what is known. The records that the step itself has ``renewed`` count;
        any other may be too old, that of the leader as well.
        """
        count, i = self.rules.member_count, self.member_id
        reported = {j: noted.get(j, self.state.members[j].log_position) for j in self.others}
        reported[i] = own
        for silent in range(count + 1):
            for left_out in combinations((*self.others, i), silent):
                if any(j in renewed for j in left_out):
                    continue
                heard = [reported[j] for j in reported if j not in left_out]
                reached = quorum_position([*heard, *[0] * silent], count)
                if min(max(reached, 0), own) == position:
                    return self.everyone - frozenset(left_out)
        return None

    # Going back.

    def mark(self) -> Mark:
        """Remember how things are."""
        touched = [*self.steps[-2:], *(change.step for change in self.changes)]
        return Mark(
            _KEPT(self),
            len(self.steps),
            len(self.unsent),
            list(self.waiting),
            list(self.changes),
            [(step, len(step.lines), len(step.observed)) for step in touched],
            [(queue, queue.at) for queue in self.queues.values()],
            dict(self.published_place),
        )

    def restore(self, mark: Mark) -> None:
        """Let things be as they were at a mark."""
        for name, value in zip(_KEPT_NAMES, mark.values, strict=True):
            setattr(self, name, value)
        del self.steps[mark.step_count :]
        del self.unsent[mark.unsent_count :]
        self.waiting = list(mark.waiting)
        self.changes = deque(mark.changes)
        for step, lines, observed in mark.lines:
            del step.lines[lines:]
            del step.observed[observed:]
        for queue, at in mark.channels:
            queue.rewind(at)
        self.published_place = dict(mark.published_place)

    # What is done.

    def attempt(self, action: str, given: Input = NO_INPUT) -> Outcome | None:
        """What the core says of a step now."""
        return core_step(self.rules, self.member_id, self.state, action, given)

    def take(
        self,
        action: str,
        given: Input = NO_INPUT,
        *,
        outcome: Outcome | None = None,
        delivery: Delivery | None = None,
    ) -> Step | None:
        """Take a step, if it is enabled, and let its sends meet what was received."""
        outcome = outcome or core_step(self.rules, self.member_id, self.state, action, given)
        if outcome is None:
            return None
        after, effects = outcome.next, outcome.effects
        old, new = self.state.election_state, after.election_state
        sends: tuple[tuple[int, Message], ...] = ()
        if effects:
            sends = tuple([(one.to, one.message) for one in effects if type(one) is Send])
        step = Step(action, given, after, self.time, delivery, sends, self.numbers)
        step.index = self.index
        if self.gap:
            step.gap, self.gap = True, False
        if sends:
            for place, (to, message) in enumerate(sends, self.numbers):
                self._meet(to, message, place)
            self.numbers += len(sends)
        self.state = after
        self.steps.append(step)
        if self.waiting:
            self._account(step)
        if action in ("EnterElection", "Restart"):
            self.changes.append(Change("CLOSED", new.value, step))
        elif old is not new and after.module_state is _ACTIVE:
            self.changes.append(Change(old.value, new.value, step))
        return step

    def _account(self, step: Step) -> None:
        found = self.evidence.records
        if len(self.waiting) == 1:
            step.lines, self.waiting = self.waiting, []
            return
        file = found[self.waiting[-1]].file
        mine = [index for index in self.waiting if found[index].file == file]
        rest = [index for index in self.waiting if found[index].file != file]
        step.lines += mine
        self.waiting = []
        for index in rest:
            self.attach(index, self.steps[-2] if len(self.steps) > 1 else step)

    def _meet(self, to: int, message: Message, number: int) -> None:
        queue = self.queues[to]
        head = queue.head
        if head is not None and head.message == message and self.may_meet(head):
            head.number = number
            self.received += 1
            queue.popleft()

    def may_meet(self, head: Delivery) -> bool:
        """Whether a message sent now may be the one that was received."""
        if self.time < head.not_before - self.plan.slack_ns:
            return False
        if head.time < self.time:
            return head.due != UNPLANNED and head.due <= self.index
        if head.reply:
            return head.due == self.index
        if head.due == UNPLANNED:
            return False
        if head.due <= self.index or not isinstance(head.message, CanvassPosition):
            return True
        return head.time - self.time <= NEAR_NS

    def pass_over(self, delivery: Delivery) -> None:
        """Note that the head of a channel is not sent; if that is not settled yet, say so."""
        if not delivery.lost:
            raise Unsendable(delivery)
        self.unsent.append(self.queues[delivery.receiver].popleft())

    def attach(self, index: int, step: Step, observed: Sequence[str] = ()) -> None:
        """Let a step account for a record."""
        found = self.evidence.records
        if len(step.lines) >= MAX_LINES or (
            step.lines and found[step.lines[0]].file != found[index].file
        ):
            self.waiting.append(index)
            return
        step.lines.append(index)
        step.observed += [name for name in observed if name not in step.observed]

    def accounted(self, step: Step | None, index: int, observed: Sequence[str] = ()) -> bool:
        """Let a step, if there is one, account for a record; say whether there is one."""
        if step is not None:
            self.attach(index, step, observed)
        return step is not None

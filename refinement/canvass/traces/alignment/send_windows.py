"""Send windows: the places in a member's trajectory at which it can have sent a given message.

If positions of the member are open, they take the numbers of the message, as far as their bounds
allow. The core then decides whether the member sends this message.

A place in a trajectory is a step and a slot of the step. Each message that the step itself sends to
a receiver has a slot, in the core's order. The last slot is the state after the step: in it the
member can send any number of messages.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import combinations
from operator import attrgetter
from typing import Final

from msgspec.structs import astuple, replace

from canvass.cluster.effects import Outcome
from canvass.cluster.member import (
    NO_INPUT,
    NULL_RECORD,
    ElectionState,
    Input,
    Member,
    ModuleState,
    Role,
)
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
from canvass.cluster.replication import leader_quorum_position
from canvass.cluster.transitions import with_record
from canvass.traces.alignment.member_lines import FOREVER
from canvass.traces.alignment.possible_steps import (
    ASSUME_COMMIT,
    PROCESS_END,
    TICKS,
    Move,
    Moves,
    receive,
)
from canvass.traces.alignment.replay import (
    UNBOUNDED,
    PathStep,
    PositionBounds,
    Trajectory,
    leads_closed,
    reporters_to,
    upper_bounds,
)

SLOTS: Final = 4
"""The slots of a step: at most three for messages to one receiver, and one for the state after it.
"""
AFTER: Final = SLOTS - 1
"""The slot of the state after a step."""

_ANSWERS: Final[dict[type[Message], tuple[type[Message], ...]]] = {
    CanvassPosition: (NewLeadershipTerm,),
    RequestVote: (Vote, NewLeadershipTerm),
    AppendPosition: (StopCatchup,),
}
"""For each kind of message, the kinds of its answers whose contents depend on open positions."""
_OPEN: Final[dict[type[Message], tuple[str, ...]]] = {
    AppendPosition: ("recorded_position",),
    CommitPosition: ("recorded_position", "commit_position"),
    NewLeadershipTerm: ("publication_position", "commit_position"),
    TerminationPosition: ("publication_position",),
}
"""For each kind of message, the open positions of a closed sender on which it depends."""
_CLOSED: Final = ElectionState.CLOSED
_EVERYTHING: Final = replace(NULL_RECORD, log_position=UNBOUNDED)
_ELECTION_ONLY: Final = frozenset(
    {CanvassPosition, CatchupPosition, NewLeadershipTerm, RequestVote, StopCatchup, Vote}
)
"""The kinds of messages that a closed member sends only as answers."""
_TICKING: Final = frozenset({*TICKS.values(), "InitiateTermination"})


_PHASE: Final = attrgetter(
    "election_state",
    "role",
    "module_state",
    "leadership_term_id",
    "module_leadership_term_id",
    "log_leadership_term_id",
    "candidate_term_id",
    "replay_stop_position",
)
"""The phase of a member: its states and role, its terms, and the end of its replay."""


def positions_in(m: Message) -> list[int]:
    """The positions that a message contains."""
    names = ("log_position", "commit_position")
    return list(dict.fromkeys(getattr(m, name) for name in names if hasattr(m, name)))


def sends_message(outcome: Outcome | None, to: int, m: Message) -> int:
    """The slot in which a step sends a message, or -1."""
    if outcome is None or not outcome.effects:
        return -1
    own = [send.message for send in outcome.sends if send.to == to]
    return min(own.index(m), AFTER - 1) if m in own else -1


def keeps_phase(s: Member, action: str, outcome: Outcome) -> bool:
    """Whether a step keeps the phase of a member.

    `Terminate` counts as such a step, because it sends its message before it ends the process.
    """
    return action == "Terminate" or _PHASE(outcome.next) == _PHASE(s)


def _may_send(step: PathStep) -> bool:
    """Whether a step itself sends a message, or would send one with other numbers."""
    received = step.given.message
    if step.outcome.effects:
        return True
    return step.action in _TICKING if received is None else type(received) in _ANSWERS


def next_line_times(trajectory: Trajectory) -> list[int]:
    """For each step, the wall time of its line, or of the next line if it has none."""
    due, at = [], FOREVER
    for step in reversed(trajectory.steps):
        at = trajectory.lines.times[step.lines.start] if step.lines else at
        due.append(at)
    return due[::-1]


class Windows:
    """The send windows of one member.

    Parameters
    ----------
    trajectory, moves
        The steps of the member, and its moves.
    more_silent
        Further messages that count as silent, besides the messages that the log does not print.
    trusts_lines
        Whether the lines of the other members limit the positions that their silent reports can
        have.
    """

    def __init__(
        self,
        trajectory: Trajectory,
        moves: Moves,
        *,
        more_silent: frozenset[str] = frozenset(),
        trusts_lines: bool = True,
    ) -> None:
        self.trajectory, self.moves, self.trusts_lines = trajectory, moves, trusts_lines
        self.steps = trajectory.steps
        self.bounds, self.next_line_ns = upper_bounds(trajectory), next_line_times(trajectory)
        own = frozenset({moves.member_id})
        others = sorted(moves.all - own)
        sizes = range(len(others), -1, -1)
        chosen = [frozenset(c) for size in sizes for c in combinations(others, size)]
        # In its first duty cycle after a pause, a leader does not count itself as active.
        # A leader of 1.49 counts all members, active or not.
        self.active_sets = (
            [moves.all] if moves.rules.is_149 else [own | one for one in chosen] + chosen
        )
        self._vocabulary = trajectory.lines.vocabulary
        self.silent_messages = self._vocabulary.silent_messages | more_silent
        self._may_send = [_may_send(step) for step in self.steps]
        self._ends = [t for t, step in enumerate(self.steps) if step.action == PROCESS_END]
        # The cache belongs to `Moves`: many trajectories of a member have the same states.
        self._sent = moves.sent[self.silent_messages, trusts_lines]
        self._numbers = [moves.number_of(step.state) for step in self.steps]
        self._greatest: dict[int, int] = {}
        self._likely: dict[frozenset[int], list[frozenset[int]]] = {}

    def likely(self, s: Member) -> list[frozenset[int]]:
        """The possible sets of active members; first the one nearest to the members heard from."""
        heard = reporters_to(self.moves.member_id, s)
        known = self._likely.get(heard)
        if known is None:
            known = sorted(self.active_sets, key=lambda one: len(one ^ heard))
            self._likely[heard] = known
        return known

    def slot(self, t: int, to: int, m: Message) -> int:
        """The slot in which step ``t`` itself can have sent a message, or -1."""
        if not self._may_send[t]:
            return -1
        step = self.trajectory.steps[t]
        if step.resynchronised or step.action == PROCESS_END:
            return -1
        slot = sends_message(step.outcome, to, m)
        before = self.trajectory.state_before(t)
        # A StopCatchup depends on how far the leader has written, which is open.
        is_open = type(m) is StopCatchup and before.role is Role.LEADER
        if step.action == ASSUME_COMMIT or (slot >= 0 and not is_open):
            return slot
        received = step.given.message
        if received is not None:
            # The append position of a member that copies a log is open, too.
            opens = before.role is Role.LEADER or (before.log_replication and type(m) is Vote)
            if type(m) not in _ANSWERS.get(type(received), ()) or not opens:
                return -1
        elif step.action not in _TICKING:
            return -1
        start, after = self._numbers[t - 1] if t else -1, step.state.election_state
        key = step.action, step.given, start, after, m, self._known(t)
        found = self._sent.get(key)
        if found is None:
            found = self._sent[key] = self._sent_at(t, before, m)
        return found.get((to, m), -1)

    def sends_after(self, t: int, to: int, m: Message) -> bool:
        """Whether a message can be sent in the state after step ``t``."""
        step = self.trajectory.steps[t]
        if step.action == PROCESS_END:
            return False
        s = step.outcome.next
        if s.election_state is _CLOSED:
            if type(m) is CommitPosition:
                leads = leads_closed(s, m.leadership_term_id)
                return leads and self._commits(t, s, m.log_position)
            if not self.silent_messages and type(m) in _ELECTION_ONLY:
                return False
        following = self.steps[t + 1 : t + 2] if isinstance(m, TerminationAck) else ()
        if any(step.action != PROCESS_END for step in following):
            return False  # A terminated process takes no more steps.
        # What a leader in an election sends depends on no bounds, except a StopCatchup.
        leads_election = s.role is Role.LEADER and s.election_state is not _CLOSED
        known = () if leads_election and type(m) is not StopCatchup else self._known(t)
        # A leader's answer to a silent message depends on the canvass positions of the receiver.
        receiver = to if self.silent_messages and s.role is Role.LEADER else -1
        key = self._numbers[t], m, receiver, known
        found = self._sent.get(key)
        if found is None:
            found = self._sent[key] = self._sent_after(t, to, m)
        return (to, m) in found

    def _known(self, t: int) -> tuple[int, ...]:
        """The bounds after a step, as part of a cache key."""
        known: tuple[int, ...] = astuple(self.bounds[t])
        return known

    def process_at(self, t: int) -> int:
        """The number of the process that takes step ``t``, counted from 0."""
        return bisect_left(self._ends, t)

    def steps_of_process(self, number: int) -> range:
        """The steps of a process."""
        ends = [-1, *self._ends, len(self.steps)]
        return range(ends[number] + 1, ends[number + 1])

    def first(self, place: int, to: int, m: Message, stop: int | None = None) -> int | None:
        """The first place at or after ``place`` where a message can have been sent.

        Only steps before ``stop`` are tried, if it is given.
        """
        may_send = self._may_send
        for t in range(place // SLOTS, len(may_send) if stop is None else stop):
            if may_send[t] and place < SLOTS * t + AFTER:
                slot = self.slot(t, to, m)
                if slot >= 0 and SLOTS * t + slot >= place:
                    return SLOTS * t + slot
            if self.sends_after(t, to, m):
                return SLOTS * t + AFTER
        return None

    def last(self, place: int, to: int, m: Message) -> int | None:
        """The last place at or before ``place`` where a message can have been sent."""
        may_send = self._may_send
        for t in range(min(place // SLOTS, len(may_send) - 1), -1, -1):
            if SLOTS * t + AFTER <= place and self.sends_after(t, to, m):
                return SLOTS * t + AFTER
            if may_send[t]:
                slot = self.slot(t, to, m)
                if slot >= 0 and SLOTS * t + slot <= place:
                    return SLOTS * t + slot
        return None

    def _sent_at(self, t: int, before: Member, m: Message) -> dict[tuple[int, Message], int]:
        """The messages that a step can have sent if open positions have the numbers of ``m``.

        The keys are receiver and message, the values are the slots.
        """
        step = self.trajectory.steps[t]
        found: dict[tuple[int, Message], int] = {}
        for given in self.inputs(step.given, before):
            for s in self.with_numbers(before, self.bounds[t], m):
                outcome = self.moves.take(s, step.action, given)
                if outcome is None or not outcome.effects:
                    continue
                if outcome.next.election_state is step.state.election_state:
                    for send in outcome.sends:
                        slot = sends_message(outcome, send.to, send.message)
                        found.setdefault((send.to, send.message), slot)
        return found

    def inputs(self, given: Input, before: Member) -> Iterator[Input]:
        """The variants of an input: other members are active, or intervals are due."""
        if given.message is not None:
            yield given
            if before.election_state is not _CLOSED:
                for active in self.active_sets[1:]:
                    yield replace(given, active=active)
            return
        due = replace(given, interval=True, commit_interval=True)
        for active in self.active_sets if before.role is Role.LEADER else [due.active]:
            yield replace(due, active=active)

    def _sent_after(self, t: int, to: int, m: Message) -> dict[tuple[int, Message], int]:
        """The messages that can be sent after a step if open positions have the numbers of ``m``.

        The keys are receiver and message, the values are the slots.
        """
        found: dict[tuple[int, Message], int] = {}
        for s in self.with_numbers(self.steps[t].state, self.bounds[t], m):
            for action, given in self.sending(s, type(m)):
                outcome = self.moves.take(s, action, given)
                if outcome is not None and outcome.effects and keeps_phase(s, action, outcome):
                    found.update(((send.to, send.message), AFTER) for send in outcome.sends)
            for action, given in self.inferred_receipts(s, to, m, self.silent_messages):
                answered = self.moves.take(s, action, given)
                if answered is not None:
                    found.update(((send.to, send.message), AFTER) for send in answered.sends)
        return found

    def inferred_receipts(
        self, s: Member, to: int, m: Message, silent_messages: frozenset[str]
    ) -> Iterator[Move]:
        """The inferred receipts that ``m``, a message to member ``to``, may answer.

        A leader answers canvass positions. A member that leads or is in an election answers reports
        of a catch-up.
        """
        leads = s.role is Role.LEADER
        if leads and isinstance(m, NewLeadershipTerm) and "CanvassPosition" in silent_messages:
            sent = dict.fromkeys(one for *_, one in self.moves.facts.canvasses.get(to, ()))
            closed = s.election_state is _CLOSED
            for asked in sent:
                if asked.log_leadership_term_id == m.log_leadership_term_id:
                    for active in (self.moves.all,) if closed else self.active_sets:
                        yield receive(asked, active)
        elif isinstance(m, StopCatchup) and "AppendPosition" in silent_messages:
            j = m.follower_member_id
            yield receive(AppendPosition(m.leadership_term_id, UNBOUNDED, j, CATCHUP_FLAG))

    def _commits(self, t: int, s: Member, position: int) -> bool:
        """Whether a closed leader can have sent a commit position after step ``t``."""
        bounds = self.bounds[t]
        limit = max(s.commit_position, bounds.commit_position)
        if "AppendPosition" in self.silent_messages:
            return position <= limit
        is_active = s.module_state is ModuleState.ACTIVE
        if not is_active or position > min(limit, bounds.recorded_position):
            return False
        greatest = self._greatest.get(t)
        if greatest is None:
            greatest = self._greatest[t] = self.greatest_quorum_position(s)
        if position >= greatest or position >= s.recorded_position:
            return position <= greatest
        return any(self._quorum_position(s, one) == position for one in self.active_sets[1:])

    def greatest_quorum_position(self, s: Member) -> int:
        """The greatest commit position that the others' reports allow a closed leader."""
        # The more members are active, the greater is the quorum position.
        return self._quorum_position(s, self.active_sets[0])

    def _quorum_position(self, s: Member, active: frozenset[int]) -> int:
        """The commit position of a closed leader if the members ``active`` are active.

        The leader itself is assumed to have recorded enough.
        """
        i, rules, term = self.moves.member_id, self.moves.rules, s.module_leadership_term_id
        # A leader counts itself with the position of its last duty cycle, which is open.
        noted = replace(s, members=with_record(s.members, i, _EVERYTHING))
        return leader_quorum_position(rules, i, noted, term, UNBOUNDED, active)

    def sending(self, s: Member, kind: type[Message]) -> Iterator[Move]:
        """The silent steps from a state that may send a message of a kind."""
        if s.module_state is not ModuleState.ACTIVE:
            return
        if s.election_state is not _CLOSED:
            yield from self._sending_in_election(s, kind)
        elif s.role is Role.LEADER:
            if kind is CommitPosition:
                for active in self.likely(s):
                    yield "UpdateLeaderPosition", Input(active=active, commit_interval=True)
            elif kind is TerminationPosition and not self._vocabulary.shows_requests:
                yield "InitiateTermination", NO_INPUT
        elif kind is AppendPosition:
            yield "UpdateFollowerPosition", NO_INPUT
        elif kind is TerminationAck:
            yield "Terminate", NO_INPUT

    def _sending_in_election(self, s: Member, kind: type[Message]) -> Iterator[Move]:
        action = TICKS[s.election_state]
        if s.role is Role.LEADER:
            if kind in (NewLeadershipTerm, CommitPosition):
                # In 1.49 the commit position can fall, so it is sent only if a receipt needs it.
                falls = self.moves.rules.is_149 and "CommitPosition" in self.silent_messages
                due = Input(interval=True, commit_interval=kind is CommitPosition or not falls)
                for active in self.likely(s):
                    yield action, replace(due, active=active)
        elif kind is RequestVote:
            for j in self.moves.all:
                yield action, Input(accepted=frozenset({j}))
        elif kind in (CanvassPosition, AppendPosition, CatchupPosition):
            yield action, Input(interval=True)
            if s.log_replication:
                # All is copied, but the archive has not reported yet that the copy has ended.
                yield action, Input(interval=True, position=s.recorded_position)

    def with_numbers(self, s: Member, bounds: PositionBounds, m: Message) -> list[Member]:
        """The variants of a state whose open positions are, within bounds, those of a message."""
        if isinstance(m, StopCatchup):
            if s.publication_position < bounds.written:
                s = replace(s, publication_position=bounds.written)
            j = m.follower_member_id
            serving = replace(s.members[j], catchup_replay=True)
            return [s, replace(s, members=with_record(s.members, j, serving))]
        if s.log_replication and isinstance(m, Vote):
            position = m.log_position
            limit = min(bounds.recorded_position, bounds.append_position)
            if s.append_position < position <= limit:
                recorded = max(s.recorded_position, position)
                return [s, replace(s, append_position=position, recorded_position=recorded)]
        found = [s]
        names = _OPEN.get(type(m), ())
        if s.election_state is not _CLOSED and s.role is Role.LEADER:
            i = self.moves.member_id
            own = replace(s.members[i], log_position=s.append_position)
            noted = replace(s, members=with_record(s.members, i, own))
            return [*found, noted, *self._with_reports(noted, m)]
        recorded = bounds.recorded_position
        if s.election_state is ElectionState.FOLLOWER_LOG_REPLICATION:
            recorded = min(recorded, bounds.append_position)
            if isinstance(m, AppendPosition) and s.recorded_position > recorded:
                return []
        given = positions_in(m)
        for name in names:
            low = getattr(s, name)
            high = recorded if name == "recorded_position" else getattr(bounds, name)
            values = [v for v in given if low < v <= high]
            if name == "recorded_position" and high > low and isinstance(m, CommitPosition):
                values.append(high)
            found += [replace(one, **{name: v}) for one in list(found) for v in values]
        if s.role is Role.LEADER and isinstance(m, NewLeadershipTerm):
            # A leader commits no more than it has written.
            found = [one for one in found if one.commit_position <= one.publication_position]
        return found

    def _with_reports(self, s: Member, m: Message) -> list[Member]:
        """The variants of a leader's state in an election after silent reports of the others."""
        if not {"AppendPosition", "CanvassPosition"} & self.silent_messages:
            return []
        found = []
        term = s.leadership_term_id
        for position in positions_in(m):
            members = list(s.members)
            for j in self.moves.all - {self.moves.member_id}:
                known = self._known_of(j, term, position)
                if known != NULL_VALUE:
                    members[j] = replace(members[j], log_position=known, leadership_term_id=term)
            found.append(replace(s, members=tuple(members)))
        return found

    def _known_of(self, j: int, term: int, position: int) -> int:
        """The position that a leader in an election knows of member ``j`` from a silent report.

        It is ``position`` if the lines of member ``j`` allow that. Else it is `UNBOUNDED` if ``j``
        can have reported more, and `NULL_VALUE` if ``j`` can only have reported less.

        Notes
        -----
        A follower can report the position at which it began to follow the leader, and any greater
        one.
        The leader can know a greater position than a quorum has recorded, because the member that
        reported it need not be active. Up to 1.49 all members count, and announcements do not
        contain the commit position.
        """
        facts, i = self.moves.facts, self.moves.member_id
        given = {m.log_position for *_, m in facts.canvasses.get(j, ())}
        if not given or not self.trusts_lines or self.moves.rules.is_149:
            return position
        voted = facts.votes.get((i, term), {}).get(j)
        if voted is not None:
            given.add(voted[1].log_position)
        begun = [
            min(at for at, _ in several[j])
            for (leader, _), several in facts.followers.items()
            if leader == i and j in several
        ]
        if position in given or min(begun, default=UNBOUNDED) <= position:
            return position
        return UNBOUNDED if begun or max(given) > position else NULL_VALUE

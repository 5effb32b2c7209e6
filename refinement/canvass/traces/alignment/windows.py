"""Send windows: the steps of a member's trajectory at which it can have sent a given message.

A message is tried with its own numbers put in where the member's are open, within their bounds;
what the member sends then, the core says. A place in a trajectory is a step and a slot: a step's
own sends have slots in the core's order, and hold one message each; after them, in the state that
follows the step, any number of messages can be sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from operator import attrgetter
from typing import Final

from msgspec.structs import replace

from canvass.cluster.leader_position import leader_quorum_position
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
from canvass.cluster.outcome import Outcome
from canvass.cluster.transitions import with_record
from canvass.traces.alignment.member_lines import FOREVER
from canvass.traces.alignment.moves import ASSUME_COMMIT, END_OF_LIFE, TICKS, Move, Moves, receive
from canvass.traces.alignment.replay import (
    UNBOUNDED,
    Step,
    Trajectory,
    Upper,
    heard_of,
    leads_closed,
    upper_bounds,
)

SLOTS: Final = 4
"""Slots of a step: at most three messages of it go to one receiver, and the state after it."""
AFTER: Final = SLOTS - 1
"""The slot of the state after a step."""

_ANSWERS: Final[dict[type[Message], tuple[type[Message], ...]]] = {
    CanvassPosition: (NewLeadershipTerm,),
    RequestVote: (Vote, NewLeadershipTerm),
    AppendPosition: (StopCatchup,),
}
"""The kinds of messages that may answer a kind, depending on numbers."""
_OPEN: Final[dict[type[Message], tuple[str, ...]]] = {
    AppendPosition: ("recorded_position",),
    CommitPosition: ("recorded_position", "commit_position"),
    NewLeadershipTerm: ("publication_position", "commit_position"),
    TerminationPosition: ("publication_position",),
}
"""The open quantities of a closed member that a message of a kind gives."""
_CLOSED: Final = ElectionState.CLOSED
_EVERYTHING: Final = replace(NULL_RECORD, log_position=UNBOUNDED)
_ELECTION_ONLY: Final = frozenset(
    {CanvassPosition, CatchupPosition, NewLeadershipTerm, RequestVote, StopCatchup, Vote}
)
"""The kinds of messages that a member outside elections sends in answer to others only."""
_TICKING: Final = frozenset(TICKS.values())


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
"""Where a member is in an election, whether its work there has begun, and the terms that it gives
in messages of most kinds.
"""


_REPORTS: Final = attrgetter(
    "module_state", "role", "module_leadership_term_id", "leader_member_id"
)
"""What decides of a report outside elections, the position aside."""


def _terms_of(m: Message) -> tuple[int, ...]:
    """The terms that a message gives."""
    return tuple(getattr(m, name) for name in _TERMS if hasattr(m, name))


_TERMS: Final = ("log_leadership_term_id", "leadership_term_id", "candidate_term_id")


def positions_in(m: Message) -> list[int]:
    """The positions that a message gives."""
    names = ("log_position", "commit_position")
    return list(dict.fromkeys(getattr(m, name) for name in names if hasattr(m, name)))


def sends_message(outcome: Outcome | None, to: int, m: Message) -> int:
    """The slot in which a step sends a message, or -1."""
    if outcome is None or not outcome.effects:
        return -1
    own = [send.message for send in outcome.sends if send.to == to]
    return min(own.index(m), AFTER - 1) if m in own else -1


def stays(s: Member, action: str, outcome: Outcome) -> bool:
    """Whether a step leaves a member where it is in an election.

    `Terminate` counts: it sends before it ends the process.
    """
    return action == "Terminate" or _PHASE(outcome.next) == _PHASE(s)


def _may_send(step: Step) -> bool:
    """Whether a step itself sends something, or would with other numbers."""
    received = step.given.message
    if step.outcome.effects:
        return True
    return step.action in _TICKING if received is None else type(received) in _ANSWERS


def due_times(trajectory: Trajectory) -> list[int]:
    """For each step when its line, or the next one, was written."""
    due, at = [], FOREVER
    for step in reversed(trajectory.steps):
        at = trajectory.lines.times[step.lines.start] if step.lines else at
        due.append(at)
    return due[::-1]


class Windows:
    """Where a member can have sent what.

    Attributes
    ----------
    trusts_lines
        Whether the lines of the other members are taken to show all that these can have said of
        their logs, where the member's own log does not print that.
    """

    trusts_lines = True

    def __init__(self, trajectory: Trajectory, moves: Moves) -> None:
        self.trajectory, self.moves = trajectory, moves
        self.steps = trajectory.steps
        self.bounds, self.due = upper_bounds(trajectory), due_times(trajectory)
        own = frozenset({moves.member_id})
        others = sorted(moves.all - own)
        sizes = range(len(others), -1, -1)
        chosen = [frozenset(c) for size in sizes for c in combinations(others, size)]
        # A leader that was paused does not count itself among the active in its first cycle.
        # That of 1.49 counts all, active or not.
        self.subsets = [moves.all] if moves.rules.is_149 else [own | one for one in chosen] + chosen
        self.hidden = trajectory.lines.vocabulary.silent_messages
        self._may_send = [_may_send(step) for step in self.steps]
        self._answered: dict[tuple[int, Message], dict[tuple[int, Message], int]] = {}
        self._sendable: dict[tuple[object, ...], set[tuple[int, Message]]] = {}
        self._greatest: dict[int, int] = {}
        self._reported: dict[tuple[object, ...], tuple[int, int, int, int] | None] = {}
        self._terms: dict[tuple[object, ...], set[tuple[int, ...]]] = {}
        self._likely: dict[frozenset[int], list[frozenset[int]]] = {}

    def likely(self, s: Member) -> list[frozenset[int]]:
        """The sets of members that may be active, nearest first to the members heard of."""
        heard = heard_of(self.moves.member_id, s)
        known = self._likely.get(heard)
        if known is None:
            known = sorted(self.subsets, key=lambda one: len(one ^ heard))
            self._likely[heard] = known
        return known

    def forget(self) -> None:
        """Forget what was found: bounds have changed."""
        self._answered.clear()
        self._sendable.clear()

    def slot(self, t: int, to: int, m: Message) -> int:
        """The slot in which step ``t`` itself can have sent a message, or -1."""
        if not self._may_send[t]:
            return -1  # So it is with most steps.
        step = self.trajectory.steps[t]
        if step.resynchronised or step.action == END_OF_LIFE:
            return -1
        slot = sends_message(step.outcome, to, m)
        before = self.trajectory.state_before(t)
        # How far a leader has written decides of a StopCatchup, and is open.
        is_open = type(m) is StopCatchup and before.role is Role.LEADER
        if step.action == ASSUME_COMMIT or (slot >= 0 and not is_open):
            return slot
        received = step.given.message
        if received is not None:
            # How much a member has noted of the log that it copies is open, too.
            opens = before.role is Role.LEADER or (before.log_replication and type(m) is Vote)
            if type(m) not in _ANSWERS.get(type(received), ()) or not opens:
                return -1
        elif step.action not in _TICKING:
            return -1
        known = self._answered.get((t, m))
        if known is None:
            known = self._answered[t, m] = self._sent_at(t, before, m)
        return known.get((to, m), -1)

    def sends_after(self, t: int, to: int, m: Message) -> bool:
        """Whether a message can be sent in the state after step ``t``."""
        step = self.trajectory.steps[t]
        if step.action == END_OF_LIFE:
            return False
        s = step.outcome.next
        if s.election_state is _CLOSED:
            if type(m) is AppendPosition:
                return self._reports(t, s, to, m)
            if type(m) is CommitPosition and leads_closed(s, m.leadership_term_id):
                return self._commits(t, s, m.log_position)
            if not self.hidden and type(m) in _ELECTION_ONLY:
                return False
        following = self.steps[t + 1 : t + 2] if isinstance(m, TerminationAck) else ()
        if any(step.action != END_OF_LIFE for step in following):
            return False  # A process that has terminated does nothing more.
        if not self._fits(s, m):
            return False
        # In an election nothing but the state decides, which is the same after many steps.
        leads_election = s.role is Role.LEADER and s.election_state is not _CLOSED
        is_shared = leads_election and type(m) is not StopCatchup
        # What a leader answers without a line depends on what the receiver has said.
        receiver = to if self.hidden and s.role is Role.LEADER else -1
        key = (s if is_shared else t, m, receiver)
        known = self._sendable.get(key)
        if known is None:
            known = self._sendable[key] = self._sent_after(t, to, m)
        return (to, m) in known

    def first(self, place: int, to: int, m: Message) -> int | None:
        """The first place at or after ``place`` where a message can have been sent."""
        may_send = self._may_send
        for t in range(place // SLOTS, len(may_send)):
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
        """All that a step can have sent with the numbers that a message gives, each in its slot."""
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
        """An input with other facts of clocks and connections."""
        if given.message is not None:
            yield given
            if before.election_state is not _CLOSED:
                for active in self.subsets[1:]:
                    yield replace(given, active=active)
            return
        due = replace(given, interval=True, commit_interval=True)
        if before.role is not Role.LEADER:
            yield due
            return
        for active in self.subsets:
            yield replace(due, active=active)

    def _sent_after(self, t: int, to: int, m: Message) -> set[tuple[int, Message]]:
        """All that can be sent in the state after a step with the numbers that a message gives."""
        found: set[tuple[int, Message]] = set()
        for s in self.with_numbers(self.steps[t].state, self.bounds[t], m):
            for action, given in self.sending(s, type(m)):
                outcome = self.moves.take(s, action, given)
                if outcome is not None and outcome.effects and stays(s, action, outcome):
                    found.update((send.to, send.message) for send in outcome.sends)
            for action, given in self.unlogged(s, to, m, self.hidden):
                answered = self.moves.take(s, action, given)
                if answered is not None:
                    found.update((send.to, send.message) for send in answered.sends)
        return found

    def _fits(self, s: Member, m: Message) -> bool:
        """Whether a message can give the terms that a state gives in messages of its kind.

        This spares most searches: numbers that grow change no terms, so one state answers for all
        states of its phase. A kind that is sent only in answers, or whose terms depend on more than
        the phase, always fits.
        """
        kind = type(m)
        if kind is NewLeadershipTerm or kind is TerminationAck:
            return True
        key = (_PHASE(s), kind)
        known = self._terms.get(key)
        if known is None:
            known = self._terms[key] = {
                _terms_of(send.message)
                for action, given in self.sending(s, kind)
                if (outcome := self.moves.take(s, action, given)) is not None
                for send in outcome.sends
                if type(send.message) is kind
            }
        return not known or _terms_of(m) in known

    def unlogged(self, s: Member, to: int, m: Message, hidden: frozenset[str]) -> Iterator[Move]:
        """Receipts that the log does not print, and that the message may answer.

        A leader answers canvass positions; any member in an election answers reports of a catch-up,
        too.
        """
        leads = s.role is Role.LEADER
        if leads and isinstance(m, NewLeadershipTerm) and "CanvassPosition" in hidden:
            sent = dict.fromkeys(one for *_, one in self.moves.facts.canvasses.get(to, ()))
            closed = s.election_state is _CLOSED
            for asked in sent:
                if asked.log_leadership_term_id == m.log_leadership_term_id:
                    for active in (self.moves.all,) if closed else self.subsets:
                        yield receive(asked, active)
        elif isinstance(m, StopCatchup) and "AppendPosition" in hidden:
            j = m.follower_member_id
            yield receive(AppendPosition(m.leadership_term_id, UNBOUNDED, j, CATCHUP_FLAG))

    def _reports(self, t: int, s: Member, to: int, m: AppendPosition) -> bool:
        """Whether a member outside elections can have reported a position after step ``t``."""
        position = m.log_position
        low = s.recorded_position
        if position != low and not low < position <= self.bounds[t].recorded:
            return False
        key = _REPORTS(s)
        if key not in self._reported:
            self._reported[key] = self._report(s)
        return self._reported[key] == (to, m.leadership_term_id, m.follower_member_id, m.flags)

    def _report(self, s: Member) -> tuple[int, int, int, int] | None:
        """What the core reports outside elections, and to whom, whatever is recorded."""
        recorded = replace(s, recorded_position=UNBOUNDED)
        for action, given in self.sending(recorded, AppendPosition):
            outcome = self.moves.take(recorded, action, given)
            for send in outcome.sends if outcome is not None else ():
                m = send.message
                if isinstance(m, AppendPosition) and m.log_position == UNBOUNDED:
                    return send.to, m.leadership_term_id, m.follower_member_id, m.flags
        return None

    def _commits(self, t: int, s: Member, position: int) -> bool:
        """Whether a closed leader can have published a quorum position after step ``t``."""
        upper = self.bounds[t]
        limit = max(s.commit_position, upper.committed)
        if "AppendPosition" in self.hidden:
            return position <= limit
        if position > min(limit, upper.recorded) or s.module_state is not ModuleState.ACTIVE:
            return False
        greatest = self._greatest.get(t)
        if greatest is None:
            greatest = self._greatest[t] = self.greatest_quorum_position(s)
        if position >= greatest or position >= s.recorded_position:
            return position <= greatest
        return any(self._quorum_position(s, one) == position for one in self.subsets[1:])

    def greatest_quorum_position(self, s: Member) -> int:
        """What a closed leader can have published at most, whatever it has recorded."""
        # The more members are active the greater is what a quorum has reached.
        return self._quorum_position(s, self.subsets[0])

    def _quorum_position(self, s: Member, active: frozenset[int]) -> int:
        """What a closed leader publishes if it hears these members, whatever it has recorded."""
        i, rules, term = self.moves.member_id, self.moves.rules, s.module_leadership_term_id
        # The leader ranks the position that it noted of itself in its last duty cycle.
        noted = replace(s, members=with_record(s.members, i, _EVERYTHING))
        return leader_quorum_position(rules, i, noted, term, UNBOUNDED, active)

    def sending(self, s: Member, kind: type[Message]) -> Iterator[Move]:
        """Silent steps from a state that may send a message of a kind."""
        if s.module_state is not ModuleState.ACTIVE:
            return
        if s.election_state is not _CLOSED:
            yield from self._sending_in_election(s, kind)
        elif s.role is Role.LEADER:
            if kind is CommitPosition:
                for active in self.likely(s):
                    yield "UpdateLeaderPosition", Input(active=active, commit_interval=True)
            elif kind is TerminationPosition:
                yield "InitiateTermination", NO_INPUT
        elif kind is AppendPosition:
            yield "UpdateFollowerPosition", NO_INPUT
        elif kind is TerminationAck:
            yield "Terminate", NO_INPUT

    def _sending_in_election(self, s: Member, kind: type[Message]) -> Iterator[Move]:
        action = TICKS[s.election_state]
        if s.role is Role.LEADER:
            if kind in (NewLeadershipTerm, CommitPosition):
                due = Input(interval=True, commit_interval=True)
                for active in self.likely(s):
                    yield action, replace(due, active=active)
        elif kind is RequestVote:
            for j in self.moves.all:
                yield action, Input(accepted=frozenset({j}))
        elif kind in (CanvassPosition, AppendPosition, CatchupPosition):
            yield action, Input(interval=True)
            if s.log_replication:
                # All is copied, and the archive has not said yet that the copy has ended.
                yield action, Input(interval=True, position=s.recorded_position)

    def with_numbers(self, s: Member, upper: Upper, m: Message) -> list[Member]:
        """A state with its open quantities at numbers that a message gives, within the bounds."""
        if isinstance(m, StopCatchup):
            if s.publication_position < upper.written:
                s = replace(s, publication_position=upper.written)
            j = m.follower_member_id
            serving = replace(s.members[j], catchup_replay=True)
            return [s, replace(s, members=with_record(s.members, j, serving))]
        if s.log_replication and isinstance(m, Vote):
            position, limit = m.log_position, min(upper.recorded, upper.reported)
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
        recorded = upper.recorded
        if s.election_state is ElectionState.FOLLOWER_LOG_REPLICATION:
            recorded = min(recorded, upper.reported)
            if isinstance(m, AppendPosition) and s.recorded_position > recorded:
                return []
        given = positions_in(m)
        for name in names:
            low = getattr(s, name)
            high = {
                "recorded_position": recorded,
                "commit_position": upper.committed,
                "publication_position": upper.published,
            }[name]
            values = [v for v in given if low < v <= high]
            if name == "recorded_position" and high > low and isinstance(m, CommitPosition):
                values.append(high)
            found += [replace(one, **{name: v}) for one in list(found) for v in values]
        if s.role is Role.LEADER and isinstance(m, NewLeadershipTerm):
            # It commits what it has written: an announcement that says otherwise has no window.
            found = [one for one in found if one.commit_position <= one.publication_position]
        return found

    def _with_reports(self, s: Member, m: Message) -> list[Member]:
        """An election leader's state with reports that its log does not print."""
        if not {"AppendPosition", "CanvassPosition"} & self.hidden:
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
        """What a leader can know of another member's log without a line of its own: a position, if
        the member's lines allow that, else more, or nothing.

        A follower can report all from where it began to follow the leader. The leader can also know
        a position that no quorum has recorded: the member that reported it need not be active. Up
        to 1.49 all members count, and announcements say nothing of it.
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

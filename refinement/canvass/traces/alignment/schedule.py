"""All members driven together to the ends of their trajectories, without a clock.

A member takes the next step of its trajectory, unless

* the message that the step receives has not been sent,
* a message of the member must be sent before the step, and cannot be sent now, or
* the step records a position that the leader has not written.

A member sends a message as soon as it can. If no member can advance any more, each member that has
not reached its end has a conflict: the step that it cannot take.

A silent message is sent when a member needs it, or before its sender leaves the state that the
message reports.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Final, NamedTuple

from msgspec.structs import replace

from canvass.cluster.effects import Outcome
from canvass.cluster.member import NO_INPUT, ElectionState, Input, Member, Role
from canvass.cluster.messages import (
    NULL_VALUE,
    AppendPosition,
    CanvassPosition,
    CatchupPosition,
    CommitPosition,
    Message,
    NewLeadershipTerm,
    RequestVote,
    StopCatchup,
    TerminationPosition,
    Vote,
    sender_of,
)
from canvass.cluster.predicates import counted_position, is_quorum
from canvass.traces.alignment.channel_matching import ChannelKey, Matching, Receipt
from canvass.traces.alignment.driven_member import LOST, DrivenMember, streams_from, term_of
from canvass.traces.alignment.member_lines import FOREVER
from canvass.traces.alignment.possible_steps import ASSUME_COMMIT, PROCESS_END, Move, receive
from canvass.traces.alignment.printing import count_logged, logged_lines
from canvass.traces.alignment.replay import (
    UNBOUNDED,
    PathStep,
    PositionBounds,
    is_reported_by_quorum,
    leads_closed,
)
from canvass.traces.alignment.send_windows import AFTER, SLOTS, Windows, positions_in

_CLOSED: Final = ElectionState.CLOSED
_GROWN: Final = {
    "RecordLog": "recorded_position",
    "AppendEntry": "publication_position",
    "ConsumeLog": "commit_position",
    ASSUME_COMMIT: "commit_position",
}
"""For each of these actions, the field of the state that it raises to the position of its input."""


def _is_done(s: Member, step: PathStep) -> bool:
    """Whether a step has no effect any more, because earlier steps have had the same effect."""
    quantity = _GROWN.get(step.action)
    if quantity is not None:
        return bool(getattr(s, quantity) >= step.given.position)
    if step.action == "InitiateTermination":
        return s.termination_leadership_term_id == s.module_leadership_term_id
    if step.action == "FollowerLogReplication" and not step.lines and not step.outcome.effects:
        # The copy may have begun before: another member may have needed a report that it causes.
        return s.log_replication and step.state.log_replication
    return step.action == PROCESS_END


def _to_send(receipt: Receipt | None, name: str, least: int) -> int:
    """The position in a message that is still to be sent, or ``least`` if that is greater.

    Without a message or a position there is no bound.
    """
    position: int = NULL_VALUE if receipt is None else getattr(receipt.message, name)
    return max(position, least) if position >= 0 else UNBOUNDED


@dataclass(slots=True)
class Conflict:
    """The step of a trajectory that a member cannot take, and the reason.

    ``waits_for`` is the member that has to act before this step; -1 if there is none.
    """

    member_id: int
    step: int
    reason: str
    waits_for: int = NULL_VALUE


@dataclass(slots=True)
class SegmentEnd:
    """The situation at the end of a segment, with which the next one begins.

    Parameters
    ----------
    states
        The state of each member.
    published, received, numbers
        For each member: the position that it has written in each term, how many of its messages
        have been received, and the number of its next message.
    sent
        For each channel the messages on their way, with their numbers.
    last
        For each channel the number of the last message that was received.
    """

    states: dict[int, Member]
    published: dict[int, dict[int, int]] = field(default_factory=dict)
    received: dict[int, int] = field(default_factory=dict)
    numbers: dict[int, int] = field(default_factory=dict)
    sent: dict[ChannelKey, list[tuple[int, Message]]] = field(default_factory=dict)
    last: dict[ChannelKey, int] = field(default_factory=dict)


@dataclass(slots=True)
class Channel:
    """The messages of one channel.

    Parameters
    ----------
    receipts
        The receipts of the trajectories, in order.
    sent
        For each of the first receipts, the number and the message that was sent for it.
    consumed
        The number of receipts whose steps have been taken.
    unclaimed
        Silent messages that were sent, but not received yet, with their numbers.
    last
        The number of the last message that was received.

    Attributes
    ----------
    head
        The next receipt whose message is to be sent, or None.
    earliest, latest
        The first and the last step of the sender at which it can send that message. If there is no
        such receipt, a number beyond all steps.
    """

    receipts: list[Receipt] = field(default_factory=list)
    sent: list[tuple[int, Message]] = field(default_factory=list)
    consumed: int = 0
    unclaimed: list[tuple[int, Message]] = field(default_factory=list)
    last: int = 0
    head: Receipt | None = field(init=False)
    earliest: int = field(init=False)
    latest: int = field(init=False)
    _bounding: int = field(init=False)
    _next: dict[tuple[type[Message], bool], list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Find the next receipt, and the last one that says how far its sender had written."""
        found = enumerate(self.receipts, 1)
        bounding = [k for k, r in found if isinstance(r.message, NewLeadershipTerm | StopCatchup)]
        self._bounding = max(bounding, default=0)
        self._next_head()

    @property
    def bounds_sender(self) -> bool:
        """Whether a message that is still to be sent shows how far its sender had written."""
        return len(self.sent) < self._bounding

    def _next_head(self) -> None:
        sent = len(self.sent)
        if sent < len(self.receipts):
            head = self.head = self.receipts[sent]
            self.earliest, self.latest = head.earliest // SLOTS, head.latest // SLOTS
        else:
            self.head, self.earliest, self.latest = None, UNBOUNDED, UNBOUNDED

    def send(self, number: int, m: Message) -> None:
        """Match a message that the sender now sends with the next receipt."""
        self.sent.append((number, m))
        self._next_head()

    def pending(
        self, kind: type[Message], term: int | None = None, *, exact: bool = False
    ) -> Receipt | None:
        """The next receipt of a kind whose message is still to be sent.

        None if its message is of another term than ``term``. If ``exact``, receipts whose position
        is a lower bound are skipped.
        """
        following = self._next.get((kind, exact))
        if following is None:
            following = [len(self.receipts)] * (len(self.receipts) + 1)
            self._next[kind, exact] = following
            for index in range(len(self.receipts) - 1, -1, -1):
                one = self.receipts[index]
                same = isinstance(one.message, kind) and not (exact and one.is_lower_bound)
                following[index] = index if same else following[index + 1]
        at = following[len(self.sent)]
        found = self.receipts[at] if at < len(self.receipts) else None
        if found is None or term is None:
            return found
        return found if getattr(found.message, "leadership_term_id", term) == term else None

    def take_last_copies(self) -> None:
        """Let each inferred receipt take the last copy of its message.

        The receiver can then first receive messages that were sent between the copies.
        """
        before = UNBOUNDED
        for place in range(len(self.sent) - 1, self.consumed - 1, -1):
            number, m = self.sent[place]
            if self.receipts[place].is_inferred:
                copies = (one for one in self.unclaimed if number < one[0] < before and one[1] == m)
                last = max(copies, key=itemgetter(0), default=None)
                if last is not None:
                    self.sent[place] = last
                    self.unclaimed[self.unclaimed.index(last)] = number, m
                    self.unclaimed.sort(key=itemgetter(0))
            before = self.sent[place][0]


class PositionReport(NamedTuple):
    """How a leader knows that a member has recorded a position. The least report is the likeliest.

    Parameters
    ----------
    overtakes
        The leader receives it before a canvass position of the same member that the leader has
        still to answer.
    is_older
        Its term is older than that of the leader.
    is_new
        The leader has not received it yet.
    position
        The position that the member reports.
    member_id
        The member.
    message
        The report, if the leader has not received it yet.
    """

    overtakes: bool
    is_older: bool
    is_new: bool
    position: int
    member_id: int
    message: Message | None


def likeliness(report: PositionReport) -> tuple[object, ...]:
    """The key that orders reports. It leaves out the message, because messages have no order."""
    return report[:-1]


class Schedule:
    """Drives the members of one cluster, and the messages on their way between them.

    Parameters
    ----------
    windows, matching
        The send windows of each member, and the receipts in them.
    carried
        The situation at the end of the segment before.
    awaits_starts
        Whether the sender of a message may wait until the process that receives it has started.
        Logs do not show how long a connection keeps a message for a process that has not started.
        If a sender waits, its announcement may then have other positions.
    """

    def __init__(
        self,
        windows: Mapping[int, Windows],
        matching: Matching,
        carried: SegmentEnd | None = None,
        *,
        awaits_starts: bool = True,
    ) -> None:
        self._awaits_starts = awaits_starts
        self.windows = windows
        self.members = {
            i: DrivenMember(one, self._on_send, self._limit) for i, one in windows.items()
        }
        self._channels: dict[ChannelKey, Channel] = {
            (i, j): Channel() for i in windows for j in windows if i != j
        }
        self._wanted: dict[tuple[int, int], tuple[ChannelKey, int]] = {}
        for key, receipts in matching.channels.items():
            on_way = matching.on_way.get(key, [])
            every = [*(receipt for receipt, _, _ in on_way), *receipts]
            self._channels[key] = Channel(every, [(number, m) for _, number, m in on_way])
            for number, receipt in enumerate(every):
                self._wanted[key[1], receipt.step] = key, number
        self._outgoing = {
            i: [(j, channel) for (sender, j), channel in self._channels.items() if sender == i]
            for i in windows
        }
        self._starts = {
            i: [t for t, step in enumerate(one.steps) if step.action == "Restart"]
            for i, one in windows.items()
        }
        self._held = {
            (j, receipt.step)
            for i, j, receipt in matching.unmatched
            if i in windows and (receipt.is_inferred or not windows[i].trajectory.has_gap)
        }
        self._held |= {(j, receipt.step) for _, j, receipt in matching.later}
        self._unsent = {(j, r.step): i for i, j, r in matching.unmatched}
        self._silent_messages = frozenset().union(
            *(one.silent_messages for one in windows.values())
        )
        self._needs = self._needed_publications()
        self.conflicts: list[Conflict] = []
        self._is_patient = True
        if carried is not None:
            self._carry(carried)

    def run(self, ends: Mapping[int, int] | None = None) -> bool:
        """Drive all members to the ends of their trajectories; false if some cannot get there.

        ``ends`` has for each member the step before which it stops. If some member cannot reach its
        end, the members go on beyond their ends, to their first gap or false line.
        """
        for i, end in ends.items() if ends else ():
            self.members[i].end = end
        self._drive()
        ahead = [live for live in self.members.values() if live.next_step() is not None]
        if ends and ahead:
            for live in self.members.values():
                steps = enumerate(live.windows.steps)
                repairs = (t for t, step in steps if t >= live.end and (step.gap or step.false))
                live.end = next(repairs, len(live.windows.steps))
            self._drive()
            ahead = [one for one in ahead if one.frontier + 1 < ends[one.member_id]]
        self.conflicts = [
            Conflict(live.member_id, live.frontier + 1, *self._reason(live)) for live in ahead
        ]
        return not ahead

    def end_with_false_line(self, i: int) -> None:
        """End the run of a member with the false line of its trajectory, if it does not end there.

        The member could not be driven to that line, so the run lacks the steps before the line.
        """
        live = self.members[i]
        last = live.windows.steps[-1]
        if live.frontier + 1 < len(live.windows.steps):
            live.skips = True
            # Of a step after a gap, the checker only checks that its message was sent.
            if last.given.message is not None:
                live.gap = live.gap or last.false
            self._take_false(live, last)

    def _drive(self) -> None:
        """Let members advance as far as they can, the member with the earliest next line first.

        A leader commits a position that no quorum has reported in its term only if no member can
        advance otherwise.
        """
        reached = self._reached()
        self._is_patient = True
        while True:
            for live in sorted(self.members.values(), key=self._next_line_ns):
                frontier, received = live.frontier, live.received
                self._send_pending(live)
                step = live.next_step()
                if step is not None and self._can_advance(live, step):
                    self._take(live, step)
                if live.frontier != frontier or live.received != received:
                    self._is_patient = True
                    break
            else:
                before_all, reached = reached, self._reached()
                if reached == before_all:
                    ended = all(live.next_step() is None for live in self.members.values())
                    if ended or not self._is_patient:
                        break
                    self._is_patient = False

    def _reached(self) -> tuple[int, int]:
        """The numbers of steps that were taken and of messages that were received."""
        members = self.members.values()
        return sum(live.frontier for live in members), sum(live.received for live in members)

    def _can_advance(self, live: DrivenMember, step: PathStep) -> bool:
        """Whether a member can take its next step. Other members first do what the step needs.

        They send the message that the step receives, and serve the catch-up that it asks for.
        """
        i, after = live.member_id, live.frontier + 1
        if (i, after) in self._held:
            return False
        if not all(self._is_free(live, channel, after) for _, channel in self._outgoing[i]):
            return False
        if self.unsent_yet(i, after) is not None:
            # The sender sends the message now, even if its own next line is later.
            self._send_pending(self.members[self._wanted[i, after][0][0]])
            if self.unsent_yet(i, after) is not None:
                return False
        if not self._has_copied(live, step):
            return False
        received = step.given.message if step.is_inferred_receipt else None
        if self._is_patient and self._announces_less(live, received):
            return False
        position, action = step.given.position, step.action
        if action == "RecordLog":
            return self._can_record(live, position)
        if action == "FollowerCatchupAwait" and "CatchupPosition" in self._silent_messages:
            return self._serves(live)
        if self._silent_messages and action == "AppendEntry":
            return position <= live.bounds.publication_position
        if self._silent_messages and action == ASSUME_COMMIT:
            return position <= live.bounds.commit_position
        return True

    def _is_free(self, live: DrivenMember, channel: Channel, after: int) -> bool:
        """Whether a member can take its next step before it sends the next message of a channel.

        If that message is a report, and the next step is the last one that can send it, the member
        now records up to the position of the report, if it can.
        """
        head = channel.head
        if head is None or channel.latest != after or head.latest % SLOTS >= AFTER:
            return channel.latest >= after
        m = head.message
        if not isinstance(m, AppendPosition) or m.log_position <= live.state.recorded_position:
            return True
        if self._can_record(live, m.log_position):
            self._write_first(live, m.log_position)
            live.take("RecordLog", Input(position=m.log_position))
        return live.state.recorded_position >= m.log_position

    def unsent_yet(self, i: int, step: int) -> Receipt | None:
        """The receipt of a step if its message has not been sent, else None."""
        wanted = self._wanted.get((i, step))
        if wanted is None or wanted[1] < len(self._channels[wanted[0]].sent):
            return None
        return self._channels[wanted[0]].receipts[wanted[1]]

    def _reason(self, live: DrivenMember) -> tuple[str, int]:
        """The reason why a member cannot take its next step, and the member for which it waits."""
        i, step = live.member_id, live.next_step()
        for j, channel in self._outgoing[i]:
            head = channel.head
            if head is not None and head.latest // SLOTS <= live.frontier:
                waits_for = j if self._comes_later(i, j, head) else NULL_VALUE
                reason = f"member {j} received {head.message}, which member {i} cannot have sent"
                return reason, waits_for
        receipt = self.unsent_yet(i, live.frontier + 1)
        if receipt is not None:
            sender = self._wanted[i, live.frontier + 1][0][0]
            return f"member {sender} has not sent {receipt.message}", sender
        records = step is not None and step.action == "RecordLog"
        waits_for = streams_from(i, live.state) if records else NULL_VALUE
        return "the step is not possible with what others did before", waits_for

    def _send_pending(self, live: DrivenMember) -> None:
        """Send the messages of a member that others receive, as far as it can send them now."""
        if live.frontier >= 0:
            for j, channel in self._outgoing[live.member_id]:
                while channel.earliest <= live.frontier and self._send_head(live, j):
                    pass

    def _send_head(self, live: DrivenMember, j: int) -> bool:
        i, t = live.member_id, live.frontier
        channel = self._channels[i, j]
        head = channel.head
        if head is None or head.earliest // SLOTS > t or self._comes_later(i, j, head):
            return False
        m, before = head.message, len(channel.sent)
        if not live.windows.sends_after(t, j, m):
            return False
        if isinstance(m, CommitPosition) and self._is_early(live, j, head, m):
            return False
        if isinstance(m, AppendPosition) and (
            self._is_sent_by_next_step(live, head, m) or not self._can_record(live, m.log_position)
        ):
            return False
        if isinstance(m, TerminationPosition) and not self._is_next_everywhere(live, m):
            return False
        if self._silent_messages and isinstance(m, NewLeadershipTerm | CommitPosition):
            self._reach(live, m)
            closed = leads_closed(live.state, m.leadership_term_id)
            commits = isinstance(m, CommitPosition) and closed
            if commits and live.state.commit_position < m.log_position:
                return False
            if channel.head is not head:
                return True
        path = live.find(j, head, lambda: self._obtainable(live, j, m))
        self._append(live, path)
        return len(channel.sent) > before

    def _is_sent_by_next_step(self, live: DrivenMember, head: Receipt, m: AppendPosition) -> bool:
        """Whether a report has the end position of a copy, and the step that ends the copy can send
        the report.
        """
        s = live.state
        return (
            self._is_patient
            and "AppendPosition" not in self._silent_messages
            and s.log_replication
            and s.append_position < m.log_position == s.replication_stop_position
            and head.latest // SLOTS > live.frontier
        )

    def _is_early(self, live: DrivenMember, j: int, head: Receipt, m: CommitPosition) -> bool:
        """Whether a leader should wait before it commits a position and sends it.

        It waits if no quorum has reported the position in its term, and the leader's next line is
        earlier than the line of the receiver. It does not wait if its next step sends a message
        that the receiver has after this one.
        """
        s = live.state
        return (
            self._is_patient
            and "AppendPosition" not in self._silent_messages
            and leads_closed(s, m.leadership_term_id)
            and m.log_position > s.commit_position
            and head.latest // SLOTS > live.frontier
            and self._next_line_ns(live) < self.windows[j].next_line_ns[head.step]
            and not is_reported_by_quorum(live.member_id, s, m.log_position)
            and not self._overtakes(live, j, head)
        )

    def _overtakes(self, live: DrivenMember, j: int, head: Receipt) -> bool:
        """Whether the next step of a member receives a message whose answer comes after the next
        message of the member's channel to ``j``, in the same term.
        """
        step, channel = live.next_step(), self._channels[live.member_id, j]
        if step is None or step.given.message is None or step.false:
            return False
        taken = live.windows.moves.take(live.state, step.action, step.given)
        for send in taken.sends if taken is not None else ():
            answer = channel.pending(type(send.message), term_of(live.state))
            if send.to == j and answer not in (None, head) and not head.accepts(send.message):
                return True
        return False

    def _take(self, live: DrivenMember, step: PathStep) -> None:
        """Take the next step of a member's trajectory, if it is possible now."""
        self._prepare(live, step)
        if self._silent_messages:
            leader = self.members.get(live.state.leader_member_id)
            if live.state.election_state is ElectionState.FOLLOWER_CATCHUP and leader is not None:
                # The leader ends the catch-up at a silent report of the present position.
                self._send_pending(leader)
            self._report_before_leaving(live, step)
            if step.action == "ConsumeLog":
                self._record_elsewhere(live, step.given.position)
        s, action, position = live.state, step.action, step.given.position
        if step.false:
            self._take_false(live, step)
        elif step.is_taken_from_lines:
            live.append(step)
        elif _is_done(s, step):
            live.gap = live.gap or step.gap
        elif action == ASSUME_COMMIT:
            if not self._commit(live, position):
                return
        elif not self._take_step(live, step) and not self._take_informed(live, step):
            return
        live.frontier += 1
        self._after_step(live, step)

    def _after_step(self, live: DrivenMember, step: PathStep) -> None:
        """After a restart, drop the silent messages to the member; after a receipt, let a leader
        commit.
        """
        if step.action == "Restart":
            for (_, j), channel in self._channels.items():
                if j == live.member_id:
                    channel.unclaimed.clear()
        leads = live.state.role is Role.LEADER and live.state.election_state is _CLOSED
        if leads and step.given.message is not None:
            self._commit(live)

    def _take_false(self, live: DrivenMember, step: PathStep) -> None:
        """End a member's run with an impossible step that represents a false line."""
        m, action, given = step.given.message, step.action, step.given
        sender = self._other_sender(live, m) if m is not None else NULL_VALUE
        if sender == NULL_VALUE:
            live.gap = ""  # After a gap, a step without a message is not checked at all.
            closed = live.state.election_state is _CLOSED
            action, given = "ElectionInit" if closed else "EnterElection", NO_INPUT
        live.append(PathStep(action, given, Outcome(live.state), step.lines), sender)

    def _other_sender(self, live: DrivenMember, m: Message) -> int:
        """The sender that the run names for a false message.

        It is the first member whose log has no gap, beginning with the sender that the message
        names; null if there is none. A member may have sent any message in a gap, so a member with
        a gap could not be shown not to have sent this one.
        """
        candidates = (sender_of(m), *self.members)
        known = (j for j in candidates if j in self.members and j != live.member_id)
        return next((j for j in known if not self.windows[j].trajectory.has_gap), NULL_VALUE)

    def _take_informed(self, live: DrivenMember, step: PathStep) -> bool:
        """Let a leader first receive a silent report, then take its step; false if none helps."""
        i = live.member_id
        if live.state.leader_member_id != i or "AppendPosition" not in self._silent_messages:
            return False
        for j in self.members.keys() - {i}:
            report = self._report_of(live, j, live.state.append_position)
            if report is None or report.message is None:
                continue
            received = live.try_step(*receive(report.message))
            if received is None or received.state == live.state:
                continue
            if self._append(live, [received]) and self._take_step(live, step):
                return True
        return False

    def _take_step(self, live: DrivenMember, step: PathStep) -> bool:
        i, t = live.member_id, live.frontier + 1
        s, lines = live.state, live.windows.trajectory.lines
        best: tuple[int, int] | None = None
        chosen: PathStep | None = None
        wanted = self._wanted.get((i, t))
        actual = step.given.message
        if wanted is not None:
            actual = self._channels[wanted[0]].sent[wanted[1]][1]
        for given in live.inputs(step):
            if actual is not given.message:
                given = replace(given, message=actual)
            outcome = live.windows.moves.take(s, step.action, given)
            if outcome is None or not live.agrees(step, outcome.next):
                continue
            printed = logged_lines(lines.vocabulary, step.action, s, outcome)
            if step.lines and not step.gap and count_logged(lines, printed, step.printed.start) < 0:
                continue
            sends = bool(outcome.effects)
            score = (self._next_receipts(i, t, outcome), -len(outcome.sends)) if sends else (0, 0)
            if best is None or score > best:
                best, chosen = score, replace(step, given=given, outcome=outcome)
        if chosen is None:
            return False
        live.append(chosen, *self._consume(i, t))
        return True

    def _next_receipts(self, i: int, t: int, outcome: Outcome) -> int:
        """The number of receipts, next in their channels, whose messages a step sends."""
        matched = 0
        for j, channel in self._outgoing[i]:
            place = len(channel.sent)
            for send in outcome.sends:
                if send.to != j or place >= len(channel.receipts):
                    continue
                receipt = channel.receipts[place]
                if self._comes_later(i, j, receipt):
                    continue
                if receipt.accepts(send.message) and receipt.earliest // SLOTS <= t:
                    place += 1
                    matched += 1
        return matched

    def _consume(self, i: int, t: int) -> tuple[int, int]:
        """Take the message that a step receives out of its channel: its sender and its number."""
        wanted = self._wanted.get((i, t))
        if wanted is None:
            sender = self._unsent.get((i, t), -1)
            return sender, -1 if sender < 0 else LOST
        key, place = wanted
        channel = self._channels[key]
        channel.consumed = max(channel.consumed, place + 1)
        channel.last = max(channel.last, channel.sent[place][0])
        return key[0], channel.sent[place][0]

    def _reach(self, live: DrivenMember, m: NewLeadershipTerm | CommitPosition) -> None:
        """Let a leader get to the positions of the message that it sends.

        If it is closed, it writes and commits. If it replays, it processes its log, but not to the
        end: its next step would then leave the state, and the position that it announces is that
        of a quorum, which it need not have processed itself.
        """
        s = live.state
        if s.election_state is ElectionState.LEADER_REPLAY and isinstance(m, NewLeadershipTerm):
            end = min(live.bounds.commit_position, s.append_position - 1)
            if s.commit_position < m.commit_position <= end:
                live.take("ConsumeLog", Input(position=m.commit_position))
            return
        if not leads_closed(s, m.leadership_term_id):
            return
        answers = isinstance(m, NewLeadershipTerm)
        committed = m.commit_position if isinstance(m, NewLeadershipTerm) else m.log_position
        if committed > s.commit_position:
            self._commit(live, committed)
        written, most = live.state.publication_position, live.bounds.publication_position
        if answers and written < m.log_position <= most:
            live.take("AppendEntry", Input(position=m.log_position))

    def _is_next_everywhere(self, live: DrivenMember, m: Message) -> bool:
        """Whether a message that goes to all members at once is the next one in each channel that
        awaits it.
        """
        for _, channel in self._outgoing[live.member_id]:
            receipt = channel.pending(type(m))
            if receipt is not None and receipt.message == m and receipt is not channel.head:
                return False
        return True

    def _commit(self, live: DrivenMember, target: int = -1) -> bool:
        """Let a closed leader commit as much as it can, or up to ``target`` exactly."""
        if "AppendPosition" in self._silent_messages:
            return target >= 0 and self._commit_by_silent_reports(live, target)
        s, windows = live.state, live.windows
        if windows.greatest_quorum_position(s) <= s.commit_position:
            return False
        bounds = live.bounds
        high_recorded, high_committed = bounds.recorded_position, bounds.commit_position
        for position in self.pending_commits(live):
            high_recorded = min(high_recorded, max(position, s.recorded_position))
            if target < 0:
                high_committed = min(high_committed, position)
        reported = max((r.log_position for r in s.members), default=0)
        best: list[PathStep] = []
        reached = s.commit_position
        high_written = max(bounds.publication_position, s.publication_position)
        wanted = min(reported, high_recorded, high_written)
        options = {s.recorded_position, wanted, *((target,) if target >= 0 else ())}
        for recorded in sorted(options):
            if recorded < s.recorded_position or recorded > high_recorded or recorded <= reached:
                continue  # A leader commits no more than it has recorded.
            path = live.record_own(recorded)
            if path is None:
                continue
            at = path[-1].state if path else s
            note = Input(active=frozenset({live.member_id}))
            noted = windows.moves.take(at, "UpdateLeaderPosition", note)
            if noted is not None and noted.next.commit_position == at.commit_position:
                path.append(PathStep("UpdateLeaderPosition", note, noted))
                at = noted.next
            limit = high_committed if target < 0 else min(high_committed, target)
            likely = windows.likely(at)
            updated = _greatest_commit(
                windows, at, reached, limit, likely[:1] if target < 0 else likely
            )
            if updated is not None and target in (-1, updated.state.commit_position):
                reached = updated.state.commit_position
                best = [*path, updated]
            if reached >= high_committed:
                break
        self._append(live, best)
        return bool(best)

    def _commit_by_silent_reports(self, live: DrivenMember, target: int) -> bool:
        """Let a closed leader commit up to a target, by silent reports.

        While other members can advance, the leader waits for reports of its own term. When none
        can, it also counts reports of older terms, although the log of such a member may differ
        (HZ1). Followers of its term then record up to the target, where that is possible.
        """
        own = live.record_own(target)
        if own is None or target > live.bounds.commit_position:
            return False
        counted = {live.member_id}
        reports: list[Message] = []
        others = self.members.keys() - {live.member_id}
        found = (self._report_of(live, j, target) for j in sorted(others))
        for report in sorted(filter(None, found), key=likeliness):
            if is_quorum(len(counted), len(live.state.members)):
                break
            if report.is_older and self._is_patient:
                return False
            counted.add(report.member_id)
            if report.message is not None:
                reports.append(report.message)
        if not is_quorum(len(counted), len(live.state.members)):
            return False
        self._append(live, own)
        self._record_elsewhere(live, target)
        for m in reports:
            received = live.try_step(*receive(m))
            if received is not None:
                self._append(live, [received])
        live.take("UpdateLeaderPosition", Input(active=frozenset({live.member_id})))
        return live.take("UpdateLeaderPosition", Input(active=frozenset(counted)))

    def _report_of(self, live: DrivenMember, j: int, position: int) -> PositionReport | None:
        """The report by which a leader counts member ``j`` for a position, or None.

        The core decides whether a report counts. If several reports count, the order of
        `PositionReport` decides which one is taken.
        """
        i, s = live.member_id, live.state
        term, rules = term_of(s), live.windows.moves.rules
        asks = any(isinstance(m, CanvassPosition) for _, m in self._available(i, j))
        answers = self._channels[i, j].pending(NewLeadershipTerm, term) is not None
        awaits = asks and answers and s.election_state is _CLOSED
        found: list[PositionReport] = []
        for m in (None, *self._reported(i, j, [position])):
            received = None if m is None else live.try_step(*receive(m))
            if m is not None and received is None:
                continue
            after = s if received is None else received.state
            record = after.members[j]
            if counted_position(rules, after, term, position, record) >= position:
                is_new = m is not None
                overtakes = awaits and is_new and not isinstance(m, CanvassPosition)
                kind = overtakes, record.leadership_term_id != term, is_new
                found.append(PositionReport(*kind, record.log_position, j, m))
        return min(found, key=likeliness, default=None)

    def pending_commits(self, live: DrivenMember) -> list[int]:
        """The next commit position that a closed leader sends in its term, for each channel.

        A message of its next election may contain the same term, but does not count.
        """
        term = live.state.module_leadership_term_id
        found = []
        for _, channel in self._outgoing[live.member_id]:
            receipt = channel.pending(CommitPosition, term)
            if receipt is not None:
                at = live.windows.steps[receipt.earliest // SLOTS].state
                found += positions_in(receipt.message) if leads_closed(at, term) else []
        return found

    def _commit_first(self, live: DrivenMember, recorded: int) -> None:
        """Let a leader commit up to the position of its next line before it records more.

        Silent reports may have greater positions by then, so only the leader's own recorded
        position limits what it commits.
        """
        steps, at = live.windows.steps, live.frontier + 2
        while at < len(steps) and not steps[at].lines:
            target = steps[at].given.position
            if steps[at].action == ASSUME_COMMIT and live.state.commit_position < target < recorded:
                self._commit(live, target)
            at += 1

    def _reach_answers(self, live: DrivenMember) -> None:
        """Let a leader write and commit up to the positions in answers that its next step sends."""
        t = live.frontier + 1
        for j, channel in self._outgoing[live.member_id]:
            head = channel.head
            if head is None or not isinstance(m := head.message, NewLeadershipTerm):
                continue
            if head.earliest // SLOTS <= t and live.windows.slot(t, j, m) >= 0:
                self._reach(live, m)

    def _prepare(self, live: DrivenMember, step: PathStep) -> None:
        """Let a leader write what it must have written before its next step.

        It has written what it records in that step. If it leaves its term, it has written all that
        others recorded in the term.
        """
        s = live.state
        if s.role is not Role.LEADER or s.election_state is not _CLOSED:
            if step.action == "RecordLog":
                self._write_first(live, step.given.position)
            return
        leaves = step.state.election_state is not _CLOSED or step.action in (
            PROCESS_END,
            "InitiateTermination",
        )
        need = self._needs.get((live.member_id, term_of(s)), -1) if leaves else -1
        if step.action == "RecordLog":
            need = max(need, step.given.position)
            if "AppendPosition" in self._silent_messages:
                self._commit_first(live, step.given.position)
        if need > s.publication_position:
            live.take("AppendEntry", Input(position=need))
        m = step.given.message
        if m is not None and not leaves:
            self._reach_answers(live)

    def _carry(self, carried: SegmentEnd) -> None:
        """Begin with the situation at the end of the segment before."""
        for i, live in self.members.items():
            live.frontier = 0  # Step 0 is `RESUME`: it has the state at the segment's beginning.
            live.published, live.received = dict(carried.published[i]), carried.received[i]
            live.number = carried.numbers[i]
        for key, last in carried.last.items():
            channel = self._channels[key]
            channel.last = last
            unclaimed = carried.sent[key][len(channel.sent) :]
            channel.unclaimed += [
                one for one in unclaimed if type(one[1]).__name__ in self._silent_messages
            ]

    def carried(self) -> SegmentEnd:
        """The situation at the end of this segment."""
        members, channels = self.members.items(), self._channels.items()
        return SegmentEnd(
            {i: live.state for i, live in members},
            {i: live.published for i, live in members},
            {i: live.received for i, live in members},
            {i: live.number for i, live in members},
            {key: channel.sent[channel.consumed :] for key, channel in channels},
            {key: channel.last for key, channel in channels},
        )

    def _needed_publications(self) -> dict[tuple[int, int], int]:
        """For each leader and term, the position that it must have written because others have
        recorded it.
        """
        needs: dict[tuple[int, int], int] = {}
        for i, one in self.windows.items():
            for step in one.steps:
                leader = streams_from(i, step.state)
                if leader >= 0:
                    key = leader, term_of(step.state)
                    needs[key] = max(needs.get(key, -1), step.state.recorded_position)
        for (i, j), channel in self._channels.items():
            for receipt in channel.receipts:
                m = receipt.message
                if isinstance(m, AppendPosition) and receipt.earliest >= 0:
                    s = self.windows[i].steps[receipt.earliest // SLOTS].state
                    if streams_from(i, s) == j:
                        key = j, term_of(s)
                        needs[key] = max(needs.get(key, -1), m.log_position)
        return needs

    def _on_send(self, i: int, to: int, m: Message, number: int) -> None:
        """Match a message that a member now sends with the next receipt of its channel, if it fits.

        A silent message without such a receipt is kept as unclaimed.
        """
        channel = self._channels.get((i, to))
        if channel is None:
            return
        head = channel.head
        if head is not None and head.accepts(m) and not self._comes_later(i, to, head):
            channel.send(number, m)
            self.members[i].received += 1
        elif type(m).__name__ in self._silent_messages:
            channel.unclaimed.append((number, m))

    def _comes_later(self, i: int, to: int, head: Receipt) -> bool:
        """Whether the message of a receipt should be sent later.

        It should if the receiver has not yet started the process in which it receives the message,
        and the sender can still send it at a later place. There are two exceptions:

        * Commit positions of a closed leader, and reports that a line shows, are sent at once. The
          positions mostly rise, so the sender may not have a later place for them.
        * An inferred report waits until its receiver needs it, and while the receiver has a lower
          commit position to announce. No later message of the channel can be received before it.
        """
        m, receiver = head.message, self.members[to].frontier
        closed = isinstance(m, CommitPosition) and leads_closed(
            self.members[i].state, m.leadership_term_id
        )
        reported = isinstance(m, AppendPosition)
        if closed or (reported and not head.is_inferred):
            return False
        another = head.latest >= (self.members[i].frontier + 1) * SLOTS + AFTER
        if reported:
            waits = self._is_patient and self._announces_less(self.members[to], m)
            return another and (waits or (self._awaits_starts and receiver + 1 < head.step))
        starts = self._starts[to]
        late = self._awaits_starts and another
        return late and bisect_right(starts, head.step) > bisect_right(starts, receiver)

    def _next_line_ns(self, live: DrivenMember) -> int:
        """The wall time of a member's next line."""
        due, after = live.windows.next_line_ns, live.frontier + 1
        return due[after] if after < len(due) else FOREVER

    def _announces_less(self, live: DrivenMember, report: Message | None) -> bool:
        """Whether a member has still to announce a lower commit position than that of a report,
        and others have received the announcement before the member's next line.
        """
        due, most = self._next_line_ns(live), getattr(report, "log_position", NULL_VALUE)
        return any(
            channel.earliest <= live.frontier
            and channel.head is not None
            and 0 <= getattr(channel.head.message, "commit_position", most) < most
            and self.windows[j].next_line_ns[channel.head.step] < due
            for j, channel in self._outgoing[live.member_id]
        )

    def _in_flight(self, i: int, j: int, repeated: Message | None = None) -> bool:
        """Whether messages of ``j`` are on their way to ``i``, which receives them in later steps.

        An inferred receipt of the ``repeated`` message does not count, because it can take the last
        copy of the message.
        """
        channel = self._channels[j, i]
        places = range(channel.consumed, len(channel.sent))
        return any(
            not channel.receipts[k].is_inferred or channel.sent[k][1] != repeated for k in places
        )

    def on_way(self, i: int) -> Iterator[int]:
        """The steps at which a member receives messages that have been sent to it.

        Messages that are sent later can only be received after these.
        """
        for j in self.members.keys() - {i}:
            channel = self._channels[j, i]
            for receipt in channel.receipts[channel.consumed : len(channel.sent)]:
                yield receipt.step

    def _available(self, i: int, j: int) -> list[tuple[int, Message]]:
        """The silent messages of ``j`` that ``i`` can receive next, with their numbers."""
        channel = self._channels[j, i]
        channel.take_last_copies()
        before = channel.sent[channel.consumed][0] if self._in_flight(i, j) else UNBOUNDED
        return [one for one in channel.unclaimed if channel.last < one[0] < before]

    def _limit(self, live: DrivenMember, bounds: PositionBounds) -> PositionBounds:
        """Lower the upper bounds of a leader's positions.

        No bound exceeds the position in a message that the leader has still to send.
        """
        s = live.state
        term = s.module_leadership_term_id
        if not leads_closed(s, term):
            return bounds
        published, committed = bounds.publication_position, bounds.commit_position
        outgoing = self._outgoing[live.member_id]
        if bounds.recorded_position <= published and not any(
            channel.bounds_sender for _, channel in outgoing
        ):
            return bounds
        for j, channel in outgoing:
            stop = (
                channel.pending(StopCatchup, term)
                if "AppendPosition" in self._silent_messages
                else None
            )
            if stop is not None:
                reported = self.windows[j].bounds[stop.step].recorded_position
                published = min(published, max(reported, s.publication_position))
            if "CommitPosition" in self._silent_messages:
                noted = channel.pending(CommitPosition, term, exact=True)
                committed = min(committed, _to_send(noted, "log_position", s.commit_position))
            announced = channel.pending(NewLeadershipTerm, term)
            published = min(published, _to_send(announced, "log_position", s.publication_position))
            committed = min(committed, _to_send(announced, "commit_position", s.commit_position))
        return PositionBounds(min(bounds.recorded_position, published), committed, published)

    def _append(self, live: DrivenMember, path: list[PathStep]) -> bool:
        """Let a member take silent steps. Other members first take the steps that these need.

        Returns false if a step receives a message that cannot be sent now. The steps before that
        step have been taken then.
        """
        for step in path:
            if step.action == "RecordLog":
                self._write_first(live, step.given.position)
            sender = number = -1
            if step.given.message is not None:
                sender = sender_of(step.given.message)
                number = self._obtain(live.member_id, sender, step.given.message)
                if number < 0:
                    return False
            live.append(step, sender, number)
        return True

    def _obtainable(self, live: DrivenMember, to: int, m: Message) -> Iterator[Move]:
        """The inferred receipts that a member can have now, and after which it may send ``m``.

        Several sets of active members are tried only where they matter: if a leader in an election
        receives the message that ``m`` answers.
        """
        answers = live.state.role is Role.LEADER or isinstance(m, StopCatchup)
        if not self._silent_messages or not answers:
            return
        positions = positions_in(m) or [live.state.publication_position]
        everybody = [live.windows.moves.all]
        closed = live.state.election_state is _CLOSED
        for j in self.members:
            if j == live.member_id:
                continue
            heard = everybody if closed or j != to else live.windows.active_sets
            for one in dict.fromkeys(self._reported(live.member_id, j, positions)):
                yield from (receive(one, active) for active in heard)

    def _reported(self, i: int, j: int, positions: list[int]) -> list[Message]:
        """The silent messages that ``i`` can receive from ``j`` next.

        They are messages that ``j`` has sent, and messages with one of ``positions`` that ``j`` can
        send now.
        """
        sent, other = [m for _, m in self._available(i, j)], self.members[j]
        kinds = (CanvassPosition, AppendPosition)
        reports = [
            other.reports(i, kind, position)
            for kind in kinds
            if kind.__name__ in self._silent_messages
            for position in positions
            if self._can_record(other, position)
        ]
        return sent + [m for _, m in filter(None, reports) if not self._in_flight(i, j, m)]

    def _obtain(self, i: int, j: int, m: Message) -> int:
        """The number of a silent message that ``i`` receives; it is sent now if necessary.

        -1 if it cannot be received now.
        """
        for _ in range(2):
            for number, sent in self._available(i, j):
                if sent == m:
                    self._channels[j, i].last = number
                    self.members[j].received += 1
                    return number
            position = getattr(m, "log_position", -1)
            found = self.members[j].reports(i, type(m), position)
            if found is None or found[1] != m:
                break
            self._append(self.members[j], found[0])
        return -1

    def _serves(self, live: DrivenMember) -> bool:
        """Whether the leader of a follower serves the follower's catch-up.

        If it does not yet, the leader receives the follower's silent `CatchupPosition` now.
        """
        i, leader = live.member_id, self.members.get(live.state.leader_member_id)
        if leader is None or leader.state.members[i].catchup_replay:
            return True
        asked = [m for _, m in self._available(leader.member_id, i)]
        again = live.reports(leader.member_id, CatchupPosition, NULL_VALUE)
        for m in [*asked, *([again[1]] if again is not None else [])]:
            if not isinstance(m, CatchupPosition):
                continue
            step = leader.try_step(*receive(m))
            if step is not None and step.state.members[i].catchup_replay:
                return self._append(leader, [step])
        return False

    def _report_before_leaving(self, live: DrivenMember, step: PathStep) -> None:
        """Send the silent messages of a member's state, if the next step leaves that state."""
        s, n = live.state, step.state
        if step.action == PROCESS_END or n.election_state is not s.election_state:
            if (
                s.election_state is ElectionState.CANVASS
                and "CanvassPosition" in self._silent_messages
            ):
                for _ in range(self._answers_left(live, NewLeadershipTerm)):
                    repeated = live.try_step("Canvass", Input(interval=True))
                    if repeated is not None and repeated.state.election_state is s.election_state:
                        live.append(repeated)
            leader = streams_from(live.member_id, s)
            if "AppendPosition" in self._silent_messages and leader in self.members:
                for _ in range(max(1, self._answers_left(live, StopCatchup))):
                    reported = live.reports(leader, AppendPosition, NULL_VALUE)
                    self._append(live, reported[0] if reported is not None else [])

    def _answers_left(self, live: DrivenMember, kind: type[Message]) -> int:
        """The number of answers of a kind that a member has still to receive in its process.

        Each of them answers a message that the member sends before it leaves its election state. So
        answers after its return to that state are not counted. An announcement names the term of
        the log that it answers: only those of the present log are counted, also after a return with
        a log of another term.
        """
        count, own = 0, live.state.log_leadership_term_id
        names_log = kind is NewLeadershipTerm
        for step in live.windows.steps[live.frontier + 1 :]:
            s, m = step.state, step.given.message
            if step.action == PROCESS_END:
                break
            is_back = s.election_state is live.state.election_state
            if count and is_back and not (names_log and s.log_leadership_term_id != own):
                break
            count += isinstance(m, kind) and getattr(m, "log_leadership_term_id", own) == own
        return count

    def _can_record(self, live: DrivenMember, position: int) -> bool:
        """Whether the leader of a member has written up to a position, or can write it now."""
        s = live.state
        leader = self.members.get(streams_from(live.member_id, s))
        if position <= s.recorded_position or leader is None:
            return True
        term = term_of(s)
        if leader.published.get(term, -1) >= position:
            return True
        upper = max(leader.bounds.publication_position, leader.state.publication_position)
        return leads_closed(leader.state, term) and position <= upper

    def _has_copied(self, live: DrivenMember, step: PathStep) -> bool:
        """Whether a member that copies a log has copied up to the position of its next vote.

        The step receives the request for that vote. If the member has copied less, it copies up to
        that position now, if possible, and reports that to its leader.
        """
        asked, s = step.given.message, live.state
        if not isinstance(asked, RequestVote) or not s.log_replication:
            return True
        channel = self._channels.get((live.member_id, asked.candidate_member_id))
        vote = channel.pending(Vote) if channel is not None else None
        if vote is None or vote.earliest // SLOTS > live.frontier + 1:
            return True
        noted = getattr(vote.message, "log_position", NULL_VALUE)
        if s.append_position < noted and self._can_record(live, noted):
            self._write_first(live, noted)
            reported = live.reports(s.leader_member_id, AppendPosition, noted)
            self._append(live, reported[0] if reported is not None else [])
        return live.state.append_position >= noted

    def _write_first(self, live: DrivenMember, position: int) -> None:
        """Let the leader of a member write up to a position that the member is about to record."""
        leader = self.members.get(streams_from(live.member_id, live.state))
        term = term_of(live.state)
        behind = leader is not None and leader.published.get(term, -1) < position
        if leader is not None and behind and leads_closed(leader.state, term):
            leader.take("AppendEntry", Input(position=position))

    def _record_elsewhere(self, live: DrivenMember, position: int) -> None:
        """Let other members record up to a position that a member is about to process.

        Nothing happens if a quorum has recorded that position already. A follower of 1.49 replays
        all that it has recorded, committed or not. No line shows how far the other members had
        recorded by then. They record up to the position where that is possible.
        """
        log = live.state.recording_log
        behind = [one for one in self.members.values() if one.state.recorded_position < position]
        if not log or is_quorum(len(self.members) - len(behind), len(self.members)):
            return
        for one in behind:
            s = one.state
            if s.module_leadership_term_id != log[-1].leadership_term_id:
                continue
            if one.bounds.recorded_position < position or not self._can_record(one, position):
                continue
            if leads_closed(s, s.module_leadership_term_id):
                if one.bounds.publication_position >= position:
                    one.take("AppendEntry", Input(position=position))
            else:
                self._write_first(one, position)
            one.take("RecordLog", Input(position=position))


def _greatest_commit(
    windows: Windows, s: Member, reached: int, limit: int, sets: list[frozenset[int]]
) -> PathStep | None:
    """The duty cycle in which a closed leader commits most: beyond ``reached``, up to ``limit``."""
    found: PathStep | None = None
    for active in sets:
        given = Input(active=active)
        outcome = windows.moves.take(s, "UpdateLeaderPosition", given)
        if outcome is None:
            continue
        commit = outcome.next.commit_position
        if reached < commit <= limit:
            reached, found = commit, PathStep("UpdateLeaderPosition", given, outcome)
        if reached == limit:
            break
    return found

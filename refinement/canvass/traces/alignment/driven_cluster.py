"""The driven members of a cluster, and the messages on their way between them.

A silent message is sent when a member needs it, or before its sender leaves the state that the
message reports.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Final

from canvass.cluster.member import ElectionState, Input, Member, Role
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
    Vote,
    sender_of,
)
from canvass.cluster.predicates import is_quorum
from canvass.traces.alignment.channel_matching import ChannelKey, Matching, Receipt
from canvass.traces.alignment.driven_member import DrivenMember, streams_from, term_of
from canvass.traces.alignment.member_lines import FOREVER
from canvass.traces.alignment.possible_steps import PROCESS_END, Move, receive
from canvass.traces.alignment.replay import UNBOUNDED, PathStep, PositionBounds, leads_closed
from canvass.traces.alignment.send_windows import AFTER, SLOTS, Windows, positions_in

_CLOSED: Final = ElectionState.CLOSED


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


class DrivenCluster:
    """Members with real numbers, and their channels.

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
        members = self.members.items()
        channels = self._channels.items()
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
            return another and (receiver + 1 < head.step or waits)
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
        sent = [m for _, m in self._available(i, j)]
        reportable = self._reportable(i, self.members[j], positions)
        return sent + [m for m in reportable if not self._in_flight(i, j, m)]

    def _reportable(self, to: int, other: DrivenMember, positions: list[int]) -> Iterator[Message]:
        """The silent messages with one of ``positions`` that a member can send to ``to`` now."""
        for kind in (CanvassPosition, AppendPosition):
            if kind.__name__ not in self._silent_messages:
                continue
            for position in positions:
                if self._can_record(other, position):
                    found = other.reports(to, kind, position)
                    if found is not None:
                        yield found[1]

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

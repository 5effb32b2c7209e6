"""The members of a cluster that is driven, and what is on its way between them.

Messages that logs do not print are sent when somebody needs them, or before what they say is over.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import Final

from canvass.cluster.member import ElectionState, Input, Role
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
from canvass.cluster.quorum import is_quorum
from canvass.traces.alignment.channel_matching import (
    Carried,
    Channel,
    ChannelKey,
    Conflict,
    Matching,
    Receipt,
    may_be_missing,
)
from canvass.traces.alignment.live import (
    LiveMember,
    Steps,
    streams_from,
    term_of,
)
from canvass.traces.alignment.moves import END_OF_LIFE, Move, receive
from canvass.traces.alignment.replay import UNBOUNDED, Step, Upper, leads_closed
from canvass.traces.alignment.windows import SLOTS, Windows, positions_in

_CLOSED: Final = ElectionState.CLOSED


def _said(receipt: Receipt | None, name: str, least: int) -> int:
    """What a message still to be sent says of a position, which has grown since; or no bound."""
    position: int = NULL_VALUE if receipt is None else getattr(receipt.message, name)
    return max(position, least) if position >= 0 else UNBOUNDED


class DrivenCluster:
    """Members with real numbers, and their channels; ``carried`` is what a segment has left."""

    def __init__(
        self,
        windows: Mapping[int, Windows],
        matching: Matching,
        carried: Carried | None = None,
    ) -> None:
        self.windows = windows
        self.members = {
            i: LiveMember(one, self._on_send, self._limit) for i, one in windows.items()
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
            if i in windows and (receipt.hidden or not may_be_missing(windows[i]))
        }
        self._held |= {(j, receipt.step) for _, j, receipt in matching.later}
        self._unsent = {(j, r.step): i for i, j, r in matching.unmatched}
        self._hidden = frozenset().union(*(one.hidden for one in windows.values()))
        self._needs = self._needed_publications()
        self.conflicts: list[Conflict] = []
        self._is_patient = True
        if carried is not None:
            self._carry(carried)

    def _carry(self, carried: Carried) -> None:
        """Go on where the segment before has ended."""
        for i, live in self.members.items():
            live.frontier = 0  # Its trajectory begins with the state in which the segment ended.
            live.published, live.received = dict(carried.published[i]), carried.received[i]
            live.number = carried.numbers[i]
        for key, last in carried.last.items():
            channel = self._channels[key]
            channel.last = last
            unclaimed = carried.sent[key][len(channel.sent) :]
            channel.unclaimed += [one for one in unclaimed if type(one[1]).__name__ in self._hidden]

    def carried(self) -> Carried:
        """What the next segment begins with."""
        members = self.members.items()
        channels = self._channels.items()
        return Carried(
            {i: live.state for i, live in members},
            {i: live.published for i, live in members},
            {i: live.received for i, live in members},
            {i: live.number for i, live in members},
            {key: channel.sent[channel.consumed :] for key, channel in channels},
            {key: channel.last for key, channel in channels},
        )

    def _needed_publications(self) -> dict[tuple[int, int], int]:
        """How far leaders must have written in each term, by what others recorded of it."""
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
        """Match a message that leaves with the next receipt of its channel."""
        channel = self._channels.get((i, to))
        if channel is None:
            return
        head = channel.head
        if head is None:
            if type(m).__name__ in self._hidden:
                channel.unclaimed.append((number, m))
            return
        if head.accepts(m) and not self._comes_later(i, to, head):
            channel.send(number, m)
            self.members[i].received += 1
        elif type(m).__name__ in self._hidden:
            channel.unclaimed.append((number, m))

    def _comes_later(self, i: int, to: int, head: Receipt) -> bool:
        """Whether a message should leave later: its receiver has not started the process that
        received it, and the sender has another chance, or canvasses while others advance. Of
        positions that rise it has none.
        """
        m = head.message
        closed = isinstance(m, CommitPosition) and leads_closed(
            self.members[i].state, m.leadership_term_id
        )
        if closed or isinstance(m, AppendPosition):
            return False
        starts = self._starts[to]
        before = bisect_right(starts, self.members[to].frontier)
        sender = self.members[i]
        canvasses = sender.state.election_state is ElectionState.CANVASS
        another = head.latest // SLOTS > sender.frontier + 1
        return bisect_right(starts, head.step) > before and (
            another or (canvasses and self._is_patient)
        )

    def _is_last_chance(self, live: LiveMember) -> bool:
        """Whether a member that canvasses has here its last chance to send a message to a process
        that has not started yet.
        """
        i, t = live.member_id, live.frontier
        if live.state.election_state is not ElectionState.CANVASS:
            return False
        for j, channel in self._outgoing[i]:
            head = channel.head
            if head is None or channel.earliest > t or not self._comes_later(i, j, head):
                continue
            sends_after = live.windows.sends_after
            if sends_after(t, j, head.message) and not sends_after(t + 1, j, head.message):
                return True
        return False

    def _in_flight(self, i: int, j: int, repeated: Message | None = None) -> bool:
        """Whether messages of ``j`` are on their way that ``i`` receives in steps to come.

        If ``j`` repeats a message, a receipt of it without a line can be of the last one.
        """
        channel = self._channels[j, i]
        places = range(channel.consumed, len(channel.sent))
        return any(not channel.receipts[k].hidden or channel.sent[k][1] != repeated for k in places)

    def on_way(self, i: int) -> Iterator[int]:
        """The steps at which a member receives what has been sent to it.

        It cannot receive before what is sent later.
        """
        for j in self.members.keys() - {i}:
            channel = self._channels[j, i]
            for receipt in channel.receipts[channel.consumed : len(channel.sent)]:
                yield receipt.step

    def _available(self, i: int, j: int) -> list[tuple[int, Message]]:
        """Messages of ``j`` that ``i`` can receive next without a line."""
        channel = self._channels[j, i]
        channel.put_off()
        before = channel.sent[channel.consumed][0] if self._in_flight(i, j) else UNBOUNDED
        return [one for one in channel.unclaimed if channel.last < one[0] < before]

    def _limit(self, live: LiveMember, upper: Upper) -> Upper:
        """Upper bounds of a leader with what it has still to say of its position."""
        s = live.state
        term = s.module_leadership_term_id
        if not leads_closed(s, term):
            return upper
        published, committed = upper.published, upper.committed
        outgoing = self._outgoing[live.member_id]
        if upper.recorded <= published and not any(one.bounds_sender for _, one in outgoing):
            return upper
        for j, channel in outgoing:
            stop = channel.pending(StopCatchup, term) if "AppendPosition" in self._hidden else None
            if stop is not None:
                reported = self.windows[j].bounds[stop.step].recorded
                published = min(published, max(reported, s.publication_position))
            if "CommitPosition" in self._hidden:
                noted = channel.pending(CommitPosition, term, exact=True)
                committed = min(committed, _said(noted, "log_position", s.commit_position))
            announced = channel.pending(NewLeadershipTerm, term)
            published = min(published, _said(announced, "log_position", s.publication_position))
            committed = min(committed, _said(announced, "commit_position", s.commit_position))
        return Upper(min(upper.recorded, published), committed, published)

    def _adopt(self, live: LiveMember, path: Steps) -> bool:
        """Make silent steps the next ones of a member, with what others have to do before.

        False if it cannot receive the message of one of them now; those before it are taken.
        """
        for action, given, outcome in path:
            if action == "RecordLog":
                self._write_first(live, given.position)
            sender = number = -1
            if given.message is not None:
                sender = sender_of(given.message)
                number = self._obtain(live.member_id, sender, given.message)
                if number < 0:
                    return False
            live.adopt(action, given, outcome, sender=sender, number=number)
        return True

    def _obtainable(self, live: LiveMember, to: int, m: Message) -> Iterator[Move]:
        """Receipts without a line that a member can have now, and after which it sends a message to
        a member: others' reports.

        Who is active decides of nothing but the answer.
        """
        answers = live.state.role is Role.LEADER or isinstance(m, StopCatchup)
        if not self._hidden or not answers:
            return
        positions = positions_in(m) or [live.state.publication_position]
        everybody = [live.windows.moves.all]
        closed = live.state.election_state is _CLOSED
        for j in self.members:
            if j == live.member_id:
                continue
            heard = everybody if closed or j != to else live.windows.subsets
            for one in dict.fromkeys(self._reported(live.member_id, j, positions)):
                yield from (receive(one, active) for active in heard)

    def _reported(self, i: int, j: int, positions: list[int]) -> list[Message]:
        """What ``i`` can receive of ``j`` next without a line: what ``j`` has sent, and its reports
        of positions.
        """
        sent = [m for _, m in self._available(i, j)]
        reportable = self._reportable(i, self.members[j], positions)
        return sent + [m for m in reportable if not self._in_flight(i, j, m)]

    def _reportable(self, to: int, other: LiveMember, positions: list[int]) -> Iterator[Message]:
        """What a member can report to a leader now, where logs do not print it."""
        for kind in (CanvassPosition, AppendPosition):
            if kind.__name__ not in self._hidden:
                continue
            for position in positions:
                if self._can_record(other, position):
                    found = other.reports(to, kind, position)
                    if found is not None:
                        yield found[1]

    def _obtain(self, i: int, j: int, m: Message) -> int:
        """The number of a message that ``i`` receives without a line, sent now if need be."""
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
            self._adopt(self.members[j], found[0])
        return -1

    def _serves(self, live: LiveMember) -> bool:
        """Whether its leader replays the log to a follower that catches up; it has to have heard
        the follower's question, where logs do not print that.
        """
        i, leader = live.member_id, self.members.get(live.state.leader_member_id)
        if leader is None or leader.state.members[i].catchup_replay:
            return True
        asked = [m for _, m in self._available(leader.member_id, i)]
        again = live.reports(leader.member_id, CatchupPosition, NULL_VALUE)
        for m in [*asked, *([again[1]] if again is not None else [])]:
            if not isinstance(m, CatchupPosition):
                continue
            outcome = leader.take(*(move := receive(m)))
            if outcome is not None and outcome.next.members[i].catchup_replay:
                return self._adopt(leader, [(*move, outcome)])
        return False

    def _report_before_leaving(self, live: LiveMember, step: Step) -> None:
        """Send what a member's state says before it is over, where logs do not print it."""
        s, n = live.state, step.state
        if step.action == END_OF_LIFE or n.election_state is not s.election_state:
            if s.election_state is ElectionState.CANVASS and "CanvassPosition" in self._hidden:
                for _ in range(self._canvass_copies(live)):
                    live.try_step("Canvass", Input(interval=True))
            leader = streams_from(live.member_id, s)
            if "AppendPosition" in self._hidden and leader in self.members:
                for _ in range(self._report_copies(live, leader)):
                    reported = live.reports(leader, AppendPosition, NULL_VALUE)
                    self._adopt(live, reported[0] if reported is not None else [])
            if "CommitPosition" in self._hidden and s.role is Role.LEADER:
                everybody = live.windows.moves.all
                live.try_step("UpdateLeaderPosition", Input(active=everybody, commit_interval=True))

    def _canvass_copies(self, live: LiveMember) -> int:
        """How many announcements a member receives before it canvasses again."""
        count = 0
        for step in live.windows.steps[live.frontier + 1 :]:
            if step.action == END_OF_LIFE:
                break
            if count and step.state.election_state is ElectionState.CANVASS:
                break
            count += isinstance(step.given.message, NewLeadershipTerm)
        return count

    def _report_copies(self, live: LiveMember, leader: int) -> int:
        """How many reports of a member its leader may still answer with the end of a catch-up."""
        channel = self._channels[leader, live.member_id]
        left = channel.receipts[len(channel.sent) :]
        return max(1, sum(isinstance(receipt.message, StopCatchup) for receipt in left))

    def _can_record(self, live: LiveMember, position: int) -> bool:
        """Whether the leader that a member records from has written so far, or can do it now."""
        s = live.state
        leader = self.members.get(streams_from(live.member_id, s))
        if position <= s.recorded_position or leader is None:
            return True
        term = term_of(s)
        if leader.published.get(term, -1) >= position:
            return True
        upper = max(leader.upper.published, leader.state.publication_position)
        return leads_closed(leader.state, term) and position <= upper

    def _notes(self, live: LiveMember, step: Step) -> bool:
        """Whether a member that copies a log has noted as much of it as its vote in a step says.

        It reports to its leader what it notes.
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
            self._adopt(live, reported[0] if reported is not None else [])
        return live.state.append_position >= noted

    def _write_first(self, live: LiveMember, position: int) -> None:
        """Let the leader write what a member is about to record."""
        leader = self.members.get(streams_from(live.member_id, live.state))
        term = term_of(live.state)
        behind = leader is not None and leader.published.get(term, -1) < position
        if leader is not None and behind and leads_closed(leader.state, term):
            leader.try_step("AppendEntry", Input(position=position))

    def _record_elsewhere(self, live: LiveMember, position: int) -> None:
        """Let others record what a member is about to process, if no quorum is seen to have it.

        A follower of 1.49 replays what it has recorded, committed or not. How far the others have
        recorded then no line says: it is taken to be as much, where that is possible.
        """
        log = live.state.recording_log
        behind = [one for one in self.members.values() if one.state.recorded_position < position]
        if not log or is_quorum(len(self.members) - len(behind), len(self.members)):
            return
        for one in behind:
            s = one.state
            if s.module_leadership_term_id != log[-1].leadership_term_id:
                continue
            if one.upper.recorded < position or not self._can_record(one, position):
                continue
            if leads_closed(s, s.module_leadership_term_id):
                if one.upper.published >= position:
                    one.try_step("AppendEntry", Input(position=position))
            else:
                self._write_first(one, position)
            one.try_step("RecordLog", Input(position=position))

"""All members driven together, without a clock: placing of sends and emission are one loop.

A member advances unless its next receipt is not sent yet, a message that others received is at its
last chance, or a position is not written yet by its leader. A message is sent as soon as the member
can send it. Where nobody can advance, what is waited for is the conflict.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from canvass.cluster.copies import replace
from canvass.cluster.member import ElectionState, Input, Member, Role
from canvass.cluster.messages import (
    NULL_VALUE,
    AppendPosition,
    CanvassPosition,
    CommitPosition,
    Message,
    NewLeadershipTerm,
    StopCatchup,
    TerminationPosition,
)
from canvass.cluster.outcome import Outcome
from canvass.cluster.quorum import is_quorum
from canvass.traces.alignment.bounds import UNBOUNDED, Upper, leads_closed
from canvass.traces.alignment.channel_matching import ChannelKey, Matching, Receipt
from canvass.traces.alignment.live import (
    LiveMember,
    Steps,
    accepts_at_least,
    accepts_exactly,
    streams_from,
    term_of,
)
from canvass.traces.alignment.moves import ASSUME_COMMIT, END_OF_LIFE
from canvass.traces.alignment.printing import printed_lines
from canvass.traces.alignment.replay import Step
from canvass.traces.alignment.windows import SLOTS, Windows, positions_in, sender_of

_CLOSED: Final = ElectionState.CLOSED
COPIES: Final = 20
"""Canvass positions that a member is taken to have sent in one election, where no log shows them."""


@dataclass(slots=True)
class Conflict:
    """Where the members cannot go on.

    Parameters
    ----------
    member_id, step
        The step of the trajectory that cannot be taken.
    reason
        What it waits for.
    """

    member_id: int
    step: int
    reason: str


@dataclass(slots=True)
class _Channel:
    """The receipts of one channel, with how many of them have been sent and consumed.

    Parameters
    ----------
    receipts, sent
        What is received, and of as many as have been sent the number and the message.
    consumed
        How many of them have been received.
    unclaimed
        Messages of kinds that logs do not print, which nobody has received yet.
    last
        The number of the last message that was received.
    """

    receipts: list[Receipt] = field(default_factory=list)
    sent: list[tuple[int, Message]] = field(default_factory=list)
    consumed: int = 0
    unclaimed: list[tuple[int, Message]] = field(default_factory=list)
    last: int = 0
    _next: dict[type[Message], list[int]] = field(default_factory=dict)

    @property
    def head(self) -> Receipt | None:
        """The next receipt that is to be sent."""
        sent = len(self.sent)
        return self.receipts[sent] if sent < len(self.receipts) else None

    def pending(self, kind: type[Message]) -> Receipt | None:
        """The next receipt of a kind that is still to be sent."""
        following = self._next.get(kind)
        if following is None:
            following = self._next[kind] = [len(self.receipts)] * (len(self.receipts) + 1)
            for index in range(len(self.receipts) - 1, -1, -1):
                same = isinstance(self.receipts[index].message, kind)
                following[index] = index if same else following[index + 1]
        at = following[len(self.sent)]
        return self.receipts[at] if at < len(self.receipts) else None


def _accepts(receipt: Receipt) -> Callable[[Message], bool]:
    """A test for the messages that a receipt can be of."""
    m = receipt.message
    return accepts_at_least(m) if receipt.at_least else accepts_exactly(m)


def _may_be_missing(one: Windows) -> bool:
    """Whether steps of a member are known to be missing."""
    return any(step.gap for step in one.steps)


class Schedule:
    """Drives the members of one cluster.

    Parameters
    ----------
    windows
        Of each member.
    matching
        Of the receipts.
    """

    def __init__(self, windows: Mapping[int, Windows], matching: Matching) -> None:
        self.windows = windows
        self.members = {
            i: LiveMember(one, one.before, self._on_send, self._limit) for i, one in windows.items()
        }
        self._channels: dict[ChannelKey, _Channel] = {
            (i, j): _Channel() for i in windows for j in windows if i != j
        }
        self._wanted: dict[tuple[int, int], tuple[ChannelKey, int]] = {}
        for key, receipts in matching.channels.items():
            self._channels[key] = _Channel(receipts)
            for number, receipt in enumerate(receipts):
                self._wanted[key[1], receipt.step] = key, number
        self._starts = {
            i: [t for t, step in enumerate(one.steps) if step.action == "Restart"]
            for i, one in windows.items()
        }
        self._held = {
            (j, receipt.step)
            for i, j, receipt in matching.unmatched
            if i in windows and (receipt.hidden or not _may_be_missing(windows[i]))
        }
        self._unsent = {(j, r.step): i for i, j, r in matching.unmatched}
        self._hidden = frozenset().union(*(one.hidden for one in windows.values()))
        self._needs = self._needed_publications()
        self.conflicts: list[Conflict] = []

    def run(self) -> bool:
        """Drive all members to the ends of their trajectories; false if they cannot get there."""
        progress = True
        while progress:
            progress = False
            for live in self.members.values():
                while self._advance(live):
                    progress = True
        ends = [live for live in self.members.values() if live.next_step() is not None]
        self.conflicts = [
            Conflict(live.member_id, live.frontier + 1, self._reason(live)) for live in ends
        ]
        return not ends

    def circular(self) -> list[tuple[int, Receipt]]:
        """The receipts without a line for which members wait, in a circle if there is one."""
        waits: dict[int, tuple[int, Receipt]] = {}
        for conflict in self.conflicts:
            wanted = self._wanted.get((conflict.member_id, conflict.step))
            if wanted is not None and len(self._channels[wanted[0]].sent) <= wanted[1]:
                receipt = self._channels[wanted[0]].receipts[wanted[1]]
                waits[conflict.member_id] = wanted[0][0], receipt
        hidden = [(j, receipt) for j, (_, receipt) in waits.items() if receipt.hidden]
        circle: list[tuple[int, Receipt]] = []
        for j, receipt in hidden:
            at, passed = waits[j][0], {j}
            while at in waits and at not in passed:
                passed.add(at)
                at = waits[at][0]
            if at == j:
                circle.append((j, receipt))
        return circle or hidden

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
                if isinstance(m, AppendPosition):
                    s = self.windows[i].steps[receipt.earliest // SLOTS].state
                    if streams_from(i, s) == j:
                        key = j, term_of(s)
                        needs[key] = max(needs.get(key, -1), m.log_position)
        return needs

    # One member.

    def _advance(self, live: LiveMember) -> bool:
        """Send what can be sent, then take the next step of a trajectory if nothing holds it."""
        sent = self._send_pending(live)
        step = live.next_step()
        if step is None or self._is_held(live, step):
            return sent
        return self._take(live, step) or sent

    def _is_held(self, live: LiveMember, step: Step) -> bool:
        i = live.member_id
        if (i, live.frontier + 1) in self._held:
            return True
        for j in self.members:
            head = self._channels[i, j].head if j != i else None
            if head is not None and head.latest // SLOTS <= live.frontier:
                return True
        wanted = self._wanted.get((i, live.frontier + 1))
        if wanted is not None and len(self._channels[wanted[0]].sent) <= wanted[1]:
            return True
        position = step.given.position
        if step.action == "RecordLog" and not self._can_record(live, position):
            return True
        grown = {"AppendEntry": live.upper.published, ASSUME_COMMIT: live.upper.committed}
        return bool(self._hidden) and position > grown.get(step.action, UNBOUNDED)

    def _reason(self, live: LiveMember) -> str:
        i = live.member_id
        for j in self.members:
            head = self._channels[i, j].head if j != i else None
            if head is not None and head.latest // SLOTS <= live.frontier:
                return f"member {j} received {head.message}, which member {i} cannot have sent"
        wanted = self._wanted.get((i, live.frontier + 1))
        if wanted is not None and len(self._channels[wanted[0]].sent) <= wanted[1]:
            m = self._channels[wanted[0]].receipts[wanted[1]].message
            return f"member {wanted[0][0]} has not sent {m}"
        return "the step is not possible with what others did before"

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
        if _accepts(head)(m) and not self._comes_later(i, to, head):
            channel.sent.append((number, m))
            self.members[i].received += 1
        elif type(m).__name__ in self._hidden:
            channel.unclaimed.append((number, m))

    def _comes_later(self, i: int, to: int, head: Receipt) -> bool:
        """Whether a message should leave later: its receiver has not started the process that
        received it, and the sender has another chance.
        """
        starts = self._starts[to]
        before = bisect_right(starts, self.members[to].frontier)
        return (
            bisect_right(starts, head.step) > before
            and head.latest // SLOTS > self.members[i].frontier + 1
        )

    def _send_pending(self, live: LiveMember) -> bool:
        """Send the messages that others received and that can leave in the state now."""
        i, sent = live.member_id, False
        if live.frontier < 0:
            return False
        for j in self.members:
            while i != j and self._send_head(live, j):
                sent = True
        return sent

    def _send_head(self, live: LiveMember, j: int) -> bool:
        i, t = live.member_id, live.frontier
        channel = self._channels[i, j]
        head = channel.head
        if head is None or head.earliest // SLOTS > t or self._comes_later(i, j, head):
            return False
        m = head.message
        if not live.windows.places(t, j, m)[1]:
            return False
        if isinstance(m, AppendPosition) and not self._can_record(live, m.log_position):
            return False
        if isinstance(m, TerminationPosition) and not self._is_next_everywhere(live, m):
            return False
        if self._hidden and isinstance(m, NewLeadershipTerm | CommitPosition):
            self._reach(live, m)
            if isinstance(m, CommitPosition) and leads_closed(live.state, m.leadership_term_id):
                if live.state.commit_position < m.log_position:
                    return False
        path = live.find(j, m, _accepts(head), lambda: self._obtainable(live, m))
        before = len(channel.sent)
        self._adopt(live, path)
        return len(channel.sent) > before

    def _reach(self, live: LiveMember, m: NewLeadershipTerm | CommitPosition) -> None:
        """Let a closed leader reach what a message says, where reports are not in its log."""
        s = live.state
        if not leads_closed(s, m.leadership_term_id):
            return
        answers = isinstance(m, NewLeadershipTerm)
        committed = m.commit_position if isinstance(m, NewLeadershipTerm) else m.log_position
        if committed > s.commit_position:
            self._commit(live, committed)
        if answers and live.state.publication_position < m.log_position <= live.upper.published:
            live.try_step("AppendEntry", Input(position=m.log_position))

    # Messages that logs do not print.

    def _adopt(self, live: LiveMember, path: Steps) -> None:
        """Make silent steps the next ones of a member, with what others have to do before."""
        for action, given, outcome in path:
            if action == "RecordLog":
                self._write_first(live, given.position)
            sender = number = -1
            if given.message is not None:
                sender = sender_of(given.message)
                number = self._obtain(live.member_id, sender, given.message)
            live.adopt(action, given, outcome, sender=sender, number=number)

    def _obtainable(self, live: LiveMember, m: Message) -> Iterator[Input]:
        """Receipts without a line that a leader can have now: others' reports."""
        if not self._hidden or live.state.role is not Role.LEADER:
            return
        positions = positions_in(m) or [live.state.publication_position]
        closed = live.state.election_state is _CLOSED
        heard = [live.windows.moves.all] if closed else live.windows.subsets
        for j, other in self.members.items():
            if j == live.member_id:
                continue
            for _, sent in self._available(live.member_id, j):
                for active in heard:
                    yield Input(message=sent, active=active)
            if self._in_flight(live.member_id, j):
                continue
            for kind in (CanvassPosition, AppendPosition):
                if kind.__name__ not in self._hidden:
                    continue
                for position in positions:
                    if not self._can_record(other, position):
                        continue
                    found = other.reports(live.member_id, kind, position)
                    for active in heard if found is not None else ():
                        yield Input(message=found[1], active=active)

    def _in_flight(self, i: int, j: int) -> bool:
        """Whether messages of ``j`` that lines show are on their way to ``i``."""
        channel = self._channels[j, i]
        return len(channel.sent) > channel.consumed

    def _available(self, i: int, j: int) -> list[tuple[int, Message]]:
        """Messages of ``j`` that ``i`` can receive next without a line."""
        channel = self._channels[j, i]
        before = channel.sent[channel.consumed][0] if self._in_flight(i, j) else UNBOUNDED
        return [one for one in channel.unclaimed if channel.last < one[0] < before]

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

    def _report_before_leaving(self, live: LiveMember, step: Step) -> None:
        """Send what a member's state says, where no log shows who received it, before it is over."""
        s, n = live.state, step.state
        if step.action == END_OF_LIFE or n.election_state is not s.election_state:
            if s.election_state is ElectionState.CANVASS and "CanvassPosition" in self._hidden:
                for _ in range(self._canvass_copies(live)):
                    live.try_step("Canvass", Input(interval=True))
            if "AppendPosition" in self._hidden and streams_from(live.member_id, s) >= 0:
                live.try_step("UpdateFollowerPosition")
            if "CommitPosition" in self._hidden and s.role is Role.LEADER:
                everybody = live.windows.moves.all
                live.try_step("UpdateLeaderPosition", Input(active=everybody, commit_interval=True))

    def _canvass_copies(self, live: LiveMember) -> int:
        """How many announcements a member receives before it canvasses again."""
        count = 0
        for step in live.windows.steps[live.frontier + 1 :]:
            if step.action == END_OF_LIFE or count >= COPIES:
                break
            if count and step.state.election_state is ElectionState.CANVASS:
                break
            count += isinstance(step.given.message, NewLeadershipTerm)
        return count

    def _report_on_entering(self, live: LiveMember, before: Member) -> None:
        at = live.state.election_state
        if at is not before.election_state and at is ElectionState.CANVASS:
            if "CanvassPosition" in self._hidden:
                live.try_step("Canvass", Input(interval=True))

    def _is_next_everywhere(self, live: LiveMember, m: Message) -> bool:
        """Whether a message that is sent to all at once, and once only, is next in each channel."""
        for j in self.members:
            if j == live.member_id:
                continue
            channel = self._channels[live.member_id, j]
            receipt = channel.pending(type(m))
            if receipt is not None and receipt.message == m and receipt is not channel.head:
                return False
        return True

    def _reach(self, live: LiveMember, m: NewLeadershipTerm | CommitPosition) -> None:
        """Let a closed leader reach what a message says, where reports are not in its log."""
        s = live.state
        if not leads_closed(s, m.leadership_term_id):
            return
        answers = isinstance(m, NewLeadershipTerm)
        committed = m.commit_position if isinstance(m, NewLeadershipTerm) else m.log_position
        if committed > s.commit_position:
            self._commit(live, committed)
        if answers and live.state.publication_position < m.log_position <= live.upper.published:
            live.try_step("AppendEntry", Input(position=m.log_position))

    # Messages that logs do not print.

    def _adopt(self, live: LiveMember, path: Steps) -> None:
        """Make silent steps the next ones of a member, with what others have to do before."""
        for action, given, outcome in path:
            if action == "RecordLog":
                self._write_first(live, given.position)
            sender = number = -1
            if given.message is not None:
                sender = sender_of(given.message)
                number = self._obtain(live.member_id, sender, given.message)
            live.adopt(action, given, outcome, sender=sender, number=number)

    def _obtainable(self, live: LiveMember, m: Message) -> Iterator[Input]:
        """Receipts without a line that a leader can have now: others' reports."""
        if not self._hidden or live.state.role is not Role.LEADER:
            return
        positions = positions_in(m) or [live.state.publication_position]
        closed = live.state.election_state is _CLOSED
        heard = [live.windows.moves.all] if closed else live.windows.subsets
        for j, other in self.members.items():
            if j == live.member_id:
                continue
            for _, sent in self._available(live.member_id, j):
                for active in heard:
                    yield Input(message=sent, active=active)
            if self._in_flight(live.member_id, j):
                continue
            for kind in (CanvassPosition, AppendPosition):
                if kind.__name__ not in self._hidden:
                    continue
                for position in positions:
                    if not self._can_record(other, position):
                        continue
                    found = other.reports(live.member_id, kind, position)
                    for active in heard if found is not None else ():
                        yield Input(message=found[1], active=active)

    def _in_flight(self, i: int, j: int) -> bool:
        """Whether messages of ``j`` that lines show are on their way to ``i``."""
        channel = self._channels[j, i]
        return len(channel.sent) > channel.consumed

    def _available(self, i: int, j: int) -> list[tuple[int, Message]]:
        """Messages of ``j`` that ``i`` can receive next without a line."""
        channel = self._channels[j, i]
        before = channel.sent[channel.consumed][0] if self._in_flight(i, j) else UNBOUNDED
        return [one for one in channel.unclaimed if channel.last < one[0] < before]

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

    def _report_before_leaving(self, live: LiveMember, step: Step) -> None:
        """Send what a member's state says, where no log shows who received it, before it is over."""
        s, n = live.state, step.state
        if step.action == END_OF_LIFE or n.election_state is not s.election_state:
            if s.election_state is ElectionState.CANVASS and "CanvassPosition" in self._hidden:
                for _ in range(self._canvass_copies(live)):
                    live.try_step("Canvass", Input(interval=True))
            if "AppendPosition" in self._hidden and streams_from(live.member_id, s) >= 0:
                live.try_step("UpdateFollowerPosition")
            if "CommitPosition" in self._hidden and s.role is Role.LEADER:
                everybody = live.windows.moves.all
                live.try_step("UpdateLeaderPosition", Input(active=everybody, commit_interval=True))

    def _canvass_copies(self, live: LiveMember) -> int:
        """How many announcements a member receives before it canvasses again."""
        count = 0
        for step in live.windows.steps[live.frontier + 1 :]:
            if step.action == END_OF_LIFE or count >= COPIES:
                break
            if count and step.state.election_state is ElectionState.CANVASS:
                break
            count += isinstance(step.given.message, NewLeadershipTerm)
        return count

    def _report_on_entering(self, live: LiveMember, before: Member) -> None:
        at = live.state.election_state
        if at is not before.election_state and at is ElectionState.CANVASS:
            if "CanvassPosition" in self._hidden:
                live.try_step("Canvass", Input(interval=True))

    def _may_report(self, live: LiveMember, position: int) -> bool:
        """Whether a follower may have recorded so far by now."""
        return self._can_record(live, position)

    # What is written and recorded.

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

    def _write_first(self, live: LiveMember, position: int) -> None:
        """Let the leader write what a member is about to record."""
        leader = self.members.get(streams_from(live.member_id, live.state))
        term = term_of(live.state)
        if leader is not None and leader.published.get(term, -1) < position:
            if leads_closed(leader.state, term):
                leader.try_step("AppendEntry", Input(position=position))

    def _commit(self, live: LiveMember, target: int = -1) -> bool:
        """Let a closed leader commit: as far as it may, or exactly up to a target."""
        if "AppendPosition" in self._hidden:
            return target >= 0 and self._commit_unlogged(live, target)
        s, upper, windows = live.state, live.upper, live.windows
        high_recorded, high_committed = upper.recorded, upper.committed
        for position in self._pending_commits(live):
            high_recorded = min(high_recorded, max(position, s.recorded_position))
            if target < 0:
                high_committed = min(high_committed, position)
        reported = max((r.log_position for r in s.members), default=0)
        best: list[tuple[str, Input, Outcome]] = []
        reached = s.commit_position
        wanted = min(reported, high_recorded, max(upper.published, s.publication_position))
        options = {s.recorded_position, wanted, *((target,) if target >= 0 else ())}
        for recorded in sorted(options):
            if recorded < s.recorded_position or recorded > high_recorded:
                continue
            path = self._record_own(live, recorded)
            if path is None:
                continue
            at = path[-1][2].next if path else s
            for active in windows.subsets:
                given = Input(active=active)
                outcome = windows.moves.take(at, "UpdateLeaderPosition", given)
                if outcome is None:
                    continue
                commit = outcome.next.commit_position
                exact = target < 0 or commit == target
                if exact and reached < commit <= high_committed:
                    reached, best = commit, [*path, ("UpdateLeaderPosition", given, outcome)]
        self._adopt(live, best)
        return bool(best)

    def _commit_unlogged(self, live: LiveMember, target: int) -> bool:
        """Let a closed leader commit up to a target by reports that no line shows."""
        s = live.state
        own = self._record_own(live, target)
        if own is None or target > live.upper.committed:
            return False
        reports: list[Message] = []
        counted = {live.member_id}
        term = s.module_leadership_term_id
        for j in self.members:
            if j == live.member_id or is_quorum(len(counted), len(s.members)):
                continue
            known = s.members[j]
            if known.log_position >= target and known.leadership_term_id == term:
                counted.add(j)
                continue
            report = self._report_of(live, j, target)
            if report is not None:
                reports.append(report)
                counted.add(j)
        if not is_quorum(len(counted), len(s.members)):
            return False
        self._adopt(live, own)
        for report in reports:
            outcome = live.take("OnAppendPosition", given := Input(message=report))
            if outcome is not None:
                self._adopt(live, [("OnAppendPosition", given, outcome)])
        return live.try_step("UpdateLeaderPosition", Input(active=frozenset(counted)))

    def _report_of(self, live: LiveMember, j: int, position: int) -> Message | None:
        """A report of a member that it has recorded a position in the leader's term."""
        term = live.state.module_leadership_term_id
        found = [
            m
            for _, m in self._available(live.member_id, j)
            if isinstance(m, AppendPosition) and m.leadership_term_id == term
        ]
        far = [m for m in found if m.log_position >= position]
        if far:
            return min(far, key=lambda m: m.log_position)
        other = self.members[j]
        if self._in_flight(live.member_id, j) or not self._can_record(other, position):
            return None
        reported = other.reports(live.member_id, AppendPosition, position)
        m = reported[1] if reported is not None else None
        if isinstance(m, AppendPosition) and m.leadership_term_id == term:
            return m if m.log_position >= position else None
        return None

    def _record_own(
        self, live: LiveMember, recorded: int
    ) -> list[tuple[str, Input, Outcome]] | None:
        """The steps by which a leader writes and records up to a position."""
        path: list[tuple[str, Input, Outcome]] = []
        s = live.state
        given = Input(position=recorded)
        for action, now in (
            ("AppendEntry", s.publication_position),
            ("RecordLog", s.recorded_position),
        ):
            if recorded <= now:
                continue
            outcome = live.windows.moves.take(s, action, given)
            if outcome is None:
                return None
            path.append((action, given, outcome))
            s = outcome.next
        return path

    def _pending_commits(self, live: LiveMember) -> list[int]:
        """The next commit position of each channel that is still to be sent in the leader's term."""
        term = live.state.module_leadership_term_id
        found = []
        for j in self.members:
            if j != live.member_id:
                receipt = self._channels[live.member_id, j].pending(CommitPosition)
                m = receipt.message if receipt is not None else None
                if isinstance(m, CommitPosition) and m.leadership_term_id == term:
                    found.append(m.log_position)
        return found

    def _limit(self, live: LiveMember, upper: Upper) -> Upper:
        """Upper bounds of a leader with what it has still to say of its position."""
        s = live.state
        term = s.module_leadership_term_id
        if not leads_closed(s, term):
            return upper
        published, committed = upper.published, upper.committed
        for j in self.members:
            if j == live.member_id:
                continue
            channel = self._channels[live.member_id, j]
            stop = channel.pending(StopCatchup) if "AppendPosition" in self._hidden else None
            if stop is not None and getattr(stop.message, "leadership_term_id") == term:
                reported = self.windows[j].bounds[stop.step].recorded
                published = min(published, max(reported, s.publication_position))
            announced = channel.pending(NewLeadershipTerm)
            m = announced.message if announced is not None else None
            if isinstance(m, NewLeadershipTerm) and m.leadership_term_id == term:
                published = min(published, max(m.log_position, s.publication_position))
                if m.commit_position >= 0:
                    committed = min(committed, max(m.commit_position, s.commit_position))
        return Upper(min(upper.recorded, published), committed, published)

    # The next step of a trajectory.

    def _take(self, live: LiveMember, step: Step) -> bool:
        """Take the next step of a member's trajectory; false if it is not possible now."""
        self._prepare(live, step)
        if self._hidden:
            self._report_before_leaving(live, step)
        s, action, position = live.state, step.action, step.given.position
        done = {
            "RecordLog": s.recorded_position >= position,
            "AppendEntry": s.publication_position >= position,
            "ConsumeLog": s.commit_position >= position,
            "InitiateTermination": s.termination_position >= 0,
            ASSUME_COMMIT: s.commit_position >= position,
            END_OF_LIFE: True,
        }
        if step.false:
            self._take_false(live, step)
        elif step.resynchronised:
            live.adopt(action, step.given, step.outcome, lines=step.lines, gap=True)
        elif done.get(action, False):
            if step.lines and live.emitted and action != END_OF_LIFE:
                return False
        elif action == ASSUME_COMMIT:
            if not self._commit(live, position):
                return False
        elif not self._take_step(live, step) and not self._take_informed(live, step):
            return False
        live.frontier += 1
        if action == "Restart":
            for (_, j), channel in self._channels.items():
                if j == live.member_id:
                    channel.unclaimed.clear()
        if self._hidden:
            self._report_on_entering(live, s)
        if live.state.role is Role.LEADER and live.state.election_state is _CLOSED:
            if step.given.message is not None:
                self._commit(live)
        return True

    def _take_false(self, live: LiveMember, step: Step) -> None:
        """End a member's run with what a false line says: a step that is impossible."""
        m = step.given.message
        outcome = Outcome(live.state)
        if m is None:
            closed = live.state.election_state is _CLOSED
            action = "ElectionInit" if closed else "EnterElection"
            live.adopt(action, Input(), outcome, lines=step.lines)
            return
        sender = sender_of(m)
        if sender not in self.members or sender == live.member_id:
            sender = next((j for j in self.members if j != live.member_id), -1)
        live.adopt(step.action, step.given, outcome, lines=step.lines, sender=sender)

    def _prepare(self, live: LiveMember, step: Step) -> None:
        """Write what must be written before a leader leaves its term, or records it."""
        s = live.state
        if s.role is not Role.LEADER or s.election_state is not _CLOSED:
            if step.action == "RecordLog":
                self._write_first(live, step.given.position)
            return
        leaves = step.state.election_state is not _CLOSED or step.action in (
            END_OF_LIFE,
            "Terminate",
        )
        need = self._needs.get((live.member_id, term_of(s)), -1) if leaves else -1
        if step.action == "RecordLog":
            need = max(need, step.given.position)
        if need > s.publication_position:
            live.try_step("AppendEntry", Input(position=need))
        m = step.given.message
        if m is not None and not leaves:
            self._reach_answers(live)

    def _reach_answers(self, live: LiveMember) -> None:
        """Commit up to what a closed leader's next answers say, if they are answers of this step."""
        t = live.frontier + 1
        for j in self.members:
            head = self._channels[live.member_id, j].head if j != live.member_id else None
            if head is None or not isinstance(head.message, NewLeadershipTerm):
                continue
            m = head.message
            answered = head.earliest // SLOTS <= t and live.windows.places(t, j, m)[0] >= 0
            if answered and m.commit_position > live.state.commit_position:
                self._commit(live, m.commit_position)
            if answered and m.log_position > live.state.publication_position:
                if self._answers(live, live.windows.steps[t], j, m, m.log_position):
                    live.try_step("AppendEntry", Input(position=m.log_position))

    def _answers(self, live: LiveMember, step: Step, j: int, m: Message, position: int) -> bool:
        """Whether a step sends a message once so much is written."""
        grown = replace(live.state, publication_position=position)
        outcome = live.windows.moves.take(grown, step.action, step.given)
        return outcome is not None and any(
            send.to == j and send.message == m for send in outcome.sends
        )

    def _take_informed(self, live: LiveMember, step: Step) -> bool:
        """Take a step once the member has a report or commit position that its log does not show."""
        i, leader = live.member_id, live.state.leader_member_id
        if leader == i and "AppendPosition" in self._hidden:
            return self._take_reported(live, step)
        if "CommitPosition" not in self._hidden or leader not in self.members or leader == i:
            return False
        found = [m for _, m in self._available(i, leader) if isinstance(m, CommitPosition)]
        if not self._in_flight(i, leader):
            reported = self.members[leader].reports(i, CommitPosition, NULL_VALUE)
            found += [reported[1]] if reported is not None else []  # type: ignore[list-item]
        for m in found:
            given = Input(message=m)
            outcome = live.take("OnCommitPosition", given)
            if outcome is None or outcome.next == live.state:
                continue
            for after in live.inputs(step):
                following = live.windows.moves.take(outcome.next, step.action, after)
                if following is not None and live.agrees(step, following.next):
                    self._adopt(live, [("OnCommitPosition", given, outcome)])
                    return self._take_step(live, step)
        return False

    def _take_reported(self, live: LiveMember, step: Step) -> bool:
        """Take a step of an election leader once followers have reported again in its term."""
        term, position = term_of(live.state), live.state.append_position
        taken = False
        for j in self.members:
            if j == live.member_id or self._in_flight(live.member_id, j):
                continue
            reported = self.members[j].reports(live.member_id, AppendPosition, position)
            m = reported[1] if reported is not None else None
            if not isinstance(m, AppendPosition) or m.leadership_term_id != term:
                continue
            outcome = live.take("OnAppendPosition", given := Input(message=m))
            if outcome is None or outcome.next == live.state:
                continue
            self._adopt(live, [("OnAppendPosition", given, outcome)])
            if self._take_step(live, step):
                return True
            taken = True
        return taken and self._take_step(live, step)

    def _take_step(self, live: LiveMember, step: Step) -> bool:
        i, t = live.member_id, live.frontier + 1
        s, lines = live.state, live.windows.trajectory.lines
        best: tuple[int, int] | None = None
        chosen: tuple[Input, Outcome] | None = None
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
            start = step.lines.start + (1 if step.given.message is not None else 0)
            printed = printed_lines(step.action, s, outcome)
            said = [line for line in printed if lines.vocabulary.prints(line.kind)]
            if step.lines and not all(
                line.agrees(lines.records[start + place]) for place, line in enumerate(said)
            ):
                continue
            score = self._met(i, t, outcome), -len(outcome.sends)
            if best is None or score > best:
                best, chosen = score, (given, outcome)
        if chosen is None:
            return False
        given, outcome = chosen
        sender, number = self._consume(i, t)
        live.adopt(
            step.action,
            given,
            outcome,
            lines=step.lines,
            sender=sender,
            number=number,
            gap=bool(step.gap),
        )
        return True

    def _met(self, i: int, t: int, outcome: Outcome) -> int:
        """How many receipts the sends of a step meet."""
        met = 0
        for j in self.members:
            if j == i:
                continue
            channel = self._channels[i, j]
            place = len(channel.sent)
            for send in outcome.sends:
                if send.to != j or place >= len(channel.receipts):
                    continue
                receipt = channel.receipts[place]
                if _accepts(receipt)(send.message) and receipt.earliest // SLOTS <= t:
                    place += 1
                    met += 1
        return met

    def _consume(self, i: int, t: int) -> tuple[int, int]:
        """Sender and number of the message that a step consumes."""
        wanted = self._wanted.get((i, t))
        if wanted is None:
            return self._unsent.get((i, t), -1), -1
        key, place = wanted
        channel = self._channels[key]
        channel.consumed = place + 1
        channel.last = max(channel.last, channel.sent[place][0])
        return key[0], channel.sent[place][0]

"""All members driven together, without a clock: placing of sends and emission are one loop.

A member advances unless its next receipt is not sent yet, a message that others received is at its
last chance, or a position is not written yet by its leader. A message is sent as soon as the member
can send it. Where nobody can advance, what is waited for is the conflict.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from canvass.cluster.copies import replace
from canvass.cluster.member import ElectionState, Input, Role
from canvass.cluster.messages import (
    AppendPosition,
    CommitPosition,
    Message,
    NewLeadershipTerm,
)
from canvass.cluster.outcome import Outcome
from canvass.traces.alignment.bounds import leads_closed
from canvass.traces.alignment.channel_matching import ChannelKey, Matching, Receipt
from canvass.traces.alignment.live import (
    LiveMember,
    accepts_at_least,
    accepts_exactly,
    streams_from,
    term_of,
)
from canvass.traces.alignment.moves import ASSUME_COMMIT, END_OF_LIFE
from canvass.traces.alignment.printing import printed_lines
from canvass.traces.alignment.replay import Step
from canvass.traces.alignment.windows import AFTER, SLOTS, Windows

_CLOSED: Final = ElectionState.CLOSED
PENDING: Final = 40
"""Receipts of a channel among which its next commit position is looked for."""


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
    """The receipts of one channel, with how many of them have been sent and consumed."""

    receipts: list[Receipt] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    consumed: int = 0

    @property
    def head(self) -> Receipt | None:
        """The next receipt that is to be sent."""
        sent = len(self.numbers)
        return self.receipts[sent] if sent < len(self.receipts) else None


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
            i: LiveMember(one, one.before, self._on_send) for i, one in windows.items()
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
        self._unsent = {(j, r.step): i for i, j, r in matching.unmatched}
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
        for j in self.members:
            head = self._channels[i, j].head if j != i else None
            if head is not None and head.latest // SLOTS <= live.frontier:
                return True
        wanted = self._wanted.get((i, live.frontier + 1))
        if wanted is not None and len(self._channels[wanted[0]].numbers) <= wanted[1]:
            return True
        return step.action == "RecordLog" and not self._can_record(live, step.given.position)

    def _reason(self, live: LiveMember) -> str:
        i = live.member_id
        for j in self.members:
            head = self._channels[i, j].head if j != i else None
            if head is not None and head.latest // SLOTS <= live.frontier:
                return f"member {j} received {head.message}, which member {i} cannot have sent"
        wanted = self._wanted.get((i, live.frontier + 1))
        if wanted is not None and len(self._channels[wanted[0]].numbers) <= wanted[1]:
            m = self._channels[wanted[0]].receipts[wanted[1]].message
            return f"member {wanted[0][0]} has not sent {m}"
        return "the step is not possible with what others did before"

    def _on_send(self, i: int, to: int, m: Message, number: int) -> None:
        """Match a message that leaves with the next receipt of its channel."""
        channel = self._channels.get((i, to))
        head = channel.head if channel is not None else None
        if channel is None or head is None:
            return
        if m == head.message and not self._comes_later(i, to, head):
            channel.numbers.append(number)
            self.members[i].received += 1

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
        if isinstance(m, AppendPosition) and not self._may_report(live, m.log_position):
            return False
        path = live.find(j, m, accepts_exactly(m))
        if not path:
            return False
        before = len(channel.numbers)
        for action, given, outcome in path:
            if action == "RecordLog":
                self._write_first(live, given.position)
            live.adopt(action, given, outcome)
        return len(channel.numbers) > before

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
        for action, given, outcome in best:
            live.adopt(action, given, outcome)
        return bool(best)

    def _record_own(
        self, live: LiveMember, recorded: int
    ) -> list[tuple[str, Input, Outcome]] | None:
        """The steps by which a leader writes and records up to a position."""
        path: list[tuple[str, Input, Outcome]] = []
        s = live.state
        given = Input(position=recorded)
        for action, now in (("AppendEntry", s.publication_position), ("RecordLog", s.recorded_position)):
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
        found, term = [], live.state.module_leadership_term_id
        for j in self.members:
            if j == live.member_id:
                continue
            channel = self._channels[live.member_id, j]
            sent = len(channel.numbers)
            for receipt in channel.receipts[sent : sent + PENDING]:
                m = receipt.message
                if isinstance(m, CommitPosition):
                    if m.leadership_term_id == term:
                        found.append(m.log_position)
                    break
        return found

    # The next step of a trajectory.

    def _take(self, live: LiveMember, step: Step) -> bool:
        """Take the next step of a member's trajectory; false if it is not possible now."""
        self._prepare(live, step)
        s, action, position = live.state, step.action, step.given.position
        done = {
            "RecordLog": s.recorded_position >= position,
            "AppendEntry": s.publication_position >= position,
            "ConsumeLog": s.commit_position >= position,
            "InitiateTermination": s.termination_position >= 0,
            ASSUME_COMMIT: s.commit_position >= position,
            END_OF_LIFE: True,
        }
        if step.resynchronised:
            live.adopt(action, step.given, step.outcome, lines=step.lines, gap=True)
        elif done.get(action, False):
            if step.lines and live.emitted and action != END_OF_LIFE:
                return False
        elif action == ASSUME_COMMIT:
            if not self._commit(live, position):
                return False
        elif not self._take_step(live, step):
            return False
        live.frontier += 1
        if live.state.role is Role.LEADER and live.state.election_state is _CLOSED:
            if step.given.message is not None:
                self._commit(live)
        return True

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

    def _take_step(self, live: LiveMember, step: Step) -> bool:
        i, t = live.member_id, live.frontier + 1
        s, lines = live.state, live.windows.trajectory.lines
        best: tuple[int, int] | None = None
        chosen: tuple[Input, Outcome] | None = None
        for given in live.inputs(step):
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
            place = len(channel.numbers)
            for send in outcome.sends:
                if send.to != j or place >= len(channel.receipts):
                    continue
                receipt = channel.receipts[place]
                if receipt.message == send.message and receipt.earliest // SLOTS <= t:
                    place += 1
                    met += 1
        return met

    def _consume(self, i: int, t: int) -> tuple[int, int]:
        """Sender and number of the message that a step consumes."""
        wanted = self._wanted.get((i, t))
        if wanted is None:
            return self._unsent.get((i, t), -1), -1
        key, place = wanted
        self._channels[key].consumed = place + 1
        return key[0], self._channels[key].numbers[place]

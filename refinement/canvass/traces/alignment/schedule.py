"""All members driven together, without a clock: placing of sends and emission are one loop.

A member advances unless its next receipt is not sent yet, a message that others received is at its
last chance, or a position is not written yet by its leader. A message is sent as soon as the member
can send it. Where nobody can advance, what is waited for is the conflict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Final, TypeAlias

from msgspec.structs import replace

from canvass.cluster.member import ElectionState, Input, Member, Role
from canvass.cluster.messages import (
    NULL_VALUE,
    AppendPosition,
    CanvassPosition,
    CommitPosition,
    Message,
    NewLeadershipTerm,
    TerminationPosition,
    sender_of,
)
from canvass.cluster.outcome import Outcome
from canvass.cluster.predicates import counted_position
from canvass.cluster.quorum import is_quorum
from canvass.traces.alignment.channel_matching import Conflict, Receipt
from canvass.traces.alignment.driven_cluster import DrivenCluster
from canvass.traces.alignment.live import LiveMember, Steps, term_of
from canvass.traces.alignment.member_lines import FOREVER
from canvass.traces.alignment.moves import ASSUME_COMMIT, END_OF_LIFE, receive
from canvass.traces.alignment.printing import lines_met, said_lines
from canvass.traces.alignment.replay import UNBOUNDED, Step, is_reported_by_quorum, leads_closed
from canvass.traces.alignment.windows import SLOTS, Windows, positions_in

_CLOSED: Final = ElectionState.CLOSED


_GROWN: Final = {
    "RecordLog": "recorded_position",
    "AppendEntry": "publication_position",
    "ConsumeLog": "commit_position",
    ASSUME_COMMIT: "commit_position",
}
"""The quantity that an action lets grow up to its position."""


def _is_done(s: Member, step: Step) -> bool:
    """Whether what a step does has been done already."""
    quantity = _GROWN.get(step.action)
    if quantity is not None:
        done: bool = getattr(s, quantity) >= step.given.position
        return done
    if step.action == "InitiateTermination":
        return s.termination_position >= 0
    return step.action == END_OF_LIFE


def _first_repair(steps: Sequence[Step], start: int) -> int:
    """The first step from one on at which lines are missing or false, or the number of steps."""
    found = (at for at in range(start, len(steps)) if steps[at].gap or steps[at].false)
    return next(found, len(steps))


Report: TypeAlias = tuple[tuple[bool, bool, bool, int, int], Message | None]
"""How a leader can learn that a member has recorded a position: whether it skips a canvass position
that it has still to answer, is of an older term, and new to the leader, up to where, and of whom;
with the message, if it is new. Messages have no order.
"""


class Schedule(DrivenCluster):
    """Drives the members of one cluster to the ends of their trajectories.

    Attributes
    ----------
    waits_for_starts
        Whether a member does not leave CANVASS before a process has started that can receive what
        it sends there, although the log has a later place for it too.
    """

    waits_for_starts = False

    def run(self, ends: Mapping[int, int] | None = None) -> bool:
        """Drive all members to the ends of their trajectories; false if they cannot get there.

        If all others get as far members stop before the steps ``ends``.
        """
        for i, end in ends.items() if ends else ():
            self.members[i].end = end
        self._drive()
        ahead = [live for live in self.members.values() if live.next_step() is not None]
        if ends and ahead:
            for live in self.members.values():
                live.end = _first_repair(live.windows.steps, live.end)
            self._drive()
            ahead = [one for one in ahead if one.frontier + 1 < ends[one.member_id]]
        self.conflicts = [
            Conflict(live.member_id, live.frontier + 1, self._reason(live)) for live in ahead
        ]
        return not ahead

    def _drive(self) -> None:
        """Let members advance; of those that can it is the one whose next line is the earliest.

        Only if nobody advances otherwise a leader commits what no quorum has reported, and a member
        that canvasses sends what a later process of the receiver receives.
        """
        reached = self._reached()
        self._is_patient = True
        while True:
            for live in sorted(self.members.values(), key=self._due):
                frontier, received = live.frontier, live.received
                self._send_pending(live)
                step = live.next_step()
                if step is not None and self._clear(live, step):
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
        """Steps that were taken, and messages that were received: how far the members are."""
        members = self.members.values()
        return sum(live.frontier for live in members), sum(live.received for live in members)

    def _due(self, live: LiveMember) -> int:
        """When the next line of a member was written."""
        due, after = live.windows.due, live.frontier + 1
        return due[after] if after < len(due) else FOREVER

    def awaited(self) -> Iterator[tuple[int, Receipt]]:
        """The receipts without a line for which members wait."""
        for conflict in self.conflicts:
            receipt = self._unsent_yet(conflict.member_id, conflict.step)
            if receipt is not None and receipt.hidden:
                yield conflict.member_id, receipt

    def _clear(self, live: LiveMember, step: Step) -> bool:
        """Let others do what a step waits for, and say whether nothing holds the member then.

        The message that it receives is sent; its leader serves the catch-up that it asks for.
        """
        i, after = live.member_id, live.frontier + 1
        if (i, after) in self._held:
            return False
        if any(channel.latest < after for _, channel in self._outgoing[i]):
            return False
        if self.waits_for_starts and self._is_patient and self._is_last_chance(live):
            return False
        if self._unsent_yet(i, after) is not None:
            # Its sender need not wait for what it logs later.
            self._send_pending(self.members[self._wanted[i, after][0][0]])
            if self._unsent_yet(i, after) is not None:
                return False
        if not self._notes(live, step):
            return False
        position, action = step.given.position, step.action
        if action == "RecordLog":
            return self._can_record(live, position)
        if action == "FollowerCatchupAwait" and "CatchupPosition" in self._hidden:
            return self._serves(live)
        if self._hidden and action == "AppendEntry":
            return position <= live.upper.published
        if self._hidden and action == ASSUME_COMMIT:
            return position <= live.upper.committed
        return True

    def _unsent_yet(self, i: int, step: int) -> Receipt | None:
        """What a member receives in a step, if it has not been sent."""
        wanted = self._wanted.get((i, step))
        if wanted is None or wanted[1] < len(self._channels[wanted[0]].sent):
            return None
        return self._channels[wanted[0]].receipts[wanted[1]]

    def _reason(self, live: LiveMember) -> str:
        i = live.member_id
        for j, channel in self._outgoing[i]:
            head = channel.head
            if head is not None and head.latest // SLOTS <= live.frontier:
                return f"member {j} received {head.message}, which member {i} cannot have sent"
        receipt = self._unsent_yet(i, live.frontier + 1)
        if receipt is not None:
            sender = self._wanted[i, live.frontier + 1][0][0]
            return f"member {sender} has not sent {receipt.message}"
        return "the step is not possible with what others did before"

    def _send_pending(self, live: LiveMember) -> None:
        """Send the messages that others received and that can leave in the state now."""
        if live.frontier >= 0:
            for j, channel in self._outgoing[live.member_id]:
                while channel.earliest <= live.frontier and self._send_head(live, j):
                    pass

    def _send_head(self, live: LiveMember, j: int) -> bool:
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
            self._is_reported_again(live, head, m) or not self._can_record(live, m.log_position)
        ):
            return False
        if isinstance(m, TerminationPosition) and not self._is_next_everywhere(live, m):
            return False
        if self._hidden and isinstance(m, NewLeadershipTerm | CommitPosition):
            self._reach(live, m)
            closed = leads_closed(live.state, m.leadership_term_id)
            commits = isinstance(m, CommitPosition) and closed
            if commits and live.state.commit_position < m.log_position:
                return False
            if channel.head is not head:
                return True
        path = live.find(j, head, lambda: self._obtainable(live, j, m))
        self._adopt(live, path)
        return len(channel.sent) > before

    def _is_reported_again(self, live: LiveMember, head: Receipt, m: AppendPosition) -> bool:
        """Whether a report is of the end of a copy, and the step that ends the copy can send it."""
        s = live.state
        return (
            self._is_patient
            and "AppendPosition" not in self._hidden
            and s.log_replication
            and m.log_position == s.replication_stop_position
            and head.latest // SLOTS > live.frontier
        )

    def _is_early(self, live: LiveMember, j: int, head: Receipt, m: CommitPosition) -> bool:
        """Whether a leader should commit later: no quorum has reported the position yet, and the
        leader has more lines from before it was received.
        """
        s = live.state
        return (
            self._is_patient
            and "AppendPosition" not in self._hidden
            and leads_closed(s, m.leadership_term_id)
            and m.log_position > s.commit_position
            and head.latest // SLOTS > live.frontier
            and self._due(live) < self.windows[j].due[head.step]
            and not is_reported_by_quorum(live.member_id, s, m.log_position)
        )

    def _take(self, live: LiveMember, step: Step) -> None:
        """Take the next step of a member's trajectory, if it is possible now."""
        self._prepare(live, step)
        if self._hidden:
            leader = self.members.get(live.state.leader_member_id)
            if live.state.election_state is ElectionState.FOLLOWER_CATCHUP and leader is not None:
                # It ends the catch-up by what is reported now, which no line shows.
                self._send_pending(leader)
            self._report_before_leaving(live, step)
            if step.action == "ConsumeLog":
                self._record_elsewhere(live, step.given.position)
        s, action, position = live.state, step.action, step.given.position
        if step.false:
            self._take_false(live, step)
        elif step.resynchronised:
            live.adopt(action, step.given, step.outcome, lines=step.lines, gap=True)
        elif _is_done(s, step):
            if step.lines and live.emitted and action != END_OF_LIFE:
                return
            live.gap |= bool(step.gap)
        elif action == ASSUME_COMMIT:
            if not self._commit(live, position):
                return
        elif not self._take_step(live, step) and not self._take_informed(live, step):
            return
        live.frontier += 1
        self._after_step(live, step)

    def _after_step(self, live: LiveMember, step: Step) -> None:
        """Do what follows a step: forget what a restart loses, and commit what was reported."""
        if step.action == "Restart":
            for (_, j), channel in self._channels.items():
                if j == live.member_id:
                    channel.unclaimed.clear()
        leads = live.state.role is Role.LEADER and live.state.election_state is _CLOSED
        if leads and step.given.message is not None:
            self._commit(live)

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

    def _take_informed(self, live: LiveMember, step: Step) -> bool:
        """Take a step once the member has messages that its log does not show."""
        for m in self._informing(live):
            outcome = live.take(*(move := receive(m)))
            if outcome is None or outcome.next == live.state:
                continue
            if self._adopt(live, [(*move, outcome)]) and self._take_step(live, step):
                return True
        return False

    def _informing(self, live: LiveMember) -> Iterator[Message]:
        """What its followers report to a leader, or its leader to a follower, without a line."""
        i, leader = live.member_id, live.state.leader_member_id
        if leader == i and "AppendPosition" in self._hidden:
            for j in self.members.keys() - {i}:
                report = self._report_of(live, j, live.state.append_position)
                if report is not None and report[1] is not None:
                    yield report[1]
        elif "CommitPosition" in self._hidden and leader in self.members and leader != i:
            yield from (m for _, m in self._available(i, leader) if isinstance(m, CommitPosition))
            sent = self.members[leader].reports(i, CommitPosition, NULL_VALUE)
            if sent is not None and not self._in_flight(i, leader):
                yield sent[1]

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
            printed = said_lines(lines.vocabulary, step.action, s, outcome)
            if step.lines and not step.gap and lines_met(lines, printed, step.printed.start) < 0:
                continue
            sends = bool(outcome.effects)
            score = (self._met(i, t, outcome), -len(outcome.sends)) if sends else (0, 0)
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

    def _is_next_everywhere(self, live: LiveMember, m: Message) -> bool:
        """Whether a message that is sent to all at once, and once only, is next in each channel."""
        for _, channel in self._outgoing[live.member_id]:
            receipt = channel.pending(type(m))
            if receipt is not None and receipt.message == m and receipt is not channel.head:
                return False
        return True

    def _commit(self, live: LiveMember, target: int = -1) -> bool:
        """Let a closed leader commit: as far as it may, or exactly up to a target."""
        if "AppendPosition" in self._hidden:
            return target >= 0 and self._commit_unlogged(live, target)
        s, windows = live.state, live.windows
        others = (r.log_position for j, r in enumerate(s.members) if j != live.member_id)
        if max(others, default=UNBOUNDED) <= s.commit_position:
            return False  # In every quorum there is another member, if there is one.
        if windows.greatest_quorum_position(s) <= s.commit_position:
            return False
        upper = live.upper
        high_recorded, high_committed = upper.recorded, upper.committed
        for position in self.pending_commits(live):
            high_recorded = min(high_recorded, max(position, s.recorded_position))
            if target < 0:
                high_committed = min(high_committed, position)
        reported = max((r.log_position for r in s.members), default=0)
        best: Steps = []
        reached = s.commit_position
        wanted = min(reported, high_recorded, max(upper.published, s.publication_position))
        options = {s.recorded_position, wanted, *((target,) if target >= 0 else ())}
        for recorded in sorted(options):
            if recorded < s.recorded_position or recorded > high_recorded or recorded <= reached:
                continue  # A leader commits no more than it has recorded itself.
            path = live.record_own(recorded)
            if path is None:
                continue
            at = path[-1][2].next if path else s
            note = Input(active=frozenset({live.member_id}))
            noted = windows.moves.take(at, "UpdateLeaderPosition", note)
            if noted is not None and noted.next.commit_position == at.commit_position:
                path.append(("UpdateLeaderPosition", note, noted))
                at = noted.next
            limit = high_committed if target < 0 else min(high_committed, target)
            likely = windows.likely(at)
            updated = _greatest_commit(
                windows, at, reached, limit, likely[:1] if target < 0 else likely
            )
            if updated is not None and target in (-1, updated[1].next.commit_position):
                reached = updated[1].next.commit_position
                best = [*path, ("UpdateLeaderPosition", *updated)]
            if reached >= high_committed:
                break
        self._adopt(live, best)
        return bool(best)

    def _commit_unlogged(self, live: LiveMember, target: int) -> bool:
        """Let a closed leader commit up to a target by reports that no line shows.

        While others advance it waits for reports of its own term: what a member had in an older
        one need not be what the leader has there. If it counts one all the same, others of its term
        have recorded as much, where that is possible.
        """
        own = live.record_own(target)
        if own is None or target > live.upper.committed:
            return False
        counted = {live.member_id}
        reports: list[Message] = []
        others = self.members.keys() - {live.member_id}
        found = (self._report_of(live, j, target) for j in sorted(others))
        for (_, is_older, *_, j), m in sorted(filter(None, found), key=itemgetter(0)):
            if is_quorum(len(counted), len(live.state.members)):
                break
            if is_older and self._is_patient:
                return False
            counted.add(j)
            if m is not None:
                reports.append(m)
        if not is_quorum(len(counted), len(live.state.members)):
            return False
        self._adopt(live, own)
        self._record_elsewhere(live, target)
        for m in reports:
            outcome = live.take(*(move := receive(m)))
            if outcome is not None:
                self._adopt(live, [(*move, outcome)])
        live.try_step("UpdateLeaderPosition", Input(active=frozenset({live.member_id})))
        return live.try_step("UpdateLeaderPosition", Input(active=frozenset(counted)))

    def _report_of(self, live: LiveMember, j: int, position: int) -> Report | None:
        """The report by which a leader counts a member as having recorded a position.

        The core says what counts. Outside elections first comes one that skips no canvass position
        which the leader has still to answer, then one of the leader's term, what it knows already,
        and the least.
        """
        i, s = live.member_id, live.state
        term, rules = term_of(s), live.windows.moves.rules
        asks = any(isinstance(m, CanvassPosition) for _, m in self._available(i, j))
        answers = self._channels[i, j].pending(NewLeadershipTerm, term) is not None
        awaits = asks and answers and s.election_state is _CLOSED
        found: list[Report] = []
        for m in (None, *self._reported(i, j, [position])):
            outcome = Outcome(s) if m is None else live.take(*receive(m))
            if outcome is None:
                continue
            record = outcome.next.members[j]
            if counted_position(rules, outcome.next, term, position, record) >= position:
                is_older = record.leadership_term_id != term
                skips = awaits and m is not None and not isinstance(m, CanvassPosition)
                found.append(((skips, is_older, m is not None, record.log_position, j), m))
        return min(found, key=itemgetter(0), default=None)

    def pending_commits(self, live: LiveMember) -> list[int]:
        """The next commit position of each channel, if it is still to be sent in this term.

        One of an election can give the term before, too.
        """
        term = live.state.module_leadership_term_id
        found = []
        for _, channel in self._outgoing[live.member_id]:
            receipt = channel.pending(CommitPosition, term)
            if receipt is not None:
                at = live.windows.steps[receipt.earliest // SLOTS].state
                found += positions_in(receipt.message) if leads_closed(at, term) else []
        return found

    def _commit_first(self, live: LiveMember, recorded: int) -> None:
        """Commit what a leader's next line shows before its own log is longer, if that is possible.

        Reports that no line shows may be greater then: its own log is what limits the commit.
        """
        steps, at = live.windows.steps, live.frontier + 2
        while at < len(steps) and not steps[at].lines:
            target = steps[at].given.position
            if steps[at].action == ASSUME_COMMIT and live.state.commit_position < target < recorded:
                self._commit(live, target)
            at += 1

    def _reach_answers(self, live: LiveMember) -> None:
        """Commit up to what a closed leader's next answers say, if this step sends them."""
        t = live.frontier + 1
        for j, channel in self._outgoing[live.member_id]:
            head = channel.head
            if head is None or not isinstance(m := head.message, NewLeadershipTerm):
                continue
            if head.earliest // SLOTS <= t and live.windows.slot(t, j, m) >= 0:
                self._reach(live, m)

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
            if "AppendPosition" in self._hidden:
                self._commit_first(live, step.given.position)
        if need > s.publication_position:
            live.try_step("AppendEntry", Input(position=need))
        m = step.given.message
        if m is not None and not leaves:
            self._reach_answers(live)


def _greatest_commit(
    windows: Windows, s: Member, reached: int, limit: int, sets: list[frozenset[int]]
) -> tuple[Input, Outcome] | None:
    """The duty cycle of a closed leader that commits most, beyond a position and up to another."""
    found: tuple[Input, Outcome] | None = None
    for active in sets:
        given = Input(active=active)
        outcome = windows.moves.take(s, "UpdateLeaderPosition", given)
        if outcome is None:
            continue
        commit = outcome.next.commit_position
        if reached < commit <= limit:
            reached, found = commit, (given, outcome)
        if reached == limit:
            break
    return found

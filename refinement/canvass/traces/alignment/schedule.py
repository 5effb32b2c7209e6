"""All members driven together to the ends of their trajectories, without a clock.

A member takes the next step of its trajectory, unless

* the message that the step receives has not been sent,
* a message of the member must be sent before the step, and cannot be sent now, or
* the step records a position that the leader has not written.

A member sends a message as soon as it can. If no member can advance any more, each member that has
not reached its end has a conflict: the step that it cannot take.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from canvass.cluster.effects import Outcome
from canvass.cluster.member import NO_INPUT, ElectionState, Input, Member, Role
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
from canvass.cluster.predicates import counted_position, is_quorum
from canvass.traces.alignment.channel_matching import Receipt
from canvass.traces.alignment.driven_cluster import Channel, Conflict, DrivenCluster
from canvass.traces.alignment.driven_member import (
    LOST,
    DrivenMember,
    PositionReport,
    likeliness,
    streams_from,
    term_of,
)
from canvass.traces.alignment.possible_steps import ASSUME_COMMIT, PROCESS_END, receive
from canvass.traces.alignment.printing import count_logged, logged_lines
from canvass.traces.alignment.replay import UNBOUNDED, PathStep, is_reported_by_quorum, leads_closed
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
        done: bool = getattr(s, quantity) >= step.given.position
        return done
    if step.action == "InitiateTermination":
        return s.termination_leadership_term_id == s.module_leadership_term_id
    if step.action == "FollowerLogReplication" and not step.lines and not step.outcome.effects:
        # The copy may have begun before: another member may have needed a report that it causes.
        return s.log_replication and step.state.log_replication
    return step.action == PROCESS_END


def _first_repair(steps: Sequence[PathStep], start: int) -> int:
    """The first step from ``start`` on with a gap or a false line, or the number of steps."""
    found = (at for at in range(start, len(steps)) if steps[at].gap or steps[at].false)
    return next(found, len(steps))


class Schedule(DrivenCluster):
    """Drives the members of one cluster to the ends of their trajectories."""

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
                live.end = _first_repair(live.windows.steps, live.end)
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
            live.gap |= last.given.message is not None
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
            live.gap |= bool(step.gap)
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
        m = step.given.message
        outcome = Outcome(live.state)
        sender = self._other_sender(live, m) if m is not None else NULL_VALUE
        if sender == NULL_VALUE:
            live.gap = False  # After a gap, a step without a message is not checked at all.
            closed = live.state.election_state is _CLOSED
            action = "ElectionInit" if closed else "EnterElection"
            live.append(PathStep(action, NO_INPUT, outcome, step.lines))
            return
        live.append(PathStep(step.action, step.given, outcome, step.lines), sender)

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
        s, windows, bounds = live.state, live.windows, live.bounds
        others = (r.log_position for j, r in enumerate(s.members) if j != live.member_id)
        if max(others, default=UNBOUNDED) <= s.commit_position:
            return False  # Unless the member is alone, each quorum has another member.
        if windows.greatest_quorum_position(s) <= s.commit_position:
            return False
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
                is_older = record.leadership_term_id != term
                is_new = m is not None
                overtakes = awaits and is_new and not isinstance(m, CanvassPosition)
                found.append(PositionReport(overtakes, is_older, is_new, record.log_position, j, m))
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

"""A made-up cluster that logs as Aeron does: the core of each member, a clock, channels that delay,
logs on disk, clients, crashes, pauses and cuts, all from one seed.

What it logs is what a real member would; the steps that it takes are kept as well, as the truth.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from canvass.cluster.core import step as core_step
from canvass.cluster.member import NO_INPUT, ElectionState, Input, Member, ModuleState, Role
from canvass.cluster.messages import (
    CommitPosition,
    Message,
    NewLeadershipTerm,
)
from canvass.cluster.outcome import Outcome
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.records import ClusterEvent, LogRecord, ProcessStart

MS = 1_000_000


@dataclass
class Taken:
    """A step that was really taken: ``received`` is sender and number of the message consumed,
    ``first`` the number of the first message sent.
    """

    time: int
    action: str
    given: Input
    state: Member
    received: tuple[int, int] | None
    sends: tuple[tuple[int, Message], ...]
    first: int


@dataclass
class Node:
    """One member: its core, its log, and what its clock is for."""

    state: Member
    alive: bool = True
    paused_until: int = 0
    lines: list[LogRecord] = field(default_factory=list)
    steps: list[Taken] = field(default_factory=list)
    sent: int = 0
    terms: list[tuple[int, int, int]] = field(default_factory=list)
    entered: int = 0
    deadline: int = 0
    next_interval: int = 0
    heard: dict[int, int] = field(default_factory=dict)
    leader_heard: int = 0
    restart_at: int = 0
    reported: int = -1


class AeronCluster:
    """The cluster; `run` lets it live, ``nodes`` hold what was logged."""

    def __init__(self, seed: int, count: int = 3, *, faults: bool = True) -> None:
        self.random = random.Random(seed)
        self.rules = Rules(count, "1.50")
        self.faults = faults
        self.now = 1_000_000 * MS
        self.nodes = [Node(persistent_member(self.rules)) for _ in range(count)]
        self._received: tuple[int, int] | None = None
        self.channels: dict[tuple[int, int], deque[tuple[int, Message, int]]] = {
            (a, b): deque() for a in range(count) for b in range(count) if a != b
        }
        self.cut_until: dict[tuple[int, int], int] = {}
        for i in range(count):
            self.start(i)

    # Lives.

    def start(self, i: int) -> None:
        node = self.nodes[i]
        node.alive, node.heard, node.paused_until = True, {}, 0
        self._log(i, records.ProcessStart, 1_767_000_000_000 + self.now // MS, ())
        for (_, receiver), channel in self.channels.items():
            if receiver == i:
                channel.clear()
        self._step(i, "Restart")

    def kill(self, i: int) -> None:
        self.nodes[i].alive = False
        self.nodes[i].restart_at = self.now + self.random.randint(200, 4000) * MS

    def run(self, duration_ms: int) -> None:
        end = self.now + duration_ms * MS
        while self.now < end:
            self.now += self.random.randint(2, 8) * MS
            for i in self.random.sample(range(len(self.nodes)), len(self.nodes)):
                self.now += self.random.randint(1, 1000)
                node = self.nodes[i]
                if node.alive and node.paused_until <= self.now:
                    self._duty(i)
                elif not node.alive and node.restart_at <= self.now:
                    self.start(i)
            if self.faults and self.random.random() < 0.004:
                self._fault()

    def _fault(self) -> None:
        i = self.random.randrange(len(self.nodes))
        kind = self.random.choice(("kill", "pause", "cut", "cut"))
        until = self.now + self.random.randint(100, 4000) * MS
        if kind == "kill" and self.nodes[i].alive:
            self.kill(i)
        elif kind == "pause":
            self.nodes[i].paused_until = until
        else:
            others = [j for j in range(len(self.nodes)) if j != i]
            for j in self.random.sample(others, self.random.randint(0, len(others))):
                self.cut_until[i, j] = until
                if self.random.random() < 0.8:
                    self.cut_until[j, i] = until

    # One duty cycle.

    def _duty(self, i: int) -> None:
        for j in range(len(self.nodes)):
            if j != i:
                self._receive(i, j)
        self._archive(i)
        node = self.nodes[i]
        s = node.state
        if s.module_state is not ModuleState.ACTIVE:
            return
        if s.election_state is ElectionState.CLOSED:
            self._serve(i)
        else:
            self._elect(i)

    def _receive(self, i: int, j: int) -> None:
        channel = self.channels[j, i]
        for _ in range(self.random.randint(1, 6)):
            if not channel or channel[0][0] > self.now or self.cut_until.get((j, i), 0) > self.now:
                return
            _, message, number = channel.popleft()
            self.now += self.random.randint(100, 3000)
            node = self.nodes[i]
            node.heard[j] = self.now
            if isinstance(message, CommitPosition | NewLeadershipTerm):
                node.leader_heard = self.now
            name = type(message).__name__
            values = {
                "sender_member_id" if key == "member_id" else key: getattr(message, key)
                for key in message.__struct_fields__
            }
            kind = getattr(records, name)
            for key in kind.__struct_fields__[4:]:
                values.setdefault(key, "" if key == "catchup_endpoint" else 0)
            self._log(i, kind, i, **values)
            self._received = j, number
            self._step(i, "On" + name, Input(message=message, active=self._active(i)))
            self._received = None

    def _active(self, i: int) -> frozenset[int]:
        heard = self.nodes[i].heard
        return frozenset({i, *(j for j, at in heard.items() if self.now - at < 2000 * MS)})

    def _leader(self, i: int) -> Node | None:
        """The leader that a member takes the log of, if its stream is there."""
        s = self.nodes[i].state
        j = s.leader_member_id
        if j < 0 or j == i or not self.nodes[j].alive:
            return None
        if max(self.cut_until.get((j, i), 0), self.nodes[j].paused_until) > self.now:
            return None
        other = self.nodes[j].state
        term = s.leadership_term_id if s.leadership_term_id >= 0 else s.module_leadership_term_id
        led = other.leadership_term_id
        if other.election_state is ElectionState.CLOSED:
            led = other.module_leadership_term_id
        return self.nodes[j] if other.role is Role.LEADER and led == term else None

    def _archive(self, i: int) -> None:
        """Let the archive record what there is."""
        node = self.nodes[i]
        s = node.state
        if s.role is Role.LEADER and s.election_state is ElectionState.CLOSED:
            self._record(i, s.publication_position, node.terms)
            return
        leader = self._leader(i)
        if leader is None or self.random.random() < 0.2:
            return
        end = leader.state.recorded_position
        if s.election_state is ElectionState.FOLLOWER_LOG_REPLICATION:
            if s.log_replication and end >= s.replication_stop_position:
                self._record(i, s.replication_stop_position, leader.terms)
        elif s.election_state in (ElectionState.FOLLOWER_CATCHUP, ElectionState.FOLLOWER_READY) or (
            s.election_state is ElectionState.CLOSED and s.log_subscription
        ):
            self._record(i, end, leader.terms)

    def _record(self, i: int, end: int, terms: list[tuple[int, int, int]]) -> None:
        node = self.nodes[i]
        begin = node.state.recorded_position
        if end <= begin:
            return
        if self.random.random() < 0.3 and end - begin > 192:
            end = begin + 96 + (end - begin - 96) // 64 * 32
            # An archive records whole entries.
            split = next((entry for entry in terms if entry[1] < end < entry[2]), None)
            if split is not None:
                end = split[1] if split[1] > begin else split[2]
        node.terms = [entry for entry in node.terms if entry[1] < begin]
        node.terms += [entry for entry in terms if begin <= entry[1] < end]
        self._step(i, "RecordLog", Input(position=end))

    def _consume(self, i: int, bound: int) -> None:
        """Process the log up to a bound, its first entries of terms one by one."""
        node = self.nodes[i]
        while node.state.commit_position < bound:
            done = node.state.commit_position
            event = next((entry for entry in node.terms if entry[1] >= done), None)
            if event is not None and event[1] == done:
                term, base, end = event
                if end > bound:
                    return
                in_election = node.state.election_state is not ElectionState.CLOSED
                self._log(
                    i, records.ReplayNewLeadershipTerm, i, in_election, term, end, base, 1, 0, "MS"
                )
                given = Input(position=end, leadership_term_id=term, term_base_log_position=base)
                assert self._step(i, "OnReplayNewLeadershipTermEvent", given)
            else:
                stop = bound if event is None else min(bound, event[1])
                assert self._step(i, "ConsumeLog", Input(position=stop))

    def _serve(self, i: int) -> None:
        node, s = self.nodes[i], self.nodes[i].state
        if due := node.next_interval <= self.now:
            node.next_interval = self.now + 200 * MS
        if s.role is Role.LEADER:
            if self.random.random() < 0.3:
                size = 32 * self.random.randint(3, 20)
                self._step(i, "AppendEntry", Input(position=s.publication_position + size))
            self._step(
                i, "UpdateLeaderPosition", Input(active=self._active(i), commit_interval=due)
            )
            if len(self._active(i)) <= len(self.nodes) // 2 and self.now - node.entered > 2000 * MS:
                self._election(i, "inactive follower quorum")
            return
        self._consume(i, min(s.module_notified_commit_position, s.recorded_position))
        s = node.state
        if s.recorded_position != node.reported or due:
            node.reported = s.recorded_position
            self._step(i, "UpdateFollowerPosition")
        if self.now - max(node.leader_heard, node.entered) > 2000 * MS:
            self._election(i, "leader heartbeat timeout")

    def _election(self, i: int, reason: str) -> None:
        self._step(i, "EnterElection", reason=reason)

    def _elect(self, i: int) -> None:
        node, s = self.nodes[i], self.nodes[i].state
        state = s.election_state
        name = "".join(word.capitalize() for word in state.value.split("_"))
        if due := node.next_interval <= self.now:
            node.next_interval = self.now + 100 * MS
        given = Input(
            interval=due,
            commit_interval=due,
            timeout=node.deadline <= self.now,
            active=self._active(i),
            accepted=frozenset(range(len(self.nodes))),
        )
        if self._is_stuck(i, state):
            if self.now - node.entered > 1000 * MS:
                self._step(i, "ElectionError")
            return
        if state in (ElectionState.FOLLOWER_REPLAY, ElectionState.LEADER_REPLAY):
            self._consume(i, s.replay_stop_position)
        elif state is ElectionState.FOLLOWER_CATCHUP:
            self._consume(i, min(s.notified_commit_position, s.recorded_position))
        elif state is ElectionState.INIT:
            name, given = "ElectionInit", NO_INPUT
        elif state is ElectionState.LEADER_READY:
            end = s.publication_position + 96
            if core_step(self.rules, i, s, name, replace(given, position=end)) is not None:
                node.terms.append((s.leadership_term_id, s.publication_position, end))
                given = replace(given, position=end)
        self._step(i, name, given)

    def _is_stuck(self, i: int, state: ElectionState) -> bool:
        """Whether the member waits for a leader, or for its stream at the own position."""
        leader, s = self._leader(i), self.nodes[i].state
        if state is ElectionState.FOLLOWER_CATCHUP_AWAIT:
            return leader is None or not leader.state.members[i].catchup_replay
        if state is ElectionState.FOLLOWER_LOG_AWAIT:
            here = (s.recorded_position, s.commit_position)
            return leader is None or not leader.state.publication_position == here[0] >= here[1]
        late = self.now - self.nodes[i].entered > 3000 * MS
        following = (
            ElectionState.FOLLOWER_REPLAY,
            ElectionState.FOLLOWER_CATCHUP,
            ElectionState.FOLLOWER_LOG_REPLICATION,
        )
        return late and leader is None and state in following

    # Steps and lines.

    def _step(self, i: int, action: str, given: Input = NO_INPUT, reason: str = "") -> bool:
        node = self.nodes[i]
        before = node.state
        if (outcome := core_step(self.rules, i, before, action, given)) is None:
            return False
        if outcome.next.publication_position < 0:
            # What was cut off, or published and never recorded, is not in the log.
            end = outcome.next.recorded_position
            node.terms = [entry for entry in node.terms if entry[1] < end]
        node.state = outcome.next
        sends = tuple((send.to, send.message) for send in outcome.sends)
        first = node.sent
        node.steps.append(Taken(self.now, action, given, node.state, self._received, sends, first))
        node.sent += len(sends)
        self._log_changes(i, before, outcome, action, reason)
        for number, (to, message) in enumerate(sends, first):
            if self.nodes[to].alive:
                delay = self.random.randint(50, 3000) * 1000
                self.channels[i, to].append((self.now + delay, message, number))
        return True

    def _log(
        self, i: int, kind: type[ClusterEvent | ProcessStart], *values: Any, **named: Any
    ) -> None:
        node = self.nodes[i]
        self.now += 1
        node.lines.append(kind(0, len(node.lines) + 1, self.now, *values, **named))

    def _log_changes(
        self, i: int, before: Member, outcome: Outcome, action: str, reason: str
    ) -> None:
        node, after = self.nodes[i], outcome.next
        fresh = action == "Restart" or (
            before.election_state is ElectionState.CLOSED
            and after.election_state is not ElectionState.CLOSED
        )
        if before.election_state is after.election_state and not fresh:
            return
        node.entered = self.now
        span = self.random.randint(10, 1000) * MS
        node.deadline = self.now + (span if after.election_state.value == "NOMINATE" else 1000 * MS)
        node.next_interval = 0
        node.reported = -1
        if before.role is not after.role and action != "Restart":
            self._log(i, records.RoleChange, i, before.role.value, after.role.value, "")
        if after.recorded_position < before.recorded_position:
            self._log(
                i,
                records.TruncateLogEntry,
                i,
                before.election_state.value,
                before.log_leadership_term_id,
                before.leadership_term_id,
                before.candidate_term_id,
                before.commit_position,
                before.commit_position,
                before.append_position,
                before.append_position,
                after.recorded_position,
            )
        old = before.election_state.value
        if fresh:
            why = "node started" if action == "Restart" else reason or "unexpected"
            self._log(
                i,
                records.NewElection,
                i,
                after.log_leadership_term_id,
                after.commit_position,
                after.append_position,
                why,
            )
            if action == "Restart" and after.role is not Role.FOLLOWER:
                values = (Role.FOLLOWER.value, after.role.value, "")
                self._log(i, records.RoleChange, i, *values)
            old = "INIT"
        shown = before if after.election_state is ElectionState.CLOSED else after
        self._log(
            i,
            records.ElectionStateChange,
            i,
            old,
            after.election_state.value,
            after.leader_member_id,
            shown.candidate_term_id,
            shown.leadership_term_id,
            after.commit_position,
            shown.log_leadership_term_id,
            shown.append_position,
            join_printed(old, before, shown).catchup_join_position,
            "",
        )
        if action == "Restart":
            self._log(i, records.StateChange, i, "INIT", "ACTIVE", "started")


def join_printed(old: str, before: Member, shown: Member) -> Member:
    """The state whose catch-up position a change prints: INIT and CANVASS forget it afterwards."""
    forgets = shown.election_state in (ElectionState.INIT, ElectionState.CANVASS)
    return before if forgets and old != "INIT" else shown

"""A cluster of cores driven at random, with channels, logs and faults, recorded as a run.

It does what ``Cluster.tla`` lets happen: messages wait in one queue for each pair, are lost or
delivered in order, and each entry recorded from a leader's stream is that leader's entry.
"""

from __future__ import annotations

import hashlib
import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, cast

from msgspec.structs import replace

from canvass.cluster import core
from canvass.cluster.member import (
    NO_INPUT,
    ElectionState,
    Input,
    Member,
    ModuleState,
    Role,
    new_member,
)
from canvass.cluster.messages import Message
from canvass.cluster.ports import StepFunction
from canvass.cluster.rules import HARDENED, HAZARDS, Rules
from canvass.traces.recorder import Recorder, RunRecorder
from canvass.traces.schema import Run

E: Final = ElectionState
FIRST_CHECKSUM: Final = 0


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a log: where it ends, its term, and the checksum of the log up to its end."""

    end: int
    term: int
    checksum: int


class Node:
    """One member: its state, its log, and what it has written beyond that."""

    def __init__(self, state: Member, recorder: Recorder) -> None:
        self.state = state
        self.recorder = recorder
        self.log: list[Entry] = []
        self.written: list[Entry] = []
        self.clock = 0

    @property
    def stream(self) -> list[Entry]:
        """The entries recorded and those beyond them."""
        return self.log + self.written


class DrivenCluster:
    """Members, channels and a random scheduler; every step is the core's and is recorded.

    Parameters
    ----------
    rules
        Of all members.
    recorder
        Of the run.
    seed
        Chooses everything.
    faults
        How likely each step is a restart, a lost leader or a lost message.
    step
        The protocol core.
    """

    def __init__(
        self,
        rules: Rules,
        recorder: RunRecorder,
        seed: int,
        *,
        faults: float = 0.01,
        step: StepFunction = core.step,
    ) -> None:
        self.rules = rules
        self.step = step
        self.rng = random.Random(seed)
        self.faults = faults
        count = rules.member_count
        self.nodes = [Node(new_member(count), recorder.member(i)) for i in range(count)]
        self.channels: dict[tuple[int, int], deque[tuple[int, Message]]] = {
            (i, j): deque() for i in range(count) for j in range(count) if i != j
        }
        self.steps = 0
        for i in range(count):
            self.take(i, "Restart", NO_INPUT)

    def take(self, i: int, action: str, x: Input, sender: int = -1, number: int = -1) -> bool:
        """Take a step if it is enabled: record it, then let its sends leave."""
        node = self.nodes[i]
        outcome = self.step(self.rules, i, node.state, action, x)
        if outcome is None:
            return False
        before, node.state = node.state, outcome.next
        self._move_log(i, before, node.state)
        sends = [(send.to, send.message) for send in outcome.sends]
        node.clock += self.rng.randrange(1, 1000)
        first = node.recorder.record(
            node.clock,
            action,
            node.state,
            inputs=x,
            sender=sender,
            number=number,
            sends=sends,
            log_checksums=self._checksums(node),
        )
        self.steps += 1
        for place, (to, message) in enumerate(sends):
            self.channels[i, to].append((first + place, message))
        if action == "Restart":
            for j in range(self.rules.member_count):
                if j != i:
                    self.channels[j, i].clear()
        return True

    def _move_log(self, i: int, before: Member, after: Member) -> None:
        node = self.nodes[i]
        if after.publication_position > max(before.publication_position, before.append_position):
            term = after.module_leadership_term_id
            end = after.publication_position
            last = node.stream[-1].checksum if node.stream else FIRST_CHECKSUM
            text = f"{last}/{term}/{i}/{end}".encode()
            checksum = int.from_bytes(hashlib.sha256(text).digest()[:8], "big")
            node.written.append(Entry(end, term, checksum))
        if after.recorded_position > before.recorded_position:
            source = self._source(i, before)
            assert source is not None
            node.log += [
                entry
                for entry in source
                if before.recorded_position < entry.end <= after.recorded_position
            ]
        node.log = [entry for entry in node.log if entry.end <= after.recorded_position]
        if after.publication_position == -1 or (
            after.publication_position < before.publication_position
        ):
            node.written = []  # A single member opens its next log stream in the same step.
        else:
            node.written = [e for e in node.written if e.end > after.recorded_position]
        assert (node.log[-1].end if node.log else 0) == after.recorded_position

    def _checksums(self, node: Node) -> list[tuple[int, int]]:
        reported = {node.state.recorded_position, node.state.commit_position}
        return [(entry.end, entry.checksum) for entry in node.log if entry.end in reported]

    def _source(self, i: int, s: Member) -> list[Entry] | None:
        """The entries that the archive of a member may record from."""
        j = s.leader_member_id
        closed = s.election_state is E.CLOSED
        if closed and s.role is Role.LEADER:
            return self.nodes[i].stream
        if j in (-1, i):
            return None
        other = self.nodes[j]
        if s.election_state is E.FOLLOWER_LOG_REPLICATION:
            return other.log
        term = s.module_leadership_term_id if closed else s.leadership_term_id
        return other.stream if self._leads(j, term) else None

    def _leads(self, j: int, term: int) -> bool:
        s = self.nodes[j].state
        own = s.module_leadership_term_id if s.election_state is E.CLOSED else s.leadership_term_id
        return (
            s.module_state is ModuleState.ACTIVE
            and s.role is Role.LEADER
            and s.publication_position != -1
            and own == term
        )

    def run(self, steps: int) -> None:
        """Take about so many steps."""
        while self.steps < steps:
            if self.rng.random() < 0.5:
                self.deliver()
            else:
                self.act(self.rng.randrange(self.rules.member_count))

    def deliver(self) -> None:
        """Deliver, or sometimes lose, the next message of some channel."""
        waiting = [pair for pair, queue in self.channels.items() if queue]
        if not waiting:
            return
        i, j = self.rng.choice(waiting)
        number, message = self.channels[i, j].popleft()
        if self.rng.random() >= self.faults:
            x = Input(message=message, active=self._active(j))
            self.take(j, f"On{type(message).__name__}", x, i, number)

    def _active(self, i: int) -> frozenset[int]:
        count = self.rules.member_count
        return frozenset(j for j in range(count) if j == i or self.rng.random() < 0.9)

    def act(self, i: int) -> None:
        """Let one member do something of its own."""
        s = self.nodes[i].state
        if s.module_state is not ModuleState.ACTIVE or self.rng.random() < self.faults / 4:
            self.take(i, "Restart", NO_INPUT)
            return
        if self.rng.random() < self.faults:
            self._fault(i, s)
            return
        choices = list(self._choices(i, s))
        if choices:
            action, x = self.rng.choice(choices)
            self.take(i, action, x)

    def _fault(self, i: int, s: Member) -> None:
        if s.election_state is not E.CLOSED:
            self.take(i, "ElectionError", NO_INPUT)
            return
        graceful = self.rng.choice((-1, s.leader_member_id))
        choices = [("EnterElection", replace(NO_INPUT, graceful_closed_leader_id=graceful))]
        choices += [("TakeSnapshot", NO_INPUT)] * 3
        action, x = self.rng.choice(choices)
        self.take(i, action, x)

    def _choices(self, i: int, s: Member) -> Iterator[tuple[str, Input]]:
        flip = self.rng.random
        if s.election_state is not E.CLOSED:
            name = "".join(word.capitalize() for word in s.election_state.value.split("_"))
            action = "ElectionInit" if s.election_state is E.INIT else name
            if self._may_tick(i, s):
                yield action, self._tick(i, s)
        elif s.role is Role.LEADER:
            grown = s.publication_position + self.rng.choice((32, 64, 96))
            yield "AppendEntry", replace(NO_INPUT, position=grown)
            active, due = self._active(i), flip() < 0.3
            update = replace(NO_INPUT, active=active, commit_interval=due)
            yield "UpdateLeaderPosition", update
        else:
            yield "UpdateFollowerPosition", NO_INPUT
        source = self._source(i, s)
        more = [e for e in source or () if e.end > s.recorded_position]
        if more:
            grown = self.rng.choice(more[:2]).end
            yield "RecordLog", replace(NO_INPUT, position=grown)
        entry = next((e for e in self.nodes[i].log if e.end > s.commit_position), None)
        if entry is not None:
            yield self._consume(i, s, entry)

    def _consume(self, i: int, s: Member, entry: Entry) -> tuple[str, Input]:
        before = [e for e in self.nodes[i].log if e.end <= s.commit_position]
        if not before or before[-1].term != entry.term:
            return "OnReplayNewLeadershipTermEvent", replace(
                NO_INPUT,
                position=entry.end,
                leadership_term_id=entry.term,
                term_base_log_position=s.commit_position,
            )
        return "ConsumeLog", replace(NO_INPUT, position=entry.end)

    def _may_tick(self, i: int, s: Member) -> bool:
        j = s.leader_member_id
        if s.election_state is E.FOLLOWER_CATCHUP_AWAIT:
            leader = self.nodes[j].state
            return self._leads(j, s.leadership_term_id) and leader.members[i].catchup_replay
        if s.election_state is E.FOLLOWER_LOG_AWAIT:
            leader = self.nodes[j].state
            reached = leader.publication_position >= s.commit_position
            return self._leads(j, s.leadership_term_id) and reached
        return True

    def _tick(self, i: int, s: Member) -> Input:
        flip = self.rng.random
        patience = {E.NOMINATE: 0.5, E.CANVASS: 0.2, E.CANDIDATE_BALLOT: 0.1}
        x = replace(
            NO_INPUT,
            interval=flip() < 0.5,
            timeout=flip() < patience.get(s.election_state, 0.02),
        )
        if s.election_state is E.CANDIDATE_BALLOT:
            others = set(range(self.rules.member_count)) - {i}
            return replace(x, interval=False, accepted=frozenset(j for j in others if flip() < 0.8))
        if s.election_state.value.startswith("LEADER"):
            x = replace(x, active=self._active(i), commit_interval=flip() < 0.3, timeout=False)
            if s.election_state is E.LEADER_READY and flip() < 0.8:
                ready = replace(x, position=s.publication_position + 32)
                if self.step(self.rules, i, s, "LeaderReady", ready) is not None:
                    return ready
        return x


def record_run(
    folder: Path,
    rules: Rules,
    seed: int,
    steps: int = 300,
    *,
    faults: float = 0.01,
    run_id: str | None = None,
    suffix: str = "",
    step: StepFunction = core.step,
    cluster: type[DrivenCluster] | None = None,
) -> Run:
    """Drive a cluster and record it in a folder.

    Parameters
    ----------
    folder
        Of the run, new.
    rules, seed, faults, step
        As for `DrivenCluster`.
    steps
        About how many are recorded.
    run_id
        Of the run; else it follows from the seed.
    suffix
        Of the streams' files: ``.gz`` and ``.zst`` compress.
    cluster
        What is driven; else `DrivenCluster` itself.
    """
    hardened = rules.hardening == HAZARDS
    run = Run(
        schema="canvass.run/1",
        run_id=run_id or f"driven-{seed}",
        revision=cast(
            Literal["1.49", "1.50", "hardened"], HARDENED if hardened else rules.revision
        ),
        member_count=rules.member_count,
        hardening=() if hardened else tuple(sorted(rules.hardening)),
        appointed_leader_id=rules.appointed_leader_id,
        source={"kind": "driven", "seed": seed},
    )
    with RunRecorder(folder, run, suffix=suffix, flush=False) as recorder:
        driven = (cluster or DrivenCluster)(rules, recorder, seed, faults=faults, step=step)
        driven.run(steps)
    return run

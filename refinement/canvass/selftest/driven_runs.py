"""A cluster of cores driven at random, with faults, recorded as a run.

It does what ``Cluster.tla`` lets happen: messages wait in one queue for each pair, are lost or
delivered in order, and each entry recorded from a leader's stream is that leader's entry.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from canvass.cluster import core
from canvass.cluster.effects import AppendNewLeadershipTermEvent, AppendToLog
from canvass.cluster.member import NO_INPUT, ElectionState, Input, Member, ModuleState, Role
from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.ports import StepFunction
from canvass.cluster.rules import Rules
from canvass.cluster.stepping import ACTION_OF
from canvass.simulation.log_contents import Log
from canvass.simulation.world import World
from canvass.traces.recorder import RunRecorder
from canvass.traces.schema import Run

E: Final = ElectionState
_EVENT_LENGTH: Final = 32


class DrivenCluster(World):
    """A world with a random scheduler; every step is the core's and is recorded.

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
        members = range(rules.member_count)
        super().__init__(rules, _EVENT_LENGTH, step, [recorder.member(i) for i in members])
        self.rng = random.Random(seed)
        self.faults = faults
        self._taken = self._noted = 0
        self._clocks = [0 for _ in members]
        self._ends: defaultdict[int, set[int]] = defaultdict(set)
        """Where the entries of each term end."""
        for i in members:
            self.start(i)

    def time_ns(self, i: int) -> int:
        """What the clock of member ``i`` says: it goes on with each step."""
        self._clocks[i] += self.rng.randrange(1, 1000)
        return self._clocks[i]

    def note_steps(self) -> int:
        """Note where the entries of the steps since the last call end; count the enabled steps."""
        for step in self.steps[self._noted :]:
            if step.outcome is not None:
                self._taken += 1
                led = step.outcome.next.module_leadership_term_id
                for effect in step.outcome.effects:
                    if isinstance(effect, AppendToLog | AppendNewLeadershipTermEvent):
                        self._ends[led].add(effect.position)
        self._noted = len(self.steps)
        return self._taken

    def ends(self, log: Log, position: int) -> list[int]:
        """Where the entries of a log end that end beyond a position."""
        self.note_steps()
        return [
            end
            for part in log
            if part.end > position
            for end in sorted(self._ends[part.term])
            if max(part.start, position) < end <= part.end
        ]

    def run(self, steps: int) -> None:
        """Take about so many steps."""
        while self.note_steps() < steps:
            if self.rng.random() < 0.5:
                self._deliver()
            else:
                self._act(self.rng.randrange(self.rules.member_count))

    def _deliver(self) -> None:
        """Deliver, or sometimes lose, the next message of some channel."""
        waiting = [pair for pair, queue in self.channels.items() if queue]
        if not waiting:
            return
        i, j = self.rng.choice(waiting)
        received = self.channels[i, j].popleft()
        if self.rng.random() >= self.faults:
            self.handle(j, received, self._active(j))

    def _active(self, i: int) -> frozenset[int]:
        count = self.rules.member_count
        return frozenset(j for j in range(count) if j == i or self.rng.random() < 0.9)

    def _act(self, i: int) -> None:
        """Let one member do something of its own."""
        s = self.members[i]
        if s.module_state is not ModuleState.ACTIVE or self.rng.random() < self.faults / 4:
            self._restart(i)
            return
        if self.rng.random() < self.faults:
            self._fault(i, s)
            return
        choices = list(self._choices(i, s))
        if choices:
            self.take(i, *self.rng.choice(choices))

    def _restart(self, i: int) -> None:
        """Start a member again; what was on its way to it is lost or comes to the new process."""
        late = {pair: queue.copy() for pair, queue in self.channels.items() if pair[1] == i}
        self.start(i)
        if self.rng.random() < 0.5:
            self.channels |= late

    def _fault(self, i: int, s: Member) -> None:
        if s.election_state is not E.CLOSED:
            self.take(i, "ElectionError", self._failing_input(i, s))
            return
        graceful = self.rng.choice((-1, s.leader_member_id))
        choices = [("EnterElection", replace(NO_INPUT, graceful_closed_leader_id=graceful))]
        choices += [("TakeSnapshot", NO_INPUT)] * 3
        self.take(i, *self.rng.choice(choices))

    def _failing_input(self, i: int, s: Member) -> Input:
        """The input of an error; it may strike when the election should close."""
        x = NO_INPUT
        if s.election_state is E.LEADER_READY:
            x = self._tick_input(i, s)
        elif s.election_state is E.FOLLOWER_READY and self.rng.random() < 0.5:
            x = replace(x, position=s.commit_position)
        return NO_INPUT if x.position == NULL_VALUE else x

    def _choices(self, i: int, s: Member) -> Iterator[tuple[str, Input]]:
        if s.election_state is not E.CLOSED:
            if self.may_tick(i):
                yield ACTION_OF[s.election_state], self._tick_input(i, s)
        elif s.role is Role.LEADER:
            grown = s.publication_position + self.rng.choice((32, 64, 96))
            yield "AppendEntry", replace(NO_INPUT, position=grown)
            active, due = self._active(i), self.rng.random() < 0.3
            update = replace(NO_INPUT, active=active, commit_interval=due)
            yield "UpdateLeaderPosition", update
        else:
            yield "UpdateFollowerPosition", NO_INPUT
        more = self.ends(self.source(i), s.recorded_position)
        if more:
            yield "RecordLog", replace(NO_INPUT, position=self.rng.choice(more[:2]))
        for end in self.ends(self.logs[i], s.commit_position)[:1]:
            processing = self.processing(i, end)
            assert processing is not None
            yield processing

    def _tick_input(self, i: int, s: Member) -> Input:
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
                ready = replace(x, position=s.publication_position + _EVENT_LENGTH)
                if self.step(self.rules, i, s, "LeaderReady", ready) is not None:
                    return ready
        copied = s.log_replication and s.recorded_position == s.replication_stop_position
        if copied and flip() < self.faults:
            return replace(x, position=s.recorded_position)
        return x


def record_run(
    folder: Path,
    rules: Rules,
    seed: int,
    steps: int = 300,
    *,
    faults: float = 0.01,
    run_id: str | None = None,
    step: StepFunction = core.step,
    cluster: type[DrivenCluster] = DrivenCluster,
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
    cluster
        What is driven.
    """
    run = Run.of(rules, run_id or f"driven-{seed}", {"kind": "driven", "seed": seed})
    with RunRecorder(folder, run, flush=False) as recorder:
        driven = cluster(rules, recorder, seed, faults=faults, step=step)
        driven.run(steps)
    return run

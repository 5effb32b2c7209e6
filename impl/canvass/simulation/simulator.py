"""The deterministic simulator: whole members, virtual time, and one queue of what happens next.

The members are those of `canvass run` (`canvass.node.node`); processes, disks, network and clocks
are simulated. Everything a run does follows from its options. There is one thread and no real
clock; events of the same nanosecond happen in the order in which they were put into the queue. A
run has two phases: first faults strike until enough steps are taken, then the faults stop, and all
members have to come to serve one leader and to agree.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from canvass.archive.recording import Recording
from canvass.cluster import core
from canvass.cluster.effects import Send
from canvass.cluster.member import ElectionState, Input, Member, ModuleState, Role
from canvass.cluster.messages import (
    NULL_VALUE,
    AppendPosition,
    CanvassPosition,
    CommitPosition,
    Message,
)
from canvass.cluster.outcome import Outcome
from canvass.cluster.ports import StepFunction, StepRecorder
from canvass.cluster.timing import Timing
from canvass.node.node import Node
from canvass.simulation.clients import Clients
from canvass.simulation.faults import FaultInjector
from canvass.simulation.healing import Healing
from canvass.simulation.log_contents import EntryLog
from canvass.simulation.member import SimulatedMember
from canvass.simulation.network import CONSENSUS, Network
from canvass.simulation.options import FAULT_TIMEOUTS, Options
from canvass.simulation.safety_monitor import SafetyMonitor, Violation
from canvass.transport.messages import format_endpoints

_BUSY_NS: Final = 20_000
"""How long a cycle takes in which there was something to do."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A violated property."""

    property_name: str
    violation: str
    step: int
    """How many steps the run had taken."""
    time_ns: int


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run came to."""

    options: Options
    steps: int
    time_ns: int
    digest: str
    """A hash of the run: every step with its time and what it changed, what services processed and
    what clients were answered."""
    counts: dict[str, int]
    """Elections won, requests answered, and each fault that struck."""
    actions: dict[str, int]
    """How often each action was taken."""
    findings: tuple[Finding, ...]
    """The violated properties, each once."""
    stuck: tuple[str, ...]
    """Why the members did not come to serve one leader and to agree after the faults stopped; empty
    if they did."""
    left_out: tuple[str, ...]
    """The members that a hardening kept out until a leader was elected anew, which they joined;
    empty if there were none. See `canvass.simulation.healing`."""
    recovery_ns: int
    """How long it took from the end of the faults, or -1."""


_CANVASSING: Final = (ElectionState.CANVASS, ElectionState.NOMINATE)


class HeartbeatMonitor:
    """Asks whether each member repeats its messages in time.

    The spec is untimed, so a step that sends nothing is always allowed. Only a clock can find a
    silent member. The monitor looks at the end of each duty cycle of a running process, after a
    pause or a slow disk has ended.
    """

    def __init__(self, timing: Timing, count: int) -> None:
        self._timing, self._count = timing, count
        self._since_ns = [0] * count

    def step(self, i: int, now_ns: int, before: Member, outcome: Outcome) -> None:
        """Take note of a step of member ``i``: it changes its state, or says what is due."""
        after = outcome.next
        if after.election_state is not before.election_state or after.role is not before.role:
            self._since_ns[i] = now_ns
            return
        due = self._due(after)
        if due is not None and any(
            isinstance(effect, Send) and isinstance(effect.message, due[0])
            for effect in outcome.effects
        ):
            self._since_ns[i] = now_ns

    def late(self, i: int, now_ns: int, s: Member) -> str:
        """Say what member ``i`` has not said in time, at the end of a cycle; or nothing."""
        due = self._due(s)
        if due is None or now_ns < self._since_ns[i] + due[1]:
            return ""
        return f"{i} in {s.election_state.value} has sent no {due[0].__name__} for an interval"

    def _due(self, s: Member) -> tuple[type[Message], int] | None:
        """What the state of a member has to repeat, and how often."""
        if self._count == 1 or s.module_state is not ModuleState.ACTIVE:
            return None
        if s.election_state in _CANVASSING:
            return CanvassPosition, self._timing.election_status_interval_ns
        if s.election_state is ElectionState.CLOSED:
            said = CommitPosition if s.role is Role.LEADER else AppendPosition
            return said, self._timing.leader_heartbeat_interval_ns
        return None


class Simulator:
    """One run of a cluster.

    Parameters
    ----------
    options
        What the run follows from.
    recorders
        Of the members; none records nothing.
    step
        The protocol core.
    """

    def __init__(
        self,
        options: Options,
        recorders: Sequence[StepRecorder] = (),
        step: StepFunction = core.step,
    ) -> None:
        self.options = options
        self.now_ns = 0
        self.steps = 0
        self.counts: Counter[str] = Counter()
        self._actions: Counter[str] = Counter()
        self._digest = blake2b(digest_size=16)
        self._queue: list[tuple[int, int, Callable[[], object]]] = []
        self._sequence = 0
        self._processed: dict[tuple[int, int], bytes] = {}
        count = options.member_count
        self.endpoints = format_endpoints({i: f"member:{i}" for i in range(count)})
        self.session_timeout_ms = 3 * options.timing.leader_heartbeat_timeout_ns // 1_000_000
        self.network = Network(options, self.counts, self.schedule)
        self.logs = [EntryLog() for _ in range(count)]
        """What each member is known to have recorded."""
        given = [*recorders, *[None] * count][:count]
        self.members = [SimulatedMember(self, i, one, step) for i, one in enumerate(given)]
        self._states = [member.state for member in self.members]
        self._safety = SafetyMonitor(options.rules, self.logs.__getitem__, EntryLog(), self._states)
        self._findings: dict[str, Finding] = {}
        self._heartbeats = HeartbeatMonitor(options.timing, count)
        self.clients = Clients(self)
        self.faults = FaultInjector(self)

    # Time.

    def schedule(self, at_ns: int, what: Callable[[], object]) -> None:
        """Let something happen at a time."""
        self._sequence += 1
        heapq.heappush(self._queue, (at_ns, self._sequence, what))

    def wake(self, i: int, at_ns: int) -> None:
        """Let member ``i`` do a cycle at that time at the latest."""
        member = self.members[i]
        at_ns = max(at_ns, member.paused_until_ns, self.now_ns)
        if member.up and (member.due_ns < self.now_ns or at_ns < member.due_ns):
            member.due_ns = at_ns
            self.schedule(at_ns, lambda: self._cycle(i))

    def _cycle(self, i: int) -> None:
        member = self.members[i]
        if not member.up or member.due_ns != self.now_ns:
            return
        member.due_ns = NULL_VALUE
        worked = member.work(lambda node: node.work(self.now_ns, member.time_ms))
        node = member.node
        if node is not None:
            busy_ns = self.now_ns + _BUSY_NS
            self.wake(i, busy_ns if worked else max(node.deadline_ns, busy_ns))
            lateness = self._heartbeats.late(i, self.now_ns, node.member)
            if lateness:
                self.find("PositionIsRepeated", lateness)

    # What members do.

    def send(self, i: int, j: int, stream: str, take: Callable[[Node], object]) -> None:
        """Send something from member to member.

        Parameters
        ----------
        i, j
            Sender and receiver.
        stream
            What kind of stream it belongs to.
        take
            Hands it to the receiver's process.
        """
        target, sender = self.members[j].node, self.members[i]
        if target is None:
            return
        disks = sender.lost_disks

        def arrive() -> None:
            if self.members[j].node is target and sender.lost_disks == disks:
                take(target)
                self.wake(j, self.now_ns)

        self.network.send(self.now_ns, i, j, stream, arrive)

    def send_consensus(self, i: int, j: int, number: int, message: Message) -> None:
        """Send a consensus message of member ``i``."""
        self.send(i, j, CONSENSUS, lambda node: node.on_consensus(i, number, message))

    # What is looked at.

    def hash(self, fact: bytes) -> None:
        """Add a fact to the digest of the run."""
        self._digest.update(fact)

    def find(self, name: str, violation: str) -> None:
        """Keep a violation of a property as a finding, the first one."""
        self._findings.setdefault(name, Finding(name, violation, self.steps, self.now_ns))

    def _report(self, violations: Sequence[Violation]) -> None:
        for name, violation in violations:
            self.find(name, violation)

    def look(
        self, i: int, action: str, x: Input, before: Member, outcome: Outcome, recording: Recording
    ) -> None:
        """Check safety after a step, whose effects are done."""
        after = outcome.next
        self.steps += 1
        self._actions[action] += 1
        self._states[i] = after
        facts = (self.now_ns, i, action, x.position, after.recorded_position, after.commit_position)
        self._digest.update(repr(facts).encode())
        log = self.logs[i]
        if log.end != after.recorded_position or action == "Restart":
            log.follow(recording, after.recorded_position)
        known = len(self._safety.committed)
        self._report(self._safety.step(i, action, before, outcome))
        self._heartbeats.step(i, self.now_ns, before, outcome)
        self.counts["entries committed"] += len(self._safety.committed) - known
        if after.election_state is ElectionState.CLOSED is not before.election_state:
            self.counts["elections closed"] += 1
            self.counts["elections won"] += after.role is Role.LEADER

    def look_at_restart(self, i: int, found: Member, recording: Recording) -> None:
        """Look at what member ``i`` finds on its disk."""
        self.logs[i].follow(recording, recording.end)
        self._report(self._safety.restart(i, self._states[i], found))

    def look_at_restored(self, i: int, found: Member, recording: Recording) -> None:
        """Look at what an operator has put on a new disk of member ``i``."""
        self._states[i] = found
        self.logs[i].follow(recording, recording.end)
        self._report(self._safety.restored(i, found))

    def on_processed(self, service: int, position: int, payload: bytes) -> None:
        """Look at what a service processes."""
        first = self._processed.setdefault((service, position), payload)
        self.hash(f"{self.now_ns} {service} {position}".encode() + payload)
        if first != payload:
            violation = f"services process different messages at {position}"
            self.find("StateMachineSafety", violation)

    # Lives of processes.

    def crash(self, i: int, how: str, *, power: bool = False) -> None:
        """End member ``i``, and start it again after a while."""
        self.counts[how] += 1
        self.members[i].end(power=power)
        self.faults.start_again(i)

    def start(self, i: int) -> None:
        """Start member ``i`` if it is down, or try again later."""
        member = self.members[i]
        if member.up or member.damage:
            return
        member.due_ns = NULL_VALUE
        if member.start():
            self.wake(i, self.now_ns)
        else:
            self.schedule(self.now_ns + 100 * self.options.unit_ns, lambda: self.start(i))

    # The run.

    def run(self) -> RunResult:
        """Run both phases."""
        self.faults.begin()
        self.clients.begin()
        limit_ns = FAULT_TIMEOUTS * self.options.timing.leader_heartbeat_timeout_ns
        while self.steps < self.options.steps and self.now_ns < limit_ns:
            self.happen()
        healing = Healing(self)
        healing.run()
        for member in self.members:
            member.recorder.flush()
        self.clients.check()
        self.counts["requests answered"] = sum(len(one) for one in self.clients.answers)
        return RunResult(
            self.options,
            self.steps,
            self.now_ns,
            self._digest.hexdigest(),
            dict(sorted(self.counts.items())),
            dict(sorted(self._actions.items())),
            tuple(self._findings.values()),
            healing.stuck,
            healing.left_out,
            healing.recovery_ns,
        )

    def happen(self) -> None:
        """Let the next thing happen."""
        self.now_ns, _, what = heapq.heappop(self._queue)
        what()

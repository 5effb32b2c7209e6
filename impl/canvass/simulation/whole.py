"""The simulator of whole members: archive, services and clients in virtual time, with one seed.

The members are the same that `canvass run` starts as processes (`canvass.node.node`); only disk,
network, clocks and clients' processes are simulated. Faults strike until every request is answered
or their time is over; then they stop, and all members have to serve one leader and to agree.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

from canvass.client.client import ClientSettings, ClientState, ClusterClient
from canvass.client.messages import Egress, Ingress, format_endpoints
from canvass.cluster.member import ElectionState
from canvass.cluster.ports import StepRecorder
from canvass.cluster.timing import MILLISECOND_NS, SECOND_NS
from canvass.node.node import Node
from canvass.services.examples import Counter as CounterApplication
from canvass.simulation.options import LIVENESS_TIMEOUTS, rng_of
from canvass.simulation.whole_faults import WholeFaultInjector
from canvass.simulation.whole_member import DISK_BYTES, WholeMember
from canvass.simulation.whole_options import WholeOptions

_PERIOD_NS: Final = 5 * MILLISECOND_NS
"""How often a client looks at its clock, and the run at whether it is done."""


@dataclass(frozen=True, slots=True)
class WholeResult:
    """What a run came to."""

    options: WholeOptions
    steps: int
    time_ns: int
    digest: str
    """A hash of the run: what was processed where and when, and what clients were told."""
    counts: dict[str, int]
    findings: tuple[str, ...]
    """What must never be, each once."""
    stuck: tuple[str, ...]
    """What had not come about long after the faults had stopped; empty if all did."""


class WholeSimulator:
    """One run.

    Parameters
    ----------
    options
        What the run follows from.
    recorders
        Of the members; none records nothing.
    """

    def __init__(self, options: WholeOptions, recorders: Sequence[StepRecorder] = ()) -> None:
        self.options = options
        self.now_ns = 0
        self.counts: Counter[str] = Counter()
        self.findings: list[str] = []
        self._digest = blake2b(digest_size=16)
        self._queue: list[tuple[int, int, Callable[[], object]]] = []
        self._sequence = 0
        self._network = rng_of(options.seed, "whole network")
        self.cuts: Counter[tuple[int, int, str]] = Counter()
        self._last_arrival: dict[tuple[object, object, str], int] = {}
        self._processed: dict[int, bytes] = {}
        self._committed: dict[int, int] = {}
        self._starts = rng_of(options.seed, "whole starts")
        self.calm = False
        count = options.member_count
        self.endpoints = format_endpoints({i: f"member:{i}" for i in range(count)})
        given = [*recorders, *[None] * count][:count]
        self.members = [
            WholeMember(self, i, CounterApplication, recorder) for i, recorder in enumerate(given)
        ]
        self.clients = [self._client(k) for k in range(options.client_count)]
        self._offered = [0] * options.client_count
        self.answers: list[dict[int, int]] = [{} for _ in self.clients]

    def _client(self, k: int) -> ClusterClient:
        return ClusterClient(
            ClientSettings(k + 1, f"client:{k}", silence_ms=2_000, connect_retry_ms=200),
            {i: f"member:{i}" for i in range(self.options.member_count)},
            lambda endpoint, message: self._send_ingress(k, endpoint, message),
        )

    # Time.

    def schedule(self, at_ns: int, what: Callable[[], object]) -> None:
        """Let something happen at a time."""
        self._sequence += 1
        heapq.heappush(self._queue, (at_ns, self._sequence, what))

    def wake(self, i: int, at_ns: int) -> None:
        """Let a member do a cycle at that time at the latest."""
        member = self.members[i]
        at_ns = max(at_ns, member.paused_until_ns, self.now_ns)
        if member.node is not None and (member.due_ns < self.now_ns or at_ns < member.due_ns):
            member.due_ns = at_ns
            self.schedule(at_ns, lambda: self._cycle(i))

    def _cycle(self, i: int) -> None:
        member = self.members[i]
        if member.node is None or member.due_ns != self.now_ns:
            return
        member.due_ns = -1
        worked = member.work()
        node = self.members[i].node
        if node is not None:
            self._look(i, node)
            busy_ns = self.now_ns + 20_000
            self.wake(i, busy_ns if worked else max(node.deadline_ns, busy_ns))

    def _look(self, i: int, node: Node) -> None:
        """Look at what a member has committed."""
        position = node.module.commit_position
        checksum = node.archive.recording.checksum(position)
        if checksum is not None:
            first = self._committed.setdefault(position, checksum)
            if first != checksum:
                self.find(f"StateMachineSafety: {i} has committed something else at {position}")

    def on_processed(self, position: int, payload: bytes) -> None:
        """Look at what a service processes."""
        first = self._processed.setdefault(position, payload)
        self._digest.update(f"{self.now_ns} {position}".encode() + payload)
        if first != payload:
            self.find(f"StateMachineSafety: services process different messages at {position}")

    def find(self, told: str) -> None:
        """Keep something that must never be, once."""
        if told not in self.findings:
            self.findings.append(told)

    # The network.

    def connects(self, i: int, j: int) -> bool:
        """Whether consensus messages can go from one member to another."""
        up = self.members[j].node is not None
        return up and self.cuts[i, j, "consensus"] <= 0 and self.cuts[j, i, "consensus"] <= 0

    def _arrival_ns(self, sender: object, receiver: object, stream: str) -> int:
        """When what is sent now arrives, after what was sent before; -1 if it is lost."""
        if not self.calm and self._network.random() < self.options.faults.drop_probability:
            self.counts["message dropped"] += 1
            return -1
        delay_ns = int(self.options.network_delay_ns * (0.5 + self._network.random()))
        key = sender, receiver, stream
        arrival_ns = max(self.now_ns + delay_ns, self._last_arrival.get(key, 0))
        self._last_arrival[key] = arrival_ns
        return arrival_ns

    def send(self, i: int, j: int, stream: str, message: Any) -> None:
        """Send something from member to member."""
        target = self.members[j].node
        if target is None or self.cuts[i, j, stream] > 0:
            self.counts["message lost"] += 1
            return
        arrival_ns = self._arrival_ns(i, j, stream)
        if arrival_ns < 0:
            return

        def arrive() -> None:
            if self.members[j].node is not target:
                return
            if stream == "consensus":
                target.on_consensus(i, *message)
            else:
                target.on_stream(i, message)
            self.wake(j, self.now_ns)

        self.schedule(arrival_ns, arrive)

    def send_egress(self, i: int, channel: str, message: Egress) -> None:
        """Send something to a client."""
        k = int(channel.removeprefix("client:"))
        arrival_ns = self._arrival_ns(i, channel, "egress")
        if arrival_ns >= 0:
            self.schedule(arrival_ns, lambda: self.clients[k].on_egress(message))

    def _send_ingress(self, k: int, endpoint: str, message: Ingress) -> None:
        i = int(endpoint.removeprefix("member:"))
        arrival_ns = self._arrival_ns(f"client:{k}", i, "ingress")

        def arrive() -> None:
            node = self.members[i].node
            if node is not None:
                node.on_ingress(message)
                self.wake(i, self.now_ns)

        if arrival_ns >= 0:
            self.schedule(arrival_ns, arrive)

    # Clients.

    def _client_period(self, k: int, rng: random.Random) -> None:
        client, options = self.clients[k], self.options
        client.work(self.now_ns // MILLISECOND_NS)
        if (
            self._offered[k] < options.requests
            and rng.random() < _PERIOD_NS / (options.offer_mean_ms * MILLISECOND_NS)
            and client.offer(b"add 1") >= 0
        ):
            self._offered[k] += 1
        while client.answers:
            number, answer = client.answers.popitem(last=False)
            self._digest.update(f"{self.now_ns} {k} {number} ".encode() + answer)
            self.answers[k][number] = int(answer)
        self.schedule(self.now_ns + _PERIOD_NS, lambda: self._client_period(k, rng))

    # Lives of processes.

    def crash(self, i: int, how: str, *, power: bool) -> None:
        """End a member's process, and start it again after a while."""
        self.counts[how] += 1
        self.members[i].end(power=power)
        wait_ms = 1 if self.calm else self._starts.choice((5, 100, 1_000, 4_000))
        self.schedule(self.now_ns + wait_ms * MILLISECOND_NS, lambda: self._start(i))

    def _start(self, i: int) -> None:
        member = self.members[i]
        if member.node is None:
            member.due_ns = -1
            if member.start():
                self.wake(i, self.now_ns)
            else:
                self.schedule(self.now_ns + 100 * MILLISECOND_NS, lambda: self._start(i))

    # The run.

    def run(self) -> WholeResult:
        """Run until all is answered, then without faults until all agree."""
        options = self.options
        for i in range(options.member_count):
            self.schedule(self._starts.randrange(50) * MILLISECOND_NS, lambda i=i: self._start(i))  # type: ignore[misc]
        for k in range(options.client_count):
            self._client_period(k, rng_of(options.seed, f"whole client {k}"))
        WholeFaultInjector(self).begin()
        limit_ns = options.fault_ms * MILLISECOND_NS
        stuck: tuple[str, ...] = ()
        while True:
            self.now_ns, _, what = heapq.heappop(self._queue)
            what()
            if self.calm:
                if self._agrees():
                    break
                if self.now_ns >= limit_ns:
                    stuck = self._reasons()
                    break
            elif self.now_ns >= limit_ns or self._is_answered():
                self._heal()
                timing = options.timing
                limit_ns = self.now_ns + timing.startup_canvass_timeout_ns + 10 * SECOND_NS
                limit_ns += LIVENESS_TIMEOUTS * timing.leader_heartbeat_timeout_ns
        self._count_requests()
        for member in self.members:
            member.recorder.flush()
        steps = self.counts.pop("steps", 0)
        steps += sum(member.node.steps for member in self.members if member.node is not None)
        self.counts["answers"] = sum(len(one) for one in self.answers)
        self.counts["committed bytes"] = max(self._committed, default=0)
        return WholeResult(
            options,
            steps,
            self.now_ns,
            self._digest.hexdigest(),
            dict(sorted(self.counts.items())),
            tuple(self.findings),
            stuck,
        )

    def _heal(self) -> None:
        self.calm = True
        self.cuts.clear()
        for member in self.members:
            member.paused_until_ns = 0
            member.storage.fail_before = -1
            member.storage.sync_fails = False
            member.storage.capacity = DISK_BYTES
            self._start(member.id)
            self.wake(member.id, self.now_ns)

    def _is_answered(self) -> bool:
        return all(len(one) == self.options.requests for one in self.answers)

    def _agrees(self) -> bool:
        """Whether all is answered, and all members serve one leader and have processed the same."""
        if not self._is_answered() or sum(self._leaders()) != 1:
            return False
        positions = set()
        for member in self.members:
            node = member.node
            if node is None or node.member.election_state is not ElectionState.CLOSED:
                return False
            positions |= {node.module.commit_position, node.module.agents[0].log_position}
            positions |= {node.archive.recording.end}
            if not member.service.is_quiet:
                return False
        return len(positions) == 1

    def _leaders(self) -> list[bool]:
        return [member.node is not None and member.node.leads for member in self.members]

    def _count_requests(self) -> None:
        """Every answer is another value, and every acknowledged request counts once."""
        found = [value for one in self.answers for value in one.values()]
        if len(set(found)) != len(found):
            self.find("ExactlyOnce: two requests were told the same value of the counter")
        for k, answers in enumerate(self.answers):
            values = [answers[number] for number in sorted(answers)]
            if values != sorted(values):
                self.find(f"ExactlyOnce: the answers to client {k} are out of order")
        states = set()
        offered = sum(self._offered)
        for member in self.members:
            node = member.node
            if node is not None and node.leads:
                value = member.service.application.snapshot()
                if not len(found) <= int(value) <= offered:
                    self.find(f"ExactlyOnce: {len(found)} acknowledged, {int(value)} counted")
            if node is not None:
                states.add((node.module.agents[0].log_position, member.service.on_take_snapshot()))
        if len({position for position, _ in states}) != len(states):
            self.find("StateMachineSafety: services differ at the same position")

    def _reasons(self) -> tuple[str, ...]:
        told = [
            f"client {k}: {client.state.value}, {client.unanswered_count} unanswered"
            for k, client in enumerate(self.clients)
            if client.unanswered_count or client.state is not ClientState.OPEN
        ]
        for member in self.members:
            if member.node is None:
                told.append(f"{member.id} is down")
                continue
            s = member.node.member
            told.append(
                f"{member.id} in {s.election_state.value} as {s.role.value} of term "
                f"{s.module_leadership_term_id}, recorded {s.recorded_position}, committed "
                f"{s.commit_position}, processed {member.node.module.agents[0].log_position}"
            )
        return tuple(told)

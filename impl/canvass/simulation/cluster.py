"""The members and the clients of a simulated cluster.

A member is a disk that can fail, and a process. The process is the one that `canvass run` starts
(`canvass.node.node`). An exception that leaves a duty cycle ends the process: before an effect,
before a write to disk, or after an error of the disk.

The clients (`canvass.client`) add to one counter, so all answers must differ. Checks find requests
that were lost or applied twice.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, Literal

import msgspec

from canvass.archive.archive import Archive
from canvass.archive.memory import MemoryStorage, PowerFailure
from canvass.archive.recording import Recording
from canvass.archive.storage import ArchiveError, DamageError
from canvass.client.client import ClientSettings, ClientState, ClusterClient
from canvass.cluster.clocks import MILLISECOND_NS
from canvass.cluster.duty_cycle import StepFunction, StepRecorder
from canvass.cluster.effects import Effect, JoinLog, Outcome, Send
from canvass.cluster.member import Input, Member
from canvass.cluster.messages import NULL_VALUE, Message, RequestVote
from canvass.cluster.predicates import BALLOT_OPEN
from canvass.cluster.transitions import persistent_member
from canvass.node.consensus_module import NodeSettings
from canvass.node.node import Node, resumption
from canvass.services.service import ClientSession, Cluster, Counter
from canvass.simulation.events import CLIENTS, CONSENSUS, LOG, Events, Monitors, Network
from canvass.simulation.options import rng_of
from canvass.transport.messages import Egress, Ingress, StreamMessage, format_endpoints

_TIMER_MS: Final = 30
"""The time from a message to the expiry of its timer."""


class WatchedService(Counter):
    """A counter that checks its own messages and timers.

    For each message of a client it puts a message into the log and schedules a timer. Each message
    must come back once and in order, and each timer must expire once.

    Parameters
    ----------
    number
        The id of the service.
    on_processed
        Called with service, position and contents of each message of a client.
    find
        Called with each violation: a property and a sentence.
    """

    def __init__(
        self,
        number: int,
        on_processed: Callable[[int, int, bytes], None],
        find: Callable[[str, str], None],
    ) -> None:
        super().__init__()
        self._number = number
        self._on_processed, self._find = on_processed, find
        self._asked = self._seen = 0
        """The number of messages that the service has put into the log, and of those processed."""
        self._timers: set[int] = set()

    @property
    def is_quiet(self) -> bool:
        """Whether all messages have come back and all timers have expired."""
        return self._asked == self._seen and not self._timers

    def on_start(self, cluster: Cluster, snapshot: bytes | None) -> None:
        """See `ClusteredService`."""
        if snapshot is not None:
            self._asked, self._seen, timers, snapshot = msgspec.msgpack.decode(
                snapshot, type=tuple[int, int, list[int], bytes]
            )
            self._timers = set(timers)
        super().on_start(cluster, snapshot)

    def on_session_message(
        self, session: ClientSession | None, timestamp: int, payload: bytes
    ) -> None:
        """See `ClusteredService`."""
        cluster = self._cluster
        if session is None:
            self._on_own_message(payload)
            return
        self._on_processed(self._number, cluster.log_position, payload)
        self._asked += 1
        cluster.offer_to_log(b"%d %d" % (self._number, self._asked))
        timer = 2 * cluster.log_position + self._number
        self._timers.add(timer)
        cluster.schedule_timer(timer, timestamp + _TIMER_MS)
        super().on_session_message(session, timestamp, payload)

    def _on_own_message(self, payload: bytes) -> None:
        number, count = map(int, payload.split())
        if number != self._number:
            return  # Another service's.
        self._seen += 1
        if count != self._seen:
            violation = f"{count} comes back to service {number} in place of {self._seen}"
            self._find("ServiceMessages", violation)

    def on_timer_event(self, correlation_id: int, timestamp: int) -> None:
        """See `ClusteredService`."""
        del timestamp
        if correlation_id % 2 != self._number:
            return  # Another service's.
        if correlation_id not in self._timers:
            self._find("Timers", f"{correlation_id} expires, which is not waiting")
        self._timers.discard(correlation_id)

    def on_take_snapshot(self) -> bytes:
        """See `ClusteredService`."""
        content = super().on_take_snapshot()
        return msgspec.msgpack.encode((self._asked, self._seen, sorted(self._timers), content))


class Clients:
    """All clients of one run.

    Parameters
    ----------
    events
        The events of the run.
    network
        The network between clients and members.
    deliver
        Hands a message to a member, which may be down.
    """

    def __init__(
        self, events: Events, network: Network, deliver: Callable[[int, Ingress], None]
    ) -> None:
        self._events, self._network, self._deliver = events, network, deliver
        options = events.options
        unit_ms = options.timing.leader_heartbeat_timeout_ns / 1_000 / MILLISECOND_NS
        self._period_ns = max(1, 5 * options.unit_ns)
        self._members = [
            ClusterClient(
                ClientSettings(
                    k + 1,
                    f"client:{k}",
                    connect_retry_ms=int(200 * unit_ms) + 1,
                    offer_retry_ms=int(500 * unit_ms) + 1,
                    keep_alive_ms=int(1_000 * unit_ms) + 1,
                    silence_ms=int(2_000 * unit_ms) + 1,
                ),
                {i: f"member:{i}" for i in range(options.member_count)},
                lambda endpoint, message, k=k: self._send_ingress(k, endpoint, message),  # type: ignore[misc]
            )
            for k in range(options.client_count)
        ]
        self.offered = [0] * options.client_count
        self.answers: list[dict[int, int]] = [{} for _ in self._members]
        self.quiet = False
        """Whether the clients offer no new requests."""

    def begin(self) -> None:
        """Start the clients."""
        for k in range(len(self._members)):
            self._period(k, rng_of(self._events.options.seed, f"client {k}"))

    def _period(self, k: int, rng: random.Random) -> None:
        client, events = self._members[k], self._events
        client.work(events.now_ns // MILLISECOND_NS)
        mean_ns = events.options.offer_mean_ns
        if not self.quiet and rng.random() < self._period_ns / mean_ns:
            self.offered[k] += client.offer(b"add 1") >= 0
        while client.answers:
            number, answer = client.answers.popitem(last=False)
            events.hash(f"{events.now_ns} {k} {number} ".encode() + answer)
            self.answers[k][number] = int(answer)
        events.schedule(events.now_ns + self._period_ns, lambda: self._period(k, rng))

    # The network.

    def send_egress(self, i: int, channel: str, message: Egress) -> None:
        """Send a message of member ``i`` to a client."""
        client = self._members[int(channel.removeprefix("client:"))]
        self._network.send(i, channel, CLIENTS, lambda: client.on_egress(message))

    def _send_ingress(self, k: int, endpoint: str, message: Ingress) -> None:
        i = int(endpoint.removeprefix("member:"))
        self._network.send(f"client:{k}", i, CLIENTS, lambda: self._deliver(i, message))

    # Checks.

    @property
    def are_answered(self) -> bool:
        """Whether every request has its answer."""
        return list(map(len, self.answers)) == self.offered

    def check(self) -> None:
        """Check that all answers differ, and that those of each client rise."""
        found = [value for one in self.answers for value in one.values()]
        if len(set(found)) != len(found):
            violation = "two requests were answered with the same value of the counter"
            self._events.find("ExactlyOnce", violation)
        for k, answers in enumerate(self.answers):
            values = [answers[number] for number in sorted(answers)]
            if values != sorted(values):
                self._events.find("ExactlyOnce", f"the answers to client {k} are out of order")

    def check_count(self, value: int) -> None:
        """Check that a counter has every acknowledged request, and none twice."""
        answered = sum(len(one) for one in self.answers)
        if not answered <= value <= sum(self.offered):
            self._events.find("ExactlyOnce", f"{answered} acknowledged, {value} counted")

    def reasons(self) -> list[str]:
        """Sentences about the clients that are not connected or wait for answers."""
        return [
            f"client {k}: {client.state.value}, {client.unanswered_count} unanswered"
            for k, client in enumerate(self._members)
            if client.unanswered_count or client.state is not ClientState.OPEN
        ]


class HeldRecorder:
    """Holds the last step back until the next one, so that it can be dropped.

    Parameters
    ----------
    recorder
        Records the steps that stay, or None.

    Attributes
    ----------
    last, previous
        The states after the last step and after the one before.
    """

    def __init__(self, recorder: StepRecorder | None) -> None:
        self._recorder = recorder
        self._held: Callable[[], int] | None = None
        self._number = self._held_from = 0
        self.last: Member | None = None
        self.previous: Member | None = None

    def record(self, time_ns: int, action: str, state: Member, **facts: Any) -> int:
        """Hold a step, and record the previous one."""
        self.flush()
        if self._recorder is not None:
            self._held = partial(self._recorder.record, time_ns, action, state, **facts)
        self.previous, self.last = self.last, state
        self._held_from = self._number
        self._number += len(facts.get("sends", ()))
        return self._held_from

    def forget_last(self) -> None:
        """Drop the held step."""
        self._held, self.last, self._number = None, self.previous, self._held_from

    def flush(self) -> None:
        """Record the held step."""
        held, self._held = self._held, None
        if held is not None:
            held()


SEGMENT_LENGTH: Final = 8_192
DISK_BYTES: Final = 1 << 40
SLOW_WRITE_UNITS: Final = 20
"""How long a slow disk takes for each write, in thousandths of the heartbeat timeout."""

Moment = Literal["join", "ballot", "log cut"]
"""A member joins a log, to catch up, to follow or to lead; a member asks for votes; a member has
done a step that truncated its log."""

Step = tuple[str, Input, Member, Outcome]
"""Action, input, the state before, and the outcome."""


def _moment_of(effect: Effect) -> Moment | None:
    """The moment that an effect begins, or None."""
    if isinstance(effect, JoinLog):
        return "join"
    asks = isinstance(effect, Send) and isinstance(effect.message, RequestVote)
    return "ballot" if asks else None


class Crash(Exception):
    """The process ends now; the message says how."""


class SimulatedNode(Node):
    """A process whose transport, a simulated member, sees each step and each effect."""

    _transport: SimulatedMember

    def adopt(
        self, now_ns: int, action: str, x: Input, sender: int, number: int, outcome: Outcome
    ) -> None:
        """See `canvass.cluster.duty_cycle.Port`."""
        self._transport.begin(action, x, outcome)
        super().adopt(now_ns, action, x, sender, number, outcome)
        self._transport.complete(self.archive.recording)

    def before_effect(self, effect: Effect) -> None:
        """See `canvass.node.node.Node`."""
        self._transport.before_effect(effect)


class SimulatedMember:
    """A member of the cluster, up or down.

    Parameters
    ----------
    cluster
        Its cluster.
    i
        The member's id.
    recorder
        Records its steps, or None.
    step
        The protocol core.
    """

    def __init__(
        self, cluster: SimulatedCluster, i: int, recorder: StepRecorder | None, step: StepFunction
    ) -> None:
        self._cluster, self.id, self._step = cluster, i, step
        self._events = cluster.events
        self.rng: random.Random = rng_of(self._events.options.seed, f"member {i}")
        self.storage = MemoryStorage(DISK_BYTES)
        self.recorder = HeldRecorder(recorder)
        self.node: Node | None = None
        self.services: list[WatchedService] = []
        self.state = persistent_member(self._events.options.rules)
        """The protocol state; while the member is down, the last one."""
        self.paused_until_ns = 0
        self.clock_offset_ms = 0
        self.due_ns = -1
        self.crash_after = -1
        """The number of further effects after which the process ends; -1 if it does not end."""
        self.at_moment: dict[Moment, Callable[[], object]] = {}
        """The latest fault that waits for each moment."""
        self.disk_is_slow = False
        self._has_sent = False
        self._begun: Step | None = None
        """The step that has begun, and whose effects are not complete."""

    @property
    def up(self) -> bool:
        """Whether the process runs."""
        return self.node is not None

    # The transport of the node.

    def send_consensus(self, to: int, number: int, message: Message) -> None:
        """See `canvass.node.node.Transport`."""
        self._has_sent = True
        self._cluster.send(
            self.id, to, CONSENSUS, lambda node: node.on_consensus(self.id, number, message)
        )

    def send_stream(self, to: int, message: StreamMessage) -> None:
        """See `canvass.node.node.Transport`."""
        self._cluster.send(self.id, to, LOG, lambda node: node.on_stream(self.id, message))

    def send_egress(self, channel: str, message: Egress) -> None:
        """See `canvass.node.node.Transport`."""
        self._cluster.clients.send_egress(self.id, channel, message)

    def accepts(self, to: int) -> bool:
        """See `canvass.node.node.Transport`."""
        cluster = self._cluster
        return cluster.members[to].up and cluster.network.accepts(self.id, to)

    # The steps of the node.

    def begin(self, action: str, x: Input, outcome: Outcome) -> None:
        """Note a step that is about to be recorded and carried out."""
        self._begun = action, x, self.state, outcome
        self._has_sent = False

    def before_effect(self, effect: Effect) -> None:
        """Let a fault that waits for an effect strike; it may end the process."""
        if self.at_moment:
            moment = _moment_of(effect)
            if moment in self.at_moment:
                self.at_moment.pop(moment)()
        if self.crash_after >= 0:
            self.crash_after -= 1
            if self.crash_after < 0:
                raise Crash("crash within a step")

    def complete(self, recording: Recording) -> None:
        """Check the step whose effects are complete now."""
        before = self.state
        self._count()
        after = self.state
        cut = after.recorded_position < before.recorded_position
        if after.election_state in BALLOT_OPEN and recording.end != after.recorded_position:
            violation = (
                f"{self.id} reports {after.recorded_position}, and has recorded {recording.end}"
            )
            self._events.find("RecordingEndsAsReported", violation)
        if cut and "log cut" in self.at_moment:
            self.at_moment.pop("log cut")()

    def _count(self) -> None:
        """Count the step that has begun, if there is one."""
        if self._begun is not None:
            action, x, before, outcome = self._begun
            self._begun, self.state = None, outcome.next
            self._cluster.monitors.look(self.id, action, x, before, outcome)

    # The process.

    def start(self) -> bool:
        """Start a process with the data on the disk. Return false if the disk prevents this."""
        try:
            self._start()
        except OSError:
            return False
        except DamageError as error:
            self._events.counts["damage found"] += 1
            if self.storage.mend():  # The operator puts back the data, for example from a copy.
                self._events.counts["damage put back"] += 1
                return self.start()
            self._events.find("FailStop", f"member {self.id} finds damage where none is: {error}")
            return False
        except ArchiveError as error:
            self._events.find("FailStop", f"member {self.id} does not start: {error}")
            return False
        return True

    def _start(self) -> None:
        i, events = self.id, self._events
        options = events.options
        self.storage.fail_before = -1
        archive = Archive(self.storage, SEGMENT_LENGTH)
        self._resume(archive)
        self.services = [
            WatchedService(number, self._cluster.monitors.look_at_message, events.find)
            for number in range(options.service_count)
        ]
        timeout_ms = 3 * options.timing.leader_heartbeat_timeout_ns // 1_000_000
        endpoints = format_endpoints({k: f"member:{k}" for k in range(options.member_count)})
        settings = NodeSettings(i, options.rules, options.timing, endpoints, timeout_ms)
        self.node = SimulatedNode(
            settings, archive, self.services, self, self.rng.randrange, self.recorder, self._step
        )
        self.work(lambda node: node.start(events.now_ns, self.time_ms))

    def _resume(self, archive: Archive) -> None:
        rules = self._events.options.rules
        held = self.recorder
        found = archive.found(rules)
        todo = resumption(rules, self.id, found, held.last, held.previous)
        if todo.drop_last:
            held.forget_last()
            if self._begun is not None and self._has_sent:
                violation = f"{self.id} has sent a message about data that its disk does not hold"
                self._events.find("NothingSentBeforeDurable", violation)
        else:
            self._count()
        self._begun = None
        todo.carry_out(archive.recording, held, self._events.now_ns)
        self.state = archive.found(rules)

    def work(self, what: Callable[[Node], object]) -> bool:
        """Let the process work; it may end meanwhile. Return whether there was anything to do."""
        node, cluster = self.node, self._cluster
        if node is None:
            return False
        writes = self.storage.writes
        try:
            worked = bool(what(node))
        except Crash as crash:
            cluster.crash(self.id, str(crash))
        except PowerFailure:
            power = self.storage.power_fails
            how = "power failure at a write" if power else "crash at a write"
            cluster.crash(self.id, how, power=power)
        except OSError as error:
            # The process must end: data that a failed sync should have made durable may be lost.
            cluster.crash(self.id, str(error.strerror), power=self.storage.sync_fails)
        except DamageError:
            cluster.crash(self.id, "damage read")
        except ArchiveError as error:
            self._events.find("FailStop", f"member {self.id}: {error}")
            cluster.crash(self.id, "fail-stop")
        else:
            if self.disk_is_slow and self.storage.writes > writes:
                taken = (self.storage.writes - writes) * SLOW_WRITE_UNITS
                self.pause(self._events.now_ns + taken * self._events.options.unit_ns)
            if node.ended:
                cluster.crash(self.id, "termination requested")
            return worked
        return True

    def pause(self, until_ns: int) -> None:
        """Let the process do nothing until a time."""
        self.paused_until_ns = max(self.paused_until_ns, until_ns)
        self.due_ns = -1
        self._cluster.wake(self.id, self.paused_until_ns)

    def end(self, *, power: bool) -> None:
        """End the process; with ``power`` also the machine, so that unsynced data may be lost."""
        self.node = None
        self.crash_after = -1
        self.storage.sync_fails = False
        self.storage.fail_before = -1
        if power:
            self.storage.crash(self.rng)

    @property
    def time_ms(self) -> int:
        """The clock for timestamps."""
        return 1_000_000 + self._events.now_ns // 1_000_000 + self.clock_offset_ms


_BUSY_NS: Final = 20_000
"""The duration of a cycle with something to do."""
_RETRY_UNITS: Final = 100
"""The wait before another attempt to start a process, in thousandths of the heartbeat timeout."""


class SimulatedCluster:
    """Members, clients, and the network between them.

    Parameters
    ----------
    events
        The events of the run.
    recorders
        The recorders of the members, or none.
    step
        The protocol core.

    Attributes
    ----------
    members, clients, network
        The parts of the cluster.
    monitors
        Check each step.
    on_end
        Called with the id of each member whose process has ended, to start it again.
    """

    def __init__(
        self, events: Events, recorders: Sequence[StepRecorder], step: StepFunction
    ) -> None:
        self.events, self.monitors = events, Monitors(events)
        self.network = Network(events)
        self.clients = Clients(events, self.network, self._deliver)
        given = [*recorders, *[None] * events.options.member_count]
        self.members = [
            SimulatedMember(self, i, given[i], step) for i in range(events.options.member_count)
        ]
        self.on_end: Callable[[int], object] = self.start

    def send(self, i: int, j: int, stream: str, take: Callable[[Node], object]) -> None:
        """Send a message from member ``i`` to the present process of member ``j``.

        Parameters
        ----------
        i, j
            Sender and receiver.
        stream
            The kind of stream.
        take
            Hands the message to the receiver's node.
        """
        target = self.members[j].node
        if target is None:
            return

        def arrive() -> None:
            if self.members[j].node is target:
                take(target)
                self.wake(j, self.events.now_ns)

        self.network.send(i, j, stream, arrive)

    def _deliver(self, i: int, message: Ingress) -> None:
        node = self.members[i].node
        if node is not None:
            node.on_ingress(message)
            self.wake(i, self.events.now_ns)

    def wake(self, i: int, at_ns: int) -> None:
        """Schedule a cycle of member ``i`` at a time, unless one comes before."""
        member, now_ns = self.members[i], self.events.now_ns
        at_ns = max(at_ns, member.paused_until_ns, now_ns)
        if member.up and (member.due_ns < now_ns or at_ns < member.due_ns):
            member.due_ns = at_ns
            self.events.schedule(at_ns, lambda: self._cycle(i))

    def _cycle(self, i: int) -> None:
        member, now_ns = self.members[i], self.events.now_ns
        if not member.up or member.due_ns != now_ns:
            return
        member.due_ns = NULL_VALUE
        worked = member.work(lambda node: node.work(now_ns, member.time_ms))
        node = member.node
        if node is not None:
            busy_ns = now_ns + _BUSY_NS
            self.wake(i, busy_ns if worked else max(node.deadline_ns, busy_ns))
            self.monitors.look_at_cycle(i, node.member)

    def crash(self, i: int, how: str, *, power: bool = False) -> None:
        """End the process of member ``i``; with ``power`` also its machine."""
        self.events.counts[how] += 1
        self.members[i].end(power=power)
        self.on_end(i)

    def start(self, i: int) -> None:
        """Start member ``i`` if it is down. If its disk prevents this, try again later."""
        member, events = self.members[i], self.events
        if member.up:
            return
        member.due_ns = NULL_VALUE
        if member.start():
            self.wake(i, events.now_ns)
        else:
            again_ns = events.now_ns + _RETRY_UNITS * events.options.unit_ns
            events.schedule(again_ns, lambda: self.start(i))

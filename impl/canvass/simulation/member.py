"""One member of a simulated cluster: a disk that can fail, and the process that runs on it.

The process is the one that `canvass run` starts (`canvass.node.node`). It ends by an exception that
leaves its cycle: at an effect boundary, at a write to disk, or because the disk does not serve it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

from canvass.archive.archive import Archive
from canvass.archive.memory import MemoryStorage, PowerFailure
from canvass.archive.recording import Recording
from canvass.archive.repair import repair, restore
from canvass.archive.storage import ArchiveError, DamageError
from canvass.cluster.effects import Effect, JoinLog, Send
from canvass.cluster.member import Input, Member
from canvass.cluster.messages import Message, RequestVote
from canvass.cluster.outcome import Outcome
from canvass.cluster.ports import StepFunction, StepRecorder
from canvass.cluster.predicates import BALLOT_OPEN
from canvass.cluster.transitions import persistent_member
from canvass.node.consensus_module import NodeSettings
from canvass.node.node import Node
from canvass.node.process import resumption
from canvass.services.applications import Counter as CounterApplication
from canvass.simulation.clients import WatchedService
from canvass.simulation.network import LOG
from canvass.simulation.options import rng_of
from canvass.transport.messages import StreamMessage

if TYPE_CHECKING:
    from canvass.simulation.simulator import Simulator


class HeldRecorder:
    """Holds the last step back, so that it can still be forgotten.

    Parameters
    ----------
    recorder
        Where steps go that are past doubt, or None.

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
        """Hold a step, and let the one before go."""
        self.flush()
        if self._recorder is not None:
            self._held = partial(self._recorder.record, time_ns, action, state, **facts)
        self.previous, self.last = self.last, state
        self._held_from = self._number
        self._number += len(facts.get("sends", ()))
        return self._held_from

    def forget_last(self) -> None:
        """Forget the step that is held."""
        self._held, self.last, self._number = None, self.previous, self._held_from

    def flush(self) -> None:
        """Let the step that is held go."""
        held, self._held = self._held, None
        if held is not None:
            held()


SEGMENT_LENGTH: Final = 8_192
DISK_BYTES: Final = 1 << 40
SLOW_WRITE_UNITS: Final = 20
"""How long a slow disk takes for each write, in thousandths of the heartbeat timeout."""

Moment = Literal["join", "ballot", "log cut"]
"""A member joins a log, be it to catch up, to follow or to lead; it asks for votes; a step in which
it has truncated its log is done."""

Step = tuple[str, Input, Member, Outcome]
"""Action, input, the state before, and the outcome."""


def _moment_of(effect: Effect) -> Moment | None:
    """Which moment the member comes to by an effect."""
    if isinstance(effect, JoinLog):
        return "join"
    asks = isinstance(effect, Send) and isinstance(effect.message, RequestVote)
    return "ballot" if asks else None


class Crash(Exception):
    """The process ends now; the message says how."""


class SimulatedMember:
    """A member of the cluster, up or down.

    Parameters
    ----------
    simulator
        The cluster.
    i
        The member's id.
    recorder
        Where steps go, or None.
    step
        The protocol core.
    """

    def __init__(
        self, simulator: Simulator, i: int, recorder: StepRecorder | None, step: StepFunction
    ) -> None:
        self._simulator, self.id, self._step = simulator, i, step
        self.rng: random.Random = rng_of(simulator.options.seed, f"member {i}")
        self.storage = MemoryStorage(DISK_BYTES)
        self.recorder = HeldRecorder(recorder)
        self.node: Node | None = None
        self.services: list[WatchedService] = []
        self.state = persistent_member(simulator.options.rules)
        """The protocol state; while the member is down, the last one."""
        self.paused_until_ns = 0
        self.clock_offset_ms = 0
        self.due_ns = -1
        self.crash_after = -1
        """The process ends before so many more effects are done; -1 if it does not."""
        self.at_moment: dict[Moment, Callable[[], object]] = {}
        """Faults that wait for a moment, the last one for each."""
        self.disk_is_slow = False
        self.damage = ""
        """What keeps the member from starting for good; empty if nothing does."""
        self.lost_disks = 0
        self._disk_is_lost = self._has_sent = False
        self._begun: Step | None = None
        """The step that is recorded, and whose effects are not all done."""

    @property
    def up(self) -> bool:
        """Whether the process runs."""
        return self.node is not None

    # The transport of the node.

    def send_consensus(self, to: int, number: int, message: Message) -> None:
        """See `canvass.node.node.Transport`."""
        self._has_sent = True
        self._simulator.send_consensus(self.id, to, number, message)

    def send_stream(self, to: int, message: StreamMessage) -> None:
        """See `canvass.node.node.Transport`."""
        self._simulator.send(self.id, to, LOG, lambda node: node.on_stream(self.id, message))

    def accepts(self, to: int) -> bool:
        """See `canvass.node.node.Transport`."""
        simulator = self._simulator
        return simulator.members[to].up and simulator.network.accepts(self.id, to)

    # What is seen of its steps.

    def before_step(self, action: str, x: Input, outcome: Outcome) -> None:
        """See `canvass.node.node.StepObserver`."""
        self._begun = action, x, self.state, outcome
        self._has_sent = False

    def before_effect(self, effect: Effect) -> None:
        """See `canvass.node.node.StepObserver`."""
        if self.at_moment:
            moment = _moment_of(effect)
            if moment in self.at_moment:
                self.at_moment.pop(moment)()
        if self.crash_after >= 0:
            self.crash_after -= 1
            if self.crash_after < 0:
                raise Crash("crash within a step")

    def after_step(self, action: str, x: Input, outcome: Outcome) -> None:
        """See `canvass.node.node.StepObserver`."""
        assert self.node is not None
        after, recording = outcome.next, self.node.archive.recording
        cut = after.recorded_position < self.state.recorded_position
        self._done((action, x, self.state, outcome), recording)
        if after.election_state in BALLOT_OPEN and recording.end != after.recorded_position:
            violation = (
                f"{self.id} reports {after.recorded_position}, and has recorded {recording.end}"
            )
            self._simulator.find("RecordingEndsAsReported", violation)
        if cut and "log cut" in self.at_moment:
            self.at_moment.pop("log cut")()

    def _done(self, step: Step, recording: Recording) -> None:
        self._begun = None
        action, x, before, outcome = step
        self.state = outcome.next
        self._simulator.look(self.id, action, x, before, outcome, recording)

    # Its life.

    def start(self) -> bool:
        """Start a process on what is on the disk; false if the disk does not let it."""
        if self.damage or (self._disk_is_lost and not self._may_be_restored()):
            return False
        try:
            self._start()
        except OSError:
            return False
        except DamageError as error:
            self._simulator.counts["damage found"] += 1
            return self._repair(error) and self.start()
        except ArchiveError as error:
            self._simulator.find("FailStop", f"member {self.id} does not start: {error}")
            return False
        return True

    def _start(self) -> None:
        simulator, i = self._simulator, self.id
        options = simulator.options
        if self._disk_is_lost:
            self._restore()
        self.storage.fail_before = -1
        archive = Archive(self.storage, SEGMENT_LENGTH)
        self._resume(archive)
        self.services = [
            WatchedService(CounterApplication(), number, simulator.on_processed, simulator.find)
            for number in range(options.service_count)
        ]
        timeout_ms = simulator.session_timeout_ms
        endpoints = simulator.endpoints
        settings = NodeSettings(i, options.rules, options.timing, endpoints, timeout_ms)
        self.node = Node(
            settings,
            archive,
            self.services,
            self,
            lambda channel, message: simulator.clients.send_egress(i, channel, message),
            self.rng.randrange,
            self.recorder,
            step=self._step,
            observer=self,
        )
        self.work(lambda node: node.start(simulator.now_ns, self.time_ms))

    def _resume(self, archive: Archive) -> None:
        rules = self._simulator.options.rules
        held = self.recorder
        found = archive.found(rules)
        if self._disk_is_lost:
            self._disk_is_lost, self.state = False, found
            self._simulator.look_at_restored(self.id, found, archive.recording)
            return
        self._simulator.look_at_restart(self.id, found, archive.recording)
        todo = resumption(rules, self.id, found, held.last, held.previous)
        if todo.drop_last:
            held.forget_last()
            if self._begun is not None and self._has_sent:
                violation = f"{self.id} has sent a message about data that its disk does not hold"
                self._simulator.find("NothingSentBeforeDurable", violation)
        elif self._begun is not None:
            self._done(self._begun, archive.recording)
        self._begun = None
        todo.carry_out(archive.recording, held, self._simulator.now_ns)
        self.state = archive.found(rules)

    def lose_disk(self) -> None:
        """Lose the whole disk, and with it the machine; what was recorded of the member ends."""
        self._simulator.crash(self.id, "disk lost")
        self._disk_is_lost, self._begun = True, None
        self.lost_disks += 1
        self.recorder = HeldRecorder(None)

    def _may_be_restored(self) -> bool:
        """Whether nobody may still read what this member had sent before it lost its disk."""
        nodes = (member.node for member in self._simulator.members)
        return all(node is None or not node.unread_count for node in nodes)

    def _restore(self) -> None:
        """Let an operator put in a new disk, with what all other members have."""
        simulator, capacity = self._simulator, self.storage.capacity
        self.storage = MemoryStorage(DISK_BYTES)
        others = [member.storage for member in simulator.members if member is not self]
        restore(self.storage, others, simulator.options.rules, self.time_ms, SEGMENT_LENGTH)
        self.storage.capacity = capacity
        simulator.counts["disk restored"] += 1

    def _repair(self, error: DamageError) -> bool:
        """Let an operator repair the recording from another member's, if one has what is lost."""
        for other in self._simulator.members:
            if other is not self and not other.damage:
                try:
                    repair(self.storage, other.storage)
                except ArchiveError:
                    continue
                except OSError:
                    return False  # There is no room: again later.
                self._simulator.counts["damage repaired"] += 1
                return True
        self.damage = str(error)
        self._simulator.counts["damage past repair"] += 1
        return False

    def work(self, what: Callable[[Node], object]) -> bool:
        """Let the process do something; it may end in doing it."""
        node, simulator = self.node, self._simulator
        if node is None:
            return False
        writes = self.storage.writes
        try:
            worked = bool(what(node))
        except Crash as crash:
            simulator.crash(self.id, str(crash))
        except PowerFailure:
            power = self.storage.power_fails
            how = "power failure at a write" if power else "crash at a write"
            simulator.crash(self.id, how, power=power)
        except OSError as error:
            # The process may not go on: what a failed sync had to make durable may be lost.
            simulator.crash(self.id, str(error.strerror), power=self.storage.sync_fails)
        except DamageError:
            simulator.crash(self.id, "damage read")
        except ArchiveError as error:
            simulator.find("FailStop", f"member {self.id}: {error}")
            simulator.crash(self.id, "fail-stop")
        else:
            if self.disk_is_slow and self.storage.writes > writes:
                taken = (self.storage.writes - writes) * SLOW_WRITE_UNITS
                self.pause(simulator.now_ns + taken * simulator.options.unit_ns)
            if node.ended:
                simulator.crash(self.id, "end asked for")
            return worked
        return True

    def pause(self, until_ns: int) -> None:
        """Let the process do nothing for a while."""
        self.paused_until_ns = max(self.paused_until_ns, until_ns)
        self.due_ns = -1
        self._simulator.wake(self.id, self.paused_until_ns)

    def end(self, *, power: bool) -> None:
        """End the process; with the machine, if that is said."""
        self.node = None
        self.crash_after = -1
        self.storage.sync_fails = False
        self.storage.fail_before = -1
        if power:
            self.storage.crash(self.rng)

    @property
    def time_ms(self) -> int:
        """The clock for timestamps."""
        return 1_000_000 + self._simulator.now_ns // 1_000_000 + self.clock_offset_ms

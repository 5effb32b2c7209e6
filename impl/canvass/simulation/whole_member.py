"""One whole member in virtual time: a disk that can fail, and the process that runs on it."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from canvass.archive.archive import Archive
from canvass.archive.memory import MemoryStorage, PowerFailure
from canvass.archive.storage import ArchiveError
from canvass.cluster.member import NO_INPUT, Input, Member
from canvass.cluster.messages import NULL_VALUE, Message
from canvass.cluster.ports import StepRecorder
from canvass.node.consensus_module import ModuleSettings
from canvass.node.node import Node, NodeSettings
from canvass.node.resume import resumption
from canvass.node.wire import StreamMessage
from canvass.services.exactly_once import Application, ExactlyOnce
from canvass.services.service import ClientSession, Cluster
from canvass.simulation.options import rng_of

if TYPE_CHECKING:
    from canvass.simulation.whole import WholeSimulator

SEGMENT_LENGTH: Final = 8_192
DISK_BYTES: Final = 1 << 40
_TIMER_MS: Final = 30
"""After a message, until its timer expires."""
_WATCHED: Final = struct.Struct("<QQI")


class HeldRecorder:
    """Holds the last step back, so that it can still be forgotten.

    Parameters
    ----------
    recorder
        Where steps go that are past doubt, or None.
    """

    recording = True

    def __init__(self, recorder: StepRecorder | None) -> None:
        self._recorder = recorder
        self._held: Callable[[StepRecorder], int] | None = None
        self._number = self._held_from = 0
        self.last: Member | None = None
        self._previous: Member | None = None

    @property
    def previous(self) -> Member | None:
        """The state before the last step."""
        return self._previous

    def record(
        self,
        time_ns: int,
        action: str,
        state: Member,
        *,
        inputs: Input = NO_INPUT,
        sender: int = NULL_VALUE,
        number: int = NULL_VALUE,
        sends: Sequence[tuple[int, Message]] = (),
        log_checksums: Sequence[tuple[int, int]] = (),
    ) -> int:
        """Hold a step, and let the one before go."""
        self.flush()
        self._held = lambda recorder: recorder.record(
            time_ns,
            action,
            state,
            inputs=inputs,
            sender=sender,
            number=number,
            sends=sends,
            log_checksums=log_checksums,
        )
        self._previous, self.last = self.last, state
        self._held_from = self._number
        self._number += len(sends)
        return self._held_from

    def forget_last(self) -> None:
        """Forget the step that is held."""
        self._held, self.last, self._number = None, self._previous, self._held_from

    def flush(self) -> None:
        """Let the step that is held go."""
        held, self._held = self._held, None
        if held is not None and self._recorder is not None:
            held(self._recorder)


class WatchedService(ExactlyOnce):
    """A service that uses all that a cluster offers, and tells what it sees.

    For each message of a client it puts one into the log and lets a timer expire. Both have to come
    back once, messages in their order.

    Parameters
    ----------
    application
        What requests are applied to.
    on_processed
        Is told position and contents of each message of a client.
    find
        Is told what must never be.
    """

    def __init__(
        self,
        application: Application,
        on_processed: Callable[[int, bytes], None],
        find: Callable[[str], None],
    ) -> None:
        super().__init__(application)
        self._on_processed, self._find = on_processed, find
        self._asked = self._seen = 0
        """Messages put into the log, and those that have come back."""
        self._timers: set[int] = set()

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is to come back any more."""
        return self._asked == self._seen and not self._timers

    def on_start(self, cluster: Cluster, snapshot: bytes | None) -> None:
        """See `ClusteredService`."""
        if snapshot is not None:
            self._asked, self._seen, count = _WATCHED.unpack_from(snapshot)
            snapshot = snapshot[_WATCHED.size :]
            self._timers = set(struct.unpack_from(f"<{count}q", snapshot))
            snapshot = snapshot[8 * count :]
        super().on_start(cluster, snapshot)

    def on_session_message(
        self, session: ClientSession | None, timestamp: int, payload: bytes
    ) -> None:
        """See `ClusteredService`."""
        cluster = self._cluster
        if session is None:
            self._seen += 1
            if int(payload) != self._seen:
                self._find(f"ServiceMessages: {int(payload)} comes back in place of {self._seen}")
            return
        self._on_processed(cluster.log_position, payload)
        self._asked += 1
        cluster.offer_to_log(b"%d" % self._asked)
        self._timers.add(cluster.log_position)
        cluster.schedule_timer(cluster.log_position, timestamp + _TIMER_MS)
        super().on_session_message(session, timestamp, payload)

    def on_timer_event(self, correlation_id: int, timestamp: int) -> None:
        """See `ClusteredService`."""
        del timestamp
        if correlation_id not in self._timers:
            self._find(f"Timers: {correlation_id} expires, which is not waiting")
        self._timers.discard(correlation_id)

    def on_take_snapshot(self) -> bytes:
        """See `ClusteredService`."""
        timers = sorted(self._timers)
        head = _WATCHED.pack(self._asked, self._seen, len(timers))
        return head + struct.pack(f"<{len(timers)}q", *timers) + super().on_take_snapshot()


class WholeMember:
    """A member, up or down.

    Parameters
    ----------
    simulator
        The cluster.
    i
        The member's id.
    application
        Makes the application that the service runs.
    recorder
        Where steps go, or None.
    """

    def __init__(
        self,
        simulator: WholeSimulator,
        i: int,
        application: Callable[[], Application],
        recorder: StepRecorder | None,
    ) -> None:
        self._simulator, self.id = simulator, i
        self._application = application
        self.rng: random.Random = rng_of(simulator.options.seed, f"whole member {i}")
        self.storage = MemoryStorage(DISK_BYTES)
        self.recorder = HeldRecorder(recorder)
        self.node: Node | None = None
        self.service: WatchedService
        self.paused_until_ns = 0
        self.clock_offset_ms = 0
        self.due_ns = -1

    # The transport of the node.

    def send_consensus(self, to: int, number: int, message: Message) -> None:
        """See `canvass.node.port.Transport`."""
        self._simulator.send(self.id, to, "consensus", (number, message))

    def send_stream(self, to: int, message: StreamMessage) -> None:
        """See `canvass.node.port.Transport`."""
        self._simulator.send(self.id, to, "log", message)

    def accepts(self, to: int) -> bool:
        """See `canvass.node.port.Transport`."""
        return self._simulator.connects(self.id, to)

    # Its life.

    def start(self) -> bool:
        """Start a process on what is on the disk; false if the disk does not let it."""
        try:
            self._start()
        except OSError:
            return False
        except ArchiveError as error:
            self._simulator.find(f"FailStop: member {self.id} does not start: {error}")
            return False
        return True

    def _start(self) -> None:
        simulator, i = self._simulator, self.id
        options = simulator.options
        self.storage.fail_before = -1
        archive = Archive(self.storage, SEGMENT_LENGTH)
        self._resume(archive)
        self.service = WatchedService(self._application(), simulator.on_processed, simulator.find)
        settings = NodeSettings(
            i,
            options.rules,
            options.timing,
            ModuleSettings(i, simulator.endpoints, session_timeout_ms=3_000),
        )
        self.node = Node(
            settings,
            archive,
            [self.service],
            self,
            lambda channel, message: simulator.send_egress(i, channel, message),
            self.rng.randrange,
            self.recorder,
        )
        self.node.start(simulator.now_ns, self._time_ms())

    def _resume(self, archive: Archive) -> None:
        rules = self._simulator.options.rules
        held = self.recorder
        found = archive.found(rules)
        todo = resumption(rules, self.id, found, held.last, held.previous)
        if todo.drop_last:
            held.forget_last()
        if todo.truncate_position is not None:
            archive.recording.truncate(todo.truncate_position)
        if todo.noted is not None:
            x, outcome = todo.noted
            held.record(self._simulator.now_ns, "RecordLog", outcome.next, inputs=x)

    def work(self) -> bool:
        """Do one cycle; the power may fail in it."""
        node = self.node
        assert node is not None
        simulator = self._simulator
        try:
            worked = node.work(simulator.now_ns, self._time_ms())
        except PowerFailure:
            simulator.crash(self.id, "power failure at a write", power=True)
            return True
        except OSError as error:
            # The process may not go on: what a failed sync had to make durable may be lost.
            simulator.crash(self.id, str(error.strerror), power=self.storage.sync_fails)
            return True
        except ArchiveError as error:
            simulator.find(f"FailStop: member {self.id}: {error}")
            simulator.crash(self.id, "fail-stop", power=False)
            return True
        if node.ended:
            simulator.crash(self.id, "end asked for", power=False)
        return worked

    def end(self, *, power: bool) -> None:
        """End the process; with the machine, if that is said."""
        if self.node is not None:
            self._simulator.counts["steps"] += self.node.steps
        self.node = None
        self.storage.sync_fails = False
        self.storage.fail_before = -1
        if power:
            self.storage.crash(self.rng)

    def _time_ms(self) -> int:
        return 1_000_000 + self._simulator.now_ns // 1_000_000 + self.clock_offset_ms

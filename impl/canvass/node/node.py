"""One process of one member: archive, streams, consensus module, services and duty cycle, stepped.

The caller brings messages, time and a transport, and calls `Node.work`. Nothing here blocks but the
disk.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from canvass.archive.archive import Archive
from canvass.cluster import core
from canvass.cluster.duty_cycle import DutyCycle
from canvass.cluster.member import Member, Role
from canvass.cluster.messages import Message
from canvass.cluster.ports import Received, StepFunction, StepRecorder
from canvass.cluster.predicates import is_closed
from canvass.cluster.timing import MILLISECOND_NS, SLOW_TICK_NS
from canvass.node.consensus_module import ConsensusModule, NodeSettings
from canvass.node.port import MemberPort, StepObserver, Transport
from canvass.node.sessions import Authenticator
from canvass.node.streams import LogStreams
from canvass.services.service import ClusteredService
from canvass.transport.client_messages import Egress, Ingress
from canvass.transport.member_messages import StreamMessage

CYCLE_THRESHOLD_NS: Final = 100 * MILLISECOND_NS
"""A cycle that comes later than this after the one before is counted (Aeron's default)."""


class StallTracker:
    """How long the longest cycle took, and how many took too long."""

    def __init__(self) -> None:
        self.max_cycle_time_ns = 0
        self.exceeded_count = 0
        self._last_ns = -1

    def update(self, now_ns: int) -> None:
        """Note that a cycle begins."""
        if self._last_ns >= 0:
            taken_ns = now_ns - self._last_ns
            self.max_cycle_time_ns = max(self.max_cycle_time_ns, taken_ns)
            self.exceeded_count += taken_ns > CYCLE_THRESHOLD_NS
        self._last_ns = now_ns


class Node:
    """One process of one member.

    Parameters
    ----------
    settings
        Of the member.
    archive
        What it finds.
    services
        The applications, new ones.
    transport
        To the other members.
    send_egress
        To clients, by egress channel.
    draw
        Draws a number from 0 up to a limit, which is left out.
    recorder
        Keeps the steps, or nothing.
    authenticator
        Decides about clients.
    step
        The protocol core.
    observer
        Sees the steps, or nothing.
    """

    def __init__(
        self,
        settings: NodeSettings,
        archive: Archive,
        services: Sequence[ClusteredService],
        transport: Transport,
        send_egress: Callable[[str, Egress], None],
        draw: Callable[[int], int],
        recorder: StepRecorder | None = None,
        authenticator: Authenticator | None = None,
        step: StepFunction = core.step,
        observer: StepObserver | None = None,
    ) -> None:
        i = settings.member_id
        self.archive = archive
        self.stalls = StallTracker()
        self.streams = LogStreams(archive.recording, settings.timing, transport.send_stream)
        self.module = ConsensusModule(settings, archive, services, send_egress, authenticator)
        self._port = MemberPort(
            i, archive, self.streams, self.module, transport, recorder, draw, observer
        )
        found = archive.found(settings.rules)
        self.duty = DutyCycle(settings.rules, i, settings.timing, found, self._port, step)
        self._slow_tick_ns = 0
        self._stream_messages: deque[tuple[int, StreamMessage]] = deque()

    @property
    def member(self) -> Member:
        """The protocol state."""
        return self.duty.member

    @property
    def leads(self) -> bool:
        """Whether the member is a leader that serves."""
        return is_closed(self.member, Role.LEADER)

    @property
    def ended(self) -> bool:
        """Whether the process is to end, as the protocol asks for."""
        return self._port.ended

    @property
    def steps(self) -> int:
        """How many steps of the protocol have been taken."""
        return self._port.steps

    @property
    def unread_count(self) -> int:
        """How many consensus messages have come in and not been read."""
        return len(self._port.received)

    @property
    def deadline_ns(self) -> int:
        """When `work` has something to do again, if nothing comes in before."""
        return min(self.duty.slow_tick_deadline_ns, self._slow_tick_ns)

    def start(self, now_ns: int, time_ms: int) -> None:
        """Start on what is on disk."""
        self._set_time(now_ns, time_ms)
        self.duty.start(now_ns)

    def on_consensus(self, sender: int, number: int, message: Message) -> None:
        """Take a consensus message of another member."""
        self._port.received.append(Received(sender, number, message))

    def on_stream(self, sender: int, message: StreamMessage) -> None:
        """Take a message of another member's log streams."""
        self._stream_messages.append((sender, message))

    def on_ingress(self, message: Ingress) -> None:
        """Take something that a client has sent."""
        self.module.on_ingress(message)

    def work(self, now_ns: int, time_ms: int) -> bool:
        """Do one cycle; say whether there was anything to do."""
        self.stalls.update(now_ns)
        self._set_time(now_ns, time_ms)
        while self._stream_messages:
            self.streams.on_message(*self._stream_messages.popleft())
        worked = self.archive.recording.sync()
        if now_ns >= self._slow_tick_ns:
            self._slow_tick_ns = now_ns + SLOW_TICK_NS
            self.module.slow_tick()
        worked = self.duty.do_work(now_ns) or worked
        if self.ended:
            for agent in self.module.agents:
                agent.terminate()
            return True
        worked = self.module.services_work() or worked
        worked = self.streams.serve() or worked
        return self.streams.ask() or worked

    def close(self) -> None:
        """Give up the archive."""
        self.archive.close()

    def _set_time(self, now_ns: int, time_ms: int) -> None:
        self.streams.now_ns = now_ns
        self.module.time_ms = max(self.module.time_ms, time_ms)
        self.module.ingress.now = self.module.time_ms

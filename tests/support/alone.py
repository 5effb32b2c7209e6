"""A whole member that is a cluster by itself, stepped by tests."""

from __future__ import annotations

from collections.abc import Sequence

from canvass.archive.archive import Archive
from canvass.archive.memory import MemoryStorage
from canvass.archive.recording import SEGMENT_LENGTH
from canvass.cluster.clocks import MILLISECOND_NS, Timing
from canvass.cluster.messages import Message
from canvass.cluster.rules import Rules
from canvass.log import entries
from canvass.log.entries import ClusterActionRequest, SessionMessageHeader
from canvass.node.consensus_module import NodeSettings
from canvass.node.module_state import ControlToggle
from canvass.node.node import Node
from canvass.services.service import REQUEST, Counter
from canvass.transport.messages import (
    PROTOCOL_VERSION,
    Egress,
    SessionConnectRequest,
    SessionEvent,
    StreamMessage,
)


class Alone:
    """A cluster of one member, with the messages that it sends to clients."""

    def __init__(
        self,
        storage: MemoryStorage,
        segment_length: int = SEGMENT_LENGTH,
        sent: list[Egress] | None = None,
        services: Sequence[Counter] = (),
    ) -> None:
        self.storage = storage
        self.sent: list[Egress] = [] if sent is None else sent
        settings = NodeSettings(0, Rules.of("hardened", 1), Timing(), "0=a:1")
        self.services = services or (Counter(),)
        self.service = self.services[0]
        self.node = Node(
            settings,
            Archive(storage, segment_length),
            self.services,
            self,
            lambda _limit: 0,
        )
        self.now_ns = 0
        self.node.start(0, 0)
        self.work()

    def send_consensus(self, to: int, number: int, message: Message) -> None:
        raise AssertionError(to, number, message)

    def send_stream(self, to: int, message: StreamMessage) -> None:
        raise AssertionError(to, message)

    def send_egress(self, channel: str, message: Egress) -> None:
        del channel
        self.sent.append(message)

    def accepts(self, to: int) -> bool:
        raise AssertionError(to)

    def work(self, milliseconds: int = 40) -> None:
        for _ in range(milliseconds):
            self.now_ns += MILLISECOND_NS
            while not self.node.ended and self.node.work(self.now_ns, self.now_ns // 1_000_000):
                self.now_ns += 1_000

    def connect(self) -> int:
        self.node.on_ingress(SessionConnectRequest(1, 1, PROTOCOL_VERSION, "client", b""))
        self.work()
        opened = [one for one in self.sent if isinstance(one, SessionEvent)]
        return opened[-1].cluster_session_id

    def add(self, session: int, number: int) -> None:
        self.offer(session, number, b"add 1")

    def offer(self, session: int, number: int, body: bytes) -> None:
        term = self.node.member.module_leadership_term_id
        payload = REQUEST.pack(1, number) + body
        self.node.on_ingress(SessionMessageHeader(term, session, 0, payload))
        self.work()

    def toggle(self, toggle: ControlToggle) -> None:
        assert self.node.module.control.set_toggle(toggle)
        self.work()

    def actions(self) -> list[str]:
        recording = self.node.archive.recording
        found = [entries.decode(one.payload) for one in recording.replay(0, recording.end)]
        return [one.action.name for one in found if isinstance(one, ClusterActionRequest)]

    def answered(self) -> int:
        """The number of answered requests, if they were offered in order."""
        return max(
            (
                REQUEST.unpack_from(one.payload)[1]
                for one in self.sent
                if isinstance(one, SessionMessageHeader)
            ),
            default=0,
        )

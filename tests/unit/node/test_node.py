"""A member as a whole: the stall tracker, the switch, and one that ends."""

from __future__ import annotations

from canvass.archive.archive import Archive
from canvass.archive.memory import MemoryStorage
from canvass.client.messages import PROTOCOL_VERSION, Egress, SessionConnectRequest, SessionEvent
from canvass.cluster.messages import Message
from canvass.cluster.rules import Rules
from canvass.cluster.timing import MILLISECOND_NS, Timing
from canvass.log.messages import LOG_MESSAGES, ClusterActionRequest, SessionMessageHeader
from canvass.node.consensus_module import ModuleSettings
from canvass.node.control import ControlToggle, ModuleControlState
from canvass.node.node import CYCLE_THRESHOLD_NS, Node, NodeSettings, StallTracker
from canvass.node.wire import StreamMessage
from canvass.services.exactly_once import REQUEST, ExactlyOnce
from canvass.services.examples import Counter


class Alone:
    """A cluster of one member, with what it sends to clients."""

    def __init__(self, storage: MemoryStorage) -> None:
        self.storage = storage
        self.sent: list[Egress] = []
        settings = NodeSettings(0, Rules.of("hardened", 1), Timing(), ModuleSettings(0, "0=a:1"))
        self.service = ExactlyOnce(Counter())
        self.node = Node(
            settings,
            Archive(storage),
            [self.service],
            self,
            lambda _channel, message: self.sent.append(message),
            lambda _limit: 0,
        )
        self.now_ns = 0
        self.node.start(0, 0)
        self.work()

    def send_consensus(self, to: int, number: int, message: Message) -> None:
        raise AssertionError(to, number, message)

    def send_stream(self, to: int, message: StreamMessage) -> None:
        raise AssertionError(to, message)

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
        term = self.node.member.module_leadership_term_id
        payload = REQUEST.pack(1, number) + b"add 1"
        self.node.on_ingress(SessionMessageHeader(term, session, 0, payload))
        self.work()

    def toggle(self, toggle: ControlToggle) -> None:
        assert self.node.module.state.control.set_toggle(toggle)
        self.work()

    def actions(self) -> list[str]:
        recording = self.node.archive.recording
        found = [LOG_MESSAGES.decode(one.payload) for one in recording.replay(0, recording.end)]
        return [one.action.name for one in found if isinstance(one, ClusterActionRequest)]


def test_the_stall_tracker_keeps_the_longest_cycle_and_counts_those_that_were_too_long() -> None:
    tracker = StallTracker()
    for now_ns in (0, 5, CYCLE_THRESHOLD_NS, 2 * CYCLE_THRESHOLD_NS + 1):
        tracker.update(now_ns)

    assert tracker.max_cycle_time_ns == CYCLE_THRESHOLD_NS + 1
    assert tracker.exceeded_count == 1


def test_what_was_committed_is_there_after_a_restart() -> None:
    first = Alone(MemoryStorage())
    session = first.connect()
    for number in (1, 2, 3):
        first.add(session, number)
    again = Alone(first.storage)

    assert first.service.on_take_snapshot() == again.service.on_take_snapshot()
    assert again.service.application.snapshot() == b"3"


def test_a_restart_begins_with_the_snapshot() -> None:
    first = Alone(MemoryStorage())
    session = first.connect()
    first.add(session, 1)
    first.toggle(ControlToggle.SNAPSHOT)
    position = first.node.member.snapshot_log_position
    assert first.actions() == ["SNAPSHOT"]
    assert position == first.node.member.commit_position
    first.add(session, 2)
    again = Alone(first.storage)

    assert again.node.member.snapshot_log_position == position
    assert again.service.application.snapshot() == b"2"
    assert first.node.module.state.control.toggle is ControlToggle.NEUTRAL


def test_nothing_is_appended_while_the_cluster_is_suspended() -> None:
    alone = Alone(MemoryStorage())
    session = alone.connect()
    alone.toggle(ControlToggle.SUSPEND)
    end = alone.node.archive.recording.end
    alone.add(session, 1)
    assert alone.node.archive.recording.end == end
    assert alone.node.module.state.control.state is ModuleControlState.SUSPENDED
    alone.toggle(ControlToggle.RESUME)

    assert alone.service.application.snapshot() == b"1"
    assert alone.actions() == ["SUSPEND", "RESUME"]


def test_a_shutdown_takes_a_snapshot_and_ends_the_process() -> None:
    alone = Alone(MemoryStorage())
    alone.add(alone.connect(), 1)
    alone.toggle(ControlToggle.SHUTDOWN)
    found = Archive(alone.storage)
    snapshot = found.last_snapshot()

    assert alone.node.ended
    assert snapshot is not None
    assert snapshot.log_position == found.recording.end
    assert [term.log_position for term in found.term_entries] == [found.recording.end]


def test_an_abort_ends_the_process_without_a_snapshot() -> None:
    alone = Alone(MemoryStorage())
    alone.add(alone.connect(), 1)
    alone.toggle(ControlToggle.ABORT)
    found = Archive(alone.storage)

    assert alone.node.ended
    assert (alone.actions(), found.last_snapshot()) == ([], None)
    assert [term.log_position for term in found.term_entries] == [found.recording.end]


def test_a_snapshot_for_standby_members_is_in_the_log_and_taken_by_nobody() -> None:
    alone = Alone(MemoryStorage())
    alone.toggle(ControlToggle.STANDBY_SNAPSHOT)

    assert alone.actions() == ["SNAPSHOT"]
    assert Archive(alone.storage).last_snapshot() is None
    assert alone.node.module.state.control.toggle is ControlToggle.NEUTRAL


def test_a_session_that_is_silent_is_closed() -> None:
    alone = Alone(MemoryStorage())
    alone.connect()
    alone.work(11_000)
    events = [one.detail for one in alone.sent if isinstance(one, SessionEvent)]

    assert events == ["", "TIMEOUT"]
    assert alone.node.module.state.sessions.opened() == []

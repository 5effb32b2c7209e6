"""The module's state after log messages, and after a leader has undone uncommitted entries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canvass.archive.archive import Archive
from canvass.archive.memory import MemoryStorage
from canvass.cluster.clocks import Timing
from canvass.cluster.member import Role
from canvass.cluster.rules import Rules
from canvass.log.entries import (
    CloseReason,
    ClusterAction,
    ClusterActionRequest,
    LogMessage,
    SessionCloseEvent,
    SessionMessageHeader,
    SessionOpenEvent,
    TimerEvent,
)
from canvass.node.consensus_module import ConsensusModule, NodeSettings
from canvass.node.module_state import (
    Control,
    ControlToggle,
    ModuleControlState,
    NodeToggle,
    PendingServiceMessageTracker,
    ReplicatedState,
    first_session_id,
    service_of,
)
from canvass.services.service import Counter, ScheduleTimer, ServiceMessage
from canvass.transport.messages import (
    PROTOCOL_VERSION,
    Egress,
    EventCode,
    SessionConnectRequest,
    SessionEvent,
)

ACTIVE = ModuleControlState.ACTIVE


def opened(session_id: int) -> SessionOpenEvent:
    return SessionOpenEvent(0, 70 + session_id, session_id, 5, 1, f"client:{session_id}", b"who")


class Module:
    """A consensus module without a log: what it appends is here."""

    def __init__(self) -> None:
        self.sent: list[Egress] = []
        self.log: list[LogMessage] = []
        settings = NodeSettings(0, Rules.of("hardened", 3), Timing(), "0=a:1")
        services = [Counter()]
        self.module = ConsensusModule(
            settings,
            Archive(MemoryStorage()),
            services,
            lambda _, message: self.sent.append(message),
        )
        self.module.elected(Role.FOLLOWER, 0, 1)

    @property
    def state(self) -> ReplicatedState:
        return self.module.state

    def service(self, message: ScheduleTimer | ServiceMessage) -> None:
        self.module.agents[0].outbox.append(message)
        self.module.services_work()

    def connect(self) -> None:
        correlation_id = 70 + self.state.next_session_id
        request = SessionConnectRequest(correlation_id, 1, PROTOCOL_VERSION, "new", b"who")
        self.module.on_ingress(request)
        self.module.ingress.process_pending()

    def read(self, *messages: LogMessage) -> None:
        """Act on committed messages of another leader."""
        for message in messages:
            self.log.append(message)
            self.module.committed_state.apply(message)
        self.module.commit_position = len(self.log)

    def lead(self) -> None:
        self.module.publication_opened(len(self.log))
        self.module.elected(Role.LEADER, 1, 0)

    def append(self) -> None:
        """Append all that waits; each entry is one long."""
        while (message := self.module.poll(len(self.log))) is not None:
            self.log.append(message)
            self.module.written(len(self.log))

    def toggle(self, toggle: ControlToggle) -> None:
        assert self.module.control.set_toggle(toggle)
        self.module.slow_tick()

    def lose(self) -> list[LogMessage]:
        """Begin an election: what is not committed is lost."""
        committed = self.module.commit_position
        self.module.rolled_back()
        lost, self.log = self.log[committed:], self.log[:committed]
        return lost


def work(leader: Module, session_id: int) -> None:
    """Append the opening of a session, the end of one, the event of a timer, a service's message
    and an action.
    """
    suspended = leader.state.control_state is ModuleControlState.SUSPENDED
    if suspended:
        leader.toggle(ControlToggle.RESUME)
        leader.append()
    leader.connect()
    leader.state.sessions[session_id].begin_close(CloseReason.TIMEOUT)
    leader.module.time_ms = 100 * session_id
    leader.append()
    if not suspended:
        leader.toggle(ControlToggle.SUSPEND)
        leader.append()


@pytest.fixture
def leader() -> Module:
    """A leader with three sessions, two timers and one message of its service."""
    one = Module()
    one.read(*map(opened, (1, 2, 3)))
    one.lead()
    for correlation_id in (1, 2):
        one.service(ScheduleTimer(correlation_id, 100 * correlation_id))
    one.service(ServiceMessage(0, b"first"))
    return one


def test_a_leader_and_a_follower_reach_the_same_state(leader: Module) -> None:
    follower = Module()
    for message in (ScheduleTimer(1, 100), ScheduleTimer(2, 200), ServiceMessage(0, b"first")):
        follower.service(message)
    work(leader, 1)
    work(leader, 2)
    ahead = leader.state.snapshot()
    leader.module.committed(len(leader.log))
    follower.read(*leader.log)

    assert [type(one) for one in leader.log[3:8]] == [
        SessionOpenEvent,
        SessionCloseEvent,
        TimerEvent,
        SessionMessageHeader,
        ClusterActionRequest,
    ]
    assert ahead == leader.module.committed_state.snapshot() == follower.state.snapshot()
    assert leader.state.control_state is follower.state.control_state is ACTIVE


def test_a_snapshot_is_restored_completely() -> None:
    state = ReplicatedState(2)
    for message in (opened(1), opened(4), SessionCloseEvent(0, 1, 6, CloseReason.TIMEOUT)):
        state.apply(message)
    state.on_service(ScheduleTimer(3, 300))
    state.on_service(ServiceMessage(1, b"pending"))
    state.sessions[4].begin_close(CloseReason.TIMEOUT)
    restored = ReplicatedState(2)
    restored.restore(state.snapshot())

    assert restored.snapshot() == state.snapshot()
    assert restored.opened() == state.opened()
    assert restored.allocate_id() == 5
    assert [payload for _, payload in restored.trackers[1].pending] == [b"pending"]


def test_a_roll_back_undoes_exactly_the_entries_beyond_the_commit_position(leader: Module) -> None:
    """One entry of each kind is committed, and one is not."""
    work(leader, 1)
    leader.module.committed(len(leader.log))
    leader.service(ServiceMessage(0, b"second"))
    work(leader, 2)
    leader.sent.clear()
    lost = leader.lose()
    state, first = leader.state, first_session_id(0) + 1

    assert {type(one) for one in lost} == {type(one) for one in leader.log}
    (event,) = leader.sent
    assert isinstance(event, SessionEvent)
    assert (event.cluster_session_id, event.code, event.detail) == (5, EventCode.CLOSED, "election")
    assert {one.id: one.is_closing for one in state.opened()} == {2: True, 3: False, 4: False}
    assert state.sessions[2].close_reason is CloseReason.TIMEOUT
    assert state.next_session_id == 5
    assert state.timers.pending() == [(2, 200)]
    assert list(state.trackers[0].pending) == [(first + 1, b"second")]
    assert state.trackers[0].log_service_session_id == first
    assert state.control_state is ModuleControlState.SUSPENDED
    assert leader.module.control.toggle is ControlToggle.INACTIVE


def test_an_entry_that_was_rolled_back_can_commit_later(leader: Module) -> None:
    work(leader, 1)
    leader.read(*leader.lose())

    assert [one.id for one in leader.state.opened()] == [2, 3, 4]
    assert leader.state.timers.pending() == [(2, 200)]
    assert list(leader.state.trackers[0].pending) == []
    assert leader.state.allocate_id() == 5


def test_a_timer_whose_event_came_first_is_not_scheduled() -> None:
    state = ReplicatedState(1)
    state.apply(TimerEvent(0, 7, 100))
    state.on_service(ScheduleTimer(7, 50))
    assert state.timers.pending() == []
    state.on_service(ScheduleTimer(7, 60))

    assert state.timers.pending() == [(7, 60)]


def test_timers_expire_by_deadline_and_can_be_moved_and_cancelled() -> None:
    timers = ReplicatedState(0).timers
    for correlation_id, deadline in ((1, 30), (2, 10), (3, 20), (2, 40), (3, 5)):
        timers.schedule(correlation_id, deadline)
    assert (timers.expired(4), timers.expired(5)) == (-1, 3)
    timers.cancel(3)

    assert timers.expired(30) == 1
    assert timers.pending() == [(1, 30), (2, 40)]


@given(
    st.lists(st.sampled_from(["enqueue", "append", "commit", "election", "replay"]), max_size=60)
)
def test_service_messages_are_in_the_log_once_and_in_order(steps: list[str]) -> None:
    """A leader and another member; an election drops uncommitted messages."""
    leader, follower, offered = Module(), Module(), 0
    leader.lead()
    for step in steps:
        if step == "enqueue":
            for one in (leader, follower):
                one.service(ServiceMessage(0, b"%d" % offered))
            offered += 1
        elif step == "append":
            leader.append()
        elif step in ("commit", "replay"):
            leader.module.committed(len(leader.log))
            follower.read(*leader.log[len(follower.log) :])
        elif step == "election":
            leader.lose()
            follower.lead()
            leader, follower = follower, leader

    ids = [one.cluster_session_id for one in leader.log if isinstance(one, SessionMessageHeader)]
    assert ids == list(range(first_session_id(0) + 1, first_session_id(0) + 1 + len(ids)))
    for one in (leader, follower):
        waiting = [session_id for session_id, _ in one.state.trackers[0].pending]
        assert waiting == sorted(set(waiting))


def test_a_message_in_the_log_is_not_offered_again() -> None:
    """A service that replays the log offers the same messages again."""
    tracker = PendingServiceMessageTracker(0)
    first = first_session_id(0) + 1
    tracker.on_message(first)
    for payload in (b"one", b"two"):
        tracker.enqueue(payload)

    assert list(tracker.pending) == [(first + 1, b"two")]


@pytest.mark.parametrize("service", [0, 1, 9])
def test_the_id_of_a_service_message_names_its_service(service: int) -> None:
    assert first_session_id(service) < 0
    assert service_of(first_session_id(service) + 123) == service


def test_the_toggle_is_set_only_from_neutral_and_resume_from_suspend() -> None:
    leader = Module()
    control = leader.module.control
    assert not control.set_toggle(ControlToggle.SNAPSHOT)
    leader.lead()
    leader.toggle(ControlToggle.SUSPEND)
    leader.append()
    assert not control.set_toggle(ControlToggle.SNAPSHOT)
    leader.toggle(ControlToggle.RESUME)
    leader.append()

    actions = [one.action for one in leader.log if isinstance(one, ClusterActionRequest)]
    assert actions == [ClusterAction.SUSPEND, ClusterAction.RESUME]
    assert (control.toggle, leader.state.control_state) == (ControlToggle.NEUTRAL, ACTIVE)


def test_the_toggle_of_a_member_in_any_role_is_ready_between_elections() -> None:
    control = Control()
    asked = NodeToggle.REPLICATE_STANDBY_SNAPSHOT
    assert not control.set_node_toggle(asked)
    control.on_elected(ACTIVE, leads=False)
    assert not control.set_toggle(ControlToggle.SNAPSHOT)
    assert control.reset_node_toggle(ACTIVE) is NodeToggle.NEUTRAL
    assert control.set_node_toggle(asked)
    assert not control.set_node_toggle(asked)
    assert control.reset_node_toggle(ModuleControlState.SUSPENDED) is NodeToggle.NEUTRAL
    assert control.reset_node_toggle(ACTIVE) is asked
    assert control.set_node_toggle(asked)
    control.on_election()

    assert control.reset_node_toggle(ACTIVE) is NodeToggle.NEUTRAL
    assert control.node_toggle is NodeToggle.INACTIVE


@pytest.mark.parametrize("state", ["state", "committed_state"])
def test_a_requested_termination_ends_with_the_leadership(state: str) -> None:
    leader = Module()
    leader.lead()
    leader.toggle(ControlToggle.ABORT)
    assert leader.module.termination_is_requested
    assert leader.state.control_state is ModuleControlState.TERMINATING
    getattr(leader.module, state).control_state = ModuleControlState.TERMINATING
    leader.lose()

    assert (leader.module.control.toggle, leader.state.control_state) == (
        ControlToggle.INACTIVE,
        ACTIVE,
    )

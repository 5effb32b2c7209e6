"""The module's state after log messages, and after a leader has undone uncommitted entries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from canvass.node.module_state import (
    ControlToggle,
    ModuleControlState,
    NodeToggle,
    ReplicatedState,
    first_session_id,
    service_of,
)
from canvass.node.sessions import SessionState
from canvass.services.service import ScheduleTimer, ServiceMessage


def opened(session_id: int) -> SessionOpenEvent:
    return SessionOpenEvent(0, 70 + session_id, session_id, 5, 1, f"client:{session_id}", b"who")


def closed(session_id: int) -> SessionCloseEvent:
    return SessionCloseEvent(0, session_id, 6, CloseReason.TIMEOUT)


def action(what: ClusterAction, flags: int = 0) -> ClusterActionRequest:
    return ClusterActionRequest(0, 0, 7, what, flags)


def written(number: int, service: int = 0) -> SessionMessageHeader:
    return SessionMessageHeader(0, first_session_id(service) + number, 8, b"message %d" % number)


def test_a_leader_and_a_follower_reach_the_same_state() -> None:
    messages: list[LogMessage] = [
        opened(1),
        opened(2),
        SessionMessageHeader(0, 1, 50, b"x"),
        TimerEvent(0, 9, 51),
        closed(2),
        written(1),
        action(ClusterAction.SUSPEND),
        action(ClusterAction.RESUME),
    ]
    leader, follower = ReplicatedState(1), ReplicatedState(1)
    for state in (leader, follower):
        state.on_service(ScheduleTimer(9, 40))
        state.on_service(ScheduleTimer(10, 99))
        state.on_service(ServiceMessage(0, b"message 1"))
        state.on_service(ServiceMessage(0, b"message 2"))
    for place, message in enumerate(messages, start=1):
        leader.on_append(32 * place, message)
        follower.on_replay(32 * place, message)
    leader.sweep(32 * len(messages))

    assert leader.snapshot() == follower.snapshot()
    assert leader.control.state is follower.control.state is ModuleControlState.ACTIVE


def test_a_snapshot_is_restored_completely() -> None:
    state = ReplicatedState(2)
    messages: list[LogMessage] = [opened(1), opened(4), closed(1)]
    for place, message in enumerate(messages, start=1):
        state.on_replay(32 * place, message)
    state.on_service(ScheduleTimer(3, 300))
    state.on_service(ServiceMessage(1, b"pending"))
    state.sessions.by_id[4].state = SessionState.CLOSING
    restored = ReplicatedState(2)
    restored.restore(state.snapshot())

    assert restored.snapshot() == state.snapshot()
    assert restored.sessions.opened() == state.sessions.opened()
    assert restored.sessions.allocate_id() == 5
    assert [one.payload for one in restored.trackers[1].pending()] == [b"pending"]


def test_a_roll_back_undoes_exactly_the_entries_beyond_the_commit_position() -> None:
    """The queues of a leader, each with one entry that is committed and one that is not."""
    state = ReplicatedState(1)
    for session_id in (1, 2, 3):
        state.on_replay(session_id, opened(session_id))
    for correlation_id in (1, 2):
        state.on_service(ScheduleTimer(correlation_id, 100))
    for _ in range(3):
        state.on_service(ServiceMessage(0, b"x"))
    committed: list[LogMessage] = [
        opened(4),
        closed(1),
        TimerEvent(0, 1, 101),
        written(1),
        action(ClusterAction.SUSPEND),
    ]
    lost: list[LogMessage] = [
        opened(5),
        closed(2),
        TimerEvent(0, 2, 102),
        written(2),
        action(ClusterAction.RESUME),
    ]
    for place, message in enumerate(committed + lost, start=1):
        state.on_append(1_000 * place, message)
    gone = state.roll_back(5_000)

    assert [session.id for session in gone] == [5]
    assert {one.id: one.state for one in state.sessions.opened()} == {
        2: SessionState.CLOSING,
        3: SessionState.OPEN,
        4: SessionState.OPEN,
    }
    assert state.sessions.allocate_id() == 5
    assert state.timers.pending() == [(2, 0)]
    assert [one.appended_position for one in state.trackers[0].pending()] == [-1, -1]
    assert state.trackers[0].log_service_session_id == first_session_id(0) + 1
    assert state.control.state is ModuleControlState.SUSPENDED
    assert state.control.toggle is ControlToggle.INACTIVE


def test_an_entry_that_was_rolled_back_can_commit_later() -> None:
    state = ReplicatedState(1)
    state.on_service(ScheduleTimer(1, 100))
    state.on_service(ServiceMessage(0, b"x"))
    messages: list[LogMessage] = [opened(1), TimerEvent(0, 1, 101), written(1)]
    for place, message in enumerate(messages, start=1):
        state.on_append(place, message)
    state.roll_back(0)
    for place, message in enumerate(messages, start=1):
        state.on_replay(place, message)

    assert [one.id for one in state.sessions.opened()] == [1]
    assert (state.timers.pending(), state.trackers[0].pending()) == ([], ())
    assert state.sessions.allocate_id() == 2


def test_a_timer_whose_event_came_first_is_not_scheduled() -> None:
    state = ReplicatedState(1)
    state.on_replay(1, TimerEvent(0, 7, 100))
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
    """The trackers of a leader and of another member; an election drops uncommitted messages."""
    states = [ReplicatedState(1), ReplicatedState(1)]
    leader, log, committed, offered = 0, list[int](), 0, [0, 0]
    for step in steps:
        tracker = states[leader].trackers[0]
        if step == "enqueue":
            for k, state in enumerate(states):
                state.on_service(ServiceMessage(0, b"%d" % offered[k]))
                offered[k] += 1
        elif step == "append" and (message := tracker.next_to_append()) is not None:
            log.append(message.session_id)
            tracker.on_append(len(log))
        elif step in ("commit", "replay"):
            for session_id in log[committed:]:
                states[1 - leader].trackers[0].on_replay(session_id)
            committed = len(log)
            tracker.sweep(committed)
        elif step == "election":
            for state in states:
                state.roll_back(committed)
            del log[committed:]
            leader = 1 - leader

    assert log == list(range(first_session_id(0) + 1, first_session_id(0) + 1 + len(log)))
    for state in states:
        ids = [one.session_id for one in state.trackers[0].pending()]
        assert ids == sorted(set(ids))


@pytest.mark.parametrize("service", [0, 1, 9])
def test_the_id_of_a_service_message_names_its_service(service: int) -> None:
    assert first_session_id(service) < 0
    assert service_of(first_session_id(service) + 123) == service


def test_the_toggle_is_set_only_from_neutral_and_resume_from_suspend() -> None:
    control = ReplicatedState(0).control
    assert not control.set_toggle(ControlToggle.SNAPSHOT)
    control.on_elected(leads=True)
    assert control.set_toggle(ControlToggle.SUSPEND)
    control.on_append(1, ClusterAction.SUSPEND)
    assert not control.set_toggle(ControlToggle.SNAPSHOT)
    assert control.set_toggle(ControlToggle.RESUME)
    control.on_append(2, ClusterAction.RESUME)

    assert (control.toggle, control.state) == (ControlToggle.NEUTRAL, ModuleControlState.ACTIVE)


def test_the_toggle_of_a_member_in_any_role_is_ready_between_elections() -> None:
    control = ReplicatedState(0).control
    asked = NodeToggle.REPLICATE_STANDBY_SNAPSHOT
    assert not control.set_node_toggle(asked)
    control.on_elected(leads=False)
    assert not control.set_toggle(ControlToggle.SNAPSHOT)
    assert control.reset_node_toggle() is NodeToggle.NEUTRAL
    assert control.set_node_toggle(asked)
    assert not control.set_node_toggle(asked)
    control.on_replay(ClusterAction.SUSPEND)
    assert control.reset_node_toggle() is NodeToggle.NEUTRAL
    control.on_replay(ClusterAction.RESUME)
    assert control.reset_node_toggle() is asked
    assert control.set_node_toggle(asked)
    control.roll_back(0)

    assert control.node_toggle is NodeToggle.INACTIVE
    assert control.reset_node_toggle() is NodeToggle.NEUTRAL
    assert control.node_toggle is NodeToggle.INACTIVE


def test_a_requested_termination_ends_with_the_leadership() -> None:
    control = ReplicatedState(0).control
    control.on_elected(leads=True)
    control.set_toggle(ControlToggle.ABORT)
    control.state = ModuleControlState.TERMINATING
    control.roll_back(0)

    assert (control.toggle, control.state) == (ControlToggle.INACTIVE, ModuleControlState.ACTIVE)

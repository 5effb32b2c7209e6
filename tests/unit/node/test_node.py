"""A whole member: the stall tracker, the control toggle, restarts and the end of its process."""

from __future__ import annotations

import pytest

from canvass.archive.archive import Archive
from canvass.archive.memory import MemoryStorage
from canvass.archive.storage import ArchiveError
from canvass.cluster.duty_cycle import LogPart
from canvass.cluster.member import Role
from canvass.log import entries
from canvass.log.entries import NewLeadershipTermEvent, SessionCloseEvent, SessionMessageHeader
from canvass.node.module_state import ControlToggle, ModuleControlState, NodeToggle
from canvass.node.node import CYCLE_THRESHOLD_NS, StallTracker
from canvass.transport.messages import (
    AdminRequest,
    AdminRequestType,
    AdminResponse,
    NewLeaderEvent,
    SessionEvent,
)
from support.alone import Alone


def test_the_stall_tracker_keeps_the_longest_cycle_and_counts_long_cycles() -> None:
    tracker = StallTracker()
    for now_ns in (0, 5, CYCLE_THRESHOLD_NS, 2 * CYCLE_THRESHOLD_NS + 1):
        tracker.update(now_ns)

    assert tracker.max_cycle_time_ns == CYCLE_THRESHOLD_NS + 1
    assert tracker.exceeded_count == 1


def test_committed_entries_exist_after_a_restart() -> None:
    first = Alone(MemoryStorage())
    session = first.connect()
    for number in (1, 2, 3):
        first.add(session, number)
    again = Alone(first.storage)

    assert first.service.on_take_snapshot() == again.service.on_take_snapshot()
    assert again.service.snapshot() == b"3"


def test_a_replay_sends_no_answer_and_writes_nothing() -> None:
    first = Alone(MemoryStorage())
    session = first.connect()
    first.add(session, 1)
    end = first.node.archive.recording.end
    again = Alone(first.storage)
    recording = again.node.archive.recording
    written = [entries.decode(one.payload) for one in recording.replay(end, recording.end)]

    assert again.service.snapshot() == b"1"
    assert [one for one in again.sent if isinstance(one, SessionMessageHeader)] == []
    # The new term, and the end of a session without keep-alives.
    assert [type(one) for one in written] == [NewLeadershipTermEvent, SessionCloseEvent]


def test_an_entry_that_the_bound_lies_within_is_a_part_of_its_own() -> None:
    alone = Alone(MemoryStorage())
    session = alone.connect()
    alone.add(session, 1)
    node, recording = alone.node, alone.node.archive.recording
    frames = list(recording.replay(0, recording.end))
    first, last = frames[0], frames[-1]

    assert node.log_part(0, first.end - 1, 99) == LogPart(first.end, 1, 0, 0, entry_position=0)
    assert node.log_part(first.end, last.end - 1, 99) == LogPart(last.position, len(frames) - 2)
    within = LogPart(last.end, 1, entry_position=last.position)
    assert node.log_part(last.position, last.end - 1, 99) == within
    assert node.log_part(last.position, last.end, 99) == LogPart(last.end, 1)


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
    assert again.service.snapshot() == b"2"
    assert first.node.module.control.toggle is ControlToggle.NEUTRAL


@pytest.mark.parametrize("part", [-1, 0])
def test_a_snapshot_that_cannot_be_read_is_refused(part: int) -> None:
    first = Alone(MemoryStorage())
    first.toggle(ControlToggle.SNAPSHOT)
    archive = Archive(first.storage)
    position, parts = archive.last_snapshot()
    archive.write_snapshot(0, 0, position, {**parts, part: b"\0" * 20})

    with pytest.raises(ArchiveError, match=rf"snapshot at {position} cannot be read"):
        Alone(first.storage)


def test_nothing_is_appended_while_the_cluster_is_suspended() -> None:
    alone = Alone(MemoryStorage())
    session = alone.connect()
    alone.toggle(ControlToggle.SUSPEND)
    end = alone.node.archive.recording.end
    alone.add(session, 1)
    assert alone.node.archive.recording.end == end
    assert alone.node.module.state.control_state is ModuleControlState.SUSPENDED
    alone.toggle(ControlToggle.RESUME)

    assert alone.service.snapshot() == b"1"
    assert alone.actions() == ["SUSPEND", "RESUME"]


def test_a_client_can_request_a_snapshot_if_the_toggle_is_ready() -> None:
    alone = Alone(MemoryStorage())
    session = alone.connect()
    term = alone.node.member.module_leadership_term_id
    for correlation_id in (1, 2):
        alone.node.on_ingress(
            AdminRequest(term, session, correlation_id, AdminRequestType.SNAPSHOT, b"")
        )
    alone.work()
    reported = [one for one in alone.sent if isinstance(one, AdminResponse)]

    assert [(one.correlation_id, one.response_code.name, one.message) for one in reported] == [
        (1, "OK", ""),
        (2, "ERROR", "the control toggle is SNAPSHOT"),
    ]
    assert alone.actions() == ["SNAPSHOT"]


def test_a_resume_without_a_suspend_resets_the_toggle() -> None:
    alone = Alone(MemoryStorage())
    alone.toggle(ControlToggle.RESUME)
    assert alone.node.module.control.toggle is ControlToggle.NEUTRAL
    alone.toggle(ControlToggle.SNAPSHOT)

    assert alone.actions() == ["SNAPSHOT"]


def test_a_shutdown_takes_a_snapshot_and_ends_the_process() -> None:
    alone = Alone(MemoryStorage())
    alone.add(alone.connect(), 1)
    alone.toggle(ControlToggle.SHUTDOWN)
    found = Archive(alone.storage)

    assert alone.node.ended
    assert found.last_snapshot()[0] == found.recording.end
    assert [term.log_position for term in found.kept.terms] == [found.recording.end]


def test_an_abort_ends_the_process_without_a_snapshot() -> None:
    alone = Alone(MemoryStorage())
    alone.add(alone.connect(), 1)
    alone.toggle(ControlToggle.ABORT)
    found = Archive(alone.storage)

    assert alone.node.ended
    assert (alone.actions(), found.last_snapshot()) == ([], (0, {}))
    assert [term.log_position for term in found.kept.terms] == [found.recording.end]


def test_no_member_takes_a_snapshot_for_standby_members() -> None:
    alone = Alone(MemoryStorage())
    alone.toggle(ControlToggle.STANDBY_SNAPSHOT)

    assert alone.actions() == ["SNAPSHOT"]
    assert Archive(alone.storage).last_snapshot() == (0, {})
    assert alone.node.module.control.toggle is ControlToggle.NEUTRAL


def test_a_session_that_is_silent_is_closed() -> None:
    alone = Alone(MemoryStorage())
    alone.connect()
    alone.work(11_000)
    events = [one.detail for one in alone.sent if isinstance(one, SessionEvent)]

    assert events == ["", "TIMEOUT"]
    assert alone.node.module.state.opened() == []


def test_a_member_without_a_standby_member_has_no_standby_snapshot_to_replicate() -> None:
    alone = Alone(MemoryStorage())
    control = alone.node.module.control
    assert control.set_node_toggle(NodeToggle.REPLICATE_STANDBY_SNAPSHOT)
    alone.work()

    assert control.node_toggle is NodeToggle.NEUTRAL
    assert alone.node.module.counters["standby snapshots not found"] == 1
    assert Archive(alone.storage).last_snapshot() == (0, {})


def test_a_leader_that_is_elected_again_notifies_its_clients_once() -> None:
    alone = Alone(MemoryStorage())
    session = alone.connect()
    alone.work(5_000)
    alone.sent.clear()
    module = alone.node.module
    module.rolled_back()
    assert not module.ingress.leads
    module.elected(Role.LEADER, 7, 0)
    alone.work(9_000)  # Since the election, and not since the client was heard of.

    assert alone.sent == [NewLeaderEvent(7, session, 0, "0=a:1")]
    assert list(module.state.sessions) == [session]

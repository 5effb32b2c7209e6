"""A member with several services: each joins, acknowledges and is replayed on its own."""

from __future__ import annotations

import pytest

from canvass.archive.archive import Archive
from canvass.archive.memory import MemoryStorage
from canvass.archive.storage import ArchiveError
from canvass.cluster.member import Role
from canvass.log.entries import LOG_MESSAGES, SessionMessageHeader, TimerEvent
from canvass.node.module_state import ControlToggle, service_of
from canvass.services.applications import REQUEST, Counter, KeyValue, address_of
from canvass.services.service import ScheduleTimer, ServiceMessage
from support.alone import Alone

COUNTER, KEY_VALUE = 0, 1


def both(storage: MemoryStorage) -> Alone:
    return Alone(storage, applications=(Counter(), KeyValue()))


def contents(alone: Alone) -> list[bytes]:
    return [service.application.snapshot() for service in alone.services]


def test_each_service_processes_the_log_and_applies_its_own_requests() -> None:
    alone = both(MemoryStorage())
    session = alone.connect()
    alone.offer(session, 1, b"add 5", COUNTER)
    alone.offer(session, 2, b"set a 1", KEY_VALUE)
    alone.offer(session, 3, b"add 2", COUNTER)

    assert contents(alone) == [b"7", b'{"a": "1"}']
    agents = alone.node.module.agents
    assert {agent.log_position for agent in agents} == {alone.node.member.commit_position}
    assert {agent.role for agent in agents} == {Role.LEADER}


def test_each_service_continues_from_its_part_of_a_snapshot() -> None:
    first = both(MemoryStorage())
    session = first.connect()
    first.offer(session, 1, b"add 5", COUNTER)
    first.offer(session, 2, b"set a 1", KEY_VALUE)
    first.toggle(ControlToggle.SNAPSHOT)
    first.offer(session, 3, b"delete a", KEY_VALUE)
    first.offer(session, 4, b"add 1", COUNTER)
    snapshot = Archive(first.storage).last_snapshot()
    assert snapshot is not None
    assert sorted(snapshot.parts) == [-1, COUNTER, KEY_VALUE]
    assert snapshot.parts[COUNTER].endswith(b"5")
    assert snapshot.parts[KEY_VALUE].endswith(b'{"a": "1"}')
    again = both(first.storage)

    assert contents(again) == contents(first) == [b"6", b"{}"]
    assert [one.on_take_snapshot() for one in again.services] == [
        one.on_take_snapshot() for one in first.services
    ]


def test_a_service_that_has_processed_less_is_awaited_with_its_snapshot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One service has not got to what asks for the snapshot when the other has."""
    alone = both(MemoryStorage())
    session = alone.connect()
    agents, slow = alone.node.module.agents, alone.node.module.agents[KEY_VALUE]
    work = slow.do_work
    asleep = True
    monkeypatch.setattr(slow, "do_work", lambda position: not asleep and work(position))
    alone.offer(session, 1, b"add 5", COUNTER)
    assert agents[COUNTER].log_position > slow.log_position
    asleep = False
    alone.toggle(ControlToggle.SNAPSHOT)
    snapshot = Archive(alone.storage).last_snapshot()

    assert snapshot is not None
    assert {agent.log_position for agent in agents} == {snapshot.log_position}


def test_a_leader_appends_timers_then_messages_of_services_then_those_of_clients() -> None:
    alone = both(MemoryStorage())
    session = alone.connect()
    state, recording = alone.node.module.state, alone.node.archive.recording
    before = recording.end
    term = alone.node.member.module_leadership_term_id
    payload = REQUEST.pack(1, address_of(1, COUNTER)) + b"add 1"
    alone.node.on_ingress(SessionMessageHeader(term, session, -1, payload))
    for service_id in (KEY_VALUE, COUNTER):
        state.on_service(ServiceMessage(service_id, b"own"))
    state.on_service(ScheduleTimer(7, 0))
    alone.work()
    found = [LOG_MESSAGES.decode(one.payload) for one in recording.replay(before, recording.end)]

    assert [type(one) for one in found] == [TimerEvent, *[SessionMessageHeader] * 3]
    sessions = [one.cluster_session_id for one in found if isinstance(one, SessionMessageHeader)]
    assert [service_of(one) for one in sessions[:2]] == [COUNTER, KEY_VALUE]
    assert sessions[2] == session
    assert found[3].timestamp == found[0].timestamp > 0
    assert state.timers.pending() == []
    assert [tracker.pending() for tracker in state.trackers] == [(), ()]


@pytest.mark.parametrize("applications", [(Counter(),), (Counter(), KeyValue(), Counter())])
def test_a_snapshot_of_other_services_is_refused(
    applications: tuple[Counter | KeyValue, ...],
) -> None:
    alone = both(MemoryStorage())
    alone.toggle(ControlToggle.SNAPSHOT)

    with pytest.raises(ArchiveError, match=r"is of services \[0, 1\], and [13] run"):
        Alone(alone.storage, applications=applications)

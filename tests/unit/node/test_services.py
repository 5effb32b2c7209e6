"""A member with several services: each joins, acknowledges and is replayed on its own."""

from __future__ import annotations

import pytest

from canvass.archive.archive import Archive
from canvass.archive.memory import MemoryStorage
from canvass.archive.storage import ArchiveError
from canvass.cluster.member import Role
from canvass.log import entries
from canvass.log.entries import SessionMessageHeader, TimerEvent
from canvass.node.module_state import ControlToggle, service_of
from canvass.services.service import REQUEST, Counter, ScheduleTimer, ServiceMessage
from support.alone import Alone

FIRST, SECOND = 0, 1


def both(storage: MemoryStorage) -> Alone:
    return Alone(storage, services=(Counter(), Counter()))


def contents(alone: Alone) -> list[bytes]:
    return [service.snapshot() for service in alone.services]


def test_each_service_processes_the_log() -> None:
    alone = both(MemoryStorage())
    session = alone.connect()
    for number, amount in ((1, 5), (2, 2)):
        alone.offer(session, number, b"add %d" % amount)

    assert contents(alone) == [b"7", b"7"]
    agents = alone.node.module.agents
    assert {agent.log_position for agent in agents} == {alone.node.member.commit_position}
    assert {agent.role for agent in agents} == {Role.LEADER}


def test_each_service_continues_from_its_part_of_a_snapshot() -> None:
    first = both(MemoryStorage())
    session = first.connect()
    first.services[SECOND].restore(b"40")
    first.offer(session, 1, b"add 5")
    first.toggle(ControlToggle.SNAPSHOT)
    first.offer(session, 2, b"add 1")
    _, parts = Archive(first.storage).last_snapshot()
    assert sorted(parts) == [-1, FIRST, SECOND]
    assert parts[FIRST].endswith(b"5")
    assert parts[SECOND].endswith(b"45")
    again = both(first.storage)

    assert contents(again) == contents(first) == [b"6", b"46"]
    assert [one.on_take_snapshot() for one in again.services] == [
        one.on_take_snapshot() for one in first.services
    ]


def test_a_service_that_has_processed_less_is_awaited_with_its_snapshot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One service has not got to what asks for the snapshot when the other has."""
    alone = both(MemoryStorage())
    session = alone.connect()
    agents, slow = alone.node.module.agents, alone.node.module.agents[SECOND]
    work = slow.do_work
    asleep = True
    monkeypatch.setattr(slow, "do_work", lambda position: not asleep and work(position))
    alone.offer(session, 1, b"add 5")
    assert agents[FIRST].log_position > slow.log_position
    asleep = False
    alone.toggle(ControlToggle.SNAPSHOT)
    position, parts = Archive(alone.storage).last_snapshot()

    assert parts
    assert {agent.log_position for agent in agents} == {position}


def test_a_leader_appends_timers_then_messages_of_services_then_those_of_clients() -> None:
    alone = both(MemoryStorage())
    session = alone.connect()
    state, recording = alone.node.module.state, alone.node.archive.recording
    before = recording.end
    term = alone.node.member.module_leadership_term_id
    payload = REQUEST.pack(1, 1) + b"add 1"
    alone.node.on_ingress(SessionMessageHeader(term, session, -1, payload))
    agents = alone.node.module.agents
    for service_id in (SECOND, FIRST):
        agents[service_id].outbox.append(ServiceMessage(service_id, b"own"))
    agents[FIRST].outbox.append(ScheduleTimer(7, 0))
    alone.node.module.services_work()
    alone.work()
    found = [entries.decode(one.payload) for one in recording.replay(before, recording.end)]

    assert [type(one) for one in found] == [TimerEvent, *[SessionMessageHeader] * 3]
    sessions = [one.cluster_session_id for one in found if isinstance(one, SessionMessageHeader)]
    assert [service_of(one) for one in sessions[:2]] == [FIRST, SECOND]
    assert sessions[2] == session
    assert found[3].timestamp == found[0].timestamp > 0
    assert state.timers.pending() == []
    assert [list(tracker.pending) for tracker in state.trackers] == [[], []]


@pytest.mark.parametrize("services", [(Counter(),), (Counter(), Counter(), Counter())])
def test_a_snapshot_of_other_services_is_refused(
    services: tuple[Counter, ...],
) -> None:
    alone = both(MemoryStorage())
    alone.toggle(ControlToggle.SNAPSHOT)

    with pytest.raises(ArchiveError, match=r"is of services \[0, 1\], and [13] run"):
        Alone(alone.storage, services=services)

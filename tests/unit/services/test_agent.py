"""A service's agent: joining a replay and a log, the bound of the commit position, snapshots."""

from __future__ import annotations

import pytest

from canvass.archive.memory import MemoryStorage
from canvass.archive.recording import Recording
from canvass.archive.storage import ArchiveError
from canvass.cluster.member import Role
from canvass.log import entries
from canvass.log.entries import (
    CloseReason,
    ClusterAction,
    ClusterActionRequest,
    ClusterTimeUnit,
    LogMessage,
    NewLeadershipTermEvent,
    SessionCloseEvent,
    SessionMessageHeader,
    SessionOpenEvent,
    TimerEvent,
)
from canvass.services.agent import ServiceAgent
from canvass.services.service import (
    ClientSession,
    Cluster,
    ClusteredService,
    ServiceAck,
    ServiceMessage,
)

FOREVER = (1 << 63) - 1


class Witness(ClusteredService):
    """Writes down what it is called with."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def on_start(self, cluster: Cluster, snapshot: bytes | None) -> None:
        self.cluster = cluster
        self.calls = [] if snapshot is None else snapshot.decode().split(",")

    def on_session_open(self, session: ClientSession, timestamp: int) -> None:
        self.calls.append(f"open {session.id} {session.encoded_principal.decode()}")

    def on_session_close(
        self, session: ClientSession, timestamp: int, close_reason: CloseReason
    ) -> None:
        self.calls.append(f"close {session.id} {close_reason.name}")

    def on_session_message(
        self, session: ClientSession | None, timestamp: int, payload: bytes
    ) -> None:
        who = "service" if session is None else str(session.id)
        self.calls.append(f"message {who} {payload.decode()} at {timestamp}")
        self.cluster.offer_to_log(b"seen " + payload)
        if session is not None:
            self.cluster.offer(session.id, b"answer")

    def on_timer_event(self, correlation_id: int, timestamp: int) -> None:
        self.calls.append(f"timer {correlation_id}")

    def on_take_snapshot(self) -> bytes:
        return ",".join(self.calls).encode()

    def on_role_change(self, role: Role) -> None:
        self.calls.append(f"role {role.value}")

    def on_new_leadership_term_event(self, event: NewLeadershipTermEvent) -> None:
        self.calls.append(f"term {event.leadership_term_id}")


LOG: tuple[LogMessage, ...] = (
    NewLeadershipTermEvent(0, 96, 1, 0, 0, 1, ClusterTimeUnit.MILLIS, 1),
    SessionOpenEvent(0, 5, 1, 2, 1, "client:1", b"ada"),
    SessionMessageHeader(0, 1, 3, b"hello"),
    SessionMessageHeader(0, 99, 3, b"of nobody"),
    TimerEvent(0, 8, 4),
    SessionMessageHeader(0, -5, 5, b"own"),
    ClusterActionRequest(0, 0, 6, ClusterAction.SNAPSHOT, 0),
    ClusterActionRequest(0, 0, 6, ClusterAction.SNAPSHOT, 1),
    SessionCloseEvent(0, 1, 7, CloseReason.SERVICE_ACTION),
)
CALLS = (
    "term 0",
    "open 1 ada",
    "message 1 hello at 3",
    "timer 8",
    "message service own at 5",
    "close 1 SERVICE_ACTION",
)


@pytest.fixture
def recording() -> Recording:
    found = Recording(MemoryStorage())
    for message in LOG:
        found.append(entries.encode(message))
    return found


def agent_of(
    recording: Recording, snapshot: bytes | None = None, position: int = 0
) -> tuple[ServiceAgent, Witness, list[tuple[int, bytes]]]:
    witness, sent = Witness(), list[tuple[int, bytes]]()
    agent = ServiceAgent(
        0, witness, recording, lambda k, data: sent.append((k, data)), snapshot, position
    )
    return agent, witness, sent


def replay(agent: ServiceAgent, recording: Recording, start: int = 0) -> None:
    agent.join(start, recording.end, Role.FOLLOWER, start)


def work(agent: ServiceAgent, commit_position: int) -> None:
    while agent.do_work(commit_position):
        pass


def acks(agent: ServiceAgent) -> list[ServiceAck]:
    return [message for message in agent.outbox if isinstance(message, ServiceAck)]


def test_the_whole_log_is_replayed_as_a_follower(recording: Recording) -> None:
    agent, witness, sent = agent_of(recording)
    replay(agent, recording)
    work(agent, recording.end)

    assert tuple(witness.calls) == CALLS
    assert (agent.log_position, sent) == (recording.end, [])


def test_nothing_is_processed_before_the_service_has_joined(recording: Recording) -> None:
    agent, witness, _ = agent_of(recording)
    work(agent, recording.end)

    assert (witness.calls, agent.log_position, len(agent.outbox)) == ([], 0, 0)


def test_nothing_beyond_the_commit_position_is_processed(recording: Recording) -> None:
    agent, witness, _ = agent_of(recording)
    replay(agent, recording)
    ends = [frame.end for frame in recording.replay(0, recording.end)]
    for count, end in enumerate(ends):
        work(agent, end - 32)
        assert agent.log_position == ([0, *ends])[count]
        work(agent, end)
        assert agent.log_position == end

    assert tuple(witness.calls) == CALLS


def test_a_replay_is_processed_to_its_end_before_the_next_log_is_joined(
    recording: Recording,
) -> None:
    agent, witness, _ = agent_of(recording)
    replay(agent, recording)
    agent.do_work(0)
    assert agent.role is Role.FOLLOWER
    agent.join(recording.end, FOREVER, Role.LEADER, recording.end)

    assert tuple(witness.calls) == (*CALLS, "role LEADER")


def test_only_a_leaders_service_answers(recording: Recording) -> None:
    agent, witness, sent = agent_of(recording)
    agent.join(0, FOREVER, Role.LEADER, 0)
    work(agent, recording.end)

    assert sent == [(1, b"answer")]
    assert witness.calls[0] == "role LEADER"


def test_every_members_service_offers_to_the_log(recording: Recording) -> None:
    agent, _, _ = agent_of(recording)
    replay(agent, recording)
    work(agent, recording.end)
    offered = [one.payload for one in agent.outbox if isinstance(one, ServiceMessage)]

    assert offered == [b"seen hello", b"seen own"]


def test_a_service_at_another_position_does_not_join(recording: Recording) -> None:
    agent, _, _ = agent_of(recording)
    with pytest.raises(
        ArchiveError, match="has processed the log up to 0, and cannot join it at 96"
    ):
        replay(agent, recording, start=96)


def test_a_service_takes_a_snapshot_at_the_action_and_continues(
    recording: Recording,
) -> None:
    agent, witness, _ = agent_of(recording)
    replay(agent, recording)
    work(agent, recording.end)
    (ack,) = acks(agent)  # The other action is for standby members.
    again, restored, _ = agent_of(recording, ack.snapshot, ack.log_position)
    replay(again, recording, ack.log_position)
    work(again, recording.end)

    assert restored.calls == witness.calls


def test_a_snapshot_of_another_position_is_refused(recording: Recording) -> None:
    agent, _, _ = agent_of(recording)
    replay(agent, recording)
    work(agent, recording.end)
    (ack,) = acks(agent)

    with pytest.raises(ArchiveError, match="was taken at"):
        agent_of(recording, ack.snapshot, ack.log_position + 32)

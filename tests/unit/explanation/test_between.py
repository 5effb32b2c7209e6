"""Events between elections: modules, services, and members that join a leader again."""

from __future__ import annotations

from pathlib import Path

from support.aeron_story import StoryLog, explained, lead


def _cluster(until: float) -> tuple[StoryLog, StoryLog, StoryLog]:
    logs = StoryLog(0), StoryLog(1), StoryLog(2)
    lead(logs[0], logs[1:], 100.0, until)
    return logs


def _acknowledged(log: StoryLog, at: float, service: int, number: int) -> None:
    fields = f"logPosition=96 timestamp=1 timeUnit=ms ackId={number} relevantId=-1"
    log.event(at, "SERVICE_ACK", f"{fields} serviceId={service}")


def _said(tmp_path: Path, *logs: StoryLog) -> list[str]:
    return [one.text for one in explained(tmp_path, *logs).interruptions]


def test_a_follower_that_restarts_joins_the_leader_that_stands(tmp_path: Path) -> None:
    leader, one, two = _cluster(130.0)
    del two.lines[20:]
    two.begin(110.0, (0, 96))
    joins = "CANVASS FOLLOWER_REPLAY FOLLOWER_LOG_INIT FOLLOWER_LOG_AWAIT FOLLOWER_READY CLOSED"
    two.state(111.0, joins, leader=0, term=0, log=(0, 96))

    assert _said(tmp_path, leader, one, two) == [
        "Member 2 started while member 0 led term 0, and joined after 1,000 ms."
    ]


def test_a_follower_that_loops_in_a_short_time_is_counted(tmp_path: Path) -> None:
    """Nine times in a second: too short for a member that is stuck."""
    leader, one, two = _cluster(130.0)
    del two.lines[20:]
    two.begin(110.0, (0, 96))
    for tenth in range(9):
        at = 110.1 + tenth / 10
        two.state(at, "CANVASS FOLLOWER_REPLAY", leader=0, term=0, log=(0, 96))
        two.state(at + 0.05, "FOLLOWER_REPLAY CANVASS", log=(0, 96), reason="incomplete log replay")
    two.state(111.0, "CANVASS FOLLOWER_REPLAY FOLLOWER_READY CLOSED", leader=0, log=(0, 96))

    [text] = _said(tmp_path, leader, one, two)
    assert text.endswith("joined after 1,000 ms, with 9 returns from FOLLOWER_REPLAY to CANVASS.")


def test_the_first_election_of_a_cluster_is_not_between_elections(tmp_path: Path) -> None:
    assert _said(tmp_path, *_cluster(130.0)) == []


def test_a_snapshot_that_a_service_does_not_acknowledge_is_named(tmp_path: Path) -> None:
    leader, one, two = _cluster(130.0)
    for service in (0, 1):
        _acknowledged(leader, 130.0, service, 1)
    leader.module(131.0, "ACTIVE SNAPSHOT", "ClusterControl.SNAPSHOT")
    _acknowledged(leader, 131.1, 0, 2)
    leader.appended(150.0, 1, 0, 96)

    [text] = _said(tmp_path, leader, one, two)
    assert text.startswith("Term 0: leader 0 was in SNAPSHOT (ClusterControl.SNAPSHOT); ")
    assert text.endswith("for 19.0 s no SERVICE_ACK of service 1 came.")


def test_a_member_that_closes_because_its_service_failed_says_why(tmp_path: Path) -> None:
    leader, one, two = _cluster(130.0)
    reason = "Aeron client in service closed unexpectedly: serviceId=0"
    two.module(131.0, "ACTIVE CLOSED", reason)
    one.module(132.0, "ACTIVE CLOSED", "closed")

    assert _said(tmp_path, leader, one, two) == [f"Member 2 closed ({reason})."]


def test_the_time_before_the_first_line_of_the_cluster_is_not_without_a_leader(
    tmp_path: Path,
) -> None:
    """A process may run for minutes before its module does."""
    leader, one, two = _cluster(110.0)
    for log in (leader, one, two):
        log.lines[0] = log.lines[0].replace("[100.", "[10.", 1)
    found = explained(tmp_path, leader, one, two)

    assert found.without_leader_ns == 300_000_000

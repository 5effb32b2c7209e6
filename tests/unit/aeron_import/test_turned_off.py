"""Logs whose member was told to leave events out contradict nothing; the event is named."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest

from canvass.conformance.check import check_run
from canvass.conformance.verdict import Verdict
from canvass.traces.aeron_import.importer import import_logs
from canvass.traces.aeron_import.proposing import Imported, propose
from canvass.traces.aeron_import.summary import EXPLAINED, INCOMPLETE
from canvass.traces.aeron_log.logs import read_cluster
from canvass.traces.aeron_log.records import ClusterEvent, ElectionStateChange, LogRecord
from support.aeron_hostile import STORIES, HostileCluster
from support.aeron_runs import (
    SAMPLES,
    captures,
    imported,
    lines_of,
    logs_of_nodes,
    write_logs,
)
from support.judging import core_judge


def logs_without(path: Path, *events: str) -> dict[int, list[str]]:
    return {
        member_id: [
            line
            for line in lines_of(path, member_id)
            if not any(f" CLUSTER: {event} " in line for event in events)
        ]
        for member_id in range(3)
    }


NEEDED = {
    "APPEND_POSITION": 0,
    "COMMIT_POSITION": 0,
    "CANVASS_POSITION": 0,
    "ELECTION_STATE_CHANGE": 0,
    "NEW_LEADERSHIP_TERM": 0,
    "REQUEST_VOTE": 0,
    "VOTE": 1,
    "REPLAY_NEW_LEADERSHIP_TERM": 1,
    "STOP_CATCHUP": 1,
}
"""Events without which not all can be explained, each with the sample that shows it."""


@pytest.mark.parametrize("event", NEEDED)
def test_an_event_that_is_needed(event: str, tmp_path: Path) -> None:
    logs = write_logs(tmp_path / "logs", logs_without(SAMPLES[NEEDED[event]], event))
    summary = import_logs([logs], tmp_path / "run")

    assert summary.outcome == INCOMPLETE
    assert summary.contradiction is None
    assert any(f"has no {event} at all: it was not turned on" in one for one in summary.missing)
    assert check_run(tmp_path / "run", core_judge()).verdict is Verdict.INCOMPLETE


def test_events_that_are_not_needed(tmp_path: Path) -> None:
    """What shows a role or a session is shown by other lines as well."""
    others = logs_without(
        SAMPLES[0], "ROLE_CHANGE", "APPEND_SESSION_OPEN", "CLUSTER_SESSION_STATE_CHANGE"
    )
    summary = import_logs([write_logs(tmp_path / "logs", others)], tmp_path / "run")

    assert summary.outcome == EXPLAINED


def test_the_votes_of_one_election_are_not_said_to_be_turned_off(tmp_path: Path) -> None:
    """Where only one election was won its votes may as well have been taken out."""
    found = propose(read_cluster([write_logs(tmp_path / "logs", logs_without(SAMPLES[0], "VOTE"))]))

    assert found.turned_off == {}
    assert found.failure is not None


@pytest.mark.parametrize("path", captures(), ids=lambda path: path.name)
def test_of_whole_logs_nothing_is_said_to_be_turned_off(path: Path) -> None:
    assert imported(path).turned_off == {}


# All events, one by one and two by two.

Lines = dict[int, list[LogRecord]]


def events_in(lines: Lines) -> list[str]:
    """The events of a cluster's logs, by the names of their records."""
    found = {type(one).__name__ for mine in lines.values() for one in mine if is_event(one)}
    return sorted(found)


def is_event(record: LogRecord) -> bool:
    return isinstance(record, ClusterEvent)


def without(lines: Lines, *events: str) -> Imported:
    return propose(
        logs_of_nodes(
            {
                member_id: [one for one in mine if type(one).__name__ not in events]
                for member_id, mine in lines.items()
            }
        )
    )


def is_won(record: LogRecord) -> bool:
    if not isinstance(record, ElectionStateChange):
        return False
    return (record.old_state, record.new_state) == ("CANDIDATE_BALLOT", "LEADER_LOG_REPLICATION")


def contradicted(lines: Lines, count: int) -> Iterator[str]:
    """What is contradicted if so many events are turned off; but for the votes of what may be the
    only election that was won.
    """
    many = sum(is_won(one) for mine in lines.values() for one in mine) > 1
    for events in combinations(events_in(lines), count):
        if "Vote" in events and not (many or "RequestVote" in events):
            continue
        found = without(lines, *events)
        if found.failure is not None:
            yield f"{events}: member {found.failure.member_id}, {found.failure.reason}"


def captured(path: Path) -> Lines:
    logs = read_cluster([path])
    return {member_id: log.records for member_id, log in logs.members.items()}


@pytest.mark.night
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("path", captures(), ids=lambda path: path.name)
def test_captures_without_events(path: Path, count: int) -> None:
    assert list(contradicted(captured(path), count)) == []


def made_up(seed: int) -> Lines:
    cluster = HostileCluster(seed, 3 if seed % 3 else 5)
    cluster.run(8_000)
    return {i: node.lines for i, node in enumerate(cluster.nodes)}


@pytest.mark.night
@pytest.mark.parametrize("seed", range(2 * len(STORIES)))
def test_made_up_clusters_without_events(seed: int) -> None:
    lines = made_up(seed)
    found = [*contradicted(lines, 1)]
    if seed < len(STORIES):
        found += contradicted(lines, 2)

    assert found == []


def test_what_a_follower_processes_tells_that_it_has_heard_how_far_it_may() -> None:
    """Member 2 has served for 15 ms when its log ends, and has processed the term's first entry."""
    found = without(made_up(4), "ClusterSessionStateChange", "CommitPosition")

    assert found.failure is None
    assert found.turned_off[2] == ("COMMIT_POSITION",)

"""Lines that others know to be missing: who goes on reporting, or is heard of, hears as well."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from canvass.conformance.check import check_run
from canvass.conformance.verdict import Verdict
from canvass.traces.aeron_import.evidence import evidence_of, set_segments, set_times
from canvass.traces.aeron_import.importer import summarise, write_run
from canvass.traces.aeron_import.proposing import propose
from canvass.traces.aeron_import.summary import INCOMPLETE
from canvass.traces.aeron_import.unheard import Unheard, find_unheard
from canvass.traces.aeron_log.logs import MemberLog, read_cluster
from canvass.traces.aeron_log.records import (
    AppendPosition,
    CommitPosition,
    ElectionStateChange,
    LifeStart,
    LogRecord,
    NewElection,
)
from support.aeron_hostile import HostileCluster
from support.aeron_runs import SAMPLES, captures, imported, logs_of_nodes
from support.aeron_simulated import options_of, simulate
from support.judging import core_judge

MS = 1_000_000
Lines = dict[int, list[LogRecord]]


def captured(path: Path) -> Lines:
    logs = read_cluster([path])
    return {member_id: log.records for member_id, log in logs.members.items()}


def stretches(mine: list[LogRecord], count: int) -> Iterator[int]:
    """Where so many commit positions of a leader follow each other that rise all the time."""
    run: list[int] = []
    for at, record in enumerate(mine):
        if not isinstance(record, CommitPosition):
            continue
        last = mine[run[-1]] if run else None
        rises = isinstance(last, CommitPosition) and (
            (last.leadership_term_id, last.leader_member_id)
            == (record.leadership_term_id, record.leader_member_id)
            and last.log_position < record.log_position
            and run[-1] == at - 1
        )
        run = [*run, at] if rises else [at]
        if len(run) == count + 2:
            yield run[1]
            run = []


@pytest.mark.parametrize("path", captures(), ids=lambda path: path.name)
def test_nothing_is_missed_in_a_whole_log(path: Path) -> None:
    members = {i: one.evidence for i, one in imported(path).proposals.items()}

    assert find_unheard(members) == {}


@pytest.mark.parametrize(("path", "count"), [(SAMPLES[0], 1), (SAMPLES[0], 20), (SAMPLES[1], 20)])
def test_commit_positions_that_are_cut_out(path: Path, count: int) -> None:
    """A clean start has two followers all the time, and each knows what the other heard; of twenty
    a leader alone knows.
    """
    lines = captured(path)
    told = tried = 0
    for member_id, mine in lines.items():
        for at in list(stretches(mine, count))[:: 40 // count]:
            copy = {**lines, member_id: mine[:at] + mine[at + count :]}
            found = propose(logs_of_nodes(copy))
            summary = summarise(found, "torn", 1)
            line = mine[at + count]
            place = f"lines are missing before member-{member_id}.log:{line.line}:"
            told += summary.outcome == INCOMPLETE and any(
                one.startswith(place) for one in summary.missing
            )
            tried += 1

    assert 0 < told == tried


def test_the_checker_says_the_same(tmp_path: Path) -> None:
    lines = captured(SAMPLES[0])
    member_id, mine = next((i, one) for i, one in lines.items() if any(stretches(one, 20)))
    at = next(stretches(mine, 20))
    found = propose(logs_of_nodes({**lines, member_id: mine[:at] + mine[at + 20 :]}))
    write_run(found, tmp_path / "run", "torn")

    assert check_run(tmp_path / "run", core_judge()).verdict is Verdict.INCOMPLETE


@pytest.mark.parametrize("member_id", [0, 1, 2])
def test_a_log_that_ends_before_those_of_the_others(member_id: int) -> None:
    """As where logs are copied one after the other while the cluster runs."""
    lines = captured(SAMPLES[0])
    mine = lines[member_id]
    end = max(record.time_ns for record in mine) - 900 * MS
    short = [record for record in mine if record.time_ns < end]
    summary = summarise(propose(logs_of_nodes({**lines, member_id: short})), "torn", 1)

    assert summary.outcome == INCOMPLETE
    assert any(f"member-{member_id}.log" in one for one in summary.missing)


@pytest.mark.night
@pytest.mark.parametrize("seed", range(120))
def test_made_up_clusters_lack_nothing(seed: int) -> None:
    """They are paused, killed, partitioned; cut in one direction only, they may seem to."""
    cluster = HostileCluster(seed, 3 if seed % 3 else 5)
    cluster.run(8_000)
    lines = {i: node.lines for i, node in enumerate(cluster.nodes)}

    assert propose(logs_of_nodes(lines)).unheard == {}


@pytest.mark.parametrize(
    ("story", "seed", "count"),
    [("late-requests", 505, 3), ("everything-fails", 0, 5), ("swarm", 0, 5)],
)
def test_members_that_lack_what_was_late_or_lost_in_a_cut(
    story: str, seed: int, count: int
) -> None:
    """One pauses while what it lacks is on its way, one is cut off for 0.1 s, one hears late."""
    logs = simulate(options_of(story, seed, count, 2_500))

    assert propose(logs_of_nodes(logs.lines)).unheard == {}


# The rules one by one, on a leader 0 and two followers.


@dataclass
class Told:
    """Three logs: 0 leads, 1 hears all, and 2 is looked at."""

    lines: Lines

    def heard_by(self, member_id: int, time: int, position: int) -> None:
        self.lines[member_id].append(
            CommitPosition(0, len(self.lines[member_id]), time * MS, member_id, 1, position, 0)
        )

    def reported(self, time: int, position: int) -> None:
        self.lines[0].append(AppendPosition(0, len(self.lines[0]), time * MS, 0, 1, position, 2, 0))

    def found(self) -> dict[int, tuple[Unheard, ...]]:
        members = {}
        for member_id, mine in self.lines.items():
            evidence = evidence_of(MemberLog(member_id, (Path("log"),), mine, [], {}))
            set_times(evidence, 0)
            set_segments(evidence)
            members[member_id] = evidence
        return find_unheard(members)


def closed(member_id: int) -> ElectionStateChange:
    old = "LEADER_READY" if member_id == 0 else "FOLLOWER_READY"
    return ElectionStateChange(0, 0, 0, member_id, old, "CLOSED", 0, 1, 1, 0, 1, 0, -1, "")


@pytest.fixture
def told() -> Told:
    return Told({member_id: [closed(member_id)] for member_id in range(3)})


def steady(told: Told, times: range, *, reports: bool = True) -> None:
    """Let the other follower hear, and this one report, at times which are positions, too."""
    for time in times:
        told.heard_by(1, time, time)
        if reports:
            told.reported(time, time)


def test_one_commit_position_that_is_missing(told: Told) -> None:
    steady(told, range(50, 500, 50))
    for time in range(50, 500, 50):
        if time != 250:
            told.heard_by(2, time, time)

    assert [one.index for one in told.found()[2]] == [5]
    assert "told others 1 commit position that it lacks" in told.found()[2][0].reason


def test_who_does_not_report_may_have_been_cut_off(told: Told) -> None:
    steady(told, range(50, 200, 50))
    steady(told, range(200, 2_000, 50), reports=False)
    steady(told, range(2_000, 2_200, 50))
    for time in (*range(50, 200, 50), *range(2_000, 2_200, 50)):
        told.heard_by(2, time, time)

    assert told.found() == {}


def test_who_hears_late_was_paused_and_may_have_lost_what_there_was_no_room_for(told: Told) -> None:
    steady(told, range(50, 1_000, 10))
    for time in range(50, 310, 10):
        told.heard_by(2, time, time)
    for time in range(310, 410, 10):
        told.heard_by(2, 601, time)
    for time in range(700, 1_000, 10):
        told.heard_by(2, time, time)

    assert told.found() == {}


def test_the_only_follower_that_is_silent_and_reports(told: Told) -> None:
    """Nobody else heard what its leader told; but the leader repeats it."""
    told.heard_by(2, 50, 50)
    for time in range(50, 1_000, 50):
        told.reported(time, time)
    told.heard_by(2, 1_000, 1_000)

    assert [one.index for one in told.found()[2]] == [2]
    assert "repeats its commit position" in told.found()[2][0].reason


def test_the_only_follower_that_reports_nothing_new(told: Told) -> None:
    """So a follower does that does not hear its leader: its log does not grow either."""
    told.heard_by(2, 50, 50)
    for time in range(50, 1_000, 50):
        told.reported(time, 50)
    told.heard_by(2, 1_000, 1_000)

    assert told.found() == {}


def test_an_election_long_after_the_last_commit_position(told: Told) -> None:
    steady(told, range(50, 3_000, 50))
    told.heard_by(2, 50, 50)
    told.lines[2].append(NewElection(0, 2, 2_900 * MS, 2, 1, 0, 900, "leader heartbeat timeout"))

    assert [one.index for one in told.found()[2]] == [2]


def test_commit_positions_that_a_cut_of_the_network_delays_beyond_an_election(told: Told) -> None:
    """Only what the leader tells is held up, and comes when the network is whole again."""
    steady(told, range(50, 3_000, 50))
    told.heard_by(2, 50, 50)
    told.lines[2].append(NewElection(0, 2, 2_050 * MS, 2, 1, 0, 900, "leader heartbeat timeout"))
    for time in range(100, 3_000, 50):
        told.heard_by(2, 5_000, time)

    assert told.found() == {}


def test_commit_positions_of_the_moment_before_an_election(told: Told) -> None:
    steady(told, range(50, 1_000, 50))
    for time in range(50, 900, 50):
        told.heard_by(2, time, time)
    told.lines[2].append(NewElection(0, 9, 950 * MS, 2, 1, 0, 900, "leader heartbeat timeout"))

    assert told.found() == {}


def test_what_is_reported_in_the_next_life(told: Told) -> None:
    """A member that is killed and starts again at once follows the same leader in the same term."""
    steady(told, range(50, 250, 50))
    for time in range(50, 250, 50):
        told.heard_by(2, time, time)
    steady(told, range(250, 600, 50), reports=False)
    told.lines[2].append(LifeStart(0, 5, 600 * MS, 0, 0, ()))
    steady(told, range(610, 900, 50))

    assert told.found() == {}


def test_what_is_late_is_no_sign_that_a_member_goes_on(told: Told) -> None:
    """A paused follower reads at once what was repeated while it slept."""
    told.heard_by(1, 50, 50)
    for time in range(2_000, 2_100):
        told.heard_by(1, time, 50)

    assert told.found() == {}


def test_a_leader_that_repeats_after_the_end_of_its_log(told: Told) -> None:
    told.reported(50, 50)
    for time in range(50, 1_500, 200):
        told.heard_by(1, time, 50)

    assert [one.index for one in told.found()[0]] == [2]

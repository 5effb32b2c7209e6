"""`align_clocks` on logs of a few lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from canvass.explanation.timeline import host_times
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.clocks import ClockedLog, align_clocks
from canvass.traces.aeron_log.records import Line
from support.aeron_runs import HOSTS, read_cluster

MS = 1_000_000
FAR = 86_400_000 * MS
"""How far the clock of the second host is behind the first: a day."""
LATER = 5_000
"""Milliseconds by which the second host's processes were started later; no host is that slow."""


Member = tuple[int, list[Line]]


def member(member_id: int, *lines: Line) -> Member:
    return member_id, list(lines)


def offsets(*members: Member) -> dict[int, int]:
    return align_clocks(
        {
            member_id: ClockedLog(lines, [line.time_ns for line in lines])
            for member_id, lines in members
        }
    )


def started(time: int, wall_ms: int) -> records.ProcessStart:
    return records.ProcessStart(0, 1, time, wall_ms, ())


def stood(time: int, member_id: int, term: int = 7) -> records.ElectionStateChange:
    """A ballot is opened: requests for votes come after it."""
    states = ("NOMINATE", "CANDIDATE_BALLOT")
    return records.ElectionStateChange(
        0, 2, time, member_id, *states, -1, term, 0, 0, 0, 160, -1, ""
    )


def asked(time: int, member_id: int, candidate: int, term: int = 7) -> records.RequestVote:
    return records.RequestVote(0, 3, time, member_id, 0, 160, term, candidate, 0)


def reported(time: int, member_id: int, position: int, follower: int) -> records.AppendPosition:
    return records.AppendPosition(0, 4, time, member_id, 0, position, follower, 1)


def committed(time: int, member_id: int, position: int, leader: int) -> records.CommitPosition:
    return records.CommitPosition(0, 5, time, member_id, 0, position, leader)


# One direction is known.


@pytest.mark.parametrize(
    ("by_wall", "expected"),
    [
        # By the wall clock it was received before it was sent: so it came as fast as can be.
        (FAR - 40 * MS, FAR - 20 * MS + MS),
        # The wall clock leaves a delay: it is believed.
        (FAR + 60 * MS, FAR + 60 * MS),
    ],
)
def test_a_message_of_the_first_member_bounds_the_offset_from_below(
    by_wall: int, expected: int
) -> None:
    wall = LATER + by_wall // MS
    first = member(0, started(0, LATER), stood(100 * MS, 0))
    second = member(1, started(-FAR, wall - FAR // MS), asked(-FAR + 120 * MS, 1, candidate=0))

    assert offsets(first, second) == {0: 0, 1: expected}


@pytest.mark.parametrize(
    ("by_wall", "expected"), [(FAR + 40 * MS, FAR + 20 * MS - MS), (FAR - 60 * MS, FAR - 60 * MS)]
)
def test_a_message_to_the_first_member_bounds_the_offset_from_above(
    by_wall: int, expected: int
) -> None:
    wall = LATER + by_wall // MS
    first = member(0, started(0, LATER), asked(120 * MS, 0, candidate=1))
    second = member(1, started(-FAR, wall - FAR // MS), stood(-FAR + 100 * MS, 1))

    assert offsets(first, second) == {0: 0, 1: expected}


def test_messages_in_both_directions_give_the_middle_of_the_interval() -> None:
    first = member(0, stood(100 * MS, 0, 7), asked(140 * MS, 0, candidate=1, term=8))
    second = member(1, asked(-FAR + 110 * MS, 1, candidate=0, term=7), stood(-FAR + 110 * MS, 1, 8))

    # At least a day less 10 ms, and at most a day and 30 ms.
    assert offsets(first, second) == {0: 0, 1: FAR + 10 * MS}


# Commit positions.


def leader(*lines: Line) -> Member:
    return member(0, started(0, LATER), *lines)


def follower(position: int) -> Member:
    """A member that received a commit position, with a wall clock that is too early."""
    wall = LATER + (FAR - 40 * MS) // MS - FAR // MS
    return member(1, started(-FAR, wall), committed(-FAR + 50 * MS, 1, position, leader=0))


def test_a_commit_position_bounds_nothing() -> None:
    """The report before it may be missing: this one came at 90 ms, the position at 50 ms."""
    reports = [reported(90 * MS, 0, 160, 1)]

    assert offsets(leader(*reports), follower(160)) == {0: 0, 1: FAR - 40 * MS}


# One host.


def test_headers_with_near_boot_times_are_of_one_host() -> None:
    """A false line then moves no clock."""
    wall = LATER
    first = member(0, started(0, wall), stood(100 * MS, 0))
    second = member(1, started(99 * MS, wall + 198), asked(50 * MS, 1, candidate=0))

    assert offsets(first, second) == {0: 0, 1: 0}


def test_headers_with_distant_boot_times_are_of_two_hosts() -> None:
    first = member(0, started(0, LATER), stood(200 * MS, 0))
    second = member(1, started(0, LATER + 100), asked(50 * MS, 1, candidate=0))

    assert offsets(first, second) == {0: 0, 1: 151 * MS}


def test_without_headers_overlapping_times_are_of_one_host() -> None:
    first = member(0, asked(0, 0, candidate=2), stood(100 * MS, 0))
    second = member(1, asked(50 * MS, 1, candidate=0), asked(200 * MS, 1, candidate=2))

    assert offsets(first, second) == {0: 0, 1: 0}


def test_without_headers_disjoint_times_are_of_two_hosts() -> None:
    first = member(0, stood(100 * MS, 0))
    second = member(1, asked(-FAR + 50 * MS, 1, candidate=0))

    assert offsets(first, second) == {0: 0, 1: FAR + 51 * MS}


def test_a_header_of_one_member_only_does_not_make_one_host_of_two() -> None:
    first = member(0, started(0, LATER), stood(100 * MS, 0))
    second = member(1, asked(-FAR + 50 * MS, 1, candidate=0))

    assert offsets(first, second)[1] == FAR + 51 * MS


# Long logs.


def test_the_lines_that_are_kept_of_a_long_log_give_the_same_clocks() -> None:
    """Most reports are left out of a log that is too long for the memory."""
    (folder,) = HOSTS
    whole, kept = align_clocks(clocked_logs(folder)), align_clocks(clocked_logs(folder, 200))

    assert whole.keys() == kept.keys()
    assert all(abs(whole[i] - kept[i]) < 5 * MS for i in whole)


def clocked_logs(folder: Path, kept: int = 1_000_000) -> dict[int, ClockedLog]:
    found = read_cluster([folder], kept=kept).members
    return {i: ClockedLog(log.records, host_times(log.records)) for i, log in found.items()}

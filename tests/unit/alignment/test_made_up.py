"""Logs of made-up clusters, with crashes, pauses and network partitions, are not contradicted."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec import structs

from canvass.traces.aeron_log.records import LogRecord
from support.aeron_cluster import AeronCluster
from support.aeron_hostile import MORE_STORIES, STORIES, HostileCluster
from support.aeron_runs import Aligned, align_logs, logs_of_nodes, wrong_steps


def aligned(lines: Mapping[int, list[LogRecord]]) -> Aligned:
    return align_logs(logs_of_nodes(lines))


def assert_explained(found: Aligned) -> None:
    said = found.found

    assert (said.gaps, said.false_lines, said.stopped) == ([], [], [])
    assert wrong_steps(found) == []


@pytest.mark.parametrize(("seed", "count"), [*((seed, 3) for seed in range(4)), (1, 5)])
def test_members_with_faults(seed: int, count: int) -> None:
    cluster = AeronCluster(seed, count)
    cluster.run(12_000)

    assert_explained(aligned({i: node.lines for i, node in enumerate(cluster.nodes)}))


@pytest.mark.parametrize("count", [1, 2, 4, 7])
def test_other_sizes_without_faults(count: int) -> None:
    cluster = AeronCluster(count, count, faults=False)
    cluster.run(3_000)

    assert_explained(aligned({i: node.lines for i, node in enumerate(cluster.nodes)}))


def test_clocks_that_disagree_change_nothing_that_is_said() -> None:
    """Each host's clock has its own origin; a member's log is on its own clock."""
    cluster = AeronCluster(3, 3, faults=False)
    cluster.run(4_000)
    shift = {0: 0, 1: 7_000_000_000_000, 2: -3_000_000_000_000}
    lines = {
        i: [structs.replace(line, time_ns=line.time_ns + shift[i]) for line in node.lines]
        for i, node in enumerate(cluster.nodes)
    }

    assert_explained(aligned(lines))


def assert_uncontradicted(seed: int, count: int, story: str) -> None:
    """No line of a cluster is called false, and its steps are steps of the core."""
    cluster = HostileCluster(seed, count, story)
    cluster.run(10_000)
    found = aligned({i: node.lines for i, node in enumerate(cluster.nodes)})

    assert found.found.false_lines == []
    assert wrong_steps(found, cluster.taken_lines) == []


@pytest.mark.parametrize("story", sorted(STORIES))
def test_clusters_that_are_treated_badly(story: str) -> None:
    assert_uncontradicted(3, 3, story)


def test_a_kill_takes_the_reports_with_which_a_leader_commits() -> None:
    """Others receive the commit position, which the lines of the leader do not explain."""
    assert_uncontradicted(19, 3, "lossy kills")


@pytest.mark.parametrize("grain_ns", [1_000_000, 10_000_000])
def test_stamps_that_are_equal(grain_ns: int) -> None:
    """A coarse clock gives many lines one stamp, in one log and in those of several members."""
    cluster = AeronCluster(5, 3)
    cluster.run(5_000)
    lines = {
        i: [structs.replace(one, time_ns=one.time_ns // grain_ns * grain_ns) for one in node.lines]
        for i, node in enumerate(cluster.nodes)
    }

    assert_explained(aligned(lines))


@pytest.mark.night
@pytest.mark.parametrize("story", sorted({*STORIES, *MORE_STORIES}))
@pytest.mark.parametrize("seed", range(20))
def test_many_clusters_that_are_treated_badly(seed: int, story: str) -> None:
    assert_uncontradicted(seed, 3 if seed % 2 else 5, story)


@pytest.mark.parametrize(("seed", "count", "story"), [(632, 3, "chaos"), (318, 5, "storm")])
def test_what_a_leader_published_and_never_recorded_is_in_no_log(
    seed: int, count: int, story: str
) -> None:
    """The made-up cluster forgets such an entry; the next term begins where it would have been."""
    cluster = HostileCluster(seed, count, story)
    cluster.run(15_000)

    for node in cluster.nodes:
        begins = [begin for _, begin, _ in node.terms]
        assert begins == sorted(set(begins))

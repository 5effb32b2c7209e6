"""Logs of made-up clusters, with crashes, pauses and cuts, import as those of real ones."""

from __future__ import annotations

import pytest
from msgspec import structs

from canvass.cluster.member import ElectionState
from canvass.traces.aeron_import.proposing import Imported, propose
from support.aeron_cluster import AeronCluster
from support.aeron_hostile import MORE_STORIES, STORIES, HostileCluster
from support.aeron_runs import logs_of_nodes, wrong_steps


def live(seed: int, count: int, duration_ms: int, *, faults: bool = True) -> Imported:
    cluster = AeronCluster(seed, count, faults=faults)
    cluster.run(duration_ms)
    return propose(logs_of_nodes({i: node.lines for i, node in enumerate(cluster.nodes)}))


@pytest.mark.parametrize("seed", range(12))
def test_three_members_with_faults(seed: int) -> None:
    found = live(seed, 3, 15_000)

    assert found.failure is None
    assert wrong_steps(found) == []


@pytest.mark.parametrize("seed", range(4))
def test_five_members_with_faults(seed: int) -> None:
    found = live(seed, 5, 12_000)

    assert found.failure is None
    assert wrong_steps(found) == []


@pytest.mark.parametrize("count", [1, 2, 4, 7])
def test_other_sizes_without_faults(count: int) -> None:
    found = live(count, count, 4_000, faults=False)

    assert found.failure is None
    assert wrong_steps(found) == []


def test_clocks_that_disagree_change_nothing_that_is_said() -> None:
    """Each host's clock has its own origin; a member's log is on its own clock."""
    cluster = AeronCluster(3, 3, faults=False)
    cluster.run(6_000)
    shift = {0: 0, 1: 7_000_000_000_000, 2: -3_000_000_000_000}
    lines = {
        i: [structs.replace(line, time_ns=line.time_ns + shift[i]) for line in node.lines]
        for i, node in enumerate(cluster.nodes)
    }
    found = propose(logs_of_nodes(lines))

    assert found.failure is None
    assert wrong_steps(found) == []


def treated(seed: int, count: int, story: str) -> Imported:
    cluster = HostileCluster(seed, count, story)
    cluster.run(10_000)
    return propose(logs_of_nodes({i: node.lines for i, node in enumerate(cluster.nodes)}))


def is_torn(found: Imported) -> bool:
    """Whether lines that a kill has taken leave a gap; then steps are missing."""
    return any(step.gap for proposal in found.proposals.values() for step in proposal.steps)


def assert_not_contradicted(found: Imported) -> None:
    assert found.failure is None
    assert not is_torn(found)
    assert wrong_steps(found) == []


@pytest.mark.parametrize("story", sorted(STORIES))
def test_clusters_that_are_treated_badly(story: str) -> None:
    assert_not_contradicted(treated(3, 3, story))


@pytest.mark.parametrize(("story", "count"), [("flicker", 3), ("minority", 5)])
def test_clusters_to_which_other_things_happen(story: str, count: int) -> None:
    """Pauses that are about as long as the timeouts, a minority that is dead for long."""
    assert_not_contradicted(treated(100, count, story))


@pytest.mark.parametrize(
    ("seed", "state"),
    [(12, ElectionState.FOLLOWER_CATCHUP), (13, ElectionState.FOLLOWER_REPLAY)],
)
def test_snapshots_that_are_taken_in_elections(seed: int, state: ElectionState) -> None:
    """They were asked for in what is replayed or caught up."""
    cluster = HostileCluster(seed, 3, "late snapshots")
    cluster.run(10_000)
    steps = [step for node in cluster.nodes for step in node.steps]
    states = {step.state.election_state for step in steps if step.action == "TakeSnapshot"}

    assert state in states
    assert_not_contradicted(
        propose(logs_of_nodes({i: node.lines for i, node in enumerate(cluster.nodes)}))
    )


@pytest.mark.night
@pytest.mark.parametrize("story", sorted(MORE_STORIES))
@pytest.mark.parametrize("seed", range(40))
def test_many_clusters_to_which_other_things_happen(seed: int, story: str) -> None:
    assert_not_contradicted(treated(seed, 3 if seed % 2 else 5, story))


@pytest.mark.parametrize("grain_ns", [1_000_000, 10_000_000])
def test_stamps_that_are_equal(grain_ns: int) -> None:
    """A coarse clock gives many lines one stamp, in one log and in those of several members."""
    cluster = AeronCluster(5, 3)
    cluster.run(6_000)
    lines = {
        i: [structs.replace(one, time_ns=one.time_ns // grain_ns * grain_ns) for one in node.lines]
        for i, node in enumerate(cluster.nodes)
    }

    assert_not_contradicted(propose(logs_of_nodes(lines)))


@pytest.mark.night
@pytest.mark.parametrize("count", [3, 5])
@pytest.mark.parametrize("seed", range(40))
def test_many_clusters_that_are_treated_badly(seed: int, count: int) -> None:
    found = treated(seed, count, "")

    assert found.failure is None
    assert is_torn(found) or wrong_steps(found) == []


@pytest.mark.parametrize(
    ("seed", "story"),
    [
        (124, "pauses"),
        (188, "pauses"),
        (228, "pauses"),
        (271, "tails"),
        (328, "chaos"),
        (37, "restarts"),
        (458, "lossy kills"),
    ],
)
def test_what_only_a_search_explains(seed: int, story: str) -> None:
    """The latest places of messages do not fit: an earlier answer, report or commit does."""
    cluster = HostileCluster(seed, 3, story)
    cluster.run(15_000)

    found = propose(logs_of_nodes({i: node.lines for i, node in enumerate(cluster.nodes)}))

    assert_not_contradicted(found)


def test_answers_that_can_be_to_one_receipt_only() -> None:
    """Moving an answer to an earlier receipt moves the one that was to that receipt, too."""
    cluster = HostileCluster(8, 3, "chaos")
    cluster.run(12_000)

    found = propose(logs_of_nodes({i: node.lines for i, node in enumerate(cluster.nodes)}))

    assert_not_contradicted(found)


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


def test_lines_missing_after_a_silence() -> None:
    """Of two silences one is a hole, and what it lost says how the state came to be another."""
    cluster = HostileCluster(4, 3, "pauses")
    cluster.run(8_000)
    lines = {i: node.lines for i, node in enumerate(cluster.nodes)}
    lines[0] = lines[0][:28] + lines[0][38:]
    found = propose(logs_of_nodes(lines))

    assert found.failure is None
    assert is_torn(found)

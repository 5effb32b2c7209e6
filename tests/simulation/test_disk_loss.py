"""One member of a run loses its whole disk, again and again: what may and what may not be lost."""

from __future__ import annotations

import pytest

from canvass.archive.memory import MemoryStorage
from canvass.selftest.simulation_series import simulate
from canvass.simulation import cluster
from canvass.simulation.options import Options, swarm, with_disk_loss
from canvass.simulation.simulator import RunResult


def run(seed: int, member_count: int = 3) -> RunResult:
    return simulate(with_disk_loss(swarm(Options(seed, member_count, steps=700))))


def check(seed: int, member_count: int) -> int:
    """Do a run that has to come right; say how many disks it restored."""
    result = run(seed, member_count)

    assert (seed, result.findings, result.stuck) == (seed, (), ())
    return result.counts.get("disk restored", 0)


@pytest.mark.parametrize(("member_count", "seeds"), [(3, range(12)), (5, range(4))])
def test_nothing_is_lost_with_a_disk_that_is_restored_from_all_others(
    member_count: int, seeds: range
) -> None:
    """Nothing committed, no vote: these properties are looked at across the loss."""
    assert sum(check(seed, member_count) for seed in seeds) >= len(seeds) // 2


@pytest.mark.night
@pytest.mark.parametrize("member_count", [3, 5])
def test_nothing_is_lost_in_hundreds_of_runs(member_count: int) -> None:
    assert sum(check(seed, member_count) for seed in range(1_000, 1_250)) > 250


def test_a_member_that_comes_back_empty_loses_what_was_promised_and_committed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As it would if it were just started again on a new disk."""

    def leave_empty(storage: MemoryStorage, *others: object) -> None:
        del others
        assert storage.names() == []

    monkeypatch.setattr(cluster, "restore", leave_empty)
    found = {finding.property_name for seed in range(12) for finding in run(seed).findings}

    assert found & {"OneVotePerTerm", "CandidateTermMonotonic"}
    assert found & {"CommittedIsDurable", "LeaderCompleteness", "StateMachineSafety"}


def test_a_cluster_that_has_no_quorum_beside_the_disk_loses_none() -> None:
    """Nothing could restore it."""
    for member_count in (1, 2):
        assert check(3, member_count) == 0

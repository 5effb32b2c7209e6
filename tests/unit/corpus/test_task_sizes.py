"""How a skewed corpus is laid out: no task waits for one that has a run many times as long."""

from __future__ import annotations

from random import Random

import pytest
from msgspec.structs import replace

from canvass.corpus.plan import TASK_COST, Unit, UnitKind, list_units, pack
from canvass.corpus.split import split_large
from support.long_runs import write_long_run

SHARE = 40
"""So many tasks would be filled by the giant run alone."""


@pytest.fixture(scope="module")
def giant(tmp_path_factory: pytest.TempPathFactory) -> Unit:
    """One run in one file of many row groups; it is said to be large."""
    path = tmp_path_factory.mktemp("layout") / "events-3-00000.parquet"
    write_long_run(path, 4_000, rows_per_group=40)
    (unit,) = list_units([path])
    return replace(unit, cost=SHARE * TASK_COST)


def short_ones(giant: Unit, count: int) -> list[Unit]:
    """Thousands of short runs that cost as much as the giant one in all; some cost nothing."""
    random = Random(count)
    mean = giant.cost // count
    return [Unit(UnitKind.RUN, f"/run-{n}", random.randrange(2 * mean)) for n in range(count)]


@pytest.mark.parametrize("parallelism", [1, 2, 16])
@pytest.mark.parametrize("count", [2_000, 5_000])
def test_a_giant_run_among_thousands_of_short_ones_fills_no_task_by_itself(
    giant: Unit, count: int, parallelism: int
) -> None:
    units = split_large([*short_ones(giant, count), giant])
    tasks = pack(units, parallelism=parallelism)

    costs = [sum(unit.cost for unit in task) for task in tasks]
    parts = [sum(unit.part is not None for unit in task) for task in tasks]
    assert len(units) == count + sum(parts)
    assert sum(parts) >= SHARE
    assert max(costs) <= 1.1 * sum(costs) / len(costs)
    assert max(costs) <= 1.1 * TASK_COST
    assert max(parts) == 1
    assert {unit.path for task in tasks for unit in task} == {unit.path for unit in units}


def test_without_being_cut_it_would_be_one_task_that_all_others_wait_for(giant: Unit) -> None:
    """The sizes that the test above would see without splitting."""
    tasks = pack([*short_ones(giant, 2_000), giant], tasks=2 * SHARE)

    costs = sorted(sum(unit.cost for unit in task) for task in tasks)
    assert costs[-1] == giant.cost > 30 * costs[-2]

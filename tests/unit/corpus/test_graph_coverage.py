"""Which steps of a state graph a corpus takes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from canvass.conformance.verify import read_and_check
from canvass.corpus.plan import list_units
from canvass.corpus.task_checker import TaskChecker
from canvass.corpus.task_files import JobRows, stage_of, write_rows, write_tables, write_tasks
from canvass.graph.artifact import open_keys
from canvass.graph.build import cached_graph, load_model
from canvass.selftest.runs import record_run
from canvass.steps.answers import Answers


@pytest.mark.tlc
def test_the_steps_of_a_graph_that_runs_take_are_counted_once(
    pytestconfig: pytest.Config, tmp_path: Path
) -> None:
    assert pytestconfig.cache is not None
    model = load_model("MCMemberGraph1")
    folder = pytestconfig.cache.mkdir("graphs") / f"{model.name}-{model.digest[:16]}"
    graph = cached_graph(model, folder.parent)
    for seed in range(3):
        record_run(tmp_path / "runs" / f"run-{seed}", graph.rules, seed, 60, run_id=f"run-{seed}")
    units = list_units([tmp_path / "runs"])
    checker = TaskChecker.of(graph=folder, cache=tmp_path / "cache")
    checker.prepare(tmp_path / "work")
    reported = [list(checker.check((unit,))) for unit in units]
    write_tasks(tmp_path / "work", [() for _ in reported])
    results = [write_rows(tmp_path / "work", at, rows) for at, rows in enumerate(reported)]

    rows = JobRows(stage_of(tmp_path / "work", results, len(results)))
    (found,) = write_tables(rows, tmp_path)

    met = read_and_check([Path(unit.path) for unit in units], Answers()).keys
    taken = np.unique(open_keys(folder).lookup(met))
    assert found.covered == int(np.count_nonzero(taken >= 0)) > 10
    assert found.steps == graph.manifest.counts.canonical
    assert (found.model, found.member_count) == ("MCMemberGraph1", 1)
    assert sum(each.steps for each in found.actions) == found.steps
    assert sum(each.covered for each in found.actions) == found.covered
    assert all(each.covered <= each.steps for each in found.actions)

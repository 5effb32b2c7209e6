"""Which steps of a state graph a corpus takes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from canvass.conformance.verify import read_and_check
from canvass.corpus.engine import ProcessEngine
from canvass.corpus.job import CorpusJob
from canvass.corpus.plan import list_units
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
    job = CorpusJob(ProcessEngine(), tmp_path / "cache", graph=folder)

    job.run(units)

    (found,) = job.graphs
    met = read_and_check([Path(unit.path) for unit in units], Answers()).keys
    taken = np.unique(open_keys(folder).lookup(met))
    assert found.covered == int(np.count_nonzero(taken >= 0)) > 10
    assert found.steps == graph.manifest.counts.canonical
    assert (found.model, found.member_count) == ("MCMemberGraph1", 1)
    assert sum(each.steps for each in found.actions) == found.steps
    assert sum(each.covered for each in found.actions) == found.covered
    assert all(each.covered <= each.steps for each in found.actions)

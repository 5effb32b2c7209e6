"""The logs of real clusters, imported and verified in one job."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from canvass.conformance.step_lookup import StepLookup
from canvass.conformance.verify import check_units
from canvass.corpus.job import CorpusJob
from canvass.corpus.plan import list_units
from canvass.corpus.spark_engine import SparkEngine
from canvass.traces.alignment.importer import import_logs
from support.aeron_runs import captures

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.night
def test_all_captured_clusters_are_verified_in_one_job(spark: SparkSession, tmp_path: Path) -> None:
    """Each as `canvass import aeron` and `canvass verify` do it, with the same number of events."""
    logs, cache, out = captures(), tmp_path / "cache", tmp_path / "out"
    for path in logs:
        import_logs([path], tmp_path / "runs" / path.name)
    checked = check_units(sorted((tmp_path / "runs").iterdir()), StepLookup(cache=cache))

    job = CorpusJob(SparkEngine(spark), cache)
    job.run(list_units(logs))
    job.write({"verdicts": out})

    expected = {
        Path(run.path).name: (run.verdict.value, run.events, run.unchecked) for run in checked.runs
    }
    assert {verdict for verdict, _, _ in expected.values()} == {"CONFORMS"}
    assert {
        Path(row["source"]).name: (row["verdict"], row["events"], row["unchecked"])
        for row in pq.read_table(out).to_pylist()
    } == expected
    assert job.asked == 0

"""Verdicts on events in a DataFrame."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from canvass.conformance.check import check_units
from canvass.conformance.judge import Judge
from canvass.corpus.frame import BadEvents, verify

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_rows_in_any_order_have_the_verdicts_of_their_runs(
    spark: SparkSession, runs: Path, tmp_path: Path
) -> None:
    checked = check_units(sorted(runs.iterdir()), Judge(cache=tmp_path / "cache"))
    events = spark.read.format("canvass").load(str(runs)).where("run != 'run-0' OR step != 5")
    shuffled = events.orderBy("step", "action")
    # Through Parquet: what is read from there may be null, as far as Spark knows.
    shuffled.write.parquet(str(tmp_path / "events"))

    found = verify(spark.read.parquet(str(tmp_path / "events")), cache=tmp_path / "cache")

    expected = {run.run_id: run.verdict.value for run in checked.runs}
    assert set(expected.values()) == {"CONFORMS"}
    assert {row.run_id: row.verdict for row in found.collect()} == expected | {
        "run-0": "INCOMPLETE"
    }


def test_columns_that_are_missing_are_named(spark: SparkSession) -> None:
    with pytest.raises(BadEvents, match="member_0_log_position"):
        verify(spark.range(1))
    one = spark.range(1).withColumnRenamed("id", "member_0_log_position")
    with pytest.raises(BadEvents, match="run, member, step"):
        verify(one)

"""Events of runs as rows of a Spark table."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from canvass.traces.parquet import DatasetWriter
from canvass.traces.run import Corpus, write_dataset

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_rows_are_the_events_of_the_runs(spark: SparkSession, runs: Path, tmp_path: Path) -> None:
    with DatasetWriter(tmp_path / "set") as writer:
        write_dataset(Corpus(runs), writer)
    expected = Counter(
        (loaded.run.run_id, member, event.step, event.action.value, len(event.sends))
        for loaded in Corpus(runs).load()
        for member, events in loaded.events.items()
        for event in events
    )
    for corpus, partitions in ((runs, "3"), (tmp_path / "set", "1")):
        rows = (
            spark.read.format("canvass")
            .option("partitions", partitions)
            .load(str(corpus))
            .selectExpr("run", "member", "step", "action", "size(sends) AS sends")
            .collect()
        )

        assert Counter(tuple(row) for row in rows) == expected


def test_a_run_of_another_size_is_an_error(spark: SparkSession, runs: Path) -> None:
    frame = spark.read.format("canvass").option("memberCount", "5").load(str(runs))

    with pytest.raises(Exception, match="set the option memberCount"):
        frame.count()


def test_a_malformed_run_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()

    with pytest.raises(Exception, match="NOT_FOUND"):
        spark.read.format("canvass").load(str(tmp_path)).count()

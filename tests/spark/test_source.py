"""Events of runs as rows of a Spark table."""

from __future__ import annotations

import gzip
import shutil
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


def test_spark_hands_over_which_rows_are_wanted(spark: SparkSession, runs: Path) -> None:
    """What is malformed among what is not wanted is never read."""
    (runs.parent / "lake").mkdir()
    lake = runs.parent / "lake"
    shutil.copytree(runs, lake / "date=2026-11-20")
    (lake / "date=2026-11-21" / "broken").mkdir(parents=True)
    frame = (
        spark.read.format("canvass").option("columns", "run,member,date,revision").load(str(lake))
    )

    rows = frame.where("date = '2026-11-20' AND run IN ('run-1', 'run-2') AND member = 1").collect()

    streams = [runs / f"run-{n}" / "member-1.ndjson" for n in (1, 2)]
    assert len(rows) == sum(len(stream.read_text().splitlines()) for stream in streams)
    assert {tuple(row) for row in rows} == {(f"run-{n}", 1, "2026-11-20", "1.50") for n in (1, 2)}
    with pytest.raises(Exception, match="NOT_FOUND"):
        frame.where("date >= '2026-11-20'").count()
    with pytest.raises(Exception, match="there is no column 'date of birth'"):
        spark.read.format("canvass").option("columns", "date of birth").load(str(lake)).count()


def test_the_lines_of_logs_are_rows(spark: SparkSession) -> None:
    samples = Path(__file__).resolve().parents[2] / "samples" / "aeron"
    frame = spark.read.format("canvass-aeron").load(str(samples))

    counted = frame.where("member = 0").groupBy("cluster", "member").count().collect()

    expected = {
        (str(log.parent), 0): len(gzip.decompress(log.read_bytes()).splitlines())
        for log in samples.glob("*/member-0.log.gz")
    }
    assert {(row["cluster"], row["member"]): row["count"] for row in counted} == expected
    events = frame.where("event = 'ELECTION_STATE_CHANGE'")
    assert events.where("component = 'CLUSTER' AND time_ns > 0").count() == events.count() > 0

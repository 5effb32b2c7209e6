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


@pytest.mark.parametrize("form", ["no stream", "empty streams", "data set"])
def test_a_run_without_events_is_an_error(
    spark: SparkSession, runs: Path, tmp_path: Path, form: str
) -> None:
    corpus = Path(shutil.copytree(runs, tmp_path / "runs"))
    for stream in (corpus / "run-1").glob("member-*"):
        if form == "no stream":
            stream.unlink()
        else:
            stream.write_bytes(b"")
    if form == "data set":
        with DatasetWriter(tmp_path / "set") as writer:
            write_dataset(Corpus(corpus), writer)
        corpus = tmp_path / "set"
    reader = spark.read.format("canvass")

    with pytest.raises(Exception, match="NOT_FOUND: the run run-1 has no events"):
        reader.load(str(corpus)).count()

    assert reader.option("run", "run-0").load(str(corpus)).count() > 0


@pytest.fixture
def lake(runs: Path, tmp_path: Path) -> Path:
    """Runs of one day, and a malformed run of a later day: an error for who reads it."""
    folder = tmp_path / "lake"
    shutil.copytree(runs, folder / "date=2026-11-20")
    (folder / "date=2026-11-22" / "broken").mkdir(parents=True)
    return folder


def events_of_member_1(runs: Path, *run_ids: str) -> int:
    """Count lines."""
    logs = [(runs / run_id / "member-1.ndjson").read_text() for run_id in run_ids]
    return sum(len(log.splitlines()) for log in logs)


def test_what_is_not_wanted_is_not_read_and_no_query_changes_another(
    spark: SparkSession, runs: Path, lake: Path
) -> None:
    reader = spark.read.format("canvass").option("columns", "run,member,revision")
    chosen = reader.option("run", "run-1,run-2")
    frame = chosen.option("member", "1").load(str(lake / "date=2026-11-20"))

    rows = frame.collect()

    counts = {name: events_of_member_1(runs, name) for name in ("run-1", "run-2")}
    assert Counter(tuple(row) for row in rows) == {
        (name, 1, "1.50"): count for name, count in counts.items()
    }
    assert frame.where("run = 'run-1'").count() == counts["run-1"]
    assert frame.count() == sum(counts.values())
    with pytest.raises(Exception, match="there is no column 'day'"):
        reader.option("columns", "day").load(str(lake)).count()


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

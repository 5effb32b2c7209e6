"""Events of runs as rows of a Spark table."""

from __future__ import annotations

import gzip
import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from canvass.traces.parquet import write_dataset
from canvass.traces.run import Corpus
from support.trace_reading import load_corpus

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_rows_are_the_events_of_the_runs(spark: SparkSession, runs: Path, tmp_path: Path) -> None:
    write_dataset(Corpus(runs), tmp_path / "set")
    expected = Counter(
        (loaded.run.run_id, member, event.step, event.action.value, len(event.sends))
        for loaded in load_corpus(runs)
        for member, events in loaded.events.items()
        for event in events
    )
    for corpus in (runs, tmp_path / "set"):
        rows = (
            spark.read.format("canvass")
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


@pytest.mark.parametrize(
    "form",
    [
        "no stream",
        *(pytest.param(one, marks=pytest.mark.night) for one in ("empty streams", "data set")),
    ],
)
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
        write_dataset(Corpus(corpus), tmp_path / "set")
        corpus = tmp_path / "set"

    with pytest.raises(Exception, match="NOT_FOUND: the run run-1 has no events"):
        spark.read.format("canvass").load(str(corpus)).count()


@pytest.fixture
def lake(runs: Path, tmp_path: Path) -> Path:
    """Runs of one day, and a malformed run of a later day: an error for who reads it."""
    folder = tmp_path / "lake"
    shutil.copytree(runs, folder / "date=2026-11-20")
    (folder / "date=2026-11-22" / "broken").mkdir(parents=True)
    return folder


def test_a_schema_chooses_columns_and_other_partitions_are_not_read(
    spark: SparkSession, runs: Path, lake: Path
) -> None:
    reader = spark.read.format("canvass").schema("run string, member int, revision string")

    frame = reader.load(str(lake / "date=2026-11-20"))

    log = (runs / "run-1" / "member-1.ndjson").read_text()
    found = Counter(tuple(row) for row in frame.where("run = 'run-1' AND member = 1").collect())
    assert found == {("run-1", 1, "1.50"): len(log.splitlines())}
    assert frame.count() > len(log.splitlines())  # No query changes another.
    with pytest.raises(Exception, match="NOT_FOUND"):
        reader.load(str(lake)).count()


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

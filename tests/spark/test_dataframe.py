"""Verdicts on events in a DataFrame."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from canvass.conformance.verify import check_units
from canvass.corpus.dataframe import verify
from canvass.steps.answers import StepLookup
from canvass.traces.arrow import ColumnError
from canvass.traces.parquet import write_dataset
from canvass.traces.run import Corpus

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_rows_in_any_order_have_the_verdicts_of_their_runs(
    spark: SparkSession, runs: Path, answers: Path, tmp_path: Path
) -> None:
    checked = check_units(sorted(runs.iterdir()), StepLookup(cache=answers))
    events = spark.read.format("canvass").load(str(runs)).where("run != 'run-0' OR step != 5")
    shuffled = events.orderBy("step", "action")
    # Through Parquet: what is read from there may be null, as far as Spark knows. Older rows lack
    # one column.
    shuffled.drop("input_entry_position").write.parquet(str(tmp_path / "events"))

    found = verify(spark.read.parquet(str(tmp_path / "events")), cache=answers)

    expected = {run.run_id: run.verdict.value for run in checked.runs}
    assert set(expected.values()) == {"CONFORMS"}
    assert {row.run_id: row.verdict for row in found.collect()} == expected | {
        "run-0": "INCOMPLETE"
    }


@pytest.mark.parametrize("form", [pytest.param("folders", marks=pytest.mark.night), "dataset"])
def test_a_truncated_stream_is_not_taken_for_a_whole_one(
    spark: SparkSession, runs: Path, answers: Path, tmp_path: Path, form: str
) -> None:
    corpus = Path(shutil.copytree(runs, tmp_path / "runs"))
    stream = corpus / "run-1" / "member-2.ndjson"
    stream.write_bytes(stream.read_bytes()[:-20])
    checked = check_units(sorted(corpus.iterdir()), StepLookup(cache=answers))
    if form == "dataset":
        write_dataset(Corpus(corpus), tmp_path / "set", events_per_row_group=70)
        corpus = tmp_path / "set"

    events = spark.read.format("canvass").load(str(corpus))

    marked = events.where("truncated IS NOT NULL").select("run", "member").distinct().collect()
    assert [tuple(row) for row in marked] == [("run-1", 2)]
    verdicts = {(row.run_id, row.verdict) for row in verify(events, cache=answers).collect()}
    assert verdicts == {(run.run_id, run.verdict.value) for run in checked.runs}
    assert ("run-1", "INCOMPLETE") in verdicts


def test_an_incomplete_import_is_not_taken_for_a_whole_one(
    spark: SparkSession, runs: Path, answers: Path, tmp_path: Path
) -> None:
    corpus = Path(shutil.copytree(runs, tmp_path / "runs"))
    file = corpus / "run-1" / "run.json"
    run = json.loads(file.read_text())
    run["source"]["missing"] = ["member-2.log:7: lines are missing before it"]
    file.write_text(json.dumps(run))

    events = spark.read.format("canvass").load(str(corpus))

    rows = verify(events, cache=answers).collect()
    (found,) = (row for row in rows if row.run_id == "run-1")
    assert found.verdict == "INCOMPLETE"


@pytest.mark.parametrize("records", [3, pytest.param(10_000, marks=pytest.mark.night)])
def test_an_id_of_several_runs_is_malformed_and_the_other_runs_are_checked(
    spark: SparkSession, runs: Path, answers: Path, tmp_path: Path, records: int
) -> None:
    """With few records in a batch the step that is there twice is not in the first one."""
    events = spark.read.format("canvass").load(str(runs)).coalesce(1)
    again = events.where("run = 'run-1' AND (member > 0 OR step > 100)")
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = str(spark.conf.get(name))
    spark.conf.set(name, str(records))
    try:
        found = verify(events.union(again), cache=answers).collect()
    finally:
        spark.conf.set(name, before)

    verdicts = {row.run_id: row.verdict for row in found}
    assert len(found) == len(verdicts) == len(list(runs.iterdir()))
    assert {name for name, verdict in verdicts.items() if verdict == "MALFORMED"} == {"run-1"}
    (reason,) = (row.reason for row in found if row.verdict == "MALFORMED")
    problem = "a step is there twice, or several runs have the id"
    assert reason == f"the run run-1: member 1, step 0: {problem}"


def test_columns_that_are_missing_are_named(spark: SparkSession) -> None:
    with pytest.raises(ColumnError, match=r"no columns of canvass\.events/1: run, member, step"):
        verify(spark.range(1))


def test_a_column_of_another_type_is_named(spark: SparkSession, runs: Path) -> None:
    events = spark.read.format("canvass").load(str(runs))

    with pytest.raises(Exception, match="sends: int32 is no list"):
        verify(events.selectExpr("* EXCEPT (sends)", "1 AS sends")).count()

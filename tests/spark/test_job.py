"""Batch verification gives the verdicts of the checker in one process, however it is spread."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from canvass.conformance.verify import check_units
from canvass.corpus.job import (
    REPORT_TABLES,
    CorpusJob,
    OutputExists,
    ProcessEngine,
    make_results_folder,
)
from canvass.corpus.plan import Unit, list_units
from canvass.corpus.report import Summary, exit_code, summarise
from canvass.corpus.spark_engine import SparkEngine
from canvass.steps.answers import StepLookup
from canvass.traces.parquet import write_dataset
from canvass.traces.run import Corpus
from support.corpora import record_runs
from support.spoilt_runs import corrupt
from support.standalone_spark import Results, results_here, results_of, results_of_runs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Expected:
    """A corpus, what is due, and what one process says."""

    corpus: Path
    due: dict[str, str]
    results: Results
    cache: Path

    @property
    def verdicts(self) -> dict[str, object]:
        """The verdict of each run, by the name of its folder."""
        return {Path(str(source)).name: verdict for source, verdict, *_ in self.results[0]}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Expected:
    """Good and spoilt runs, verified in one process; the oracle's answers are kept."""
    folder = tmp_path_factory.mktemp("job")
    corpus = record_runs(folder / "corpus", 12, 120)
    due = corrupt(corpus)
    return Expected(corpus, due, results_here(corpus, folder / "cache"), folder / "cache")


def engine_of(request: pytest.FixtureRequest, name: str) -> ProcessEngine | SparkEngine:
    return SparkEngine(request.getfixturevalue("spark")) if name == "spark" else ProcessEngine()


def run_job(
    engine: ProcessEngine | SparkEngine,
    units: list[Unit],
    out: Path,
    cache: Path,
    partitions: int | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Summary:
    job = CorpusJob(engine, cache, partitions=partitions, say=say)
    job.run(units)
    job.write({name: out / name for name in REPORT_TABLES})
    if isinstance(engine, SparkEngine):
        engine.release()
    return summarise(job, corpora=["corpus"], seconds=1.0)


def table(out: Path, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(out / name).to_pylist()
    return rows


def test_each_trouble_has_the_verdict_due_to_it(expected: Expected) -> None:
    found = expected.verdicts

    assert found == dict.fromkeys(found, "CONFORMS") | expected.due


@pytest.mark.parametrize(
    ("engine", "partitions"),
    [
        ("spark", 7),
        ("process", 1),
        ("process", 7),
        pytest.param("spark", 1, marks=pytest.mark.night),
    ],
)
def test_verdicts_are_those_of_verify_whatever_the_partitions(
    request: pytest.FixtureRequest, expected: Expected, tmp_path: Path, engine: str, partitions: int
) -> None:
    units = list_units([expected.corpus])
    random.Random(partitions).shuffle(units)
    out = tmp_path / "out"

    summary = run_job(engine_of(request, engine), units, out, expected.cache, partitions)

    assert results_of(out) == expected.results
    assert summary.asked_steps == 0
    assert summary.events == sum(row["events"] for row in table(out, "verdicts"))


@pytest.mark.parametrize("engine", ["spark", "process"])
def test_without_a_cache_the_oracle_is_asked_and_units_are_checked_again(
    request: pytest.FixtureRequest, expected: Expected, tmp_path: Path, engine: str
) -> None:
    """On Spark by the executors."""
    out, cache, said = tmp_path / "out", tmp_path / "cache", list[str]()
    units = list_units([expected.corpus])

    summary = run_job(engine_of(request, engine), units, out, cache, say=said.append)

    assert results_of(out) == expected.results
    assert summary.asked_steps > 50
    assert [each for each in said if " again, now that" in each]
    assert [path.suffix for path in cache.iterdir()] == [".sqlite"]


def test_a_data_set_has_the_verdicts_of_its_runs(
    spark: SparkSession, expected: Expected, tmp_path: Path
) -> None:
    malformed = {name for name, verdict in expected.due.items() if verdict == "MALFORMED"}
    ignored = shutil.ignore_patterns(*malformed)
    readable = Path(shutil.copytree(expected.corpus, tmp_path / "readable", ignore=ignored))
    write_dataset(Corpus(readable), tmp_path / "set", events_per_file=400)
    out = tmp_path / "out"

    run_job(SparkEngine(spark), list_units([tmp_path / "set"]), out, expected.cache)

    assert spark._jsparkSession.sharedState().cacheManager().isEmpty()
    assert len(list((tmp_path / "set").iterdir())) > 2
    assert {row["run_id"]: row["verdict"] for row in table(out, "verdicts")} == {
        name: verdict for name, verdict in expected.verdicts.items() if name not in malformed
    }
    assert results_of(out)[1] == expected.results[1]


def test_no_run_hides_a_divergence_of_another_run_with_its_id(
    spark: SparkSession, expected: Expected, tmp_path: Path
) -> None:
    """Neither a run that conforms nor a malformed one, and in whichever order their paths are."""
    for corpus in ("monday", "tuesday"):
        (tmp_path / corpus).mkdir()
    for place, name in (
        ("monday/run-5", "run-9"),
        ("monday/run-6", "run-11"),
        ("tuesday/run-5", "run-5"),
        ("tuesday/run-9", "run-9"),
    ):
        shutil.copytree(expected.corpus / name, tmp_path / place)
        text = (tmp_path / place / "run.json").read_text()
        assert f'"runId":"{name}"' in text
        text = text.replace(f'"runId":"{name}"', '"runId":"same"')
        (tmp_path / place / "run.json").write_text(text)
    corpora = [tmp_path / "tuesday", tmp_path / "monday"]

    summary = run_job(SparkEngine(spark), list_units(corpora), tmp_path / "out", expected.cache)

    rows = table(tmp_path / "out", "verdicts")
    assert {str(row["source"]): row["verdict"] for row in rows} == {
        str(tmp_path / place): verdict
        for place, verdict in (
            ("monday/run-5", "CONFORMS"),
            ("monday/run-6", "MALFORMED"),
            ("tuesday/run-5", "DIVERGES"),
            ("tuesday/run-9", "CONFORMS"),
        )
    }
    divergences = table(tmp_path / "out", "divergences")
    assert {row["source"] for row in divergences} == {str(tmp_path / "tuesday" / "run-5")}
    assert exit_code(summary) == 1


def test_results_do_not_go_where_something_is(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("")

    with pytest.raises(OutputExists, match="is not empty"):
        make_results_folder(tmp_path)


@pytest.mark.night
@pytest.mark.parametrize("partitions", [1, 2, 7, 64])
@pytest.mark.parametrize("form", ["ndjson", "parquet"])
def test_a_larger_corpus_has_the_same_verdicts_in_every_form_and_cut(
    spark: SparkSession, tmp_path: Path, partitions: int, form: str
) -> None:
    corpus = record_runs(tmp_path / "corpus", 40, 600)
    corrupt(corpus)
    cache = tmp_path / "cache"
    if form == "parquet":
        sound = tmp_path / "sound"
        sound.mkdir()
        for run in check_units(sorted(corpus.iterdir()), StepLookup(cache=cache)).runs:
            if run.verdict.value != "MALFORMED":
                shutil.copytree(run.path, sound / Path(run.path).name)
        corpus = tmp_path / "set"
        write_dataset(Corpus(sound), corpus, events_per_file=4_000, events_per_row_group=300)
    units = list_units([corpus])
    found = check_units([unit.location for unit in units], StepLookup(cache=cache)).runs
    random.Random(partitions).shuffle(units)
    out = tmp_path / "out"

    run_job(SparkEngine(spark), units, out, cache, partitions)

    reported = {(row["source"], row["run_id"]): row for row in table(out, "verdicts")}
    assert len(reported) == len(found)
    for run in found:
        row = reported.get((run.path, run.run_id)) or reported[run.path, None]
        assert (row["verdict"], row["events"]) == (run.verdict.value, run.events)
    assert results_of(out)[1] == results_of_runs(found)[1]

"""Which engine a job runs on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark import SparkStageInfo

from canvass.corpus.plan import COST_PER_EVENT, Unit, UnitKind
from canvass.corpus.spark_engine import SparkEngine
from canvass.corpus.spark_session import SPARK_PAYS_FROM, EngineName, choose_engine

SMALL = [Unit(UnitKind.FILE, "small.parquet", 300_000 * COST_PER_EVENT)]
LARGE = [Unit(UnitKind.FILE, "large.parquet", (SPARK_PAYS_FROM + 1) * COST_PER_EVENT)]


@pytest.fixture(autouse=True)
def not_submitted(monkeypatch: pytest.MonkeyPatch) -> None:
    """No Spark has started this process."""
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)


def test_a_small_corpus_is_checked_in_one_process_and_the_reason_has_one_line() -> None:
    chosen, reason = choose_engine(SMALL, None, EngineName.AUTO)

    assert chosen is EngineName.PROCESS
    assert "about 300,000 events" in reason
    assert "--engine spark" in reason
    assert "\n" not in reason


def test_a_large_corpus_goes_to_spark() -> None:
    chosen, reason = choose_engine(LARGE, None, EngineName.AUTO)

    assert chosen is EngineName.SPARK
    assert "about 9,000,000 events" in reason


def test_who_names_a_master_means_spark() -> None:
    assert choose_engine(SMALL, "local[2]", EngineName.AUTO) == (EngineName.SPARK, "")


def test_a_submitted_job_runs_on_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")

    assert choose_engine(SMALL, None, EngineName.AUTO) == (EngineName.SPARK, "")


@pytest.mark.parametrize("wanted", [EngineName.PROCESS, EngineName.SPARK])
def test_the_engine_that_the_user_names_is_taken(wanted: EngineName) -> None:
    assert choose_engine(LARGE, None, wanted) == (wanted, "")
    assert choose_engine(SMALL, None, wanted) == (wanted, "")


def test_without_pyspark_a_large_corpus_is_checked_in_one_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("canvass.corpus.spark_session.find_spec", lambda _: None)

    chosen, reason = choose_engine(LARGE, None, EngineName.AUTO)

    assert chosen is EngineName.PROCESS
    assert "not installed" in reason


class Context:
    """The parts of a Spark context that tell of its tasks."""

    defaultParallelism = 2  # noqa: N815 - Spark's name

    def __init__(self, done: int | None) -> None:
        self._done = done

    def statusTracker(self) -> Context:  # noqa: N802 - Spark's name
        return self

    def getActiveStageIds(self) -> list[int]:  # noqa: N802 - Spark's name
        return [7]

    def getStageInfo(self, _: int) -> SparkStageInfo:  # noqa: N802 - Spark's name
        if self._done is None:
            raise RuntimeError("the JVM has ended")
        return SparkStageInfo(7, 0, "check", 8, 2, self._done, 0)


@pytest.mark.parametrize(
    ("done", "expected"),
    [(0, "0 of 8 tasks, Python workers start"), (3, "3 of 8 tasks"), (None, "")],
)
def test_tasks_that_are_done_are_counted(done: int | None, expected: str) -> None:
    session = SimpleNamespace(sparkContext=Context(done))

    assert SparkEngine(cast(Any, session)).progress() == expected

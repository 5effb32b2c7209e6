"""Continuous verification: the reports on a directory that grows, over restarts and crashes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from canvass.conformance.check import check_units
from canvass.conformance.step_lookup import StepLookup
from canvass.corpus.checker import ConformanceChecker
from canvass.corpus.summary import Summary
from canvass.corpus.watch import Patience, Watch, catch_up, look

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HURRY = Patience(settle_ms=0, patience_ms=0)
CALM = Patience(settle_ms=0, patience_ms=3_600_000)


@pytest.fixture
def few_partitions(spark: SparkSession) -> Iterator[SparkSession]:
    """The session, with little state to keep."""
    name = "spark.sql.shuffle.partitions"
    before = spark.conf.get(name)
    assert before is not None
    spark.conf.set(name, "2")
    yield spark
    spark.conf.set(name, before)


class Watched:
    """A directory, and what was reported of it."""

    def __init__(self, spark: SparkSession, runs: Path, folder: Path) -> None:
        self.runs = runs
        self.corpus = folder / "corpus"
        self.corpus.mkdir()
        self.out = folder / "out"
        self.checker = ConformanceChecker.of(cache=folder / "cache")
        self.spark = spark
        self.batches: list[tuple[int, dict[str, int]]] = []
        self.crash = False
        check_units(sorted(runs.iterdir()), StepLookup(cache=folder / "cache"))

    def arrive(self, name: str, *, without: str = "") -> None:
        """Let a run come, or come once more, as its files are put in place."""
        target = self.corpus / name
        target.mkdir(exist_ok=True)
        for file in sorted((self.runs / name).iterdir()):
            if file.name != without and not (target / file.name).exists():
                shutil.copy(file, target / file.name)

    def tell(self, batch: int, summary: Summary) -> None:
        if self.crash:
            raise RuntimeError("the machine fails")
        self.batches.append((batch, {k: n for k, n in summary.verdicts.items() if n}))

    def look(self, patience: Patience) -> None:
        """Start, take what is there, and end."""
        watch = Watch(corpus=self.corpus, out=self.out, checker=self.checker, patience=patience)
        catch_up(self.spark, watch, self.tell)

    def reported(self) -> list[tuple[str, str]]:
        """All verdicts, in the order of the batches."""
        rows = pq.read_table(self.out / "verdicts").to_pylist()
        rows.sort(key=lambda row: (int(row["batch"]), row["run_id"]))
        return [(row["run_id"], row["verdict"]) for row in rows]


def test_each_run_is_reported_once_over_a_crash_and_a_restart(
    few_partitions: SparkSession, runs: Path, tmp_path: Path
) -> None:
    watched = Watched(few_partitions, runs, tmp_path)
    watched.arrive("run-0")
    watched.arrive("run-1", without="member-2.ndjson")
    watched.crash = True
    with pytest.raises(Exception, match="the machine fails"):
        watched.look(CALM)
    watched.crash = False
    watched.arrive("run-1")
    watched.arrive("run-2")

    watched.look(CALM)

    assert watched.reported() == [(f"run-{n}", "CONFORMS") for n in range(3)]
    # Which of the two batches has run-1, whole by now, is left open: the first is done once more.
    assert sum(verdicts["CONFORMS"] for _, verdicts in watched.batches) == 3


@pytest.mark.night
def test_a_run_waits_for_its_parts_and_is_reported_again_if_more_come_later(
    few_partitions: SparkSession, runs: Path, tmp_path: Path
) -> None:
    watched = Watched(few_partitions, runs, tmp_path)
    watched.arrive("run-0")
    watched.arrive("run-1", without="member-2.ndjson")
    watched.look(CALM)  # run-1 waits for its third stream.
    assert watched.reported() == [("run-0", "CONFORMS")]

    watched.look(CALM)
    watched.arrive("run-3", without="member-0.ndjson")
    watched.look(HURRY)
    watched.arrive("run-3")
    watched.look(HURRY)

    assert watched.reported()[1:] == [("run-3", "INCOMPLETE"), ("run-3", "CONFORMS")]


@pytest.mark.night
def test_a_watch_that_is_killed_goes_on_where_it_was(runs: Path, tmp_path: Path) -> None:
    """The process and its JVM die in the middle of a batch; the next one tells each run once."""
    corpus, out, cache = (tmp_path / name for name in ("corpus", "out", "cache"))
    shutil.copytree(runs, corpus)
    check_units(sorted(corpus.iterdir()), StepLookup(cache=cache))
    words = ["batch", "watch", str(corpus), "--out", str(out), "--cache", str(cache)]
    words += ["--settle", "0", "--format", "json"]
    command = [sys.executable, "-m", "canvass.cli.main", *words]
    with (tmp_path / "log").open("wb") as log:
        first = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        try:
            while not list((out / "work").glob("*/*/progress/*")):
                assert first.poll() is None, (tmp_path / "log").read_text()
                time.sleep(0.05)
        finally:
            os.killpg(first.pid, signal.SIGKILL)
            first.wait()
    assert not (out / "verdicts").exists()

    code = subprocess.run([*command, "--once"], capture_output=True, text=True, check=False)

    assert code.returncode == 0, code.stderr
    reported = pq.read_table(out / "verdicts").to_pylist()
    assert sorted((row["run_id"], row["verdict"]) for row in reported) == [
        (f"run-{n}", "CONFORMS") for n in range(6)
    ]


def test_a_unit_is_whole_if_all_its_streams_are_there(runs: Path, tmp_path: Path) -> None:
    unit = tmp_path / "run-0"
    assert look(unit) == ("", False)
    shutil.copytree(runs / "run-0", unit)

    whole, there = look(unit)
    (unit / "member-1.ndjson").unlink()
    fewer, missing = look(unit)
    (unit / "run.json").unlink()

    assert there
    assert not missing
    assert len({whole, fewer, look(unit)[0]}) == 3
    assert not look(unit)[1]
    file = tmp_path / "events-3-00000.parquet"
    file.write_bytes(b"123")
    assert look(file) == ("3", True)

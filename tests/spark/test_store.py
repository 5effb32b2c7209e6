"""A corpus in an object store on Spark: tasks read and write by pyarrow, without any jars."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from canvass.corpus.job import TABLES
from canvass.corpus.storage import UrlPath, files_below, read_table
from support.corpora import record_runs
from support.object_store import KEY, SECRET, contents, object_store, upload
from support.spoilt_runs import corrupt

MOMENTS = {
    "writing": "/tables/quarantine/",
    "in place": "/tables/divergences/",
    "nearly done": "/tables/coverage/",
}


def command(place: UrlPath, cache: Path, engine: str) -> list[str]:
    words = ["batch", "verify", f"{place}/corpus", "--append", f"{place}/tables"]
    words += ["--cache", str(cache), "--engine", engine]
    return [sys.executable, "-m", "canvass.cli.main", *words]


def verdicts(place: UrlPath) -> list[tuple[str, str]]:
    """The rows of the table, by run."""
    rows = read_table(place / "tables" / "verdicts").to_table().to_pylist()
    found = [(row["source"].rpartition("/")[2], row["verdict"]) for row in rows]
    return sorted(found)


@pytest.mark.night
def test_spark_verifies_a_corpus_in_a_store_from_open_steps_to_tables(tmp_path: Path) -> None:
    corpus = record_runs(tmp_path / "corpus", 4, 40)
    with object_store() as store:
        place = store / "spark"
        upload(corpus, place / "corpus")

        done = subprocess.run(
            command(place, tmp_path / "cache", "spark"), capture_output=True, text=True, check=False
        )

        assert done.returncode == 0, done.stderr
        assert "asking TLC" in done.stderr
        expected = dict.fromkeys((f"run-{n}" for n in range(4)), "CONFORMS")
        assert verdicts(place) == sorted(expected.items())
        texts = [done.stdout.encode(), done.stderr.encode(), *contents(place).values()]
        assert not [text for text in texts if KEY.encode() in text or SECRET.encode() in text]


@pytest.mark.night
def test_a_driver_that_is_killed_leaves_each_run_in_the_tables_of_a_store_once(
    tmp_path: Path,
) -> None:
    """Killed at one moment after the other; what comes next ends what was begun."""
    corpus = record_runs(tmp_path / "corpus", 10, 60)
    due = corrupt(corpus)
    killed = 0
    with object_store() as store:
        for moment, part in MOMENTS.items():
            place = store / moment.replace(" ", "-")
            upload(corpus, place / "corpus")
            words = command(place, tmp_path / "cache", "process")
            first = subprocess.Popen(
                words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
            )
            while first.poll() is None and not any(
                part in f"/tables/{file.name}" for file in files_below(place / "tables")
            ):
                time.sleep(0.001)
            killed += first.poll() is None
            if first.poll() is None:
                os.killpg(first.pid, signal.SIGKILL)
            first.wait()

            again = subprocess.run(words, capture_output=True, text=True, check=False)

            assert again.returncode == 1, again.stderr
            expected = dict.fromkeys((f"run-{n}" for n in range(10)), "CONFORMS") | due
            assert verdicts(place) == sorted(expected.items())
            for name in TABLES:
                assert len(files_below(place / "tables" / name)) == 1
    assert killed >= 2

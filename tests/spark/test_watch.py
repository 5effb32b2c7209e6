"""A watch that is killed, and started again, has each run in the tables once."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from canvass.conformance.step_lookup import StepLookup
from canvass.conformance.verify import check_units
from canvass.corpus.storage import Place, UrlPath, files_below, read_table
from support.corpora import record_runs
from support.object_store import object_store, upload
from support.spoilt_runs import corrupt

MOMENTS = {
    "writing": "/tables/verdicts/",
    "in place": "/tables/divergences/",
    "nearly done": "/tables/quarantine/",
}


def put(corpus: Path, target: Place) -> None:
    """Put a corpus in place."""
    if isinstance(target, UrlPath):
        upload(corpus, target)
    else:
        shutil.copytree(corpus, target, dirs_exist_ok=True)


def start(words: list[str]) -> subprocess.Popen[bytes]:
    quiet = subprocess.DEVNULL
    return subprocess.Popen(words, stdout=quiet, stderr=quiet, start_new_session=True)


def kill(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.mark.night
@pytest.mark.parametrize(("engine", "where"), [("process", "URL"), ("spark", "path")])
def test_a_watch_that_is_killed_leaves_each_run_in_the_tables_once(
    tmp_path: Path, engine: str, where: str
) -> None:
    """Killed at one moment after the other; runs arrive before and after."""
    early = record_runs(tmp_path / "early", 10, 60)
    due = corrupt(early)
    late = record_runs(tmp_path / "late", 12, 60)
    for n in range(10):
        shutil.rmtree(late / f"run-{n}")
    expected = {f"run-{n}": due.get(f"run-{n}", "CONFORMS") for n in range(12)}
    cache = tmp_path / "cache"
    check_units([*sorted(early.iterdir()), *sorted(late.iterdir())], StepLookup(cache=cache))
    with ExitStack() as stack:
        base: Place = stack.enter_context(object_store()) if where == "URL" else tmp_path
        for moment, part in MOMENTS.items():
            place = base / moment.replace(" ", "-")
            put(early, place / "corpus")
            words = [sys.executable, "-m", "canvass.cli.main", "batch", "watch"]
            words += [f"{place}/corpus", "--append", f"{place}/tables", "--cache", str(cache)]
            words += ["--engine", engine, "--settle", "0", "--patience", "0", "--every", "0.1"]
            first = start(words)
            while not any(part in f"/tables/{file.name}" for file in files_below(place / "tables")):
                assert first.poll() is None
                time.sleep(0.001)
            kill(first)
            put(late, place / "corpus")

            second = start(words)
            while len(names(place, "inputs")) < len(expected):
                assert second.poll() is None
                time.sleep(0.05)
            kill(second)
            third = subprocess.run([*words, "--once"], capture_output=True, text=True, check=False)

            assert third.returncode == 1, third.stderr
            assert "no new unit" in third.stderr
            assert sorted(names(place, "verdicts")) == sorted(expected.items())


def names(place: Place, table: str) -> list[tuple[str, str]]:
    """The rows of a table that count: the name of the unit, and the verdict on it."""
    folder = place / "tables" / "inputs"
    if not files_below(folder) or not read_table(folder).files:
        return []
    inputs, rows = (read_table(place / "tables" / each).to_table() for each in ("inputs", table))
    counted = set(inputs["verification_id"].to_pylist())
    return [
        (row["source"].rpartition("/")[2], row.get("verdict", ""))
        for row in rows.to_pylist()
        if row["verification_id"] in counted
    ]

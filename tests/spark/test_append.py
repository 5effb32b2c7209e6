"""Tables that grow, while the driver is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from canvass.conformance.verify import check_units
from canvass.corpus.job import TABLES
from canvass.corpus.storage import Place, files_below, read_table
from canvass.steps.answers import StepLookup
from support.corpora import record_runs
from support.object_store import object_store, upload
from support.spoilt_runs import corrupt

MOMENTS = ("quarantine/", "divergences/", "coverage/")
"""Killed as soon as a file of this table is there: at the first, in the middle, and nearly done."""


@pytest.mark.night
@pytest.mark.parametrize(("engine", "store"), [("process", ""), ("spark", ""), ("process", "S3")])
def test_a_driver_that_is_killed_leaves_each_run_in_the_tables_once(
    tmp_path: Path, engine: str, store: str
) -> None:
    """Killed at one moment after the other; what comes next ends what was begun."""
    runs = record_runs(tmp_path / "corpus", 10, 60)
    due = corrupt(runs)
    cache = tmp_path / "cache"
    check_units(sorted(runs.iterdir()), StepLookup(cache=cache))
    corpus: Place = runs
    tables: Place = tmp_path / "tables"
    killed = 0
    with ExitStack() as stack:
        if store:
            bucket = stack.enter_context(object_store())
            corpus, tables = bucket / "corpus", bucket / "tables"
            upload(runs, corpus)
        for moment in MOMENTS:
            place = tables / moment.strip("/")
            words = ["batch", "verify", str(corpus), "--append", str(place), "--cache", str(cache)]
            command = [sys.executable, "-m", "canvass.cli.main", *words, "--engine", engine]
            with (tmp_path / "log").open("wb") as log:
                first = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
                while first.poll() is None and not any(
                    file.name.startswith(moment) for file in files_below(place)
                ):
                    time.sleep(0.001)
                killed += first.poll() is None
                if first.poll() is None:
                    os.killpg(first.pid, signal.SIGKILL)
                first.wait()

            again = subprocess.run(command, capture_output=True, text=True, check=False)

            assert again.returncode == 1, again.stderr
            verdicts = read_table(place / "verdicts").to_table().to_pylist()
            found = {row["source"].rpartition("/")[2]: row["verdict"] for row in verdicts}
            assert len(found) == len(verdicts) == 10
            assert found == dict.fromkeys(found, "CONFORMS") | due
            for name in TABLES:
                table = read_table(place / name).to_table()
                assert len(set(table["verification_id"].to_pylist())) == 1
                if store:
                    assert len(files_below(place / name)) == 1
    assert killed >= 2

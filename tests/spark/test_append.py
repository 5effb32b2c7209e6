"""Tables that grow, while the driver is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from canvass.conformance.verify import check_units
from canvass.corpus.job import TABLES
from canvass.steps.answers import StepLookup
from support.corpora import record_runs
from support.spoilt_runs import corrupt

MOMENTS = {
    "writing": "quarantine/date=*",
    "in place": "divergences/date=*/*/*.parquet",
    "nearly done": "coverage/date=*/*/*.parquet",
}


@pytest.mark.night
@pytest.mark.parametrize("engine", ["process", "spark"])
def test_a_driver_that_is_killed_leaves_each_run_in_the_tables_once(
    tmp_path: Path, engine: str
) -> None:
    """Killed at one moment after the other; what comes next ends what was begun."""
    corpus = record_runs(tmp_path / "corpus", 10, 60)
    due = corrupt(corpus)
    cache = tmp_path / "cache"
    check_units(sorted(corpus.iterdir()), StepLookup(cache=cache))
    killed = 0
    for moment, pattern in MOMENTS.items():
        tables = tmp_path / moment.replace(" ", "-")
        words = ["batch", "verify", str(corpus), "--append", str(tables), "--cache", str(cache)]
        command = [sys.executable, "-m", "canvass.cli.main", *words, "--engine", engine]
        with (tmp_path / "log").open("wb") as log:
            first = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
            while first.poll() is None and not list(tables.glob(pattern)):
                time.sleep(0.001)
            killed += first.poll() is None
            if first.poll() is None:
                os.killpg(first.pid, signal.SIGKILL)
            first.wait()

        again = subprocess.run(command, capture_output=True, text=True, check=False)

        assert again.returncode == 1, again.stderr
        verdicts = ds.dataset(tables / "verdicts", partitioning="hive").to_table().to_pylist()
        found = {Path(row["source"]).name: row["verdict"] for row in verdicts}
        assert len(found) == len(verdicts) == 10
        assert found == dict.fromkeys(found, "CONFORMS") | due
        for name in TABLES:
            table = ds.dataset(tables / name, partitioning="hive").to_table()
            assert len(set(table["verification_id"].to_pylist())) == 1
    assert killed >= 2

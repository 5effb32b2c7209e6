"""Structured Streaming over a folder of runs, with the function of the guide for each batch."""

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
from canvass.steps.answers import StepLookup
from canvass.traces.parquet import write_dataset
from canvass.traces.run import Corpus
from support.corpora import record_runs
from support.spoilt_runs import edit_event, forged_commit

RUNS = 6
PROGRAM = """
import sys
from pathlib import Path

from pyspark.sql.pandas.types import from_arrow_schema

from canvass.corpus.dataframe import verify
from canvass.corpus.spark_session import open_session
from canvass.traces.arrow import arrow_schema

root = Path(sys.argv[1])


def verify_batch(batch, number):
    found = verify(batch, revision="1.50", cache=root / "cache")
    found.write.mode("overwrite").parquet(f"{root}/verdicts/batch={number}")


with open_session("local[2]") as session:
    session.conf.set("spark.sql.shuffle.partitions", "1")
    arriving = session.readStream.schema(from_arrow_schema(arrow_schema(3)))
    arriving = arriving.option("maxFilesPerTrigger", 1).parquet(f"{root}/arrivals")
    stream = arriving.writeStream.foreachBatch(verify_batch)
    stream = stream.option("checkpointLocation", f"{root}/checkpoint").trigger(availableNow=True)
    stream.start().awaitTermination()
"""


@pytest.mark.night
def test_a_stream_whose_driver_is_killed_goes_on_and_has_each_run_once(tmp_path: Path) -> None:
    """Killed in the middle of a batch; more files arrive before it starts again."""
    corpus = record_runs(tmp_path / "corpus", RUNS, 60)
    edit_event(corpus / "run-4" / "member-1.ndjson", -1, forged_commit)
    check_units(sorted(corpus.iterdir()), StepLookup(cache=tmp_path / "cache"))
    write_dataset(Corpus(corpus), tmp_path / "set", events_per_file=60)
    files = sorted((tmp_path / "set").iterdir())
    early, late = files[: len(files) // 2], files[len(files) // 2 :]
    (tmp_path / "arrivals").mkdir()
    for file in early:
        file.rename(tmp_path / "arrivals" / file.name)
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]

    with (tmp_path / "log").open("wb") as log:
        first = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        while not list(tmp_path.glob("verdicts/batch=1")):
            assert first.poll() is None, (tmp_path / "log").read_text()
            time.sleep(0.01)
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
    for file in late:
        file.rename(tmp_path / "arrivals" / file.name)
    again = subprocess.run(command, capture_output=True, text=True, check=False)

    assert again.returncode == 0, again.stderr
    rows = ds.dataset(tmp_path / "verdicts", partitioning="hive").to_table().to_pylist()
    found = {row["run_id"]: row["verdict"] for row in rows}
    assert len(rows) == len(found) == RUNS
    assert found == {f"run-{n}": "CONFORMS" for n in range(RUNS)} | {"run-4": "DIVERGES"}
    assert len({row["batch"] for row in rows}) == len(files)

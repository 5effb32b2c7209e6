"""A corpus in an object store on Spark: tasks read and write by pyarrow, without any jars."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from canvass.corpus.storage import read_table
from support.corpora import record_runs
from support.object_store import KEY, SECRET, contents, object_store, upload


@pytest.mark.night
def test_spark_verifies_a_corpus_in_a_store_from_open_steps_to_tables(tmp_path: Path) -> None:
    corpus = record_runs(tmp_path / "corpus", 4, 40)
    with object_store() as store:
        place = store / "spark"
        upload(corpus, place / "corpus")

        words = ["batch", "verify", f"{place}/corpus", "--append", f"{place}/tables"]
        words += ["--cache", str(tmp_path / "cache"), "--engine", "spark"]
        command = [sys.executable, "-m", "canvass.cli.main", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)

        assert done.returncode == 0, done.stderr
        assert "asking TLC" in done.stderr
        rows = read_table(place / "tables" / "verdicts").to_table().to_pylist()
        found = [(row["source"].rpartition("/")[2], row["verdict"]) for row in rows]
        assert sorted(found) == [(f"run-{n}", "CONFORMS") for n in range(4)]
        texts = [done.stdout.encode(), done.stderr.encode(), *contents(place).values()]
        assert not [text for text in texts if KEY.encode() in text or SECRET.encode() in text]

"""A packed environment and the line for spark-submit, on workers that have no canvass."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tarfile
from collections import Counter
from pathlib import Path

import pytest

from canvass.cli.main import run
from canvass.corpus.submit import CannotPack, closure, pack_environment
from support.corpora import record_runs
from support.spoilt_runs import corrupt
from support.standalone_spark import environment, results_here, results_of, standalone_cluster

NO_PYTHON = "/nowhere/python"


def test_what_executors_need_is_packed_and_what_they_have_is_not() -> None:
    names = {each.name.lower() for each in closure("aeron-canvass", "spark")}

    assert {"aeron-canvass", "numba", "numpy", "pandas", "pyarrow"} <= names
    assert not names & {"pyspark", "py4j", "pytest", "mypy", "starlette"}


@pytest.mark.parametrize(
    ("name", "reason"), [("env.zip", "ends in .tar.gz"), ("a.tar.gz", "there")]
)
def test_a_file_that_is_no_new_archive_is_refused(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "a.tar.gz").touch()

    with pytest.raises(CannotPack, match=reason):
        pack_environment(tmp_path / name)


@pytest.mark.night
def test_a_submitted_job_brings_canvass_to_workers_that_have_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The lines that the commands print are run as they are."""
    corpus = record_runs(tmp_path / "corpus", 12, 120)
    corrupt(corpus)
    cache, out, archive = (tmp_path / name for name in ("cache", "out", "environment.tar.gz"))
    expected = results_here(corpus, cache)
    assert run(["batch", "pack", "--out", str(archive)]) == 0
    with tarfile.open(archive) as packed:
        assert "bin/python" in packed.getnames()
    with standalone_cluster(tmp_path, python=NO_PYTHON) as cluster:
        capsys.readouterr()
        words = ["--master", cluster.url, "--archive", str(archive), "--executor-memory", "512m"]
        job = [str(corpus), "--out", str(out), "--cache", str(cache), "--partitions", "6"]
        assert run(["batch", "submit-command", *words, "--", *job]) == 0
        line = shlex.split(capsys.readouterr().out)
        line[0] = str(Path(sys.executable).with_name(line[0]))
        submitted = environment(python=NO_PYTHON)
        done = subprocess.run(line, env=submitted, capture_output=True, text=True, check=False)

    assert done.returncode == 1, done.stderr  # As runs diverge.
    assert results_of(out) == expected
    tasks = list(map(json.loads, (out / "tasks.ndjson").read_text().splitlines()))
    places = Counter(Path(task["python"]).parent.parent.name for task in tasks)
    assert places == {"environment": len(tasks)}

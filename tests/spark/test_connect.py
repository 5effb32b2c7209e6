"""Verdicts by way of Spark Connect are those of one process.

The client needs the extra ``connect``; the server comes with pyspark.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.corpora import record_runs
from support.spoilt_runs import corrupt
from support.standalone_spark import (
    batch_verify,
    connect_server,
    environment,
    results_here,
    results_of,
)

pytestmark = pytest.mark.night

RUNS = 12

_FRAME = """
import json
import sys
from pathlib import Path

from canvass.corpus.dataframe import verify
from canvass.corpus.spark_session import open_session
from canvass.corpus.data_source import register

master, corpus, cache = sys.argv[1:]
with open_session(master) as session:
    assert type(session).__module__.startswith("pyspark.sql.connect"), type(session)
    register(session)
    events = session.read.format("canvass").load(corpus)
    found = verify(events, revision="1.50", cache=Path(cache))
    print(json.dumps([[row.run_id, row.verdict, row.events] for row in found.collect()]))
    print(found.where("verdict = 'DIVERGES'").count())
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server of Spark Connect."""
    with connect_server(tmp_path_factory.mktemp("server")) as address:
        yield address


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Good, wrong, incomplete and malformed runs."""
    corpus = record_runs(tmp_path_factory.mktemp("connect") / "corpus", RUNS, 120)
    corrupt(corpus)
    return corpus


def test_batch_verify_gives_the_verdicts_of_one_process(
    server: str, corpus: Path, tmp_path: Path
) -> None:
    expected = results_here(corpus, tmp_path / "cache")

    with batch_verify(corpus, tmp_path / "out", tmp_path / "cache", server, RUNS) as job:
        code = job.wait()

    assert len({verdict for _, verdict, *_ in expected[0]}) == 4
    assert code == 1  # As runs diverge.
    assert results_of(tmp_path / "out") == expected


def test_batch_verify_asks_the_oracle_on_the_servers_workers(
    server: str, corpus: Path, tmp_path: Path
) -> None:
    expected = results_here(corpus, tmp_path / "cache")

    with batch_verify(corpus, tmp_path / "out", tmp_path / "empty", server, 3) as job:
        job.wait()

    assert results_of(tmp_path / "out") == expected


def test_events_in_a_data_frame_have_the_verdicts_of_one_process(
    server: str, corpus: Path, tmp_path: Path
) -> None:
    cache, readable = tmp_path / "cache", tmp_path / "readable"
    for source, verdict, *_ in results_here(corpus, cache)[0]:
        if verdict != "MALFORMED":
            shutil.copytree(str(source), readable / Path(str(source)).name)
    expected = sorted(
        [Path(str(source)).name, verdict, events]
        for source, verdict, events, _ in results_here(readable, cache)[0]
    )

    command = [sys.executable, "-c", _FRAME, server, str(readable), str(cache)]
    said = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)

    rows, diverging = said.stdout.splitlines()
    assert sorted(json.loads(rows)) == expected
    assert int(diverging) == 3

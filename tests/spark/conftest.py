"""One Spark session for all tests of the folder, and the runs that they check."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from canvass.corpus.data_source import register
from canvass.corpus.spark_session import open_session
from support.corpora import record_runs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local session; its workers can import what the tests import, and its tables are apart."""
    warehouse = tmp_path_factory.mktemp("warehouse")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(TESTS), prepend=os.pathsep)
        arguments = f"--conf spark.sql.warehouse.dir={warehouse} pyspark-shell"
        patch.setenv("PYSPARK_SUBMIT_ARGS", arguments)
        with open_session("local[2]") as session:
            register(session)
            yield session


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Good runs of three members, in NDJSON."""
    return record_runs(tmp_path_factory.mktemp("corpora") / "runs", 6, 150)


@pytest.fixture(scope="session")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of the oracle's answers, so that TLC is started once for all tests that use it."""
    return tmp_path_factory.mktemp("answers")

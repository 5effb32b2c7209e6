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
def spark() -> Iterator[SparkSession]:
    """A local session; its workers can import what the tests import."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(TESTS), before)))
    try:
        with open_session("local[2]") as session:
            register(session)
            yield session
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Good runs of three members, in NDJSON."""
    return record_runs(tmp_path_factory.mktemp("corpora") / "runs", 6, 150)

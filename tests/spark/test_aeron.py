"""The logs of real clusters, imported and verified in one job."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from canvass.conformance.findings import Verdict
from canvass.conformance.verify import check_units
from canvass.corpus.job import CorpusJob, ProcessEngine
from canvass.corpus.plan import list_units
from canvass.corpus.spark_engine import SparkEngine
from canvass.steps.answers import StepLookup
from canvass.traces.alignment.alignment import ImportFault
from canvass.traces.alignment.importer import import_logs
from support.aeron_runs import captures, more_captures

DISABLED = (b" CANVASS_POSITION ", b" APPEND_POSITION ", b" COMMIT_POSITION ")
"""Marks of the lines that production does not log."""


class Expected(NamedTuple):
    """Folders of logs, and what ``canvass import aeron`` and ``canvass verify`` say of them."""

    corpus: Path
    cache: Path
    found: dict[str, tuple[str, int, int]]


def copy_logs(capture: Path, folder: Path, left_out: tuple[bytes, ...]) -> None:
    """Copy the logs of a capture without some lines."""
    folder.mkdir(parents=True)
    shutil.copy(capture / "config.json", folder)
    for log in capture.glob("member-*.log*"):
        data = gzip.decompress(log.read_bytes()) if log.suffix == ".gz" else log.read_bytes()
        lines = data.splitlines(keepends=True)
        kept = [line for line in lines if not any(mark in line for mark in left_out)]
        (folder / log.name.removesuffix(".gz")).write_bytes(b"".join(kept))


def one_by_one(logs: Path, run: Path, lookup: StepLookup) -> tuple[str, int, int]:
    """Import and verify; a contradiction that ends the import is a divergence."""
    try:
        summary = import_logs([logs], run)
    except ImportFault:
        return "MALFORMED", 0, 0
    (found,) = check_units([run], lookup).runs
    verdict = found.verdict
    if summary.contradiction and verdict in (Verdict.CONFORMS, Verdict.INCOMPLETE):
        verdict = Verdict.DIVERGES
    return verdict.value, found.events, found.unchecked


@pytest.fixture(scope="module", params=["all events", "production's events"])
def expected(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Expected:
    """Every capture that there is, imported and verified one by one."""
    folder = tmp_path_factory.mktemp("captures")
    lookup = StepLookup(cache=folder / "cache")
    found = {}
    for capture in {each.name: each for each in (*captures(), *more_captures())}.values():
        logs = folder / "corpus" / capture.name
        copy_logs(capture, logs, () if request.param == "all events" else DISABLED)
        found[capture.name] = one_by_one(logs, folder / "runs" / capture.name, lookup)
    return Expected(folder / "corpus", folder / "cache", found)


@pytest.mark.night
@pytest.mark.parametrize(("engine", "partitions"), [("spark", 7), ("spark", None), ("process", 2)])
def test_captured_clusters_have_the_verdicts_that_they_have_one_by_one(
    request: pytest.FixtureRequest,
    expected: Expected,
    tmp_path: Path,
    engine: str,
    partitions: int | None,
) -> None:
    runs_on: SparkEngine | ProcessEngine = ProcessEngine()
    if engine == "spark":
        runs_on = SparkEngine(request.getfixturevalue("spark"))
    job = CorpusJob(runs_on, tmp_path / "cache", partitions=partitions)

    job.run(list_units([expected.corpus]))

    rows = job.table("verdicts", ["source", "verdict", "events", "unchecked"]).to_pylist()
    assert len(rows) == len(expected.found)
    assert {Path(source).name: found for source, *found in map(dict.values, rows)} == {
        name: list(found) for name, found in expected.found.items()
    }

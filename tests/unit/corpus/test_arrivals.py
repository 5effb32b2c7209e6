"""Units of a corpus, on this machine and in a store: each is in the tables once, and again if more
of it comes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from canvass.cli.main import run
from canvass.conformance.verify import check_units
from canvass.corpus.data_source import partition_values
from canvass.corpus.plan import list_units
from canvass.corpus.storage import Place, UrlPath, read_table
from canvass.steps.answers import StepLookup
from support.corpora import record_runs
from support.object_store import KEY, SECRET, contents, object_store

_numbers = count()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Good runs; beside them what TLC says of their steps."""
    folder = record_runs(tmp_path_factory.mktemp("arrivals") / "runs", 4, 40)
    check_units(sorted(folder.iterdir()), StepLookup(cache=folder.parent / "cache"))
    return folder


@pytest.fixture(scope="module")
def store() -> Iterator[UrlPath]:
    with object_store() as bucket:
        yield bucket


@pytest.fixture(params=["path", "URL"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """A folder of its own, on this machine and in a store."""
    if request.param == "path":
        return tmp_path
    folder: UrlPath = request.getfixturevalue("store") / f"arrivals-{next(_numbers)}"
    return folder


def arrive(run_folder: Path, corpus: Place, *, without: str = "") -> None:
    """Let the files of a run come."""
    target = corpus / run_folder.name
    target.mkdir(parents=True, exist_ok=True)
    for file in sorted(run_folder.iterdir()):
        if file.name != without:
            (target / file.name).write_bytes(file.read_bytes())


def look(place: Place, runs: Path, *options: str) -> int:
    """Look once at what has arrived."""
    words = ["batch", "verify", f"{place}/corpus", "--append", f"{place}/tables"]
    return run([*words, "--cache", str(runs.parent / "cache"), *options])


def verdicts(place: Place) -> list[tuple[str, str]]:
    """The rows of the table, in the order of the verifications."""
    rows: list[dict[str, Any]] = read_table(place / "tables" / "verdicts").to_table().to_pylist()
    ordered = sorted(rows, key=lambda row: row["verified_at"])
    return [(row["run_id"], row["verdict"]) for row in ordered]


def test_each_run_is_verified_once_as_it_arrives(
    place: Place, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arrive(runs / "run-0", place / "corpus")
    first = look(place, runs)
    arrive(runs / "run-1", place / "corpus")
    second = look(place, runs, "--format", "json")
    third = look(place, runs)

    said = capsys.readouterr()
    assert (first, second, third) == (0, 0, 0)
    assert verdicts(place) == [("run-0", "CONFORMS"), ("run-1", "CONFORMS")]
    assert "nothing was verified" in said.out
    if isinstance(place, UrlPath):
        texts = [said.out.encode(), said.err.encode(), *contents(place / "tables").values()]
        assert not [text for text in texts if KEY.encode() in text or SECRET.encode() in text]


def test_a_run_is_verified_again_if_more_of_it_comes(place: Place, runs: Path) -> None:
    arrive(runs / "run-2", place / "corpus", without="member-2.ndjson")
    assert look(place, runs) == 3
    arrive(runs / "run-2", place / "corpus")
    assert look(place, runs) == 0

    assert verdicts(place) == [("run-2", "INCOMPLETE"), ("run-2", "CONFORMS")]


def test_partitions_are_read_from_the_names_of_folders(place: Place) -> None:
    for name in ("date=2026-11-20/a", "date=2026-11-20/b", "date=2026-11-21/region=e%20u f/c", "d"):
        (place / name).mkdir(parents=True)
        (place / name / "run.json").write_bytes(b"{}")
    (place / "date=2026-11-22").mkdir(parents=True)

    found = {Path(unit.path).name: partition_values(place, unit) for unit in list_units([place])}

    assert found == {
        "a": {"date": "2026-11-20"},
        "b": {"date": "2026-11-20"},
        "c": {"date": "2026-11-21", "region": "e u f"},
        "d": {},
    }

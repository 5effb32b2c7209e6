"""Units that arrive in a corpus: when they are due, and that each is in the tables once."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from canvass.cli.main import run
from canvass.conformance.step_lookup import StepLookup
from canvass.conformance.verify import check_units
from canvass.corpus.history import Patience, is_settled
from canvass.corpus.plan import list_units
from canvass.corpus.storage import Place, UrlPath, read_table
from support.corpora import record_runs
from support.object_store import KEY, SECRET, contents, object_store

_numbers = count()
_SECOND = 1_000_000_000


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Good runs; beside them what TLC says of their steps."""
    folder = record_runs(tmp_path_factory.mktemp("watch") / "runs", 4, 40)
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
    folder: UrlPath = request.getfixturevalue("store") / f"watch-{next(_numbers)}"
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
    words = ["batch", "watch", f"{place}/corpus", "--append", f"{place}/tables", "--once"]
    return run([*words, "--settle", "0", "--cache", str(runs.parent / "cache"), *options])


def table(place: Place, name: str) -> list[dict[str, Any]]:
    """The rows of a table, in the order of the verifications."""
    rows: list[dict[str, Any]] = read_table(place / "tables" / name).to_table().to_pylist()
    return sorted(rows, key=lambda row: row["verified_at"])


def verdicts(place: Place) -> list[tuple[str, str]]:
    return [(row["run_id"], row["verdict"]) for row in table(place, "verdicts")]


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
    (batch,) = [json.loads(line) for line in said.out.splitlines() if line.startswith("{")]
    assert batch["verdicts"]["CONFORMS"] == 1
    assert batch["verificationId"] == table(place, "inputs")[-1]["verification_id"]
    assert "no new unit" in said.err
    if isinstance(place, UrlPath):
        texts = [said.out.encode(), said.err.encode(), *contents(place / "tables").values()]
        assert not [text for text in texts if KEY.encode() in text or SECRET.encode() in text]


def test_a_run_is_waited_for_and_verified_again_if_more_of_it_comes(
    place: Place, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arrive(runs / "run-2", place / "corpus", without="member-2.ndjson")
    assert look(place, runs) == 2
    assert "1 unit still changes and was not verified" in capsys.readouterr().err

    assert look(place, runs, "--patience", "0") == 3
    arrive(runs / "run-2", place / "corpus")
    assert look(place, runs) == 0

    assert verdicts(place) == [("run-2", "INCOMPLETE"), ("run-2", "CONFORMS")]
    assert [row["cause"] for row in table(place, "inputs")] == ["new", "changed"]


def test_a_unit_is_ripe_when_it_is_quiet_and_whole(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "run-0", tmp_path / "run-0")
    patience = Patience(settle_s=5, patience_s=60)

    def settled(seconds: float) -> bool:
        (unit,) = list_units([tmp_path])
        return is_settled(unit, patience, unit.changed_ns + int(seconds * _SECOND))

    assert (settled(4), settled(5)) == (False, True)
    (tmp_path / "run-0" / "member-1.ndjson").unlink()
    assert (settled(59), settled(60)) == (False, True)
    (tmp_path / "run-0" / "run.json").unlink()
    assert (settled(59), settled(60)) == (False, True)


def test_a_copy_that_keeps_its_time_has_changed_when_it_was_copied(
    runs: Path, tmp_path: Path
) -> None:
    shutil.copytree(runs / "run-0", tmp_path / "run-0")
    long_ago = time.time() - 1_000_000
    for file in (tmp_path / "run-0").iterdir():
        os.utime(file, (long_ago, long_ago))

    (unit,) = list_units([tmp_path])

    assert unit.changed_ns / _SECOND > long_ago + 900_000


@pytest.mark.parametrize(
    ("corpus", "tables", "message"),
    [
        ("nothing", "tables", "nothing: there is no such directory"),
        ("corpus", "corpus/tables", "corpus/tables is in "),
        ("corpus", "s3://key:secret@lake/tables", "come from the environment"),
    ],
)
def test_what_cannot_be_watched_is_one_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    corpus: str,
    tables: str,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus").mkdir()

    assert run(["batch", "watch", corpus, "--append", tables]) == 2

    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert "secret" not in said

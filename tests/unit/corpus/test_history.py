"""Tables that grow with every verification, whenever the driver dies."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections import Counter
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from canvass import conformance
from canvass.corpus import job as corpus_job
from canvass.corpus import storage
from canvass.corpus.job import (
    DECIDING,
    TABLES,
    CorpusJob,
    History,
    ProcessEngine,
    Stamp,
    checker_version,
    make_stamp,
)
from canvass.corpus.plan import Unit, list_units
from canvass.corpus.report import empty_summary
from canvass.corpus.storage import StorageError, place_of
from canvass.version import VERSION
from support.corpora import record_runs
from support.spoilt_runs import edit_event, forged_commit

NOW = datetime(2026, 11, 22, 23, 30, tzinfo=UTC)
LATER = datetime(2026, 11, 23, 1, 0, tzinfo=UTC)


class Killed(Exception):
    """The driver dies here."""


class Mortal:
    """Kills the driver just before or after a certain change of a file."""

    def __init__(self, changes: int) -> None:
        self.left = changes

    def live_on(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Killed

    def around(self, change: Any) -> Any:
        def dies_or_changes(*given: Any, **named: Any) -> None:
            self.live_on()
            change(*given, **named)
            self.live_on()

        return dies_or_changes


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs that conform, one that diverges, one that is malformed; none has just changed."""
    folder = record_runs(tmp_path_factory.mktemp("history") / "corpus", 5, 40)
    edit_event(folder / "run-1" / "member-1.ndjson", -1, forged_commit)
    (folder / "run-2" / "run.json").unlink()
    for file in folder.glob("*/*"):
        age(file, 100)
    return folder


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for what TLC says of their steps."""
    return tmp_path_factory.mktemp("cache")


def age(file: Path, seconds: int) -> None:
    then = time.time() - seconds
    os.utime(file, (then, then))


def rows(tables: Path, name: str) -> list[dict[str, Any]]:
    if not (tables / name).is_dir():
        return []
    table = ds.dataset(tables / name, partitioning="hive").to_table()
    found: list[dict[str, Any]] = table.to_pylist()
    return found


def verify_once(kept: History, corpus: Path, cache: Path, now: datetime) -> list[Unit]:
    """Do what the command does."""
    due, _ = kept.split(list_units([corpus]), "spec-1", "0.1")
    if due:
        job = CorpusJob(ProcessEngine(), cache)
        job.run(due)
        kept.append(job, make_stamp(due, "0.1", "spec-1", now))
    return due


def test_each_table_has_the_rows_of_the_report_and_of_whom_they_are(
    corpus: Path, cache: Path, tmp_path: Path
) -> None:
    verify_once(History(tmp_path), corpus, cache, NOW)

    verdicts = rows(tmp_path, "verdicts")
    assert Counter(row["verdict"] for row in verdicts) == {
        "CONFORMS": 3,
        "DIVERGES": 1,
        "MALFORMED": 1,
    }
    stamps = {
        (row["verification_id"], row["verified_at"], row["canvass_version"], row["spec_digest"])
        for name in TABLES
        for row in rows(tmp_path, name)
    }
    ((identity, when, version, spec),) = stamps
    assert (len(identity), when, version, spec) == (33, NOW, "0.1", "spec-1")
    assert {row["date"] for row in verdicts} == {"2026-11-22"}
    (wrong,) = rows(tmp_path, "quarantine")
    assert Path(wrong["source"]).name == "run-2"
    assert "run.json" in wrong["reason"]
    assert rows(tmp_path, "divergences")
    assert rows(tmp_path, "coverage")
    assert len({row["digest"] for row in verdicts}) == 5


def test_what_is_known_is_not_verified_again(corpus: Path, cache: Path, tmp_path: Path) -> None:
    kept = History(tmp_path)
    assert len(verify_once(kept, corpus, cache, NOW)) == 5

    assert verify_once(kept, corpus, cache, LATER) == []

    _, earlier = kept.split(list_units([corpus]), "spec-1", "0.1")
    counts = empty_summary([], earlier).earlier
    assert counts == {"CONFORMS": 3, "INCOMPLETE": 0, "DIVERGES": 1, "MALFORMED": 1}


def test_what_is_new_changed_or_of_another_spec_is_due(
    corpus: Path, cache: Path, tmp_path: Path
) -> None:
    kept = History(tmp_path / "tables")
    ignored = shutil.ignore_patterns("run-2", "run-4")
    copy = Path(shutil.copytree(corpus, tmp_path / "corpus", ignore=ignored))
    verify_once(kept, copy, cache, NOW)
    edit_event(copy / "run-3" / "member-1.ndjson", -1, forged_commit)
    (copy / "run-0").rename(copy / "run-9")

    def due(spec: str, version: str = "0.1") -> set[str]:
        return {Path(each.path).name for each in kept.split(list_units([copy]), spec, version)[0]}

    assert due("spec-1") == {"run-3", "run-9"}
    assert due("spec-2") == due("spec-1", "0.2") == {"run-1", "run-3", "run-9"}


def test_other_code_that_decides_verdicts_has_another_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = checker_version()
    copy = tmp_path / "conformance"
    shutil.copytree(Path(conformance.__file__).parent, copy)
    monkeypatch.setattr(conformance, "__file__", str(copy / "__init__.py"))
    assert checker_version() == before
    (copy / "findings.py").write_bytes((copy / "findings.py").read_bytes() + b"# changed\n")

    assert checker_version() != before
    assert checker_version().startswith(f"{VERSION}+")


def test_a_file_that_changes_within_its_time_stamp_is_noticed(
    corpus: Path, cache: Path, tmp_path: Path
) -> None:
    """Same size, same time; only the contents tell."""
    kept = History(tmp_path / "tables")
    run = Path(shutil.copytree(corpus / "run-0", tmp_path / "corpus" / "run-0"))
    verify_once(kept, run.parent, cache, NOW)
    stream = run / "member-0.ndjson"
    before = stream.stat()

    stream.write_bytes(stream.read_bytes()[::-1])
    os.utime(stream, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert kept.split(list_units([run.parent]), "spec-1", "0.1")[0]


def test_a_driver_that_dies_at_any_change_leaves_each_verification_once(
    corpus: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before it writes its n-th file, or before the file has its name, for every n."""
    for changes in range(2 * len(TABLES) + 2):
        tables = tmp_path / str(changes)
        mortal = Mortal(changes)
        with monkeypatch.context() as patch:
            patch.setattr(corpus_job, "clear", mortal.around(storage.clear))
            patch.setattr(pq, "write_table", mortal.around(pq.write_table))
            with pytest.raises(Killed):
                verify_once(History(tables), corpus, cache, NOW)
        assert History(tables).divergences() == set()

        verify_once(History(tables), corpus, cache, LATER)

        verdicts = rows(tables, "verdicts")
        assert len({row["verification_id"] for row in verdicts}) == 1
        assert len({row["source"] for row in verdicts}) == len(verdicts) == 5
        assert History(tables).divergences() != set()


def test_a_verification_that_is_repeated_on_its_day_replaces_its_rows(
    corpus: Path, cache: Path, tmp_path: Path
) -> None:
    kept = History(tmp_path)
    verify_once(kept, corpus, cache, NOW)
    before = rows(tmp_path, "verdicts")
    due = list_units([corpus])
    job = CorpusJob(ProcessEngine(), cache)
    job.run(due)

    kept.append(job, make_stamp(due, "0.1", "spec-1", NOW))

    assert rows(tmp_path, "verdicts") == before


def test_a_stamp_is_that_of_the_inputs_and_of_the_day(corpus: Path) -> None:
    due = list_units([corpus])

    def identity(inputs: list[Unit], version: str, spec: str, now: datetime) -> str:
        stamp: Stamp = make_stamp(inputs, version, spec, now)
        return stamp.verification_id

    given = identity(due, "0.1", "spec-1", NOW)
    assert identity(due[::-1], "0.1", "spec-1", NOW.replace(hour=1)) == given
    others = {
        identity(due[1:], "0.1", "spec-1", NOW),
        identity(due, "0.2", "spec-1", NOW),
        identity(due, "0.1", "spec-2", NOW),
        identity(due, "0.1", "spec-1", LATER),
    }
    assert len(others | {given}) == 5


@pytest.mark.parametrize(
    "url", ["s3://key:secret@bucket/tables", "s3://bucket/x?access_key=key&secret_key=secret"]
)
def test_a_url_with_credentials_is_refused_without_showing_them(url: str) -> None:
    with pytest.raises(StorageError, match="come from the environment") as caught:
        place_of(url)

    assert "secret" not in str(caught.value)


def test_a_url_of_no_known_file_system_is_an_error_of_one_line() -> None:
    with pytest.raises(StorageError, match="ftp://host/: ") as caught:
        place_of("ftp://host/tables")

    assert "\n" not in str(caught.value)


def test_an_empty_path_is_not_the_current_folder() -> None:
    with pytest.raises(StorageError, match="the path is empty"):
        place_of("")


def test_a_table_that_cannot_be_read_is_one_line_that_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "verdicts").mkdir()
    (tmp_path / "verdicts" / "odd.parquet").write_bytes(b"no Parquet")

    with pytest.raises(StorageError, match=r"verdicts: .*odd.parquet.*Parquet") as caught:
        History(tmp_path).split([], "spec-1", "0.1")
    assert "\n" not in str(caught.value)


def test_the_version_covers_each_package_that_decides_verdicts() -> None:
    """Lanes only draw runs; the version is part of it anyway."""
    imported = {
        name
        for package in DECIDING
        for file in Path(str(import_module(f"canvass.{package}").__file__)).parent.rglob("*.py")
        for name in re.findall(
            r"^\s*(?:from|import) canvass\.(\w+)", file.read_text(), re.MULTILINE
        )
    }

    assert imported - {"lanes", "version"} == set(DECIDING)

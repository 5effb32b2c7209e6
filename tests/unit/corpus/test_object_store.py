"""Corpus, report, tables and cache in an object store: the same verdicts, and no secret shown."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from canvass.cli.main import run
from canvass.conformance.verify import check_units
from canvass.corpus.job import REPORT_TABLES, CorpusJob, ProcessEngine
from canvass.corpus.plan import list_units
from canvass.corpus.storage import (
    Place,
    StorageError,
    UrlPath,
    on_this_machine,
    place_of,
    read_table,
)
from canvass.steps.answers import KeyTable, StepLookup
from canvass.traces.errors import TraceError
from canvass.traces.parquet import write_dataset
from canvass.traces.run import Corpus
from support.corpora import record_runs
from support.object_store import KEY, SECRET, contents, object_store, upload
from support.spoilt_runs import edit, edit_event, forged_commit

_numbers = count()


@pytest.fixture(scope="module")
def store() -> Iterator[UrlPath]:
    with object_store() as bucket:
        yield bucket


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four runs: one diverges, one is malformed; beside them what TLC says of their steps."""
    folder = record_runs(tmp_path_factory.mktemp("store") / "corpus", 4, 60)
    edit_event(folder / "run-1" / "member-1.ndjson", -1, forged_commit)
    check_units(sorted(folder.iterdir()), StepLookup(cache=folder.parent / "cache"))
    edit(folder / "run-2" / "member-0.ndjson", lambda lines: [*lines[:5], "{no json\n", *lines[5:]])
    return folder


@pytest.fixture
def place(store: UrlPath) -> UrlPath:
    """A folder of its own."""
    return store / f"test-{next(_numbers)}"


def results(corpus: Place, out: Place, cache: Place) -> dict[str, list[Any]]:
    """Verify a corpus; give the rows of each table, with sources relative to the corpus."""
    job = CorpusJob(ProcessEngine(), cache)
    job.run(list_units([corpus]))
    job.write({name: out / name for name in REPORT_TABLES})
    found = {}
    for name in REPORT_TABLES:
        made = [row | {"digest": ""} for row in rows(out / name)]  # Times of files differ.
        text = json.dumps(made, sort_keys=True).replace(str(corpus), "CORPUS")
        found[name] = sorted(json.loads(text), key=str)
    return found


@pytest.mark.parametrize("form", ["folders", "files"])
def test_a_corpus_in_a_store_has_the_results_of_one_on_this_machine(
    corpus: Path, place: UrlPath, tmp_path: Path, form: str
) -> None:
    cache = corpus.parent / "cache"
    if form == "files":
        sound = shutil.copytree(corpus, tmp_path / "sound", ignore=lambda *_: {"run-2"})
        corpus = tmp_path / "set"
        write_dataset(Corpus(sound), corpus, events_per_file=200, events_per_row_group=60)
    upload(corpus, place / "corpus")

    here = results(corpus, tmp_path / "out", cache)
    there = results(place / "corpus", place / "out", cache)

    assert there == here
    assert {row["verdict"] for row in here["verdicts"]} >= {"CONFORMS", "DIVERGES"}


def test_the_command_keeps_everything_in_a_store_and_shows_no_secret(
    corpus: Path, place: UrlPath, capsys: pytest.CaptureFixture[str]
) -> None:
    upload(corpus, place / "corpus" / "date=2026-11-20")
    upload(corpus.parent / "cache", place / "cache")
    words = ["batch", "verify", f"{place}/corpus", "--append", f"{place}/tables"]
    words += ["--cache", f"{place}/cache"]

    first = run([*words, "--out", f"{place}/report"])
    again = run(words)

    said = capsys.readouterr()
    assert first == again == 1
    assert "2 CONFORMS, 1 DIVERGES, 1 MALFORMED" in said.out
    folder = f"{place}/corpus/date=2026-11-20"
    assert f"such as {folder}/run-1 member 1 step " in said.out
    assert f"\n  MALFORMED {folder}/run-2/member-0.ndjson:" in said.out
    assert "nothing was verified" in said.out
    written = contents(place / "report") | contents(place / "tables") | contents(place / "cache")
    assert {name.split("/")[0] for name in contents(place / "report")} == {
        *("coverage", "divergences", "report.html"),
        *("summary.json", "verdicts"),
    }
    texts = [said.out.encode(), said.err.encode(), *written.values()]
    assert not [text for text in texts if KEY.encode() in text or SECRET.encode() in text]
    (reason,) = [row["reason"] for row in rows(place / "tables" / "quarantine")]
    assert reason.startswith(f"{place}/corpus/date=2026-11-20/run-2/member-0.ndjson:")


def rows(table: Place) -> list[Any]:
    found: list[Any] = read_table(table).to_table().to_pylist()
    return found


def test_a_graph_in_a_store_is_copied_for_the_keys_in_it(place: UrlPath, tmp_path: Path) -> None:
    keys = np.array([[1, 2], [3, 4]], dtype=np.uint64)
    KeyTable.build(keys, np.array([7, 8])).save(tmp_path)
    upload(tmp_path, place / "graph")

    with on_this_machine(place / "graph") as copy:
        assert KeyTable.open(copy).lookup(keys).tolist() == [7, 8]
    assert not copy.exists()


@pytest.mark.parametrize("name", ["file", "file.gz", "file.zst"])
def test_a_file_in_a_store_has_the_bytes_that_were_written(place: UrlPath, name: str) -> None:
    (place / name).write_bytes(b"some bytes")

    assert contents(place) == {name: b"some bytes"}


def test_what_is_not_there_is_one_line_with_its_url(store: UrlPath) -> None:
    with pytest.raises(TraceError, match=r"s3a://lake/nothing.* no such file"):
        list_units([store / "nothing"])
    with pytest.raises(StorageError, match=r"^s3a://lake/nothing/x: ") as caught:
        read_table(store / "nothing" / "x")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["abfss://container@account.dfs.core.windows.net/runs/", "gs://bucket/runs"]
)
def test_a_url_of_another_store_is_a_place(url: str) -> None:
    place = place_of(url)

    assert isinstance(place, UrlPath)
    assert str(place / "run-0") == f"{url.rstrip('/')}/run-0"

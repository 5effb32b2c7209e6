"""``canvass batch`` up to where Spark would start."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from canvass.cli.main import run
from support.corpora import record_runs
from support.spoilt_runs import edit_event, forged_commit


def test_results_beside_the_corpus_are_none_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record_runs(tmp_path / "lake", 1, 20)
    monkeypatch.chdir(tmp_path)

    assert run(["batch", "verify", "lake", "--out", "lake/../lake-report"]) == 0


def test_tables_grow_by_what_is_new_and_a_repeated_command_ends_alike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = record_runs(tmp_path / "corpus", 3, 40)
    edit_event(corpus / "run-2" / "member-1.ndjson", -1, forged_commit)
    (corpus / "run-2").rename(tmp_path / "run-2")
    words = ["batch", "verify", str(corpus), "--append", str(tmp_path / "tables")]
    words += ["--cache", str(tmp_path / "cache")]

    assert run(words) == 0
    assert "2 runs, 80 events: 2 CONFORMS" in capsys.readouterr().out
    (tmp_path / "run-2").rename(corpus / "run-2")
    assert run([*words, "--out", str(tmp_path / "report")]) == 1
    captured = capsys.readouterr()
    assert "1 run, 40 events: 1 DIVERGES" in captured.out
    assert "verified before and unchanged: 2 CONFORMS" in captured.out
    assert "1 unit to be verified" in captured.err
    assert run(words) == 1
    captured = capsys.readouterr()
    assert "nothing was verified" in captured.out
    assert f"unchanged: 2 CONFORMS, 1 DIVERGES\n  {corpus}/run-2: 1 DIVERGES\n" in captured.out
    assert run([*words, "--out", str(tmp_path / "unchanged")]) == 1
    assert f"report: {tmp_path}/unchanged/report.html" in capsys.readouterr().out
    page = (tmp_path / "unchanged" / "report.html").read_text()
    assert "No unit is new or changed" in page
    assert "1 unchanged run diverges" in page
    assert run([*words, "--out", str(tmp_path / "unchanged")]) == 2
    assert "is not empty" in capsys.readouterr().err
    assert run([*words, "--fail-on", "new"]) == 0

    rows = ds.dataset(tmp_path / "tables" / "verdicts", partitioning="hive").to_table()
    assert Counter(Path(source).name for source in rows["source"].to_pylist()) == {
        "run-0": 1,
        "run-1": 1,
        "run-2": 1,
    }
    assert len(set(rows["verification_id"].to_pylist())) == 2
    assert (tmp_path / "report" / "report.html").is_file()

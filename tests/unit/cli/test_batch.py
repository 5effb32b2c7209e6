"""``canvass batch`` up to where Spark would start."""

from __future__ import annotations

from pathlib import Path

import pytest

from canvass.cli.main import run


def test_an_empty_corpus_is_an_error_of_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "corpus").mkdir()

    code = run(["batch", "verify", str(tmp_path / "corpus"), "--out", str(tmp_path / "out")])

    captured = capsys.readouterr()
    assert code == 2
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "NOT_FOUND" in captured.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("options", [["--fail-on", "new"], ["--baseline", "earlier"]])
def test_a_baseline_and_what_it_is_for_go_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    code = run(["batch", "verify", str(tmp_path), "--out", str(tmp_path / "out"), *options])

    assert code == 2
    assert "go together" in capsys.readouterr().err


def test_a_baseline_is_read_before_anything_is_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--fail-on", "new", "--baseline", str(tmp_path / "none")]

    code = run(["batch", "verify", str(tmp_path), "--out", str(tmp_path / "out"), *words])

    assert code == 2
    assert "none" in capsys.readouterr().err


def test_the_line_for_spark_submit_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["batch", "submit-command", "--master", "yarn", "--", "my corpus", "--out", "report"]

    code = run(words)

    line = capsys.readouterr().out.strip()
    assert code == 0
    assert line.startswith("spark-submit --master yarn")
    assert line.endswith("batch verify 'my corpus' --out report")


def test_a_line_for_nothing_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["batch", "submit-command", "--master", "yarn"])

    assert code == 2
    assert "after --" in capsys.readouterr().err

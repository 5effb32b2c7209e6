"""``canvass import aeron``: what it prints, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from canvass.cli.main import run
from support.aeron_runs import captures, lines_of, write_logs

CAPTURE = captures()[0]


def test_an_explained_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(
        ["import", "aeron", str(CAPTURE), "--out", str(tmp_path / "run"), "--format", "json"]
    )
    summary = json.loads(capsys.readouterr().out)

    assert code == 0
    assert summary["outcome"] == "EXPLAINED"
    assert all(member["lines"] == member["accounted"] for member in summary["members"])
    assert all(
        member["steps"] == member["observed"] + member["inferred"] for member in summary["members"]
    )


def test_a_missing_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_logs(tmp_path / "logs", {0: list(lines_of(CAPTURE, 0))})
    code = run(["import", "aeron", str(folder), "--out", str(tmp_path / "run")])

    assert code == 3
    assert "missing: the log of member 1 is not there" in capsys.readouterr().out


def test_no_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["import", "aeron", str(tmp_path), "--out", str(tmp_path / "run")])

    assert code == 2
    assert "there is no member-<id>.log" in capsys.readouterr().err


def test_an_output_that_is_there_already(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "kept").write_text("")
    code = run(["import", "aeron", str(CAPTURE), "--out", str(tmp_path / "run")])

    assert code == 2
    assert "is there already" in capsys.readouterr().err

"""``canvass batch verify`` from the words to the report."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from canvass.cli.main import run
from canvass.conformance.verify import check_units
from canvass.steps.answers import StepLookup
from support.spoilt_runs import edit_event, forged_commit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_divergence_fails_the_command_and_is_in_the_report(
    spark: SparkSession,
    runs: Path,
    answers: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    corpus = tmp_path / "corpus"
    shutil.copytree(runs, corpus)
    edit_event(corpus / "run-2" / "member-1.ndjson", -1, forged_commit)
    check_units(sorted(corpus.iterdir()), StepLookup(cache=answers))
    words = ["batch", "verify", str(corpus), "--cache", str(answers), "--out"]

    code = run([*words, str(tmp_path / "first"), "--format", "json", "--engine", "spark"])

    captured = capsys.readouterr()
    summary = json.loads(captured.out)
    assert code == 1
    assert summary["verdicts"] == {"CONFORMS": 5, "DIVERGES": 1, "INCOMPLETE": 0, "MALFORMED": 0}
    assert summary == json.loads((tmp_path / "first" / "summary.json").read_text())
    assert "asking TLC" not in captured.err
    assert "run-2" in (tmp_path / "first" / "report.html").read_text()
    assert sorted(path.name for path in (tmp_path / "first").iterdir()) == [
        "coverage",
        "divergences",
        "report.html",
        "summary.json",
        "verdicts",
    ]

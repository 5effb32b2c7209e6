"""``canvass verify`` asks TLC about each step once; `transcripts` have what it prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from canvass.cli.main import run
from canvass.cluster.rules import Rules
from canvass.selftest.runs import record_run


@pytest.mark.tlc
def test_verify_asks_tlc_and_remembers_what_it_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record_run(tmp_path / "run", Rules.of("1.50"), 1, 200, faults=0.0, run_id="run")
    words = ["verify", "--format", "json", "--cache", f"{tmp_path}/cache", f"{tmp_path}/run"]

    assert run(words) == 0
    first = json.loads(capsys.readouterr().out)["counts"]
    assert run(words) == 0
    second = json.loads(capsys.readouterr().out)["counts"]

    assert first["askedOfOracle"] == first["distinctSteps"] - first["foundInTable"] > 0
    assert second["foundInCache"] == first["askedOfOracle"]

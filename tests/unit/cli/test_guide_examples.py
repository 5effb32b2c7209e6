"""The output that guides show is what the commands print."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from canvass.cli.main import run
from support.guide_examples import ROOT, absent


def test_a_line_that_is_not_printed_is_found() -> None:
    printed = ["one", "two, and more", "three"]

    assert list(absent(["one", "...", "two..."], printed)) == []
    assert list(absent(["three", "one"], printed)) == ["one"]
    assert list(absent(["two"], printed)) == ["two"]


@pytest.mark.night
def test_the_table_has_all_steps_of_the_simulation_in_the_readme(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    readme = (ROOT / "README.md").read_text()
    command = next(line for line in readme.splitlines() if "canvass simulate --members" in line)
    monkeypatch.chdir(tmp_path)

    assert run(shlex.split(command)[1:]) == 0
    capsys.readouterr()
    assert run(["verify", "my-corpus", "--format", "json"]) == 0

    counts = json.loads(capsys.readouterr().out)["counts"]
    assert counts["foundInTable"] == counts["distinctSteps"]
    assert f"finds all {counts['distinctSteps']:,} distinct steps" in readme

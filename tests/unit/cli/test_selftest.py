"""``canvass selftest``: its report, and its failure if a corrupted run is not found."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from canvass.selftest import runs
from canvass.selftest.corruptions import CORRUPTIONS, Corrupted, RecordedRun
from support.core_lookup import ask_core

Command = Callable[..., tuple[int, str, str]]


def unchanged(good: RecordedRun, _rng: object) -> Corrupted:
    """The run is unchanged."""
    return Corrupted(good.copy())


@pytest.mark.tlc
def test_everything_is_found(command: Command) -> None:
    code, out, err = command("selftest", "--runs", "16", "--format", "json")
    report = json.loads(out)

    assert code == 0
    assert report["schema"] == "canvass.selftest/2"
    assert report["ok"] is True
    assert (report["goodRuns"], report["goodRunsRejected"]) == (16, 0)
    assert [kind["rejected"] for kind in report["corruptions"]] == [1] * len(CORRUPTIONS)
    assert report["askedOfOracle"] > 50
    assert report["oracleDisagreements"] == 0
    assert "] checking 16 runs" in err


@pytest.mark.tlc
def test_a_corruption_that_is_not_found_fails(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "CORRUPTIONS", (unchanged,))

    code, out, _ = command("selftest", "--runs", "16")

    assert code == 1
    assert "WRONG  unchanged-016: CONFORMS" in out
    assert "NOT everything was found" in out


def test_a_corrupted_run_that_conforms_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "CORRUPTIONS", (unchanged,))

    found = runs.check_runs(tmp_path, good=1, corrupted=3, oracle=ask_core)

    assert [wrong.verdict for wrong in found.wrong] == ["CONFORMS"] * 3
    assert found.good == 1


def test_an_oracle_that_contradicts_the_core_is_reported(tmp_path: Path) -> None:
    def contrary(rules: Any, steps: Any) -> list[Any]:
        answers = ask_core(rules, steps)
        return [not answers[0], *answers[1:]]

    found = runs.check_runs(tmp_path, good=2, corrupted=0, oracle=contrary)

    assert found.disagreements == 2
    assert found.wrong == []

"""``canvass simulate``: findings, replays and interrupts; `transcripts` have what it prints."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from canvass.selftest import simulation_series
from canvass.selftest.simulation_series import replay_command
from canvass.simulation.events import Finding
from canvass.simulation.options import Options
from canvass.simulation.simulator import RunResult, Simulator

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def one_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run violates one property."""
    original = Simulator.run

    def run(self: Simulator) -> RunResult:
        finding = Finding("LogMatching", "0 and 1 have other entries", 7, 8)
        return replace(original(self), findings=(finding,))

    monkeypatch.setattr(Simulator, "run", run)


def test_findings_of_a_revision_with_hazards_are_reported_and_are_no_failure(
    command: Command, one_finding: None
) -> None:
    words = ("--revision", "1.50", "--seeds", "1", "--seed-start", "15", "--steps", "200")
    code, out, _ = command("simulate", *words)

    assert code == 0
    assert "seed 15: LogMatching: 0 and 1 have other entries" in out
    assert replay_command(Options(15, revision="1.50", steps=200)) in out


def test_findings_of_hardened_members_are_a_failure(command: Command, one_finding: None) -> None:
    code, out, _ = command("simulate", "--seeds", "1", "--steps", "200", "--format", "json")

    assert code == 1
    assert [finding["name"] for finding in json.loads(out)["findings"]] == ["LogMatching"]


def test_the_replay_command_repeats_a_run_of_a_profile(command: Command) -> None:
    words = ("--seeds", "1", "--seed-start", "3", "--steps", "200", "--format", "json")
    plain = json.loads(command("simulate", *words)[1])
    first = json.loads(command("simulate", *words, "--profile", "broken-joins")[1])
    again = replay_command(Options(3, steps=200), "broken-joins").replace("--out CORPUS", "")
    shown = json.loads(command(*shlex.split(again)[1:], "--format", "json")[1])

    assert shown["digest"] == first["digest"] != plain["digest"]


def test_an_interrupted_series_goes_on_with_the_next_seed(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run is in the folder once it is whole, and no run is written over."""
    few, simulated = ("--steps", "200", "--out", tmp_path), simulation_series.record_run

    def interrupted(options: Options, *others: Any) -> RunResult:
        result = simulated(options, *others)
        if options.seed == 1:
            raise KeyboardInterrupt
        return result

    with monkeypatch.context() as patch:
        patch.setattr(simulation_series, "record_run", interrupted)
        assert command("simulate", "--seeds", "3", *few)[0] == 130
    assert [run.name for run in tmp_path.iterdir()] == ["sim-hardened-3-0"]

    code, _, err = command("simulate", "--seeds", "3", *few)
    assert (code, "has the run of seed 0: choose another --seed-start" in err) == (2, True)
    assert command("simulate", "--seed-start", "1", "--seeds", "2", *few)[0] == 0
    assert command("verify", tmp_path)[0] == 0
    assert len(list(tmp_path.iterdir())) == 3


def test_members_that_are_left_out_are_reported_and_are_no_failure(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = ("member 2 stays out of term 1: its candidate term is 6 (hardening HZ3)",)

    original = Simulator.run

    def run(self: Simulator) -> RunResult:
        return replace(original(self), left_out=shown)

    monkeypatch.setattr(Simulator, "run", run)
    code, out, _ = command("simulate", "--seeds", "1", "--steps", "200")

    assert code == 0
    assert "in 1 run members stay out until the next election; this is no failure" in out
    assert f"seed 0: {shown[0]}" in out

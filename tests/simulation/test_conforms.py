"""Runs of simulated clusters are behaviours of the spec: few in the CI set, 1,000 at night."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from canvass.cli.main import run as run_command
from canvass.selftest.simulation_series import simulate
from canvass.simulation.options import CUT_KINDS, Faults, Options
from canvass.simulation.simulator import Simulator

EVERYTHING = Faults(
    drop_probability=0.02,
    delay_tail_probability=0.01,
    duplicate_probability=0.05,
    cut_mean=1_000,
    cut_kinds=CUT_KINDS,
    crash_mean=1_000,
    crash_within_probability=0.5,
    power_mean=1_500,
    pause_mean=2_000,
    clock_mean=2_000,
    full_mean=2_500,
    sync_mean=2_500,
    slow_disk_mean=2_500,
    rot_mean=1_500,
    stray_mean=1_500,
    error_mean=1_000,
    operator_mean=1_000,
    termination_mean=4_000,
)
BATCH = 25


def check(
    capsys: pytest.CaptureFixture[str],
    folder: Path,
    members: int,
    seeds: int,
    start: int,
    steps: int,
) -> None:
    """Simulate, record and verify."""
    numbers = ("--members", members, "--seeds", seeds, "--seed-start", start, "--steps", steps)
    words = [str(word) for word in (*numbers, "--out", folder, "--format", "json")]
    code = run_command(["simulate", *words])
    assert (code, json.loads(capsys.readouterr().out)["findings"]) == (0, [])
    code = run_command(["verify", str(folder)])
    out = capsys.readouterr().out

    assert (code, out.count("CONFORMS  ")) == (0, seeds), out


@pytest.mark.tlc
@pytest.mark.parametrize(("members", "start"), [(3, 2), (5, 9)])
def test_what_members_record_conforms(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, members: int, start: int
) -> None:
    check(capsys, tmp_path / "corpus", members, 2, start, 400)


@pytest.mark.night
@pytest.mark.tlc
@pytest.mark.parametrize("batch", range(40))
def test_a_thousand_seeds_conform(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, batch: int
) -> None:
    """And lose nothing, apply nothing twice, and agree in the end: else there were findings."""
    members = (3, 3, 3, 5)[batch % 4]
    check(capsys, tmp_path / "corpus", members, BATCH, batch * BATCH, 1_500)


@pytest.mark.parametrize("member_count", [1, 2, 3, 5])
def test_clusters_of_all_sizes_come_through_everything_with_two_services(member_count: int) -> None:
    options = Options(3, member_count, steps=1_500, faults=EVERYTHING, service_count=2)
    result = simulate(options)

    assert (result.findings, result.stuck) == ((), ())
    assert result.counts["requests answered"] > 0


@pytest.mark.parametrize("service_count", [1, 2])
def test_without_faults_every_request_is_answered_once(service_count: int) -> None:
    simulator = Simulator(replace(Options(1, steps=2_000), service_count=service_count))
    result = simulator.run()
    values = sorted(value for one in simulator.cluster.clients.answers for value in one.values())

    assert (result.findings, result.stuck) == ((), ())
    assert values == list(range(1, sum(simulator.cluster.clients.offered) + 1))
    assert len(values) > 20

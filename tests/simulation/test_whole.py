"""Whole members under faults: archive, services and clients in virtual time."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from canvass.cli.main import run as run_command
from canvass.simulation.whole import WholeResult, WholeSimulator
from canvass.simulation.whole_options import WholeFaults, WholeOptions, whole_swarm


def run(options: WholeOptions) -> WholeResult:
    return WholeSimulator(options).run()


def test_without_faults_every_request_is_answered_once() -> None:
    simulator = WholeSimulator(WholeOptions(seed=1, requests=40))
    result = simulator.run()

    assert (result.findings, result.stuck) == ((), ())
    assert sorted(v for one in simulator.answers for v in one.values()) == list(range(1, 81))


@pytest.mark.parametrize("seed", range(8))
def test_no_acknowledged_request_is_lost_or_applied_twice(seed: int) -> None:
    result = run(whole_swarm(WholeOptions(seed=seed, requests=40)))

    assert (result.findings, result.stuck, result.counts["answers"]) == ((), (), 80)


@pytest.mark.parametrize("member_count", [1, 2, 5])
def test_clusters_of_other_sizes_come_through(member_count: int) -> None:
    options = WholeOptions(seed=3, member_count=member_count, requests=30)
    options = replace(options, faults=WholeFaults(0.01, 2_000, 2_000, 3_000, 4_000, 0, 0, 0, 2_000))
    options = (
        options if member_count > 1 else replace(options, faults=WholeFaults(power_mean_ms=900))
    )
    result = run(options)

    assert (result.findings, result.stuck, result.counts["answers"]) == ((), (), 60)


def test_every_kind_of_fault_strikes() -> None:
    faults = WholeFaults(0.02, 1_500, 2_000, 2_000, 2_500, 2_000, 3_000, 3_000, 1_500)
    result = run(WholeOptions(seed=5, faults=faults, requests=120, offer_mean_ms=250))

    assert (result.findings, result.stuck) == ((), ())
    for kind in (
        "Input/output error",
        "No space left on device",
        "clock jump",
        "cut",
        "kill",
        "message dropped",
        "pause",
        "power failure at a write",
        "snapshot asked for",
    ):
        assert result.counts[kind] > 0, kind


def test_a_seed_is_one_run() -> None:
    options = whole_swarm(WholeOptions(seed=4, requests=30))

    assert run(options) == run(options)
    assert run(replace(options, seed=5)).digest != run(options).digest


PROGRAM = """
import sys
from pathlib import Path
from canvass.cli.simulate_whole import record_whole_run
from canvass.simulation.whole_options import WholeOptions, whole_swarm
options = whole_swarm(WholeOptions(seed=4, requests=20))
print(record_whole_run(options, "hardened", Path(sys.argv[1])).digest)
"""


def test_a_seed_is_one_run_under_every_hash_seed(tmp_path: Path) -> None:
    ended = []
    for hash_seed in ("0", "4711"):
        folder = tmp_path / hash_seed
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(folder)],
            env=os.environ | {"PYTHONHASHSEED": hash_seed},
            check=True,
            capture_output=True,
        )
        recorded = [path.read_bytes() for path in sorted(folder.rglob("*.zst"))]
        ended.append((done.stdout, recorded))

    assert len(ended[0][1]) == 3
    assert ended[0] == ended[1]


@pytest.mark.tlc
def test_what_whole_members_record_conforms(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "corpus")
    words = ["--whole", "--seeds", "3", "--seed-start", "2", "--requests", "30", "--out"]
    simulated = run_command(["simulate", *words, folder])
    capsys.readouterr()
    verified = run_command(["verify", folder])

    assert (simulated, verified) == (0, 0)
    assert capsys.readouterr().out.count("CONFORMS") == 3


@pytest.mark.night
@pytest.mark.parametrize("seed", range(1_000, 1_400))
def test_many_seeds_come_through(seed: int) -> None:
    member_count = (3, 3, 5)[seed % 3]
    result = run(whole_swarm(WholeOptions(seed=seed, member_count=member_count)))

    assert (result.findings, result.stuck) == ((), ())

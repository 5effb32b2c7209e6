"""Profiles of faults: hardened members come through each, and it comes to what it is there for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from canvass.cli.main import run as run_command
from canvass.cluster import core
from canvass.cluster.effects import Outcome
from canvass.cluster.member import Input, Member
from canvass.cluster.rules import Rules
from canvass.selftest.simulation_series import simulate
from canvass.simulation.options import MUTE, PROFILES, SPARSE, Faults, Options

COMES_TO = {
    "broken-joins": "error in an election",
    "cut-logs": "message lost in a cut",
    "everything-fails": "elections won",
    "few-requests": "elections won",
    "late-ends": "termination requested",
    "late-reports": "error in an election",
    "late-requests": "message late",
    "lost-ballots": "message dropped",
    "older-leaders": "cut mute",
    "swarm": "elections won",
}
"""The events that each profile has to reach in a few short runs."""


@pytest.mark.parametrize("name", sorted(PROFILES))
def test_members_come_through_a_profile(name: str) -> None:
    results = [simulate(PROFILES[name](Options(seed, steps=300))) for seed in range(3)]

    assert all((result.findings, result.stuck) == ((), ()) for result in results)
    assert sum(result.counts.get(COMES_TO[name], 0) for result in results) > 0


@pytest.mark.parametrize("name", sorted(PROFILES))
def test_a_profile_chooses_by_the_seed_alone(name: str) -> None:
    options = Options(5, 5, "1.50", 70)
    chosen = PROFILES[name](options)

    assert chosen == PROFILES[name](options)
    assert (chosen.seed, chosen.member_count) == (5, 5)
    assert (chosen.revision, chosen.steps) == ("1.50", 70)


@pytest.mark.parametrize(
    ("faults", "struck", "moments"),
    [
        (
            Faults(crash_mean=100, join_probability=1.0),
            "crash between steps",
            ("LeaderInit", "FollowerLogAwait", "FollowerCatchupAwait"),
        ),
        (
            Faults(cut_mean=500, cut_kinds=(MUTE,), pause_mean=50, ballot_probability=1.0),
            "pause",
            ("Nominate",),
        ),
    ],
)
def test_a_fault_that_waits_for_a_moment_strikes_once_after_it(
    faults: Faults, struck: str, moments: tuple[str, ...]
) -> None:
    timing = SPARSE.divided(40)
    result = simulate(Options(2, steps=1_500, timing=timing, faults=faults))

    assert 0 < result.counts[struck] <= sum(result.actions.get(name, 0) for name in moments)
    assert (result.findings, result.stuck) == ((), ())


def test_an_end_that_waits_for_a_cut_of_the_log_comes_before_the_next_step() -> None:
    """Cut bytes leave the disk: the member starts as if they had never been there."""
    asked: list[tuple[int, str, bool]] = []

    def step(rules: Rules, i: int, s: Member, action: str, x: Input) -> Outcome | None:
        outcome = core.step(rules, i, s, action, x)
        if outcome is not None:
            asked.append((i, action, outcome.next.recorded_position < s.recorded_position))
        return outcome

    options = PROFILES["cut-logs"](Options(1, steps=1_500))
    result = simulate(options, step)
    followed = [
        next((then for k, then, _ in asked[place + 1 :] if k == i), "")
        for place, (i, _, cuts) in enumerate(asked)
        if cuts
    ]

    assert 0 < result.counts["crash after the log was truncated"] == followed.count("Restart")
    assert (result.findings, result.stuck) == ((), ())


@pytest.mark.night
@pytest.mark.tlc
@pytest.mark.parametrize("members", [3, 5])
@pytest.mark.parametrize("name", sorted(set(PROFILES) - {"swarm"}))
def test_what_members_record_in_a_profile_conforms(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, members: int
) -> None:
    words = ("--profile", name, "--members", str(members), "--seeds", "20", "--steps", "800")
    out = tmp_path / "corpus"
    code = run_command(["simulate", *words, "--out", str(out), "--format", "json"])
    assert (code, json.loads(capsys.readouterr().out)["findings"]) == (0, [])
    code = run_command(["verify", str(out)])
    output = capsys.readouterr().out

    assert (code, output.count("CONFORMS  ")) == (0, 20), output

"""``canvass selftest``: its report, and its failure if a mutant or a corrupted run is not found."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from canvass.conformance import step_lookup
from canvass.selftest import kill_matrix, runs
from canvass.selftest.corruptions import CORRUPTIONS, Corrupted, RecordedRun
from canvass.selftest.kill_matrix import MUTANTS, Mutant, actions_reached
from canvass.steps.oracle import Answer
from canvass.traces.actions import Action
from support.core_lookup import ask_core

pytestmark = pytest.mark.tlc

Command = Callable[..., tuple[int, str, str]]
HARMLESS = Mutant("harmless", "quorum", "count // 2 + 1", "count // 2 + 1", member_count=2)


@pytest.fixture
def graphs(pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """The graphs of the tests are those of the user's cache."""
    assert pytestconfig.cache is not None
    folder = pytestconfig.cache.mkdir("graphs").parent
    monkeypatch.setattr(step_lookup, "default_cache", lambda: folder)


def with_mutants(monkeypatch: pytest.MonkeyPatch, *mutants: Mutant) -> None:
    """Make the command run only these mutants, and the core itself on one graph only."""
    kill_mutants = kill_matrix.kill_mutants

    def some(graphs: kill_matrix.Graphs, progress: Any = None) -> list[kill_matrix.MutantResult]:
        return kill_mutants(graphs, mutants, progress)

    monkeypatch.setattr(kill_matrix, "kill_mutants", some)
    monkeypatch.setattr(kill_matrix, "MODELS", {("1.50", 2): ("MCMemberGraph2", 1)})


def test_everything_is_found(
    command: Command, graphs: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = "graceful_leader_leaves_the_quorum_too"
    with_mutants(monkeypatch, MUTANTS[named])

    code, out, err = command("selftest", "--quick", "--runs", "32", "--format", "json")
    report = json.loads(out)

    assert code == 0
    assert report["schema"] == "canvass.selftest/1"
    assert report["ok"] is True
    assert report["graphs"][0]["mismatches"] == 0 < report["graphs"][0]["edges"]
    (mutant,) = report["mutants"]
    assert (mutant["name"], mutant["killed"], mutant["action"]) == (named, True, "CandidateBallot")
    assert mutant["operator"].startswith("Election.tla:")
    assert (report["goodRuns"], report["goodRunsRejected"]) == (32, 0)
    assert [kind["rejected"] for kind in report["corruptions"]] == [2] * len(CORRUPTIONS)
    assert report["askedOfOracle"] > 100
    assert report["oracleDisagreements"] == 0
    assert "] checking 32 runs" in err


def test_a_surviving_mutant_fails(
    command: Command, graphs: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_mutants(monkeypatch, HARMLESS)

    code, out, _ = command("selftest", "--runs", "16")

    assert code == 1
    assert "ALIVE" in out
    assert "0 of 1 killed" in out
    assert "NOT everything was found" in out


def test_a_corrupted_run_that_conforms_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unchanged(good: RecordedRun, _rng: object) -> Corrupted:
        """The run is unchanged."""
        return Corrupted(good.copy())

    monkeypatch.setattr(runs, "CORRUPTIONS", (unchanged,))

    found = runs.check_runs(tmp_path, good=1, corrupted=3, oracle=ask_core)

    assert [wrong.verdict for wrong in found.wrong] == ["CONFORMS"] * 3
    assert found.good == 1


def test_an_oracle_that_contradicts_the_core_is_reported(tmp_path: Path) -> None:
    def contrary(rules: Any, steps: Any) -> list[Any]:
        answers = ask_core(rules, steps)
        return [Answer(not answers[0].allowed, True), *answers[1:]]

    found = runs.check_runs(tmp_path, good=2, corrupted=0, oracle=contrary)

    assert found.disagreements == 2
    assert found.wrong == []


def test_every_action_with_an_effect_is_reached_by_a_mutant() -> None:
    reached = {action for mutant in MUTANTS.values() for action in actions_reached(mutant)}

    assert set(Action) - reached == {Action.ON_TERMINATION_ACK}

"""The core takes exactly the steps of the TLC-generated graphs, edge by edge."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from canvass.cluster import core
from canvass.cluster.effects import Outcome
from canvass.cluster.member import ElectionState, Input, Member
from canvass.cluster.rules import Rules
from canvass.traces.actions import ACTIONS, Action
from canvass.traces.schema import NONE
from support.edges import Trials, find_kill
from support.graphs import graph_digest, graph_of

pytestmark = pytest.mark.tlc


def mistaken(action: str, handler: Any) -> SimpleNamespace:
    """The core with another function for one action."""
    return SimpleNamespace(ACTIONS={**core.ACTIONS, action: handler})


@pytest.mark.parametrize(
    ("model", "steps", "least"),
    [
        ("MCMemberGraph1", -1, 2_500),
        ("MCMemberGraph2", 1, 50_000),
        ("MCMemberGraph3", 0, 50_000),
        ("MCMemberGraph3Rev149", 0, 25_000),
        ("MCMemberGraph3Hardened", 0, 35_000),
        pytest.param("MCMemberGraph3", 1, 750_000, marks=pytest.mark.night),
        pytest.param("MCMemberGraph3Rev149", 1, 400_000, marks=pytest.mark.night),
        pytest.param("MCMemberGraph3Hardened", 1, 600_000, marks=pytest.mark.night),
        pytest.param("MCMemberGraph3", 2, 4_000_000, marks=pytest.mark.night),
        pytest.param("MCMemberGraph5", 0, 40_000, marks=pytest.mark.night),
        pytest.param("MCMemberGraph3TermsRev149", 0, 80_000, marks=pytest.mark.night),
        pytest.param("MCMemberGraph3TermsHardened", 0, 120_000, marks=pytest.mark.night),
        pytest.param("MCMemberGraph3Terms", 1, 2_500_000, marks=pytest.mark.night),
    ],
)
def test_core_takes_the_steps_of_the_graph_and_no_others(
    pytestconfig: pytest.Config,
    executed: list[str],
    model: str,
    steps: int,
    least: int,
) -> None:
    graph = graph_of(pytestconfig, model, steps)
    trials = Trials(graph)

    kill, tried = find_kill(trials, core)
    edges = int(np.count_nonzero(graph.target != NONE))
    executed.append(
        f"{model}, {steps} steps: {edges:,} edges,"
        f" {sum(len(trials.of(action)) for action in ACTIONS):,} inputs,"
        f" {int(kill is not None)} mismatches, graph {graph_digest(graph)[:16]}"
    )

    assert kill is None
    assert tried == sum(len(trials.of(action)) for action in ACTIONS)
    assert edges == graph.manifest.counts.edges >= least


def test_graphs_of_three_members_pass_through_every_action_and_election_state(
    pytestconfig: pytest.Config,
) -> None:
    """Otherwise a wrong rule could have no edge."""
    graph = graph_of(pytestconfig, "MCMemberGraph3", 0)
    states = {graph.member(row).election_state for row in graph.expanded.nonzero()[0].tolist()}

    assert states == set(ElectionState)
    assert all(graph.manifest.counts.actions[action.value] > 0 for action in ACTIONS)


def test_a_wrong_state_is_reported_with_the_field_and_the_action(
    pytestconfig: pytest.Config,
) -> None:
    def one_too_far(rules: Rules, i: int, s: Member, x: Input) -> Outcome | None:
        outcome = core.ACTIONS["AppendEntry"](rules, i, s, x)
        if outcome is None:
            return None
        return Outcome(replace(outcome.next, publication_position=x.position + 1))

    graph = graph_of(pytestconfig, "MCMemberGraph1")
    found, _ = find_kill(Trials(graph), mistaken("AppendEntry", one_too_far))

    assert found is not None
    assert found.difference == "other values of publication_position"
    assert found.action is Action.APPEND_ENTRY


@pytest.mark.parametrize(
    ("handler", "difference"),
    [
        (lambda *_: None, "disabled against the spec"),
        (
            lambda rules, i, s, x: core.ACTIONS["TakeSnapshot"](rules, i, s, x) or Outcome(s),
            "enabled against the spec",
        ),
        (lambda *_: 1 // 0, "raises ZeroDivisionError"),
    ],
)
def test_a_core_that_is_enabled_wrongly_or_raises_is_found(
    pytestconfig: pytest.Config, handler: Any, difference: str
) -> None:
    trials = Trials(graph_of(pytestconfig, "MCMemberGraph1"))
    found, _ = find_kill(trials, mistaken("TakeSnapshot", handler), [Action.TAKE_SNAPSHOT])

    assert found is not None
    assert found.difference == difference

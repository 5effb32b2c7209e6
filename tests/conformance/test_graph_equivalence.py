"""The core takes exactly the steps of the TLC-generated graphs, edge by edge."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from canvass.cluster.core import ACTIONS as HANDLERS
from canvass.cluster.member import ElectionState, Input, Member
from canvass.cluster.outcome import Outcome
from canvass.cluster.rules import Rules
from canvass.conformance.equivalence import Core, Equivalence, Handler, mismatches
from canvass.traces.actions import ACTIONS, Action
from support.graphs import graph_digest, graph_of

pytestmark = pytest.mark.tlc

SHOWN = 3


def core_of(action: Action) -> Handler:
    return HANDLERS[action.value]


def mistaken(action: Action, handler: Any) -> Core:
    """The core with another function for one action."""
    return lambda asked: handler if asked is action else core_of(asked)


@pytest.mark.parametrize(
    ("model", "steps", "least"),
    [
        ("MCMemberGraph1", -1, 2_500),
        ("MCMemberGraph2", 1, 50_000),
        ("MCMemberGraph3", 1, 750_000),
        ("MCMemberGraph3Rev149", 0, 25_000),
        ("MCMemberGraph3Hardened", 0, 35_000),
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
    counts = Equivalence()

    found = [
        step.describe()
        for _, step in zip(range(SHOWN), mismatches(graph, core_of, counts), strict=False)
    ]
    digest = graph_digest(graph)
    executed.append(
        f"{model}, {steps} steps: {counts.edges:,} edges, {counts.tried:,} inputs,"
        f" {len(found)} mismatches, graph {digest[:16]}"
    )

    assert not found, "\n".join(found)
    assert counts.edges == graph.manifest.counts.edges >= least


def test_graphs_of_three_members_pass_through_every_action_and_election_state(
    pytestconfig: pytest.Config,
) -> None:
    """Else a mistake could hide where no edge leads."""
    graph = graph_of(pytestconfig, "MCMemberGraph3", 1)
    states = {graph.member(row).election_state for row in graph.expanded.nonzero()[0].tolist()}

    assert states == set(ElectionState)
    assert all(graph.manifest.counts.actions[action.value] > 0 for action in ACTIONS)


def test_a_wrong_state_is_reported_with_what_differs_and_where_to_look(
    pytestconfig: pytest.Config,
) -> None:
    def one_too_far(rules: Rules, i: int, s: Member, x: Input) -> Outcome | None:
        outcome = core_of(Action.APPEND_ENTRY)(rules, i, s, x)
        if outcome is None:
            return None
        return Outcome(replace(outcome.next, publication_position=x.position + 1))

    graph = graph_of(pytestconfig, "MCMemberGraph1")
    found = list(mismatches(graph, mistaken(Action.APPEND_ENTRY, one_too_far)))
    result = found[0].describe()

    assert len(found) == graph.manifest.counts.actions["AppendEntry"]
    assert found[0].fields == ("publication_position",)
    assert "AppendEntry, Replication.tla:" in result
    assert "one_too_far, test_graph_equivalence.py:" in result
    assert "publication_position" in result


@pytest.mark.parametrize(
    ("handler", "phrase"),
    [
        (lambda *_: None, "the spec enables the action, the core does not"),
        (lambda rules, i, s, x: Outcome(s), "the spec does not enable the action, the core does"),
        (lambda *_: 1 // 0, "the core raised ZeroDivisionError"),
    ],
)
def test_a_core_that_is_enabled_wrongly_or_raises_is_found(
    pytestconfig: pytest.Config, handler: Any, phrase: str
) -> None:
    graph = graph_of(pytestconfig, "MCMemberGraph1")
    reported = [
        step.describe() for step in mismatches(graph, mistaken(Action.CONSUME_LOG, handler))
    ]

    assert any(phrase in text for text in reported)

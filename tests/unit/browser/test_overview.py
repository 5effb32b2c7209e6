"""The election's state machine: what TLC printed, and places without overlap."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Final

import numpy as np
import pytest

from canvass.browser.layout import HEIGHT, WIDTH
from canvass.browser.machine import Change, overview, published, stored_edges
from canvass.cluster.member import ElectionState
from canvass.graph.artifact import Graph
from canvass.traces.layout import ACTION_NAMES, NONE, STATE_INDEX
from support.graphs import graph_of

MODELS: Final = (("MCMemberGraph1", None), ("MCMemberGraph3", 1))
"""Models whose graphs have every change there is, with their steps from the roots: a member alone
is elected in another way than one of three.
"""


def election_edges(graphs: Iterable[Graph]) -> tuple[Change, ...]:
    """Read the changes of the election state off state graphs."""
    names = [state.value for state in ElectionState]
    column = STATE_INDEX["election_state"]
    found: set[tuple[int, int, int]] = set()
    for graph in graphs:
        taken = graph.target != NONE
        before = graph.state[graph.source[taken], column]
        after = graph.state[graph.target[taken], column]
        action = graph.input_action[graph.input[taken]]
        rows = np.stack([before, after, action], axis=1)[before != after]
        found |= {(a, b, c) for a, b, c in np.unique(rows, axis=0).tolist()}
    pairs = sorted({(a, b) for a, b, _ in found})
    return tuple(
        Change(
            names[a],
            names[b],
            tuple(sorted(ACTION_NAMES[c] for one, two, c in found if (one, two) == (a, b))),
        )
        for a, b in pairs
    )


def test_the_stored_changes_are_those_of_the_graphs_that_tlc_printed(
    pytestconfig: pytest.Config,
) -> None:
    graphs = [graph_of(pytestconfig, name, steps) for name, steps in MODELS]

    assert stored_edges() == election_edges(graphs)


def test_every_election_state_is_there_once() -> None:
    assert [state.name for state in overview().states] == [state.value for state in ElectionState]


def test_no_two_states_overlap() -> None:
    for one, two in combinations(overview().states, 2):
        assert abs(one.x - two.x) >= WIDTH or abs(one.y - two.y) >= HEIGHT


def test_the_published_diagram_says_nothing_that_the_spec_does_not_allow() -> None:
    edges = {(edge.source, edge.target) for edge in overview().edges}

    assert edges >= published().edges
    assert {(one.source, one.target) for one in overview().edges if one.seeds} == published().edges


def test_every_state_is_entered_and_left() -> None:
    edges = overview().edges
    names = {state.value for state in ElectionState}

    assert {edge.source for edge in edges} == names
    assert {edge.target for edge in edges} == names


def test_an_error_leads_back_to_the_start_from_every_state_of_an_election() -> None:
    failing = {edge.source for edge in overview().edges if "ElectionError" in edge.actions}

    assert failing == {state.value for state in ElectionState} - {"CLOSED", "INIT"}

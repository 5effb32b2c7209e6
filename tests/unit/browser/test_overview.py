"""The election's state machine: what TLC printed, and places without overlap."""

from __future__ import annotations

from itertools import combinations

import pytest

from canvass.browser.layout import HEIGHT, WIDTH
from canvass.browser.overview import MODELS, SEEDS, election_edges, overview, stored_edges
from canvass.cluster.member import ElectionState
from support.graphs import graph_of


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

    assert edges >= SEEDS
    assert {(one.source, one.target) for one in overview().edges if one.seeds} == SEEDS


def test_every_state_is_entered_and_left() -> None:
    edges = overview().edges
    names = {state.value for state in ElectionState}

    assert {edge.source for edge in edges} == names
    assert {edge.target for edge in edges} == names


def test_an_error_leads_back_to_the_start_from_every_state_of_an_election() -> None:
    failing = {edge.source for edge in overview().edges if "ElectionError" in edge.actions}

    assert failing == {state.value for state in ElectionState} - {"CLOSED", "INIT"}

"""The election's state machine on the page: what TLC printed, in the states of the diagram."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import pytest

from canvass.cluster.member import ElectionState
from canvass.graph.artifact import Graph
from canvass.traces.schema import ACTION_NAMES, NONE, STATE_INDEX
from support.graphs import graph_of

DATA: Final = Path(__file__).resolve().parents[3] / "tools/canvass/browser/ui/src/words"
MODELS: Final = ("MCMemberGraph1", "MCMemberGraph3")
"""Models whose graphs show every change of the election state within one step from the roots: a
single member is elected in another way than one of three.
"""


class Change(msgspec.Struct, frozen=True):
    """A change of the election state, with the actions that cause it."""

    source: str
    target: str
    actions: tuple[str, ...]


def stored() -> tuple[Change, ...]:
    """Read the changes that the page draws."""
    return msgspec.json.decode((DATA / "election.json").read_bytes(), type=tuple[Change, ...])


def diagram() -> dict[str, Any]:
    """Read the published diagram: its states with their places, and its edges."""
    found: dict[str, Any] = msgspec.json.decode((DATA / "diagram.json").read_bytes())
    return found


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


def causes(changes: Iterable[Change]) -> set[tuple[str, str, str]]:
    return {(one.source, one.target, action) for one in changes for action in one.actions}


@pytest.mark.night
def test_the_stored_changes_are_those_of_the_graphs_that_tlc_printed(
    pytestconfig: pytest.Config,
) -> None:
    assert stored() == election_edges([graph_of(pytestconfig, name) for name in MODELS])


def test_all_but_a_few_are_in_the_graphs_of_a_push(pytestconfig: pytest.Config) -> None:
    graphs = [graph_of(pytestconfig, MODELS[0]), graph_of(pytestconfig, MODELS[1], 0)]

    assert causes(stored()) - causes(election_edges(graphs)) == {
        ("FOLLOWER_BALLOT", "FOLLOWER_LOG_REPLICATION", "OnNewLeadershipTerm"),
        ("FOLLOWER_REPLAY", "CANVASS", "FollowerReplay"),
    }
    assert causes(election_edges(graphs)) < causes(stored())


def test_every_election_state_has_a_place_of_its_own() -> None:
    states = diagram()["states"]

    assert [state["name"] for state in states] == [state.value for state in ElectionState]
    assert len({(state["column"], state["row"]) for state in states}) == len(states)


def test_the_published_diagram_says_nothing_that_the_spec_does_not_allow() -> None:
    edges = {(one.source, one.target) for one in stored()}

    assert edges >= {tuple(edge) for edge in diagram()["edges"]}


def test_every_state_is_entered_and_left() -> None:
    names = {state.value for state in ElectionState}

    assert {edge.source for edge in stored()} == names
    assert {edge.target for edge in stored()} == names


def test_an_error_leads_back_to_the_start_from_every_state_of_an_election() -> None:
    failing = {edge.source for edge in stored() if "ElectionError" in edge.actions}

    assert failing == {state.value for state in ElectionState} - {"CLOSED", "INIT"}

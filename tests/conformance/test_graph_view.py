"""Queries of the graph of a member: columns equal states, twins are one state, ids are stable."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from canvass.cluster.member import Member, ModuleState
from canvass.graph.artifact import MemberView
from canvass.graph.build import identities_of
from canvass.graph.predicate import parse
from canvass.graph.queries import project, shortest_path
from canvass.tlc.values import same
from canvass.traces.schema import NONE
from support.graphs import graph_of

pytestmark = pytest.mark.tlc


@pytest.fixture(scope="module")
def view(pytestconfig: pytest.Config) -> MemberView:
    return MemberView(graph_of(pytestconfig, "MCMemberGraph3", 0), Path("MCMemberGraph3"))


@pytest.fixture(scope="module")
def members(view: MemberView) -> list[Member]:
    return [view.graph.member(view.artifact_row(row)) for row in range(view.state_count)]


CONDITIONS: dict[str, Callable[[Member], bool]] = {
    'electionState = "LEADER_READY"': lambda m: m.election_state.value == "LEADER_READY",
    "not logSubscription and commitPosition + 1 <= appendPosition": lambda m: (
        not m.log_subscription and m.commit_position + 1 <= m.append_position
    ),
    "count(m in members: members[m].vote = 1) >= 2": lambda m: (
        sum(record.vote == 1 for record in m.members) >= 2
    ),
    "members[leaderMemberId].logPosition = 2": lambda m: (
        m.leader_member_id >= 0 and m.members[m.leader_member_id].log_position == 2
    ),
    "recordingLog[len(recordingLog)].logPosition = -1": lambda m: (
        len(m.recording_log) > 0 and m.recording_log[-1].log_position == -1
    ),
    "any(e in recordingLog: e.leadershipTermId = moduleLeadershipTermId)": lambda m: any(
        e.leadership_term_id == m.module_leadership_term_id for e in m.recording_log
    ),
    "members[1] = members[2]": lambda m: m.members[1] == m.members[2],
}


@pytest.mark.parametrize("text", CONDITIONS)
def test_a_predicate_holds_for_the_states_that_satisfy_it(
    view: MemberView, members: list[Member], text: str
) -> None:
    expected = [row for row, member in enumerate(members) if CONDITIONS[text](member)]

    assert 0 < len(expected) < len(members)
    assert expected == parse(text).rows(view).tolist()


def test_columns_equal_the_fields_of_states(view: MemberView) -> None:
    columns = view.columns(view.fields)
    for row in range(0, view.state_count, 997):
        state = view.state(row)
        assert list(state) == list(view.fields) == list(view.tree(row))
        for name, value in state.items():
            assert same(columns.values.value(int(columns.nodes[name][row])), value)


def test_twins_are_one_state_and_edges_keep_their_numbers(view: MemberView) -> None:
    graph = view.graph
    twins = np.flatnonzero(graph.representative != np.arange(len(graph.representative)))
    enabled = np.flatnonzero(graph.target != NONE)

    assert len(twins)
    assert view.state_count == len(np.unique(graph.representative))
    assert view.out.edge.tolist() == enabled.tolist()
    for twin in twins[:50].tolist():
        row = view.find(bytes(graph.ids[twin]).hex())
        assert row == view.row_of(twin)
        assert view.artifact_row(row) == graph.representative[twin]
    for number in enabled[::50_000].tolist():
        edge, step = view.edge(number), graph.step(number)
        assert edge.action == step.action.value
        assert edge.source == view.find(bytes(graph.ids[int(graph.source[number])]).hex())
        assert edge.target == view.row_of(int(graph.target[number]))
        assert len(edge.sends) == len(step.sends)


def test_the_path_begins_with_an_empty_disk(view: MemberView) -> None:
    (first,) = view.initial.tolist()
    member = view.graph.member(view.artifact_row(first))
    hops = shortest_path(view, [first], parse('electionState = "LEADER_READY"').rows(view))
    last = view.state(hops[-1].target)

    assert member.module_state is ModuleState.CLOSED
    assert (member.recording_log, member.recorded_position) == ((), 0)
    assert hops[0].action == "Restart"
    assert last["electionState"] == "LEADER_READY"


def test_a_projection_keeps_every_state_and_edge(view: MemberView) -> None:
    found = project(view, "electionState, role")

    assert found.counts.sum() == view.state_count
    assert sum(edge.count for edge in found.edges) == view.edge_count
    assert (found.left_out_classes, found.left_out_states, found.left_out_edges) == (0, 0, 0)


def test_states_differ_in_more_than_the_numbering_of_peers(view: MemberView) -> None:
    """The hashes are equal for twins and different for all other states."""
    graph = view.graph
    every = identities_of(graph)

    assert len(np.unique(every, axis=0)) == view.state_count
    assert np.array_equal(every, every[graph.representative])

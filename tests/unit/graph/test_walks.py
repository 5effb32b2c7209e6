"""Paths, projections and neighbourhoods, held against networkx."""

from __future__ import annotations

from collections import Counter
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from canvass.graph import GraphError
from canvass.graph.dump_graph import DumpView
from canvass.graph.export import to_networkx
from canvass.graph.predicate import parse
from canvass.graph.queries import NoPath, around, project, shortest_path
from support.examples import examples
from support.state_graphs import Edge, numbered, numbers, view_of

ACTIONS = ("Go", "Stop")

edge_lists = st.integers(1, 12).flatmap(
    lambda count: st.tuples(
        st.just(count),
        st.lists(
            st.tuples(
                st.integers(0, count - 1), st.sampled_from(ACTIONS), st.integers(0, count - 1)
            ),
            max_size=40,
        ),
    )
)


def oracle(view: DumpView, actions: tuple[str, ...] = ACTIONS) -> Any:
    made = nx.MultiDiGraph()
    made.add_nodes_from(range(view.state_count))
    for number in view.out.edge.tolist():
        edge = view.edge(number)
        if edge.action in actions:
            made.add_edge(edge.source, edge.target, action=edge.action)
    return made


@examples(40)
@given(edge_lists, st.sampled_from([None, ("Go",)]), st.integers(0, 11), st.integers(0, 11))
def test_shortest_paths_are_as_short_as_those_of_networkx(
    drawn: tuple[int, list[Edge]], actions: tuple[str, ...] | None, one: int, two: int
) -> None:
    count, edges = drawn
    view = numbered(count, [*edges, (0, "Go", 0)])
    source, target = one % count, two % count
    made = oracle(view, actions or ACTIONS)
    lengths = nx.single_source_shortest_path_length(made, source)

    if target not in lengths:
        with pytest.raises(NoPath):
            shortest_path(view, [source], [target], actions)
        return
    hops = shortest_path(view, [source], [target], actions)
    assert len(hops) == lengths[target]
    ends = [source, *(hop.target for hop in hops)]
    assert ends[-1] == target
    for begin, hop in zip(ends, hops, strict=False):
        edge = view.edge(hop.edge)
        assert (edge.source, edge.action, edge.target) == (begin, hop.action, hop.target)
        assert actions is None or hop.action in actions


@examples(40)
@given(edge_lists)
def test_a_projection_counts_states_and_edges_of_its_classes(
    drawn: tuple[int, list[Edge]],
) -> None:
    count, edges = drawn
    states = [{"n": number, "kind": "low" if number < 3 else "high"} for number in range(count)]
    view = view_of(states, edges)
    kinds = [view.tree(row)["kind"] for row in range(count)]
    found = project(view, "kind")
    expected = Counter(
        (kinds[one], kinds[two], data["action"]) for one, two, data in oracle(view).edges(data=True)
    )

    assert dict(zip(found.keys, found.counts.tolist(), strict=True)) == Counter(kinds)
    assert expected == {
        (found.keys[edge.source], found.keys[edge.target], edge.action): edge.count
        for edge in found.edges
    }
    for key, lowest in zip(found.keys, found.examples.tolist(), strict=True):
        assert lowest == kinds.index(key)


@examples(40)
@given(edge_lists, st.integers(1, 3), st.integers(1, 12))
@example((4, [(0, "Go", 1), (1, "Go", 2), (2, "Go", 0), (2, "Go", 3)]), 3, 12)
@example((6, [*((0, "Go", end) for end in range(1, 5)), (4, "Go", 5)]), 2, 3)
def test_a_neighbourhood_says_what_it_leaves_out(
    drawn: tuple[int, list[Edge]], depth: int, limit: int
) -> None:
    count, edges = drawn
    view = numbered(count, edges)
    made = oracle(view)
    ahead = nx.single_source_shortest_path_length(made, 0, depth)
    behind = nx.single_source_shortest_path_length(made.reverse(), 0, depth)
    found = around(view, 0, depth, limit)
    near = {row: min(ahead.get(row, 99), behind.get(row, 99)) for row in (*ahead, *behind)}
    rows = found.rows.tolist()

    assert len(rows) == min(limit, len(near))
    assert found.left_out_states == len(near) - len(rows)
    assert [abs(layer) for layer in found.layers.tolist()] == [near[row] for row in rows]
    assert rows[0] == 0
    beside = {row: {*made.successors(row), *made.predecessors(row)} for row in rows}
    for row in rows[1:]:
        assert any(near[other] == near[row] - 1 for other in beside[row] & set(rows))
    # Something of the second ring is seen, however many states the first one has.
    if depth == 2 and limit >= 3 and 2 in near.values():
        assert any(near[row] == 2 for row in rows)
    between = [(s, t) for s, t in made.edges() if s in rows and t in rows]
    across = [(s, t) for s, t in made.edges() if (s in rows) != (t in rows)]
    assert sum(arrow.count for arrow in found.arrows) == len(between)
    assert found.left_out_edges == len(across)
    for place, row in enumerate(rows):
        beyond = {*made.successors(row), *made.predecessors(row)} - set(rows)
        assert found.more[place] == len(beyond)


def test_of_several_shortest_paths_it_is_the_same_one_each_time() -> None:
    edges = [(0, "Go", 1), (0, "Go", 2), (1, "Go", 3), (2, "Go", 3), (0, "Stop", 1)]
    shuffled = [edges[place] for place in (3, 0, 4, 2, 1)]
    one, two = numbered(4, edges), numbered(4, shuffled)
    targets = parse("n = 3").rows(one).tolist()

    assert shortest_path(one, one.initial, targets) == shortest_path(two, two.initial, targets)


def test_a_path_to_where_one_already_is_has_no_step() -> None:
    assert shortest_path(numbered(2, [(0, "Go", 1)]), [0, 1], [1]) == []


def test_wrong_rows_and_actions_are_refused() -> None:
    view = numbered(2, [(0, "Go", 1)])

    with pytest.raises(GraphError, match="no such row"):
        shortest_path(view, [0], [2])
    with pytest.raises(GraphError, match="no action is called 'Goo'; did you mean Go"):
        shortest_path(view, [0], [1], ["Goo"])
    with pytest.raises(GraphError, match="has no edge 7"):
        view.edge(7)


def test_a_projection_says_what_its_limit_cuts_off() -> None:
    view = numbered(5, [(0, "Go", 1), (1, "Go", 2)])
    found = project(view, "n, n > 1", limit=2)
    kept = set(np.flatnonzero(found.class_of >= 0).tolist())

    assert (found.left_out_classes, found.left_out_states) == (3, 3)
    assert found.left_out_edges + sum(edge.count for edge in found.edges) == 2
    assert kept == {0, 1}
    assert found.labels[0] in {f"{n}, {'TRUE' if n > 1 else 'FALSE'}" for n in numbers(view)}


def test_networkx_gets_a_graph_within_the_limit_only() -> None:
    view = numbered(3, [(0, "Go", 1), (1, "Stop", 1), (1, "Go", 2)])
    made = to_networkx(view)

    actions = nx.get_edge_attributes(made, "action")
    assert sorted(actions.values()) == ["Go", "Go", "Stop"]
    assert nx.number_of_selfloops(made) == 1
    with pytest.raises(GraphError, match="more than the 1 that"):
        to_networkx(view, limit=1)

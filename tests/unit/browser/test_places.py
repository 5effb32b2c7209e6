"""Places of nodes: whatever the graph is, nothing overlaps, and the same graph looks the same."""

from __future__ import annotations

from collections import deque
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from canvass.browser.layout import HEIGHT, TALLEST, WIDTH, Pair, layers_from, place

Drawn = tuple[int, list[Pair], list[int]]


@st.composite
def graphs(draw: st.DrawFn) -> Drawn:
    """A number of nodes, edges between them, and some roots."""
    count = draw(st.integers(1, 60))
    nodes = st.integers(0, count - 1)
    edges = draw(st.lists(st.tuples(nodes, nodes), max_size=150))
    roots = draw(st.lists(nodes, min_size=1, max_size=3, unique=True))
    return count, edges, roots


@given(graphs())
def test_no_two_nodes_overlap(drawn: Drawn) -> None:
    count, edges, roots = drawn
    placed = place(layers_from(count, edges, roots), edges)

    for one, two in combinations(range(count), 2):
        apart_x = abs(placed.x[one] - placed.x[two])
        apart_y = abs(placed.y[one] - placed.y[two])
        assert apart_x >= WIDTH or apart_y >= HEIGHT


@given(graphs())
def test_later_layers_stand_further_to_the_right(drawn: Drawn) -> None:
    count, edges, roots = drawn
    placed = place(layers_from(count, edges, roots), edges)

    for one, two in combinations(range(count), 2):
        if placed.layer[one] < placed.layer[two]:
            assert placed.x[one] + WIDTH <= placed.x[two]


@given(graphs(), st.randoms(use_true_random=False))
def test_the_same_graph_has_the_same_places(drawn: Drawn, chance: object) -> None:
    count, edges, roots = drawn
    again = list(edges)
    chance.shuffle(again)  # type: ignore[attr-defined]
    layers = layers_from(count, edges, roots)

    assert layers_from(count, again, roots) == layers
    assert place(layers, [*again, *again]) == place(layers, edges)


@given(graphs())
def test_layers_are_distances_from_the_roots(drawn: Drawn) -> None:
    count, edges, roots = drawn
    layers = layers_from(count, edges, roots)
    distance = dict.fromkeys(roots, 0)
    waiting = deque(roots)
    while waiting:
        node = waiting.popleft()
        for source, target in edges:
            if source == node and target not in distance:
                distance[target] = distance[node] + 1
                waiting.append(target)

    shift = layers[roots[0]]
    assert {node: layers[node] - shift for node in distance} == distance
    assert min(layers) == 0


def test_what_leads_to_the_roots_stands_before_them() -> None:
    assert layers_from(4, [(0, 1), (1, 2), (3, 1)], [1]) == [0, 1, 2, 0]


def test_a_chain_is_drawn_in_one_line() -> None:
    edges = [(k, k + 1) for k in range(9)]
    placed = place(layers_from(10, edges, [0]), edges)

    assert set(placed.y) == {0.0}
    assert list(placed.x) == sorted(placed.x)


def test_edges_of_a_ladder_do_not_cross() -> None:
    edges = [(0, 1), (0, 2), (1, 3), (2, 4), (3, 5), (4, 6)]
    placed = place(layers_from(7, edges, [0]), edges)
    upper = placed.y[1] < placed.y[2]

    assert (placed.y[3] < placed.y[4]) == upper
    assert (placed.y[5] < placed.y[6]) == upper


def test_a_wide_layer_takes_several_columns() -> None:
    edges = [(0, k) for k in range(1, 201)]
    placed = place(layers_from(201, edges, [0]), edges)
    heights = [list(placed.x).count(x) for x in set(placed.x)]

    assert len(heights) > 8
    assert max(heights) <= TALLEST


def test_nothing_has_no_places() -> None:
    assert place([], []).x == ()

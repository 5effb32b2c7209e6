"""The part of a graph around a state, laid out for the page, and what runs take of it.

What is near a state is found by `canvass.graph.walks`; here it gets places and names. Nodes stand
in layers from left to right, as labels are wide and low. The order within a layer comes from sweeps
over barycentres, the heights from moving nodes towards their neighbours as far as the others let
them. A layer of many nodes takes several columns. The same graph always gets the same places.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from dataclasses import replace as changed
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from canvass.browser import api
from canvass.browser.graphs import OpenGraph
from canvass.browser.labels import distinct_labels, edge_words, label_of, moved_member, near_label
from canvass.browser.limits import DRAWN_EDGES
from canvass.graph.walks import Arrow, Neighbourhood, around, arrows_among
from canvass.lanes.of_counterexample import is_cluster

WIDTH: Final = 190.0
HEIGHT: Final = 44.0
"""Room that a node takes with its label."""
COLUMN_GAP: Final = 90.0
LAYER_GAP: Final = 160.0
ROW_GAP: Final = 18.0
SWEEPS: Final = 8
TALLEST: Final = 26
"""Nodes of one column at most, but for graphs that would become much wider than high."""

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Placed:
    """Where the nodes stand: their middles, and the layer of each."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    layer: tuple[int, ...]


def layers_from(count: int, edges: Iterable[Pair], roots: Sequence[int]) -> list[int]:
    """Give each node its distance from the roots, along edges or, where none leads, against them.

    Nodes that nothing connects to the roots stand in the first layer.
    """
    forward: list[list[int]] = [[] for _ in range(count)]
    backward: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        forward[source].append(target)
        backward[target].append(source)
    layer: list[int | None] = [None] * count
    for root in roots:
        layer[root] = 0
    waiting = deque(roots)
    while waiting:
        node = waiting.popleft()
        for other in forward[node]:
            if layer[other] is None:
                layer[other] = (layer[node] or 0) + 1
                waiting.append(other)
    # What only leads into the part that was reached stands before it.
    waiting = deque(node for node in range(count) if layer[node] is not None)
    while waiting:
        node = waiting.popleft()
        for other in backward[node]:
            if layer[other] is None:
                layer[other] = (layer[node] or 0) - 1
                waiting.append(other)
    lowest = min((one for one in layer if one is not None), default=0)
    return [0 if one is None else one - lowest for one in layer]


def place(layer: Sequence[int], edges: Iterable[Pair]) -> Placed:
    """Give places to nodes whose layers are known.

    Parameters
    ----------
    layer
        For each node its layer, from 0.
    edges
        Pairs of nodes; loops and repetitions have no influence.
    """
    near = _undirected(len(layer), edges)
    rows: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for node, one in enumerate(layer):
        rows[one].append(node)
    _order(rows, near, layer)
    tallest = max(TALLEST, int((2 * len(layer)) ** 0.5))
    x, y = [0.0] * len(layer), [0.0] * len(layer)
    left = 0.0
    for row in rows:
        columns = _columns(row, tallest)
        for number, column in enumerate(columns):
            for node in column:
                x[node] = left + number * (WIDTH + COLUMN_GAP)
            _spread(column, y)
        left += max(1, len(columns)) * (WIDTH + COLUMN_GAP) - COLUMN_GAP + LAYER_GAP
    by_column = _by_column(x)
    for sweep in range(SWEEPS):
        for column in by_column if sweep % 2 == 0 else reversed(by_column):
            _straighten(column, near, y)
    top = min(y, default=0.0)
    return Placed(tuple(x), tuple(round(one - top, 1) for one in y), tuple(layer))


def _undirected(count: int, edges: Iterable[Pair]) -> list[list[int]]:
    near: list[set[int]] = [set() for _ in range(count)]
    for one, two in edges:
        if one != two:
            near[one].add(two)
            near[two].add(one)
    return [sorted(each) for each in near]


def _order(rows: list[list[int]], near: list[list[int]], layer: Sequence[int]) -> None:
    """Sweep over the layers, forwards and back, and put each in the order of its barycentres."""
    position = [0.0] * len(layer)

    def settle(row: list[int]) -> None:
        for place_in_row, node in enumerate(row):
            # Of the middle of the layer, so that layers of different sizes compare.
            position[node] = place_in_row - (len(row) - 1) / 2

    for row in rows:
        settle(row)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for number in range(len(rows)) if down else range(len(rows) - 1, -1, -1):
            wanted = {}
            for node in rows[number]:
                beside = [
                    position[other]
                    for other in near[node]
                    if (layer[other] < number if down else layer[other] > number)
                ]
                wanted[node] = sum(beside) / len(beside) if beside else position[node]
            rows[number].sort(key=lambda node: (wanted[node], node))
            settle(rows[number])


def _columns(row: list[int], tallest: int) -> list[list[int]]:
    """Cut a layer into columns of nearly the same height, dealing its nodes out in turns."""
    count = -(-len(row) // tallest)
    return [row[number::count] for number in range(count)]


def _spread(column: list[int], y: list[float]) -> None:
    for place_in_column, node in enumerate(column):
        y[node] = (place_in_column - (len(column) - 1) / 2) * (HEIGHT + ROW_GAP)


def _by_column(x: list[float]) -> list[list[int]]:
    found: dict[float, list[int]] = {}
    for node, one in enumerate(x):
        found.setdefault(one, []).append(node)
    return [found[one] for one in sorted(found)]


def _straighten(column: list[int], near: list[list[int]], y: list[float]) -> None:
    """Move the nodes of a column towards their neighbours, keeping their order and distances.

    Least squares under the order: runs of nodes that want to pass each other move as one.
    """
    column.sort(key=lambda node: (y[node], node))
    step = HEIGHT + ROW_GAP
    blocks: list[tuple[float, int]] = []
    for number, node in enumerate(column):
        beside = [y[other] for other in near[node]]
        wanted = sum(beside) / len(beside) if beside else y[node]
        total, count = wanted - number * step, 1
        while blocks and blocks[-1][0] / blocks[-1][1] > total / count:
            before, size = blocks.pop()
            total, count = total + before, count + size
        blocks.append((total, count))
    number = 0
    for total, count in blocks:
        for _ in range(count):
            y[column[number]] = total / count + number * step
            number += 1


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is drawn around a state.

    Parameters
    ----------
    depth, limit
        Steps away, and states at most.
    actions
        Whose edges count; all if there are none.
    include
        A state that is drawn whatever the limit is, if an edge connects it with one that is.
    """

    depth: int
    limit: int
    actions: tuple[str, ...] = ()
    include: int | None = None


def find_near(graph: OpenGraph, row: int, extent: Extent) -> Neighbourhood:
    """Find what is near a state.

    Raises
    ------
    GraphError
        If the graph has no action of a name.
    """
    view, actions = graph.view, extent.actions or None
    found = around(view, row, extent.depth, extent.limit, actions)
    extra = extent.include
    if extra is None or extra in found.rows:
        return found
    rows = np.append(found.rows, np.int32(extra))
    arrows = arrows_among(view, rows, actions)
    beside = {one.source for one in arrows if one.target == extra} - {extra}
    beside |= {one.target for one in arrows if one.source == extra} - {extra}
    if not beside:
        return found
    layer_of = dict(zip(found.rows.tolist(), found.layers.tolist(), strict=True))
    led_to = [one.source for one in arrows if one.target == extra and one.source != extra]
    layer = 1 + min(layer_of[one] for one in led_to) if led_to else -1
    more = found.more - np.isin(found.rows, list(beside))
    return changed(
        found,
        rows=rows,
        layers=np.append(found.layers, np.int32(layer)),
        more=np.append(more, np.int32(_hidden(graph, extra, rows, actions))).astype(np.int32),
        arrows=arrows,
        left_out_states=max(0, found.left_out_states - 1),
        left_out_edges=max(0, found.left_out_edges - _count(arrows, extra)),
    )


def _count(arrows: Collection[Arrow], row: int) -> int:
    return sum(one.count for one in arrows if row in (one.source, one.target))


def _hidden(
    graph: OpenGraph, row: int, shown: NDArray[np.int32], actions: Collection[str] | None
) -> int:
    """Count the states beside one that are not shown."""
    beside = around(graph.view, row, 1, 1, actions)
    return int(beside.more[0]) - int(np.isin(_neighbours(graph, row, actions), shown).sum())


def _neighbours(graph: OpenGraph, row: int, actions: Collection[str] | None) -> NDArray[np.int32]:
    view = graph.view
    codes = [view.actions.index(name) for name in actions or view.actions]
    leaving = slice(int(view.out_offsets[row]), int(view.out_offsets[row + 1]))
    entering = slice(int(view.in_offsets[row]), int(view.in_offsets[row + 1]))
    ends = np.concatenate(
        [
            view.out_target[leaving][np.isin(view.out_action[leaving], codes)],
            view.in_source[entering][np.isin(view.in_action[entering], codes)],
        ]
    )
    return np.setdiff1d(ends, [row]).astype(np.int32)


def draw(graph: OpenGraph, row: int, extent: Extent) -> api.Around:
    """Lay out what is near a state."""
    near = find_near(graph, row, extent)
    rows = near.rows.tolist()
    number = {one: place_of for place_of, one in enumerate(rows)}
    pairs = [(number[one.source], number[one.target]) for one in near.arrows]
    lowest = int(near.layers.min())
    placed = place([int(one) - lowest for one in near.layers.tolist()], pairs)
    trees = {one: graph.view.tree(one) for one in rows}
    named = {one: near_label(tree, trees[row]) for one, tree in trees.items() if one != row}
    labels = distinct_labels(named, trees) | {row: label_of(trees[row])}
    nodes = tuple(
        _node(
            graph,
            one,
            labels[one],
            trees[one],
            None if one == row else trees[row],
            spot,
            int(near.more[k]),
        )
        for k, (one, *spot) in enumerate(zip(rows, placed.x, placed.y, strict=True))
    )
    shown, cut = near.arrows[:DRAWN_EDGES], near.arrows[DRAWN_EDGES:]
    view = graph.view
    return api.Around(
        root=view.id_of(row),
        nodes=nodes,
        edges=tuple(
            api.Edge(
                id=one.edge,
                source=view.id_of(one.source),
                target=view.id_of(one.target),
                action=one.action,
                loop=one.source == one.target,
                count=one.count,
                words=edge_words(trees[one.source], trees[one.target], one.action),
            )
            for one in shown
        ),
        left_out=api.LeftOut(
            states=near.left_out_states,
            edges=near.left_out_edges + sum(one.count for one in cut),
        ),
    )


def _node(
    graph: OpenGraph,
    row: int,
    label: str,
    tree: dict[str, Any],
    centre: dict[str, Any] | None,
    spot: Sequence[float],
    more: int,
) -> api.Node:
    """Draw a state; beside the centre by what differs from it."""
    x, y = spot
    sign: str | msgspec.UnsetType = msgspec.UNSET
    shown: Any = tree
    if is_cluster(tree):
        name = None if centre is None else moved_member(tree, centre)
        sign, shown = name or "", tree["member"].get(name, {})
    election = shown.get("electionState") if graph.view.kind == "member" or sign else None
    return api.Node(
        id=graph.view.id_of(row),
        label=label,
        x=x,
        y=y,
        initial=graph.view.is_initial(row),
        expanded=bool(graph.view.expanded[row]),
        more=more,
        election_state=election if isinstance(election, str) else msgspec.UNSET,
        sign=sign,
    )


def drawn_edges(graph: OpenGraph, row: int, extent: Extent) -> list[tuple[int, list[int]]]:
    """Give the edges that `draw` draws, each with all edges that it stands for."""
    near = find_near(graph, row, extent)
    return [
        (one.edge, edges_of(graph, one.source, one.target, one.action))
        for one in near.arrows[:DRAWN_EDGES]
    ]


def edges_of(graph: OpenGraph, source: int, target: int, action: str) -> list[int]:
    """Give all edges of an action from one state to another; a drawing has the lowest of them."""
    view = graph.view
    leaving = slice(int(view.out_offsets[source]), int(view.out_offsets[source + 1]))
    code = view.actions.index(action)
    same = (view.out_target[leaving] == target) & (view.out_action[leaving] == code)
    found: list[int] = np.sort(view.out_edge[leaving][same]).tolist()
    return found

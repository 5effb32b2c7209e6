"""The part of a graph around a state, laid out for the page, and what runs take of it.

What is near a state is found by `canvass.graph.walks`; here it gets places and names.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from dataclasses import replace as changed
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from canvass.browser import api
from canvass.browser.graphs import OpenGraph
from canvass.browser.labels import distinct_labels, edge_words, label_of, moved_member, near_label
from canvass.browser.layout import place
from canvass.browser.limits import DRAWN_EDGES
from canvass.graph.walks import Arrow, Neighbourhood, around, arrows_among
from canvass.lanes.of_counterexample import is_cluster


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

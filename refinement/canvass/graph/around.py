"""What is near a state: its neighbours up to some depth, and how much of it was left out."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from canvass.graph.actions import allowed_in, allowed_out
from canvass.graph.csr import Rows
from canvass.graph.view import StateGraph
from canvass.steps.distinct import distinct_rows

Direction = Literal["out", "in", "both"]


@dataclass(frozen=True, slots=True)
class Arrow:
    """Edges of one action from one state to another.

    Attributes
    ----------
    edge
        The lowest number among them.
    count
        How many there are.
    """

    source: int
    target: int
    action: str
    edge: int
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class Neighbourhood:
    """A part of a graph around a state.

    Attributes
    ----------
    root
        The state.
    rows
        The states shown: the root, then by distance.
    layers
        How far each is from the root: negative for those that lead to it.
    more
        For each state shown, how many states it leads to or that lead to it are not shown.
    arrows
        All edges between states shown.
    left_out_states
        How many more there are within the depth.
    left_out_edges
        How many edges connect a state shown with one that is not.
    """

    root: int
    rows: Rows
    layers: Rows
    more: Rows
    arrows: tuple[Arrow, ...]
    left_out_states: int
    left_out_edges: int


def around(
    graph: StateGraph,
    row: int,
    depth: int = 1,
    limit: int = 200,
    actions: Collection[str] | None = None,
    *,
    direction: Direction = "both",
) -> Neighbourhood:
    """Give the states around a state.

    Parameters
    ----------
    graph
        The state graph.
    row
        The state.
    depth
        How many steps away they may be.
    limit
        How many states are shown at most, those nearest to the root.
    actions
        The actions whose edges count; all by default.
    direction
        Forwards, backwards, or both.

    Raises
    ------
    GraphError
        If the graph has no action of a name.
    """
    layer = _layers(graph, row, depth, actions, direction)
    reached = np.flatnonzero(layer != _FAR)
    nearest = np.lexsort((reached, layer[reached] < 0, np.abs(layer[reached])))
    rows = reached[nearest[: max(limit, 1)]].astype(np.int32)
    shown = np.zeros(graph.state_count, dtype=np.bool_)
    shown[rows] = True
    arrows = arrows_among(graph, rows, actions)
    more, left_out_edges = _more(graph, rows, shown, actions)
    return Neighbourhood(
        root=row,
        rows=rows,
        layers=layer[rows],
        more=more,
        arrows=arrows,
        left_out_states=len(reached) - len(rows),
        left_out_edges=left_out_edges,
    )


_FAR = np.iinfo(np.int32).max


def _layers(
    graph: StateGraph, row: int, depth: int, actions: Collection[str] | None, direction: Direction
) -> Rows:
    layer = np.full(graph.state_count, _FAR, dtype=np.int32)
    layer[row] = 0
    walks = []
    if direction in ("out", "both"):
        walks.append((1, graph.out_offsets, graph.out_target, allowed_out(graph, actions)))
    if direction in ("in", "both"):
        walks.append((-1, graph.in_offsets, graph.in_source, allowed_in(graph, actions)))
    frontiers = [np.array([row], dtype=np.int64) for _ in walks]
    seen = [layer == 0 for _ in walks]
    # Layer by layer in both directions, so that a state is put where it is nearest to the root;
    # each walk goes on from there, whichever of them came first.
    for distance in range(1, depth + 1):
        for place, (sign, offsets, ends, allowed) in enumerate(walks):
            at = spans(offsets, frontiers[place])
            found = np.unique(ends[at[allowed[at]]])
            fresh = found[~seen[place][found]]
            seen[place][fresh] = True
            layer[fresh[layer[fresh] == _FAR]] = sign * distance
            frontiers[place] = fresh.astype(np.int64)
        if not any(map(len, frontiers)):
            break
    return layer


def spans(offsets: NDArray[np.int64], rows: NDArray[np.integer]) -> NDArray[np.int64]:
    """Give the places of all edges of some states, one state after another."""
    starts = offsets[rows]
    sizes = offsets[np.asarray(rows) + 1] - starts
    first = np.cumsum(sizes) - sizes
    places: NDArray[np.int64] = np.arange(int(sizes.sum())) + np.repeat(starts - first, sizes)
    return places


def arrows_among(
    graph: StateGraph, rows: Rows, actions: Collection[str] | None = None
) -> tuple[Arrow, ...]:
    """Give all edges between some states; those of one action side by side are one arrow."""
    shown = np.zeros(graph.state_count, dtype=np.bool_)
    shown[rows] = True
    ordered = np.sort(rows)
    at = spans(graph.out_offsets, ordered)
    owner = np.repeat(ordered, np.diff(graph.out_offsets)[ordered])
    kept = shown[graph.out_target[at]] & allowed_out(graph, actions)[at]
    at, owner = at[kept], owner[kept]
    cells = np.stack([owner, graph.out_target[at], graph.out_action[at]], axis=1)
    first, places = distinct_rows(cells)
    counts = np.bincount(places, minlength=len(first)).tolist()
    edges = graph.out_edge[at[first]].tolist()
    return tuple(
        Arrow(source, target, graph.actions[action], edge, count)
        for (source, target, action), edge, count in zip(
            cells[first].tolist(), edges, counts, strict=True
        )
    )


def _more(
    graph: StateGraph, rows: Rows, shown: NDArray[np.bool_], actions: Collection[str] | None
) -> tuple[Rows, int]:
    """Count what lies beyond the states shown: distinct states of each, and edges in all."""
    beyond: list[NDArray[np.int64]] = []
    edges = 0
    for offsets, ends, allowed in (
        (graph.out_offsets, graph.out_target, allowed_out(graph, actions)),
        (graph.in_offsets, graph.in_source, allowed_in(graph, actions)),
    ):
        at = spans(offsets, rows)
        owner = np.repeat(np.arange(len(rows)), np.diff(offsets)[rows])
        hidden = allowed[at] & ~shown[ends[at]]
        edges += int(hidden.sum())
        beyond.append(owner[hidden] * np.int64(graph.state_count) + ends[at[hidden]])
    distinct = np.unique(np.concatenate(beyond))
    counts = np.bincount(distinct // max(graph.state_count, 1), minlength=len(rows))
    return counts.astype(np.int32), edges

"""Questions to a state graph: shortest paths, neighbourhoods, and projections.

SciPy visits states and edges in the order of their numbers, so the answer is always the same. In a
projection, states that agree in an expression become one class, and edges lead between classes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csgraph, csr_array

from canvass.graph import GraphError
from canvass.graph.folders import Offsets, Rows
from canvass.graph.predicate import Answers, OnProgress, evaluate
from canvass.graph.syntax import near
from canvass.graph.values import tree_of
from canvass.graph.view import EdgeView, Side, StateGraph
from canvass.tlc.values import format_value
from canvass.traces.columns import distinct_rows, offsets_of


def has_action(graph: StateGraph, side: Side, names: Collection[str] | None) -> NDArray[np.bool_]:
    """Mark the edges of a side that have one of these actions; all edges without ``names``.

    Raises
    ------
    GraphError
        If the graph has no action of a name.
    """
    if names is None:
        return np.ones(len(side.ends), dtype=np.bool_)
    for name in names:
        if name not in graph.actions:
            raise GraphError(f"no action is called {ascii(name)[:60]}{near(name, graph.actions)}")
    return np.isin(side.action, [graph.actions.index(name) for name in names])


def terminal_states(graph: StateGraph) -> NDArray[np.bool_]:
    """Give for each state whether its steps are in the graph and none leads to another state."""
    found = graph.expanded.copy()
    found[graph.out.own[graph.out.ends != graph.out.own]] = False
    return found


class NoPath(GraphError):
    """No path leads from any of the first states to any of the others."""


def shortest_path(
    graph: StateGraph,
    sources: Iterable[int],
    targets: Iterable[int],
    actions: Collection[str] | None = None,
) -> list[EdgeView]:
    """Give a shortest path from one of the sources to one of the targets.

    If there are several shortest paths, the result is the same one each time: the walk visits
    states and edges in the order of their numbers.

    Parameters
    ----------
    graph
        The state graph.
    sources, targets
        Rows of states.
    actions
        The actions that may be taken; all by default.

    Returns
    -------
    list
        The steps of the path; empty if a source is a target.

    Raises
    ------
    NoPath
        If there is no path.
    GraphError
        If the graph has no action of a name.
    """
    out, allowed = graph.out, has_action(graph, graph.out, actions)
    wanted = np.zeros(graph.state_count + 1, dtype=np.bool_)
    wanted[_rows(graph, targets)] = True
    # An extra row after all states leads to the sources; the walk begins there.
    edges, start = _matrix(graph, allowed, _rows(graph, sources)), graph.state_count
    order, previous = csgraph.breadth_first_order(edges, start)
    found = np.flatnonzero(wanted[order])
    if not len(found):
        raise NoPath("no path leads there")
    hops: list[EdgeView] = []
    row = int(order[found[0]])
    while (source := int(previous[row])) != start:
        places = out.places(np.array([source]))
        place = places[allowed[places] & (out.ends[places] == row)][0]
        hops.append(graph.edge(int(out.edge[place])))
        row = source
    return hops[::-1]


def _rows(graph: StateGraph, rows: Iterable[int]) -> Rows:
    found = np.unique(np.asarray(rows if isinstance(rows, np.ndarray) else list(rows), np.int64))
    if len(found) and not 0 <= found[0] <= found[-1] < graph.state_count:
        raise GraphError(f"{graph.title} has {graph.state_count:,} states, and no such row")
    return found.astype(np.int32)


def _matrix(graph: StateGraph, allowed: NDArray[np.bool_], last: Rows | None = None) -> csr_array:
    """Give the allowed edges as SciPy's matrix; ``last`` adds a row that leads to these states."""
    ends, offsets = graph.out.ends, graph.out.offsets
    if not allowed.all():
        ends, offsets = ends[allowed], offsets_of(allowed)[offsets]
    if last is not None:
        ends = np.concatenate([ends, last])
        offsets = np.append(offsets, len(ends))
    size = len(offsets) - 1
    return csr_array((np.ones(len(ends)), ends, offsets), shape=(size, size))


@dataclass(frozen=True, slots=True)
class Arrow:
    """Edges of one action from one state to another, or from one class of states to another.

    Attributes
    ----------
    source, target
        Rows of states, or numbers of classes.
    edge
        The lowest number of these edges.
    count
        The number of these edges.
    """

    source: int
    target: int
    action: str
    edge: int
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class Neighbourhood:
    """A part of a graph around a state, the root.

    Attributes
    ----------
    rows
        The states shown: the root, then the others by distance.
    layers
        The distance of each state shown from the root; negative for states that lead to the root.
    more
        For each state shown, the number of its neighbours that are not shown.
    arrows
        All edges between states shown.
    left_out_states
        The number of states within the depth that are not shown.
    left_out_edges
        The number of edges that connect a state shown with one that is not.
    """

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
) -> Neighbourhood:
    """Give the states around a state.

    Parameters
    ----------
    graph
        The state graph.
    row
        The state.
    depth
        The largest distance from the state, in steps.
    limit
        The most states that are shown. Each distance from the root has a share of them, so that
        distant states are shown as well. What the shares leave goes to the nearest states.
    actions
        The actions whose edges count; all by default.

    Raises
    ------
    GraphError
        If the graph has no action of a name.
    """
    layer = _layers(graph, row, depth, actions)
    reached = np.flatnonzero(layer != _FAR)
    nearest = np.lexsort((reached, layer[reached] < 0, np.abs(layer[reached])))
    shown = _shares(graph, reached[nearest], np.abs(layer), limit, actions)
    rows = reached[nearest][shown[reached[nearest]]].astype(np.int32)
    arrows = arrows_among(graph, rows, actions)
    more, left_out_edges = _hidden_neighbours(graph, rows, shown, actions)
    return Neighbourhood(
        rows=rows,
        layers=layer[rows],
        more=more,
        arrows=arrows,
        left_out_states=len(reached) - len(rows),
        left_out_edges=left_out_edges,
    )


_FAR = np.iinfo(np.int32).max


def _shares(
    graph: StateGraph,
    ordered: NDArray[np.int64],
    distance: Rows,
    limit: int,
    actions: Collection[str] | None,
) -> NDArray[np.bool_]:
    """Choose the states to show: at each distance some neighbours of states that are shown.

    States with a neighbour at a larger distance come first.
    """
    shown = np.zeros(graph.state_count, dtype=np.bool_)
    shown[ordered[:1]] = True
    left, depth = max(limit, 1) - 1, int(distance[ordered[-1]])
    rings = [ordered[distance[ordered] == far] for far in range(depth + 1)]
    last = rings[0]
    for far, ring in enumerate(rings[1:], 1):
        ends = ~_beside(graph, rings[far + 1], actions)[ring] if far < depth else ring < 0
        known = ring[np.argsort(ends, kind="stable")]
        last = known[_beside(graph, last, actions)[known]][: -(-left // (depth - far + 1))]
        shown[last] = True
        left -= len(last)
    shown[ordered[~shown[ordered]][:left]] = True
    return shown


def _beside(
    graph: StateGraph, rows: NDArray[np.int64], actions: Collection[str] | None
) -> NDArray[np.bool_]:
    """Mark the states that some states lead to, or that lead to them."""
    marked = np.zeros(graph.state_count, dtype=np.bool_)
    for side in (graph.out, graph.into):
        at = side.places(rows)
        marked[side.ends[at[has_action(graph, side, actions)[at]]]] = True
    return marked


def _layers(graph: StateGraph, row: int, depth: int, actions: Collection[str] | None) -> Rows:
    """Give each state's distance from one, negative if the way back is shorter; `_FAR` for none."""
    sides = (graph.out, graph.into)
    ahead, behind = (
        _distances(side, row, depth, has_action(graph, side, actions)) for side in sides
    )
    return np.where(ahead <= behind, ahead, -behind)


def _distances(side: Side, row: int, depth: int, allowed: NDArray[np.bool_]) -> Rows:
    distances: Rows = np.full(len(side.offsets) - 1, _FAR, dtype=np.int32)
    distances[row] = 0
    reached = np.array([row], dtype=np.int32)
    for distance in range(1, depth + 1):
        at = side.places(reached)
        found = np.unique(side.ends[at[allowed[at]]])
        reached = found[distances[found] == _FAR]
        distances[reached] = distance
    return distances


def arrows_among(
    graph: StateGraph, rows: Rows, actions: Collection[str] | None = None
) -> tuple[Arrow, ...]:
    """Give all edges between some states; those of one action between the same two are an arrow."""
    shown = np.zeros(graph.state_count, dtype=np.bool_)
    shown[rows] = True
    out = graph.out
    at = out.places(np.sort(rows))
    at = at[shown[out.ends[at]] & has_action(graph, out, actions)[at]]
    return _arrows(graph, at, out.own[at], out.ends[at])


def _arrows(graph: StateGraph, at: Offsets, source: Rows, target: Rows) -> tuple[Arrow, ...]:
    """Group the edges at some places of ``out`` by action and by what they connect."""
    cells = np.stack([source, target, graph.out.action[at]], axis=1)
    first, places = distinct_rows(cells)
    counts = np.bincount(places, minlength=len(first)).tolist()
    edges = graph.out.edge[at[first]].tolist()
    return tuple(
        Arrow(one, two, graph.actions[action], edge, count)
        for (one, two, action), edge, count in zip(
            cells[first].tolist(), edges, counts, strict=True
        )
    )


def _hidden_neighbours(
    graph: StateGraph, rows: Rows, shown: NDArray[np.bool_], actions: Collection[str] | None
) -> tuple[Rows, int]:
    """Count the neighbours of each state shown that are not shown, and all edges to them."""
    beyond: list[NDArray[np.int64]] = []
    edges = 0
    for side in (graph.out, graph.into):
        at = side.places(rows)
        owner = np.repeat(np.arange(len(rows)), np.diff(side.offsets)[rows])
        hidden = has_action(graph, side, actions)[at] & ~shown[side.ends[at]]
        edges += int(hidden.sum())
        beyond.append(owner[hidden] * np.int64(graph.state_count) + side.ends[at[hidden]])
    distinct = np.unique(np.concatenate(beyond))
    counts = np.bincount(distinct // max(graph.state_count, 1), minlength=len(rows))
    return counts.astype(np.int32), edges


# --- projections ----------------------------------------------------------------------------------

_MAX_CLASSES: Final = 10_000
_ABSENT_TEXT: Final = "(absent)"
_MAP_VALUES: Final = (3, 40)
"""Fewest and most values of the field that makes a map of a graph."""


@dataclass(frozen=True, slots=True, eq=False)
class Quotient:
    """A graph of classes of states, the largest class first.

    Attributes
    ----------
    keys
        The value of the expression in each class, as plain JSON values; a list of values if there
        are several expressions.
    labels
        The same values as TLA+ text.
    counts
        The number of states of each class.
    examples
        The lowest row of each class.
    class_of
        For each state its class, -1 if the class was left out.
    edges
        The edges between classes and within a class, ordered by source, target and action.
    left_out_classes, left_out_states, left_out_edges
        The numbers of classes, states and edges that the limit leaves out.
    """

    keys: tuple[Any, ...]
    labels: tuple[str, ...]
    counts: NDArray[np.int64]
    examples: Rows
    class_of: Rows
    edges: tuple[Arrow, ...]
    left_out_classes: int
    left_out_states: int
    left_out_edges: int


def project(
    graph: StateGraph,
    expression: str,
    actions: Collection[str] | None = None,
    *,
    limit: int = _MAX_CLASSES,
    on_progress: OnProgress | None = None,
) -> Quotient:
    """Project a graph onto an expression.

    Parameters
    ----------
    graph
        The state graph.
    expression
        One expression, or several with commas between them.
    actions
        The actions whose edges count; all by default.
    limit
        The most classes; the largest are kept, and the others are only counted.
    on_progress
        See `canvass.graph.predicate.evaluate`.

    Raises
    ------
    PredicateError
        If the text is not an expression over the fields of the graph.
    GraphError
        If the graph has no action of a name.
    """
    found = evaluate(graph, expression, on_progress)
    columns = [answers.codes() for answers in found]
    first, class_of = distinct_rows(np.stack(columns, axis=1))
    counts = np.bincount(class_of, minlength=len(first))
    order = np.lexsort((first, -counts))
    kept = order[: max(limit, 1)]
    number = np.full(len(order), -1, dtype=np.int32)
    number[kept] = np.arange(len(kept), dtype=np.int32)
    of: Rows = number[class_of]
    values = [[_shown(answers, row) for answers in found] for row in first[kept].tolist()]
    out = graph.out
    at = np.flatnonzero(has_action(graph, out, actions))
    source, target = of[out.own[at]], of[out.ends[at]]
    inside = (source >= 0) & (target >= 0)
    return Quotient(
        keys=tuple(row[0][0] if len(row) == 1 else [plain for plain, _ in row] for row in values),
        labels=tuple(", ".join(text for _, text in row) for row in values),
        counts=counts[kept].astype(np.int64),
        examples=first[kept].astype(np.int32),
        class_of=of,
        edges=_arrows(graph, at[inside], source[inside], target[inside]),
        left_out_classes=len(order) - len(kept),
        left_out_states=int((of < 0).sum()),
        left_out_edges=int((~inside).sum()),
    )


def map_field(graph: StateGraph) -> str:
    """Choose the field whose projection is a map of the graph.

    It is the election state, if there is one. Else it is the variable with 3 to 40 values that has
    the highest entropy over the states; empty if there is no such variable.
    """
    if "electionState" in graph.fields:
        return "electionState"
    best, most = "", 0.0
    for name, nodes in graph.columns(graph.fields).nodes.items():
        _, counts = np.unique(nodes, return_counts=True)
        share = counts / len(nodes)
        entropy = float(-(share * np.log(share)).sum())
        if _MAP_VALUES[0] <= len(counts) <= _MAP_VALUES[1] and entropy > most:
            best, most = name, entropy
    return best


def values_at(graph: StateGraph, expression: str, rows: Iterable[int]) -> list[str]:
    """Give the value of an expression, or of several, in some states, as TLA+ text.

    Raises
    ------
    PredicateError
        If the text is not an expression over the fields of the graph.
    """
    found = evaluate(graph, expression)
    return [", ".join(_shown(answers, row)[1] for answers in found) for row in rows]


def _shown(answers: Answers, row: int) -> tuple[Any, str]:
    """Give a value as plain JSON values, and as text."""
    value = answers.at(row)
    return (None, _ABSENT_TEXT) if value is None else (tree_of(value), format_value(value))

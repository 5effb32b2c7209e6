"""Shortest paths through a state graph, and how far states are from others."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from canvass.graph.actions import allowed_out
from canvass.graph.csr import Rows
from canvass.graph.errors import GraphError
from canvass.graph.view import StateGraph


class NoPath(GraphError):
    """No path leads from any of the first states to any of the others."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One step of a path: an edge, its action, and the rows that it connects."""

    edge: int
    action: str
    source: int
    target: int


def shortest_path(
    graph: StateGraph,
    sources: Iterable[int],
    targets: Iterable[int],
    actions: Collection[str] | None = None,
) -> list[Hop]:
    """Give a shortest path from one of some states to one of others.

    Of several shortest paths it is the same one each time: states are gone through in the order of
    their ids.

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
        Empty if a source is a target.

    Raises
    ------
    NoPath
        If there is none.
    GraphError
        If the graph has no action of a name.
    """
    begin, wanted = _rows(graph, sources), np.zeros(graph.state_count, dtype=np.bool_)
    wanted[_rows(graph, targets)] = True
    end, found_by, _ = _walk(graph, begin, wanted, actions)
    if end < 0:
        raise NoPath("no path leads there")
    hops: list[Hop] = []
    row = end
    while found_by[row] >= 0:
        place = int(found_by[row])
        source = int(np.searchsorted(graph.out_offsets, place, side="right")) - 1
        action = graph.actions[int(graph.out_action[place])]
        hops.append(Hop(int(graph.out_edge[place]), action, source, row))
        row = source
    return hops[::-1]


def distances(
    graph: StateGraph, sources: Iterable[int], actions: Collection[str] | None = None
) -> Rows:
    """Give for each state how many steps it is from the nearest of some; -1 if out of reach."""
    nowhere = np.zeros(graph.state_count, dtype=np.bool_)
    _, _, depth = _walk(graph, _rows(graph, sources), nowhere, actions)
    return depth


def _rows(graph: StateGraph, rows: Iterable[int]) -> Rows:
    found = np.unique(np.asarray(rows if isinstance(rows, np.ndarray) else list(rows), np.int64))
    if len(found) and not 0 <= found[0] <= found[-1] < graph.state_count:
        raise GraphError(f"{graph.title} has {graph.state_count:,} states, and no such row")
    return found.astype(np.int32)


def _walk(
    graph: StateGraph, sources: Rows, wanted: NDArray[np.bool_], actions: Collection[str] | None
) -> tuple[int, NDArray[np.int64], Rows]:
    from canvass.graph.walk_kernels import breadth_first

    found_by = np.full(graph.state_count, -1, dtype=np.int64)
    depth = np.full(graph.state_count, -1, dtype=np.int32)
    allowed = allowed_out(graph, actions)
    end = breadth_first(
        graph.out_offsets, graph.out_target, allowed, sources, wanted, found_by, depth
    )
    return int(end), found_by, depth

"""A state graph for Graphviz and networkx; `canvass.graph.parquet` is for all other tools."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import networkx as nx
import numpy as np

from canvass.graph import GraphError
from canvass.graph.view import StateGraph
from canvass.graph.walks import arrows_among

MAX_NETWORKX_EDGES: Final = 1_000_000
_SHORT: Final = 12
"""Digits of an id in a label."""


def to_dot(graph: StateGraph, rows: Iterable[int]) -> str:
    """Give states and all edges between them in Graphviz's language.

    A state is labelled by its election state, if it has one, and by the beginning of its id.
    """
    initial = set(graph.initial.tolist())
    lines = [f"digraph {_dot(graph.title)} {{", "  node [shape=box];"]
    chosen = np.unique(np.array(list(rows), dtype=np.int32))
    for row in chosen.tolist():
        label = graph.id_of(row)[:_SHORT]
        if graph.kind == "member":
            label = f"{graph.tree(row)['electionState']}\n{label}"
        style = ", style=filled" if row in initial else ""
        style += "" if graph.expanded[row] else ", color=gray"
        lines.append(f"  {_dot(graph.id_of(row))} [label={_dot(label)}{style}];")
    for arrow in arrows_among(graph, chosen):
        source, target = (_dot(graph.id_of(row)) for row in (arrow.source, arrow.target))
        times = "" if arrow.count == 1 else f" ({arrow.count})"
        lines.append(f"  {source} -> {target} [label={_dot(f'{arrow.action}{times}')}];")
    return "\n".join([*lines, "}", ""])


def _dot(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return '"' + "".join(c if c.isprintable() else "\ufffd" for c in escaped) + '"'


def to_networkx(graph: StateGraph, *, limit: int = MAX_NETWORKX_EDGES) -> nx.MultiDiGraph:
    """Give a graph as a networkx graph, for your own questions.

    Parameters
    ----------
    graph
        The state graph. Each state and edge becomes a Python object: some 1 GB for a million.
    limit
        More edges are refused.

    Returns
    -------
    networkx.MultiDiGraph
        Nodes are rows, with ``id``, ``initial`` and ``expanded``; an edge has its number as its
        key, and ``action``.

    Raises
    ------
    GraphError
        If there are more edges than the limit.
    """
    count = len(graph.out.ends)
    if max(count, graph.state_count) > limit:
        raise GraphError(
            f"{graph.state_count:,} states and {count:,} edges are more than the {limit:,} that"
            " are given to networkx; export to Parquet, or raise the limit"
        )
    made = nx.MultiDiGraph(title=graph.title)
    initial = set(graph.initial.tolist())
    expanded = graph.expanded.tolist()
    made.add_nodes_from(
        (row, {"id": graph.id_of(row), "initial": row in initial, "expanded": expanded[row]})
        for row in range(graph.state_count)
    )
    columns = (graph.out.own, graph.out.ends, graph.out.edge, graph.out.action)
    made.add_edges_from(
        (one, two, edge, {"action": graph.actions[action]})
        for one, two, edge, action in zip(*(column.tolist() for column in columns), strict=True)
    )
    return made

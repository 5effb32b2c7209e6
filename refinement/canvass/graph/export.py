"""A part of a state graph, or a path, for other tools: DOT, GraphML, JSON, ITF and networkx.

Nothing is left out silently: exports beyond the limit are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Final

import msgspec
import networkx as nx
import numpy as np

from canvass.graph import GraphError
from canvass.graph.folders import Rows
from canvass.graph.view import StateGraph
from canvass.graph.walks import Arrow, Hop, allowed_out, arrows_among
from canvass.tlc import to_itf_trace

MAX_STATES: Final = 100_000
"""States of one exported file."""
MAX_NETWORKX_EDGES: Final = 1_000_000
_SHORT: Final = 12
"""Digits of an id in a label."""
_NO_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

Label = Callable[[int], str]


def rows_to_export(graph: StateGraph, rows: Iterable[int] | None) -> Rows:
    """Give the states of an export, ascending: those named, or all.

    Raises
    ------
    GraphError
        If there are more than `MAX_STATES`.
    """
    found: Rows = (
        np.arange(graph.state_count, dtype=np.int32)
        if rows is None
        else np.unique(np.array(list(rows), dtype=np.int32))
    )
    if len(found) > MAX_STATES:
        raise GraphError(
            f"{len(found):,} states are more than the {MAX_STATES:,} that may be exported;"
            " choose fewer, or project the graph"
        )
    return found


def short_label(graph: StateGraph) -> Label:
    """Label states by their election state, if they have one, and the beginning of their id."""

    def label(row: int) -> str:
        name = graph.id_of(row)[:_SHORT]
        state = graph.tree(row).get("electionState") if graph.kind == "member" else None
        return f"{state}\n{name}" if isinstance(state, str) else name

    return label


def to_dot(
    graph: StateGraph, rows: Iterable[int] | None = None, actions: Collection[str] | None = None
) -> str:
    """Give states and all edges between them in Graphviz's language."""
    chosen = rows_to_export(graph, rows)
    label = short_label(graph)
    initial = set(graph.initial.tolist())
    lines = [f"digraph {_dot(graph.title)} {{", "  node [shape=box];"]
    for row in chosen.tolist():
        style = ", style=filled" if row in initial else ""
        style += "" if graph.expanded[row] else ", color=gray"
        lines.append(f"  {_dot(graph.id_of(row))} [label={_dot(label(row))}{style}];")
    for arrow in arrows_among(graph, chosen, actions):
        source, target = (_dot(graph.id_of(row)) for row in (arrow.source, arrow.target))
        lines.append(f"  {source} -> {target} [label={_dot(_arrow_label(arrow))}];")
    return "\n".join([*lines, "}", ""])


def _dot(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{_printable(escaped)}"'


def _printable(text: str) -> str:
    """Replace the characters that XML cannot hold, such as control characters."""
    return _NO_XML.sub("\ufffd", text)


def _arrow_label(arrow: Arrow) -> str:
    return arrow.action if arrow.count == 1 else f"{arrow.action} ({arrow.count})"


def to_graphml(
    graph: StateGraph, rows: Iterable[int] | None = None, actions: Collection[str] | None = None
) -> str:
    """Give states and all edges between them in GraphML; the state is there as JSON."""
    chosen = rows_to_export(graph, rows)
    initial = set(graph.initial.tolist())
    made = nx.MultiDiGraph(title=_printable(graph.title))
    for row in chosen.tolist():
        made.add_node(
            graph.id_of(row),
            initial=row in initial,
            expanded=bool(graph.expanded[row]),
            state=_printable(msgspec.json.encode(graph.tree(row)).decode()),
        )
    for arrow in arrows_among(graph, chosen, actions):
        source, target = graph.id_of(arrow.source), graph.id_of(arrow.target)
        made.add_edge(source, target, action=_printable(arrow.action), count=arrow.count)
    return "\n".join([*nx.generate_graphml(made, named_key_ids=True), ""])


def to_json(
    graph: StateGraph, rows: Iterable[int] | None = None, actions: Collection[str] | None = None
) -> dict[str, Any]:
    """Give states and all edges between them as plain JSON values."""
    chosen = rows_to_export(graph, rows)
    initial = set(graph.initial.tolist())
    return {
        "title": graph.title,
        "kind": graph.kind,
        "states": [
            {
                "id": graph.id_of(row),
                "initial": row in initial,
                "expanded": bool(graph.expanded[row]),
                "state": graph.tree(row),
            }
            for row in chosen.tolist()
        ],
        "edges": [
            {
                "source": graph.id_of(arrow.source),
                "target": graph.id_of(arrow.target),
                "action": arrow.action,
                "count": arrow.count,
            }
            for arrow in arrows_among(graph, chosen, actions)
        ],
    }


def to_itf(graph: StateGraph, start: int, hops: Sequence[Hop]) -> dict[str, Any]:
    """Give a path as a behaviour in the Informal Trace Format of TLA+ tools."""
    rows = [start, *(hop.target for hop in hops)]
    actions = [None, *(hop.action for hop in hops)]
    states = [graph.state(row) for row in rows]
    return to_itf_trace(states, actions=actions, source=graph.title)


def to_networkx(
    graph: StateGraph,
    actions: Collection[str] | None = None,
    *,
    loops: bool = False,
    limit: int = MAX_NETWORKX_EDGES,
) -> nx.MultiDiGraph:
    """Give a graph as a networkx graph, for your own questions.

    Parameters
    ----------
    graph
        The state graph. Each state and edge becomes a Python object: some 1 GB for a million.
    actions
        The actions whose edges are given; all by default.
    loops
        Whether edges from a state to itself are given, too.
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
    source = np.repeat(np.arange(graph.state_count), np.diff(graph.out_offsets))
    kept = allowed_out(graph, actions)
    if not loops:
        kept &= source != graph.out_target
    count = int(kept.sum())
    if max(count, graph.state_count) > limit:
        raise GraphError(
            f"{graph.state_count:,} states and {count:,} edges are more than the {limit:,} that"
            " are given to networkx; choose actions, project the graph, or raise the limit"
        )
    made = nx.MultiDiGraph(title=graph.title)
    initial = set(graph.initial.tolist())
    expanded = graph.expanded.tolist()
    made.add_nodes_from(
        (row, {"id": graph.id_of(row), "initial": row in initial, "expanded": expanded[row]})
        for row in range(graph.state_count)
    )
    columns = (source[kept], graph.out_target[kept], graph.out_edge[kept], graph.out_action[kept])
    made.add_edges_from(
        (one, two, edge, {"action": graph.actions[action]})
        for one, two, edge, action in zip(*(column.tolist() for column in columns), strict=True)
    )
    return made

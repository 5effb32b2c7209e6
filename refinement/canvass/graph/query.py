"""Questions about paths: a state graph as a networkx multigraph.

For graphs that fit into Python objects, some 100,000 edges; bulk lookup is by
`canvass.graph.lookup`. Nodes are rows of states; a state that stands for others that differ in the
numbering of the peers stands for them here, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import networkx as nx

from canvass.graph.artifact import Graph
from canvass.graph.errors import GraphError
from canvass.traces.actions import ACTIONS, Action
from canvass.traces.layout import NONE


def to_networkx(graph: Graph, *, loops: bool = False) -> nx.MultiDiGraph:
    """Give the graph as a multigraph.

    Parameters
    ----------
    graph
        The state graph.
    loops
        Whether steps that change nothing and send nothing are edges, too.

    Returns
    -------
    networkx.MultiDiGraph
        A node has ``expanded``; an edge has ``action`` (a name) and ``edge`` (its row), which is
        also its key.
    """
    made = nx.MultiDiGraph()
    expanded = graph.expanded.tolist()
    representative = graph.representative.tolist()
    made.add_nodes_from((row, {"expanded": expanded[row]}) for row in sorted(set(representative)))
    names = [ACTIONS[code].value for code in graph.input_action.tolist()]
    columns = (graph.source, graph.input, graph.target, graph.sent)
    for edge, (source, given, target, sent) in enumerate(
        zip(*(column.tolist() for column in columns), strict=True)
    ):
        if target == NONE or (target == source and sent == 0 and not loops):
            continue
        made.add_edge(
            representative[source],
            representative[target],
            key=edge,
            action=names[given],
            edge=edge,
        )
    return made


@dataclass(frozen=True, slots=True)
class Hop:
    """One step of a path: an edge and the state that it leads to."""

    edge: int
    action: Action
    target: int


def shortest_path(graph: Graph, source: int, target: int) -> list[Hop]:
    """Give a shortest path between two states.

    Raises
    ------
    GraphError
        If the graph has none.
    """
    made = to_networkx(graph)
    start, end = (int(graph.representative[row]) for row in (source, target))
    try:
        nodes = nx.shortest_path(made, start, end)
    except (nx.NetworkXNoPath, nx.NodeNotFound):
        raise GraphError(
            f"no path leads from {graph.id_of(source)} to {graph.id_of(target)}"
        ) from None
    hops = []
    for one, two in pairwise(nodes):
        edge = min(made[one][two])
        hops.append(Hop(edge, ACTIONS[int(graph.input_action[graph.input[edge]])], two))
    return hops

"""Filters by action: which edges of a graph may be taken."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from canvass.graph.csr import Rows
from canvass.graph.errors import GraphError
from canvass.graph.naming import near
from canvass.graph.view import StateGraph


def action_codes(graph: StateGraph, names: Collection[str]) -> Rows:
    """Give the codes of actions.

    Raises
    ------
    GraphError
        If the graph has no action of a name.
    """
    for name in names:
        if name not in graph.actions:
            raise GraphError(f"no action is called {ascii(name)[:60]}{near(name, graph.actions)}")
    return np.array(sorted(graph.actions.index(name) for name in set(names)), dtype=np.int32)


def allowed_out(graph: StateGraph, names: Collection[str] | None) -> NDArray[np.bool_]:
    """For each edge in the order of ``out_edge``, whether its action is one of these, or any."""
    if names is None:
        return np.ones(len(graph.out_target), dtype=np.bool_)
    return np.isin(graph.out_action, action_codes(graph, names))


def allowed_in(graph: StateGraph, names: Collection[str] | None) -> NDArray[np.bool_]:
    """For each edge in the order of ``in_edge``, whether its action is one of these, or any."""
    if names is None:
        return np.ones(len(graph.in_source), dtype=np.bool_)
    return np.isin(graph.in_action, action_codes(graph, names))

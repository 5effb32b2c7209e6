"""Strongly connected components: sets of states each of which leads to all the others."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from canvass.graph.actions import allowed_out
from canvass.graph.csr import Rows
from canvass.graph.view import StateGraph


@dataclass(frozen=True, slots=True, eq=False)
class Components:
    """The components of a graph, the largest first, of equal ones that with the lowest row first.

    Attributes
    ----------
    of
        For each state the number of its component.
    sizes
        How many states each has.
    examples
        The lowest row of each.
    terminal
        Whether no edge leads out of it, and the steps of all its states are in the graph.
    unexpanded
        Whether the steps of some of its states are not in the graph.
    """

    of: Rows
    sizes: NDArray[np.int64]
    examples: Rows
    terminal: NDArray[np.bool_]
    unexpanded: NDArray[np.bool_]

    def __len__(self) -> int:
        """Count the components."""
        return len(self.sizes)

    def rows(self, component: int) -> Rows:
        """Give the states of a component."""
        return np.flatnonzero(self.of == component).astype(np.int32)


def components(graph: StateGraph, actions: Collection[str] | None = None) -> Components:
    """Find the strongly connected components.

    Parameters
    ----------
    graph
        The state graph.
    actions
        The actions whose edges count; all by default.

    Raises
    ------
    GraphError
        If the graph has no action of a name.
    """
    from canvass.graph.walk_kernels import strong_components

    allowed = allowed_out(graph, actions)
    found = np.full(graph.state_count, -1, dtype=np.int32)
    count = strong_components(graph.out_offsets, graph.out_target, allowed, found)
    sizes = np.bincount(found, minlength=count)
    first = np.full(count, graph.state_count, dtype=np.int64)
    np.minimum.at(first, found, np.arange(graph.state_count))
    order = np.lexsort((first, -sizes))
    number = np.empty(count, dtype=np.int32)
    number[order] = np.arange(count, dtype=np.int32)
    of: Rows = number[found]

    source = np.repeat(of, np.diff(graph.out_offsets))[allowed]
    leaving = np.zeros(count, dtype=np.bool_)
    leaving[source[source != of[graph.out_target[allowed]]]] = True
    unexpanded = np.zeros(count, dtype=np.bool_)
    unexpanded[of[~graph.expanded]] = True
    return Components(
        of=of,
        sizes=sizes[order].astype(np.int64),
        examples=first[order].astype(np.int32),
        terminal=~leaving & ~unexpanded,
        unexpanded=unexpanded,
    )

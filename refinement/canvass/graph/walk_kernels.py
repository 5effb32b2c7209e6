"""Walks over the edges of a graph, compiled: breadth first, and by components.

Only arrays come in and go out. States and edges are taken in the order of their numbers, so that
the answer is the same each time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from canvass.steps.jit import kernel


@kernel("ends")
def breadth_first(
    offsets: Any, ends: Any, allowed: Any, sources: Any, wanted: Any, found_by: Any, depth: Any
) -> int:
    """Walk from some states until one that is wanted is found.

    Parameters
    ----------
    offsets, ends
        The edges by source.
    allowed
        For each edge in that order, whether it may be taken.
    sources
        Where to begin.
    wanted
        For each state, whether the walk ends there.
    found_by
        To be filled with the place of the edge by which each state was found; begins as -1.
    depth
        To be filled with how many edges away each state is; begins as -1.

    Returns
    -------
    int
        The first wanted state found, -1 if there is none.
    """
    queue = np.empty(len(offsets) - 1, dtype=np.int32)
    head = tail = 0
    for row in sources:
        if depth[row] < 0:
            depth[row] = 0
            queue[tail] = row
            tail += 1
            if wanted[row]:
                return int(row)
    while head < tail:
        row = queue[head]
        head += 1
        for place in range(offsets[row], offsets[row + 1]):
            end = ends[place]
            if depth[end] < 0 and allowed[place]:
                depth[end] = depth[row] + 1
                found_by[end] = place
                if wanted[end]:
                    return int(end)
                queue[tail] = end
                tail += 1
    return -1


@kernel("ends")
def strong_components(offsets: Any, ends: Any, allowed: Any, component: Any) -> int:
    """Number the strongly connected components, after Tarjan, without recursion.

    Parameters
    ----------
    offsets, ends, allowed
        As for `breadth_first`.
    component
        To be filled with the number of each state's component.

    Returns
    -------
    int
        How many there are. A component has a higher number than those that it leads to.
    """
    states = len(offsets) - 1
    index = np.full(states, -1, dtype=np.int32)
    low = np.empty(states, dtype=np.int32)
    stack = np.empty(states, dtype=np.int32)
    path = np.empty(states, dtype=np.int32)
    place = offsets[:-1].copy()
    stacked = visited = count = 0
    for root in range(states):
        if index[root] >= 0:
            continue
        deep = 0
        path[0] = root
        index[root] = low[root] = visited
        visited += 1
        stack[stacked] = root
        stacked += 1
        component[root] = -1
        while deep >= 0:
            row = path[deep]
            if place[row] < offsets[row + 1]:
                at = place[row]
                place[row] += 1
                end = ends[at]
                if not allowed[at]:
                    continue
                if index[end] < 0:
                    index[end] = low[end] = visited
                    visited += 1
                    stack[stacked] = end
                    stacked += 1
                    component[end] = -1
                    deep += 1
                    path[deep] = end
                elif component[end] < 0:
                    low[row] = min(low[row], index[end])
                continue
            if low[row] == index[row]:
                while True:
                    stacked -= 1
                    member = stack[stacked]
                    component[member] = count
                    if member == row:
                        break
                count += 1
            deep -= 1
            if deep >= 0:
                low[path[deep]] = min(low[path[deep]], low[row])
    return count

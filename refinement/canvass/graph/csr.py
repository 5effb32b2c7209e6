"""The edges of a graph by source and by target: compressed rows, made in linear time.

Only arrays are here. Within a state edges keep the order of their numbers, so that whatever walks
over them gives the same answer each time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from canvass.graph.jit import compiled

Rows = NDArray[np.int32]
"""Rows of states or of edges."""
Offsets = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Sorted:
    """Edges in groups, one for each state: ``order[offsets[row]:offsets[row + 1]]`` are its own."""

    offsets: Offsets
    order: Rows


@compiled
def _group(ends: Any, offsets: Any, order: Any) -> None:
    for edge in range(len(ends)):
        offsets[ends[edge] + 1] += 1
    for row in range(1, len(offsets)):
        offsets[row] += offsets[row - 1]
    free = offsets[:-1].copy()
    for edge in range(len(ends)):
        order[free[ends[edge]]] = edge
        free[ends[edge]] += 1


def group_by(ends: Rows, state_count: int) -> Sorted:
    """Group edges by one of their ends.

    Parameters
    ----------
    ends
        The row of a state for each edge.
    state_count
        How many states there are.
    """
    offsets = np.zeros(state_count + 1, dtype=np.int64)
    order = np.empty(len(ends), dtype=np.int32)
    _group(ends, offsets, order)
    return Sorted(offsets, order)

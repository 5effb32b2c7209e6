"""The edges of a graph by source and by target: compressed rows, made by sorting.

Only arrays are here. Within a state edges keep the order of their numbers, so that whatever walks
over them gives the same answer each time.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int32]
"""Rows of states or of edges."""
Offsets = NDArray[np.int64]


def hash64(content: bytes) -> int:
    """Hash bytes to 64 bits with a sign."""
    return int.from_bytes(hashlib.sha256(content).digest()[:8], "little", signed=True)


@dataclass(frozen=True, slots=True, eq=False)
class Sorted:
    """Edges in groups, one for each state: ``order[offsets[row]:offsets[row + 1]]`` are its own."""

    offsets: Offsets
    order: Rows


def group_by(ends: Rows, state_count: int) -> Sorted:
    """Group edges by one of their ends.

    Parameters
    ----------
    ends
        The row of a state for each edge.
    state_count
        How many states there are.
    """
    counts = np.bincount(ends, minlength=state_count)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    if bool((ends[1:] >= ends[:-1]).all()):
        order = np.arange(len(ends), dtype=np.int32)
    else:
        order = np.argsort(ends, kind="stable").astype(np.int32)
    return Sorted(offsets, order)


class Adjacency(ABC):
    """The edges of a graph, from both ends; groups are made when they are first asked for.

    Parameters
    ----------
    state_count
        How many states there are.
    source, target
        The rows of the states that each edge connects.
    action
        The code of its action.
    number
        Its number, ascending.
    action_count
        How many actions there are.
    """

    def __init__(
        self,
        *,
        state_count: int,
        source: Rows,
        target: Rows,
        action: Rows,
        number: Rows,
        action_count: int,
    ) -> None:
        self.state_count = state_count
        self._source = source
        self._target = target
        self._action = action
        self._number = number
        self._action_count = action_count

    @property
    def edge_count(self) -> int:
        """How many edges there are."""
        return len(self._number)

    @cached_property
    def action_counts(self) -> NDArray[np.int64]:
        """Edges by the code of their action."""
        return np.bincount(self._action, minlength=self._action_count)

    @cached_property
    def _out(self) -> Sorted:
        return group_by(self._source, self.state_count)

    @cached_property
    def _in(self) -> Sorted:
        return group_by(self._target, self.state_count)

    @property
    def out_offsets(self) -> Offsets:
        """Where the edges of each state begin."""
        return self._out.offsets

    @cached_property
    def out_target(self) -> Rows:
        """Where an edge leads."""
        return self._target[self._out.order]

    @cached_property
    def out_action(self) -> Rows:
        """The code of its action."""
        return self._action[self._out.order]

    @cached_property
    def out_edge(self) -> Rows:
        """Its number."""
        return self._number[self._out.order]

    @cached_property
    def out_label(self) -> NDArray[np.int64]:
        """A hash of what it consumes and sends, or of its label."""
        return self._labels()[self._out.order]

    @abstractmethod
    def _labels(self) -> NDArray[np.int64]:
        """Give such a hash for each edge in the order in which they were given."""

    @property
    def in_offsets(self) -> Offsets:
        """Where the edges that lead to each state begin."""
        return self._in.offsets

    @cached_property
    def in_source(self) -> Rows:
        """Where an edge comes from."""
        return self._source[self._in.order]

    @cached_property
    def in_action(self) -> Rows:
        """The code of its action."""
        return self._action[self._in.order]

    @cached_property
    def in_edge(self) -> Rows:
        """Its number."""
        return self._number[self._in.order]

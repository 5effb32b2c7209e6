"""Steps as requests, and what the spec says comes of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from canvass.aeron_driver.stream import (
    BATCH_ROWS,
    Cells,
    StreamLayout,
    state_cells,
    without_implied_terms,
)
from canvass.graph.artifact import Graph, StepArrays
from canvass.traces.layout import INPUT_COLUMNS, MESSAGE_COLUMNS, NONE

Rows = NDArray[np.int64]

_TYPE, _PEER, _FIELDS = (
    MESSAGE_COLUMNS.index("type"),
    MESSAGE_COLUMNS.index("peer"),
    MESSAGE_COLUMNS.index("id") + 1,
)


@dataclass(frozen=True)
class DrivableSteps:
    """Steps, ready to be sent.

    Parameters
    ----------
    graph
        The steps in arrays.
    """

    graph: StepArrays

    @cached_property
    def layout(self) -> StreamLayout:
        """The layout of the stream: a step adds two entries to a recording log at most."""
        longest = int(np.diff(self.graph.log_offsets).max(initial=0))
        return StreamLayout(self.graph.rules.member_count, longest + 3)

    @cached_property
    def states(self) -> Cells:
        """All states, laid out as in a request."""
        graph = self.graph
        return state_cells(self.layout, graph.state, graph.members, graph.log_offsets, graph.log)

    @cached_property
    def normal_states(self) -> Cells:
        """All states without implied terms, laid out as in an answer."""
        return without_implied_terms(self.layout, self.states)

    @cached_property
    def sends(self) -> Cells:
        """All lists of sends, laid out as in an answer."""
        graph, layout = self.graph, self.layout
        counts = np.diff(graph.send_offsets)
        rows = np.full((len(counts), layout.sends_width), -1, dtype=np.int32)
        rows[:, 0] = counts
        width = 1 + layout.message_width
        for send in range(int(counts.max(initial=0))):
            has = counts > send
            cells = graph.sends[graph.send_offsets[:-1][has] + send]
            start = 1 + width * send
            rows[has, start] = cells[:, _PEER]
            rows[has, start + 1] = cells[:, _TYPE]
            rows[has, start + 2 : start + width] = cells[:, _FIELDS:]
        return rows

    @cached_property
    def _inputs(self) -> Cells:
        graph, layout = self.graph, self.layout
        rows = np.zeros((len(graph.inputs), layout.state), dtype=np.int32)
        rows[:, 0] = graph.input_action
        message = 2 + len(INPUT_COLUMNS)
        rows[:, 2:message] = graph.inputs
        rows[:, message] = graph.message[:, _TYPE]
        rows[:, message + 1 :] = graph.message[:, _FIELDS:]
        return rows

    def requests(self, source: Rows, given: Rows, hidden: NDArray[Any] | int = 0) -> Cells:
        """Lay out the requests of some steps: rows of states and of inputs."""
        rows = np.empty((len(source), self.layout.request_width), dtype=np.int32)
        rows[:, : self.layout.state] = self._inputs[given]
        rows[:, 1] = hidden
        rows[:, self.layout.state :] = self.states[source]
        return rows

    def batches(self, source: Rows, given: Rows, hidden: NDArray[Any] | int = 0) -> Iterator[Cells]:
        """Give the requests of some steps batch by batch."""
        for start in range(0, len(source), BATCH_ROWS):
            part = slice(start, start + BATCH_ROWS)
            mask = hidden if isinstance(hidden, int) else hidden[part]
            yield self.requests(source[part], given[part], mask)

    @cached_property
    def edges(self) -> Rows:
        """The edges that have a target: the others say that an input does not enable its action."""
        return np.flatnonzero(self.graph.target != NONE)


@dataclass(frozen=True)
class GraphSteps(DrivableSteps):
    """The edges of a graph, ready to be sent."""

    graph: Graph

"""The fields of a member's state as columns of TLA+ values, made when they are first asked for.

``members`` is a function over the ids of the members, ``recordingLog`` a sequence, as in the spec.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from canvass.cluster.names import wire_name
from canvass.graph.artifact import Graph
from canvass.graph.columns import Columns
from canvass.graph.csr import Rows
from canvass.graph.interned import ABSENT
from canvass.graph.value_builder import ValueBuilder
from canvass.steps.distinct import distinct_rows
from canvass.traces.layout import (
    FLAG_COLUMNS,
    LOG_COLUMNS,
    MEMBER_COLUMNS,
    STATE_ENUMS,
    STATE_INDEX,
)

Ints = NDArray[np.int64]


class MemberColumns:
    """Columns of an artifact.

    Parameters
    ----------
    graph
        The artifact.
    states
        The rows of the artifact that are asked about.
    """

    def __init__(self, graph: Graph, states: Ints) -> None:
        self._graph = graph
        self._states = states
        self._builder = ValueBuilder()
        self._nodes: dict[str, Rows] = {}
        self._columns = Columns(self._builder.table(), self._nodes)
        self._makers: dict[str, Callable[[], Rows]] = {
            wire_name(name): self._single(name) for name in STATE_INDEX
        }
        self._makers |= {"members": self._members, "recordingLog": self._recording_log}

    def of(self, fields: Sequence[str]) -> Columns:
        """Give some columns, and the others that were asked for before."""
        fresh = [name for name in fields if name not in self._nodes]
        if fresh:
            made = {name: self._makers[name]() for name in fresh}
            self._nodes = {**self._nodes, **made}
            self._columns = Columns(self._builder.table(), self._nodes)
        return self._columns

    def _single(self, name: str) -> Callable[[], Rows]:
        def make() -> Rows:
            return self._scalars(name, self._graph.state[self._states, STATE_INDEX[name]])

        return make

    def _scalars(self, name: str, cells: Ints) -> Rows:
        """Give the nodes of codes, flags or numbers."""
        distinct, places = np.unique(cells, return_inverse=True)
        builder, numbers = self._builder, distinct.tolist()
        if name in STATE_ENUMS:
            nodes = [builder.string(STATE_ENUMS[name][code].value) for code in numbers]
        elif name in FLAG_COLUMNS:
            nodes = [builder.boolean(bool(flag)) for flag in numbers]
        else:
            nodes = [builder.integer(number) for number in numbers]
        return np.array(nodes, dtype=np.int32)[places.reshape(-1)]

    def _records(self, names: Sequence[str], cells: Ints) -> Rows:
        """Give the nodes of records, one for each row of cells."""
        columns = [self._scalars(name, cells[:, place]) for place, name in enumerate(names)]
        wired = [wire_name(name) for name in names]
        return _distinct(
            np.stack(columns, axis=1),
            lambda parts: self._builder.record(dict(zip(wired, parts, strict=True))),
        )

    def _members(self) -> Rows:
        cells = self._graph.members[self._states]
        count, width = cells.shape[:2]
        records = self._records(MEMBER_COLUMNS, cells.reshape(count * width, -1))
        ids = [self._builder.integer(member) for member in range(width)]
        return _distinct(
            records.reshape(count, width),
            lambda parts: self._builder.function(dict(zip(ids, parts, strict=True))),
        )

    def _recording_log(self) -> Rows:
        graph = self._graph
        entries = self._records(LOG_COLUMNS, graph.log)
        starts = graph.log_offsets[self._states]
        lengths = graph.log_offsets[self._states + 1] - starts
        padded = np.full((len(starts), int(lengths.max(initial=0))), ABSENT, dtype=np.int32)
        for place in range(padded.shape[1]):
            long = lengths > place
            padded[long, place] = entries[starts[long] + place]
        return _distinct(
            padded,
            lambda parts: self._builder.sequence([part for part in parts if part != ABSENT]),
        )


def _distinct(rows: Rows, make: Callable[[list[int]], int]) -> Rows:
    """Call ``make`` once for each distinct row of numbers; give what it made of each."""
    first, places = distinct_rows(rows)
    nodes = [make(parts) for parts in rows[first].tolist()]
    return np.array(nodes, dtype=np.int32)[places]

"""`MemberView`: the graph of one member, as `canvass.graph.artifact` keeps it, to be asked.

States that are equal but for the numbering of the peers are one state here: the one that stands for
them all. Edges keep the numbers that they have in the artifact. An input that does not enable its
action is no edge.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from canvass.cluster.transitions import persistent_member
from canvass.graph.arranging import state_id
from canvass.graph.artifact import Graph, open_graph
from canvass.graph.csr import Offsets, Rows, Sorted, group_by
from canvass.graph.errors import GraphError
from canvass.graph.ids import find_row
from canvass.graph.steps import entry_cells, record_cells, state_cells
from canvass.graph.view import EdgeView, Kind, Tree
from canvass.traces import wire
from canvass.traces.layout import ACTION_NAMES, NONE
from canvass.traces.names import wire_name
from canvass.traces.schema import to_wire_input, to_wire_member, to_wire_message


class MemberView:
    """A `canvass.graph.view.StateGraph` of an artifact.

    Parameters
    ----------
    graph
        The artifact.
    folder
        Where it is.
    """

    kind: Kind = "member"
    actions = ACTION_NAMES
    fields = tuple(wire_name(name) for name in wire.Member.__struct_fields__)

    def __init__(self, graph: Graph, folder: Path) -> None:
        self.graph = graph
        self.folder = folder
        count = len(graph.representative)
        self._state = np.flatnonzero(graph.representative == np.arange(count))
        """The artifact's row of each state here."""
        numbers = np.full(count, NONE, dtype=np.int32)
        numbers[self._state] = np.arange(len(self._state), dtype=np.int32)
        self._row: Rows = numbers[graph.representative]
        """The state here of each row of the artifact."""
        self._edges: Rows = np.flatnonzero(graph.target != NONE).astype(np.int32)
        self._source: Rows = self._row[graph.source[self._edges]]
        self._target: Rows = self._row[graph.target[self._edges]]
        self._action: Rows = graph.input_action[graph.input[self._edges]].astype(np.int32)
        self.expanded: NDArray[np.bool_] = graph.expanded[self._state]
        self.ids = graph.ids[self._state]

    @property
    def title(self) -> str:
        """The name of the model."""
        return self.graph.manifest.model

    @property
    def complete(self) -> bool:
        """Whether every state found within the bounds was expanded."""
        return self.graph.manifest.complete

    @property
    def detail(self) -> Tree:
        """Where the graph comes from."""
        manifest = self.graph.manifest
        return {
            "model": manifest.model,
            "members": manifest.rules.member_count,
            "revision": manifest.rules.revision,
            "hardening": list(manifest.rules.hardening),
            "tlcVersion": manifest.tlc_version,
        }

    @property
    def state_count(self) -> int:
        """How many states there are."""
        return len(self._state)

    @property
    def edge_count(self) -> int:
        """How many edges there are."""
        return len(self._edges)

    @cached_property
    def action_counts(self) -> NDArray[np.int64]:
        """Edges by the code of their action."""
        return np.bincount(self._action, minlength=len(self.actions))

    @cached_property
    def initial(self) -> Rows:
        """The first start of all, with nothing on disk; the states without one before them else."""
        first = persistent_member(self.graph.rules)
        cells = [*state_cells(first)]
        for record in first.members:
            cells += record_cells(record)
        cells.append(len(first.recording_log))
        for entry in first.recording_log:
            cells += entry_cells(entry)
        row = self.find(state_id(cells).hex())
        if row is not None:
            return np.array([row], dtype=np.int32)
        led_to = np.zeros(self.state_count, dtype=np.bool_)
        led_to[self._target[self._target != self._source]] = True
        return np.flatnonzero(self.expanded & ~led_to).astype(np.int32)

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
        return self._edges[self._out.order]

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
        return self._edges[self._in.order]

    def id_of(self, row: int) -> str:
        """Give the id of a state."""
        return bytes(self.ids[row]).hex()

    def find(self, prefix: str) -> int | None:
        """Give the row of the state whose id begins with the text.

        The id of a state that another one stands for finds that one.
        """
        found = find_row(self.graph.ids, prefix)
        return None if found is None else self.row_of(found)

    def row_of(self, artifact_row: int) -> int:
        """Give the row of the state that stands for a row of the artifact."""
        return int(self._row[artifact_row])

    def artifact_row(self, row: int) -> int:
        """Give the row that a state has in the artifact."""
        return int(self._state[row])

    def tree(self, row: int) -> Tree:
        """Give a state as the trace format writes it."""
        state = self.graph.member(self.artifact_row(row))
        tree: Tree = msgspec.to_builtins(to_wire_member(state))
        return tree

    def edge(self, edge: int) -> EdgeView:
        """Give one edge."""
        graph = self.graph
        if not 0 <= edge < len(graph.target) or graph.target[edge] == NONE:
            raise GraphError(f"{self.title} has no edge {edge}")
        action, given = graph.given(int(graph.input[edge]))
        return EdgeView(
            edge=edge,
            source=self.row_of(int(graph.source[edge])),
            target=self.row_of(int(graph.target[edge])),
            action=action.value,
            given=msgspec.to_builtins(to_wire_input(given)),
            sends=[
                {"to": receiver, "message": msgspec.to_builtins(to_wire_message(message))}
                for receiver, message in graph.sends_of(int(graph.sent[edge]))
            ],
        )


def open_member_view(folder: Path, *, verify: bool = True) -> MemberView:
    """Open the folder of an artifact.

    Raises
    ------
    GraphError
        If there is none, or it is damaged.
    """
    return MemberView(open_graph(folder, verify=verify), folder)

"""`StateGraph`: the interface of a state graph for queries.

Conditions, queries and exports (`canvass.graph.predicate`, `queries`, `export`) use this class and
read no file. A graph is a set of arrays: opening it makes no Python object for a state or an edge.
A state becomes a readable tree on request.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from canvass.graph.folders import Offsets, Rows, find_row
from canvass.graph.values import Columns
from canvass.tlc.values import Value
from canvass.traces.columns import offsets_of, places_of

Kind = Literal["member", "tlc"]
Tree = dict[str, Any]
"""A state, an input or a message as a JSON object: its fields by their names."""


@dataclass(frozen=True, slots=True)
class EdgeView:
    """One edge, readable.

    Attributes
    ----------
    edge
        Its number.
    source, target
        Rows of states.
    action
        The action's name, without the arguments of a label.
    given
        The input of the step, or the arguments of the label; empty if the graph has neither.
    sends
        The messages sent, each as ``{"to": .., "message": ..}``; empty if the graph has none.
    """

    edge: int
    source: int
    target: int
    action: str
    given: Tree
    sends: Sequence[Tree]


class Side:
    """The edges of a graph, grouped by the state at one of their ends.

    The edges of the state in ``row`` are at ``offsets[row]`` up to ``offsets[row + 1]``, in the
    order of their numbers. Each array is made when it is first used.

    Parameters
    ----------
    own, other
        For each edge, the rows of the states at this end and at the other end.
    action, number
        For each edge, the code of its action, and its number.
    count
        The number of states.
    """

    def __init__(self, own: Rows, other: Rows, action: Rows, number: Rows, *, count: int) -> None:
        self.offsets = offsets_of(np.bincount(own, minlength=count))
        """For each state the place of its first edge."""
        is_sorted = bool((own[1:] >= own[:-1]).all())
        order = np.arange(len(own)) if is_sorted else np.argsort(own, kind="stable")
        self._order = order.astype(np.int32)
        self._own, self._other = own, other
        self._action, self._number = action, number

    def places(self, rows: NDArray[np.integer]) -> Offsets:
        """Give the places of all edges of some states, one state after another."""
        if len(rows) == 1:  # Faster, and frequent: most traces leave one possible state.
            return np.arange(self.offsets[rows[0]], self.offsets[rows[0] + 1])
        return places_of(self.offsets, rows)

    @cached_property
    def own(self) -> Rows:
        """The state at this end of each edge."""
        return self._own[self._order]

    @cached_property
    def ends(self) -> Rows:
        """The state at the other end of each edge."""
        return self._other[self._order]

    @cached_property
    def action(self) -> Rows:
        """The code of the action of each edge."""
        return self._action[self._order]

    @cached_property
    def edge(self) -> Rows:
        """The number of each edge."""
        return self._number[self._order]


class StateGraph(ABC):
    """A state graph in arrays.

    States are rows from 0 in the order of their ids, which are content hashes: equal on every
    machine, and in every graph that has the state. Edges have numbers, too. ``out`` has the edges
    by source, ``into`` has them by target. Within a state edges keep the order of their numbers, so
    whatever walks over them gives the same answer each time.

    Parameters
    ----------
    folder, title
        The folder of the graph, and the name of the model.
    complete
        Whether all reachable states were expanded; None if unknown.
    columns
        The variables of the state, with which a path in a predicate begins.
    ids
        16 bytes for each state, ascending.
    expanded
        For each state, whether its steps are in the graph.
    source, target
        The rows of the states that each edge connects.
    action
        The code of each edge's action.
    number
        The number of each edge, ascending.
    """

    kind: Kind
    """``member``: the graph of one member; ``tlc``: a graph from TLC's dump of any model."""
    detail: Tree
    """The origin of the graph for a person: names and values."""
    actions: tuple[str, ...]
    """The names of the actions; the index is the code of an action."""
    initial: Rows
    """The rows of the initial states, ascending."""
    end: str
    """The reason why some states are not expanded, as a clause."""
    doubt: str = ""
    """The reason why even an expanded state may lack steps, as a clause; empty for none."""
    violating: Rows = np.empty(0, dtype=np.int32)
    """The rows of the states in which TLC found a property violated."""

    def __init__(
        self,
        *,
        folder: Path,
        title: str,
        complete: bool | None,
        columns: Columns,
        ids: NDArray[np.uint8],
        expanded: NDArray[np.bool_],
        source: Rows,
        target: Rows,
        action: Rows,
        number: Rows,
    ) -> None:
        self.folder, self.title, self.complete = folder, title, complete
        self._columns = columns
        self.fields = tuple(columns.nodes)
        self.ids = ids
        self.expanded = expanded
        self._source = source
        self._target = target
        self._action = action
        self._number = number

    @property
    def state_count(self) -> int:
        """The number of states."""
        return len(self.ids)

    @property
    def edge_count(self) -> int:
        """The number of edges, loops included."""
        return len(self._number)

    @cached_property
    def action_counts(self) -> dict[str, int]:
        """The number of edges of each action; actions without edges are left out."""
        return self._counts(self._action)

    def _counts(self, codes: Rows) -> dict[str, int]:
        counts = np.bincount(codes, minlength=len(self.actions)).tolist()
        return {name: count for name, count in zip(self.actions, counts, strict=True) if count}

    @cached_property
    def out(self) -> Side:
        """The edges by their sources."""
        edges = self._source, self._target, self._action, self._number
        return Side(*edges, count=self.state_count)

    @cached_property
    def into(self) -> Side:
        """The edges by their targets."""
        edges = self._target, self._source, self._action, self._number
        return Side(*edges, count=self.state_count)

    def id_of(self, row: int) -> str:
        """Give the id of a state: 32 hexadecimal digits."""
        return bytes(self.ids[row]).hex()

    def is_initial(self, row: int) -> bool:
        """Whether a state is an initial one."""
        return row in self.initial

    def leaving(self, row: int) -> dict[str, int]:
        """Count the edges of each action that leave a state; as `action_counts`."""
        return self._counts(self.out.action[self.out.offsets[row] : self.out.offsets[row + 1]])

    def find(self, prefix: str) -> int | None:
        """Give the row of the state whose id begins with the text; None if there is no such state.

        Raises
        ------
        GraphError
            If the text is not 1 to 32 hexadecimal digits, or if several ids begin with it.
        """
        return find_row(self.ids, prefix)

    @abstractmethod
    def edge_texts(self) -> Mapping[str, tuple[Sequence[str], Rows]]:
        """Give the inputs, sends or arguments of the edges as columns of text.

        A column has its distinct texts, and for each edge of ``out`` the index of its text; -1 for
        an edge without one.
        """

    def columns(self, fields: Sequence[str]) -> Columns:
        """Give the values of some of ``fields`` in all states."""
        return Columns(self._columns.values, {name: self._columns.nodes[name] for name in fields})

    def state(self, row: int) -> dict[str, Value]:
        """Give a state as TLA+ values, by the names of its variables."""
        values = self._columns.values
        return {name: values.value(int(of[row])) for name, of in self._columns.nodes.items()}

    @abstractmethod
    def tree(self, row: int) -> Tree:
        """Give a state as plain JSON values, by the names of its variables."""

    @abstractmethod
    def edge(self, edge: int) -> EdgeView:
        """Give one edge.

        Raises
        ------
        GraphError
            If no edge has that number.
        """

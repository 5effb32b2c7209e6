"""The difference of two state graphs: states and edges that only one of them has.

States are identified by their contents, so that graphs of different models, or of different
revisions of the protocol, can be compared; how a member's peers are numbered does not matter. An
edge is its source, its action, what it consumes and sends as far as the graph says so, and its
target.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from canvass.graph import GraphError
from canvass.graph.folders import Rows
from canvass.graph.view import StateGraph
from canvass.steps.distinct import distinct_rows


class ActionDiff(msgspec.Struct, frozen=True, rename="camel"):
    """Distinct edges of one action: in both graphs, and in one only.

    Attributes
    ----------
    changed
        Edges in one graph only, whose source is expanded in both: the graphs disagree on its steps.
    """

    action: str
    both: int
    only_first: int
    only_second: int
    changed: int


class EdgeSample(msgspec.Struct, frozen=True, rename={"side": "in"}):
    """An edge on which the graphs disagree, and the graph that has it."""

    side: Literal["first", "second"]
    source: str
    action: str
    target: str
    edge: int


@dataclass(frozen=True, slots=True, eq=False)
class Diff:
    """The difference of two graphs.

    Attributes
    ----------
    only_first, only_second
        Rows of states in the first and in the second graph.
    both
        The number of states in both.
    actions
        Edges by action, in the order of the names.
    changed
        Some edges on which the graphs disagree, up to the limit.
    """

    only_first: Rows
    only_second: Rows
    both: int
    actions: tuple[ActionDiff, ...]
    changed: tuple[EdgeSample, ...]

    @property
    def same(self) -> bool:
        """Whether the graphs have the same states and edges."""
        edges = any(one.only_first or one.only_second for one in self.actions)
        return not (len(self.only_first) or len(self.only_second) or edges)


def diff(first: StateGraph, second: StateGraph, *, limit: int = 20) -> Diff:
    """Compare two graphs.

    Parameters
    ----------
    first, second
        Graphs of one kind.
    limit
        How many edges are listed in ``changed``.

    Raises
    ------
    GraphError
        If one is of a member and the other a dump: their states have nothing in common.
    """
    if first.kind != second.kind:
        raise GraphError(
            f"{first.folder} and {second.folder} are of different kinds: no state can be in both"
        )
    graphs = (first, second)
    numbers, of = _number_states(graphs)
    has = np.zeros((2, numbers), dtype=np.bool_)
    expanded = np.zeros((2, numbers), dtype=np.bool_)
    for side, graph in enumerate(graphs):
        has[side, of[side]] = True
        expanded[side, of[side]] = graph.expanded
    names = sorted({name for graph in graphs for name in graph.actions})
    cells = np.concatenate([_edges(graph, of[side], names) for side, graph in enumerate(graphs)])
    sides = np.repeat([0, 1], [graph.edge_count for graph in graphs])
    example, places = distinct_rows(cells)
    found = np.zeros((2, len(example)), dtype=np.bool_)
    found[sides, places] = True
    in_both = expanded[0] & expanded[1]
    disputed = (found[0] != found[1]) & in_both[cells[example, 0]]
    return Diff(
        only_first=np.flatnonzero(~has[1][of[0]]).astype(np.int32),
        only_second=np.flatnonzero(~has[0][of[1]]).astype(np.int32),
        both=int((has[0] & has[1]).sum()),
        actions=_by_action(names, cells[example, 1], found, disputed),
        changed=_samples(graphs, example[disputed], limit),
    )


def _number_states(graphs: tuple[StateGraph, StateGraph]) -> tuple[int, list[Rows]]:
    """Give states of both graphs common numbers."""
    words = np.concatenate([graph.identities for graph in graphs])
    first, places = distinct_rows(words)
    cut = graphs[0].state_count
    return len(first), [places[:cut].astype(np.int32), places[cut:].astype(np.int32)]


def _edges(graph: StateGraph, of: Rows, names: list[str]) -> NDArray[np.int64]:
    """Give source, action, label and target of each edge."""
    code = np.array([names.index(name) for name in graph.actions] or [0], dtype=np.int64)
    source = np.repeat(of, np.diff(graph.out_offsets))
    cells = (source, code[graph.out_action], graph.out_label, of[graph.out_target])
    return np.stack(cells, axis=1).astype(np.int64)


def _by_action(
    names: list[str],
    actions: NDArray[np.int64],
    found: NDArray[np.bool_],
    disputed: NDArray[np.bool_],
) -> tuple[ActionDiff, ...]:
    def counts(mask: NDArray[np.bool_]) -> list[int]:
        numbers: list[int] = np.bincount(actions[mask], minlength=len(names)).tolist()
        return numbers

    columns = (
        counts(found[0] & found[1]),
        counts(found[0] & ~found[1]),
        counts(found[1] & ~found[0]),
        counts(disputed),
    )
    rows = zip(names, *columns, strict=True)
    return tuple(ActionDiff(*row) for row in rows if any(row[1:]))


def _samples(
    graphs: tuple[StateGraph, StateGraph], places: NDArray[np.int64], limit: int
) -> tuple[EdgeSample, ...]:
    samples = []
    for place in np.sort(places)[:limit].tolist():
        second = place >= graphs[0].edge_count
        graph = graphs[second]
        at = place - graphs[0].edge_count * second
        source = int(np.searchsorted(graph.out_offsets, at, side="right")) - 1
        samples.append(
            EdgeSample(
                side="second" if second else "first",
                source=graph.id_of(source),
                action=graph.actions[int(graph.out_action[at])],
                target=graph.id_of(int(graph.out_target[at])),
                edge=int(graph.out_edge[at]),
            )
        )
    return tuple(samples)

"""Projection: states that agree in an expression become one class, edges lead between classes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from canvass.graph.folders import Rows
from canvass.graph.predicate import vectors
from canvass.graph.values import tree_of
from canvass.graph.vectors import Kernel, Nodes, Numbers, Truths, Vector
from canvass.graph.view import StateGraph
from canvass.graph.walks import allowed_out
from canvass.steps.distinct import distinct_rows
from canvass.tlc import format_value

MAX_CLASSES: Final = 10_000
ABSENT_TEXT: Final = "(absent)"


@dataclass(frozen=True, slots=True)
class QuotientEdge:
    """All edges of one action from one class to another: numbers of classes, and how many."""

    source: int
    target: int
    action: str
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class Quotient:
    """A graph of classes of states, the largest class first.

    Attributes
    ----------
    by
        The expression.
    keys
        Its value in each class, as plain JSON values; a list of them if there are several.
    labels
        The same as TLA+ text.
    counts
        How many states each class has.
    examples
        The lowest row of each.
    class_of
        For each state its class, -1 if that was left out.
    edges
        Between classes, those within a class included, by source, target and action.
    left_out_classes, left_out_states, left_out_edges
        What the limit cut off.
    """

    by: str
    keys: tuple[Any, ...]
    labels: tuple[str, ...]
    counts: NDArray[np.int64]
    examples: Rows
    class_of: Rows
    edges: tuple[QuotientEdge, ...]
    left_out_classes: int
    left_out_states: int
    left_out_edges: int


def project(
    graph: StateGraph,
    expression: str,
    actions: Collection[str] | None = None,
    *,
    limit: int = MAX_CLASSES,
) -> Quotient:
    """Project a graph onto an expression.

    Parameters
    ----------
    graph
        The state graph.
    expression
        One, or several with commas between them.
    actions
        The actions whose edges count; all by default.
    limit
        How many classes there may be; the largest are kept, and the rest is counted.

    Raises
    ------
    PredicateError
        If the expression is none of this graph.
    GraphError
        If the graph has no action of a name.
    """
    found, kernel = vectors(graph, expression)
    columns = [_codes(vector) for vector in found]
    first, class_of = distinct_rows(np.stack(columns, axis=1))
    counts = np.bincount(class_of, minlength=len(first))
    order = np.lexsort((first, -counts))
    kept = order[: max(limit, 1)]
    number = np.full(len(order), -1, dtype=np.int32)
    number[kept] = np.arange(len(kept), dtype=np.int32)
    of: Rows = number[class_of]
    values = [[_value(vector, kernel, row) for vector in found] for row in first[kept].tolist()]
    edges, left_out_edges = _edges(graph, of, actions)
    return Quotient(
        by=expression,
        keys=tuple(row[0][0] if len(row) == 1 else [plain for plain, _ in row] for row in values),
        labels=tuple(", ".join(text for _, text in row) for row in values),
        counts=counts[kept].astype(np.int64),
        examples=first[kept].astype(np.int32),
        class_of=of,
        edges=edges,
        left_out_classes=len(order) - len(kept),
        left_out_states=int((of < 0).sum()),
        left_out_edges=left_out_edges,
    )


def values_at(graph: StateGraph, expression: str, rows: Iterable[int]) -> list[str]:
    """Give the value of an expression, or of several, in some states, as TLA+ text.

    Raises
    ------
    PredicateError
        If the expression is none of this graph.
    """
    found, kernel = vectors(graph, expression)
    return [", ".join(_value(vector, kernel, row)[1] for vector in found) for row in rows]


def _codes(vector: Vector) -> NDArray[np.int64]:
    """Give numbers that are equal where values are."""
    if isinstance(vector, Nodes):
        return vector.nodes.astype(np.int64)
    if isinstance(vector, Truths):
        return vector.holds.astype(np.int64)
    _, places = np.unique(vector.values, return_inverse=True)
    return np.where(vector.present, places.reshape(-1), -1)


def _value(vector: Vector, kernel: Kernel, row: int) -> tuple[Any, str]:
    """Give a value as JSON has it, and as text."""
    if isinstance(vector, Truths):
        holds = bool(vector.holds[row])
        return holds, format_value(holds)
    if isinstance(vector, Numbers):
        if not vector.present[row]:
            return None, ABSENT_TEXT
        return int(vector.values[row]), str(int(vector.values[row]))
    value = kernel.value(int(vector.nodes[row]))
    return (None, ABSENT_TEXT) if value is None else (tree_of(value), format_value(value))


def _edges(
    graph: StateGraph, of: Rows, actions: Collection[str] | None
) -> tuple[tuple[QuotientEdge, ...], int]:
    allowed = allowed_out(graph, actions)
    source = np.repeat(of, np.diff(graph.out_offsets))[allowed]
    target = of[graph.out_target[allowed]]
    cells = np.stack([source, target, graph.out_action[allowed]], axis=1)
    kept = (source >= 0) & (target >= 0)
    cells = cells[kept]
    first, places = distinct_rows(cells)
    counts = np.bincount(places, minlength=len(first)).tolist()
    edges = tuple(
        QuotientEdge(one, two, graph.actions[action], count)
        for (one, two, action), count in zip(cells[first].tolist(), counts, strict=True)
    )
    return edges, int((~kept).sum())

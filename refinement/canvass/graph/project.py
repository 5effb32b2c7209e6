"""Projection: states that agree in an expression become one class, edges lead between classes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from canvass.graph.folders import Rows
from canvass.graph.predicate import Answers, OnProgress, evaluate
from canvass.graph.values import tree_of
from canvass.graph.view import StateGraph
from canvass.graph.walks import has_action
from canvass.tlc.values import format_value
from canvass.traces.columns import distinct_rows

MAX_CLASSES: Final = 10_000
ABSENT_TEXT: Final = "(absent)"
MAP_VALUES: Final = (3, 40)
"""Fewest and most values of the field that makes a map of a graph."""


@dataclass(frozen=True, slots=True)
class QuotientEdge:
    """All edges of one action from one class to another: the classes' numbers, and a count."""

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
        The value of the expression in each class, as plain JSON values; a list of values if there
        are several expressions.
    labels
        The same values as TLA+ text.
    counts
        The number of states of each class.
    examples
        The lowest row of each class.
    class_of
        For each state its class, -1 if the class was left out.
    edges
        The edges between classes and within a class, ordered by source, target and action.
    left_out_classes, left_out_states, left_out_edges
        The numbers of classes, states and edges that the limit leaves out.
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
    on_progress: OnProgress | None = None,
) -> Quotient:
    """Project a graph onto an expression.

    Parameters
    ----------
    graph
        The state graph.
    expression
        One expression, or several with commas between them.
    actions
        The actions whose edges count; all by default.
    limit
        The most classes; the largest are kept, and the others are only counted.
    on_progress
        See `canvass.graph.predicate.evaluate`.

    Raises
    ------
    PredicateError
        If the text is not an expression over the fields of the graph.
    GraphError
        If the graph has no action of a name.
    """
    found = evaluate(graph, expression, on_progress)
    columns = [answers.codes() for answers in found]
    first, class_of = distinct_rows(np.stack(columns, axis=1))
    counts = np.bincount(class_of, minlength=len(first))
    order = np.lexsort((first, -counts))
    kept = order[: max(limit, 1)]
    number = np.full(len(order), -1, dtype=np.int32)
    number[kept] = np.arange(len(kept), dtype=np.int32)
    of: Rows = number[class_of]
    values = [[_shown(answers, row) for answers in found] for row in first[kept].tolist()]
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


def map_field(graph: StateGraph) -> str:
    """Choose the field whose projection is a map of the graph.

    It is the election state, if there is one. Else it is the variable with 3 to 40 values that has
    the highest entropy over the states; empty if there is no such variable.
    """
    if "electionState" in graph.fields:
        return "electionState"
    best, most = "", 0.0
    for name, nodes in graph.columns(graph.fields).nodes.items():
        _, counts = np.unique(nodes, return_counts=True)
        share = counts / len(nodes)
        entropy = float(-(share * np.log(share)).sum())
        if MAP_VALUES[0] <= len(counts) <= MAP_VALUES[1] and entropy > most:
            best, most = name, entropy
    return best


def values_at(graph: StateGraph, expression: str, rows: Iterable[int]) -> list[str]:
    """Give the value of an expression, or of several, in some states, as TLA+ text.

    Raises
    ------
    PredicateError
        If the text is not an expression over the fields of the graph.
    """
    found = evaluate(graph, expression)
    return [", ".join(_shown(answers, row)[1] for answers in found) for row in rows]


def _shown(answers: Answers, row: int) -> tuple[Any, str]:
    """Give a value as plain JSON values, and as text."""
    value = answers.at(row)
    return (None, ABSENT_TEXT) if value is None else (tree_of(value), format_value(value))


def _edges(
    graph: StateGraph, of: Rows, actions: Collection[str] | None
) -> tuple[tuple[QuotientEdge, ...], int]:
    out, allowed = graph.out, has_action(graph, graph.out, actions)
    source, target = of[out.own[allowed]], of[out.ends[allowed]]
    cells = np.stack([source, target, out.action[allowed]], axis=1)
    kept = (source >= 0) & (target >= 0)
    cells = cells[kept]
    first, places = distinct_rows(cells)
    counts = np.bincount(places, minlength=len(first)).tolist()
    edges = tuple(
        QuotientEdge(one, two, graph.actions[action], count)
        for (one, two, action), count in zip(cells[first].tolist(), counts, strict=True)
    )
    return edges, int((~kept).sum())

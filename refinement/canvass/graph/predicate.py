"""`Predicate`: a condition on states, parsed and evaluated on a graph.

The language is small and safe: it is read by `canvass.graph.syntax`, evaluated over columns by
`canvass.graph.evaluate`, and never given to Python. ``docs/guide/graph.md`` describes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from canvass.graph.evaluate import Evaluator, names_in, near, refuse_too_many, strings_in
from canvass.graph.folders import Rows
from canvass.graph.syntax import Node, PredicateError, parse_expressions
from canvass.graph.values import Kind
from canvass.graph.vectors import Kernel, Mask, Nodes, Vector
from canvass.graph.view import StateGraph

__all__ = ["Predicate", "PredicateError", "parse", "vectors"]


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition.

    Attributes
    ----------
    text
        As it was written.
    node
        As it was read.
    """

    text: str
    node: Node

    def mask(self, graph: StateGraph) -> Mask:
        """Evaluate the condition in each state.

        Raises
        ------
        PredicateError
            If it names what the graph does not have, or is no condition.
        """
        evaluator = _evaluator(graph, (self.node,))[0]
        refuse_too_many(evaluator, [self.node])
        return evaluator.truths(self.node)

    def rows(self, graph: StateGraph) -> Rows:
        """Give the states in which the condition holds, ascending.

        Raises
        ------
        PredicateError
            If it names what the graph does not have, or is no condition.
        """
        return np.flatnonzero(self.mask(graph)).astype(np.int32)

    def unknown_names(self, graph: StateGraph) -> list[str]:
        """Name the strings that none of the fields has that the condition names.

        Returns
        -------
        list
            One line for each, with what may have been meant; empty for most conditions. Worth
            showing when the condition holds nowhere.
        """
        table = _evaluator(graph, (self.node,))[1].table
        known = [table.texts[code] for code in table.scalar[table.kind == Kind.STR].tolist()]
        names = {name for shape in table.shapes for name in shape}
        return [
            f"column {literal.at}: no state has the string {literal.value!a}"
            f"{near(str(literal.value), known)}"
            for literal in strings_in(self.node)
            if literal.value not in known and literal.value not in names
        ]


def parse(text: str) -> Predicate:
    """Read a predicate.

    Raises
    ------
    PredicateError
        If the text is none; it says the column, and what was expected there.
    """
    return Predicate(text, parse_expressions(text, several=False)[0])


def vectors(graph: StateGraph, text: str) -> tuple[Sequence[Vector], Kernel]:
    """Evaluate one expression, or several with commas between them, in each state.

    Raises
    ------
    PredicateError
        If the text is anything else, or names what the graph does not have.
    """
    nodes = parse_expressions(text, several=True)
    evaluator, kernel = _evaluator(graph, nodes)
    refuse_too_many(evaluator, nodes)
    return [evaluator.vector(node) for node in nodes], kernel


def _evaluator(graph: StateGraph, nodes: Sequence[Node]) -> tuple[Evaluator, Kernel]:
    fields = set(graph.fields)
    named = sorted({name.name for name in names_in(nodes)} & fields)
    columns = graph.columns(named or graph.fields[:1])
    kernel = Kernel(columns.values)
    bound = {name: Nodes(columns.nodes[name]) for name in named}
    return Evaluator(kernel, bound, graph.fields, graph.state_count), kernel

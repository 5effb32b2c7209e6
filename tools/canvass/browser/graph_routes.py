"""Questions about state graphs: their arguments and answers.

`canvass.graph` finds states, paths and classes of states; here they get labels and places.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from canvass.browser import api
from canvass.browser.graphs import OpenGraph, draw
from canvass.browser.labels import edge_words, labels_of
from canvass.browser.limits import (
    DEPTH,
    DRAWN_EDGES,
    DRAWN_STATES,
    LISTED,
    QUOTIENT_NODES,
    shortened,
)
from canvass.browser.questions import Answer, Arguments, at, bad_request
from canvass.browser.sources import Store
from canvass.graph.folders import Rows
from canvass.graph.predicate import parse
from canvass.graph.project import Quotient, project
from canvass.graph.walks import Hop, NoPath, around, shortest_path

COLOURS: Final = 8
"""Most values with their own colour: people cannot distinguish more."""
KEY_CHARS: Final = 200
"""Longest name of a node of a projection; it is short because every edge repeats it."""


class GraphRoutes:
    """Answers about the graphs of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def _graph(self, arguments: Arguments) -> OpenGraph:
        graph: OpenGraph = self._store.content("graph", arguments.part("graph"))
        return graph

    @at("/graph/{graph}")
    def info(self, arguments: Arguments) -> Answer:
        """Describe the graph."""
        return self._graph(arguments).info(arguments.part("graph"))

    @at("/graph/{graph}/state/{state}")
    def state(self, arguments: Arguments) -> Answer:
        """Describe one state."""
        graph = self._graph(arguments)
        return graph.state(
            graph.row(arguments.part("state")), arguments.number("limit", 50, LISTED)
        )

    @at("/graph/{graph}/around/{state}")
    def around(self, arguments: Arguments) -> Answer:
        """Draw the states around a state."""
        graph = self._graph(arguments)
        row, actions = graph.row(arguments.part("state")), arguments.names("actions")
        depth = arguments.number("depth", 2, DEPTH)
        limit = arguments.number("limit", 200, DRAWN_STATES, 1)
        return draw(graph, row, around(graph.view, row, depth, limit, actions or None))

    @at("/graph/{graph}/find")
    def find(self, arguments: Arguments) -> Answer:
        """Find the states in which a predicate holds."""
        graph = self._graph(arguments)
        view = graph.view
        predicate = parse(arguments.required("where"))
        rows = predicate.rows(view)
        first = rows[: arguments.number("limit", 100, LISTED)].tolist()
        shown = labels_of({row: view.tree(row) for row in first})
        refs = tuple(api.StateRef(view.id_of(row), label) for row, label in shown.items())
        hints = () if len(rows) else tuple(predicate.unknown_names(view))
        return api.Found(count=len(rows), shown=refs, hints=hints)

    @at("/graph/{graph}/path")
    def path(self, arguments: Arguments) -> Answer:
        """Find a shortest path."""
        graph = self._graph(arguments)
        view = graph.view
        hops, first = _path(
            graph,
            arguments.required("from"),
            arguments.text("to"),
            arguments.text("where"),
            arguments.names("actions"),
        )
        trees = {row: view.tree(row) for row in (first, *(hop.target for hop in hops))}
        labels = labels_of(trees)
        return api.PathView(
            start=api.StateRef(view.id_of(first), labels[first]),
            hops=tuple(
                api.Hop(
                    edge=hop.edge,
                    action=hop.action,
                    source=view.id_of(hop.source),
                    target=view.id_of(hop.target),
                    target_label=labels[hop.target],
                    words=edge_words(trees[hop.source], trees[hop.target], hop.action),
                )
                for hop in hops
            ),
        )

    @at("/graph/{graph}/project")
    def project(self, arguments: Arguments) -> Answer:
        """Project the graph onto an expression."""
        graph, by = self._graph(arguments), arguments.required("by")
        actions = arguments.names("actions")
        found = project(graph.view, by, actions or None, limit=QUOTIENT_NODES)
        values, shares = _shares(graph, found, arguments.text("colour"))
        # Long names are shortened; a number distinguishes two with the same beginning.
        keys = [shortened(label, KEY_CHARS) for label in found.labels]
        keys = [key if keys.count(key) == 1 else f"{key} #{k}" for k, key in enumerate(keys)]
        marks = {
            "initial": graph.view.initial,
            "terminal": np.flatnonzero(graph.terminal).astype(np.int32),
            "violating": graph.view.violating,
        }
        counted = {name: _counts(found, rows).tolist() for name, rows in marks.items()}
        shown, cut = found.edges[:DRAWN_EDGES], found.edges[DRAWN_EDGES:]
        return api.Projection(
            values=values,
            nodes=tuple(
                api.QuotientNode(
                    key=key,
                    count=int(found.counts[k]),
                    **{name: counts[k] for name, counts in counted.items()},
                    example=graph.view.id_of(int(found.examples[k])),
                    shares=tuple(shares[k].tolist()),
                )
                for k, key in enumerate(keys)
            ),
            edges=tuple(
                api.QuotientEdge(
                    source=keys[one.source],
                    target=keys[one.target],
                    action=one.action,
                    count=one.count,
                )
                for one in shown
            ),
            left_out=api.LeftOut(
                states=found.left_out_states,
                edges=found.left_out_edges + sum(one.count for one in cut),
            ),
            left_out_classes=found.left_out_classes,
        )


def _path(
    graph: OpenGraph, start: str, end: str, where: str, actions: Collection[str]
) -> tuple[Sequence[Hop], int]:
    """Find a shortest path to a state, or to the nearest one in which a predicate holds.

    The second value is the state in which the path begins.
    """
    if bool(end) == bool(where):
        raise bad_request("a path needs to=STATE or where=EXPRESSION, and not both")
    targets: NDArray[np.int32] = (
        np.array([graph.row(end)], dtype=np.int32) if end else parse(where).rows(graph.view)
    )
    if not len(targets):
        hints = "".join(f"; {hint}" for hint in parse(where).unknown_names(graph.view))
        raise NoPath(f"the predicate holds in no state of the graph{hints}")
    sources = (
        graph.view.initial if start == "initial" else np.array([graph.row(start)], dtype=np.int32)
    )
    hops = shortest_path(graph.view, sources.tolist(), targets.tolist(), actions or None)
    first = hops[0].source if hops else int(np.intersect1d(sources, targets)[0])
    return hops, first


def _counts(found: Quotient, rows: Rows) -> NDArray[np.int64]:
    """Count the states among some in each node of a projection."""
    of = found.class_of[rows]
    return np.bincount(of[of >= 0], minlength=len(found.keys))


def _shares(
    graph: OpenGraph, found: Quotient, colour: str
) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Count the states of each node by the value of another expression; combine rare values."""
    if not colour:
        return (), np.zeros((len(found.keys), 0), dtype=np.int64)
    other = project(graph.view, colour, limit=COLOURS)
    names = tuple(shortened(label, KEY_CHARS) for label in other.labels)
    names += ("other values",) if other.left_out_classes else ()
    value = np.where(other.class_of < 0, len(names) - 1, other.class_of)
    kept = found.class_of >= 0
    cells = found.class_of[kept].astype(np.int64) * len(names) + value[kept]
    counts = np.bincount(cells, minlength=len(found.keys) * len(names))
    return names, counts.reshape(len(found.keys), len(names))

"""Questions about state graphs: their arguments and answers.

`canvass.graph` finds states, paths and components; here they get labels and places. The steps that
the open runs take are counted once for each graph.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from canvass.browser import api
from canvass.browser.exports import checked_format, export_part, export_path
from canvass.browser.graphs import Extent, OpenGraph, draw, drawn_edges, find_near
from canvass.browser.labels import edge_words, labels_of
from canvass.browser.layout import layers_from, place
from canvass.browser.limits import (
    DEPTH,
    DRAWN_EDGES,
    DRAWN_STATES,
    LISTED,
    QUOTIENT_NODES,
    shortened,
)
from canvass.browser.member_steps import MemberSteps, Taken
from canvass.browser.questions import Answer, Arguments, Question, Refusal, bad_request
from canvass.browser.sources import Lazy, Source, Store
from canvass.conformance.batch import Batch
from canvass.conformance.diagnose import RunColumns, load
from canvass.graph.predicate import parse
from canvass.graph.project import Quotient, project
from canvass.graph.walks import Hop, NoPath, shortest_path
from canvass.traces.errors import TraceError
from canvass.traces.layout import ACTION_NAMES


class Coverages:
    """Counts of the steps that the open runs take, for each graph.

    Parameters
    ----------
    store
        The opened sources.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._found: dict[str, Lazy[Taken]] = {}

    def taken(self, graph_id: str) -> tuple[MemberSteps, Taken]:
        """Give the steps of a graph, and how often the open runs take each of them.

        Raises
        ------
        Refusal
            If the graph is not open, or not a member graph.
        """
        graph: OpenGraph = self._store.content("graph", graph_id)
        steps = graph.steps
        if steps is None:
            raise bad_request("steps of runs are found in graphs of `canvass graph build` only")
        with self._lock:
            if graph_id not in self._found:
                sources = [source for _, source in self._store.of_kind("run")]
                self._found[graph_id] = Lazy(lambda: steps.take(_batches(sources, steps)))
            lazy = self._found[graph_id]
        return steps, lazy.get()


def _batches(sources: list[Source], steps: MemberSteps) -> Iterator[Batch]:
    for source in sources:
        loaded = _loaded(source)
        if loaded is not None and steps.fits(loaded.run.rules):
            yield loaded.batch


def _loaded(source: Source) -> RunColumns | None:
    """Read a run; None if it cannot be read: the run's own page says why."""
    try:
        if source.content.made or source.imported:
            loaded: RunColumns = source.content.get().opened.loaded
            return loaded
        return load(source.path, source.run_id)
    except (TraceError, Refusal, KeyError, ValueError):
        return None


KEY_CHARS: Final = 200
"""Longest name of a node of a projection: every edge repeats it."""
LARGEST: Final = 50
"""Components that are listed, the largest ones."""
EXTENT: Final = ("depth", "limit", "actions", "include")
EXPORT: Final = ("format", "around", "path", "from", "to", "where", *EXTENT)


class GraphRoutes:
    """Answers about the graphs of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._coverages = Coverages(store)

    def _graph(self, arguments: Arguments) -> OpenGraph:
        graph: OpenGraph = self._store.content("graph", arguments.part("graph"))
        return graph

    def info(self, arguments: Arguments) -> Answer:
        """Describe the graph."""
        return self._graph(arguments).info(arguments.part("graph"))

    def state(self, arguments: Arguments) -> Answer:
        """Describe one state."""
        graph = self._graph(arguments)
        return graph.state(
            graph.row(arguments.part("state")), arguments.number("limit", 50, LISTED)
        )

    def around(self, arguments: Arguments) -> Answer:
        """Draw the states around a state."""
        graph = self._graph(arguments)
        return draw(graph, graph.row(arguments.part("state")), _extent(graph, arguments))

    def coverage(self, arguments: Arguments) -> Answer:
        """Count the steps of the graph that runs take, and those of the drawn edges."""
        steps, taken = self._coverages.taken(arguments.part("graph"))
        if not arguments.text("around"):
            return steps.coverage(taken)
        graph = self._graph(arguments)
        row = graph.row(arguments.text("around"))
        return steps.coverage(taken, drawn_edges(graph, row, _extent(graph, arguments)))

    def untaken(self, arguments: Arguments) -> Answer:
        """List the steps of an action that no run takes."""
        action = arguments.required("action")
        if action not in ACTION_NAMES:
            raise bad_request(f"there is no action {action}")
        steps, taken = self._coverages.taken(arguments.part("graph"))
        limit = arguments.number("limit", 50, LISTED, 1)
        simulate = arguments.number("simulate", 0, 1) == 1
        return steps.untaken(taken.counts, action, limit, simulate=simulate)

    def find(self, arguments: Arguments) -> Answer:
        """Find the states in which a predicate holds."""
        graph = self._graph(arguments)
        view = graph.view
        predicate = parse(arguments.required("where"))
        rows = predicate.rows(view)
        shown = graph.labels(rows[: arguments.number("limit", 100, LISTED)].tolist())
        refs = tuple(api.StateRef(view.id_of(row), label) for row, label in shown.items())
        hints = () if len(rows) else tuple(predicate.unknown_names(view))
        return api.Found(count=len(rows), shown=refs, hints=hints)

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
                    source_label=labels[hop.source],
                    target_label=labels[hop.target],
                    words=edge_words(trees[hop.source], trees[hop.target], hop.action),
                )
                for hop in hops
            ),
        )

    def project(self, arguments: Arguments) -> Answer:
        """Project the graph onto an expression."""
        graph, by = self._graph(arguments), arguments.required("by")
        actions = arguments.names("actions")
        found = project(graph.view, by, actions or None, limit=QUOTIENT_NODES)
        pairs = sorted({(one.source, one.target) for one in found.edges})
        placed = place(layers_from(len(found.keys), pairs, _roots(graph, found)), pairs)
        # Long names are shortened; a number distinguishes two with the same beginning.
        keys = [shortened(label, KEY_CHARS) for label in found.labels]
        keys = [key if keys.count(key) == 1 else f"{key} #{k}" for k, key in enumerate(keys)]
        shown, cut = found.edges[:DRAWN_EDGES], found.edges[DRAWN_EDGES:]
        return api.Projection(
            by=by,
            nodes=tuple(
                api.QuotientNode(
                    key=key,
                    count=int(found.counts[k]),
                    example=graph.view.id_of(int(found.examples[k])),
                    x=placed.x[k],
                    y=placed.y[k],
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

    def export(self, arguments: Arguments) -> Answer:
        """Write a file with the states around a state, a path, or the whole graph."""
        graph = self._graph(arguments)
        form = checked_format(arguments.required("format"))
        actions = arguments.names("actions")
        if arguments.text("around"):
            row = graph.row(arguments.text("around"))
            near = find_near(graph, row, _extent(graph, arguments))
            return export_part(graph, form, near.rows.tolist(), actions)
        if not arguments.text("path") and not arguments.text("from"):
            return export_part(graph, form, None, actions)
        end = arguments.text("path") or arguments.text("to")
        start = arguments.text("from") or "initial"
        hops, first = _path(graph, start, end, arguments.text("where"), actions)
        return export_path(graph, form, first, hops)

    def components(self, arguments: Arguments) -> Answer:
        """Describe the strongly connected components."""
        graph = self._graph(arguments)
        found = graph.components.get()
        largest = graph.labels(found.examples[:LARGEST].tolist())
        return api.Components(
            count=len(found),
            largest=tuple(
                api.Component(size=size, example=graph.view.id_of(row), label=label)
                for size, (row, label) in zip(found.sizes.tolist(), largest.items(), strict=False)
            ),
            terminal=int(found.terminal.sum()),
        )


def _extent(graph: OpenGraph, arguments: Arguments) -> Extent:
    """Read the size of a drawing from the arguments."""
    include = arguments.text("include")
    return Extent(
        depth=arguments.number("depth", 2, DEPTH),
        limit=arguments.number("limit", 200, DRAWN_STATES, 1),
        actions=arguments.names("actions"),
        include=graph.row(include) if include else None,
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


def _roots(graph: OpenGraph, found: Quotient) -> list[int]:
    """Give the nodes of a projection with initial states; the largest node if there are none."""
    classes = np.unique(found.class_of[graph.view.initial])
    roots: list[int] = classes[classes >= 0].tolist()
    return roots or ([0] if len(found.keys) else [])


def graph_questions(store: Store) -> list[Question]:
    """Give the questions about state graphs."""
    routes = GraphRoutes(store)
    return [
        Question("/graph/{graph}", (), routes.info),
        Question("/graph/{graph}/state/{state}", ("limit",), routes.state),
        Question("/graph/{graph}/around/{state}", EXTENT, routes.around),
        Question("/graph/{graph}/find", ("where", "limit"), routes.find),
        Question("/graph/{graph}/path", ("from", "to", "where", "actions"), routes.path),
        Question("/graph/{graph}/project", ("by", "actions"), routes.project),
        Question("/graph/{graph}/export", EXPORT, routes.export),
        Question("/graph/{graph}/components", (), routes.components),
        Question("/graph/{graph}/untaken", ("action", "limit", "simulate"), routes.untaken),
        Question("/graph/{graph}/coverage", ("around", *EXTENT), routes.coverage),
    ]

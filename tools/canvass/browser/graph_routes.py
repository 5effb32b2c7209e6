"""Questions about state graphs: what each one takes, and whom it asks."""

from __future__ import annotations

from typing import Final

from canvass.browser.arguments import Answer, Arguments, Question
from canvass.browser.coverage import Coverages
from canvass.browser.exports import checked_format, export_part, export_path
from canvass.browser.graph_answers import asked, find, find_path, path, quotient, strong_components
from canvass.browser.graphs import OpenGraph
from canvass.browser.guard import bad_request
from canvass.browser.limits import DEPTH, DRAWN_STATES, LISTED
from canvass.browser.neighbourhood import Extent, draw, drawn_edges, find_near
from canvass.browser.sources import Store
from canvass.traces.layout import ACTION_NAMES

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
        """Say what there is."""
        return self._graph(arguments).info(arguments.part("graph"))

    def state(self, arguments: Arguments) -> Answer:
        """Give everything of one state."""
        graph = self._graph(arguments)
        return graph.state(
            graph.row(arguments.part("state")), arguments.number("limit", 50, LISTED)
        )

    def around(self, arguments: Arguments) -> Answer:
        """Lay out the part around a state."""
        graph = self._graph(arguments)
        with asked():
            row = graph.row(arguments.part("state"))
            return draw(graph, row, _extent(graph, arguments))

    def coverage(self, arguments: Arguments) -> Answer:
        """Say how much of the graph runs take, and which of the drawn edges."""
        steps, taken = self._coverages.taken(arguments.part("graph"))
        if not arguments.text("around"):
            return steps.coverage(taken)
        graph = self._graph(arguments)
        with asked():
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
        limit = arguments.number("limit", 100, LISTED)
        with asked():
            return find(self._graph(arguments), arguments.required("where"), limit)

    def path(self, arguments: Arguments) -> Answer:
        """Find a shortest path."""
        with asked():
            return path(
                self._graph(arguments),
                arguments.required("from"),
                arguments.text("to"),
                arguments.text("where"),
                arguments.names("actions"),
            )

    def project(self, arguments: Arguments) -> Answer:
        """See the graph through an expression."""
        with asked():
            by = arguments.required("by")
            return quotient(self._graph(arguments), by, arguments.names("actions"))

    def export(self, arguments: Arguments) -> Answer:
        """Give a file of the part around a state, of a path, or of the whole graph."""
        graph = self._graph(arguments)
        form = checked_format(arguments.required("format"))
        actions = arguments.names("actions")
        with asked():
            if arguments.text("around"):
                row = graph.row(arguments.text("around"))
                near = find_near(graph, row, _extent(graph, arguments))
                return export_part(graph, form, near.rows.tolist(), actions)
            if not arguments.text("path") and not arguments.text("from"):
                return export_part(graph, form, None, actions)
            end = arguments.text("path") or arguments.text("to")
            start = arguments.text("from") or "initial"
            hops, first = find_path(graph, start, end, arguments.text("where"), actions)
            return export_path(graph, form, first, hops)

    def components(self, arguments: Arguments) -> Answer:
        """Describe the strongly connected components."""
        graph = self._graph(arguments)
        return strong_components(graph, graph.components.get())


def _extent(graph: OpenGraph, arguments: Arguments) -> Extent:
    """Read how much is drawn around a state."""
    include = arguments.text("include")
    return Extent(
        depth=arguments.number("depth", 2, DEPTH),
        limit=arguments.number("limit", 200, DRAWN_STATES, 1),
        actions=arguments.names("actions"),
        include=graph.row(include) if include else None,
    )


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

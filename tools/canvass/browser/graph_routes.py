"""Questions about state graphs: what each one takes, and whom it asks."""

from __future__ import annotations

from typing import Final

from canvass.browser.app import Answer, Question
from canvass.browser.arguments import Arguments
from canvass.browser.coverage import Coverages
from canvass.browser.graphs import OpenGraph
from canvass.browser.limits import DEPTH, DRAWN_STATES, LISTED
from canvass.browser.sources import Store

EXTENT: Final = ("depth", "limit", "actions")


class GraphRoutes:
    """Answers about the graphs of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._coverages = Coverages(store)

    def _graph(self, arguments: Arguments) -> OpenGraph:
        graph: OpenGraph = self._store.content("graph", arguments.part("graph"))
        return graph

    def info(self, arguments: Arguments) -> Answer:
        """Tell what there is."""
        return self._graph(arguments).info(arguments.part("graph"))

    def state(self, arguments: Arguments) -> Answer:
        """Tell everything of one state."""
        graph = self._graph(arguments)
        return graph.state(
            graph.row(arguments.part("state")), arguments.number("limit", 50, LISTED)
        )

    def around(self, arguments: Arguments) -> Answer:
        """Lay out the part around a state."""
        graph = self._graph(arguments)
        return graph.around(graph.row(arguments.part("state")), *_extent(arguments))

    def coverage(self, arguments: Arguments) -> Answer:
        """Tell how much of the graph runs take, and which of the drawn edges."""
        taken = self._coverages.taken(arguments.part("graph"), arguments.text("run"))
        if not arguments.text("around"):
            return taken.coverage()
        graph = self._graph(arguments)
        return taken.with_edges(
            graph.drawn(graph.row(arguments.text("around")), *_extent(arguments))
        )


def _extent(arguments: Arguments) -> tuple[int, int, tuple[str, ...]]:
    """Give how much is drawn around a state: depth, number of states, actions."""
    return (
        arguments.number("depth", 2, DEPTH),
        arguments.number("limit", 200, DRAWN_STATES, 1),
        arguments.names("actions"),
    )


def graph_questions(store: Store) -> list[Question]:
    """Give the questions about state graphs."""
    routes = GraphRoutes(store)
    return [
        Question("/graph/{graph}", (), routes.info),
        Question("/graph/{graph}/state/{state}", ("limit",), routes.state),
        Question("/graph/{graph}/around/{state}", EXTENT, routes.around),
        Question("/graph/{graph}/coverage", ("run", "around", *EXTENT), routes.coverage),
    ]

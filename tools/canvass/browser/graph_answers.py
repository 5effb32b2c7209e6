"""Answers to questions about a whole graph: states found, paths, projections, components.

The questions are asked of `canvass.graph`; what they find is named and laid out here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import numpy as np
from numpy.typing import NDArray

from canvass.browser import api
from canvass.browser.graphs import OpenGraph
from canvass.browser.guard import Refusal, bad_request
from canvass.browser.labels import edge_words, labels_of
from canvass.browser.layout import layers_from, place
from canvass.browser.limits import DRAWN_EDGES, QUOTIENT_NODES, shortened
from canvass.graph import GraphError
from canvass.graph.predicate import PredicateError, parse
from canvass.graph.project import Quotient, project
from canvass.graph.walks import Components, Hop, NoPath, shortest_path

KEY_CHARS: Final = 200
"""Of the name of a class: every edge repeats it."""
LARGEST: Final = 50
"""Components that are listed: the others are smaller."""


@contextmanager
def asked() -> Iterator[None]:
    """Turn what is wrong with a question into an answer.

    Raises
    ------
    Refusal
        For a `GraphError` from inside.
    """
    try:
        yield
    except NoPath as error:
        raise Refusal(404, "no-path", str(error)) from None
    except PredicateError as error:
        raise Refusal(400, "expression", str(error), error.column) from None
    except GraphError as error:
        raise bad_request(str(error)) from None


def find(graph: OpenGraph, where: str, limit: int) -> api.Found:
    """Find the states in which a predicate holds."""
    predicate = parse(where)
    rows = predicate.rows(graph.view)
    shown = graph.labels(rows[:limit].tolist())
    hints = () if len(rows) else tuple(predicate.unknown_names(graph.view))
    refs = tuple(api.StateRef(graph.view.id_of(row), label) for row, label in shown.items())
    return api.Found(count=len(rows), shown=refs, hints=hints)


def path(
    graph: OpenGraph, start: str, end: str, where: str, actions: Collection[str]
) -> api.PathView:
    """Find a shortest path.

    Parameters
    ----------
    graph
        The graph.
    start
        ``initial`` or a state.
    end, where
        A state, or what is to hold in one.
    actions
        The ones that may be taken; all if there are none.

    Raises
    ------
    Refusal
        If both ends or none are given, or no such state is there.
    NoPath
        If there is none.
    """
    hops, first = find_path(graph, start, end, where, actions)
    trees = {row: graph.view.tree(row) for row in (first, *(hop.target for hop in hops))}
    labels = labels_of(trees)
    return api.PathView(
        start=api.StateRef(graph.view.id_of(first), labels[first]),
        hops=tuple(
            api.Hop(
                edge=hop.edge,
                action=hop.action,
                source=graph.view.id_of(hop.source),
                target=graph.view.id_of(hop.target),
                source_label=labels[hop.source],
                target_label=labels[hop.target],
                words=edge_words(trees[hop.source], trees[hop.target], hop.action),
            )
            for hop in hops
        ),
    )


def find_path(
    graph: OpenGraph, start: str, end: str, where: str, actions: Collection[str]
) -> tuple[Sequence[Hop], int]:
    """Find a shortest path, and the state in which it begins; as `path`."""
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


def quotient(graph: OpenGraph, by: str, actions: Collection[str]) -> api.Projection:
    """See a graph through an expression."""
    found = project(graph.view, by, actions or None, limit=QUOTIENT_NODES)
    pairs = sorted({(one.source, one.target) for one in found.edges})
    placed = place(layers_from(len(found.keys), pairs, _roots(graph, found)), pairs)
    # A class may be too long to name: its number keeps two of them apart.
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
                source=keys[one.source], target=keys[one.target], action=one.action, count=one.count
            )
            for one in shown
        ),
        left_out=api.LeftOut(
            states=found.left_out_states,
            edges=found.left_out_edges + sum(one.count for one in cut),
        ),
        left_out_classes=found.left_out_classes,
    )


def _roots(graph: OpenGraph, found: Quotient) -> list[int]:
    """Give the classes of the initial states; the largest class if none of them is kept."""
    classes = np.unique(found.class_of[graph.view.initial])
    roots: list[int] = classes[classes >= 0].tolist()
    return roots or ([0] if len(found.keys) else [])


def strong_components(graph: OpenGraph, found: Components) -> api.Components:
    """Describe the strongly connected components."""
    largest = graph.labels(found.examples[:LARGEST].tolist())
    return api.Components(
        count=len(found),
        largest=tuple(
            api.Component(size=size, example=graph.view.id_of(row), label=label)
            for size, (row, label) in zip(found.sizes.tolist(), largest.items(), strict=False)
        ),
        terminal=int(found.terminal.sum()),
    )

"""A state graph, opened, and the questions about it: states, drawings, paths, projections.

The cost of an answer depends on the size of the answer, not of the graph: nothing here makes an
object for every state or edge. `canvass.graph` finds states, paths and classes of states; here they
get names and places.

In a member graph, a step of a run is an edge if both have the same canonical form: they differ only
in the numbering of terms, positions and peers. `canvass.conformance` decides which steps are
allowed.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from canvass.browser import api
from canvass.browser.labels import (
    distinct_labels,
    edge_words,
    label_of,
    labels_of,
    moved_member,
    near_label,
    tree_changes,
)
from canvass.browser.questions import (
    LISTED,
    Answer,
    Given,
    Limit,
    Text,
    at,
    bad_request,
    bounded,
    not_found,
    shortened,
)
from canvass.browser.sources import Lazy
from canvass.cluster.rules import Rules
from canvass.conformance.diagnose import RunColumns
from canvass.graph import queries
from canvass.graph.artifact import MemberView, keys_of_edges, open_keys
from canvass.graph.folders import Rows
from canvass.graph.open import open_view
from canvass.graph.predicate import parse
from canvass.graph.view import EdgeView, StateGraph, Tree
from canvass.lanes.drawing import action_name, is_cluster
from canvass.steps.answers import KeyTable
from canvass.steps.step import Question, key_rows, question_of
from canvass.traces.schema import NONE, STATE_INDEX

_DRAWN_STATES: Final = 1000
"""Most states drawn around a state: a browser can draw ten times as many, but nobody could read
them."""
_DRAWN_EDGES: Final = 5000
_QUOTIENT_NODES: Final = 500
_COLOURS: Final = 8
"""Most values with their own colour: people cannot distinguish more."""
_KEY_CHARS: Final = 200
"""Longest name of a node of a projection; it is short because every edge repeats it."""
_LIKE: Final = [STATE_INDEX[name] for name in ("election_state", "role", "module_state")]
"""Columns that show a person in which part of the protocol a member is."""


class MemberSteps:
    """The canonical steps of one graph.

    Parameters
    ----------
    view
        The graph.
    """

    def __init__(self, view: MemberView) -> None:
        self._view = view
        self._keys: KeyTable = open_keys(view.folder)
        self.rules: Rules = view.graph.rules
        self._class_of_key = np.full(len(view.graph.target), NONE, dtype=np.int64)
        """For each edge that is in the table of keys, its place there; `NONE` for other edges."""
        self._class_of_key[self._keys.edges] = np.arange(len(self._keys))
        self.classes: Lazy[NDArray[np.int64]] = Lazy(self._canonicalise)
        """For each edge, the place of its canonical step in the table of keys."""
        self._by_class: NDArray[np.int64] | None = None
        self._thread = threading.Thread(target=self.classes.get, daemon=True)
        self._lock = threading.Lock()

    def ready(self) -> bool:
        """Tell whether all edges have their canonical steps; the first call starts the work."""
        with self._lock:
            if self._thread.ident is None:
                self._thread.start()
        return self.classes.made

    def place(self, loaded: RunColumns, row: int) -> tuple[int, int, int] | None:
        """Find the edge of a run's step, with its source and target; None if the graph has none."""
        if int(loaded.steps.before[row]) < 0:
            return None
        question = question_of(loaded.step(row), loaded.run.rules)
        if not isinstance(question, Question):
            return None
        known = int(self._keys.lookup(key_rows([question.key]))[0])
        if known < 0:
            return None
        edge = self._most_like(known, loaded, row)
        graph = self._view.graph
        source, target = (
            self._view.row_of(int(column[edge])) for column in (graph.source, graph.target)
        )
        return edge, source, target

    def _most_like(self, known: int, loaded: RunColumns, row: int) -> int:
        """Among the edges with one canonical form, give the first one that resembles a run's step.

        A canonical form leaves out the fields that the action neither reads nor changes, so the
        edges can belong to different parts of the election. If possible, the chosen edge has the
        election state, role and module state of the run's step, before and after the step.
        """
        alike = self._edges_alike(known)
        graph, states = self._view.graph, loaded.steps
        wanted = (states.state[int(states.before[row]), _LIKE], states.state[row, _LIKE])
        same = np.ones(len(alike), dtype=np.bool_)
        for column, cells in zip((graph.source, graph.target), wanted, strict=True):
            same &= (graph.state[column[alike]][:, _LIKE] == cells).all(axis=1)
        return int(alike[np.argmax(same)]) if same.any() else known

    def _edges_alike(self, edge: int) -> NDArray[np.int64]:
        """Give all edges that have the canonical form of ``edge``."""
        classes = self.classes.get()
        if self._by_class is None:
            self._by_class = np.argsort(classes, kind="stable")
        wanted = (classes[edge], classes[edge] + 1)
        first, last = np.searchsorted(classes, wanted, sorter=self._by_class).tolist()
        return self._by_class[first:last]

    def _canonicalise(self) -> NDArray[np.int64]:
        graph = self._view.graph
        rows = np.flatnonzero(graph.target != NONE)
        classes = np.full(len(graph.target), NONE, dtype=np.int64)
        classes[rows] = self._class_of_key[self._keys.lookup(keys_of_edges(graph, rows))]
        return classes


class OpenGraph:
    """A state graph.

    Parameters
    ----------
    folder
        The folder of the graph, of either kind.

    Raises
    ------
    GraphError
        If the folder has no graph, or the graph is damaged.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.view: StateGraph = open_view(folder)

    @cached_property
    def steps(self) -> MemberSteps | None:
        """The canonical steps of a member graph; None for another graph."""
        return MemberSteps(self.view) if isinstance(self.view, MemberView) else None

    @cached_property
    def terminal(self) -> NDArray[np.bool_]:
        """For each state whether no step leads from it to another one."""
        return queries.terminal_states(self.view)

    @cached_property
    def _map_by(self) -> str:
        return queries.map_field(self.view)

    def row(self, state: str) -> int:
        """Find a state by its id or the beginning of its id.

        Raises
        ------
        Refusal
            If no state has such an id.
        GraphError
            If several states have such an id.
        """
        if (row := self.view.find(state)) is None:
            raise not_found(f"no state of the graph has an id that begins with {state}")
        return row

    @at("")
    def info(self, source: str) -> Answer:
        """Describe the graph."""
        view = self.view
        return api.GraphInfo(
            id=source,
            title=view.title,
            kind=view.kind,
            states=view.state_count,
            edges=view.edge_count,
            complete=view.complete,
            initial=tuple(view.id_of(int(row)) for row in view.initial[:LISTED]),
            violating=tuple(view.id_of(int(row)) for row in view.violating),
            actions=view.action_counts,
            fields=view.fields,
            map_by=self._map_by,
            drawn_states=_DRAWN_STATES,
            detail={str(k): _text(v) for k, v in view.detail.items()},
        )

    @at("/state/{state}")
    def state(self, state: str, limit: Limit = 50) -> Answer:
        """Describe a state, with up to ``limit`` steps that leave it, and as many that enter it."""
        view, row = self.view, self.row(state)
        tree = view.tree(row)
        first, last = int(view.out.offsets[row]), int(view.out.offsets[row + 1])
        # Steps back to the same state come last: they change nothing, and they are the majority.
        order = np.argsort(view.out.ends[first:last] == row, kind="stable")[:limit]
        leaving = [view.edge(int(one)) for one in view.out.edge[first + order]]
        start, end = int(view.into.offsets[row]), int(view.into.offsets[row + 1])
        back = np.argsort(view.into.ends[start:end] == row, kind="stable")[:limit]
        entering = view.into.ends[start + back].tolist()
        trees = {one: view.tree(one) for one in [row, *(e.target for e in leaving), *entering]}
        labels = labels_of(trees)
        return api.StateView(
            id=view.id_of(row),
            label=label_of(tree),
            initial=view.is_initial(row),
            expanded=bool(view.expanded[row]),
            tree=bounded(tree),
            out=tuple(self._leaving(tree, leaving, labels)),
            out_total=last - first,
            entering=tuple(
                api.InEdge(
                    edge=int(view.into.edge[at]),
                    action=(action := view.actions[int(view.into.action[at])]),
                    source=view.id_of(source),
                    source_label=labels[source],
                    words=edge_words(trees[source], tree, action),
                )
                for at, source in zip((start + back).tolist(), entering, strict=True)
            ),
            in_total=end - start,
            enabled=_enabled(tree, view.leaving(row)),
        )

    def _leaving(
        self, tree: dict[str, Any], edges: Sequence[EdgeView], labels: dict[int, str]
    ) -> Iterable[api.OutEdge]:
        targets = {edge.target: self.view.tree(edge.target) for edge in edges}
        changes = {row: tree_changes(tree, to) for row, to in targets.items()}
        for edge in edges:
            yield api.OutEdge(
                edge=edge.edge,
                action=edge.action,
                target=self.view.id_of(edge.target),
                target_label=labels[edge.target],
                words=edge_words(tree, targets[edge.target], edge.action),
                given=bounded(edge.given),
                sends=bounded(list(edge.sends)),
                changes=changes[edge.target],
            )

    @at("/around/{state}")
    def around(
        self,
        state: str,
        depth: Annotated[int, Meta(ge=0, le=16)] = 2,
        limit: Annotated[int, Meta(ge=1, le=_DRAWN_STATES)] = 200,
        actions: Text = "",
    ) -> Answer:
        """Draw the states around a state."""
        row = self.row(state)
        return _draw(self, row, queries.around(self.view, row, depth, limit, _names(actions)))

    @at("/find")
    def find(self, where: Given, limit: Limit = 100) -> Answer:
        """Find the states in which a predicate holds."""
        view, predicate = self.view, parse(where)
        rows = predicate.rows(view)
        shown = labels_of({row: view.tree(row) for row in rows[:limit].tolist()})
        refs = tuple(api.StateRef(view.id_of(row), label) for row, label in shown.items())
        hints = () if len(rows) else tuple(predicate.unknown_names(view))
        return api.Found(count=len(rows), shown=refs, hints=hints)

    @at("/path")
    def path(self, from_: Given, to: Text = "", where: Text = "", actions: Text = "") -> Answer:
        """Find a shortest path to a state, or to the nearest one in which a predicate holds."""
        view = self.view
        if bool(to) == bool(where):
            raise bad_request("a path needs to=STATE or where=EXPRESSION, and not both")
        targets = [self.row(to)] if to else parse(where).rows(view).tolist()
        if not targets:
            hints = "".join(f"; {hint}" for hint in parse(where).unknown_names(view))
            raise queries.NoPath(f"the predicate holds in no state of the graph{hints}")
        sources = view.initial.tolist() if from_ == "initial" else [self.row(from_)]
        hops = queries.shortest_path(view, sources, targets, _names(actions))
        first = hops[0].source if hops else min({*sources} & {*targets})
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

    @at("/project")
    def project(self, by: Given, colour: Text = "", actions: Text = "") -> Answer:
        """Project the graph onto an expression."""
        found = queries.project(self.view, by, _names(actions), limit=_QUOTIENT_NODES)
        values, shares = _shares(self, found, colour)
        # Long names are shortened; a number distinguishes two with the same beginning.
        keys = [shortened(label, _KEY_CHARS) for label in found.labels]
        keys = [key if keys.count(key) == 1 else f"{key} #{k}" for k, key in enumerate(keys)]
        marks = {
            "initial": self.view.initial,
            "terminal": np.flatnonzero(self.terminal).astype(np.int32),
            "violating": self.view.violating,
        }
        counted = {name: _counts(found, rows).tolist() for name, rows in marks.items()}
        shown, cut = found.edges[:_DRAWN_EDGES], found.edges[_DRAWN_EDGES:]
        return api.Projection(
            values=values,
            nodes=tuple(
                api.QuotientNode(
                    key=key,
                    count=int(found.counts[k]),
                    **{name: counts[k] for name, counts in counted.items()},
                    example=self.view.id_of(int(found.examples[k])),
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


def _names(actions: str) -> tuple[str, ...] | None:
    """Give the names in a list separated by commas; None for an empty one: all actions."""
    return tuple(one for one in actions.split(",") if one) or None


def _enabled(tree: Tree, counts: dict[str, int]) -> dict[str, int]:
    """Replace the actions of a cluster by the members' actions, which also name its steps."""
    if not is_cluster(tree):
        return counts
    return Counter(action_name(one) for one, count in counts.items() for _ in range(count))


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(str(one) for one in islice(value, LISTED))
    return "" if value is None else str(value)


def _draw(graph: OpenGraph, row: int, near: queries.Neighbourhood) -> api.Around:
    """Draw the states near a state."""
    rows = near.rows.tolist()
    trees = {one: graph.view.tree(one) for one in rows}
    named = {one: near_label(tree, trees[row]) for one, tree in trees.items() if one != row}
    labels = distinct_labels(named, trees) | {row: label_of(trees[row])}
    nodes = tuple(
        _node(
            graph,
            one,
            labels[one],
            trees[one],
            None if one == row else trees[row],
            int(near.layers[k]),
            int(near.more[k]),
        )
        for k, one in enumerate(rows)
    )
    shown, cut = near.arrows[:_DRAWN_EDGES], near.arrows[_DRAWN_EDGES:]
    view = graph.view
    return api.Around(
        root=view.id_of(row),
        nodes=nodes,
        edges=tuple(
            api.Edge(
                id=one.edge,
                source=view.id_of(one.source),
                target=view.id_of(one.target),
                action=one.action,
                count=one.count,
                words=edge_words(trees[one.source], trees[one.target], one.action),
            )
            for one in shown
        ),
        left_out=api.LeftOut(
            states=near.left_out_states, edges=near.left_out_edges + sum(one.count for one in cut)
        ),
    )


def _node(
    graph: OpenGraph,
    row: int,
    label: str,
    tree: dict[str, Any],
    centre: dict[str, Any] | None,
    layer: int,
    more: int,
) -> api.Node:
    """Describe a drawn state; ``centre`` is the state in the middle, None for that one."""
    sign: str | msgspec.UnsetType = msgspec.UNSET
    shown: Any = tree
    if is_cluster(tree):
        name = None if centre is None else moved_member(tree, centre)
        sign, shown = name or "", tree["member"].get(name, {})
    election = shown.get("electionState") if graph.view.kind == "member" or sign else None
    return api.Node(
        id=graph.view.id_of(row),
        label=label,
        layer=layer,
        initial=graph.view.is_initial(row),
        terminal=bool(graph.terminal[row]),
        more=more,
        election_state=election if isinstance(election, str) else msgspec.UNSET,
        sign=sign,
    )


def _counts(found: queries.Quotient, rows: Rows) -> NDArray[np.int64]:
    """Count the states among some in each node of a projection."""
    of = found.class_of[rows]
    return np.bincount(of[of >= 0], minlength=len(found.keys))


def _shares(
    graph: OpenGraph, found: queries.Quotient, colour: str
) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Count the states of each node by the value of another expression; combine rare values."""
    if not colour:
        return (), np.zeros((len(found.keys), 0), dtype=np.int64)
    other = queries.project(graph.view, colour, limit=_COLOURS)
    names = tuple(shortened(label, _KEY_CHARS) for label in other.labels)
    names += ("other values",) if other.left_out_classes else ()
    value = np.where(other.class_of < 0, len(names) - 1, other.class_of)
    kept = found.class_of >= 0
    cells = found.class_of[kept].astype(np.int64) * len(names) + value[kept]
    counts = np.bincount(cells, minlength=len(found.keys) * len(names))
    return names, counts.reshape(len(found.keys), len(names))

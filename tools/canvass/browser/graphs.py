"""A state graph, opened: its states, and the part around a state, laid out for the page.

The cost of an answer depends on the size of the answer, not of the graph: nothing here makes an
object for every state or edge. `canvass.graph` answers the questions; states get names and places
here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
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
from canvass.browser.limits import DRAWN_EDGES, DRAWN_STATES, LISTED, bounded
from canvass.browser.member_steps import MemberSteps
from canvass.browser.questions import not_found
from canvass.graph.artifact import MemberView
from canvass.graph.open import open_view
from canvass.graph.project import map_field
from canvass.graph.view import EdgeView, StateGraph, Tree
from canvass.graph.walks import Neighbourhood, terminal_states
from canvass.lanes.of_counterexample import action_name, is_cluster


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
        return terminal_states(self.view)

    @cached_property
    def _map_by(self) -> str:
        return map_field(self.view)

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

    # --- the graph, and one state -----------------------------------------------------------------

    def info(self, source_id: str) -> api.GraphInfo:
        """Describe the graph."""
        view = self.view
        return api.GraphInfo(
            id=source_id,
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
            drawn_states=DRAWN_STATES,
            detail={str(k): _text(v) for k, v in view.detail.items()},
        )

    def state(self, row: int, limit: int) -> api.StateView:
        """Describe a state, with up to ``limit`` steps that leave it, and as many that enter it."""
        view = self.view
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


def _enabled(tree: Tree, counts: dict[str, int]) -> dict[str, int]:
    """Replace the actions of a cluster by the members' actions, which also name its steps."""
    if not is_cluster(tree):
        return counts
    return Counter(action_name(one) for one, count in counts.items() for _ in range(count))


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(str(one) for one in islice(value, LISTED))
    return "" if value is None else str(value)


def draw(graph: OpenGraph, row: int, near: Neighbourhood) -> api.Around:
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
    shown, cut = near.arrows[:DRAWN_EDGES], near.arrows[DRAWN_EDGES:]
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

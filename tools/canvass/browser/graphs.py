"""A state graph, opened, and what the page asks of it.

Answers cost what they show: nothing here makes an object for every state or edge of the graph. The
questions themselves are those of `canvass.graph`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from canvass.browser import api
from canvass.browser.guard import bad_request, not_found
from canvass.browser.labels import label_of, tree_changes
from canvass.browser.layout import layers_from, place
from canvass.browser.limits import DRAWN_EDGES, LISTED, bounded, shortened
from canvass.browser.member_steps import MemberSteps
from canvass.browser.sources import Lazy
from canvass.graph.errors import GraphError
from canvass.graph.member_view import MemberView
from canvass.graph.view import EdgeView, StateGraph, open_view


class OpenGraph:
    """A state graph.

    Parameters
    ----------
    folder
        Of the graph, of either kind.

    Raises
    ------
    GraphError
        If there is none, or it is damaged.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.view: StateGraph = open_view(folder)
        self._steps: Lazy[MemberSteps | None] = Lazy(self._make_steps)

    def _make_steps(self) -> MemberSteps | None:
        return MemberSteps(self.view) if isinstance(self.view, MemberView) else None

    @property
    def steps(self) -> MemberSteps | None:
        """The canonical steps of the graph; none of a graph that is not of a member."""
        return self._steps.get()

    def row(self, state: str) -> int:
        """Find a state by its id or the beginning of it.

        Raises
        ------
        Refusal
            If there is no such state, or several.
        """
        try:
            row = self.view.find(state)
        except GraphError as error:
            raise bad_request(str(error)) from None
        if row is None:
            raise not_found(f"no state of the graph has an id that begins with {state}")
        return row

    def label(self, row: int) -> str:
        """Name a state for a person."""
        return label_of(self.view.tree(row))

    def ref(self, row: int) -> api.StateRef:
        """Name a state by its id and for a person."""
        return api.StateRef(id=self.view.id_of(row), label=self.label(row))

    def codes(self, names: Collection[str]) -> list[int] | None:
        """Give the codes of actions; none for all.

        Raises
        ------
        Refusal
            If the graph has no such action.
        """
        unknown = [name for name in names if name not in self.view.actions]
        if unknown:
            raise bad_request(f"the graph has no action {ascii(unknown[0])[:80]}")
        return [self.view.actions.index(name) for name in names] or None

    # --- the graph, and one state -----------------------------------------------------------------

    def info(self, source_id: str) -> api.GraphInfo:
        """Tell what there is."""
        view = self.view
        counts = view.action_counts.tolist()
        return api.GraphInfo(
            id=source_id,
            title=shortened(view.title),
            kind=view.kind,
            states=view.state_count,
            edges=view.edge_count,
            complete=view.complete,
            initial=tuple(view.id_of(int(row)) for row in view.initial[:LISTED]),
            initial_total=len(view.initial),
            actions=tuple(
                api.ActionCount(name=name, count=count)
                for name, count in zip(view.actions, counts, strict=True)
                if count
            ),
            fields=tuple(map(shortened, view.fields)),
            detail={shortened(str(k)): _text(v) for k, v in view.detail.items()},
        )

    def state(self, row: int, limit: int) -> api.StateView:
        """Tell everything of one state, and its neighbours up to a limit each way."""
        view = self.view
        tree = view.tree(row)
        first, last = int(view.out_offsets[row]), int(view.out_offsets[row + 1])
        leaving = [view.edge(int(one)) for one in view.out_edge[first : min(last, first + limit)]]
        start, end = int(view.in_offsets[row]), int(view.in_offsets[row + 1])
        entering = range(start, min(end, start + limit))
        counts = np.bincount(view.out_action[first:last], minlength=len(view.actions)).tolist()
        return api.StateView(
            id=view.id_of(row),
            label=label_of(tree),
            initial=self.is_initial(row),
            expanded=bool(view.expanded[row]),
            tree=bounded(tree),
            out=tuple(self._leaving(tree, leaving)),
            out_total=last - first,
            entering=tuple(
                api.InEdge(
                    edge=int(view.in_edge[at]),
                    action=view.actions[int(view.in_action[at])],
                    source=view.id_of(int(view.in_source[at])),
                    source_label=self.label(int(view.in_source[at])),
                )
                for at in entering
            ),
            in_total=end - start,
            enabled=tuple(
                api.ActionCount(name=name, count=count)
                for name, count in zip(view.actions, counts, strict=True)
                if count
            ),
        )

    def is_initial(self, row: int) -> bool:
        """Whether a state is an initial one."""
        at = int(np.searchsorted(self.view.initial, row))
        return at < len(self.view.initial) and int(self.view.initial[at]) == row

    def _leaving(self, tree: dict[str, Any], edges: Sequence[EdgeView]) -> Iterable[api.OutEdge]:
        targets = {edge.target: self.view.tree(edge.target) for edge in edges}
        told = {row: (label_of(to), tree_changes(tree, to)) for row, to in targets.items()}
        for edge in edges:
            label, changes = told[edge.target]
            yield api.OutEdge(
                edge=edge.edge,
                action=edge.action,
                target=self.view.id_of(edge.target),
                target_label=label,
                given=bounded(edge.given),
                sends=bounded(list(edge.sends)),
                changes=changes,
            )

    # --- the part around a state ------------------------------------------------------------------

    def drawn(
        self, row: int, depth: int, limit: int, actions: Collection[str]
    ) -> list[tuple[int, list[int]]]:
        """Give the edges that `around` draws, each with all edges that it stands for."""
        _, edges, _ = self._near(row, depth, limit, self.codes(actions))
        found: dict[tuple[int, int, int], list[int]] = {}
        for edge, source, target, action in edges:
            found.setdefault((source, target, action), []).append(edge)
        return [(each[0], each) for each in list(found.values())[:DRAWN_EDGES]]

    def around(self, row: int, depth: int, limit: int, actions: Collection[str]) -> api.Around:
        """Lay out the part of the graph around a state."""
        rows, edges, left_out = self._near(row, depth, limit, self.codes(actions))
        number = {one: place_of for place_of, one in enumerate(rows)}
        pairs = [(number[source], number[target]) for _, source, target, _ in edges]
        placed = place(layers_from(len(rows), pairs, [number[row]]), pairs)
        nodes = tuple(
            self._node(one, placed.x[k], placed.y[k], placed.layer[k], number)
            for k, one in enumerate(rows)
        )
        drawn = self._merged(edges)
        return api.Around(
            root=self.view.id_of(row),
            nodes=nodes,
            edges=drawn[:DRAWN_EDGES],
            left_out=api.LeftOut(states=left_out[0], edges=left_out[1] + len(drawn[DRAWN_EDGES:])),
        )

    def _node(self, row: int, x: float, y: float, layer: int, drawn: Collection[int]) -> api.Node:
        tree = self.view.tree(row)
        election = tree.get("electionState", msgspec.UNSET) if self.view.kind == "member" else None
        return api.Node(
            id=self.view.id_of(row),
            label=label_of(tree),
            x=x,
            y=y,
            layer=layer,
            initial=self.is_initial(row),
            expanded=bool(self.view.expanded[row]),
            more=self._more(row, drawn),
            election_state=election if isinstance(election, str) else msgspec.UNSET,
        )

    def _more(self, row: int, drawn: Collection[int]) -> int:
        view = self.view
        targets = view.out_target[int(view.out_offsets[row]) : int(view.out_offsets[row + 1])]
        sources = view.in_source[int(view.in_offsets[row]) : int(view.in_offsets[row + 1])]
        shown = np.fromiter(drawn, dtype=np.int64)
        return int((~np.isin(targets, shown)).sum() + (~np.isin(sources, shown)).sum())

    def _merged(self, edges: Sequence[tuple[int, int, int, int]]) -> tuple[api.Edge, ...]:
        """Put edges together that differ only in what the step consumes or sends."""
        first: dict[tuple[int, int, int], int] = {}
        counts: dict[tuple[int, int, int], int] = {}
        for edge, source, target, action in edges:
            first.setdefault((source, target, action), edge)
            counts[source, target, action] = counts.get((source, target, action), 0) + 1
        return tuple(
            api.Edge(
                id=edge,
                source=self.view.id_of(source),
                target=self.view.id_of(target),
                action=self.view.actions[action],
                loop=source == target,
                count=counts[source, target, action],
            )
            for (source, target, action), edge in first.items()
        )

    def _near(
        self, row: int, depth: int, limit: int, actions: list[int] | None
    ) -> tuple[list[int], list[tuple[int, int, int, int]], tuple[int, int]]:
        """Give states, edges between them, and how many states and edges were left out."""
        view = self.view
        found, edge_rows = {row: 0}, []
        frontier, cut = [row], set[int]()
        for level in range(depth):
            following = []
            for one in frontier:
                start, end = int(view.out_offsets[one]), int(view.out_offsets[one + 1])
                at = np.arange(start, end)
                if actions is not None:
                    at = at[np.isin(view.out_action[start:end], actions)]
                for target in dict.fromkeys(view.out_target[at].tolist()):
                    if target in found:
                        continue
                    if len(found) >= limit:
                        cut.add(target)
                        continue
                    found[target] = level + 1
                    following.append(target)
            frontier = following
        left = 0
        for one in found:
            start, end = int(view.out_offsets[one]), int(view.out_offsets[one + 1])
            for place_of in range(start, end):
                action = int(view.out_action[place_of])
                if actions is not None and action not in actions:
                    continue
                target = int(view.out_target[place_of])
                if target in found:
                    edge_rows.append((int(view.out_edge[place_of]), one, target, action))
                else:
                    left += 1
        return list(found), edge_rows, (len(cut), left)


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return shortened(", ".join(str(one) for one in islice(value, LISTED)))
    return shortened("" if value is None else str(value))

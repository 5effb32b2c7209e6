"""A state graph, opened, and what the page asks of it.

Answers cost what they show: nothing here makes an object for every state or edge of the graph. The
questions themselves are those of `canvass.graph`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from canvass.browser import api
from canvass.browser.guard import Refusal, not_found
from canvass.browser.labels import edge_words, label_of, labels_of, tree_changes
from canvass.browser.limits import DRAWN_STATES, LISTED, bounded
from canvass.browser.member_steps import MemberSteps
from canvass.browser.sources import Lazy
from canvass.graph import GraphError
from canvass.graph.artifact import MemberView
from canvass.graph.open import open_view
from canvass.graph.view import EdgeView, StateGraph
from canvass.graph.walks import Components, components


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
        self.components: Lazy[Components] = Lazy(lambda: components(self.view))

    def _make_steps(self) -> MemberSteps | None:
        return MemberSteps(self.view) if isinstance(self.view, MemberView) else None

    @property
    def steps(self) -> MemberSteps | None:
        """The canonical steps of the graph; none of a graph that is not of a member.

        Raises
        ------
        Refusal
            If its table of steps cannot be read.
        """
        try:
            return self._steps.get()
        except GraphError as error:
            raise Refusal(422, "unreadable", str(error)) from None

    def row(self, state: str) -> int:
        """Find a state by its id or the beginning of it.

        Raises
        ------
        Refusal
            If there is no such state.
        GraphError
            If there are several.
        """
        row = self.view.find(state)
        if row is None:
            raise not_found(f"no state of the graph has an id that begins with {state}")
        return row

    def labels(self, rows: Iterable[int]) -> dict[int, str]:
        """Name states for a person, each by another name."""
        return labels_of({row: self.view.tree(row) for row in rows})

    # --- the graph, and one state -----------------------------------------------------------------

    def info(self, source_id: str) -> api.GraphInfo:
        """Say what there is."""
        view = self.view
        return api.GraphInfo(
            id=source_id,
            title=view.title,
            kind=view.kind,
            states=view.state_count,
            edges=view.edge_count,
            complete=view.complete,
            initial=tuple(view.id_of(int(row)) for row in view.initial[:LISTED]),
            actions=_action_counts(view.action_counts),
            fields=view.fields,
            drawn_states=DRAWN_STATES,
            detail={str(k): _text(v) for k, v in view.detail.items()},
        )

    def state(self, row: int, limit: int) -> api.StateView:
        """Give everything of one state, and its neighbours up to a limit each way."""
        view = self.view
        tree = view.tree(row)
        first, last = int(view.out_offsets[row]), int(view.out_offsets[row + 1])
        # Steps that lead back to the state come last: most of a member's do, and change nothing.
        order = np.argsort(view.out_target[first:last] == row, kind="stable")[:limit]
        leaving = [view.edge(int(one)) for one in view.out_edge[first + order]]
        start, end = int(view.in_offsets[row]), int(view.in_offsets[row + 1])
        back = np.argsort(view.in_source[start:end] == row, kind="stable")[:limit]
        entering = view.in_source[start + back].tolist()
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
                    edge=int(view.in_edge[at]),
                    action=(action := view.actions[int(view.in_action[at])]),
                    source=view.id_of(source),
                    source_label=labels[source],
                    words=edge_words(trees[source], tree, action),
                )
                for at, source in zip((start + back).tolist(), entering, strict=True)
            ),
            in_total=end - start,
            enabled=_action_counts(view.leaving(row)),
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


def _action_counts(counts: Mapping[str, int]) -> tuple[api.ActionCount, ...]:
    return tuple(api.ActionCount(name=name, count=count) for name, count in counts.items())


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(str(one) for one in islice(value, LISTED))
    return "" if value is None else str(value)

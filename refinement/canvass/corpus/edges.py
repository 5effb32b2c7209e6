"""Which steps of a state graph a corpus takes: what of the model production has ever seen.

A step of the graph is the canonical form of some of its edges. Workers tell which ones they met;
here the numbers are brought together, and counted by action.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from canvass.corpus.storage import local_folder, place_of
from canvass.graph.artifact import open_graph, open_keys
from canvass.traces.layout import ACTION_NAMES


class ActionSteps(Struct, frozen=True, rename="camel"):
    """The steps of one action."""

    action: str
    steps: int
    """Distinct canonical steps that the graph has of it."""
    covered: int
    """Those of them that the corpus takes."""


class GraphCoverage(Struct, frozen=True, rename="camel"):
    """How much of a graph a corpus covers."""

    graph: str
    """The folder."""
    model: str
    revision: str
    member_count: int
    steps: int
    covered: int
    actions: list[ActionSteps]


class EdgeCounter:
    """Counts the steps of one graph that were met."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._taken: list[NDArray[np.int64]] = []

    def add(self, payloads: Iterable[bytes]) -> None:
        """Take in the numbers of edges that tasks met."""
        for payload in payloads:
            self._taken.append(np.frombuffer(payload, dtype="<i8"))
            if len(self._taken) > 100:
                self._taken = [self._met()]

    def _met(self) -> NDArray[np.int64]:
        none = np.empty(0, dtype=np.int64)
        met: NDArray[np.int64] = np.unique(np.concatenate([none, *self._taken]))
        return met

    def result(self) -> GraphCoverage:
        """Count by action."""
        folder = local_folder(place_of(self.folder))
        graph = open_graph(folder, verify=False)
        actions = graph.input_action[graph.input]
        edges, met = np.asarray(open_keys(folder).edges), self._met()
        steps = np.bincount(actions[edges], minlength=len(ACTION_NAMES)).tolist()
        covered = np.bincount(actions[met], minlength=len(ACTION_NAMES)).tolist()
        rules = graph.manifest.rules
        return GraphCoverage(
            graph=self.folder,
            model=graph.manifest.model,
            revision=rules.revision,
            member_count=rules.member_count,
            steps=len(edges),
            covered=len(met),
            actions=[
                ActionSteps(name, steps[code], covered[code])
                for code, name in enumerate(ACTION_NAMES)
                if steps[code]
            ],
        )

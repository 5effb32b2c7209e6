"""Steps of runs in a member graph: the edge of each step.

A step of a run is an edge of the graph if both have the same canonical form: they differ only in
the numbering of terms, positions and peers. `canvass.conformance` decides which steps are allowed.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Final

import numpy as np
from numpy.typing import NDArray

from canvass.browser.sources import Lazy
from canvass.cluster.rules import Rules
from canvass.conformance.diagnose import RunColumns
from canvass.graph.artifact import Graph, MemberView, open_keys
from canvass.graph.edge_keys import keys_of_edges
from canvass.steps.answers import KeyTable
from canvass.steps.step import Question, question_of
from canvass.traces.layout import NONE, STATE_INDEX

_CHUNK: Final = 1 << 17
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

    def ready(self) -> bool:
        """Tell whether all edges have their canonical steps; the first call starts the work."""
        with suppress(RuntimeError):  # It has started.
            self._thread.start()
        return self.classes.made

    def place(self, loaded: RunColumns, row: int) -> tuple[int, int, int] | None:
        """Find the edge of a run's step, with its source and target; None if the graph has none."""
        if int(loaded.steps.before[row]) < 0:
            return None
        question = question_of(loaded.step(row), loaded.run.rules)
        if not isinstance(question, Question):
            return None
        known = int(self._keys.lookup(np.array([question.key], dtype=np.uint64))[0])
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
        for start in range(0, len(rows), _CHUNK):
            chunk = rows[start : start + _CHUNK]
            classes[chunk] = self._find(chunk)
        return classes

    def _find(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        if not len(rows):
            return rows
        graph = self._view.graph
        arrays = {name: getattr(graph, name) for name in Graph.__dataclass_fields__}
        return self._class_of_key[self._keys.lookup(keys_of_edges(arrays, rows, self.rules))]

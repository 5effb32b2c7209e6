"""Steps of runs in a member graph: the edge of each step, and the coverage of the graph.

A step of a run is an edge of the graph if both have the same canonical form: they differ only in
the numbering of terms, positions and peers. A search simulates runs, seed by seed and within
bounds, to find steps that no open run takes. `canvass.conformance` decides which steps are allowed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csgraph, csr_array

from canvass.browser import api
from canvass.browser.labels import labels_of
from canvass.browser.limits import bounded
from canvass.browser.sources import Lazy
from canvass.cluster.rules import REVISIONS, Rules
from canvass.conformance.batch import Batch
from canvass.conformance.diagnose import RunColumns, load
from canvass.conformance.step_checker import StepChecker, example_of
from canvass.graph.artifact import Graph, MemberView, open_keys
from canvass.graph.edge_keys import keys_of_edges
from canvass.steps.distinct import KeyTable
from canvass.traces.layout import ACTION_NAMES, NONE, STATE_INDEX

MAX_RUNS: Final = 40
MAX_SECONDS: Final = 60.0
STEPS: Final = 2_000
"""Steps of each simulated run before its faults stop."""

Steps = Callable[[RunColumns], dict[int, tuple[int, int]]]


class SimulatedSearch:
    """A search for the first simulated run that takes each canonical step of a graph.

    Parameters
    ----------
    rules
        The rules of the graph's members.
    steps
        Gives the canonical steps that a run takes, each with the first member and step.
    """

    def __init__(self, rules: Rules, steps: Steps) -> None:
        self._rules = rules
        self._steps = steps
        self._lock = threading.Lock()
        self._begun = False
        self.done = False
        self.runs = 0
        self.found: dict[int, api.SimulatedStep] = {}

    def begin(self) -> None:
        """Start the search in a thread, unless it has started."""
        with self._lock:
            if not self._begun:
                self._begun = True
                threading.Thread(target=self._search, daemon=True).start()

    def _search(self) -> None:
        try:
            begin = time.monotonic()
            revision = revision_of(self._rules)
            while revision and self.runs < MAX_RUNS and time.monotonic() - begin < MAX_SECONDS:
                self._run(revision, self.runs)
                self.runs += 1
        finally:
            self.done = True

    def _run(self, revision: str, seed: int) -> None:
        from canvass.selftest.simulation_series import record_run, replay_command, run_id_of
        from canvass.simulation.options import PROFILES, Options

        options = PROFILES["swarm"](Options(seed, self._rules.member_count, revision, STEPS))
        with TemporaryDirectory(prefix="canvass-simulated-") as place:
            record_run(options, Path(place))
            loaded = load(Path(place) / run_id_of(options), run_id_of(options))
        command = replay_command(options)
        for canonical, (member, step) in self._steps(loaded).items():
            if canonical not in self.found:
                self.found[canonical] = api.SimulatedStep(
                    seed=seed, member=member, step=step, command=command
                )


def revision_of(rules: Rules) -> str:
    """Give the revision that has these rules in the simulation; empty if none has."""
    names = (*REVISIONS, "hardened")
    same = (one for one in names if Rules.of(one, rules.member_count) == rules)
    return next(same, "")


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
        """For an edge in the table of keys, its place in the table; `NONE` for other edges."""
        self._class_of_key[self._keys.edges] = np.arange(len(self._keys))
        self.classes: Lazy[NDArray[np.int64]] = Lazy(self._canonicalise)
        """For each edge, the place of its canonical step in the table of keys."""
        self._distances: Lazy[NDArray[np.int64]] = Lazy(self._measure)
        self._simulated = SimulatedSearch(self.rules, self._taken_first)
        self._by_class: NDArray[np.int64] | None = None
        self._lock = threading.Lock()
        self._begun = False

    @property
    def ready(self) -> bool:
        """Whether all edges have their canonical steps; `begin` starts that."""
        return self.classes.made

    def begin(self) -> None:
        """Start to canonicalise all edges in a thread, unless that has started."""
        with self._lock:
            if not self._begun:
                self._begun = True
                threading.Thread(target=self.classes.get, daemon=True).start()

    def fits(self, rules: Rules) -> bool:
        """Tell whether runs under ``rules`` can have steps of the graph."""
        return (rules.member_count, rules.revision, rules.hardening) == (
            self.rules.member_count,
            self.rules.revision,
            self.rules.hardening,
        )

    def place(self, loaded: RunColumns, row: int) -> tuple[int, int, int] | None:
        """Find the edge of a run's step, with its source and target; None if the graph has none."""
        if int(loaded.states.before[row]) < 0:
            return None
        example = example_of(loaded.step(row), loaded.run.rules)
        if example is None:
            return None
        known = int(self._keys.lookup(np.array([example.key], dtype=np.uint64))[0])
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

        A canonical form has no fields that the action neither reads nor changes, so the edges can
        belong to different parts of the election. The states of the chosen edge have the run's
        election state, role and module state, if an edge has them.
        """
        alike = self._edges_alike(known)
        graph, states = self._view.graph, loaded.states
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

    # --- coverage ---------------------------------------------------------------------------------

    def take(self, batches: Iterable[Batch]) -> Taken:
        """Count the events that take each canonical step."""
        counts = np.zeros(len(self._keys), dtype=np.int64)
        taken = Taken(counts)
        for batch in batches:
            checker = StepChecker()
            numbers = checker.check(batch).numbers
            often = np.bincount(numbers[numbers >= 0], minlength=len(checker.distinct))
            edges = self._keys.lookup(checker.distinct.keys)
            known = edges >= 0
            np.add.at(counts, self._class_of_key[edges[known]], often[known])
            taken.runs += 1
            taken.events += len(batch.columns) - batch.columns.context
            taken.outside += len(batch.columns) - batch.columns.context - int(often[known].sum())
        return taken

    def _canonicalise(self) -> NDArray[np.int64]:
        graph = self._view.graph
        rows = np.flatnonzero(graph.target != NONE)
        classes = np.full(len(graph.target), NONE, dtype=np.int64)
        for start in range(0, len(rows), _CHUNK):
            chunk = rows[start : start + _CHUNK]
            classes[chunk] = self._find(chunk)
        return classes

    def _taken_first(self, loaded: RunColumns) -> dict[int, tuple[int, int]]:
        """Give the canonical steps that a run takes, each with its first member and step."""
        checker = StepChecker()
        numbers = checker.check(loaded.batch).numbers
        known, rows = np.unique(numbers, return_index=True)
        known, rows = known[known >= 0], rows[known >= 0]
        edges = self._keys.lookup(checker.distinct.keys[known])
        rows, edges = rows[edges >= 0], edges[edges >= 0]
        columns = loaded.columns
        places = zip(columns.member[rows].tolist(), columns.step[rows].tolist(), strict=True)
        return dict(zip(self._class_of_key[edges].tolist(), places, strict=True))

    def untaken(
        self, counts: NDArray[np.int64], action: str, most: int, *, simulate: bool = False
    ) -> api.Untaken:
        """List the steps of an action that no event takes.

        With ``simulate``, a search for simulated runs that take them starts.
        """
        if simulate:
            self._simulated.begin()
        searching = simulate and not self._simulated.done
        view, graph = self._view, self._view.graph
        edges = np.asarray(self._keys.edges)
        codes = graph.input_action[graph.input[edges]]
        wanted = np.flatnonzero((counts == 0) & (codes == ACTION_NAMES.index(action)))
        sources = np.array(
            [view.row_of(row) for row in graph.source[edges[wanted]].tolist()], dtype=np.int64
        )
        away = self._distances.get()[sources] if len(sources) else sources
        found = self._simulated.found
        unseen = np.array([one not in found for one in wanted.tolist()], dtype=np.bool_)
        order = np.lexsort((np.where(away < 0, len(self._keys), away), unseen))
        places = order[:most].tolist()
        shown = [view.edge(int(edges[wanted[place]])) for place in places]
        labels = labels_of(
            {row: view.tree(row) for one in shown for row in (one.source, one.target)}
        )
        return api.Untaken(
            action=action,
            count=len(wanted),
            simulated_runs=self._simulated.runs,
            searching=searching,
            shown=tuple(
                api.UntakenStep(
                    edge=one.edge,
                    source=view.id_of(one.source),
                    source_label=labels[one.source],
                    target=view.id_of(one.target),
                    target_label=labels[one.target],
                    given=bounded(one.given),
                    away=int(away[place]),
                    simulated=found.get(int(wanted[place])),
                )
                for place, one in zip(places, shown, strict=True)
            ),
        )

    def _measure(self) -> NDArray[np.int64]:
        """Give the distance of each state from the initial states; `NONE` if it is unreachable."""
        view, size = self._view, self._view.state_count
        edges = (np.ones(len(view.out_target)), view.out_target, view.out_offsets)
        matrix = csr_array(edges, shape=(size, size))
        away = csgraph.dijkstra(matrix, indices=view.initial, unweighted=True, min_only=True)
        return np.where(np.isinf(away), NONE, away).astype(np.int64)

    def _find(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        if not len(rows):
            return rows
        graph = self._view.graph
        arrays = {name: getattr(graph, name) for name in Graph.__dataclass_fields__}
        return self._class_of_key[self._keys.lookup(keys_of_edges(arrays, rows, self.rules))]

    def coverage(
        self, taken: Taken, drawn: Sequence[tuple[int, Sequence[int]]] = ()
    ) -> api.GraphCoverage:
        """Report the coverage of the graph, and the events of each drawn edge.

        ``drawn`` has the drawn edges, each with all edges for which it stands.
        """
        graph, counts = self._view.graph, taken.counts
        action = graph.input_action[graph.input[np.asarray(self._keys.edges)]]
        kinds = len(ACTION_NAMES)
        total = np.bincount(action, minlength=kinds).tolist()
        covered = np.bincount(action[counts > 0], minlength=kinds).tolist()
        events = np.bincount(action, weights=counts, minlength=kinds).tolist()
        alike = np.array([edge for _, each in drawn for edge in each], dtype=np.int64)
        # These few edges need not wait until all edges are canonicalised in the background.
        classes = self.classes.get()[alike] if self.ready else self._find(alike)
        ends = np.cumsum([len(each) for _, each in drawn])
        often = [int(counts[np.unique(own)].sum()) for own in np.split(classes, ends)[: len(drawn)]]
        return api.GraphCoverage(
            runs=taken.runs,
            covered=int((counts > 0).sum()),
            total=len(counts),
            events=taken.events,
            outside=taken.outside,
            actions=tuple(
                api.ActionCoverage(
                    name=name, covered=covered[code], total=total[code], events=int(events[code])
                )
                for code, name in enumerate(ACTION_NAMES)
                if total[code]
            ),
            edges={str(edge): n for (edge, _), n in zip(drawn, often, strict=True) if n},
        )


@dataclass
class Taken:
    """How often runs take each canonical step of a graph."""

    counts: NDArray[np.int64]
    """The number of events for each canonical step."""
    runs: int = 0
    events: int = 0
    outside: int = 0
    """Events whose step is not in the graph."""

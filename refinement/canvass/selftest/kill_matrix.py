"""All mutants of the core against the state graphs: one kill for each, or none.

The graphs are those of the models below, built by TLC where they are not in the folder of graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from canvass.cluster import core
from canvass.graph.build import cache_folder, cached_graph, load_model
from canvass.selftest.edges import EdgeKill, Trials, find_kill
from canvass.selftest.mutants import MUTANTS, Mutant
from canvass.selftest.mutation import load
from canvass.selftest.reach import actions_reached
from canvass.selftest.unreachable_states import find_unreachable_kill

MODELS: Final = {
    ("1.50", 3): ("MCMemberGraph3", 1),
    ("1.50", 2): ("MCMemberGraph2", 1),
    ("1.49", 3): ("MCMemberGraph3Rev149", 0),
    ("hardened", 3): ("MCMemberGraph3Hardened", 0),
}
"""For a revision and a size of cluster, the model and the steps from its roots."""

Progress = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class MutantResult:
    """What became of one mutant."""

    mutant: Mutant
    kill: EdgeKill | None
    tried: int
    """Steps that it took."""


@dataclass(frozen=True, slots=True)
class Control:
    """The core itself on one graph: nothing may give it away."""

    graph: str
    tried: int
    edges: int
    wrong: EdgeKill | None


class Graphs:
    """The graphs that mutants run on, each built or opened when it is first asked for."""

    def __init__(self, cache: Path, progress: Progress | None = None) -> None:
        self._cache, self._progress = cache, progress
        self._known: dict[tuple[str, int], Trials] = {}
        self.folders: list[Path] = []
        """The folders of the graphs that were asked for."""

    def of(self, revision: str, member_count: int) -> Trials:
        """Give the trials for a revision and a size of cluster."""
        key = revision, member_count
        if key not in self._known:
            name, steps = MODELS[key]
            if self._progress is not None:
                self._progress(f"state graph {name}")
            model = load_model(name).with_steps(steps)
            self._known[key] = Trials(cached_graph(model, self._cache))
            self.folders.append(cache_folder(model, self._cache))
        return self._known[key]


def kill_mutants(
    graphs: Graphs,
    mutants: Iterable[Mutant] = tuple(MUTANTS.values()),
    progress: Progress | None = None,
) -> list[MutantResult]:
    """Run mutants on the graph of a revision in which their rule is in force."""
    results = []
    for mutant in mutants:
        trials = graphs.of(mutant.revision, mutant.member_count)
        if progress is not None:
            progress(mutant.name)
        broken, actions = load(mutant), actions_reached(mutant)
        found = find_kill(trials, broken, actions)
        if isinstance(found, EdgeKill):
            results.append(MutantResult(mutant, found, found.tried))
        elif mutant.unreachable:
            stray = find_unreachable_kill(trials, broken, actions)
            results.append(MutantResult(mutant, stray, found + (stray.tried if stray else 0)))
        else:
            results.append(MutantResult(mutant, None, found))
    return results


def control(graphs: Graphs, *, whole: bool) -> list[Control]:
    """Run the core itself: on all graphs, or without the largest."""
    found = []
    for revision, member_count in MODELS:
        if (revision, member_count) == ("1.50", 3) and not whole:
            continue
        trials = graphs.of(revision, member_count)
        result = find_kill(trials, core)
        counts = trials.graph.manifest.counts
        wrong = result if isinstance(result, EdgeKill) else None
        tried = result.tried if isinstance(result, EdgeKill) else result
        found.append(Control(trials.graph.manifest.model, tried, counts.edges, wrong))
    return found

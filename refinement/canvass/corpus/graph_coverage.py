"""Coverage of a state graph: which steps of the model a corpus takes.

A step of the graph is the canonical form of some of its edges. This module looks steps up and
counts them by action. `canvass.conformance` decides whether runs conform.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from canvass.conformance.verdict import Verdict
from canvass.conformance.verify import read_and_check, units_of
from canvass.corpus.storage import on_this_machine, place_of
from canvass.graph.artifact import open_graph, open_keys
from canvass.steps.answers import Answers
from canvass.steps.distinct import KeyTable
from canvass.traces.layout import ACTION_NAMES


class ActionSteps(Struct, frozen=True, rename="camel"):
    """The steps of one action."""

    action: str
    steps: int
    """Distinct canonical steps of the graph with this action."""
    covered: int
    """How many of them the corpus takes."""


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


def edges_met(table: KeyTable, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return an edge of each graph step whose key is in ``keys``, ascending."""
    found = np.unique(table.lookup(keys))
    met: NDArray[np.int64] = found[found >= 0]
    return met


def coverage_of(name: str, met: NDArray[np.int64]) -> GraphCoverage:
    """Count all steps of a graph, and the covered steps, by action.

    Parameters
    ----------
    name
        The folder of the graph, by path or URL.
    met
        An edge of each covered step.
    """
    with on_this_machine(place_of(name)) as folder:
        graph = open_graph(folder)
        actions = np.array(graph.input_action[graph.input])
        edges = np.array(open_keys(folder).edges)
    steps = np.bincount(actions[edges], minlength=len(ACTION_NAMES)).tolist()
    covered = np.bincount(actions[met], minlength=len(ACTION_NAMES)).tolist()
    rules = graph.manifest.rules
    return GraphCoverage(
        graph=name,
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


@dataclass(frozen=True, slots=True, eq=False)
class Covered:
    """Coverage of a graph by some runs."""

    coverage: GraphCoverage
    missed: NDArray[np.int64]
    """An edge of each step of the graph that no run takes, ascending."""
    runs: int
    malformed: int
    """Number of malformed runs."""
    events: int


def covered_by(graph: Path, corpora: Iterable[Path]) -> Covered:
    """Look up the steps of runs in a graph, in this process.

    Parameters
    ----------
    graph
        The folder of a member's graph.
    corpora
        Run folders, folders of run folders, or data sets.

    Raises
    ------
    TraceError
        If a corpus has no runs.
    GraphError
        If the graph has no table of steps.
    """
    table = open_keys(graph)
    findings = read_and_check(units_of(corpora), Answers(graphs={str(graph): table}))
    verdicts = [found.verdict for found in findings.runs]
    met = edges_met(table, findings.keys)
    return Covered(
        coverage=coverage_of(str(graph), met),
        missed=np.setdiff1d(np.asarray(table.edges), met),
        runs=len(verdicts),
        malformed=sum(verdict.verdict is Verdict.MALFORMED for verdict in verdicts),
        events=sum(verdict.events for verdict in verdicts),
    )

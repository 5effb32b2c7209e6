"""Which steps of a state graph the runs of a corpus take, counted on this machine, without Spark.

Only steps are looked up; whether the runs conform is for `canvass.conformance` to say.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from canvass.conformance.check import units_of
from canvass.conformance.screen import Screening
from canvass.conformance.step_lookup import StepLookup
from canvass.corpus.edges import EdgeCounter, GraphCoverage
from canvass.graph.artifact import open_keys


@dataclass(frozen=True, slots=True, eq=False)
class Covered:
    """What some runs take of a graph.

    Attributes
    ----------
    coverage
        The counts.
    missed
        An edge for each step of the graph that no run takes, ascending.
    runs, malformed
        How many runs were read, and how many of them are none.
    events
        How many events they have.
    """

    coverage: GraphCoverage
    missed: NDArray[np.int64]
    runs: int
    malformed: int
    events: int


def covered_by(graph: Path, corpora: Iterable[Path]) -> Covered:
    """Look the steps of runs up in a graph.

    Parameters
    ----------
    graph
        The folder of a member's graph.
    corpora
        Run folders, folders of them, or data sets.

    Raises
    ------
    TraceError
        If a corpus is none.
    GraphError
        If the graph has no table of steps.
    """
    table = open_keys(graph)
    screening = Screening(StepLookup(graphs={str(graph): table}))
    for unit in units_of(corpora):
        screening.add(unit)
    screening.flush()
    met = np.unique(table.lookup(screening.seen_keys()))
    met = met[met >= 0]
    counter = EdgeCounter(str(graph))
    counter.add([met.astype("<i8").tobytes()])
    return Covered(
        coverage=counter.result(),
        missed=np.setdiff1d(np.asarray(table.edges), met),
        runs=len(screening.runs),
        malformed=sum(bool(state.malformed) for state in screening.runs),
        events=screening.events,
    )

"""What of the spec simulated runs have covered: their distinct canonical steps, and state graphs.

Runs are looked at as `canvass verify` does it, without asking TLC: causality and the monitors come
for nothing. Which options are tried next is decided in `canvass.simulation.coverage_guidance`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from canvass.cli.given import make_lookup
from canvass.cli.simulate_runs import GraphSteps
from canvass.conformance.screen import Screening
from canvass.corpus.edges import EdgeCounter
from canvass.selftest.simulated import record_run, run_id_of
from canvass.simulation.options import Options
from canvass.simulation.simulator import RunResult


class CoverageMeter:
    """Counts what runs cover.

    Parameters
    ----------
    graphs
        Folders of state graphs; without any, distinct canonical steps alone are counted.
    out
        Where runs are recorded; None keeps none of them.
    """

    def __init__(self, graphs: Sequence[Path], out: Path | None) -> None:
        self._screening = Screening(make_lookup(graphs, None, keep=False))
        self._edges = {str(folder): EdgeCounter(str(folder)) for folder in graphs}
        self._out = out
        self._known = 0

    @property
    def distinct_steps(self) -> int:
        """How many distinct canonical steps there were."""
        return self._screening.distinct

    def run(self, options: Options) -> tuple[RunResult, int]:
        """Do a run; give its result, and how many steps it took that no run before took.

        With graphs, only steps that they have are counted.
        """
        with TemporaryDirectory() as place:
            folder = self._out or Path(place)
            result = record_run(options, folder)
            self._screening.add(folder / run_id_of(options))
            self._screening.flush()
        fresh = self._screening.keys[self._known :]
        self._known = len(self._screening.keys)
        if not self._edges:
            return result, len(fresh)
        news = 0
        for graph, table in self._screening.lookup.graphs.items():
            found = table.lookup(fresh)
            met = np.unique(found[found >= 0])
            news += len(met)
            self._edges[graph].add([met.astype("<i8").tobytes()])
        return result, news

    def report(self) -> list[GraphSteps]:
        """Give what was covered of each graph."""
        rows = []
        for counter in self._edges.values():
            found = counter.result()
            actions = {one.action: [one.covered, one.steps] for one in found.actions}
            rows.append(GraphSteps(found.graph, found.steps, found.covered, actions))
        return rows

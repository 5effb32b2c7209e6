"""Which steps of a graph the runs that were opened take; counted once for each graph.

Runs are read one after the other, and not kept.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

from canvass.browser.graphs import OpenGraph
from canvass.browser.guard import Refusal, bad_request
from canvass.browser.member_steps import MemberSteps, Taken
from canvass.browser.sources import Lazy, Source, Store
from canvass.conformance.batch import Batch
from canvass.conformance.diagnose import LoadedRun, load
from canvass.traces.errors import TraceError


class Coverages:
    """Counts by graph.

    Parameters
    ----------
    store
        What was opened.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._found: dict[str, Lazy[Taken]] = {}

    def taken(self, graph_id: str) -> tuple[MemberSteps, Taken]:
        """Give the steps of a graph, and how often the runs that are open take each of them.

        Raises
        ------
        Refusal
            If the graph is not open, or not of a member.
        """
        graph: OpenGraph = self._store.content("graph", graph_id)
        steps = graph.steps
        if steps is None:
            raise bad_request("steps of runs are found in graphs of `canvass graph build` only")
        with self._lock:
            if graph_id not in self._found:
                sources = [source for _, source in self._store.of_kind("run")]
                self._found[graph_id] = Lazy(lambda: steps.take(_batches(sources, steps)))
            lazy = self._found[graph_id]
        return steps, lazy.get()


def _batches(sources: list[Source], steps: MemberSteps) -> Iterator[Batch]:
    for source in sources:
        loaded = _loaded(source)
        if loaded is not None and steps.fits(loaded.run.rules):
            yield loaded.batch


def _loaded(source: Source) -> LoadedRun | None:
    """Read a run; none if it cannot be read, which its own view tells."""
    try:
        if source.content.made or source.imported:
            loaded: LoadedRun = source.content.get().opened.loaded
            return loaded
        return load(source.path, source.run_id)
    except (TraceError, Refusal, KeyError, ValueError):
        return None

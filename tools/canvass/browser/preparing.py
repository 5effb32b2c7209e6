"""What is read before anybody asks: the first run and the first graph, and where they meet.

All in the background; a file that cannot be read is reported at its first request.
"""

from __future__ import annotations

import threading
from contextlib import suppress

from canvass.browser.sources import Store


def prepare(store: Store) -> threading.Thread:
    """Begin to read the first graph and the first run, so that the first views need not wait."""
    thread = threading.Thread(target=lambda: _read(store), daemon=True)
    thread.start()
    return thread


def _read(store: Store) -> None:
    first = {source.kind: (name, source) for name, source in reversed(store.all())}
    runs, graphs = first.get("run"), first.get("graph")
    with suppress(Exception):
        if runs is not None:
            runs[1].content.get()
    with suppress(Exception):
        if graphs is not None:
            _warm(graphs[1].content.get())
    with suppress(Exception):
        if runs is not None:
            found = runs[1].content.get().graph(store)
            if found is not None:
                found[2].begin()


def _warm(graph: object) -> None:
    """Let numba load what paths and components need."""
    from canvass.browser.graphs import OpenGraph
    from canvass.graph.walks import shortest_path

    assert isinstance(graph, OpenGraph)
    first = graph.view.initial[:1].tolist()
    shortest_path(graph.view, first, first)

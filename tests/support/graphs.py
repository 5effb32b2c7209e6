"""State graphs for tests: built by TLC once, kept under the digest of the spec."""

from __future__ import annotations

import hashlib

import pytest

from canvass.graph.artifact import Graph
from canvass.graph.build import cached_graph, load_model


def graph_of(config: pytest.Config, name: str, steps: int | None = None) -> Graph:
    """Give the graph of a model; pytest's cache folder keeps it from run to run."""
    assert config.cache is not None
    model = load_model(name)
    if steps is not None:
        model = model.with_steps(steps)
    return cached_graph(model, config.cache.mkdir("graphs"))


def graph_digest(graph: Graph) -> str:
    """Name a graph by the digests of its files: equal graphs have equal names on every machine."""
    files = sorted(graph.manifest.files.items())
    return hashlib.sha256(repr(files).encode()).hexdigest()

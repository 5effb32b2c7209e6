"""State graphs for tests: TLC builds each one once; it is kept under the digest of the spec."""

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
    """Give a digest of a graph's files; equal graphs have equal digests on every machine."""
    files = sorted(graph.manifest.files.items())
    return hashlib.sha256(repr(files).encode()).hexdigest()

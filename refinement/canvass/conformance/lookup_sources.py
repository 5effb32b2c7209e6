"""What verification asks about steps: state graphs, a cache and TLC put together.

Nothing here checks anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from canvass.conformance.known_steps import shipped_steps
from canvass.conformance.step_lookup import (
    NO_STEPS,
    RULE_MODULES,
    StepLookup,
    default_cache,
    spec_digest,
)
from canvass.graph import GraphError
from canvass.graph.artifact import open_keys, read_manifest
from canvass.graph.folders import file_digest
from canvass.spec.files import spec_root
from canvass.steps.lookup import KeyTable


def make_lookup(graphs: Sequence[Path], cache: Path | None, *, keep: bool = True) -> StepLookup:
    """Put together what answers for steps.

    Parameters
    ----------
    graphs
        Folders of state-graph artifacts with a table of keys.
    cache
        Where answers are kept; None for the user's cache folder.
    keep
        Whether answers are kept at all, and those that ship with canvass are used.

    Raises
    ------
    GraphError
        If a graph cannot be opened, or is of another state of the spec.
    """
    folder = (cache or default_cache()) if keep else None
    return StepLookup(
        graphs={str(path): _open_keys(path) for path in graphs},
        cache=folder,
        shipped=shipped_steps(spec_digest()) if keep else NO_STEPS,
    )


def _open_keys(path: Path) -> KeyTable:
    """Open the keys of a graph whose edges are what today's spec allows."""
    made_of = read_manifest(path).modules
    for name in RULE_MODULES:
        file = f"{name}.tla"
        if made_of.get(file) != file_digest(spec_root() / file):
            raise GraphError(f"{path}: the graph was made of another {file}; build it again")
    return open_keys(path)

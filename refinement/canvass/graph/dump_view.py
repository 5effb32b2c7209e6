"""`DumpView`: the state graph of any TLC model, to be asked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from canvass.graph.columns import Columns
from canvass.graph.csr import Adjacency, Rows, hash64
from canvass.graph.dump_folder import DumpArrays, DumpManifest, read_dump_graph
from canvass.graph.errors import GraphError
from canvass.graph.ids import find_row
from canvass.graph.view import EdgeView, Kind, Tree
from canvass.tlc import Value


class DumpView(Adjacency):
    """A `canvass.graph.view.StateGraph` of a TLC dump.

    Parameters
    ----------
    manifest, arrays
        The graph.
    folder
        Where it is.
    """

    kind: Kind = "tlc"

    def __init__(self, manifest: DumpManifest, arrays: DumpArrays, folder: Path) -> None:
        super().__init__(
            state_count=len(arrays.ids),
            source=arrays.source,
            target=arrays.target,
            action=arrays.action,
            number=np.arange(len(arrays.source), dtype=np.int32),
            action_count=len(arrays.action_names),
        )
        self.manifest = manifest
        self.folder = folder
        self.values = arrays.values
        self.fields = manifest.variables
        self.actions = arrays.action_names
        self.expanded = arrays.expanded
        self.ids = arrays.ids
        self._arrays = arrays

    @property
    def title(self) -> str:
        """The name of the model."""
        return self.manifest.model

    @property
    def complete(self) -> bool | None:
        """Whether TLC came to the end; none if nobody knows."""
        return self.manifest.complete

    @property
    def detail(self) -> Tree:
        """Where the graph comes from."""
        origin: Tree = msgspec.to_builtins(self.manifest.origin)
        named = {name: value for name, value in origin.items() if isinstance(value, str)}
        return {"model": self.title, "variables": list(self.fields), **named}

    @cached_property
    def initial(self) -> Rows:
        """The rows of the initial states."""
        return np.flatnonzero(self._arrays.initial).astype(np.int32)

    @property
    def identities(self) -> NDArray[np.int64]:
        """The ids as numbers."""
        return self.ids.view(np.int64)

    def _labels(self) -> NDArray[np.int64]:
        """Hash the arguments of labels; 0 for none."""
        hashes = [hash64(text.encode()) for text in self._arrays.argument_texts]
        # The last one is that of no arguments, whose code is -1.
        return np.array([*hashes, 0], dtype=np.int64)[self._arrays.arguments]

    def id_of(self, row: int) -> str:
        """Give the id of a state."""
        return bytes(self.ids[row]).hex()

    def find(self, prefix: str) -> int | None:
        """Give the row of the state whose id begins with the text."""
        return find_row(self.ids, prefix)

    def columns(self, fields: Sequence[str]) -> Columns:
        """Give the values of some variables in all states."""
        return Columns(self.values, {name: self._arrays.nodes[name] for name in fields})

    def state(self, row: int) -> dict[str, Value]:
        """Give a state as values, by the names of its variables."""
        return {name: self.values.value(int(self._arrays.nodes[name][row])) for name in self.fields}

    def tree(self, row: int) -> Tree:
        """Give a state as plain JSON values."""
        return {name: self.values.tree(int(self._arrays.nodes[name][row])) for name in self.fields}

    def edge(self, edge: int) -> EdgeView:
        """Give one edge; the arguments of its label are text."""
        arrays = self._arrays
        if not 0 <= edge < len(arrays.source):
            raise GraphError(f"{self.title} has no edge {edge}")
        code = int(arrays.arguments[edge])
        return EdgeView(
            edge=edge,
            source=int(arrays.source[edge]),
            target=int(arrays.target[edge]),
            action=arrays.action_names[int(arrays.action[edge])],
            given={} if code < 0 else {"arguments": arrays.argument_texts[code]},
            sends=[],
        )


def open_dump_view(folder: Path, *, verify: bool = True) -> DumpView:
    """Open the folder of a graph that a dump made.

    Raises
    ------
    GraphError
        If there is none, or it is damaged.
    """
    manifest, arrays = read_dump_graph(folder, verify=verify)
    return DumpView(manifest, arrays, folder)

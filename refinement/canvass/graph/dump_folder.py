"""The state graph of any TLC model: its manifest, its arrays and its view.

Nothing here reads a dump or runs TLC.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import field
from numpy.typing import NDArray

from canvass.cluster.messages import Record
from canvass.graph import GraphError
from canvass.graph.folders import (
    EDGES_FILE,
    STATES_FILE,
    VALUES_FILE,
    Rows,
    codes_of,
    file_digest,
    ids_and_nodes,
    ints,
    made_aside,
    named,
    read_tables,
    states_table,
    verify_files,
    write_manifest,
    write_tables,
)
from canvass.graph.values import Columns, ValueTable, tree_of
from canvass.graph.view import EdgeView, Kind, StateGraph, Tree

SCHEMA: Final = "canvass.graph.dump/2"
MAX_STATES: Final = 5_000_000
"""Larger graphs are refused, as queries hold a graph in memory."""

_FILES: Final = (VALUES_FILE, STATES_FILE, EDGES_FILE)


class DumpCounts(Record, frozen=True, forbid_unknown_fields=True):
    """The size of a graph."""

    states: int
    initial: int
    expanded: int
    edges: int
    values: int
    """Distinct values, parts of values included."""
    actions: dict[str, int]
    """Edges by action."""


class DumpOrigin(Record, frozen=True, forbid_unknown_fields=True):
    """The origin of a graph; unknown parts are null."""

    dump: str | None = None
    """The name of the dump's file, if somebody else made it."""
    dump_sha256: str | None = None
    tlc_version: str | None = None
    jar_sha256: str | None = None
    config_sha256: str | None = None
    modules: dict[str, str] = field(default_factory=dict)
    """SHA-256 of the modules, by file name."""
    outcome: str | None = None
    """How TLC ended, such as ``success`` or ``safety``; null if unknown."""
    violated: str | None = None
    """The violated property, if TLC or the configuration names it."""
    message: str | None = None
    """The violation in one line; null at success."""
    violating: tuple[str, ...] = ()
    """The ids of the states that show the violation: the last state of TLC's behaviour, or the
    states of its loop.
    """
    cut: tuple[str, ...] = ()
    """The statements of the configuration that leave out states or steps of the specification, such
    as ``CONSTRAINT Bound``.
    """


class DumpManifest(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    rename="camel",
    tag_field="schema",
    tag=SCHEMA,
):
    """``manifest.json`` of a graph that was made from a dump."""

    model: str
    variables: tuple[str, ...]
    complete: bool | None
    """Whether TLC explored every state within the bounds; null if unknown."""
    origin: DumpOrigin
    counts: DumpCounts
    files: dict[str, str]
    """SHA-256 of each other file of the folder."""


@dataclass(frozen=True, slots=True, eq=False)
class DumpArrays:
    """A graph in arrays.

    Attributes
    ----------
    ids
        16 bytes for each state, ascending.
    columns
        The variables.
    source, target, action, arguments
        The edges; the last two are codes of ``action_names`` and ``argument_texts``, -1 for no
        arguments.
    """

    columns: Columns
    ids: NDArray[np.uint8]
    initial: NDArray[np.bool_]
    expanded: NDArray[np.bool_]
    source: Rows
    target: Rows
    action: Rows
    action_names: tuple[str, ...]
    arguments: Rows
    argument_texts: tuple[str, ...]


def write_dump_graph(
    folder: Path, arrays: DumpArrays, *, model: str, complete: bool | None, origin: DumpOrigin
) -> DumpManifest:
    """Write a graph to a new folder.

    Raises
    ------
    GraphError
        If it cannot be written.
    """
    tables = {
        VALUES_FILE: arrays.columns.values.to_table(),
        STATES_FILE: states_table(
            arrays.ids, arrays.columns.nodes, initial=arrays.initial, expanded=arrays.expanded
        ),
        EDGES_FILE: pa.table(
            {
                "source": pa.array(arrays.source),
                "target": pa.array(arrays.target),
                "action": named(arrays.action, arrays.action_names),
                "arguments": named(arrays.arguments, arrays.argument_texts),
            }
        ),
    }
    actions = np.bincount(arrays.action, minlength=len(arrays.action_names)).tolist()
    with made_aside(folder) as aside:
        write_tables(aside, tables)
        manifest = DumpManifest(
            model=model,
            variables=tuple(arrays.columns.nodes),
            complete=complete,
            origin=origin,
            counts=DumpCounts(
                states=len(arrays.ids),
                initial=int(arrays.initial.sum()),
                expanded=int(arrays.expanded.sum()),
                edges=len(arrays.source),
                values=len(arrays.columns.values),
                actions=dict(zip(arrays.action_names, actions, strict=True)),
            ),
            files={name: file_digest(aside / name) for name in tables},
        )
        write_manifest(aside, manifest)
    return manifest


def read_dump_graph(folder: Path, manifest: DumpManifest) -> DumpArrays:
    """Read a graph as `write_dump_graph` made it.

    Raises
    ------
    GraphError
        If a file is absent or damaged.
    """
    verify_files(folder, manifest.files, _FILES)
    tables = read_tables(folder, _FILES)
    actions = tuple(manifest.counts.actions)
    states, edges = tables[STATES_FILE], tables[EDGES_FILE]
    ids, nodes = ids_and_nodes(states, manifest.variables)
    texts = tuple(sorted(name for name in edges["arguments"].unique().to_pylist() if name))
    return DumpArrays(
        columns=Columns(ValueTable.from_table(tables[VALUES_FILE]), nodes),
        ids=ids,
        initial=states["initial"].to_numpy().astype(np.bool_),
        expanded=states["expanded"].to_numpy().astype(np.bool_),
        source=ints(edges["source"]).astype(np.int32),
        target=ints(edges["target"]).astype(np.int32),
        action=codes_of(edges["action"], actions),
        action_names=actions,
        arguments=codes_of(edges["arguments"], texts),
        argument_texts=texts,
    )


class DumpView(StateGraph):
    """The graph of a TLC dump."""

    kind: Kind = "tlc"

    def __init__(self, manifest: DumpManifest, arrays: DumpArrays, folder: Path) -> None:
        super().__init__(
            folder=folder,
            title=manifest.model,
            complete=manifest.complete,
            columns=arrays.columns,
            ids=arrays.ids,
            expanded=arrays.expanded,
            source=arrays.source,
            target=arrays.target,
            action=arrays.action,
            number=np.arange(len(arrays.source), dtype=np.int32),
        )
        self.manifest = manifest
        self.actions = arrays.action_names
        self._arrays = arrays
        found = map(self.find, manifest.origin.violating)
        self.violating = np.array([row for row in found if row is not None], dtype=np.int32)

    @property
    def detail(self) -> Tree:
        """The origin of the graph."""
        origin: Tree = msgspec.to_builtins(self.manifest.origin)
        named = {name: value for name, value in origin.items() if isinstance(value, str)}
        return {"model": self.title, "variables": list(self.fields), **named}

    @property
    def end(self) -> str:
        """The reason why some states are not expanded."""
        origin = self.manifest.origin
        return f"{' and '.join(origin.cut)} cuts the graph" if origin.cut else "TLC stopped there"

    @property
    def doubt(self) -> str:
        """The reason why even an expanded state may lack steps; empty if none does."""
        merging = [each for each in self.manifest.origin.cut if not each.startswith("CONSTRAINT ")]
        if merging:
            return f"{' and '.join(merging)} leaves out steps of any state"
        unknown = "a dump does not say whether it is whole; `canvass graph build --complete` does"
        return unknown if self.complete is None else ""

    @cached_property
    def initial(self) -> Rows:
        """The rows of the initial states."""
        return np.flatnonzero(self._arrays.initial).astype(np.int32)

    def edge_texts(self) -> Mapping[str, tuple[Sequence[str], Rows]]:
        """Give the arguments in the labels of the edges."""
        return {"arguments": (self._arrays.argument_texts, self._arrays.arguments[self.out.edge])}

    def tree(self, row: int) -> Tree:
        """Give a state as plain JSON values."""
        return {name: tree_of(value) for name, value in self.state(row).items()}

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

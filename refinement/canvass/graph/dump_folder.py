"""The state graph of any TLC model on disk: manifest and tables, to and from arrays.

==================  ===============================================================================
file                a row is
==================  ===============================================================================
``states.parquet``  a state: ``id``, ``initial``, ``expanded``, and for each variable ``of.NAME``,
                    the row of its value in ``values.parquet``
``values.parquet``  a value, each distinct one once, after its parts: ``kind``, ``scalar``,
                    ``parts``; `canvass.graph.values.ValueTable` says what they hold
``texts.parquet``   a string or the name of a model value: ``text``
``shapes.parquet``  the names of a record's fields: ``names``
``edges.parquet``   an edge: ``source``, ``target``, ``action``, ``arguments``
==================  ===============================================================================

States are in the order of their ids, values by height and content, edges by source, target and
label: equal graphs make equal files. Nothing here reads a dump or runs TLC.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, Literal

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from canvass.graph import GraphError
from canvass.graph.artifact import Count, Digest
from canvass.graph.folders import (
    ID_BYTES,
    MISSHAPEN,
    Rows,
    decode_manifest,
    file_digest,
    fixed_bytes,
    made_aside,
    verify_files,
    write_manifest,
)
from canvass.graph.values import Columns, ValueTable
from canvass.graph.values import Kind as ValueKind
from canvass.graph.view import EdgeView, Kind, StateGraph, Tree
from canvass.steps.distinct import offsets_of
from canvass.tlc import Value

SCHEMA: Final = "canvass.graph.dump/1"
MAX_STATES: Final = 5_000_000
"""Larger graphs are refused, as queries hold a graph in memory."""

_VARIABLE: Final = "of."
_KINDS: Final = tuple(kind.name.lower() for kind in ValueKind)


class DumpCounts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The size of a graph."""

    states: Count
    initial: Count
    expanded: Count
    edges: Count
    values: Count
    """Distinct values, parts of values included."""
    actions: dict[str, int]
    """Edges by action."""


class DumpOrigin(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The origin of a graph; unknown parts are null."""

    dump: str | None = None
    """The name of the dump's file, if somebody else made it."""
    dump_sha256: Digest | None = None
    tlc_version: str | None = None
    jar_sha256: Digest | None = None
    config_sha256: Digest | None = None
    modules: dict[str, Digest] = {}
    """SHA-256 of the modules, by file name."""
    outcome: str | None = None
    """How TLC ended, such as ``success`` or ``safety``; null in old folders, too."""
    violated: str | None = None
    """The violated property, if TLC or the configuration names it."""
    message: str | None = None
    """The violation in one line; null at success."""
    cut: tuple[str, ...] = ()
    """The statements of the configuration that leave out states or steps of the specification, such
    as ``CONSTRAINT Bound``; empty in old folders, too.
    """


class DumpManifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """``manifest.json`` of a graph that a dump made."""

    schema: Literal["canvass.graph.dump/1"]
    model: str
    variables: tuple[str, ...]
    complete: bool | None
    """Whether TLC explored every state within the bounds; null if unknown."""
    origin: DumpOrigin
    counts: DumpCounts
    files: dict[str, Digest]
    """SHA-256 of each other file of the folder."""


@dataclass(frozen=True, slots=True, eq=False)
class DumpArrays:
    """A graph in arrays.

    Attributes
    ----------
    ids
        16 bytes for each state, ascending.
    nodes
        For each variable, the node of its value in each state.
    source, target, action, arguments
        The edges; the last two are codes of ``action_names`` and ``argument_texts``, -1 for no
        arguments.
    """

    values: ValueTable
    ids: NDArray[np.uint8]
    initial: NDArray[np.bool_]
    expanded: NDArray[np.bool_]
    nodes: Mapping[str, Rows]
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
    tables = _tables(arrays)
    actions = np.bincount(arrays.action, minlength=len(arrays.action_names)).tolist()
    with made_aside(folder) as aside:
        for name, table in tables.items():
            pq.write_table(table, aside / name, compression="zstd")
        manifest = DumpManifest(
            schema=SCHEMA,
            model=model,
            variables=tuple(arrays.nodes),
            complete=complete,
            origin=origin,
            counts=DumpCounts(
                states=len(arrays.ids),
                initial=int(arrays.initial.sum()),
                expanded=int(arrays.expanded.sum()),
                edges=len(arrays.source),
                values=len(arrays.values),
                actions=dict(zip(arrays.action_names, actions, strict=True)),
            ),
            files={name: file_digest(aside / name) for name in tables},
        )
        write_manifest(aside, manifest)
    return manifest


def read_dump_graph(folder: Path, *, verify: bool = True) -> tuple[DumpManifest, DumpArrays]:
    """Read a graph.

    Parameters
    ----------
    folder
        As `write_dump_graph` made it.
    verify
        Whether to compare all files with the digests in the manifest.

    Raises
    ------
    GraphError
        If a file is absent, damaged, or refers to rows that are not there.
    """
    manifest = decode_manifest(folder, DumpManifest)
    if verify:
        verify_files(folder, manifest.files, _FILES, _FILES)
    try:
        tables = {name: pq.read_table(folder / name) for name in _FILES}
        arrays = _arrays(tables, manifest)
    except (OSError, *MISSHAPEN) as error:
        raise GraphError(f"{folder}: {' '.join(str(error).split())[:200]}") from None
    _check(arrays, manifest, folder)
    return manifest, arrays


_FILES: Final = (
    "states.parquet",
    "values.parquet",
    "texts.parquet",
    "shapes.parquet",
    "edges.parquet",
)


def _named(codes: Rows, names: tuple[str, ...]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(
        pa.array(codes, type=pa.int32(), mask=codes < 0), pa.array(names, type=pa.string())
    )


def _tables(arrays: DumpArrays) -> dict[str, pa.Table]:
    values = arrays.values
    kinds = _named(values.kind.astype(np.int32), _KINDS)
    parts = pa.ListArray.from_arrays(
        pa.array(values.offsets, type=pa.int32()), pa.array(values.children, type=pa.int32())
    )
    states = {
        "id": pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(ID_BYTES), len(arrays.ids), [None, pa.py_buffer(arrays.ids.tobytes())]
        ),
        "initial": pa.array(arrays.initial),
        "expanded": pa.array(arrays.expanded),
        **{_VARIABLE + name: pa.array(nodes) for name, nodes in arrays.nodes.items()},
    }
    edges = {
        "source": pa.array(arrays.source),
        "target": pa.array(arrays.target),
        "action": _named(arrays.action, arrays.action_names),
        "arguments": _named(arrays.arguments, arrays.argument_texts),
    }
    shapes = pa.array([list(names) for names in values.shapes], type=pa.list_(pa.string()))
    made = (
        pa.table(states),
        pa.table({"kind": kinds, "scalar": pa.array(values.scalar), "parts": parts}),
        pa.table({"text": pa.array(list(values.texts), type=pa.string())}),
        pa.table({"names": shapes}),
        pa.table(edges),
    )
    return dict(zip(_FILES, made, strict=True))


def _codes(column: pa.ChunkedArray, names: tuple[str, ...]) -> Rows:
    """Give the codes of a column of names; each chunk may have its own dictionary."""
    whole = column.unify_dictionaries().combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.chunk(0) if whole.num_chunks else pa.array([], whole.type)
    found = whole.dictionary.to_pylist()
    codes = np.array([names.index(name) for name in found] or [-1], dtype=np.int32)
    places = whole.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return np.where(places < 0, np.int32(-1), codes[places]).astype(np.int32)


def _dictionary(column: pa.ChunkedArray) -> tuple[str, ...]:
    return tuple(sorted(name for name in column.unique().to_pylist() if name is not None))


def _rows(column: pa.ChunkedArray) -> Rows:
    if column.null_count:
        raise ValueError("a number is absent")
    return np.ascontiguousarray(column.to_numpy().astype(np.int32))


def _arrays(tables: Mapping[str, pa.Table], manifest: DumpManifest) -> DumpArrays:
    states, values, texts, shapes, edges = (tables[name] for name in _FILES)
    parts = pa.concat_arrays(values["parts"].chunks) if len(values) else None
    counts = np.empty(0) if parts is None else parts.value_lengths().to_numpy()
    arguments = _dictionary(edges["arguments"])
    table = ValueTable(
        kind=_codes(values["kind"], _KINDS).astype(np.uint8),
        scalar=values["scalar"].to_numpy().astype(np.int64),
        offsets=offsets_of(counts),
        children=_rows(
            pa.chunked_array([pa.array([], pa.int32()) if parts is None else parts.flatten()])
        ),
        texts=texts["text"].to_pylist(),
        shapes=[tuple(names) for names in shapes["names"].to_pylist()],
    )
    return DumpArrays(
        values=table,
        ids=fixed_bytes(states["id"], ID_BYTES),
        initial=states["initial"].to_numpy().astype(np.bool_),
        expanded=states["expanded"].to_numpy().astype(np.bool_),
        nodes={name: _rows(states[_VARIABLE + name]) for name in manifest.variables},
        source=_rows(edges["source"]),
        target=_rows(edges["target"]),
        action=_codes(edges["action"], tuple(manifest.counts.actions)),
        action_names=tuple(manifest.counts.actions),
        arguments=_codes(edges["arguments"], arguments),
        argument_texts=arguments,
    )


def _check(arrays: DumpArrays, manifest: DumpManifest, folder: Path) -> None:
    """Refuse references to rows that are not there."""
    arrays.values.check()
    states, values = len(arrays.ids), len(arrays.values)
    columns = [(arrays.source, states), (arrays.target, states)]
    columns += [(nodes, values) for nodes in arrays.nodes.values()]
    columns.append((arrays.action, len(arrays.action_names)))
    for rows, count in columns:
        if len(rows) and not 0 <= int(rows.min()) <= int(rows.max()) < count:
            raise GraphError(f"{folder}: the tables refer to rows that are not there")
    words = arrays.ids.view(">u8")
    same, above = words[1:, 0] == words[:-1, 0], words[1:] > words[:-1]
    if not bool(np.where(same, above[:, 1], above[:, 0]).all()):
        raise GraphError(f"{folder}: the states are not in the order of their ids")
    if (states, len(arrays.source)) != (manifest.counts.states, manifest.counts.edges):
        raise GraphError(f"{folder}: the tables are not as long as the manifest says")


class DumpView(StateGraph):
    """The graph of a TLC dump."""

    kind: Kind = "tlc"

    def __init__(self, manifest: DumpManifest, arrays: DumpArrays, folder: Path) -> None:
        super().__init__(
            folder=folder,
            ids=arrays.ids,
            expanded=arrays.expanded,
            source=arrays.source,
            target=arrays.target,
            action=arrays.action,
            number=np.arange(len(arrays.source), dtype=np.int32),
        )
        self.manifest = manifest
        self.values = arrays.values
        self.fields = manifest.variables
        self.actions = arrays.action_names
        self._arrays = arrays

    @property
    def title(self) -> str:
        """The name of the model."""
        return self.manifest.model

    @property
    def complete(self) -> bool | None:
        """Whether TLC explored every state within the bounds; none if unknown."""
        return self.manifest.complete

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
        """The reason why even an expanded state may lack steps; empty if it does not."""
        merging = [each for each in self.manifest.origin.cut if not each.startswith("CONSTRAINT ")]
        if merging:
            return f"{' and '.join(merging)} leaves out steps of any state"
        unknown = "a dump does not say whether it is whole; `canvass graph import --complete` does"
        return unknown if self.complete is None else ""

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
        hashes = [_hash(text) for text in self._arrays.argument_texts]
        # The last one is that of no arguments, whose code is -1.
        return np.array([*hashes, 0], dtype=np.int64)[self._arrays.arguments]

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


def _hash(text: str) -> int:
    """Hash a text to 64 bits with a sign."""
    digest = hashlib.sha256(text.encode()).digest()
    return int.from_bytes(digest[:8], "little", signed=True)

"""A state graph on disk: the folder, its manifest, and `Graph`, which holds one in arrays.

A folder holds ``manifest.json`` (schema ``canvass.graph/1``), four Parquet tables whose columns
`canvass.graph.folders` names, and the `KeyTable` of the edges' canonical forms. Rows refer to rows
of other tables by their numbers. Making one is in `canvass.graph.build`; questions
are asked of `canvass.graph.member_view`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from canvass.cluster.member import Input, Member
from canvass.cluster.rules import Rules
from canvass.graph import GraphError, folders
from canvass.graph.folders import decode_manifest, verify_files
from canvass.steps.key_table import EDGES_FILE, KEYS_FILE, KeyTable
from canvass.steps.step import Sends, Step, input_of
from canvass.traces.actions import ACTIONS, Action
from canvass.traces.columns import member_of, message_of
from canvass.traces.layout import MESSAGE_INDEX, NONE

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

SCHEMA: Final = "canvass.graph/1"
FILES: Final = (*folders.FILES, KEYS_FILE, EDGES_FILE)
"""The files of a folder beside its manifest."""

Count = Annotated[int, msgspec.Meta(ge=0)]
Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$(?!\n)")]


class GraphRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The rules that the member of a graph follows: `canvass.cluster.rules.Rules`."""

    member_count: int
    revision: str
    hardening: tuple[str, ...]
    appointed_leader_id: int

    @classmethod
    def of(cls, rules: Rules) -> GraphRules:
        """Give the form that is written."""
        hardening = tuple(sorted(rules.hardening))
        return cls(rules.member_count, rules.revision, hardening, rules.appointed_leader_id)

    def rules(self) -> Rules:
        """Give the rules."""
        hardening = frozenset(self.hardening)
        return Rules(self.member_count, self.revision, hardening, self.appointed_leader_id)


class Counts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """How large a graph is."""

    states: Count
    """States with their numbers of peers as they were, expanded or not."""
    expanded: Count
    """States whose steps are in the graph."""
    inputs: Count
    sends: Count
    """Distinct lists of messages that a step sends."""
    tried: Count
    """Rows of the table of edges: inputs that were tried in a state."""
    edges: Count
    """Those of them that enable the action."""
    canonical: Count
    """Distinct canonical forms of the edges."""
    actions: dict[str, int]
    """Edges by action."""


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """``manifest.json``: where a graph comes from, and what it holds."""

    schema: Literal["canvass.graph/1"]
    model: str
    """The configuration that TLC ran, without ``.cfg``."""
    rules: GraphRules
    constants: dict[str, str]
    """All constants of the model, as the configuration has them."""
    complete: bool
    """Whether every state found within the bounds was expanded."""
    tlc_version: str
    jar_sha256: Digest
    config_sha256: Digest
    modules: dict[str, Digest]
    """SHA-256 of each module that the model rests on, by file name."""
    counts: Counts
    files: dict[str, Digest]
    """SHA-256 of each other file of the folder."""


@dataclass(frozen=True, slots=True, eq=False)
class StepArrays:
    """Steps in arrays; the layouts of states, inputs and messages are those of traces.

    Attributes
    ----------
    rules
        The rules that the member follows.
    log_offsets, send_offsets
        Where the recording log of each state begins in ``log``, and each list of sends in
        ``sends``.
    source, input, target, sent
        The steps: rows of states, inputs, states and lists of sends.
    """

    rules: Rules
    state: Ints
    members: Ints
    log_offsets: Ints
    log: Ints
    input_action: Ints
    inputs: Ints
    message: Ints
    send_offsets: Ints
    sends: Ints
    source: Ints
    input: Ints
    target: Ints
    sent: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Graph(StepArrays):
    """A state graph: its steps are the edges, ordered by source and input.

    A target of -1 says that the input does not enable the action.

    Attributes
    ----------
    ids
        16 bytes for each state: the content hash that names it everywhere.
    representative
        For each state, the state that stands for all that are equal to it but for the numbering of
        the peers.
    disabled
        For each state, the mask of the actions that were tried and that no input enables.
    """

    manifest: Manifest
    ids: NDArray[np.uint8]
    expanded: Flags
    representative: Ints
    disabled: Ints

    def member(self, row: int) -> Member:
        """Decode a state."""
        start, end = int(self.log_offsets[row]), int(self.log_offsets[row + 1])
        return member_of(
            self.state[row].tolist(), self.members[row].tolist(), self.log[start:end].tolist()
        )

    def given(self, row: int) -> tuple[Action, Input]:
        """Decode an input, with the action that it is for."""
        action = ACTIONS[int(self.input_action[row])]
        return action, input_of(self.inputs[row].tolist(), self.message[row].tolist())

    def sends_of(self, row: int) -> Sends:
        """Decode a list of sends."""
        sends = []
        for cells in self.sends[int(self.send_offsets[row]) : int(self.send_offsets[row + 1])]:
            message = message_of(cells)
            assert message is not None
            sends.append((int(cells[MESSAGE_INDEX["peer"]]), message))
        return tuple(sends)

    def step(self, edge: int) -> Step:
        """Decode an edge that has a target."""
        target = int(self.target[edge])
        if target == NONE:
            raise GraphError(f"edge {edge} stands for an input that does not enable its action")
        action, given = self.given(int(self.input[edge]))
        return Step(
            member=0,
            before=self.member(int(self.source[edge])),
            action=action,
            input=given,
            after=self.member(target),
            sends=self.sends_of(int(self.sent[edge])),
        )


def read_manifest(folder: Path) -> Manifest:
    """Read ``manifest.json`` of a graph's folder.

    Raises
    ------
    GraphError
        If it is absent or not what this version reads.
    """
    return decode_manifest(folder, Manifest)


def open_graph(folder: Path, *, verify: bool = True) -> Graph:
    """Read a graph.

    Parameters
    ----------
    folder
        As `canvass.graph.build.build_graph` made it.
    verify
        Whether to compare all files with the digests in the manifest.

    Raises
    ------
    GraphError
        If a file is absent, damaged, or refers to rows that are not there.
    """
    manifest = read_manifest(folder)
    if verify:
        verify_files(folder, manifest.files, FILES, folders.FILES)
    tables = {name: _table(folder / name) for name in folders.FILES}
    try:
        arrays = folders.to_arrays(tables, manifest.rules.member_count)
    except folders.MISSHAPEN as error:
        raise GraphError(f"{folder}: {' '.join(str(error).split())[:200]}") from None
    graph = Graph(rules=manifest.rules.rules(), manifest=manifest, **arrays)
    _check_rows(graph, folder)
    return graph


def open_keys(folder: Path) -> KeyTable:
    """Map the keys of the edges' canonical forms, which contain the digest of the rules.

    Raises
    ------
    GraphError
        If they cannot be read.
    """
    try:
        return KeyTable.open(folder)
    except (OSError, ValueError) as error:
        raise GraphError(f"{folder}: the keys cannot be read: {error}") from None


def _table(path: Path) -> pa.Table:
    try:
        return pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise GraphError(f"{path}: {error}") from None


def _check_rows(graph: Graph, folder: Path) -> None:
    """Refuse references to rows that are not there."""
    states, inputs = len(graph.state), len(graph.inputs)
    for name, rows, lowest, count in (
        ("representative", graph.representative, 0, states),
        ("source", graph.source, 0, states),
        ("target", graph.target, NONE, states),
        ("input", graph.input, 0, inputs),
        ("sent", graph.sent, 0, len(graph.send_offsets) - 1),
    ):
        if len(rows) and not lowest <= int(rows.min()) <= int(rows.max()) < count:
            raise GraphError(f"{folder}: the column {name} refers to rows that are not there")
    counts = graph.manifest.counts
    if (states, inputs, len(graph.source)) != (counts.states, counts.inputs, counts.tried):
        raise GraphError(f"{folder}: the tables are not as long as the manifest says")

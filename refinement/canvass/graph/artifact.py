"""The state graph of one member: its folder and manifest, `Graph` in arrays, and its view.

A folder holds ``manifest.json`` (schema ``canvass.graph/1``), four Parquet tables whose columns
`canvass.graph.folders` names, and the `KeyTable` of the edges' canonical forms. Rows refer to rows
of other tables by their numbers. Making one is in `canvass.graph.build`.

States that differ only in the numbering of the peers are one state in queries: their
representative. Edges keep the numbers that they have in the folder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from canvass.cluster.member import Input, Member
from canvass.cluster.names import wire_name
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member
from canvass.graph import GraphError, folders
from canvass.graph.edge_keys import keys_of_edges
from canvass.graph.folders import Rows, decode_manifest, find_row, verify_files
from canvass.graph.printed_steps import identities_of, state_id
from canvass.graph.values import ABSENT, Columns, ValueBuilder
from canvass.graph.view import EdgeView, Kind, StateGraph, Tree
from canvass.steps.distinct import EDGES_FILE, KEYS_FILE, KeyTable, distinct_rows
from canvass.steps.oracle import rules_digest
from canvass.steps.step import Sends, Step, entry_cells, input_of, record_cells, state_cells
from canvass.tlc import Value, from_python, function
from canvass.traces.actions import ACTIONS, Action
from canvass.traces.columns import Ints, member_of, message_of
from canvass.traces.layout import (
    ACTION_NAMES,
    FLAG_COLUMNS,
    LOG_COLUMNS,
    MEMBER_COLUMNS,
    MESSAGE_INDEX,
    NONE,
    STATE_ENUMS,
    STATE_INDEX,
)
from canvass.traces.schema import to_trace_input

Flags = NDArray[np.bool_]

SCHEMA: Final = "canvass.graph/1"
_KEY_FILES: Final[tuple[str, ...]] = (KEYS_FILE, EDGES_FILE)
FILES: Final = (*folders.FILES, *_KEY_FILES)
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
    """The size of a graph."""

    states: Count
    """All states, expanded or not. Each numbering of the peers counts separately."""
    expanded: Count
    """States whose steps are in the graph."""
    inputs: Count
    sends: Count
    """Distinct lists of messages that a step sends."""
    tried: Count
    """Rows of the table of edges: inputs that were tried in a state."""
    edges: Count
    """Tried inputs that enable the action."""
    canonical: Count
    """Distinct canonical forms of the edges."""
    actions: dict[str, int]
    """Edges by action."""


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """``manifest.json``: the origin and the contents of a graph."""

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
    form_sha256: Digest | None = None
    """Digest of the canonical form, which the keys depend on; null in old folders."""


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
        If they are absent or damaged.
    """
    digests = read_manifest(folder).files
    own = {name: digests[name] for name in _KEY_FILES if name in digests}
    verify_files(folder, own, _KEY_FILES, _KEY_FILES)
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


class MemberColumns:
    """Columns of an artifact.

    Parameters
    ----------
    graph
        The artifact.
    states
        The rows of the artifact that are asked about.
    """

    def __init__(self, graph: Graph, states: Ints) -> None:
        self._graph = graph
        self._states = states
        self._builder = ValueBuilder()
        self._nodes: dict[str, Rows] = {}
        self._columns = Columns(self._builder.table(), self._nodes)
        self._makers: dict[str, Callable[[], Rows]] = {
            wire_name(name): self._single(name) for name in STATE_INDEX
        }
        self._makers |= {"members": self._members, "recordingLog": self._recording_log}

    def of(self, fields: Sequence[str]) -> Columns:
        """Give some columns, and the others that were asked for before."""
        fresh = [name for name in fields if name not in self._nodes]
        if fresh:
            made = {name: self._makers[name]() for name in fresh}
            self._nodes = {**self._nodes, **made}
            self._columns = Columns(self._builder.table(), self._nodes)
        return self._columns

    def _single(self, name: str) -> Callable[[], Rows]:
        def make() -> Rows:
            return self._scalars(name, self._graph.state[self._states, STATE_INDEX[name]])

        return make

    def _scalars(self, name: str, cells: Ints) -> Rows:
        """Give the nodes of codes, flags or numbers."""
        distinct, places = np.unique(cells, return_inverse=True)
        builder, numbers = self._builder, distinct.tolist()
        if name in STATE_ENUMS:
            nodes = [builder.string(STATE_ENUMS[name][code].value) for code in numbers]
        elif name in FLAG_COLUMNS:
            nodes = [builder.boolean(bool(flag)) for flag in numbers]
        else:
            nodes = [builder.integer(number) for number in numbers]
        return np.array(nodes, dtype=np.int32)[places.reshape(-1)]

    def _records(self, names: Sequence[str], cells: Ints) -> Rows:
        """Give the nodes of records, one for each row of cells."""
        columns = [self._scalars(name, cells[:, place]) for place, name in enumerate(names)]
        wired = [wire_name(name) for name in names]
        return _distinct(
            np.stack(columns, axis=1),
            lambda parts: self._builder.record(dict(zip(wired, parts, strict=True))),
        )

    def _members(self) -> Rows:
        cells = self._graph.members[self._states]
        count, width = cells.shape[:2]
        records = self._records(MEMBER_COLUMNS, cells.reshape(count * width, -1))
        ids = [self._builder.integer(member) for member in range(width)]
        return _distinct(
            records.reshape(count, width),
            lambda parts: self._builder.function(dict(zip(ids, parts, strict=True))),
        )

    def _recording_log(self) -> Rows:
        graph = self._graph
        entries = self._records(LOG_COLUMNS, graph.log)
        starts = graph.log_offsets[self._states]
        lengths = graph.log_offsets[self._states + 1] - starts
        padded = np.full((len(starts), int(lengths.max(initial=0))), ABSENT, dtype=np.int32)
        for place in range(padded.shape[1]):
            long = lengths > place
            padded[long, place] = entries[starts[long] + place]
        return _distinct(
            padded,
            lambda parts: self._builder.sequence([part for part in parts if part != ABSENT]),
        )


def _distinct(rows: Rows, make: Callable[[list[int]], int]) -> Rows:
    """Call ``make`` once for each distinct row of numbers; give its results."""
    first, places = distinct_rows(rows)
    nodes = [make(parts) for parts in rows[first].tolist()]
    return np.array(nodes, dtype=np.int32)[places]


_CHUNK: Final = 1 << 17


class MemberView(StateGraph):
    """The graph of one member."""

    kind: Kind = "member"
    actions = ACTION_NAMES
    fields = tuple(wire_name(name) for name in Member.__struct_fields__)

    def __init__(self, graph: Graph, folder: Path) -> None:
        self.graph = graph
        count = len(graph.representative)
        self._state = np.flatnonzero(graph.representative == np.arange(count))
        """The artifact's row of each state here."""
        numbers = np.full(count, NONE, dtype=np.int32)
        numbers[self._state] = np.arange(len(self._state), dtype=np.int32)
        self._row: Rows = numbers[graph.representative]
        """The state here of each row of the artifact."""
        edges: Rows = np.flatnonzero(graph.target != NONE).astype(np.int32)
        super().__init__(
            folder=folder,
            ids=graph.ids[self._state],
            expanded=graph.expanded[self._state],
            source=self._row[graph.source[edges]],
            target=self._row[graph.target[edges]],
            action=graph.input_action[graph.input[edges]].astype(np.int32),
            number=edges,
        )

    @property
    def title(self) -> str:
        """The name of the model."""
        return self.graph.manifest.model

    @property
    def complete(self) -> bool:
        """Whether every state found within the bounds was expanded."""
        return self.graph.manifest.complete

    @property
    def detail(self) -> Tree:
        """The origin of the graph."""
        manifest = self.graph.manifest
        return {
            "model": manifest.model,
            "members": manifest.rules.member_count,
            "revision": manifest.rules.revision,
            "hardening": list(manifest.rules.hardening),
            "tlcVersion": manifest.tlc_version,
        }

    @property
    def end(self) -> str:
        """The reason why some states are not expanded."""
        return "the graph ends near its roots"

    @property
    def doubt(self) -> str:
        """The reason why even an expanded state may lack steps: inputs have bounds."""
        return "a member's graph has the inputs within its bounds only; `canvass verify` has all"

    @cached_property
    def initial(self) -> Rows:
        """The state at the first start, with empty disks.

        If the graph lacks it, the expanded states that no edge leads to.
        """
        first = persistent_member(self.graph.rules)
        cells = [*state_cells(first)]
        for record in first.members:
            cells += record_cells(record)
        cells.append(len(first.recording_log))
        for entry in first.recording_log:
            cells += entry_cells(entry)
        row = self.find(state_id(cells).hex())
        if row is not None:
            return np.array([row], dtype=np.int32)
        led_to = np.zeros(self.state_count, dtype=np.bool_)
        led_to[self._target[self._target != self._source]] = True
        return np.flatnonzero(self.expanded & ~led_to).astype(np.int32)

    @cached_property
    def identities(self) -> NDArray[np.int64]:
        """128 bits for each state, which do not depend on how the peers are numbered."""
        graph = self.graph
        every = identities_of(graph.state, graph.members, graph.log_offsets, graph.log)
        return every[self._state]

    def _labels(self) -> NDArray[np.int64]:
        """Hash canonical steps, which do not depend on how the peers are numbered."""
        arrays = {name: getattr(self.graph, name) for name in self.graph.__dataclass_fields__}
        out = np.empty(self.edge_count, dtype=np.int64)
        for start in range(0, self.edge_count, _CHUNK):
            edges = self._number[start : start + _CHUNK].astype(np.int64)
            keys = keys_of_edges(arrays, edges, self.graph.rules).view(np.int64)
            out[start : start + _CHUNK] = keys[:, 0] ^ keys[:, 1]
        # A key contains the digest of the rules; here keys of different rules are compared.
        return out ^ np.uint64(rules_digest(self.graph.rules)).view(np.int64)

    def find(self, prefix: str) -> int | None:
        """Give the row of the state whose id begins with the text.

        The id of a state that another one stands for finds that one.
        """
        found = find_row(self.graph.ids, prefix)
        return None if found is None else self.row_of(found)

    def row_of(self, artifact_row: int) -> int:
        """Give the row of the state that stands for a row of the artifact."""
        return int(self._row[artifact_row])

    def artifact_row(self, row: int) -> int:
        """Give the row that a state has in the artifact."""
        return int(self._state[row])

    def columns(self, fields: Sequence[str]) -> Columns:
        """Give the values of some fields in all states."""
        return self._columns.of(fields)

    @cached_property
    def _columns(self) -> MemberColumns:
        return MemberColumns(self.graph, self._state)

    def state(self, row: int) -> dict[str, Value]:
        """Give a state as TLA+ values; ``members`` is a function over the ids of the members."""
        tree = self.tree(row)
        members = function(dict(enumerate(map(from_python, tree.pop("members")))))
        values = {name: from_python(value) for name, value in tree.items()}
        return {name: members if name == "members" else values[name] for name in self.fields}

    def tree(self, row: int) -> Tree:
        """Give a state as the trace format writes it."""
        state = self.graph.member(self.artifact_row(row))
        tree: Tree = msgspec.to_builtins(state)
        return tree

    def edge(self, edge: int) -> EdgeView:
        """Give one edge."""
        graph = self.graph
        if not 0 <= edge < len(graph.target) or graph.target[edge] == NONE:
            raise GraphError(f"{self.title} has no edge {edge}")
        action, given = graph.given(int(graph.input[edge]))
        return EdgeView(
            edge=edge,
            source=self.row_of(int(graph.source[edge])),
            target=self.row_of(int(graph.target[edge])),
            action=action.value,
            given=msgspec.to_builtins(to_trace_input(given)),
            sends=[
                {"to": receiver, "message": msgspec.to_builtins(message)}
                for receiver, message in graph.sends_of(int(graph.sent[edge]))
            ],
        )

"""The state graph of one member: its folder and manifest, `Graph` in arrays, and its view.

`canvass.graph.folders` names the files of a folder. Rows refer to rows of other tables by their
numbers. The key of an edge is that of its canonical form. `canvass.graph.build` makes a graph.

In queries, one representative stands for all states that differ only in the numbering of the
peers. Edges keep the numbers that they have in the folder.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from canvass.cluster.member import Input, Member
from canvass.cluster.messages import Record, wire_name
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member
from canvass.graph import GraphError
from canvass.graph.folders import (
    EDGES_FILE,
    ID_BYTES,
    STATES_FILE,
    VALUES_FILE,
    Rows,
    decode_manifest,
    find_row,
    ids_and_nodes,
    ints,
    read_tables,
    states_table,
    verify_files,
)
from canvass.graph.values import Columns, ValueTable, interned
from canvass.graph.view import EdgeView, Kind, StateGraph, Tree
from canvass.steps.answers import EDGES_FILE as KEY_EDGES_FILE
from canvass.steps.answers import KEYS_FILE, KeyTable
from canvass.steps.kernel import Status, StepColumns, canonical_keys
from canvass.steps.step import Sends, Step, flat_member, input_of
from canvass.tlc.values import Function, Value, function
from canvass.traces.actions import ACTIONS, Action
from canvass.traces.columns import Ints, distinct_rows, offsets_of, places_of, sends_at, state_at
from canvass.traces.schema import (
    ACTION_NAMES,
    FLAG_COLUMNS,
    INPUT_COLUMNS,
    LOG_COLUMNS,
    MEMBER_COLUMNS,
    MESSAGE_INDEX,
    NONE,
    STATE_ENUMS,
    STATE_INDEX,
    to_trace_input,
)

Flags = NDArray[np.bool_]

SCHEMA: Final = "canvass.graph/2"
FIELDS: Final = tuple(wire_name(name) for name in Member.__struct_fields__)
_INPUTS_FILE: Final = "inputs.parquet"
_SENDS_FILE: Final = "sends.parquet"
TABLES: Final = (VALUES_FILE, STATES_FILE, _INPUTS_FILE, _SENDS_FILE, EDGES_FILE)
_KEY_FILES: Final[tuple[str, ...]] = (KEYS_FILE, KEY_EDGES_FILE)
FILES: Final = (*TABLES, *_KEY_FILES)
"""The files of a folder beside its manifest."""


class GraphRules(Record, frozen=True, forbid_unknown_fields=True):
    """The rules that the member of a graph follows: `canvass.cluster.rules.Rules`."""

    member_count: int
    revision: str
    hardening: tuple[str, ...]
    appointed_leader_id: int

    @classmethod
    def of(cls, rules: Rules) -> GraphRules:
        """Give the rules in the form that the manifest holds."""
        hardening = tuple(sorted(rules.hardening))
        return cls(rules.member_count, rules.revision, hardening, rules.appointed_leader_id)

    def rules(self) -> Rules:
        """Give the rules."""
        hardening = frozenset(self.hardening)
        return Rules(self.member_count, self.revision, hardening, self.appointed_leader_id)


class Counts(Record, frozen=True, forbid_unknown_fields=True):
    """The size of a graph."""

    states: int
    """All states, expanded or not. Each numbering of the peers counts separately."""
    expanded: int
    """States whose steps are in the graph."""
    inputs: int
    sends: int
    """Distinct lists of messages that a step sends."""
    tried: int
    """Rows of the table of edges: inputs that were tried in a state."""
    edges: int
    """Tried inputs that enable the action."""
    canonical: int
    """Distinct canonical forms of the edges."""
    actions: dict[str, int]
    """Edges by action."""


class Manifest(Record, frozen=True, forbid_unknown_fields=True, tag_field="schema", tag=SCHEMA):
    """``manifest.json``: the origin and the contents of a graph."""

    model: str
    """The configuration that TLC ran, without ``.cfg``."""
    rules: GraphRules
    constants: dict[str, str]
    """All constants of the model, as the configuration has them."""
    complete: bool
    """Whether every state found within the bounds was expanded."""
    tlc_version: str
    jar_sha256: str
    config_sha256: str
    modules: dict[str, str]
    """SHA-256 of each module that the model rests on, by file name."""
    counts: Counts
    files: dict[str, str]
    """SHA-256 of each other file of the folder."""
    form_sha256: str | None = None
    """Digest of the canonical form, which the keys depend on."""


@dataclass(frozen=True, eq=False)
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


@dataclass(frozen=True, eq=False)
class GraphArrays(StepArrays):
    """The arrays of a state graph: its steps are the edges, ordered by source and input.

    A target of -1 says that the input does not enable the action.

    Attributes
    ----------
    ids
        16 bytes for each state: the content hash that names it everywhere.
    representative
        For each state, the row of its representative: the state that stands for all states that
        differ from it only in the numbering of the peers.
    disabled
        For each state, the mask of the actions that were tried and that no input enables.
    columns
        The fields of the states as values.
    """

    columns: Columns
    ids: NDArray[np.uint8]
    expanded: Flags
    representative: Ints
    disabled: Ints


@dataclass(frozen=True, eq=False)
class Graph(GraphArrays):
    """A state graph with its manifest."""

    manifest: Manifest

    def member(self, row: int) -> Member:
        """Decode a state."""
        return state_at(self, row)

    def given(self, row: int) -> tuple[Action, Input]:
        """Decode an input, with the action that it is for."""
        action = ACTIONS[int(self.input_action[row])]
        return action, input_of(self.inputs[row].tolist(), self.message[row].tolist())

    def sends_of(self, row: int) -> Sends:
        """Decode a list of sends."""
        return sends_at(self, row)

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
        If it is absent, or this version cannot read it.
    """
    manifest: Manifest = decode_manifest(folder, Manifest)
    return manifest


def open_graph(folder: Path) -> Graph:
    """Read a graph.

    Raises
    ------
    GraphError
        If a file is absent or damaged.
    """
    manifest = read_manifest(folder)
    verify_files(folder, manifest.files, _KEY_FILES)
    tables = read_tables(folder, manifest.files, TABLES)
    return Graph(**vars(to_arrays(tables, manifest.rules.rules())), manifest=manifest)


def open_keys(folder: Path) -> KeyTable:
    """Map the keys of the edges' canonical forms, which contain the digest of the rules.

    Raises
    ------
    GraphError
        If they are absent or damaged.
    """
    verify_files(folder, read_manifest(folder).files, _KEY_FILES)
    return KeyTable.open(folder)


# --- between rows of integers and values ----------------------------------------------------------


def state_id(cells: Sequence[int]) -> bytes:
    """Give the content hash that names a state, from its cells in the order of a printed state."""
    return hashlib.sha256(np.array(cells, dtype="<i8").tobytes()).digest()[:ID_BYTES]


def _scalar(name: str, cell: int) -> Value:
    if name in STATE_ENUMS:
        return str(STATE_ENUMS[name][cell].value)
    return bool(cell) if name in FLAG_COLUMNS else cell


def _cell(name: str, value: Any) -> int:
    if name in STATE_ENUMS:
        return [each.value for each in STATE_ENUMS[name]].index(value)
    return int(value)


def _record(names: Sequence[str], cells: Sequence[int]) -> Function:
    pairs = zip(names, cells, strict=True)
    return Function({wire_name(name): _scalar(name, cell) for name, cell in pairs})


def _record_cells(names: Sequence[str], record: Any) -> list[int]:
    return [_cell(name, record[wire_name(name)]) for name in names]


def field_values(states: Any, rows: Ints, field: str) -> tuple[list[Value], Ints]:
    """Give the distinct values of a field in some states, and for each state its value's index.

    Parameters
    ----------
    states
        An object with the arrays ``state``, ``members``, ``log_offsets`` and ``log`` of
        `StepArrays`.
    rows
        The rows of the states.
    field
        The name of the field in the spec.
    """
    if field == "members":
        cells = states.members[rows]
        first, places = distinct_rows(cells.reshape(len(rows), -1))
        return [
            function({member: _record(MEMBER_COLUMNS, one) for member, one in enumerate(each)})
            for each in cells[first].tolist()
        ], places
    if field == "recordingLog":
        starts, ends = states.log_offsets[rows], states.log_offsets[rows + 1]
        entry, entries = distinct_rows(states.log)
        padded = np.full((len(rows), int((ends - starts).max(initial=0)) + 1), NONE, dtype=np.int64)
        for place in range(padded.shape[1] - 1):
            long = ends - starts > place
            padded[long, place] = entries[starts[long] + place]
        first, places = distinct_rows(padded)
        records = [_record(LOG_COLUMNS, one) for one in states.log[entry].tolist()]
        logs = padded[first].tolist()
        return [tuple(records[one] for one in log if one != NONE) for log in logs], places
    name = _STATE_FIELDS[field]
    cells, places = np.unique(states.state[rows, STATE_INDEX[name]], return_inverse=True)
    return [_scalar(name, cell) for cell in cells.tolist()], places.reshape(-1)


_STATE_FIELDS: Final = {wire_name(name): name for name in STATE_INDEX}


def _states_of(columns: Columns, count: int, member_count: int) -> dict[str, Ints]:
    """Give the arrays of the states from their values."""

    def made(field: str, make: Callable[[Any], Any]) -> tuple[list[Any], Ints]:
        numbers, places = np.unique(columns.nodes[field], return_inverse=True)
        values = map(columns.values.value, numbers.tolist())
        return [make(value) for value in values], places.reshape(-1)

    state = np.empty((count, len(STATE_INDEX)), dtype=np.int64)
    for place, (field, name) in enumerate(_STATE_FIELDS.items()):
        cells, places = made(field, partial(_cell, name))
        state[:, place] = np.array(cells, dtype=np.int64)[places]
    width = len(MEMBER_COLUMNS)
    # The members of a cluster are a function over 0..n-1.
    records, places = made(
        "members", lambda of: [_record_cells(MEMBER_COLUMNS, of[k]) for k in range(member_count)]
    )
    members = np.array(records, dtype=np.int64).reshape(-1, member_count, width)[places]
    logs, places = made("recordingLog", lambda log: [_record_cells(LOG_COLUMNS, e) for e in log])
    starts = offsets_of([len(log) for log in logs])
    entries = np.array([entry for log in logs for entry in log], dtype=np.int64)
    return {
        "state": state,
        "members": members,
        "log_offsets": offsets_of(np.diff(starts)[places]),
        "log": entries.reshape(-1, len(LOG_COLUMNS))[places_of(starts, places)],
    }


def columns_of_states(states: Any) -> Columns:
    """Give the fields of all states as values; see `field_values`."""
    rows = np.arange(len(states.state))
    return interned({field: field_values(states, rows, field) for field in FIELDS})


_EDGE_COLUMNS: Final = ("source", "input", "target", "sent")


def to_tables(arrays: GraphArrays) -> dict[str, pa.Table]:
    """Give the tables of a graph, by the names of their files."""
    counts = np.diff(arrays.send_offsets)
    sends = np.repeat(np.arange(len(counts)), counts)
    inputs = dict(zip(INPUT_COLUMNS, arrays.inputs.T, strict=True))
    return {
        VALUES_FILE: arrays.columns.values.to_table(),
        STATES_FILE: states_table(
            arrays.ids,
            arrays.columns.nodes,
            expanded=arrays.expanded,
            representative=arrays.representative,
            disabled=arrays.disabled,
        ),
        _INPUTS_FILE: _numbers(
            {"action": arrays.input_action, **inputs, **_message(arrays.message)}
        ),
        _SENDS_FILE: _numbers({"sends": sends, **_message(arrays.sends)}),
        EDGES_FILE: _numbers({name: getattr(arrays, name) for name in _EDGE_COLUMNS}),
    }


def _message(cells: Ints) -> dict[str, Ints]:
    return {f"message_{name}": cells[:, k] for name, k in MESSAGE_INDEX.items()}


def _numbers(columns: Mapping[str, Ints]) -> pa.Table:
    numbers = {name: pa.array(np.ascontiguousarray(c), pa.int32()) for name, c in columns.items()}
    return pa.table(numbers)


def _matrix(table: pa.Table, names: Iterable[str]) -> Ints:
    columns = [ints(table[name]) for name in names]
    return np.ascontiguousarray(np.array(columns, dtype=np.int64).reshape(len(columns), -1).T)


def to_arrays(tables: Mapping[str, pa.Table], rules: Rules) -> GraphArrays:
    """Give the arrays from which `to_tables` made the tables."""
    states, inputs = tables[STATES_FILE], tables[_INPUTS_FILE]
    sends, edges = tables[_SENDS_FILE], tables[EDGES_FILE]
    ids, nodes = ids_and_nodes(states, FIELDS)
    columns = Columns(ValueTable.from_table(tables[VALUES_FILE]), nodes)
    messages = [f"message_{name}" for name in MESSAGE_INDEX]
    lists, sent = ints(sends["sends"]), ints(edges["sent"])
    list_count = int(max(lists.max(initial=0), sent.max(initial=0))) + 1
    return GraphArrays(
        rules=rules,
        columns=columns,
        ids=ids,
        expanded=states["expanded"].to_numpy().astype(np.bool_),
        representative=ints(states["representative"]),
        disabled=ints(states["disabled"]),
        **_states_of(columns, len(ids), rules.member_count),
        input_action=ints(inputs["action"]),
        inputs=_matrix(inputs, INPUT_COLUMNS),
        message=_matrix(inputs, messages),
        send_offsets=np.searchsorted(lists, np.arange(list_count + 1)).astype(np.int64),
        sends=_matrix(sends, messages),
        **{name: ints(edges[name]) for name in _EDGE_COLUMNS},
    )


class MemberView(StateGraph):
    """The graph of one member."""

    kind: Kind = "member"
    actions = ACTION_NAMES
    end = "the graph ends near its roots"
    doubt = "a member's graph has the inputs within its bounds only; `canvass verify` has all"

    def __init__(self, graph: Graph, folder: Path) -> None:
        self.graph = graph
        count = len(graph.representative)
        self._state = np.flatnonzero(graph.representative == np.arange(count))
        """For each state of the view, its row in the artifact."""
        numbers = np.full(count, NONE, dtype=np.int32)
        numbers[self._state] = np.arange(len(self._state), dtype=np.int32)
        self._row: Rows = numbers[graph.representative]
        """For each row of the artifact, the view's row of its representative."""
        edges: Rows = np.flatnonzero(graph.target != NONE).astype(np.int32)
        every, manifest = graph.columns, graph.manifest
        nodes = {name: column[self._state] for name, column in every.nodes.items()}
        super().__init__(
            folder=folder,
            title=manifest.model,
            complete=manifest.complete,
            columns=Columns(every.values, nodes),
            ids=graph.ids[self._state],
            expanded=graph.expanded[self._state],
            source=self._row[graph.source[edges]],
            target=self._row[graph.target[edges]],
            action=graph.input_action[graph.input[edges]].astype(np.int32),
            number=edges,
        )
        self.initial = self._first_states()
        self.detail = {
            "model": manifest.model,
            "members": manifest.rules.member_count,
            "revision": manifest.rules.revision,
            "hardening": list(manifest.rules.hardening),
            "tlcVersion": manifest.tlc_version,
        }

    def _first_states(self) -> Rows:
        """Give the state at the first start, with empty disks.

        If the graph lacks this state: the expanded states to which no edge leads from another one.
        """
        first = persistent_member(self.graph.rules)
        row = self.find(state_id(flat_member(first)).hex())
        if row is not None:
            return np.array([row], dtype=np.int32)
        led_to = np.zeros(self.state_count, dtype=np.bool_)
        led_to[self._target[self._target != self._source]] = True
        return np.flatnonzero(self.expanded & ~led_to).astype(np.int32)

    def find(self, prefix: str) -> int | None:
        """Give the row of the state whose id begins with the text.

        If the state with this id has another state as its representative, the row is that of the
        representative.
        """
        found = find_row(self.graph.ids, prefix)
        return None if found is None else self.row_of(found)

    def row_of(self, artifact_row: int) -> int:
        """Give the view's row of the representative of a row of the artifact."""
        return int(self._row[artifact_row])

    def artifact_row(self, row: int) -> int:
        """Give the artifact's row of a state of the view."""
        return int(self._state[row])

    def edge_texts(self) -> Mapping[str, tuple[Sequence[str], Rows]]:
        """Give the inputs and the sends of the edges as JSON."""
        graph = self.graph
        inputs = [to_trace_input(graph.given(row)[1]) for row in range(len(graph.inputs))]
        sends = [_sends_tree(graph, row) for row in range(len(graph.send_offsets) - 1)]
        return {
            name: ([msgspec.json.encode(one).decode() for one in trees], rows.astype(np.int32))
            for name, trees, rows in (
                ("input", inputs, graph.input[self.out.edge]),
                ("sends", sends, graph.sent[self.out.edge]),
            )
        }

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
            sends=_sends_tree(graph, int(graph.sent[edge])),
        )


def _sends_tree(graph: Graph, row: int) -> list[Tree]:
    return [
        {"to": receiver, "message": msgspec.to_builtins(message)}
        for receiver, message in graph.sends_of(row)
    ]


_CHUNK: Final = 1 << 17


def edge_keys(graph: StepArrays) -> KeyTable:
    """Give the table of the keys of all edges; see `keys_of_edges`."""
    rows = np.flatnonzero(graph.target != NONE)
    return KeyTable.build(keys_of_edges(graph, rows), rows)


def keys_of_edges(graph: StepArrays, rows: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Give the key of the canonical form of each of some edges, with the digest of the rules.

    Parameters
    ----------
    graph
        The graph.
    rows
        The edges; each has a target.

    Raises
    ------
    GraphError
        If an edge has no canonical form. Then a frame of `canvass.steps.action_fields` is wrong.
    """
    keys = np.zeros((len(rows), 2), dtype=np.uint64)
    for start in range(0, len(rows), _CHUNK):
        keys[start : start + _CHUNK] = _keys(graph, rows[start : start + _CHUNK])
    return keys


def _keys(graph: StepArrays, rows: NDArray[np.int64]) -> Any:
    given, sent = graph.input[rows], graph.sent[rows]
    keys, status = canonical_keys(
        StepColumns(
            member=np.zeros(len(rows), dtype=np.int64),
            action=graph.input_action[given],
            before=graph.source[rows],
            after=graph.target[rows],
            inputs=graph.inputs[given],
            message=graph.message[given],
            state=graph.state,
            members=graph.members,
            log_offsets=graph.log_offsets,
            log=graph.log,
            send_offsets=offsets_of(np.diff(graph.send_offsets)[sent]),
            sends=graph.sends[places_of(graph.send_offsets, sent)],
        ),
        [graph.rules],
    )
    wrong = np.flatnonzero(status != Status.KEYED)
    if len(wrong):
        row = int(rows[wrong[0]])
        action = ACTION_NAMES[int(graph.input_action[graph.input[row]])]
        reason = Status(int(status[wrong[0]])).name
        raise GraphError(f"{len(wrong)} edges have no key; the first is of {action}: {reason}")
    return keys

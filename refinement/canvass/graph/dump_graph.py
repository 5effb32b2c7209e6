"""The state graph of any TLC model: its folder and its view, made of a dump.

`build_dump` lets TLC write the dot file of ``-dump dot,actionlabels``, and `import_dump` reads one.
A state's id is a hash of its variables and their values, so it is the same on every machine, for
every version of TLC and whatever number TLC gave it. Edges that agree in source, target and label
are one.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
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
    ID_BYTES,
    STATES_FILE,
    VALUES_FILE,
    Rows,
    codes_of,
    edges_table,
    file_digest,
    ids_and_nodes,
    ints,
    made_aside,
    named,
    need_place,
    read_tables,
    scratch_beside,
    states_table,
    variables_of,
    write_manifest,
    write_tables,
)
from canvass.graph.values import Columns, Interner, ValueTable, tree_of
from canvass.graph.view import EdgeView, Kind, StateGraph, Tree
from canvass.spec.files import modules_of
from canvass.tlc.config import TlcConfig
from canvass.tlc.errors import TlaValueError, TlcError
from canvass.tlc.output import DumpEdge, DumpState, Event, read_dump
from canvass.tlc.programs import Jar, find_jar
from canvass.tlc.results import CheckResult, Outcome
from canvass.tlc.runner import TlcOptions, TlcRun
from canvass.tlc.values import split_state
from canvass.traces.columns import distinct_rows

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


class DumpManifest(Record, frozen=True, forbid_unknown_fields=True, tag_field="schema", tag=SCHEMA):
    """``manifest.json`` of a graph that was made from a dump."""

    model: str
    variables: tuple[str, ...]
    complete: bool | None
    """Whether TLC explored every state within the bounds; null if unknown."""
    origin: DumpOrigin
    counts: DumpCounts
    files: dict[str, str]
    """SHA-256 of each other file of the folder."""


def write_dump_graph(
    folder: Path,
    tables: Mapping[str, pa.Table],
    *,
    model: str,
    complete: bool | None,
    origin: DumpOrigin,
) -> DumpManifest:
    """Write the tables of a graph to a new folder, with their manifest.

    Raises
    ------
    GraphError
        If it cannot be written.
    """
    states, edges = tables[STATES_FILE], tables[EDGES_FILE]
    actions = {one["values"]: one["counts"] for one in edges["action"].value_counts().to_pylist()}
    with made_aside(folder) as aside:
        write_tables(aside, tables)
        manifest = DumpManifest(
            model=model,
            variables=variables_of(states),
            complete=complete,
            origin=origin,
            counts=DumpCounts(
                states=len(states),
                initial=int(states["initial"].to_numpy().sum()),
                expanded=int(states["expanded"].to_numpy().sum()),
                edges=len(edges),
                values=len(tables[VALUES_FILE]),
                actions=dict(sorted(actions.items())),
            ),
            files={name: file_digest(aside / name) for name in tables},
        )
        write_manifest(aside, manifest)
    return manifest


class DumpView(StateGraph):
    """The graph of a TLC dump.

    Raises
    ------
    GraphError
        If a file is absent or damaged.
    """

    kind: Kind = "tlc"

    def __init__(self, manifest: DumpManifest, folder: Path) -> None:
        self.manifest = manifest
        self.actions = tuple(manifest.counts.actions)
        tables = read_tables(folder, manifest.files, _FILES)
        states, edges = tables[STATES_FILE], tables[EDGES_FILE]
        ids, nodes = ids_and_nodes(states, manifest.variables)
        super().__init__(
            folder=folder,
            title=manifest.model,
            complete=manifest.complete,
            columns=Columns(ValueTable.from_table(tables[VALUES_FILE]), nodes),
            ids=ids,
            expanded=states["expanded"].to_numpy().astype(np.bool_),
            source=ints(edges["source"]).astype(np.int32),
            target=ints(edges["target"]).astype(np.int32),
            action=codes_of(edges["action"], self.actions),
            number=np.arange(len(edges), dtype=np.int32),
        )
        texts = edges["arguments"].unique().to_pylist()
        self._texts = tuple(sorted(text for text in texts if text is not None))
        self._arguments = codes_of(edges["arguments"], self._texts)
        """For each edge the index of the arguments of its label in ``_texts``; -1 for none."""
        origin = manifest.origin
        found = map(self.find, origin.violating)
        self.violating = np.array([row for row in found if row is not None], dtype=np.int32)
        self.initial = np.flatnonzero(states["initial"].to_numpy()).astype(np.int32)
        known = msgspec.to_builtins(origin)
        named_values = {name: value for name, value in known.items() if isinstance(value, str)}
        self.detail = {"model": self.title, "variables": list(self.fields), **named_values}
        cut = " and ".join(origin.cut)
        self.end = f"{cut} cuts the graph" if cut else "TLC stopped there"
        merging = [each for each in origin.cut if not each.startswith("CONSTRAINT ")]
        if merging:
            self.doubt = f"{' and '.join(merging)} leaves out steps of any state"
        elif self.complete is None:
            self.doubt = (
                "a dump does not say whether it is whole; `canvass graph build --complete` does"
            )

    def edge_texts(self) -> Mapping[str, tuple[Sequence[str], Rows]]:
        """Give the arguments in the labels of the edges."""
        return {"arguments": (self._texts, self._arguments[self.out.edge])}

    def tree(self, row: int) -> Tree:
        """Give a state as plain JSON values."""
        return {name: tree_of(value) for name, value in self.state(row).items()}

    def edge(self, edge: int) -> EdgeView:
        """Give one edge; the arguments of its label are text."""
        if not 0 <= edge < self.edge_count:
            raise GraphError(f"{self.title} has no edge {edge}")
        code = int(self._arguments[edge])
        return EdgeView(
            edge=edge,
            source=int(self._source[edge]),
            target=int(self._target[edge]),
            action=self.actions[int(self._action[edge])],
            given={} if code < 0 else {"arguments": self._texts[code]},
            sends=[],
        )


# --- reading a dump -------------------------------------------------------------------------------

_PROGRESS_EVERY: Final = 10_000
_NO_ACTION: Final = "(none)"
"""The action of an edge without a label."""

OnProgress = Callable[[int, int], object]
"""Called now and then with the numbers of states and edges read."""


class _Reading:
    """A dump while it is read."""

    def __init__(self) -> None:
        self.values = Interner()
        self.variables: tuple[str, ...] = ()
        self.numbers = array("q")
        """TLC's number of each state."""
        self.nodes: list[array[int]] = []
        self.ids = bytearray()
        self.initial = array("b")
        self.source, self.target = array("q"), array("q")
        self.label = array("i")
        self.labels: dict[tuple[str, str | None], int] = {}

    def add_state(self, state: DumpState) -> None:
        """Add a state."""
        if len(self.numbers) >= MAX_STATES:
            raise GraphError(f"the dump has more than {MAX_STATES:,} states, the most read")
        try:
            self._add_values(state)
        except TlaValueError as error:
            raise GraphError(f"state {state.id} of the dump: {error}") from None

    def _add_values(self, state: DumpState) -> None:
        parts = split_state(state.text)
        if not self.variables:
            self.variables = tuple(sorted(parts))
            self.nodes = [array("i") for _ in self.variables]
        if len(parts) != len(self.variables) or any(name not in parts for name in self.variables):
            raise GraphError(f"state {state.id} has other variables than the first one")
        numbers = [self.values.text(parts[name]) for name in self.variables]
        for nodes, number in zip(self.nodes, numbers, strict=True):
            nodes.append(number)
        self.ids += _id_of(self.values, zip(self.variables, numbers, strict=True))
        self.numbers.append(state.id)
        self.initial.append(state.initial)

    def add_edge(self, edge: DumpEdge) -> None:
        """Add an edge; leave out stuttering steps, which TLC adds when it checks liveness."""
        if edge.source == edge.target and not edge.action:
            return
        self.source.append(edge.source)
        self.target.append(edge.target)
        key = (edge.action or _NO_ACTION, edge.arguments)
        if key not in self.labels:
            "".join(part or "" for part in key).encode()  # Tables cannot hold a lone surrogate.
            self.labels[key] = len(self.labels)
        self.label.append(self.labels[key])

    def tables(self, *, complete: bool | None, stopped: bool) -> dict[str, pa.Table]:
        """Give the tables of the graph: states in the order of their ids, edges sorted."""
        ids = np.frombuffer(bytes(self.ids), dtype=np.uint8).reshape(-1, ID_BYTES)
        first, row = distinct_rows(ids.view(">u8"))
        number = np.array(self.numbers, dtype=np.int64)
        order = np.argsort(number, kind="stable")
        source, target = (
            row[_places(number[order], order, np.array(ends, dtype=np.int64))].astype(np.int32)
            for ends in (self.source, self.target)
        )
        actions = tuple(sorted({action for action, _ in self.labels}))
        texts = tuple(sorted({text for _, text in self.labels if text is not None}))
        action_of = np.array([actions.index(action) for action, _ in self.labels], dtype=np.int32)
        place = {text: code for code, text in enumerate((None, *texts), -1)}
        text_of = np.array([place[text] for _, text in self.labels], dtype=np.int32)
        label = np.array(self.label, dtype=np.int64)
        edges = np.stack((source, target, action_of[label], text_of[label]), axis=1)
        edges = edges[distinct_rows(edges)[0]].astype(np.int32)
        initial = np.zeros(len(first), dtype=np.bool_)
        initial[row[np.flatnonzero(np.array(self.initial))]] = True
        expanded = np.ones(len(first), dtype=np.bool_)
        if complete is False:
            expanded[:] = False
            expanded[edges[:, 0]] = True
            # TLC expands one state after another: when it stopped, the last one was not complete.
            expanded[source[-1:]] &= not stopped
        nodes: dict[str, Rows] = {
            name: np.array(column, dtype=np.int32)[first]
            for name, column in zip(self.variables, self.nodes, strict=True)
        }
        values, numbering = self.values.sealed(nodes.values())
        numbered = {name: numbering[of] for name, of in nodes.items()}
        ends = [np.ascontiguousarray(column) for column in edges.T]
        return {
            VALUES_FILE: values.to_table(),
            STATES_FILE: states_table(ids[first], numbered, initial=initial, expanded=expanded),
            EDGES_FILE: edges_table(
                ends[0], ends[1], named(ends[2], actions), named(ends[3], texts)
            ),
        }


def _id_of(values: Interner, parts: Iterable[tuple[str, int]]) -> bytes:
    """Give the id of a state from its variables in order, each with the number of its value."""
    content = hashlib.sha256()
    for name, number in parts:
        content.update(name.encode() + b"\0" + values.digest(number))
    return content.digest()[:ID_BYTES]


def _places(
    known: NDArray[np.int64], places: NDArray[np.int64], wanted: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Look up states by TLC's numbers: ``known`` has these ascending, ``places`` the states."""
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    lost = wanted[known[at] != wanted]
    if len(lost):
        raise GraphError(f"an edge of the dump is of the state {lost[0]}, which is not in it")
    return places[at]


def read_graph(
    dump: Path,
    *,
    complete: bool | None = None,
    stopped: bool = False,
    on_progress: OnProgress | None = None,
) -> dict[str, pa.Table]:
    """Read a dump; give the tables of its graph by the names of their files.

    Parameters
    ----------
    dump
        The dot file.
    complete
        Whether TLC explored every state. If it did not, a state without an edge counts as not
        expanded. If this is unknown (None), such a state counts as expanded, without steps.
    stopped
        Whether TLC ended before it had taken all steps of the last state. With
        ``complete=False``, that state counts as not expanded, too.
    on_progress
        Called now and then with the numbers of states and edges read.

    Raises
    ------
    GraphError
        If the file is not a complete dump, or has no state or more than `MAX_STATES`.
    """
    reading = _Reading()
    try:
        for count, item in enumerate(read_dump(dump)):
            if isinstance(item, DumpState):
                reading.add_state(item)
            else:
                reading.add_edge(item)
            if on_progress is not None and count % _PROGRESS_EVERY == 0:
                on_progress(len(reading.numbers), len(reading.source))
    except TlcError as error:
        raise GraphError(str(error)) from None
    except UnicodeEncodeError:
        raise GraphError(f"{dump}: holds text that is not UTF-8") from None
    if not reading.numbers:
        raise GraphError(f"{dump}: has no state")
    return reading.tables(complete=complete, stopped=stopped)


def import_dump(
    dump: Path,
    folder: Path,
    *,
    model: str | None = None,
    complete: bool | None = None,
    origin: DumpOrigin | None = None,
    on_progress: OnProgress | None = None,
) -> DumpManifest:
    """Make the folder of a graph from a dump.

    Parameters
    ----------
    dump
        The dot file.
    folder
        The folder to make; nothing may be there.
    model
        The name of the graph; by default the name of the file without its ending.
    complete
        See `read_graph`.
    origin
        The origin of the dump; by default the name and the digest of the file.
    on_progress
        See `read_graph`.

    Raises
    ------
    GraphError
        See `read_graph`; or if the folder exists or cannot be written.
    """
    need_place(folder)
    if origin is None:
        origin = DumpOrigin(dump=dump.name, dump_sha256=file_digest(dump))
    stopped = complete is False and origin.outcome != Outcome.SUCCESS.value
    tables = read_graph(dump, complete=complete, stopped=stopped, on_progress=on_progress)
    return write_dump_graph(
        folder, tables, model=model or dump.stem, complete=complete, origin=origin
    )


def _cuts(config: TlcConfig) -> tuple[tuple[str, ...], TlcConfig]:
    """Give the statements that leave out states or steps, and the configuration for a dump.

    TLC does not dump a state that a ``CONSTRAINT`` forbids, so its predecessor would seem to have
    no step to it. The configuration for a dump makes the operator an ``ACTION_CONSTRAINT``: then
    TLC dumps the forbidden state, and leaves out only the steps *from* it.
    """
    named = (
        *(("CONSTRAINT", name) for name in config.constraints),
        *(("ACTION_CONSTRAINT", name) for name in config.action_constraints),
        ("SYMMETRY", config.symmetry),
        ("VIEW", config.view),
    )
    cut = tuple(f"{keyword} {name}" for keyword, name in named if name is not None)
    action_constraints = (*config.action_constraints, *config.constraints)
    return cut, replace(config, constraints=(), action_constraints=action_constraints)


def build_dump(
    module: Path,
    config: TlcConfig,
    folder: Path,
    *,
    model: str,
    options: TlcOptions | None = None,
    on_event: Callable[[Event], object] | None = None,
    on_progress: OnProgress | None = None,
) -> DumpManifest:
    """Let TLC make the graph of a model and write it to a folder.

    Parameters
    ----------
    module, config
        The model for TLC.
    folder
        The folder to make, once the graph is complete; nothing may be there.
    model
        The name of the graph.
    options
        How to run TLC.
    on_event
        Called with each event of TLC.
    on_progress
        Called now and then while the dump is read.

    Returns
    -------
    DumpManifest
        The manifest that was written. If TLC found a violation, ``origin`` names it, and the graph
        has the states that TLC had found by then. These are all states if the search was complete
        before TLC found a violation of liveness. A state that a ``CONSTRAINT`` forbids is in the
        graph, but its steps are not.

    Raises
    ------
    GraphError
        If TLC ends with an error, or the folder exists.
    TlcError
        If TLC cannot be run.
    """
    need_place(folder)
    cut, dumped = _cuts(config)
    options = options or TlcOptions(heap_mib=3072, stack_mib=64)
    jar = find_jar()
    # A dump is a hundred times as large as the graph, so it goes to the disk that the user chose.
    with scratch_beside(folder) as scratch:
        dump = Path(scratch) / "graph.dot"
        with TlcRun(module, dumped, replace(options, dump=dump)) as tlc:
            for event in tlc:
                if on_event is not None:
                    on_event(event)
            result = tlc.result
        # If TLC ends with a violation, the states found so far are a graph, too. If it ends before
        # the search begins, it reports no queue, and the dump is not complete.
        found = result.outcome.is_violation and result.queue is not None
        if not result.ok and not found:
            raise GraphError(f"TLC made no graph of {model}: {result.message}")
        modules = modules_of(module, [Path(folder) for folder in options.library])
        searched = result.outcome is Outcome.LIVENESS and result.queue == 0
        return import_dump(
            dump,
            folder,
            model=model,
            complete=(result.ok or searched) and not cut,
            origin=_origin(result, jar, config, modules, cut),
            on_progress=on_progress,
        )


def _origin(
    result: CheckResult, jar: Jar, config: TlcConfig, modules: Iterable[Path], cut: tuple[str, ...]
) -> DumpOrigin:
    return DumpOrigin(
        tlc_version=result.tlc_version,
        jar_sha256=jar.sha256,
        config_sha256=hashlib.sha256(config.text().encode()).hexdigest(),
        modules={path.name: file_digest(path) for path in sorted(modules, key=lambda m: m.name)},
        outcome=result.outcome.value,
        violated=result.violated,
        message=None if result.ok else result.message,
        violating=tuple(_violating(result)),
        cut=cut,
    )


def _violating(result: CheckResult) -> Iterator[str]:
    """Give the id of the last state of each behaviour that TLC found, or the ids of its loop."""
    values = Interner()
    for violation in result.violations:
        for state in violation.states[-1 if violation.loop is None else violation.loop :]:
            parts = sorted(split_state(state.text).items())
            yield _id_of(values, ((name, values.text(text)) for name, text in parts)).hex()

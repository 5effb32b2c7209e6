"""Build the state graph of a member: run TLC on a model, read what it prints, write the folder.

The box above ``PrintLine`` in ``MCMemberGraph.tla`` describes the lines that TLC prints.
`PrintedGraph` reads them into rows of integers, and numbers states, inputs and sends as they come;
`arrange` orders them. So the result does not depend on the order in which TLC finds states, and two
builds of one model give the same files. Nothing here decides what a step may do.
"""

from __future__ import annotations

import hashlib
import re
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from canvass.cluster.messages import MESSAGE_TYPES, NULL_VALUE
from canvass.cluster.rules import Rules
from canvass.graph import GraphError
from canvass.graph.artifact import (
    FILES,
    SCHEMA,
    Counts,
    Graph,
    GraphArrays,
    GraphRules,
    Manifest,
    columns_of_states,
    edge_keys,
    field_values,
    open_graph,
    state_id,
    to_tables,
)
from canvass.graph.folders import (
    ID_BYTES,
    MANIFEST_FILE,
    alone,
    file_digest,
    made_aside,
    need_place,
    write_manifest,
    write_tables,
)
from canvass.spec.files import HARNESS, module_digest, module_folders, modules_of
from canvass.steps.action_fields import form_digest, tables_as_bytes
from canvass.tlc.config import TlcConfig, parse_config
from canvass.tlc.output import Event, UserOutput
from canvass.tlc.programs import find_jar
from canvass.tlc.results import Outcome
from canvass.tlc.runner import SHORT_RUN, TlcOptions, TlcRun
from canvass.traces.actions import ACTIONS
from canvass.traces.columns import Ints, distinct_rows, offsets_of
from canvass.traces.schema import (
    ACTION_NAMES,
    INPUT_COLUMNS,
    LOG_COLUMNS,
    MEMBER_COLUMNS,
    MESSAGE_COLUMNS,
    MESSAGE_INDEX,
    MESSAGE_PLACES,
    NONE,
    STATE_COLUMNS,
    STATE_INDEX,
)

Cells = tuple[int, ...]

_INPUT, _STATE, _RESULTS, _DISABLED, _OUTCOME = range(5)
_NOT_ENABLED, _NO_CHANGE, _CHANGE, _NOT_TRIED = range(4)
_NO_BRACKETS: Final = str.maketrans("", "", '<> "')
_MESSAGE_START: Final = 3 + len(INPUT_COLUMNS)
"""The place of the message in a printed input."""
_MESSAGE_SIZES: Final = tuple(1 + len(kind.__struct_fields__) for kind in MESSAGE_TYPES)


def cells_of(line: str) -> list[int]:
    """Read one printed line: a string that holds a tuple of integers, nested in any way."""
    return [int(cell) for cell in line.translate(_NO_BRACKETS).split(",") if cell]


def message_end(cells: Cells | list[int], start: int) -> int:
    """Give the place after the message that begins at ``start``."""
    code = cells[start]
    return start + (1 if code == NULL_VALUE else _MESSAGE_SIZES[code])


@dataclass(slots=True)
class PrintedGraph:
    """A graph while it is printed.

    Attributes
    ----------
    states
        Number by cells of a state: single fields, records, length of the log, entries.
    sends
        Number by cells of the sends of a step: their count, then receiver and message of each.
    inputs
        The action's code and the cells of the input, by number.
    expanded
        Numbers of the states whose steps were tried.
    disabled
        For each of ``expanded``, the mask of the actions that no input enables.
    source, input, target, sent
        One item for each input that was tried: the numbers of the state, the input, the next state
        and the sends. The target is -1 if the input does not enable the action.
    """

    rules: Rules
    states: dict[Cells, int] = field(default_factory=dict)
    sends: dict[Cells, int] = field(default_factory=lambda: {(0,): 0})
    inputs: list[Cells] = field(default_factory=list)
    expanded: list[int] = field(default_factory=list)
    disabled: list[int] = field(default_factory=list)
    source: array[int] = field(default_factory=lambda: array("i"))
    input: array[int] = field(default_factory=lambda: array("i"))
    target: array[int] = field(default_factory=lambda: array("i"))
    sent: array[int] = field(default_factory=lambda: array("i"))
    _numbers: list[list[int]] = field(default_factory=lambda: [[] for _ in ACTIONS])
    _awaited: dict[int, int] = field(default_factory=dict)
    """The inputs whose outcome TLC has not yet printed: by their place in the line of results, the
    place in ``target``.
    """

    def feed(self, line: str) -> None:
        """Read one line of the specification's output; lines of other kinds are ignored.

        Raises
        ------
        GraphError
            If the line cannot follow the lines before it.
        """
        if not line.startswith('"<<'):
            return
        try:
            self._add(cells_of(line))
        except (LookupError, ValueError):
            raise GraphError(f"TLC printed a line that is no edge: {ascii(line)[:60]}") from None

    def _add(self, cells: list[int]) -> None:
        kind = cells[0]
        if kind == _OUTCOME:
            self._add_outcome(cells)
        elif kind == _RESULTS:
            self._add_results(cells[1], cells[2:])
        elif kind == _DISABLED:
            self.disabled[-1] |= 1 << cells[1]
        elif kind == _STATE and self._state_end(cells, 1) == len(cells):
            self.close()
            self.expanded.append(self._number(tuple(cells[1:])))
            self.disabled.append(0)
        elif (
            kind == _INPUT
            and cells[2] == len(self._numbers[cells[1]])
            and message_end(cells, _MESSAGE_START) == len(cells)
        ):
            self._numbers[cells[1]].append(len(self.inputs))
            self.inputs.append((cells[1], *cells[3:]))
        else:
            raise ValueError(kind)

    def close(self) -> None:
        """Check that no announced outcome is missing."""
        if self._awaited:
            raise GraphError("TLC printed fewer outcomes than it announced")

    def _add_results(self, action: int, results: list[int]) -> None:
        self.close()
        numbers, state = self._numbers[action], self.expanded[-1]
        for place, (number, result) in enumerate(zip(numbers, results, strict=True)):
            if result == _NOT_TRIED:
                continue
            if result == _CHANGE:
                self._awaited[place] = len(self.target)
            self.source.append(state)
            self.input.append(number)
            self.target.append(state if result == _NO_CHANGE else NONE)
            self.sent.append(0)

    def _add_outcome(self, cells: list[int]) -> None:
        place = self._awaited.pop(cells[1])
        end = self._state_end(cells, 2)
        self.target[place] = self._number(tuple(cells[2:end]))
        sent = tuple(cells[end:])
        self.sent[place] = self.sends.setdefault(sent, len(self.sends))

    def _state_end(self, cells: list[int], start: int) -> int:
        log = start + len(STATE_COLUMNS) + len(MEMBER_COLUMNS) * self.rules.member_count
        return log + 1 + len(LOG_COLUMNS) * cells[log]

    def _number(self, cells: Cells) -> int:
        return self.states.setdefault(cells, len(self.states))


_PEER: Final = MESSAGE_INDEX["peer"]
_NAMING: Final = [STATE_INDEX[name] for name in ("leader_member_id", "graceful_closed_leader_id")]
"""Fields that name one member."""


def arrange(printed: PrintedGraph, *, peers_alike: bool) -> GraphArrays:
    """Give the arrays of a graph.

    Parameters
    ----------
    printed
        All that TLC printed.
    peers_alike
        Whether states that differ in the numbering of the peers only are one state.
    """
    ordered = sorted((state_id(cells), number, cells) for cells, number in printed.states.items())
    state_rows = _rows_by_number([number for _, number, _ in ordered])
    inputs = sorted((cells, number) for number, cells in enumerate(printed.inputs))
    input_rows = _rows_by_number([number for _, number in inputs])
    sends = sorted((cells, number) for cells, number in printed.sends.items())
    send_rows = _rows_by_number([number for _, number in sends])

    expanded = np.zeros(len(ordered), dtype=np.bool_)
    disabled = np.zeros(len(ordered), dtype=np.int64)
    rows = state_rows[np.array(printed.expanded, dtype=np.int64)]
    expanded[rows] = True
    disabled[rows] = printed.disabled
    ids = np.frombuffer(b"".join(name for name, _, _ in ordered), dtype=np.uint8)
    cells_of_states = [cells for _, _, cells in ordered]
    states = SimpleNamespace(**_state_arrays(cells_of_states, printed.rules.member_count))
    alone = np.arange(len(ordered), dtype=np.int64)
    return GraphArrays(
        rules=printed.rules,
        ids=ids.reshape(len(ordered), ID_BYTES),
        expanded=expanded,
        disabled=disabled,
        representative=_representatives(states, expanded) if peers_alike else alone,
        columns=columns_of_states(states),
        **vars(states),
        **_input_arrays([cells for cells, _ in inputs]),
        **_send_arrays([cells for cells, _ in sends]),
        **_edge_arrays(printed, state_rows, input_rows, send_rows),
    )


def _rows_by_number(numbers: Sequence[int]) -> Ints:
    rows = np.empty(len(numbers), dtype=np.int64)
    rows[np.array(numbers, dtype=np.int64)] = np.arange(len(numbers))
    return rows


def _edge_arrays(
    printed: PrintedGraph, state_rows: Ints, input_rows: Ints, send_rows: Ints
) -> dict[str, Ints]:
    source = state_rows[_ints(printed.source)]
    given = input_rows[_ints(printed.input)]
    target = _ints(printed.target)
    target = np.where(target == NONE, NONE, state_rows[target])
    order = np.lexsort((given, source))
    return {
        "source": source[order],
        "input": given[order],
        "target": target[order],
        "sent": send_rows[_ints(printed.sent)][order],
    }


def _ints(values: array[int]) -> Ints:
    return np.array(values, dtype=np.int64)


def _state_arrays(states: Sequence[Cells], member_count: int) -> dict[str, Ints]:
    records = len(STATE_COLUMNS)
    width = len(MEMBER_COLUMNS) * member_count
    fixed = np.array([cells[: records + width + 1] for cells in states], dtype=np.int64)
    logs = [cell for cells in states for cell in cells[records + width + 1 :]]
    return {
        "state": np.ascontiguousarray(fixed[:, :records]),
        "members": np.ascontiguousarray(fixed[:, records:-1]).reshape(
            len(states), member_count, len(MEMBER_COLUMNS)
        ),
        "log_offsets": offsets_of(fixed[:, -1]),
        "log": np.array(logs, dtype=np.int64).reshape(-1, len(LOG_COLUMNS)),
    }


def _message_row(cells: Cells, start: int) -> list[int]:
    """Spread a printed message over the columns of all types."""
    row = [NONE] * len(MESSAGE_COLUMNS)
    code = cells[start]
    row[0] = code
    if code != NONE:
        for place, cell in zip(
            MESSAGE_PLACES[code], cells[start + 1 : message_end(cells, start)], strict=True
        ):
            row[place] = cell
    return row


def _input_arrays(inputs: Sequence[Cells]) -> dict[str, Ints]:
    facts = 1 + len(INPUT_COLUMNS)
    return {
        "input_action": np.array([cells[0] for cells in inputs], dtype=np.int64),
        "inputs": np.array([cells[1:facts] for cells in inputs], dtype=np.int64),
        "message": np.array([_message_row(cells, facts) for cells in inputs], dtype=np.int64),
    }


def _send_arrays(sends: Sequence[Cells]) -> dict[str, Ints]:
    rows = []
    for cells in sends:
        at = 1
        while at < len(cells):
            row = _message_row(cells, at + 1)
            row[_PEER] = cells[at]
            rows.append(row)
            at = message_end(cells, at + 1)
    return {
        "send_offsets": offsets_of([cells[0] for cells in sends]),
        "sends": np.array(rows, dtype=np.int64).reshape(len(rows), len(MESSAGE_COLUMNS)),
    }


def identities_of(states: Any) -> Ints:
    """Give a row for each state, equal for states that differ in the numbering of peers only.

    Each peer is replaced by its record and by whether the state names it, and the peers are sorted
    by these; the recording log is replaced by its number among all. For ``states`` see
    `canvass.graph.artifact.field_values`.
    """
    state, members = states.state, states.members
    named = [state[:, place, None] == np.arange(members.shape[1]) for place in _NAMING]
    records = np.concatenate([members, np.stack(named, axis=2)], axis=2)
    peers = records[:, 1:]
    order = np.lexsort(np.moveaxis(peers, 2, 0))
    peers = np.take_along_axis(peers, order[:, :, None], axis=1)
    single = state.copy()
    single[:, _NAMING] = np.minimum(single[:, _NAMING], 1)
    _, logs = field_values(states, np.arange(len(state)), "recordingLog")
    parts = [single, records[:, 0], peers.reshape(len(state), -1), logs[:, None]]
    return np.concatenate(parts, axis=1)


def _representatives(states: Any, expanded: NDArray[np.bool_]) -> Ints:
    """Give for each state the row of its representative, which is expanded if any of them is."""
    first, places = distinct_rows(identities_of(states))
    # The last write wins, so the rows are written in reverse, and expanded ones after the others.
    order = np.argsort(expanded[::-1], kind="stable")
    rows = np.arange(len(places))[::-1][order]
    first[places[rows]] = rows
    return first[places]


# --- models ---------------------------------------------------------------------------------------

MODULE: Final = "MCMemberGraph"
_PRINTING: Final = "PrintingNext"
EVERY_STATE: Final = -1
"""The number of steps that stands for no limit: all states within the bounds are expanded."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model of ``MCMemberGraph.tla``: its configuration and what follows from it."""

    name: str
    config: TlcConfig
    path: Path

    @property
    def rules(self) -> Rules:
        """The rules that the member follows."""
        hardening = frozenset(re.findall(r'"(\w+)"', self._constant("Hardening")))
        appointed = self._constant("AppointedLeaderId")
        return Rules(
            member_count=int(self._constant("MemberCount")),
            revision=self._constant("Revision").strip('"'),
            hardening=hardening,
            appointed_leader_id=int(appointed) if appointed.isdecimal() else NULL_VALUE,
        )

    @property
    def steps(self) -> int:
        """The most steps from a root to a state that is expanded; or ``EVERY_STATE``."""
        given = self._constant("MaxSteps")
        return int(given) if given.isdecimal() else EVERY_STATE

    @property
    def peers_alike(self) -> bool:
        """Whether states that differ in the numbering of the peers only are one state."""
        return self._constant("PeersAlike") == "TRUE"

    @property
    def digest(self) -> str:
        """The SHA-256 of all that the graph depends on.

        These are the modules without comments, the configuration, the form of the files, and the
        canonical form, because the files hold keys of canonical steps.
        """
        found = hashlib.sha256(SCHEMA.encode() + self.printing().text().encode())
        found.update(tables_as_bytes())
        for path in _modules():
            found.update(module_digest(path).encode())
        return found.hexdigest()

    def with_steps(self, steps: int) -> Model:
        """Give the model with another number of steps from the roots."""
        text = "<- NULL_VALUE" if steps == EVERY_STATE else f"= {steps}"
        constants = {**self.config.constants, "MaxSteps": text}
        return replace(self, config=replace(self.config, constants=constants))

    def printing(self) -> TlcConfig:
        """Give the configuration with which TLC prints the graph."""
        return replace(
            self.config,
            specification=None,
            init="Init",
            next=_PRINTING,
            action_constraints=(),
            check_deadlock=False,
        )

    def _constant(self, name: str) -> str:
        try:
            text = self.config.constants[name]
        except KeyError:
            raise GraphError(f"{self.path}: the constant {name} has no value") from None
        return text.removeprefix("=").removeprefix("<-").strip()


def models() -> list[str]:
    """Name the models that a graph can be built of."""
    return sorted(path.stem for path in HARNESS.glob(f"{MODULE}*.cfg"))


def load_model(name: str) -> Model:
    """Read a model of the spec by its name.

    Raises
    ------
    GraphError
        If there is no model of that name.
    """
    if name not in models():
        raise GraphError(f"no model is called {ascii(name)[:60]}: there are {', '.join(models())}")
    path = HARNESS / f"{name}.cfg"
    return Model(name, parse_config(path.read_text(encoding="utf-8"), path.name), path)


def build_graph(
    model: Model,
    folder: Path,
    *,
    options: TlcOptions | None = None,
    on_event: Callable[[Event], object] | None = None,
) -> Graph:
    """Let TLC make the graph of a model and write it to a folder.

    Parameters
    ----------
    model
        As `load_model` gives it.
    folder
        Where the graph goes, once it is complete; nothing may be there.
    options
        How to run TLC. There is always one worker: the lines of two would mix.
    on_event
        Called with each event of TLC except edges.

    Returns
    -------
    Graph
        The graph that was written.

    Raises
    ------
    GraphError
        If TLC does not finish without an error, or the folder exists.
    TlcError
        If TLC cannot be run.
    """
    need_place(folder)
    is_short = model.steps == 0 or model.rules.member_count < 3
    options = replace(
        options or TlcOptions(heap_mib=3072),
        workers=1,
        stack_mib=64,
        jvm_args=SHORT_RUN if is_short else (),
    )
    printed = PrintedGraph(model.rules)
    module = HARNESS / f"{MODULE}.tla"
    with TlcRun(module, model.printing(), replace(options, library=module_folders())) as tlc:
        for event in tlc:
            if isinstance(event, UserOutput):
                printed.feed(event.line)
            elif on_event is not None:
                on_event(event)
        result = tlc.result
    if result.outcome is not Outcome.SUCCESS:
        raise GraphError(f"TLC made no graph of {model.name}: {result.message}")
    printed.close()
    arrays = arrange(printed, peers_alike=model.peers_alike)
    return _write(model, arrays, folder, result.tlc_version or "unknown", find_jar().sha256)


def cached_graph(
    model: Model, cache: Path, *, on_event: Callable[[Event], object] | None = None
) -> Graph:
    """Give the graph of a model from a folder of graphs, and build it first if it is not there.

    The name of the graph's own folder contains the digest of all that the graph depends on, so a
    change of the spec leads to a new graph. If several processes need a graph at once, one of them
    builds it.
    """
    folder = cache_folder(model, cache)
    with alone(folder):
        if (folder / MANIFEST_FILE).is_file():
            return open_graph(folder)
        return build_graph(model, folder, on_event=on_event)


def cache_folder(model: Model, cache: Path) -> Path:
    """Give the folder that `cached_graph` keeps the graph of a model in."""
    return cache / f"{model.name}-{model.digest[:16]}"


def _write(
    model: Model, arrays: GraphArrays, folder: Path, tlc_version: str, jar_sha256: str
) -> Graph:
    """Write all files aside and put the folder in its place."""
    with made_aside(folder) as aside:
        write_tables(aside, to_tables(arrays))
        keys = edge_keys(arrays)
        keys.save(aside)
        manifest = Manifest(
            model=model.name,
            rules=GraphRules.of(model.rules),
            constants=dict(model.config.constants),
            complete=model.steps == EVERY_STATE,
            tlc_version=tlc_version,
            jar_sha256=jar_sha256,
            config_sha256=file_digest(model.path),
            modules={path.name: module_digest(path) for path in _modules()},
            counts=_counts(arrays, len(keys)),
            files={name: file_digest(aside / name) for name in FILES},
            form_sha256=form_digest(),
        )
        write_manifest(aside, manifest)
    return Graph(**vars(arrays), manifest=manifest)


def _modules() -> list[Path]:
    """Give the modules that every graph depends on."""
    return sorted(modules_of(HARNESS / f"{MODULE}.tla", module_folders()), key=lambda m: m.name)


def _counts(arrays: GraphArrays, canonical_count: int) -> Counts:
    enabled = arrays.target != NONE
    actions = np.bincount(arrays.input_action[arrays.input[enabled]], minlength=len(ACTION_NAMES))
    return Counts(
        states=len(arrays.state),
        expanded=int(arrays.expanded.sum()),
        inputs=len(arrays.inputs),
        sends=len(arrays.send_offsets) - 1,
        tried=len(arrays.source),
        edges=int(enabled.sum()),
        canonical=canonical_count,
        actions=dict(zip(ACTION_NAMES, actions.tolist(), strict=True)),
    )

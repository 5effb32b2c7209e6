"""The walk of a trace through a state graph: which states are possible after each line.

States are rows of the graph, edges are places in the arrays of a `Side`. A line with an action is
one step with that action. A line without an action is at most one step with any action, because a
behaviour of TLA+ may stutter. If the first line has no action, it is the state in which the trace
begins. `replay` gives the verdict, and what was possible instead of the first line that fails.
`replay_all` makes the report on several traces, with the states and steps that none takes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import numpy as np

from canvass.conformance.findings import Verdict
from canvass.graph.folders import Offsets, Rows
from canvass.graph.predicate import Answers, Mask, evaluate
from canvass.graph.syntax import PredicateError, near
from canvass.graph.view import Side, StateGraph, Tree
from canvass.replay.lines import TraceLine, agrees, differences, read_trace
from canvass.tlc.counterexample import state_changes
from canvass.tlc.errors import ValueSyntaxError
from canvass.tlc.values import Value, format_value, parse_value
from canvass.traces.errors import Code, TraceError

KEPT: Final = 12
"""Lines that are kept for the path before a line that fails."""
_ANY: Final = TraceLine()
"""The line of a hidden step: at most one step, with any action."""


class Layer(NamedTuple):
    """A line, or a hidden step before it, and the states around it.

    Attributes
    ----------
    number, line
        The line, from 1; ``line`` is `_ANY` for a hidden step before it.
    before, after
        The states that are possible before and after the step.
    steps
        Whether there can be a step; a first line without an action is only a state. Without an
        action it may be a stuttering step: the state does not change.
    """

    number: int
    line: TraceLine
    before: Rows
    after: Rows
    steps: bool


@dataclass(slots=True, eq=False)
class Walk:
    """The end of a walk.

    Attributes
    ----------
    layers
        The last lines, or all lines. If ``failed``, no state is possible after the last one.
    doubt
        From which line on the graph may lack a state or a step, and why; empty if it lacks none.
    """

    layers: deque[Layer]
    failed: bool = False
    doubt: str = ""

    def explaining(self) -> list[Layer]:
        """Give the layers of the lines before a failure, from the last one on."""
        failed = self.layers[-1].number if self.failed else 0
        return [layer for layer in reversed(self.layers) if layer.number != failed]


@dataclass(eq=False)
class Walker:
    """Walks traces through one graph.

    Attributes
    ----------
    graph
        The state graph.
    hidden
        The number of steps that may be missing before each line.
    anywhere
        Whether a trace may begin in any state; else it begins in an initial one.
    covering
        Whether to mark the states and edges of all behaviours that the traces can be.
    ignores_parameters
        Whether a line had parameters, and the graph has none for steps with its action.
    taken_states, taken_edges
        The states and edges that are marked; the edges in the order of the graph's ``into``.
    """

    graph: StateGraph
    _: KW_ONLY
    hidden: int = 0
    anywhere: bool = False
    covering: bool = False
    ignores_parameters: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self.taken_states: Mask = np.zeros(self.graph.state_count, np.bool_)
        self.taken_edges: Mask = np.zeros(self.graph.edge_count, np.bool_)
        self._codes = {name: code for code, name in enumerate(self.graph.actions)}
        self._columns: dict[str, Answers] = {}
        self._fitting: dict[tuple[str, bytes], dict[int, bool]] = {}
        self._given: dict[int, Value | None] = {}

    # --- the parts of a line ----------------------------------------------------------------------

    def column(self, name: str) -> Answers:
        """Give the values of a variable, or of another expression, in all states.

        Raises
        ------
        PredicateError
            If the text is no expression of the graph.
        """
        if name not in self._columns:
            found = evaluate(self.graph, name)
            if len(found) != 1:
                raise PredicateError("one expression was expected", 1)
            self._columns[name] = found[0]
        return self._columns[name]

    def fitting(self, rows: Rows, line: TraceLine) -> Rows:
        """Give the states that have the values of a line."""
        for name, logged in line.vars.items():
            column = self.column(name)
            distinct, place = np.unique(column.of[rows], return_inverse=True)
            known = self._fitting.setdefault((name, msgspec.json.encode(logged)), {})
            for code in distinct.tolist():
                if code not in known:
                    known[code] = agrees(logged, column.values[code])
            fits = np.array([known[code] for code in distinct.tolist()], dtype=np.bool_)
            rows = rows[fits[place]]
        return rows

    def allowed_edges(self, line: TraceLine, side: Side, places: Offsets) -> Offsets:
        """Give the places of those edges that the action and the parameters of a line allow."""
        if line.action is not None:
            places = places[side.action[places] == self._codes.get(line.action, -1)]
        if line.parameters is None or not len(places):
            return places
        given = [self.parameters(edge) for edge in side.edge[places].tolist()]
        self.ignores_parameters |= None in given
        kept = [one is None or agrees(line.parameters, one) for one in given]
        return places[np.array(kept, dtype=np.bool_)]

    def parameters(self, edge: int) -> Value | None:
        """Give the arguments of an edge as a sequence; None if the graph does not have them."""
        if edge not in self._given:
            arguments = self.graph.edge(edge).given.get("arguments")
            try:
                self._given[edge] = parse_value(f"<<{arguments}>>") if arguments else None
            except ValueSyntaxError:
                self._given[edge] = None
        return self._given[edge]

    # --- forwards ---------------------------------------------------------------------------------

    def walk(self, lines: Sequence[TraceLine], trace: str) -> Walk:
        """Walk until no state is possible.

        Raises
        ------
        TraceError
            If a line names a variable that the graph does not have; the error names the trace.
        """
        kept = None if self.covering else KEPT * (self.hidden + 1)
        graph, walk = self.graph, Walk(deque(maxlen=kept))
        rows = np.arange(graph.state_count, dtype=np.int32) if self.anywhere else graph.initial
        if self.anywhere and graph.complete is not True:
            states = "states in which the trace may begin are not in the graph"
            walk.doubt = f"from line 1 on, {states}: {graph.end}"
        for number, line in enumerate(lines, 1):
            try:
                layers = list(self.layers(number, line, rows))
            except PredicateError as error:
                raise TraceError(Code.BAD_VALUE, trace, number, 1, str(error)) from None
            walk.layers.extend(layers)
            last = layers[-1]
            open_ends = last.before[~graph.expanded[last.before]]
            if not walk.doubt and (last.steps or self.hidden) and len(open_ends):
                steps = f"the steps of state {graph.id_of(open_ends[0])[:12]}, possible there,"
                walk.doubt = f"from line {number} on, {steps} are not in the graph: {graph.end}"
            rows = last.after
            if not len(rows):
                walk.failed = True
                break
        return walk

    def layers(self, number: int, line: TraceLine, rows: Rows) -> Iterator[Layer]:
        """Take the hidden steps before a line, and then the step of the line."""
        grows = True
        for _ in range(self.hidden):
            after = self.after(rows, _ANY) if grows else rows
            grows = len(after) > len(rows)
            yield Layer(number, _ANY, rows, after, steps=True)
            rows = after
        steps = number > 1 or line.action is not None
        after = self.fitting(self.after(rows, line) if steps else rows, line)
        yield Layer(number, line, rows, after, steps)

    def after(self, rows: Rows, line: TraceLine) -> Rows:
        """Give the states after a step with the action and parameters of a line."""
        out = self.graph.out
        targets = out.ends[self.allowed_edges(line, out, out.places(rows))]
        return np.union1d(rows, targets) if line.action is None else np.unique(targets)

    # --- backwards --------------------------------------------------------------------------------

    def into(self, rows: Rows, sources: Rows, line: TraceLine) -> Offsets:
        """Give the places of the edges from ``sources`` to ``rows`` that a line allows."""
        side = self.graph.into
        places = side.places(rows)
        return self.allowed_edges(line, side, places[np.isin(side.ends[places], sources)])

    def cover(self, walk: Walk) -> None:
        """Mark the states and edges of all behaviours that the lines before a failure can be."""
        layers = walk.explaining()
        rows = layers[0].after if layers else self.graph.initial[:0]
        for layer in layers:
            self.taken_states[rows] = True
            before = np.intersect1d(rows, layer.before) if layer.line.action is None else rows[:0]
            if layer.steps:
                places = self.into(rows, layer.before, layer.line)
                self.taken_edges[places] = True
                before = np.union1d(before, self.graph.into.ends[places])
            rows = before
        self.taken_states[rows] = True

    def path(self, walk: Walk) -> list[tuple[int, int, bool]]:
        """Give one path through the last lines before a failure.

        Returns
        -------
        list
            The edge of each step, its line, and whether it is hidden.
        """
        layers = walk.explaining()
        found: list[tuple[int, int, bool]] = []
        row = layers[0].after[:1] if layers else self.graph.initial[:0]
        for layer in layers:
            if layer.line.action is None and np.isin(row, layer.before)[0]:
                continue
            place = self.into(row, layer.before, layer.line)[:1]
            edge = int(self.graph.into.edge[place][0])
            found.append((edge, layer.number, layer.line is _ANY))
            row = self.graph.into.ends[place]
        return found[::-1]


# --- the verdict ----------------------------------------------------------------------------------

_SHOWN: Final = 8
"""The most states or steps in each list of a report."""
_COMPARED: Final = 2_000
"""The most states that are searched for the nearest one."""


class Record(msgspec.Struct, frozen=True, rename="camel"):
    """A part of the report."""


class State(Record, frozen=True):
    """A state: its id, and the TLA+ text of each variable."""

    id: str
    values: dict[str, str]


class ReplayedStep(Record, frozen=True):
    """A step of the graph, and the parts of the state that it changes.

    A change is the path of a part, and its value before and after the step. For a set, sequence or
    function, it is ``+`` and what the step adds, or ``-`` and what it removes. ``line`` is the line
    that the step leads to, 0 for none; ``hidden`` says that no line shows the step.
    """

    action: str
    given: Tree
    target: str
    changes: list[str]
    line: int = 0
    hidden: bool = False


class Nearest(Record, frozen=True):
    """The possible state with the fewest differences from the line, and these differences."""

    state: str
    differences: list[str]


class Failure(Record, frozen=True):
    """The first line that no possible step explains.

    Attributes
    ----------
    line, content
        The line: its number and its JSON.
    before, before_count
        Some of the states that were possible before the line, and their number.
    possible, possible_count
        Some of the steps that were possible there, and their number.
    nearest
        The state nearest to the line among those after such a step. Only steps with the line's
        action and parameters count, if there are any. For a line without an action, the states
        before the line count, too.
    path
        The last steps of one path that explains the lines before this one.
    """

    line: int
    content: str
    before: list[State]
    before_count: int
    possible: list[ReplayedStep]
    possible_count: int
    nearest: Nearest | None
    path: list[ReplayedStep]


class Replay(Record, frozen=True):
    """The result of a trace.

    Attributes
    ----------
    lines, explained
        The number of lines of the trace, and of those before the first line that fails.
    possible
        The number of states that are possible after the last line, or before the line that fails.
    reason
        The reason for ``INCOMPLETE`` or ``MALFORMED``.
    remarks
        The parts of the trace that were not compared.
    """

    trace: str
    graph: str
    verdict: Verdict
    lines: int = 0
    explained: int = 0
    possible: int = 0
    reason: str | None = None
    failure: Failure | None = None
    remarks: tuple[str, ...] = ()
    schema: str = "canvass.replay/1"


def replay(graph: StateGraph | Walker, lines: Sequence[TraceLine], trace: str = "trace") -> Replay:
    """Replay a trace.

    Parameters
    ----------
    graph
        The graph, or a walker through it. A walker has options, and keeps values between traces.
    lines
        The lines of the trace.
    trace
        The name of the trace.

    Raises
    ------
    TraceError
        If a line names a variable or an action that the graph does not have.
    """
    walker = graph if isinstance(graph, Walker) else Walker(graph)
    walk = walker.walk(lines, trace)
    if walker.covering:
        walker.cover(walk)
    verdict, reason = _verdict(walker.graph, walk, trace)
    remark = "the graph has no parameters of steps: those of the trace are not compared"
    last = walk.layers[-1]
    return Replay(
        trace=trace,
        graph=walker.graph.title,
        verdict=verdict,
        lines=len(lines),
        explained=last.number - walk.failed,
        possible=len(last.before if walk.failed else last.after),
        reason=reason,
        failure=_failure(walker, walk) if walk.failed else None,
        remarks=(remark,) * walker.ignores_parameters,
    )


def _verdict(graph: StateGraph, walk: Walk, trace: str) -> tuple[Verdict, str | None]:
    """Give the verdict, and the reason for an ``INCOMPLETE``.

    A trace that fails is ``DIVERGES`` only if the graph has every step that could explain the line.

    Raises
    ------
    TraceError
        If the graph has every step, and none of them has the action of the line.
    """
    if not walk.failed:
        return Verdict.CONFORMS, None
    if walk.doubt or graph.doubt:
        return Verdict.INCOMPLETE, walk.doubt or graph.doubt
    last = walk.layers[-1]
    action = last.line.action
    if action is not None and action not in graph.action_counts:
        reason = f"no step of the graph is of {action!a}{near(action, graph.action_counts)}"
        raise TraceError(Code.BAD_VALUE, trace, last.number, 1, reason)
    return Verdict.DIVERGES, None


def _failure(walker: Walker, walk: Walk) -> Failure:
    graph, layer = walker.graph, walk.layers[-1]
    sources, line = layer.before, layer.line
    edges = graph.out.places(sources[:_COMPARED] if layer.steps else sources[:0])
    own = walker.allowed_edges(line, graph.out, edges)
    targets = graph.out.ends[own if len(own) else edges]
    if line.action is None:
        targets = np.concatenate([sources, targets])
    first = np.concatenate([own, edges[~np.isin(edges, own)]])[:_SHOWN]
    return Failure(
        line=layer.number,
        content=msgspec.json.encode(line).decode(),
        before=[_state(graph, row) for row in sources[:_SHOWN].tolist()],
        before_count=len(sources),
        possible=[_step(graph, edge) for edge in graph.out.edge[first].tolist()],
        possible_count=int(np.diff(graph.out.offsets)[sources].sum()) if layer.steps else 0,
        nearest=_nearest(walker, np.unique(targets)[:_COMPARED], line),
        path=[_step(graph, *each) for each in walker.path(walk)],
    )


def _state(graph: StateGraph, row: int) -> State:
    values = {name: format_value(value) for name, value in graph.state(row).items()}
    return State(graph.id_of(row), values)


def _step(graph: StateGraph, edge: int, line: int = 0, hidden: bool = False) -> ReplayedStep:
    one = graph.edge(edge)
    changed = state_changes(graph.state(one.source), graph.state(one.target))
    target = graph.id_of(one.target)
    return ReplayedStep(one.action, one.given, target, [*map(str, changed)], line, hidden)


def _nearest(walker: Walker, rows: Rows, line: TraceLine) -> Nearest | None:
    found = []
    for row in rows.tolist():
        parts = ((logged, walker.column(name).at(row), name) for name, logged in line.vars.items())
        texts = [text for part in parts for text in differences(*part)]
        found.append(Nearest(walker.graph.id_of(row), texts))
    return min(found, key=lambda one: len(one.differences), default=None)


class ActionCoverage(Record, frozen=True):
    """The number of steps of one action, and how many of them the traces take."""

    action: str
    taken: int
    steps: int


class Coverage(Record, frozen=True):
    """The states and steps that traces take: each state or step that may explain a line counts."""

    states: int
    taken_states: int
    steps: int
    taken_steps: int
    actions: list[ActionCoverage]
    missed_states: list[State]
    missed_steps: list[ReplayedStep]


def coverage(walker: Walker) -> Coverage:
    """Sum up what traces take."""
    graph, codes = walker.graph, range(len(walker.graph.actions))
    every = np.bincount(graph.into.action, minlength=len(codes)).tolist()
    own = np.bincount(graph.into.action[walker.taken_edges], minlength=len(codes)).tolist()
    states = np.flatnonzero(~walker.taken_states)[:_SHOWN].tolist()
    edges = np.sort(graph.into.edge[~walker.taken_edges])[:_SHOWN].tolist()
    return Coverage(
        states=graph.state_count,
        taken_states=int(walker.taken_states.sum()),
        steps=graph.edge_count,
        taken_steps=int(walker.taken_edges.sum()),
        actions=[ActionCoverage(graph.actions[code], own[code], every[code]) for code in codes],
        missed_states=[_state(graph, row) for row in states],
        missed_steps=[_step(graph, edge) for edge in edges],
    )


class ReplayReport(Record, frozen=True):
    """The results of several traces: the output of ``canvass replay --format json``."""

    replays: list[Replay]
    coverage: Coverage | None = None


def replay_all(walker: Walker, files: Sequence[Path]) -> ReplayReport:
    """Replay the traces in files; one that cannot be read as a trace is ``MALFORMED``."""
    found = []
    for path in files:
        try:
            found.append(replay(walker, read_trace(path), str(path)))
        except TraceError as error:
            title, reason = walker.graph.title, str(error)
            found.append(Replay(str(path), title, Verdict.MALFORMED, reason=reason))
    return ReplayReport(found, coverage(walker) if walker.covering else None)

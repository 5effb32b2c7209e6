"""The walk of a trace through a state graph: which states are possible after each line.

States are rows of the graph, edges are places in the arrays of a `Side`. A line with an action is
one step with that action. A line without an action is at most one step with any action, because a
behaviour of TLA+ may stutter. If the first line has no action, it is the state in which the trace
begins. `replay` gives the verdict, and what was possible instead of the first line that fails.
`replay_all` makes the report on several traces, with the states and steps that none takes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from canvass.conformance.findings import Verdict
from canvass.graph.folders import Rows
from canvass.graph.predicate import Answers, Mask, evaluate
from canvass.graph.queries import NoPath, shortest_path
from canvass.graph.syntax import PredicateError, near
from canvass.graph.view import Side, StateGraph, Tree
from canvass.replay.lines import (
    Difference,
    TraceLine,
    agrees,
    differences,
    leaves,
    part_of,
    read_trace,
    text_of,
)
from canvass.tlc.counterexample import ValueChange, state_changes
from canvass.tlc.errors import ValueSyntaxError
from canvass.tlc.values import Value, parse_value
from canvass.traces.errors import Code, TraceError

Places = NDArray[np.int64]

KEPT: Final = 12
"""Layers that are kept for the path before a line that fails."""


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """A line, and the states around it.

    Attributes
    ----------
    number
        The line, from 1.
    reached
        The states that are possible before the line's step: item 0 without hidden steps, item 1
        with at most one, and so on. The last item also holds for all larger numbers of hidden
        steps.
    after
        The states that are possible after the line.
    """

    number: int
    line: TraceLine
    reached: Sequence[Rows]
    after: Rows

    @property
    def steps(self) -> bool:
        """Whether the line can be a step; a first line without an action is only a state."""
        return self.number > 1 or self.line.action is not None

    @property
    def stays(self) -> bool:
        """Whether the line may be a stuttering step: the state does not change."""
        return self.line.action is None


@dataclass(slots=True, eq=False)
class Taken:
    """The states and edges of all behaviours that some traces can be."""

    states: Mask
    edges: Mask
    """In the order of the graph's ``into``."""


@dataclass(slots=True, eq=False)
class Walk:
    """The end of a walk.

    Attributes
    ----------
    layers
        The last lines, or all lines. If ``failed``, no state is possible after the last one.
    doubt
        The first line at which the graph may lack a state or a step, and the row of a possible
        state that is not expanded. The row is -1 if the graph may lack states in which the trace
        begins.
    """

    layers: deque[Layer]
    failed: bool = False
    doubt: tuple[int, int] | None = None


class Walker:
    """Walks traces through one graph.

    Parameters
    ----------
    graph
        The state graph.
    hidden
        The number of steps that may be missing before each line.
    anywhere
        Whether a trace may begin in any state; else it begins in an initial one.
    """

    def __init__(self, graph: StateGraph, *, hidden: int = 0, anywhere: bool = False) -> None:
        self.graph = graph
        self.hidden = hidden
        self.anywhere = anywhere
        self.codes = {name: code for code, name in enumerate(graph.actions)}
        self.ignores_parameters = False
        """Whether a line has parameters, and the graph has none for steps with its action."""
        self._columns: dict[str, Answers] = {}
        self._parts: dict[tuple[str, tuple[str, ...]], Answers] = {}
        self._fitting: dict[tuple[str, tuple[str, ...], bytes], dict[int, bool]] = {}
        self._given: dict[tuple[bytes, int], bool] = {}

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

    def part(self, name: str, path: tuple[str, ...]) -> Answers:
        """Give a part of the values of a variable in all states."""
        if (name, path) not in self._parts:
            column, known = self.column(name), dict[tuple[type, Any], int]()
            parts = (part_of(value, path) for value in column.values)
            codes = [known.setdefault((type(part), part), len(known)) for part in parts]
            of = np.array(codes, dtype=np.int32)[column.of]
            self._parts[name, path] = Answers([part for _, part in known], of)
        return self._parts[name, path]

    def fitting(self, rows: Rows, line: TraceLine) -> Rows:
        """Give the states that have the values of a line."""
        every = ((name, *leaf) for name, logged in line.vars.items() for leaf in leaves(logged))
        for name, path, logged in every:
            part = self.part(name, path)
            distinct, place = np.unique(part.of[rows], return_inverse=True)
            known = self._fitting.setdefault((name, path, msgspec.json.encode(logged)), {})
            for code in distinct.tolist():
                if code not in known:
                    known[code] = agrees(logged, part.values[code])
            fits = np.array([known[code] for code in distinct.tolist()], dtype=np.bool_)
            rows = rows[fits[place]]
        return rows

    def differing(self, row: int, line: TraceLine) -> list[Difference]:
        """Give the values of a line that differ from those of a state."""
        found: list[Difference] = []
        for name, logged in line.vars.items():
            found += differences(logged, self.column(name).at(row), name)
        return found

    def allowed_edges(self, line: TraceLine, side: Side, places: Places) -> Places:
        """Give the places of those edges that the action and the parameters of a line allow."""
        if line.action is not None:
            places = places[side.action[places] == self.codes.get(line.action, -1)]
        if line.parameters is None or not len(places):
            return places
        asked = msgspec.json.encode(line.parameters)
        for edge in side.edge[places].tolist():
            if (asked, edge) not in self._given:
                given = self.parameters(edge)
                self.ignores_parameters |= given is None
                self._given[asked, edge] = given is None or agrees(line.parameters, given)
        kept = [self._given[asked, edge] for edge in side.edge[places].tolist()]
        return places[np.array(kept, dtype=np.bool_)]

    def parameters(self, edge: int) -> Value | None:
        """Give the arguments of an edge as a sequence; None if the graph does not have them."""
        arguments = self.graph.edge(edge).given.get("arguments")
        try:
            return parse_value(f"<<{arguments}>>") if arguments else None
        except ValueSyntaxError:
            return None

    # --- forwards ---------------------------------------------------------------------------------

    def walk(self, lines: Sequence[TraceLine], trace: str = "", *, keep_all: bool = False) -> Walk:
        """Walk until no state is possible.

        Raises
        ------
        TraceError
            If a line names a variable that the graph does not have; the error names the trace.
        """
        graph, walk = self.graph, Walk(deque(maxlen=None if keep_all else KEPT))
        rows = np.arange(graph.state_count, dtype=np.int32) if self.anywhere else graph.initial
        if self.anywhere and graph.complete is not True:
            walk.doubt = 1, -1
        for number, line in enumerate(lines, 1):
            try:
                layer = self.step(number, line, rows)
            except PredicateError as error:
                raise TraceError(Code.BAD_VALUE, trace, number, 1, str(error)) from None
            if walk.doubt is None and (layer.steps or self.hidden):
                open_ends = layer.reached[-1][~graph.expanded[layer.reached[-1]]]
                if len(open_ends):
                    walk.doubt = number, int(open_ends[0])
            walk.layers.append(layer)
            rows = layer.after
            if not len(rows):
                walk.failed = True
                break
        return walk

    def step(self, number: int, line: TraceLine, rows: Rows) -> Layer:
        """Take the hidden steps before a line, and then the step of the line."""
        graph, reached = self.graph, [rows]
        for _ in range(self.hidden):
            more = np.union1d(reached[-1], graph.out.ends[graph.out.places(reached[-1])])
            if len(more) == len(reached[-1]):
                break
            reached.append(more)
        layer = Layer(number, line, reached, rows)
        after = reached[-1]
        if layer.steps:
            targets = graph.out.ends[self.allowed_edges(line, graph.out, graph.out.places(after))]
            after = np.union1d(after, targets) if layer.stays else np.unique(targets)
        return Layer(number, line, reached, self.fitting(after, line))

    # --- backwards --------------------------------------------------------------------------------

    def into(self, rows: Rows, sources: Rows, line: TraceLine) -> Places:
        """Give the places of the edges from ``sources`` to ``rows`` that a line allows."""
        side = self.graph.into
        places = side.places(rows)
        return self.allowed_edges(line, side, places[np.isin(side.ends[places], sources)])

    def cover(self, walk: Walk, taken: Taken) -> None:
        """Mark the states and edges of all behaviours that the lines before a failure can be."""
        layers = list(walk.layers)[: -1 if walk.failed else None]
        rows = layers[-1].after if layers else self.graph.initial[:0]
        for layer in reversed(layers):
            taken.states[rows] = True
            staying = np.intersect1d(rows, layer.reached[-1])
            before = staying if layer.stays else rows[:0]
            if layer.steps:
                before = np.union1d(before, self._mark(rows, layer.reached[-1], layer.line, taken))
            for level in range(self.hidden, 0, -1):
                taken.states[before] = True
                earlier = layer.reached[min(level, len(layer.reached)) - 1]
                stepped = self._mark(before, earlier, _ANY, taken)
                before = np.union1d(np.intersect1d(before, earlier), stepped)
            rows = before
        taken.states[rows] = True

    def _mark(self, rows: Rows, sources: Rows, line: TraceLine, taken: Taken) -> Rows:
        places = self.into(rows, sources, line)
        taken.edges[places] = True
        return np.unique(self.graph.into.ends[places])

    def path(self, walk: Walk) -> list[tuple[int, int, bool]]:
        """Give one path through the last lines before a failure.

        Returns
        -------
        list
            The edge of each step, its line, and whether it is hidden.
        """
        layers = list(walk.layers)[: -1 if walk.failed else None]
        found: list[tuple[int, int, bool]] = []
        row = layers[-1].after[:1] if layers else self.graph.initial[:0]
        for layer in reversed(layers):
            moves = layer.steps and not (layer.stays and np.isin(row, layer.reached[-1])[0])
            level = len(layer.reached)
            while moves or level:
                line, earlier = (layer.line, layer.reached[-1]) if moves else (_ANY, None)
                if earlier is None:
                    level = next(k for k, rows in enumerate(layer.reached) if np.isin(row, rows)[0])
                    if not level:
                        break
                    earlier = layer.reached[level - 1]
                place = self.into(row, earlier, line)[:1]
                found.append((int(self.graph.into.edge[place][0]), layer.number, not moves))
                row, moves = self.graph.into.ends[place], False
        return found[::-1]


# --- the verdict ----------------------------------------------------------------------------------

_ANY: Final = TraceLine()


SCHEMA: Final = "canvass.replay/1"
_SHOWN: Final = 8
"""The most states or steps in each list of a report."""
_COMPARED: Final = 2_000
"""The most states that are searched for the nearest one."""


class Record(msgspec.Struct, frozen=True, rename="camel"):
    """A part of the report."""


class Differs(Record, frozen=True):
    """A part of a state: its path, its JSON in the line, its TLA+ text in the state."""

    path: str
    logged: str
    state: str


class State(Record, frozen=True):
    """A state: its id, and the TLA+ text of each variable."""

    id: str
    values: dict[str, str]


class ReplayedStep(Record, frozen=True):
    """A step of the graph, and the parts of the state that it changes.

    A change is the path of a part, and its value after the step. For a set, sequence or function,
    it is ``+`` and what the step adds, or ``-`` and what it removes. ``line`` is the line that the
    step leads to, 0 for none; ``hidden`` says that no line shows the step.
    """

    action: str
    given: Tree
    target: str
    changes: list[tuple[str, str]]
    line: int = 0
    hidden: bool = False


class Nearest(Record, frozen=True):
    """The possible state with the fewest differences from the line, and these differences."""

    state: str
    differences: list[Differs]


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
    missing
        The actions of the shortest path to a state at which the line would fit; None without one.
    """

    line: int
    content: str
    before: list[State]
    before_count: int
    possible: list[ReplayedStep]
    possible_count: int
    nearest: Nearest | None
    path: list[ReplayedStep]
    missing: list[str] | None


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
    schema: str = SCHEMA


def replay(
    graph: StateGraph | Walker,
    lines: Sequence[TraceLine],
    *,
    trace: str = "trace",
    taken: Taken | None = None,
) -> Replay:
    """Replay a trace.

    Parameters
    ----------
    graph
        The graph, or a walker through it. A walker has options, and keeps values between traces.
    lines
        The lines of the trace.
    trace
        The name of the trace.
    taken
        The states and edges that the trace takes are added to it.
    """
    walker = graph if isinstance(graph, Walker) else Walker(graph)
    view = walker.graph
    try:
        walk = walker.walk(lines, trace, keep_all=taken is not None)
        if taken is not None:
            walker.cover(walk, taken)
        verdict, reason = _verdict(walker, walk, lines, trace)
    except TraceError as error:
        return malformed(view, trace, error)
    remark = "the graph has no parameters of steps: those of the trace are not compared"
    last = walk.layers[-1]
    return Replay(
        trace=trace,
        graph=view.title,
        verdict=verdict,
        lines=len(lines),
        explained=last.number - walk.failed,
        possible=len(last.reached[0] if walk.failed else last.after),
        reason=reason,
        failure=_failure(walker, walk) if walk.failed else None,
        remarks=(remark,) * walker.ignores_parameters,
    )


def malformed(graph: StateGraph, trace: str, error: TraceError) -> Replay:
    """Give the result of a trace that cannot be read."""
    return Replay(trace, graph.title, Verdict.MALFORMED, reason=str(error))


def _verdict(
    walker: Walker, walk: Walk, lines: Sequence[TraceLine], trace: str
) -> tuple[Verdict, str | None]:
    """Give the verdict, and the reason for an ``INCOMPLETE``.

    A trace that fails is ``DIVERGES`` only if the graph has every step that could explain the line.

    Raises
    ------
    TraceError
        If the graph has every step, and none of them has the action of the line.
    """
    graph = walker.graph
    if not walk.failed:
        return Verdict.CONFORMS, None
    number = walk.layers[-1].number
    if walk.doubt is not None:
        at, row = walk.doubt
        state = f"the steps of state {graph.id_of(row)[:12]}, possible there," if row >= 0 else ""
        missing = state or "states in which the trace may begin"
        return Verdict.INCOMPLETE, f"from line {at} on, {missing} are not in the graph: {graph.end}"
    if graph.doubt:
        return Verdict.INCOMPLETE, graph.doubt
    action = lines[number - 1].action
    if action is not None and action not in graph.action_counts:
        reason = f"no step of the graph is of {action!a}{near(action, graph.action_counts)}"
        raise TraceError(Code.BAD_VALUE, trace, number, 1, reason)
    return Verdict.DIVERGES, None


def _failure(walker: Walker, walk: Walk) -> Failure:
    graph, layer = walker.graph, walk.layers[-1]
    sources, line = layer.reached[-1], layer.line
    before = layer.reached[0]
    edges = graph.out.places(sources[:_COMPARED])
    count = int(np.diff(graph.out.offsets)[sources].sum())
    own = walker.allowed_edges(line, graph.out, edges)
    targets = graph.out.ends[own if len(own) else edges]
    if layer.stays:
        targets = np.concatenate([sources, targets[: len(targets) * layer.steps]])
    first = np.concatenate([own, edges[~np.isin(edges, own)]])[:_SHOWN]
    shown = [_step(graph, edge) for edge in graph.out.edge[first].tolist()] if layer.steps else []
    return Failure(
        line=layer.number,
        content=msgspec.json.encode(
            {name: getattr(line, name) for name in line.__struct_fields__ if getattr(line, name)}
        ).decode(),
        before=[_state(graph, row) for row in before[:_SHOWN].tolist()],
        before_count=len(before),
        possible=shown,
        possible_count=count if layer.steps else 0,
        nearest=_nearest(walker, np.unique(targets)[:_COMPARED], line),
        path=[_step(graph, *each) for each in walker.path(walk)],
        missing=_missing(walker, layer),
    )


def _state(graph: StateGraph, row: int) -> State:
    values = {name: text_of(value) for name, value in graph.state(row).items()}
    return State(graph.id_of(row), values)


def _step(graph: StateGraph, edge: int, line: int = 0, hidden: bool = False) -> ReplayedStep:
    one = graph.edge(edge)
    before, after = graph.state(one.source), graph.state(one.target)
    changed = [("".join(each.path), _text(each)) for each in state_changes(before, after)]
    return ReplayedStep(one.action, one.given, graph.id_of(one.target), changed, line, hidden)


def _text(change: ValueChange) -> str:
    sign = {"added": "+ ", "removed": "- "}.get(change.kind, "")
    return sign + text_of(change.before if change.after is None else change.after)


def _nearest(walker: Walker, rows: Rows, line: TraceLine) -> Nearest | None:
    if not len(rows):
        return None
    row = min(rows.tolist(), key=lambda one: len(walker.differing(one, line)))
    return Nearest(
        walker.graph.id_of(row),
        [
            Differs(path, msgspec.json.encode(logged).decode(), text_of(value))
            for path, logged, value in walker.differing(row, line)
        ],
    )


def _missing(walker: Walker, layer: Layer) -> list[str] | None:
    """Give the actions of the shortest path to a state at which the line would fit."""
    graph, line = walker.graph, layer.line
    every = np.arange(graph.state_count, dtype=np.int32)
    ends = walker.fitting(every, line)
    if line.action is not None:
        ends = graph.into.ends[walker.into(ends, every, line)]
    try:
        hops = shortest_path(graph, layer.reached[0], ends.tolist())
    except NoPath:
        return None
    return [hop.action for hop in hops]


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


def coverage(graph: StateGraph, taken: Taken) -> Coverage:
    """Sum up what traces take."""
    codes = range(len(graph.actions))
    every = np.bincount(graph.into.action, minlength=len(codes)).tolist()
    own = np.bincount(graph.into.action[taken.edges], minlength=len(codes)).tolist()
    states = np.flatnonzero(~taken.states)[:_SHOWN].tolist()
    edges = np.sort(graph.into.edge[~taken.edges])[:_SHOWN].tolist()
    return Coverage(
        states=graph.state_count,
        taken_states=int(taken.states.sum()),
        steps=graph.edge_count,
        taken_steps=int(taken.edges.sum()),
        actions=[ActionCoverage(graph.actions[code], own[code], every[code]) for code in codes],
        missed_states=[_state(graph, row) for row in states],
        missed_steps=[_step(graph, edge) for edge in edges],
    )


def nothing_taken(graph: StateGraph) -> Taken:
    """Give the coverage before the first trace."""
    return Taken(np.zeros(graph.state_count, np.bool_), np.zeros(graph.edge_count, np.bool_))


class ReplayReport(Record, frozen=True):
    """The results of several traces: the output of ``canvass replay --format json``."""

    replays: list[Replay]
    coverage: Coverage | None = None


def replay_all(walker: Walker, files: Sequence[Path], *, covering: bool = False) -> ReplayReport:
    """Replay the traces in files; one that cannot be read as a trace is ``MALFORMED``."""
    graph, found = walker.graph, []
    taken = nothing_taken(graph) if covering else None
    for path in files:
        try:
            lines = read_trace(path)
        except TraceError as error:
            found.append(malformed(graph, str(path), error))
        else:
            found.append(replay(walker, lines, trace=str(path), taken=taken))
    return ReplayReport(found, None if taken is None else coverage(graph, taken))

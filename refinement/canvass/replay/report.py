"""`replay`: the verdict on a trace, and what was possible instead of the first line that fails."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from canvass.conformance.findings import Verdict
from canvass.graph.folders import Rows
from canvass.graph.syntax import near
from canvass.graph.view import StateGraph, Tree
from canvass.graph.walks import NoPath, shortest_path
from canvass.replay.lines import TraceLine, read_trace, text_of
from canvass.replay.walk import Layer, Taken, Walk, Walker
from canvass.tlc.changes import ValueChange, state_changes
from canvass.traces.errors import Code, TraceError

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

"""The walk of a trace through a state graph: which states are possible after each line.

States are rows of the graph, edges are places in the arrays of a `Side`. A line with an action is
one step with that action. A line without an action is at most one step with any action, because a
behaviour of TLA+ may stutter. If the first line has no action, it is the state in which the trace
begins.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from canvass.graph.folders import Rows
from canvass.graph.predicate import Answers, Mask, evaluate
from canvass.graph.syntax import PredicateError
from canvass.graph.view import Side, StateGraph
from canvass.replay.lines import Difference, TraceLine, agrees, differences, leaves, part_of
from canvass.tlc.errors import ValueSyntaxError
from canvass.tlc.parse import parse_value
from canvass.tlc.values import Value
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


_ANY: Final = TraceLine()

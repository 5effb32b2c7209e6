"""A second, slow replay: it follows each path of a graph by itself, in plain Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from canvass.graph.view import StateGraph
from canvass.replay.lines import TraceLine
from canvass.tlc.values import Value
from support.itf_values import from_itf_value

Place: TypeAlias = tuple[int, int, int]
"""A state, the number of lines before it, and the hidden steps that may still be taken."""


def is_equal(logged: Any, value: Value) -> bool:
    """Whether a whole value in ITF is that of a state."""
    found = from_itf_value(logged)
    return found == value and (type(found) is bool) == (type(value) is bool)


class Naive:
    """The paths of a graph that explain the most lines of a trace.

    Attributes
    ----------
    explained
        The most lines that a path explains.
    unsure
        Whether a path that explains some lines reaches a state that is not expanded.
    states, edges
        The states and edges of all paths that explain the most lines.
    """

    def __init__(
        self, view: StateGraph, lines: Sequence[TraceLine], hidden: int = 0, anywhere: bool = False
    ) -> None:
        self.view, self.lines, self.hidden = view, lines, hidden
        self.all_edges = [view.edge(number) for number in view.out.edge.tolist()]
        self.unsure = False
        self.states: set[int] = set()
        self.edges: set[int] = set()
        self.most: dict[Place, int] = {}
        stack = [
            (row, 0, hidden) for row in (range(view.state_count) if anywhere else view.initial)
        ]
        self.explained = max(map(self.follow, stack), default=0)
        seen: set[Place] = set()
        while stack and self.explained:
            place = stack.pop()
            if place in seen or self.follow(place) < self.explained:
                continue
            seen.add(place)
            self.states.add(int(place[0]))
            if place[1] < self.explained:
                good = [one for one in self.moves(place) if self.follow(one[0]) == self.explained]
                stack += [end for end, _ in good]
                self.edges |= {edge for _, edge in good if edge is not None}

    def follow(self, place: Place) -> int:
        """The most lines that a path explains, with those before ``place``."""
        if place not in self.most:
            row, at, _ = place
            self.most[place] = at
            moving = self.hidden > 0 or at > 0 or self.lines[0].action is not None
            self.unsure |= at < len(self.lines) and moving and not self.view.expanded[row]
            self.most[place] = max([at, *(self.follow(end) for end, _ in self.moves(place))])
        return self.most[place]

    def moves(self, place: Place) -> Iterator[tuple[Place, int | None]]:
        """The places that one step leads to, and the edges."""
        row, at, left = place
        if at == len(self.lines):
            return
        line = self.lines[at]
        if line.action is None and self.fits(row, line):
            yield (row, at + 1, self.hidden), None
        for edge in self.all_edges:
            if edge.source == row:
                if left:
                    yield (edge.target, at, left - 1), edge.edge
                first = at == 0 and line.action is None
                allowed = not first and line.action in (None, edge.action)
                if allowed and self.fits(edge.target, line):
                    yield (edge.target, at + 1, self.hidden), edge.edge

    def fits(self, row: int, line: TraceLine) -> bool:
        state = self.view.state(row)
        return all(is_equal(logged, state[name]) for name, logged in line.vars.items())

"""Places for the nodes of a drawing, in layers from left to right, as labels are wide and low.

The order within a layer comes from sweeps over barycentres. The heights come from moving nodes
towards their neighbours as far as the order permits. A layer of many nodes takes several columns.
The same graph always gets the same places.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

WIDTH: Final = 190.0
HEIGHT: Final = 44.0
"""Room of a node with its label."""
COLUMN_GAP: Final = 90.0
LAYER_GAP: Final = 160.0
ROW_GAP: Final = 18.0
SWEEPS: Final = 8
TALLEST: Final = 26
"""Most nodes of one column, except in graphs that would become much wider than high."""

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Placed:
    """The centres and layers of all nodes."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    layer: tuple[int, ...]


def layers_from(count: int, edges: Iterable[Pair], roots: Sequence[int]) -> list[int]:
    """Give each node its distance from the roots along edges, or else against edges.

    Nodes without a connection to the roots are in the first layer.
    """
    forward: list[list[int]] = [[] for _ in range(count)]
    backward: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        forward[source].append(target)
        backward[target].append(source)
    layer: list[int | None] = [None] * count
    for root in roots:
        layer[root] = 0
    waiting = deque(roots)
    while waiting:
        node = waiting.popleft()
        for other in forward[node]:
            if layer[other] is None:
                layer[other] = (layer[node] or 0) + 1
                waiting.append(other)
    # A node from which edges only lead into the reached part stands before it.
    waiting = deque(node for node in range(count) if layer[node] is not None)
    while waiting:
        node = waiting.popleft()
        for other in backward[node]:
            if layer[other] is None:
                layer[other] = (layer[node] or 0) - 1
                waiting.append(other)
    lowest = min((one for one in layer if one is not None), default=0)
    return [0 if one is None else one - lowest for one in layer]


def place(layer: Sequence[int], edges: Iterable[Pair]) -> Placed:
    """Place nodes whose layers are known.

    Parameters
    ----------
    layer
        The layer of each node, from 0.
    edges
        Pairs of nodes; loops and repeated pairs have no effect.
    """
    near = _undirected(len(layer), edges)
    rows: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for node, one in enumerate(layer):
        rows[one].append(node)
    _order(rows, near, layer)
    tallest = max(TALLEST, int((2 * len(layer)) ** 0.5))
    x, y = [0.0] * len(layer), [0.0] * len(layer)
    left = 0.0
    for row in rows:
        columns = _columns(row, tallest)
        for number, column in enumerate(columns):
            for node in column:
                x[node] = left + number * (WIDTH + COLUMN_GAP)
            _spread(column, y)
        left += max(1, len(columns)) * (WIDTH + COLUMN_GAP) - COLUMN_GAP + LAYER_GAP
    by_column = _by_column(x)
    for sweep in range(SWEEPS):
        for column in by_column if sweep % 2 == 0 else reversed(by_column):
            _straighten(column, near, y)
    top = min(y, default=0.0)
    return Placed(tuple(x), tuple(round(one - top, 1) for one in y), tuple(layer))


def _undirected(count: int, edges: Iterable[Pair]) -> list[list[int]]:
    near: list[set[int]] = [set() for _ in range(count)]
    for one, two in edges:
        if one != two:
            near[one].add(two)
            near[two].add(one)
    return [sorted(each) for each in near]


def _order(rows: list[list[int]], near: list[list[int]], layer: Sequence[int]) -> None:
    """Sweep over the layers, forwards and back, and put each in the order of its barycentres."""
    position = [0.0] * len(layer)

    def settle(row: list[int]) -> None:
        for place_in_row, node in enumerate(row):
            # Relative to the middle of the layer: layers differ in size.
            position[node] = place_in_row - (len(row) - 1) / 2

    for row in rows:
        settle(row)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for number in range(len(rows)) if down else range(len(rows) - 1, -1, -1):
            wanted = {}
            for node in rows[number]:
                beside = [
                    position[other]
                    for other in near[node]
                    if (layer[other] < number if down else layer[other] > number)
                ]
                wanted[node] = sum(beside) / len(beside) if beside else position[node]
            rows[number].sort(key=lambda node: (wanted[node], node))
            settle(rows[number])


def _columns(row: list[int], tallest: int) -> list[list[int]]:
    """Split a layer into columns of nearly equal height; its nodes go to them in turn."""
    count = -(-len(row) // tallest)
    return [row[number::count] for number in range(count)]


def _spread(column: list[int], y: list[float]) -> None:
    for place_in_column, node in enumerate(column):
        y[node] = (place_in_column - (len(column) - 1) / 2) * (HEIGHT + ROW_GAP)


def _by_column(x: list[float]) -> list[list[int]]:
    found: dict[float, list[int]] = {}
    for node, one in enumerate(x):
        found.setdefault(one, []).append(node)
    return [found[one] for one in sorted(found)]


def _straighten(column: list[int], near: list[list[int]], y: list[float]) -> None:
    """Move the nodes of a column towards their neighbours, in their order and not too close.

    This is isotonic regression: nodes that would have to pass each other move as one block.
    """
    column.sort(key=lambda node: (y[node], node))
    step = HEIGHT + ROW_GAP
    blocks: list[tuple[float, int]] = []
    for number, node in enumerate(column):
        beside = [y[other] for other in near[node]]
        wanted = sum(beside) / len(beside) if beside else y[node]
        total, count = wanted - number * step, 1
        while blocks and blocks[-1][0] / blocks[-1][1] > total / count:
            before, size = blocks.pop()
            total, count = total + before, count + size
        blocks.append((total, count))
    number = 0
    for total, count in blocks:
        for _ in range(count):
            y[column[number]] = total / count + number * step
            number += 1

"""Vectors: the values of an expression in many states at once, and what operators do to them.

A value that is absent, as the third item of a shorter sequence is, stays absent through paths and
arithmetic, and no comparison holds of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from canvass.graph.folders import Rows
from canvass.graph.values import ABSENT, Kind, ValueTable
from canvass.steps.distinct import distinct_rows
from canvass.tlc import Value

Mask = NDArray[np.bool_]

_FIRST_OTHER: Final = -2
"""Scalars, tuples and sets that no state has are numbered from here downwards."""


@dataclass(frozen=True, slots=True, eq=False)
class Truths:
    """Truth values, none of them absent."""

    holds: Mask


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """Integers, and which of them are there."""

    values: NDArray[np.int64]
    present: Mask


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """Nodes of the table; `ABSENT` for none, numbers below it for what no state has."""

    nodes: Rows


Vector: TypeAlias = Truths | Numbers | Nodes
Other: TypeAlias = int | str | tuple[int, ...]
"""A scalar, or the nodes of the parts of a tuple or set; ascending, those of a set."""


def present(vector: Vector) -> Mask:
    """Mark the states that have a value."""
    if isinstance(vector, Truths):
        return np.ones(len(vector.holds), dtype=np.bool_)
    return vector.present if isinstance(vector, Numbers) else vector.nodes != ABSENT


def take(vector: Vector, places: NDArray[np.int64]) -> Vector:
    """Give the values at some places."""
    if isinstance(vector, Truths):
        return Truths(vector.holds[places])
    if isinstance(vector, Numbers):
        return Numbers(vector.values[places], vector.present[places])
    return Nodes(vector.nodes[places])


class Kernel:
    """Evaluates operators on the nodes of a table of values."""

    def __init__(self, table: ValueTable) -> None:
        self.table = table
        self._sizes = np.diff(table.offsets)
        self._others: dict[tuple[Kind, Other], int] = {}
        self._named: list[tuple[Kind, Other]] = []
        """The values that no state has, by their numbers from 0."""
        self._by_parts: dict[tuple[Kind, int], dict[tuple[int, ...], int]] = {}

    def scalar(self, kind: Kind, value: int | str) -> int:
        """Give the node of a scalar, or a number below all nodes if no state has it."""
        found = self.table.scalar_node(kind, value)
        return self._other(kind, value) if found is None else found

    def _other(self, kind: Kind, value: Other) -> int:
        number = self._others.setdefault((kind, value), len(self._named))
        if number == len(self._named):
            self._named.append((kind, value))
        return _FIRST_OTHER - number

    def value(self, node: int) -> Value | None:
        """Give the value of a node, none for one that is absent."""
        if node >= 0:
            return self.table.value(node)
        if node == ABSENT:
            return None
        kind, named = self._named[_FIRST_OTHER - node]
        if not isinstance(named, tuple):
            return bool(named) if kind is Kind.BOOL else named
        parts = [part for part in map(self.value, named) if part is not None]
        return frozenset(parts) if kind is Kind.SET else tuple(parts)

    def keys(self, vector: Vector) -> Rows:
        """Give any values as nodes."""
        if isinstance(vector, Nodes):
            return vector.nodes
        if isinstance(vector, Truths):
            pair = [self.scalar(Kind.BOOL, 0), self.scalar(Kind.BOOL, 1)]
            return np.array(pair, dtype=np.int32)[vector.holds.astype(np.int64)]
        distinct, places = np.unique(vector.values[vector.present], return_inverse=True)
        nodes = [self.scalar(Kind.INT, number) for number in distinct.tolist()]
        out = np.full(len(vector.values), ABSENT, dtype=np.int32)
        out[vector.present] = np.array(nodes, dtype=np.int32)[places.reshape(-1)]
        return out

    def kinds(self, nodes: Rows) -> NDArray[np.int16]:
        """Give the kind of each node, -1 where there is none."""
        kinds = np.full(len(nodes), ABSENT, dtype=np.int16)
        known = nodes >= 0
        kinds[known] = self.table.kind[nodes[known]]
        others = nodes <= _FIRST_OTHER
        if others.any():
            named = np.array([kind for kind, _ in self._named], dtype=np.int16)
            kinds[others] = named[_FIRST_OTHER - nodes[others]]
        return kinds

    def kinds_among(self, nodes: Rows) -> set[Kind]:
        """Give the kinds that occur."""
        return {Kind(kind) for kind in np.unique(self.kinds(nodes)).tolist() if kind != ABSENT}

    def numbers(self, nodes: Rows) -> Numbers:
        """Give the integers among nodes; the others are absent."""
        there = self.kinds(nodes) == Kind.INT
        return Numbers(self._scalars(nodes, there), there)

    def truths(self, nodes: Rows) -> Truths:
        """Mark the nodes that are TRUE."""
        there = self.kinds(nodes) == Kind.BOOL
        return Truths(self._scalars(nodes, there) == 1)

    def _scalars(self, nodes: Rows, there: Mask) -> NDArray[np.int64]:
        """Give the numbers of some nodes, 0 in place of the others."""
        values = np.zeros(len(nodes), dtype=np.int64)
        known = there & (nodes >= 0)
        values[known] = self.table.scalar[nodes[known]]
        others = there & (nodes < 0)
        if others.any():
            named = [value if isinstance(value, int) else 0 for _, value in self._named]
            values[others] = np.array(named, dtype=np.int64)[_FIRST_OTHER - nodes[others]]
        return values

    def equal(self, left: Vector, right: Vector) -> Mask:
        """Mark the states in which both values are there and equal."""
        if isinstance(left, Nodes) and isinstance(right, Nodes):
            same: Mask = (left.nodes != ABSENT) & (left.nodes == right.nodes)
            return same
        if isinstance(left, Nodes):
            return self.equal(right, left)
        if isinstance(left, Numbers):
            if isinstance(right, Truths):
                return np.zeros(len(left.values), dtype=np.bool_)
            other = self.numbers(right.nodes) if isinstance(right, Nodes) else right
            equal: Mask = (left.values == other.values) & left.present & other.present
            return equal
        if isinstance(right, Numbers):
            return np.zeros(len(left.holds), dtype=np.bool_)
        if isinstance(right, Nodes):
            boolean = self.kinds(right.nodes) == Kind.BOOL
            matching: Mask = boolean & (self.truths(right.nodes).holds == left.holds)
            return matching
        alike: Mask = left.holds == right.holds
        return alike

    def field(self, base: Rows, name: str) -> tuple[Rows, bool]:
        """Give a field of records, and whether any record has it."""
        place = np.array(
            [shape.index(name) if name in shape else -1 for shape in self.table.shapes] or [-1],
            dtype=np.int64,
        )
        out = np.full(len(base), ABSENT, dtype=np.int32)
        rows = np.flatnonzero(self.kinds(base) == Kind.RECORD)
        nodes = base[rows]
        at = place[self.table.scalar[nodes]]
        having = at >= 0
        out[rows[having]] = self.table.children[self.table.offsets[nodes[having]] + at[having]]
        return out, bool(having.any())

    def apply(self, base: Rows, argument: Vector) -> Rows:
        """Give the value of functions and the items of sequences, which count from 1."""
        out = np.full(len(base), ABSENT, dtype=np.int32)
        kinds = self.kinds(base)
        numbers = self.numbers(argument.nodes) if isinstance(argument, Nodes) else argument
        if isinstance(numbers, Numbers):
            rows = np.flatnonzero((kinds == Kind.SEQ) & numbers.present)
            nodes, at = base[rows], numbers.values[rows]
            inside = (at >= 1) & (at <= self._size_of(nodes))
            out[rows[inside]] = self._parts(nodes[inside], at[inside] - 1)
        rows = np.flatnonzero((kinds == Kind.FUNCTION) & present(argument))
        nodes, keys = base[rows], self.keys(take(argument, rows))
        # Each distinct pair of function and argument is looked up once.
        first, places = distinct_rows(np.stack([nodes, keys], axis=1))
        out[rows] = self._looked_up(nodes[first], keys[first])[places]
        return self._named_fields(base, kinds, argument, out)

    def _named_fields(
        self, base: Rows, kinds: NDArray[np.int16], argument: Vector, out: Rows
    ) -> Rows:
        """Add the fields of records, which are functions over strings."""
        rows = np.flatnonzero(kinds == Kind.RECORD)
        if not len(rows) or not isinstance(argument, Nodes):
            return out
        keys = argument.nodes[rows]
        for key in np.unique(keys[self.kinds(keys) == Kind.STR]).tolist():
            mine = rows[keys == key]
            out[mine] = self.field(base[mine], str(self.value(key)))[0]
        return out

    def _looked_up(self, functions: Rows, keys: Rows) -> Rows:
        found = np.full(len(functions), ABSENT, dtype=np.int32)
        owner, parts = self.exploded(functions)
        starts = np.flatnonzero(np.arange(len(owner)) % 2 == 0)
        hit = starts[parts[starts] == keys[owner[starts]]]
        found[owner[hit]] = parts[hit + 1]
        return found

    def exploded(self, nodes: Rows) -> tuple[NDArray[np.int64], Rows]:
        """Give the parts of all nodes one after another, and for each the place of its node."""
        sizes = self._size_of(nodes)
        owner = np.repeat(np.arange(len(nodes)), sizes)
        first = np.cumsum(sizes) - sizes
        within = np.arange(len(owner)) - first[owner]
        return owner, self._parts(nodes[owner], within)

    def _size_of(self, nodes: Rows) -> NDArray[np.int64]:
        """Count the parts of each node."""
        sizes = np.zeros(len(nodes), dtype=np.int64)
        known = nodes >= 0
        sizes[known] = self._sizes[nodes[known]]
        others = nodes <= _FIRST_OTHER
        if others.any():
            sizes[others] = self._other_sizes()[_FIRST_OTHER - nodes[others]]
        return sizes

    def _other_sizes(self) -> NDArray[np.int64]:
        sizes = [len(named) if isinstance(named, tuple) else 0 for _, named in self._named]
        return np.array(sizes, dtype=np.int64)

    def _parts(self, nodes: Rows, places: NDArray[np.int64]) -> Rows:
        """Give one part of each node, by its place from 0."""
        parts = np.empty(len(nodes), dtype=np.int32)
        known = nodes >= 0
        parts[known] = self.table.children[self.table.offsets[nodes[known]] + places[known]]
        if not known.all():
            sizes = self._other_sizes()
            tuples = [named for _, named in self._named if isinstance(named, tuple)]
            flat = np.array([part for named in tuples for part in named], dtype=np.int32)
            starts = np.cumsum(sizes) - sizes
            parts[~known] = flat[starts[_FIRST_OTHER - nodes[~known]] + places[~known]]
        return parts

    def members(self, nodes: Rows) -> tuple[NDArray[np.int64], Rows]:
        """Give the members that quantifiers visit: elements, items, arguments, names of fields."""
        owner, parts = self.exploded(nodes)
        kinds = self.kinds(nodes)[owner]
        place = np.arange(len(owner)) - np.searchsorted(owner, owner)
        records = np.flatnonzero(kinds == Kind.RECORD)
        if len(records):
            shapes = self.table.scalar[nodes[owner[records]]]
            names = self._names(int(place[records].max()) + 1)
            parts[records] = names[shapes, place[records]]
        value = (kinds == Kind.FUNCTION) & (place % 2 == 1)
        return owner[~value], parts[~value]

    def _names(self, width: int) -> Rows:
        """Give the strings that the names of fields are, by shape and place."""
        names = np.full((len(self.table.shapes), width), ABSENT, dtype=np.int32)
        for code, shape in enumerate(self.table.shapes):
            for place, name in enumerate(shape[:width]):
                names[code, place] = self.scalar(Kind.STR, name)
        return names

    def composed(self, kind: Kind, items: Sequence[Rows]) -> Rows:
        """Give the tuples, or sets, of some values of each state."""
        if not items:
            return np.empty(0, dtype=np.int32)
        rows = np.stack(items, axis=1)
        first, places = distinct_rows(rows)
        found = [self._composite(kind, parts) for parts in rows[first].tolist()]
        return np.array(found, dtype=np.int32)[places]

    def empty(self, kind: Kind) -> int:
        """Give the node of the empty tuple or set."""
        return self._composite(kind, [])

    def _composite(self, kind: Kind, parts: list[int]) -> int:
        if ABSENT in parts:
            return ABSENT
        key = tuple(sorted(frozenset(parts))) if kind is Kind.SET else tuple(parts)
        known = self._by_parts.get((kind, len(key)))
        if known is None:
            nodes = np.flatnonzero((self.table.kind == kind) & (self._sizes == len(key)))
            known = {tuple(self.table.parts(node)): node for node in nodes.tolist()}
            self._by_parts[kind, len(key)] = known
        found = known.get(key)
        return self._other(kind, key) if found is None else found

    def sizes(self, nodes: Rows) -> Numbers:
        """Count elements, items, arguments or fields."""
        kinds = self.kinds(nodes)
        there = kinds >= Kind.SET
        sizes = np.where(there, self._size_of(nodes), 0)
        return Numbers(np.where(kinds == Kind.FUNCTION, sizes // 2, sizes), there)

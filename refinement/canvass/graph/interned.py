"""`ValueTable`: TLA+ values as nodes in arrays, each distinct value once, parts shared.

Equal values are one node, so that equality is equality of numbers, and a part of a value is found
by arrays for all states at once. Making tables is in `canvass.graph.value_builder`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from canvass.graph.csr import Offsets, Rows
from canvass.graph.errors import GraphError
from canvass.tlc import Function, ModelValue, Record, Seq, Set, TlaValueError, Value, format_value
from canvass.tlc.atoms import format_string

ABSENT: Final = -1
"""In place of a node: there is no value, as of the third element of a shorter sequence."""


class Kind(IntEnum):
    """What a node is."""

    BOOL = 0
    INT = 1
    STR = 2
    MODEL = 3
    SET = 4
    SEQ = 5
    RECORD = 6
    FUNCTION = 7


COMPOSITE: Final = int(Kind.SET)
"""This kind and those after it have parts."""


@dataclass(frozen=True, eq=False)
class ValueTable:
    """Nodes, each after its parts.

    Attributes
    ----------
    kind
        A `Kind` for each node.
    scalar
        The number of an integer, 0 or 1 of a boolean; where in ``texts`` a string or the name of a
        model value is; where in ``shapes`` the fields of a record are.
    offsets, children
        The parts of each node: elements of a set or sequence, values of a record in the order of
        its shape; arguments and values of a function by turns.
    texts
        Strings and names of model values.
    shapes
        Names of fields, ascending.
    """

    kind: NDArray[np.uint8]
    scalar: NDArray[np.int64]
    offsets: Offsets
    children: Rows
    texts: Sequence[str]
    shapes: Sequence[tuple[str, ...]]

    def __len__(self) -> int:
        """Count the nodes."""
        return len(self.kind)

    def parts(self, node: int) -> list[int]:
        """Give the parts of a node."""
        parts: list[int] = self.children[self.offsets[node] : self.offsets[node + 1]].tolist()
        return parts

    def value(self, node: int) -> Value:
        """Give the value of a node."""
        kind, scalar = Kind(int(self.kind[node])), int(self.scalar[node])
        if kind is Kind.INT:
            return scalar
        if kind is Kind.BOOL:
            return bool(scalar)
        if kind is Kind.STR:
            return self.texts[scalar]
        if kind is Kind.MODEL:
            return ModelValue(self.texts[scalar])
        parts = [self.value(part) for part in self.parts(node)]
        if kind is Kind.SET:
            return Set(parts)
        if kind is Kind.SEQ:
            return Seq(parts)
        if kind is Kind.RECORD:
            return Record(dict(zip(self.shapes[scalar], parts, strict=True)))
        return Function(zip(parts[::2], parts[1::2], strict=True))

    def text(self, node: int) -> str:
        """Give the TLA+ text of a node."""
        return format_value(self.value(node))

    def tree(self, node: int) -> Any:
        """Give a node as plain JSON values; see `tree_of`."""
        return tree_of(self.value(node))

    def scalar_node(self, kind: Kind, value: int | str) -> int | None:
        """Give the node of an integer, a boolean, a string or a model value, if there is one."""
        return self._scalars.get((int(kind), value))

    @cached_property
    def _scalars(self) -> dict[tuple[int, int | str], int]:
        found: dict[tuple[int, int | str], int] = {}
        for node in np.flatnonzero(self.kind < COMPOSITE).tolist():
            kind, scalar = int(self.kind[node]), int(self.scalar[node])
            found[kind, self.texts[scalar] if kind in (Kind.STR, Kind.MODEL) else scalar] = node
        return found

    @cached_property
    def model_values(self) -> tuple[str, ...]:
        """The names of the model values."""
        codes = np.unique(self.scalar[self.kind == Kind.MODEL])
        return tuple(self.texts[code] for code in codes.tolist())

    def check(self) -> None:
        """See that nothing refers to what is not there.

        Raises
        ------
        GraphError
            If something does.
        """
        counts = np.diff(self.offsets)
        owners = np.repeat(np.arange(len(self)), counts)
        coded = {
            Kind.STR: len(self.texts),
            Kind.MODEL: len(self.texts),
            Kind.RECORD: len(self.shapes),
        }
        sound = (
            int(self.kind.max(initial=0)) <= Kind.FUNCTION
            and len(self.offsets) == len(self) + 1
            and bool((counts >= 0).all())
            and len(owners) == len(self.children)
            and bool(((self.children >= 0) & (self.children < owners)).all())
            and not counts[self.kind < COMPOSITE].any()
            and not (counts[self.kind == Kind.FUNCTION] % 2).any()
            and all(_can_be_held(text) for text in self.texts)
        )
        for kind, size in coded.items():
            codes = self.scalar[self.kind == kind]
            sound = sound and bool(((codes >= 0) & (codes < size)).all())
        if sound:
            records = self.kind == Kind.RECORD
            widths = np.array([len(shape) for shape in self.shapes], dtype=np.int64)
            sound = bool((counts[records] == widths[self.scalar[records]]).all())
        if not sound:
            raise GraphError("the table of values refers to what is not there")


def _can_be_held(text: object) -> bool:
    try:
        return isinstance(text, str) and bool(format_string(text))
    except TlaValueError:
        return False


def tree_of(value: Value) -> Any:
    """Give a value as plain JSON values.

    Sets and sequences are lists, sets in their canonical order; records and functions are objects,
    with the TLA+ text of an argument as the name; a model value is its name.
    """
    if isinstance(value, ModelValue):
        return value.name
    if isinstance(value, (Seq, Set)):
        return [tree_of(part) for part in value]
    if isinstance(value, Record):
        return {name: tree_of(part) for name, part in value.items()}
    if isinstance(value, Function):
        return {
            argument if isinstance(argument, str) else format_value(argument): tree_of(part)
            for argument, part in value.pairs
        }
    return value

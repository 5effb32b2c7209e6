"""Values of TLA+ as nodes in arrays: `ValueTable` holds each distinct value once, and shares parts.

`ValueBuilder` makes a table of values and of texts of values. `Columns` are the fields of states as
nodes of a table.
"""

from __future__ import annotations

import hashlib
import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from canvass.graph import GraphError
from canvass.graph.folders import ID_BYTES, Offsets, Rows
from canvass.steps.distinct import offsets_of
from canvass.tlc import (
    Function,
    ModelValue,
    TlaValueError,
    Value,
    ValueSyntaxError,
    format_value,
    ordered,
    parse_value,
)
from canvass.tlc.parse import MAX_DEPTH
from canvass.tlc.values import IDENTIFIER, format_string

ABSENT: Final = -1
"""Instead of a node: there is no value, such as the third element of a shorter sequence."""


class Kind(IntEnum):
    """The kind of a node."""

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
        """Give the value of a node; parts of values are made once."""
        kind, scalar = int(self.kind[node]), int(self.scalar[node])
        if kind < COMPOSITE:
            return self._scalar(Kind(kind), scalar)
        known, parts = self._parts, []
        for part in self.parts(node):
            if (value := known.get(part)) is None:
                value = known[part] = self.value(part)
            parts.append(value)
        if kind == Kind.SET:
            return frozenset(parts)
        if kind == Kind.SEQ:
            return tuple(parts)
        names = self.shapes[scalar] if kind == Kind.RECORD else parts[::2]
        return Function(
            dict(zip(names, parts if kind == Kind.RECORD else parts[1::2], strict=True))
        )

    def _scalar(self, kind: Kind, scalar: int) -> Value:
        if kind is Kind.INT:
            return scalar
        if kind is Kind.BOOL:
            return bool(scalar)
        return self.texts[scalar] if kind is Kind.STR else ModelValue(self.texts[scalar])

    @cached_property
    def _parts(self) -> dict[int, Value]:
        return {}

    def tree(self, node: int) -> Any:
        """Give a node as plain JSON values; see `tree_of`."""
        return tree_of(self.value(node))

    @cached_property
    def model_values(self) -> tuple[str, ...]:
        """The names of the model values."""
        return self._texts(Kind.MODEL)

    @cached_property
    def strings(self) -> tuple[str, ...]:
        """The strings."""
        return self._texts(Kind.STR)

    @cached_property
    def field_names(self) -> frozenset[str]:
        """The names of all records' fields."""
        return frozenset(name for shape in self.shapes for name in shape)

    def _texts(self, kind: Kind) -> tuple[str, ...]:
        codes = np.unique(self.scalar[self.kind == kind])
        return tuple(self.texts[code] for code in codes.tolist())

    def check(self) -> None:
        """Check that all references exist.

        Raises
        ------
        GraphError
            If one does not.
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
            raise GraphError("the table of values refers to nodes that do not exist")


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
    if isinstance(value, tuple):
        return [tree_of(part) for part in value]
    if isinstance(value, frozenset):
        return [tree_of(part) for part in ordered(value)]
    if isinstance(value, Function):
        return {
            argument if isinstance(argument, str) else format_value(argument): tree_of(part)
            for argument, part in value.items()
        }
    return value


T = TypeVar("T", str, tuple[str, ...])

_SHORT: Final = 160
"""Texts up to this length are parsed as a whole, which is faster than cutting them."""
_REMEMBERED: Final = 1 << 26
"""Characters of remembered texts; beyond it all are forgotten."""
_STRUCTURE: Final = re.compile(
    r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|<<|>>|\|->|:>|@@|[\[\](){},]', re.ASCII
)
_SIMPLE_FIELD: Final = re.compile(
    r'\s*([A-Za-z_][A-Za-z0-9_]*) *\|->\s*("[^"\\\n]*"|-?[0-9A-Za-z_]+)\s*(,|\Z)', re.ASCII
)
_CLOSER: Final = {"<<": ">>", "{": "}", "[": "]", "(": ")"}
_OPENERS: Final = frozenset(_CLOSER)
_CLOSERS: Final = frozenset(_CLOSER.values())


class ValueBuilder:
    """Numbers distinct values."""

    def __init__(self) -> None:
        self._kind = array("B")
        self._scalar = array("q")
        self._offsets = array("q", [0])
        self._children = array("i")
        self._height = array("H")
        self._digests = bytearray()
        self._nodes: dict[bytes, int] = {}
        self._texts: dict[str, int] = {}
        self._text_list: list[str] = []
        self._shapes: dict[tuple[str, ...], int] = {}
        self._shape_list: list[tuple[str, ...]] = []
        self._read: dict[str, int] = {}
        self._read_size = 0

    def __len__(self) -> int:
        """Count the nodes."""
        return len(self._kind)

    def digest(self, node: int) -> bytes:
        """Give the content hash of a node, equal for equal values everywhere."""
        return bytes(self._digests[node * ID_BYTES : (node + 1) * ID_BYTES])

    def integer(self, value: int) -> int:
        """Give the node of an integer."""
        return self._node(Kind.INT, value, ())

    def boolean(self, value: bool) -> int:
        """Give the node of a boolean."""
        return self._node(Kind.BOOL, int(value), ())

    def string(self, text: str) -> int:
        """Give the node of a string.

        Raises
        ------
        TlaValueError
            If TLA+ cannot hold it.
        """
        if text not in self._texts:
            format_string(text)
        return self._node(Kind.STR, self._text_code(text), ())

    def model_value(self, name: str) -> int:
        """Give the node of a model value."""
        return self._node(Kind.MODEL, self._text_code(name), ())

    def set(self, elements: Iterable[int]) -> int:
        """Give the node of a set."""
        return self._node(Kind.SET, 0, tuple(sorted(frozenset(elements))))

    def sequence(self, items: Sequence[int]) -> int:
        """Give the node of a sequence."""
        return self._node(Kind.SEQ, 0, tuple(items))

    def record(self, fields: dict[str, int]) -> int:
        """Give the node of a record."""
        if not fields:
            return self.sequence(())
        names = tuple(sorted(fields))
        shape = self._shapes.setdefault(names, len(self._shapes))
        if shape == len(self._shape_list):
            self._shape_list.append(names)
        return self._node(Kind.RECORD, shape, tuple(fields[name] for name in names))

    def function(self, pairs: dict[int, int]) -> int:
        """Give the node of a function, which may be a sequence or a record."""
        kinds = {self._kind[argument] for argument in pairs}
        if kinds <= {Kind.INT}:
            ordered = sorted(pairs, key=lambda argument: self._scalar[argument])
            if [self._scalar[argument] for argument in ordered] == list(range(1, len(pairs) + 1)):
                return self.sequence([pairs[argument] for argument in ordered])
        elif kinds == {Kind.STR}:
            texts = self._text_list
            names = {texts[self._scalar[argument]]: part for argument, part in pairs.items()}
            if all(IDENTIFIER.match(name) for name in names):
                return self.record(names)
        children = [part for argument in sorted(pairs) for part in (argument, pairs[argument])]
        return self._node(Kind.FUNCTION, 0, tuple(children))

    def value(self, value: Value) -> int:
        """Give the node of a value."""
        if isinstance(value, bool):
            return self.boolean(value)
        if isinstance(value, int):
            return self.integer(value)
        if isinstance(value, str):
            return self.string(value)
        if isinstance(value, ModelValue):
            return self.model_value(value.name)
        if isinstance(value, frozenset):
            return self.set([self.value(element) for element in value])
        if isinstance(value, tuple):
            return self.sequence([self.value(item) for item in value])
        if value.is_record:
            return self.record({name: self.value(part) for name, part in value.items()})
        return self.function({self.value(one): self.value(two) for one, two in value.items()})

    def text(self, text: str, depth: int = 0) -> int:
        """Give the node of a value that TLC printed.

        Raises
        ------
        ValueSyntaxError
            When the text is no value.
        """
        node = self._read.get(text)
        if node is None:
            node = self._cut(text, depth) if len(text) > _SHORT else self.value(parse_value(text))
            if self._read_size > _REMEMBERED:
                self._read.clear()
                self._read_size = 0
            self._read[text] = node
            self._read_size += len(text)
        return node

    def _cut(self, text: str, depth: int) -> int:
        opener = "<<" if text.startswith("<<") else text[0]
        if opener not in _OPENERS or not text.endswith(_CLOSER[opener]) or depth > MAX_DEPTH:
            return self.value(parse_value(text))
        if opener == "[":
            return self.record(self._fields(text, depth))
        pieces = _pieces(text, len(opener), len(text) - len(opener))
        if opener == "(":
            return self.function(self._pairs(text, pieces, depth))
        nodes = [self.text(text[start:end].strip(), depth + 1) for start, _, end in pieces]
        return self.set(nodes) if opener == "{" else self.sequence(nodes)

    def _fields(self, text: str, depth: int) -> dict[str, int]:
        fields: dict[str, int] = {}
        at, end = 1, len(text) - 1
        while True:
            # Most fields hold an atom: one match gives name and value, and the comma after it.
            simple = _SIMPLE_FIELD.match(text, at, end)
            if simple:
                name, part, at = simple[1], simple[2], simple.end()
                more = simple[3] == ","
            else:
                arrow, stop, following = _piece(text, at, end)
                name = text[at:arrow].strip()
                if arrow < 0 or text[arrow : arrow + 3] != "|->" or not IDENTIFIER.match(name):
                    raise ValueSyntaxError("'name |->' was expected", text, at)
                part, at, more = text[arrow + 3 : stop].strip(), following, stop < end
            if name in fields:
                raise ValueSyntaxError(f"the record has the field {name} twice", text, at)
            fields[name] = self.text(part, depth + 1)
            if not more:
                return fields

    def _pairs(self, text: str, pieces: list[tuple[int, int, int]], depth: int) -> dict[int, int]:
        pairs: dict[int, int] = {}
        for start, arrow, end in pieces:
            if arrow < 0 or text[arrow : arrow + 2] != ":>":
                raise ValueSyntaxError("':>' was expected", text, start)
            argument = self.text(text[start:arrow].strip(), depth + 1)
            if argument in pairs:
                raise ValueSyntaxError("a function has an argument twice", text, start)
            pairs[argument] = self.text(text[arrow + 2 : end].strip(), depth + 1)
        return pairs

    def _text_code(self, text: str) -> int:
        code = self._texts.setdefault(text, len(self._texts))
        if code == len(self._text_list):
            self._text_list.append(text)
        return code

    def _node(self, kind: Kind, scalar: int, children: tuple[int, ...]) -> int:
        key = b"%d %d " % (kind, scalar) + array("i", children).tobytes()
        node = self._nodes.get(key)
        if node is None:
            node = self._nodes[key] = len(self._kind)
            self._digests += self._content(kind, scalar, children)
            self._kind.append(kind)
            self._scalar.append(scalar)
            self._children.extend(children)
            self._offsets.append(len(self._children))
            self._height.append(1 + max((self._height[child] for child in children), default=-1))
        return node

    def _content(self, kind: Kind, scalar: int, children: tuple[int, ...]) -> bytes:
        """Hash the content of a node; the order of a set's parts does not matter."""
        found = hashlib.sha256(b"%d " % kind)
        parts = [self.digest(child) for child in children]
        if kind in (Kind.STR, Kind.MODEL):
            found.update(self._text_list[scalar].encode())
        elif kind is Kind.RECORD:
            found.update("\0".join(self._shape_list[scalar]).encode())
        else:
            found.update(b"%d" % scalar)
        if kind is Kind.SET:
            parts.sort()
        elif kind is Kind.FUNCTION:
            pairs = sorted(zip(parts[::2], parts[1::2], strict=True))
            parts = [part for pair in pairs for part in pair]
        found.update(b"".join(parts))
        return found.digest()[:ID_BYTES]

    def table(self) -> ValueTable:
        """Give the table of all values so far, in the order in which they came."""
        return ValueTable(
            kind=np.array(self._kind, dtype=np.uint8),
            scalar=np.array(self._scalar, dtype=np.int64),
            offsets=np.array(self._offsets, dtype=np.int64),
            children=np.array(self._children, dtype=np.int32),
            texts=list(self._text_list),
            shapes=list(self._shape_list),
        )

    def sealed(self) -> tuple[ValueTable, Rows]:
        """Give the table in an order that only the values decide, and the new number of each node.

        Parts come before the values that contain them. Values of one height are ordered by hash.
        """
        plain = self.table()
        words = np.frombuffer(bytes(self._digests), dtype=">u8").reshape(-1, 2)
        order = np.lexsort((words[:, 1], words[:, 0], np.array(self._height)))
        number = np.empty(len(order), dtype=np.int32)
        number[order] = np.arange(len(order), dtype=np.int32)
        texts, text_codes = _ascending(plain.texts)
        shapes, shape_codes = _ascending(plain.shapes)
        scalar = plain.scalar.copy()
        for kinds, codes in (((Kind.STR, Kind.MODEL), text_codes), ((Kind.RECORD,), shape_codes)):
            coded = np.isin(plain.kind, kinds)
            scalar[coded] = codes[plain.scalar[coded]]
        counts = np.diff(plain.offsets)
        offsets = offsets_of(counts[order])
        children = _in_order(plain, number)
        return ValueTable(
            plain.kind[order], scalar[order], offsets, children, texts, shapes
        ), number


def _ascending(names: Sequence[T]) -> tuple[list[T], NDArray[np.int64]]:
    """Sort names; give them with the new code of each."""
    order = sorted(range(len(names)), key=names.__getitem__)
    codes = np.empty(len(names), dtype=np.int64)
    codes[order] = np.arange(len(names))
    return [names[code] for code in order], codes


def _in_order(plain: ValueTable, number: Rows) -> Rows:
    """Renumber the parts of all nodes, and put those of sets and functions in the new order."""
    counts = np.diff(plain.offsets)
    owner = np.repeat(np.arange(len(plain)), counts)
    place = np.arange(len(owner)) - plain.offsets[:-1][owner]
    renumbered = number[plain.children]
    kind = plain.kind[owner]
    key = np.where(kind == Kind.SET, renumbered, place).astype(np.int64)
    pairs = np.flatnonzero(kind == Kind.FUNCTION)
    argument = pairs - place[pairs] % 2
    key[pairs] = renumbered[argument] * np.int64(2) + place[pairs] % 2
    moved: Rows = renumbered[np.lexsort((key, number[owner]))]
    return moved


def _pieces(text: str, start: int, end: int) -> list[tuple[int, int, int]]:
    """Cut the text between two brackets into pieces; see `_piece`.

    Returns
    -------
    list
        For each piece where it begins, where its arrow is, -1 without one, and where it ends.
    """
    pieces: list[tuple[int, int, int]] = []
    while True:
        arrow, stop, following = _piece(text, start, end)
        pieces.append((start, arrow, stop))
        if stop >= end:
            return pieces
        start = following


def _piece(text: str, start: int, end: int) -> tuple[int, int, int]:
    """Find the first comma, or ``@@``, that no bracket encloses.

    Returns
    -------
    tuple
        Where the arrow of the piece before it is, -1 without one; where that piece ends; and where
        the next one begins.
    """
    depth, arrow = 0, -1
    for found in _STRUCTURE.finditer(text, start, end):
        token = found.group()
        if token in _OPENERS:
            depth += 1
        elif token in _CLOSERS:
            depth -= 1
            if depth < 0:
                break
        elif depth == 0:
            if token in (",", "@@"):
                return arrow, found.start(), found.end()
            if token in ("|->", ":>") and arrow < 0:
                arrow = found.start()
    if depth:
        raise ValueSyntaxError("the brackets do not match", text, start)
    return arrow, end, end


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Fields as columns.

    Attributes
    ----------
    values
        The table.
    nodes
        For each field, the node of its value in each state.
    """

    values: ValueTable
    nodes: Mapping[str, Rows]

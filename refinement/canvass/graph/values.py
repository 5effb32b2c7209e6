"""The distinct values of a graph's states: `ValueTable` holds each one once, and shares parts.

States are rows of numbers of values. `Interner` gives values their numbers while a graph is made;
`ValueTable.value` makes a value again.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from canvass.graph.folders import ID_BYTES, Offsets, Rows, lists_of
from canvass.tlc.values import (
    Function,
    ModelValue,
    Value,
    format_string,
    format_value,
    ordered,
    parse_value,
)
from canvass.traces.columns import offsets_of, places_of


class Kind(IntEnum):
    """The kind of a value."""

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
_KINDS: Final = tuple(kind.name.lower() for kind in Kind)


@dataclass(frozen=True, eq=False)
class ValueTable:
    """Values by their numbers, each after its parts.

    Attributes
    ----------
    kind
        A `Kind` for each value.
    scalar
        For each value the index in ``pool`` of its scalar: what it consists of beside its parts.
    pool
        The scalars: truth values, numbers, strings, names of model values; for a record, the names
        of its fields; None for other values.
    offsets, children
        The parts of each value: elements of a set, items of a sequence, values of a record in the
        order of its names; for a function, its arguments and values in turn.
    """

    kind: NDArray[np.uint8]
    scalar: Rows
    pool: Sequence[Any]
    offsets: Offsets
    children: Rows

    def __len__(self) -> int:
        """Count the values."""
        return len(self.kind)

    def value(self, number: int) -> Value:
        """Give a value by its number. A part that several values share is made once."""
        kind, scalar = int(self.kind[number]), self.pool[self.scalar[number]]
        if kind < COMPOSITE:
            return ModelValue(scalar) if kind == Kind.MODEL else scalar
        known, parts = self._parts, []
        for part in self.children[self.offsets[number] : self.offsets[number + 1]].tolist():
            if (value := known.get(part)) is None:
                value = known[part] = self.value(part)
            parts.append(value)
        if kind == Kind.SET:
            return frozenset(parts)
        if kind == Kind.SEQ:
            return tuple(parts)
        pairs = (scalar, parts) if kind == Kind.RECORD else (parts[::2], parts[1::2])
        return Function(dict(zip(*pairs, strict=True)))

    @cached_property
    def _parts(self) -> dict[int, Value]:
        return {}

    @cached_property
    def model_values(self) -> tuple[str, ...]:
        """The names of the model values."""
        return self._of_kind(Kind.MODEL)

    @cached_property
    def strings(self) -> tuple[str, ...]:
        """The strings."""
        return self._of_kind(Kind.STR)

    @cached_property
    def field_names(self) -> frozenset[str]:
        """The names of all records' fields."""
        return frozenset(name for names in self._of_kind(Kind.RECORD) for name in names)

    def _of_kind(self, kind: Kind) -> tuple[Any, ...]:
        places = np.unique(self.scalar[self.kind == kind]).tolist()
        return tuple(self.pool[place] for place in places)

    def to_table(self) -> pa.Table:
        """Give the table of the folder; `from_table` reads it."""
        texts = pa.array([_text(each) for each in self.pool], type=pa.string())
        kinds = pa.array(self.kind.astype(np.int32))
        parts = pa.ListArray.from_arrays(
            pa.array(self.offsets, type=pa.int32()), pa.array(self.children, type=pa.int32())
        )
        return pa.table(
            {
                "kind": pa.DictionaryArray.from_arrays(kinds, pa.array(_KINDS)),
                "text": texts.take(pa.array(self.scalar)),
                "parts": parts,
            }
        )

    @classmethod
    def from_table(cls, table: pa.Table) -> ValueTable:
        """Read the table of a folder."""
        kinds = np.array([_KINDS.index(name) for name in table["kind"].to_pylist()], np.uint8)
        texts = table["text"].combine_chunks().dictionary_encode(null_encoding="encode")
        texts = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
        codes = texts.indices.to_numpy().astype(np.int64)
        known = texts.dictionary.to_pylist()
        pairs, scalar = np.unique(kinds * np.int64(len(known)) + codes, return_inverse=True)
        places = [divmod(pair, len(known)) for pair in pairs.tolist()]
        pool = [_read(Kind(kind), known[place]) for kind, place in places]
        return cls(kinds, scalar.reshape(-1).astype(np.int32), pool, *lists_of(table["parts"]))


def _text(scalar: Any) -> str | None:
    """Give the scalar of a value as text."""
    if isinstance(scalar, tuple):
        return ",".join(scalar)
    return scalar if scalar is None or isinstance(scalar, str) else format_value(scalar)


def _read(kind: Kind, text: str) -> Any:
    match kind:
        case Kind.BOOL:
            return text == "TRUE"
        case Kind.INT:
            return int(text)
        case Kind.RECORD:
            return tuple(text.split(","))
        case _:
            return text


def tree_of(value: Value) -> Any:
    """Give a value as plain JSON values.

    Sets and sequences are lists, sets in their canonical order; records and functions are objects,
    with the TLA+ text of an argument as the name; a model value is its name.
    """
    match value:
        case ModelValue(name=name):
            return name
        case tuple():
            return [tree_of(part) for part in value]
        case frozenset():
            return [tree_of(part) for part in ordered(value)]
        case Function():
            return {
                key if isinstance(key, str) else format_value(key): tree_of(part)
                for key, part in value.items()
            }
        case _:
            return value


_REMEMBERED: Final = 1 << 26
"""The most characters of remembered texts; if there are more, all texts are forgotten."""


class Interner:
    """Numbers distinct values, parts of values included."""

    def __init__(self) -> None:
        self._kind, self._scalar = array("B"), array("i")
        self._offsets, self._children = array("q", [0]), array("i")
        self._digests = bytearray()
        self._pool: dict[tuple[Kind, Any], int] = {}
        self._numbers: dict[tuple[int, bytes], int] = {}
        self._read: dict[str, int] = {}
        self._read_size = 0

    def digest(self, number: int) -> bytes:
        """Give the content hash of a value, equal for equal values everywhere."""
        return bytes(self._digests[number * ID_BYTES : (number + 1) * ID_BYTES])

    def text(self, text: str) -> int:
        """Give the number of a value that TLC printed.

        Raises
        ------
        ValueSyntaxError
            If the text is no value.
        """
        number = self._read.get(text)
        if number is None:
            number = self.value(parse_value(text))
            if self._read_size > _REMEMBERED:
                self._read.clear()
                self._read_size = 0
            self._read[text] = number
            self._read_size += len(text)
        return number

    def value(self, value: Value) -> int:
        """Give the number of a value."""
        match value:
            case bool():
                return self._leaf(Kind.BOOL, value, b"%d" % value)
            case int():
                return self._leaf(Kind.INT, value, b"%d" % value)
            case str():
                return self._leaf(Kind.STR, value, value.encode(errors="surrogatepass"))
            case ModelValue(name=name):
                return self._leaf(Kind.MODEL, name, name.encode())
            case frozenset():
                parts = sorted({self.value(each) for each in value}, key=self.digest)
                return self._number(Kind.SET, None, parts, b"0", parts)
            case tuple():
                parts = [self.value(each) for each in value]
                return self._number(Kind.SEQ, None, parts, b"0", parts)
            case Function() if value.is_record:
                names = tuple(value)
                parts = [self.value(each) for each in value.values()]
                return self._number(Kind.RECORD, names, parts, "\0".join(names).encode(), parts)
            case Function():
                pairs = [(self.value(key), self.value(each)) for key, each in value.items()]
                hashed = sorted(pairs, key=lambda pair: tuple(map(self.digest, pair)))
                flat = [number for pair in pairs for number in pair]
                ordered_by_hash = [number for pair in hashed for number in pair]
                return self._number(Kind.FUNCTION, None, flat, b"0", ordered_by_hash)

    def _leaf(self, kind: Kind, scalar: Any, content: bytes) -> int:
        if kind is Kind.STR and (kind, scalar) not in self._pool:
            format_string(scalar)
        return self._number(kind, scalar, (), content, ())

    def _number(
        self,
        kind: Kind,
        scalar: Any,
        parts: Sequence[int],
        content: bytes,
        hashed: Sequence[int],
    ) -> int:
        """Give the number of a value with these parts.

        ``hashed`` has the parts in the order in which they are hashed.
        """
        place = self._pool.setdefault((kind, scalar), len(self._pool))
        key = (place, array("i", parts).tobytes())
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._kind)
            digest = hashlib.sha256(b"%d " % kind + content)
            digest.update(b"".join(map(self.digest, hashed)))
            self._digests += digest.digest()[:ID_BYTES]
            self._kind.append(kind)
            self._scalar.append(place)
            self._children.extend(parts)
            self._offsets.append(len(self._children))
        return number

    def sealed(self, columns: Iterable[Rows]) -> tuple[ValueTable, Rows]:
        """Give the table of the values of some columns, and the new number of each value.

        The new numbers follow the order in which the rows of the columns need the values, so they
        depend on the values alone.
        """
        offsets, children = self._offsets, self._children
        number = np.full(len(self._kind), -1, dtype=np.int32)
        order: list[int] = []

        def visit(old: int) -> None:
            if number[old] < 0:
                for part in children[offsets[old] : offsets[old + 1]]:
                    visit(part)
                number[old] = len(order)
                order.append(old)

        for column in columns:
            distinct, first = np.unique(column, return_index=True)
            for old in distinct[np.argsort(first)].tolist():
                visit(old)
        chosen = np.array(order, dtype=np.int64)
        plain = np.array(offsets, dtype=np.int64)
        table = ValueTable(
            kind=np.array(self._kind, dtype=np.uint8)[chosen],
            scalar=np.array(self._scalar, dtype=np.int32)[chosen],
            pool=[scalar for _, scalar in self._pool],
            offsets=offsets_of(np.diff(plain)[chosen]),
            children=number[np.array(children, dtype=np.int32)[places_of(plain, chosen)]],
        )
        return table, number


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Fields as columns.

    Attributes
    ----------
    values
        The table.
    nodes
        For each field, the number of its value in each state.
    """

    values: ValueTable
    nodes: Mapping[str, Rows]


def interned(fields: Mapping[str, tuple[Sequence[Value], NDArray[np.integer]]]) -> Columns:
    """Give columns; ``fields`` has the distinct values of each, and for each state an index."""
    interner = Interner()
    nodes = {
        name: np.array([interner.value(each) for each in values], dtype=np.int32)[places]
        for name, (values, places) in fields.items()
    }
    table, number = interner.sealed(nodes.values())
    return Columns(table, {name: number[column] for name, column in nodes.items()})

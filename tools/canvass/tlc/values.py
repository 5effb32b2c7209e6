"""TLA+ values as immutable Python objects: the kinds, their equality, their order, their text.

Integers, strings and booleans are Python's own ``int``, ``str`` and ``bool``; the checks of their
limits come first. The other kinds are :class:`ModelValue`, :class:`Set`, :class:`Seq`,
:class:`Record` and :class:`Function`. ``parse`` reads text, ``convert`` converts from and to plain
Python.

Invariant: equality is equality in TLA+. There a tuple *is* a function over ``1..n`` and a record is
a function over strings, so ``Function({}) == Seq(())``. But ``TRUE`` is not 1, although Python says
``True == 1``. Equal values have equal hashes, equal text and equal places in the order.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import Any, ClassVar, Final, TypeAlias, overload

from canvass.tlc.errors import TlaValueError

INTEGER_MIN: Final = -(2**31)
INTEGER_MAX: Final = 2**31 - 1

IDENTIFIER: Final = re.compile(r"[A-Za-z0-9_]*[A-Za-z_][A-Za-z0-9_]*\Z", re.ASCII)

_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}
_ESCAPED: Final = re.compile(r'[\\"\n\r\t\f]')
_UNPRINTABLE: Final = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f\ud800-\udfff]")


def check_identifier(name: str) -> str:
    """Return ``name``, which must be a TLA+ identifier.

    Raises
    ------
    TlaValueError
        Unless it has only ASCII letters, digits and ``_``, and at least one letter or ``_``.
    """
    if not IDENTIFIER.match(name):
        raise TlaValueError(f"not a TLA+ identifier: {ascii(name)[:80]}")
    return name


def check_integer(number: int) -> int:
    """Return ``number``, which must fit TLC's integers.

    Raises
    ------
    TlaValueError
        Outside ``-2**31 .. 2**31 - 1``: TLC's integers have 32 bits.
    """
    if not INTEGER_MIN <= number <= INTEGER_MAX:
        shown = str(number) if abs(number) < 10**30 else "a number of more than 30 digits"
        raise TlaValueError(f"TLC integers have 32 bits, {shown} is outside -2^31..2^31-1")
    return number


def format_string(text: str) -> str:
    """Return ``text`` as a TLA+ string literal in quotes.

    Raises
    ------
    TlaValueError
        When it has a control character or lone surrogate without an escape in TLA+.
    """
    bad = _UNPRINTABLE.search(text)
    if bad:
        raise TlaValueError(f"a TLA+ string cannot hold the character {bad.group()!a}")
    return '"' + _ESCAPED.sub(lambda match: _ESCAPES[match.group()], text) + '"'


_Key: TypeAlias = tuple[Any, ...]

# Ranks of the kinds in the canonical order.
_BOOL, _INT, _STR, _MODEL, _SET, _SEQ, _RECORD, _FUNCTION = range(8)


class _Composite:
    """Base of the four composite kinds: a lazily computed key gives equality, hash and order."""

    __slots__ = ("_hash_", "_key_")
    _content: ClassVar[str]  # Name of the attribute that holds the parts.
    _hash_: int | None
    _key_: _Key | None

    def _key(self) -> _Key:
        if self._key_ is None:
            self._key_ = self._make_key()
        return self._key_

    @abstractmethod  # Enforced by the kinds, which are also abstract collections.
    def _make_key(self) -> _Key:
        """Give the key that values are compared by."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Composite):
            return NotImplemented
        return self is other or self._key() == other._key()

    def __hash__(self) -> int:
        if self._hash_ is None:
            self._hash_ = hash(self._key())
        return self._hash_

    def __repr__(self) -> str:
        return f"{type(self).__name__}({getattr(self, self._content)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (getattr(self, self._content),)


class ModelValue:
    """An uninterpreted constant with a name, equal only to itself.

    Parameters
    ----------
    name
        A TLA+ identifier. TLC prints a set that it cannot list (``Nat``, ``STRING``) by name, and
        it is read as a model value.

    Raises
    ------
    TlaValueError
        When ``name`` is not an identifier.
    """

    __slots__ = ("name",)
    name: str

    def __init__(self, name: str) -> None:
        self.name = check_identifier(name)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ModelValue):
            return NotImplemented
        return self.name == other.name

    def __hash__(self) -> int:
        return hash((_MODEL, self.name))

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"ModelValue({self.name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return ModelValue, (self.name,)


class Set(_Composite, AbstractSet["Value"]):
    """A finite set. Iteration is in canonical order, without duplicates; ``<=`` is "subset of".

    Parameters
    ----------
    elements
        Values in any order.
    """

    __slots__ = ("elements",)
    _content = "elements"
    elements: tuple[Value, ...]

    def __init__(self, elements: Iterable[Value] = ()) -> None:
        items = tuple(elements)
        self.elements = items if len(items) < 2 else _ordered_distinct(items)
        self._key_ = self._hash_ = None

    def _make_key(self) -> _Key:
        return (_SET, len(self.elements), tuple(map(sort_key, self.elements)))

    def __contains__(self, value: object) -> bool:
        key = _key_or_none(value)
        keys = self._key()[2]
        place = bisect_left(keys, key) if key is not None else len(keys)
        return place < len(keys) and keys[place] == key

    def __iter__(self) -> Iterator[Value]:
        return iter(self.elements)

    def __len__(self) -> int:
        return len(self.elements)

    def __str__(self) -> str:
        return "{" + _format_items(self.elements) + "}"


class Seq(_Composite, Sequence["Value"]):
    """A sequence or tuple. Indices are Python's, from 0; TLA+ counts from 1.

    Parameters
    ----------
    items
        Values in order.
    """

    __slots__ = ("items",)
    _content = "items"
    items: tuple[Value, ...]

    def __init__(self, items: Iterable[Value] = ()) -> None:
        self.items = tuple(items)
        self._key_ = self._hash_ = None

    def _make_key(self) -> _Key:
        return (_SEQ, len(self.items), tuple(map(sort_key, self.items)))

    @overload
    def __getitem__(self, index: int) -> Value: ...
    @overload
    def __getitem__(self, index: slice) -> Seq: ...
    def __getitem__(self, index: int | slice) -> Value | Seq:
        if isinstance(index, slice):
            return Seq(self.items[index])
        return self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def __contains__(self, value: object) -> bool:
        return any(same(value, item) for item in self.items)

    def __str__(self) -> str:
        return "<<" + _format_items(self.items) + ">>"


class Record(_Composite, Mapping[str, "Value"]):
    """A record: a function over field names. Iteration is in the order of the names.

    Parameters
    ----------
    fields
        Value by field name.

    Raises
    ------
    TlaValueError
        When a name is not a TLA+ identifier.
    """

    __slots__ = ("_fields",)
    _content = "_fields"
    _fields: dict[str, Value]

    def __init__(self, fields: Mapping[str, Value]) -> None:
        self._fields = {check_identifier(name): fields[name] for name in sorted(fields)}
        self._key_ = self._hash_ = None

    @classmethod
    def _of_checked(cls, fields: dict[str, Value]) -> Record:
        """Take over ``fields``, whose names are identifiers in any order."""
        self = cls.__new__(cls)
        names = list(fields)
        ordered = sorted(names)
        self._fields = fields if names == ordered else {name: fields[name] for name in ordered}
        self._key_ = self._hash_ = None
        return self

    def _make_key(self) -> _Key:
        fields = self._fields
        if not fields:
            return _EMPTY_KEY
        return (_RECORD, len(fields), tuple(fields), tuple(map(sort_key, fields.values())))

    def __getitem__(self, name: str) -> Value:
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __str__(self) -> str:
        return "[" + _format_fields(self.items()) + "]" if self._fields else "<<>>"


class Function(_Composite, Mapping["Value", "Value"]):
    """A function with a finite domain. Iteration is in the canonical order of the domain.

    Parameters
    ----------
    pairs
        A mapping, or (argument, value) pairs in any order.

    Raises
    ------
    TlaValueError
        When an argument occurs twice.
    """

    __slots__ = ("_index", "pairs")
    _content = "pairs"
    pairs: tuple[tuple[Value, Value], ...]
    _index: dict[_Key | None, Value] | None

    def __init__(self, pairs: Mapping[Any, Value] | Iterable[tuple[Value, Value]] = ()) -> None:
        listed = list(pairs.items()) if isinstance(pairs, Mapping) else list(pairs)
        if len(listed) > 1:
            keyed = sorted(((sort_key(pair[0]), pair) for pair in listed), key=_first)
            for (one, _), (two, pair) in pairwise(keyed):
                if one == two:
                    raise TlaValueError(
                        f"a function has the argument {format_value(pair[0])} twice"
                    )
            listed = [pair for _, pair in keyed]
        self.pairs = tuple(listed)
        self._index = None
        self._key_ = self._hash_ = None

    def _make_key(self) -> _Key:
        kind = self.kind()
        if kind is Seq:
            return (_SEQ, len(self.pairs), tuple(sort_key(value) for _, value in self.pairs))
        if kind is Record:
            names = tuple(argument for argument, _ in self.pairs)
            values = tuple(sort_key(value) for _, value in self.pairs)
            return (_RECORD, len(names), names, values)
        keys = tuple((sort_key(argument), sort_key(value)) for argument, value in self.pairs)
        return (_FUNCTION, len(keys), keys)

    def kind(self) -> type[Seq] | type[Record] | type[Function]:
        """Return the kind that TLC would print: ``Seq`` over ``1..n``, ``Record`` over names."""
        arguments = [argument for argument, _ in self.pairs]
        if all(type(argument) is int for argument in arguments):
            return Seq if arguments == list(range(1, len(arguments) + 1)) else Function
        if all(type(argument) is str and IDENTIFIER.match(argument) for argument in arguments):
            return Record
        return Function

    def __getitem__(self, argument: Value) -> Value:
        try:
            return self._values_by_key()[_key_or_none(argument)]
        except KeyError:
            raise KeyError(argument) from None

    def _values_by_key(self) -> dict[_Key | None, Value]:
        if self._index is None:
            self._index = {sort_key(argument): value for argument, value in self.pairs}
        return self._index

    def __contains__(self, argument: object) -> bool:
        return _key_or_none(argument) in self._values_by_key()

    def __iter__(self) -> Iterator[Value]:
        return (argument for argument, _ in self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def __str__(self) -> str:
        kind = self.kind()
        if kind is Seq:
            return "<<" + _format_items(value for _, value in self.pairs) + ">>"
        if kind is Record:
            return "[" + _format_fields(self.pairs) + "]"
        pairs = (f"{format_value(key)} :> {format_value(value)}" for key, value in self.pairs)
        return "(" + " @@ ".join(pairs) + ")"


Value: TypeAlias = bool | int | str | ModelValue | Set | Seq | Record | Function

_EMPTY_KEY: Final[_Key] = (_SEQ, 0, ())


def _first(pair: tuple[_Key, Any]) -> _Key:
    return pair[0]


def _ordered_distinct(items: tuple[Value, ...]) -> tuple[Value, ...]:
    kinds = set(map(type, items))
    if kinds in ({int}, {str}):
        return tuple(sorted(set(items)))  # type: ignore[type-var]
    keyed = {sort_key(item): item for item in items}
    return tuple(keyed[key] for key in sorted(keyed))


def sort_key(value: Value) -> tuple[Any, ...]:
    """Return a key that orders values of every kind; equal values have equal keys.

    Booleans come first, then integers, strings, model values, sets, sequences, records and
    functions; the shorter of two composites of one kind comes first.

    Raises
    ------
    TlaValueError
        When ``value`` is not a TLA+ value.
    """
    kind = type(value)
    if kind is int:
        return (_INT, value)
    if kind is str:
        return (_STR, value)
    if kind is bool:
        return (_BOOL, value)
    if isinstance(value, _Composite):
        return value._key()
    if isinstance(value, ModelValue):
        return (_MODEL, value.name)
    raise TlaValueError(f"a Python {kind.__name__} is not a TLA+ value: {ascii(value)[:60]}")


def _key_or_none(value: object) -> _Key | None:
    try:
        return sort_key(value)  # type: ignore[arg-type]
    except TlaValueError:
        return None


def same(one: object, two: Value) -> bool:
    """Return whether two objects are the same TLA+ value; unlike ``==``, TRUE is not 1."""
    if type(one) is bool or type(two) is bool:
        return one is two
    return one == two


def format_value(value: Value) -> str:
    """Return the canonical TLA+ text of a value in one line; equal values have equal text.

    Sets, domains and field names are in canonical order, not in the order of TLC's text. For the
    text of a module use :func:`~canvass.tlc.convert.to_tla`.

    Raises
    ------
    TlaValueError
        When a part is not a TLA+ value or an integer has more than 32 bits.
    """
    kind = type(value)
    if kind is int:
        return str(check_integer(value))  # type: ignore[arg-type]
    if kind is str:
        return format_string(value)  # type: ignore[arg-type]
    if kind is bool:
        return "TRUE" if value else "FALSE"
    if isinstance(value, (_Composite, ModelValue)):
        return str(value)
    raise TlaValueError(f"a Python {kind.__name__} is not a TLA+ value: {ascii(value)[:60]}")


def _format_items(items: Iterable[Value]) -> str:
    return ", ".join(map(format_value, items))


def _format_fields(fields: Iterable[tuple[Any, Value]]) -> str:
    return ", ".join(f"{name} |-> {format_value(value)}" for name, value in fields)

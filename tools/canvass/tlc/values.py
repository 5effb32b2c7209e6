"""TLA+ values as plain Python: built-in types and two classes of their own.

==================  ===============================================================================
TLA+                Python
==================  ===============================================================================
number, string      ``bool``, ``int``, ``str``
sequence, tuple     ``tuple``; also every function over ``1..n``, the empty one included
set                 ``frozenset``, in no order; `ordered` gives the canonical one
function, record    `Function`, a ``dict`` that cannot change; a record is one over field names
model value         `ModelValue`
==================  ===============================================================================

`function` makes a ``tuple`` or a `Function`. Equality is Python's, for which ``True == 1``. TLC
never compares a truth value with a number, so no set that it prints holds both. Where the
difference matters, as in a condition that a user wrote, `same` distinguishes the two. ``parse``
reads text, ``convert`` converts values to ITF.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn, TypeAlias

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


@dataclass(frozen=True, slots=True)
class ModelValue:
    """An uninterpreted constant with a name, equal only to itself.

    Parameters
    ----------
    name
        A TLA+ identifier. TLC prints a set that it cannot list (``Nat``, ``STRING``) by its name;
        such a name is read as a model value, too.

    Raises
    ------
    TlaValueError
        When ``name`` is not an identifier.
    """

    name: str

    def __post_init__(self) -> None:
        check_identifier(self.name)

    def __str__(self) -> str:
        return self.name


class Function(dict[Any, Any]):
    """A function over a finite domain that is not ``1..n``: a dict that cannot be changed.

    Arguments are in canonical order. `function` makes tuples of functions over ``1..n``.
    """

    __slots__ = ("_hash",)
    _hash: int

    def __init__(self, pairs: Mapping[Any, Value]) -> None:
        keys = list(pairs)
        by = None if set(map(type, keys)) in ({int}, {str}) else sort_key
        super().__init__((key, pairs[key]) for key in sorted(keys, key=by))

    def __hash__(self) -> int:  # type: ignore[override]
        try:
            return self._hash
        except AttributeError:
            self._hash = hash(frozenset(self.items()))
            return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return Function, (dict(self),)

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("a value of TLA+ cannot be changed")

    __setitem__ = __delitem__ = __ior__ = update = setdefault = pop = popitem = clear = _refuse

    @property
    def is_record(self) -> bool:
        """Whether TLC would print it as a record: all arguments are field names."""
        return all(type(name) is str and IDENTIFIER.match(name) for name in self)


Value: TypeAlias = "bool | int | str | ModelValue | tuple[Value, ...] | frozenset[Value] | Function"


def function(pairs: Mapping[Any, Value]) -> tuple[Value, ...] | Function:
    """Return a function, as a tuple if its domain is ``1..n``."""
    size = len(pairs)
    if all(type(key) is int and 1 <= key <= size for key in pairs):
        return tuple(pairs[place] for place in range(1, size + 1))
    return Function(pairs)


# Ranks of the kinds in the canonical order.
_BOOL, _INT, _STR, _MODEL, _SET, _SEQ, _RECORD, _FUNCTION = range(8)


def sort_key(value: Any) -> tuple[Any, ...]:
    """Return a key that orders values of every kind.

    Booleans come first, then integers, strings, model values, sets, sequences, records and
    functions; the shorter of two composites of one kind comes first.

    Raises
    ------
    TlaValueError
        When ``value`` is not a TLA+ value.
    """
    match value:
        case bool():
            return (_BOOL, value)
        case int():
            return (_INT, value)
        case str():
            return (_STR, value)
        case ModelValue(name=name):
            return (_MODEL, name)
        case frozenset():
            return (_SET, len(value), tuple(sorted(map(sort_key, value))))
        case tuple():
            return (_SEQ, len(value), tuple(map(sort_key, value)))
        case Function():
            parts = tuple(map(sort_key, value.values()))
            if value.is_record:
                return (_RECORD, len(value), tuple(value), parts)
            return (_FUNCTION, len(value), tuple(zip(map(sort_key, value), parts, strict=True)))
        case _:
            kind = type(value).__name__
            raise TlaValueError(f"a Python {kind} is not a TLA+ value: {ascii(value)[:60]}")


def ordered(elements: Iterable[Value]) -> list[Value]:
    """Return the elements of a set in canonical order."""
    return sorted(elements, key=sort_key)


def same(one: object, two: object) -> bool:
    """Return whether two objects are the same TLA+ value; unlike ``==``, TRUE is not 1."""
    if one != two:
        return False
    if isinstance(one, tuple | frozenset | Function):
        return sort_key(one) == sort_key(two)
    return type(one) is type(two)


def format_value(value: Any) -> str:
    """Return the canonical TLA+ text of a value in one line; equal values have equal text.

    Sets, domains and field names are in canonical order, not in the order of TLC's text.

    Raises
    ------
    TlaValueError
        When a part is not a TLA+ value or an integer has more than 32 bits.
    """
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return str(check_integer(value))
        case str():
            return format_string(value)
        case ModelValue(name=name):
            return name
        case frozenset():
            return "{" + ", ".join(map(format_value, ordered(value))) + "}"
        case tuple():
            return "<<" + ", ".join(map(format_value, value)) + ">>"
        case Function() if value.is_record:
            fields = (f"{name} |-> {format_value(part)}" for name, part in value.items())
            return "[" + ", ".join(fields) + "]"
        case Function():
            pairs = (f"{format_value(key)} :> {format_value(part)}" for key, part in value.items())
            return "(" + " @@ ".join(pairs) + ")"
        case _:
            kind = type(value).__name__
            raise TlaValueError(f"a Python {kind} is not a TLA+ value: {ascii(value)[:60]}")

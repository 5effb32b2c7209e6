"""TLA+ values as plain Python: built-in types and two classes of their own; as text and as ITF.

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
difference matters, as in a condition that a user wrote, `same` distinguishes the two.

`format_value` writes text. `parse_value`, `parse_state` and `join_values` read TLC's text: values,
not expressions. The parser is made for many short texts: one regular expression splits the text
into tokens, and a recursive descent over the tokens builds the value. `to_itf_value` converts to
the Informal Trace Format (ITF) of TLA+ tools.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import length_hint
from typing import Any, Final, NoReturn, TypeAlias

from canvass.tlc.errors import TlaValueError, ValueSyntaxError

INTEGER_MIN: Final = -(2**31)
INTEGER_MAX: Final = 2**31 - 1

IDENTIFIER: Final = re.compile(r"[A-Za-z0-9_]*[A-Za-z_][A-Za-z0-9_]*\Z", re.ASCII)

_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}
_TO_ESCAPE: Final = re.compile(r'[\\"\n\r\t\f]')
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
    return '"' + _TO_ESCAPE.sub(lambda match: _ESCAPES[match.group()], text) + '"'


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


MAX_DEPTH: Final = 200
"""Deeper nesting is refused: the parser must stay far from Python's recursion limit."""

MAX_INTERVAL: Final = 1 << 20
"""Intervals ``a..b`` with more elements are refused, because each element is listed."""

_TOKEN: Final = re.compile(
    r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"'  # string
    r"|-?[0-9]+\.\.-?[0-9]+"  # interval
    r"|[A-Za-z0-9_]+(?: *\|->)?"  # field with its arrow, or word or number
    r"|-[0-9]+"
    r"|<< >>|<<|>>|:>|@@"
    r"|\S",
    re.ASCII,
)
_INTEGER: Final = re.compile(r"-?[0-9]+\Z", re.ASCII)
_INTERVAL: Final = re.compile(r"(-?[0-9]+)\.\.(-?[0-9]+)\Z", re.ASCII)
_ESCAPE: Final = re.compile(r"\\(.)")
_UNESCAPED: Final = {text[1]: sign for sign, text in _ESCAPES.items()}
_CONJUNCT: Final = re.compile(r"\s*(?:/\\ )?([A-Za-z0-9_]+) = ", re.ASCII)
_OPENERS: Final = ("<<", "{", "[", "(")
_CLOSERS: Final = (">>", "}", "]", ")")

_Next: TypeAlias = Callable[[], str]

# The end of the text. No token equals it, so it is refused unless it is expected.
_END: Final = ""

# Atoms by their text. Cleared when full: in practice there are few, but input may have many.
_ATOMS: dict[str, Value] = {}
_ATOMS_MAX: Final = 1 << 16


class _Refused(Exception):
    """The grammar does not allow the last token."""


def parse_value(text: str) -> Value:
    """Read one TLA+ value as TLC prints it, wrapped over lines or not.

    Parameters
    ----------
    text
        A whole value with nothing after it: an integer, string, ``TRUE``, ``FALSE``, model value,
        ``{..}``, ``a..b`` (read as the set), ``<<..>>``, ``[f |-> ..]`` or ``(a :> b @@ ..)``.
        ``<< >>`` with one space is TLC's empty function, ``<<>>`` its empty sequence.

    Raises
    ------
    ValueSyntaxError
        When the text is not a value, is nested deeper than ``MAX_DEPTH``, has an interval of more
        than ``MAX_INTERVAL`` elements, a field or argument twice, or an integer beyond 32 bits.
    """
    return _parse_tokens(_TOKEN.findall(text), text)


def _parse_tokens(tokens: list[str], text: str) -> Value:
    tokens.append(_END)
    remaining = iter(tokens)
    take = remaining.__next__
    try:
        value = _value(take(), take, 0)
        if take() is not _END:
            raise _Refused("the end of the value was expected")
    except (_Refused, TlaValueError) as refusal:
        # Positions are needed only for errors: split the text again.
        taken = len(tokens) - length_hint(remaining)
        starts = [match.start() for match in _TOKEN.finditer(text)]
        offset = starts[taken - 1] if taken <= len(starts) else len(text)
        raise ValueSyntaxError(str(refusal), text, offset) from None
    return value


def _value(token: str, take: _Next, depth: int) -> Value:
    """Read the value that begins with ``token``."""
    atom = _ATOMS.get(token)
    if atom is not None:
        return atom
    if depth > MAX_DEPTH:
        raise _Refused(f"nesting is deeper than {MAX_DEPTH}")
    if token == "<<":
        return tuple(_items(">>", take, depth + 1))
    if token == "{":
        return frozenset(_items("}", take, depth + 1))
    if token == "[":
        return _record(take, depth + 1)
    if token == "(":
        return _function(take, depth + 1)
    if token == "<< >>":
        return ()
    return _atom(token)


def _items(close: str, take: _Next, depth: int) -> list[Value]:
    token = take()
    items: list[Value] = []
    if token == close:
        return items
    known = _ATOMS.get
    while True:
        atom = known(token)
        items.append(_value(token, take, depth) if atom is None else atom)
        token = take()
        if token == ",":
            token = take()
        elif token == close:
            return items
        else:
            raise _Refused(f"',' or '{close}' was expected")


def _record(take: _Next, depth: int) -> Value:
    fields: dict[str, Value] = {}
    known = _ATOMS.get
    while True:
        token = take()
        if token[-3:] != "|->":
            raise _Refused("'name |->' was expected")
        name = token[:-3].rstrip()
        if name in fields:
            raise _Refused(f"the record has the field {name} twice")
        if not IDENTIFIER.match(name):
            raise _Refused(f"{name} is not a field name")
        token = take()
        atom = known(token)
        fields[name] = _value(token, take, depth) if atom is None else atom
        token = take()
        if token == "]":
            return function(fields)
        if token != ",":
            raise _Refused("',' or ']' was expected")


def _function(take: _Next, depth: int) -> Value:
    pairs: dict[Value, Value] = {}
    while True:
        argument = _value(take(), take, depth)
        if take() != ":>":
            raise _Refused("':>' was expected")
        if argument in pairs:
            raise _Refused(f"a function has the argument {format_value(argument)} twice")
        pairs[argument] = _value(take(), take, depth)
        token = take()
        if token == ")":
            return function(pairs)
        if token != "@@":
            raise _Refused("'@@' or ')' was expected")


def _atom(token: str) -> Value:
    atom = _new_atom(token)
    if len(_ATOMS) >= _ATOMS_MAX:
        _ATOMS.clear()
    _ATOMS[token] = atom
    return atom


def _new_atom(token: str) -> Value:
    if token[:1] == '"' and len(token) > 1:
        return _ESCAPE.sub(_unescape, token[1:-1])
    if _INTEGER.match(token):
        return check_integer(_decimal(token))
    if token in ("TRUE", "FALSE"):
        return token == "TRUE"
    if IDENTIFIER.match(token):
        return ModelValue(token)
    bounds = _INTERVAL.match(token)
    if bounds:
        low, high = (check_integer(_decimal(text)) for text in bounds.groups())
        if high - low >= MAX_INTERVAL:
            raise _Refused(f"the interval has more than {MAX_INTERVAL} elements")
        return frozenset(range(low, high + 1))
    raise _Refused("a value was expected")


def _decimal(digits: str) -> int:
    # Checked before int(), whose cost is quadratic.
    if len(digits) > 30:
        raise _Refused("TLC integers have 32 bits, the number is outside -2^31..2^31-1")
    return int(digits)


def _unescape(match: re.Match[str]) -> str:
    try:
        return _UNESCAPED[match.group(1)]
    except KeyError:
        raise _Refused(f"'{match.group()}' is not an escape of TLA+") from None


def split_state(text: str) -> dict[str, str]:
    """Split a state into the texts of its values; :func:`parse_state` also parses them.

    Raises
    ------
    ValueSyntaxError
        When a line has another form, or a variable occurs twice.
    """
    parts: dict[str, str] = {}
    body = text.rstrip()
    if not body:
        return parts
    # Strings have no raw newline, so no value has this separator.
    for conjunct in body.split("\n/\\ "):
        head = _CONJUNCT.match(conjunct)
        if not head:
            raise ValueSyntaxError("'variable = ' was expected", text, text.find(conjunct))
        name = head.group(1)
        if name in parts:
            raise ValueSyntaxError(f"{name} occurs twice", text, text.find(conjunct))
        parts[name] = conjunct[head.end() :]
    return parts


def parse_state(text: str) -> dict[str, Value]:
    r"""Parse a state: a line ``/\ x = 1`` for each variable, or only ``x = 1``.

    Returns
    -------
    dict
        Value by variable, in TLC's order. Empty when the text is blank.

    Raises
    ------
    ValueSyntaxError
        When a line has another form, a variable occurs twice, or a value cannot be read.
    """
    return {name: parse_value(part) for name, part in split_state(text).items()}


def join_values(lines: Iterable[str], on_other: Callable[[str], object]) -> Iterator[Any]:
    """Parse the values that ``PrintT`` printed, wrapped over lines or not.

    Memory is bounded by the longest value.

    Parameters
    ----------
    lines
        Lines without their line ends, as in :class:`~canvass.tlc.output.UserOutput`.
    on_other
        Called with each line that is not part of a value.

    Yields
    ------
    Value
        The values, in the order of printing.
    """
    pending: list[str] = []
    tokens: list[str] = []
    depth = 0

    def pass_over() -> None:
        for line in pending:
            on_other(line)

    for line in lines:
        # TLC indents wrapped lines: a line at the margin ends an unfinished value.
        if depth > 0 and line[:1] not in (" ", ")"):
            pass_over()
            pending, tokens, depth = [], [], 0
        cut = _TOKEN.findall(line)
        depth += sum(map(cut.count, _OPENERS)) - sum(map(cut.count, _CLOSERS))
        pending.append(line)
        tokens += cut
        if depth > 0:
            continue
        try:
            value = _parse_tokens(tokens, "\n".join(pending))
        except ValueSyntaxError:
            pass_over()
        else:
            yield value
        pending, tokens, depth = [], [], 0
    pass_over()


def to_itf_value(value: Value) -> Any:
    """Return a value in ITF: ``#bigint``, ``#tup``, ``#set``, ``#map``, records as objects.

    A model value becomes ``{"#unserializable": name}``: it is not a string.
    """
    match value:
        case bool() | str():
            return value
        case int():
            return {"#bigint": str(check_integer(value))}
        case ModelValue(name=name):
            return {"#unserializable": name}
        case tuple():
            return {"#tup": [to_itf_value(item) for item in value]}
        case frozenset():
            return {"#set": [to_itf_value(element) for element in ordered(value)]}
        case Function() if value.is_record:
            return {name: to_itf_value(part) for name, part in value.items()}
        case _:
            return {
                "#map": [[to_itf_value(key), to_itf_value(part)] for key, part in value.items()]
            }

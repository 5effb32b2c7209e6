"""Parse values from TLC's text: one value, one state, or values wrapped over many lines.

Only values are parsed, not expressions. The parser is made for many short texts: one regular
expression splits the text into tokens, and a recursive descent over the tokens builds the value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from operator import length_hint
from typing import Any, Final, TypeAlias

from canvass.tlc.errors import TlaValueError, ValueSyntaxError
from canvass.tlc.values import (
    IDENTIFIER,
    ModelValue,
    Value,
    check_integer,
    format_value,
    function,
)

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
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", '"': '"', "\\": "\\"}
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
        return _ESCAPED[match.group(1)]
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
        Lines without their line ends, as in :class:`~canvass.tlc.events.UserOutput`.
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

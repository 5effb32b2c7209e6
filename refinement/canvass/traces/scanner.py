"""A strict scanner of one JSON document: it finds the first thing wrong, or tells where each value
is.

It is slow and knows no schema. The readers turn to it for a line that the fast decoder refused, to
say where and why, and for the few documents that must be checked before they are decoded.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final

from canvass.traces.errors import Code
from canvass.traces.limits import MAX_DEPTH, MAX_INT, MAX_STRING_LENGTH, MAX_TOKENS, MIN_INT

_TOKEN: Final = re.compile(
    r"""[ \t\r\n]*+(?:
        (?P<mark>[{}\[\],:])
      | (?P<text>"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+")
      | (?P<number>-?(?:0|[1-9][0-9]*+)(?P<fraction>(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+))
      | (?P<word>true|false|null)
    )""",
    re.VERBOSE,
)
_SPACE: Final = re.compile(r"[ \t\r\n]*+")
_OPEN_TEXT: Final = re.compile(
    r""""(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+(?:\\(?:u[0-9a-fA-F]{0,3})?)?\Z"""
)
_NO_NUMBER: Final = re.compile(r"-?(?:NaN|Infinity)")
_WORDS: Final = ("true", "false", "null", "-")
_INT_DIGITS: Final = 20


class ScanError(Exception):
    """The first thing wrong: code, column from 1 and reason."""

    def __init__(self, code: Code, column: int, reason: str) -> None:
        super().__init__(code, column, reason)
        self.code = code
        self.column = column
        self.reason = reason


@dataclass(slots=True)
class _Open:
    """An object or array that is not closed yet."""

    path: str
    keys: set[str] | None
    """None for an array."""
    count: int = 0
    expects: str = "value"
    """One of ``value``, ``key``, ``colon``, ``comma``."""


def scan(data: bytes) -> dict[str, int]:
    """Check a document and tell the column of each value.

    Returns
    -------
    dict
        Path such as ``$.state.members[0].vote`` to the column of the value; for an object's field
        also ``path + "="`` to the column of its key.

    Raises
    ------
    ScanError
        At the first fault. ``ENDS_EARLY`` if the document is the beginning of a sound one.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        good = data[: error.start].decode()
        cut = error.end == len(data) and error.reason == "unexpected end of data"
        if not cut:
            raise ScanError(Code.BAD_UTF8, len(good) + 1, "not UTF-8") from None
        text = good + "\ufffd"
    return _Scanner(text).run()


class _Scanner:
    """One pass over one document, without recursion."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.places: dict[str, int] = {}
        self.stack: list[_Open] = []
        self.done = False
        self.key = ""

    def run(self) -> dict[str, int]:
        position = tokens = 0
        while match := _TOKEN.match(self.text, position):
            kind = match.lastgroup if match.lastgroup != "fraction" else "number"
            assert kind is not None
            start = match.start(kind)
            tokens += 1
            if tokens > MAX_TOKENS:
                raise ScanError(Code.TOO_MANY_TOKENS, start + 1, f"more than {MAX_TOKENS} tokens")
            if self.done:
                raise ScanError(Code.BAD_SYNTAX, start + 1, "text after the document")
            if kind == "mark":
                self._mark(match["mark"], start)
            elif kind == "text":
                self._text(match["text"], start)
            else:
                if kind == "number":
                    _check_number(match["number"], bool(match["fraction"]), start)
                self._value(start)
            position = match.end()
        self._stop(_SPACE.match(self.text, position).end())  # type: ignore[union-attr]
        return self.places

    def _stop(self, position: int) -> None:
        """Explain why there is no token here."""
        rest = self.text[position : position + MAX_STRING_LENGTH + 2]
        column = position + 1
        if not rest:
            if not self.done:
                raise ScanError(Code.ENDS_EARLY, column, "ends within the document")
            return
        if rest[0] == "\ufeff":
            raise ScanError(Code.BAD_CHARACTER, column, "a byte order mark")
        if _NO_NUMBER.match(rest):
            raise ScanError(Code.BAD_NUMBER, column, "not a number that JSON has")
        if not self.done and (
            _OPEN_TEXT.match(self.text, position) or any(word.startswith(rest) for word in _WORDS)
        ):
            raise ScanError(Code.ENDS_EARLY, column, "ends within a value")
        if rest[0] == '"':
            bad = re.search(r"[\x00-\x1f]", rest)
            if bad:
                raise ScanError(
                    Code.BAD_CHARACTER, column + bad.start(), "a control character in a string"
                )
            raise ScanError(Code.BAD_SYNTAX, column, "a string with an unknown escape")
        if rest[0] < " ":
            raise ScanError(Code.BAD_CHARACTER, column, "a control character")
        raise ScanError(Code.BAD_SYNTAX, column, f"unexpected {rest[0]!r}")

    def _value(self, start: int) -> str:
        """Enter a value into its container; give its path."""
        if not self.stack:
            path = "$"
            self.done = True
        else:
            top = self.stack[-1]
            if top.expects != "value":
                raise ScanError(
                    Code.BAD_SYNTAX, start + 1, f"a {top.expects} was expected, not a value"
                )
            path = f"{top.path}[{top.count}]" if top.keys is None else f"{top.path}.{self.key}"
            top.count += 1
            top.expects = "comma"
        self.places[path] = start + 1
        return path

    def _text(self, token: str, start: int) -> None:
        if len(token) - 2 > MAX_STRING_LENGTH:
            raise ScanError(
                Code.STRING_TOO_LONG, start + 1, f"more than {MAX_STRING_LENGTH} characters"
            )
        text = token[1:-1]
        if "\\" in text:
            text = json.loads(token)
            if any(c == "\x00" or "\ud800" <= c <= "\udfff" for c in text):
                raise ScanError(Code.BAD_STRING, start + 1, "NUL or a lone surrogate in a string")
        top = self.stack[-1] if self.stack else None
        if top is None or top.expects != "key" or top.keys is None:
            self._value(start)
            return
        if text in top.keys:
            raise ScanError(Code.DUPLICATE_KEY, start + 1, f"a second {text!r}")
        top.keys.add(text)
        top.expects = "colon"
        self.key = text
        self.places[f"{top.path}.{text}="] = start + 1

    def _mark(self, mark: str, start: int) -> None:
        column = start + 1
        if mark in "{[":
            path = self._value(start)
            self.done = False
            if len(self.stack) == MAX_DEPTH:
                raise ScanError(Code.TOO_DEEP, column, f"nested deeper than {MAX_DEPTH}")
            opened = _Open(path, set() if mark == "{" else None)
            opened.expects = "key" if mark == "{" else "value"
            self.stack.append(opened)
            return
        top = self.stack[-1] if self.stack else None
        if top is None:
            raise ScanError(Code.BAD_SYNTAX, column, f"unexpected {mark!r}")
        if mark in "}]":
            fits = (mark == "}") == (top.keys is not None)
            empty = top.count == 0 and top.expects in ("key", "value") and not top.keys
            if not fits or not (top.expects == "comma" or empty):
                raise ScanError(Code.BAD_SYNTAX, column, f"unexpected {mark!r}")
            self.stack.pop()
            self.done = not self.stack
        elif mark == ":" and top.expects == "colon":
            top.expects = "value"
        elif mark == "," and top.expects == "comma":
            top.expects = "value" if top.keys is None else "key"
        else:
            raise ScanError(Code.BAD_SYNTAX, column, f"unexpected {mark!r}")


def _check_number(token: str, fraction: bool, start: int) -> None:
    if fraction:
        if len(token) > 2 * _INT_DIGITS or not abs(float(token)) < float("inf"):
            raise ScanError(Code.BAD_NUMBER, start + 1, "a number out of range")
    elif len(token) > _INT_DIGITS or not MIN_INT <= int(token) <= MAX_INT:
        raise ScanError(Code.BAD_NUMBER, start + 1, "an integer that is not signed 64-bit")

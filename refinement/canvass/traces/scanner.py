"""A strict scanner of one JSON document: it finds the first thing wrong, or tells where each value
is.

It is slow and knows no schema. The readers turn to it for a line that the fast decoder refused, to
say where and why, and for the few documents that must be checked before they are decoded.
"""

from __future__ import annotations

import json
import re
from typing import Final

from canvass.traces.errors import Code, TraceError
from canvass.traces.limits import MAX_DEPTH, MAX_INT, MAX_STRING_LENGTH, MAX_TOKENS, MIN_INT

# Without possessive quantifiers, which Python 3.11.2 matches wrongly; none of these backtracks far.
_TEXT: Final = r'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*'
_TOKEN: Final = re.compile(
    rf'[{{}}\[\],:]|{_TEXT}"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null'
)
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_OPEN_TEXT: Final = re.compile(rf"{_TEXT}(?:\\(?:u[0-9a-fA-F]{{0,3}})?)?\Z")
_NO_NUMBER: Final = re.compile(r"-?(?:NaN|Infinity)")
_WORDS: Final = ("true", "false", "null", "-")
_INT_DIGITS: Final = 20


def _space_end(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()


def scan(data: bytes, name: str, line: int) -> dict[str, int]:
    """Check a document and tell the column of each value; ``name`` and ``line`` are for errors.

    Returns
    -------
    dict
        Path such as ``$.state.members[0].vote`` to the column of the value; for an object's field
        also ``path + "="`` to the column of its key.

    Raises
    ------
    TraceError
        At the first fault. ``ENDS_EARLY`` if the document is the beginning of a sound one.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        good = data[: error.start].decode()
        cut = error.end == len(data) and error.reason == "unexpected end of data"
        if not cut:
            raise TraceError(Code.BAD_UTF8, name, line, len(good) + 1, "not UTF-8") from None
        text = good + "\ufffd"
    return _Scanner(text, name, line).run()


class _Scanner:
    """One pass over one document, by recursive descent; the depth is bounded."""

    def __init__(self, text: str, name: str, line: int) -> None:
        self.text = text
        self.places: dict[str, int] = {}
        self._place = name, line
        self._at = self._tokens = 0

    def run(self) -> dict[str, int]:
        self._value(*self._token(), "$", 0)
        end = _space_end(self.text, self._at)
        if end < len(self.text):
            if _TOKEN.match(self.text, end):
                raise self._error(Code.BAD_SYNTAX, end + 1, "text after the document")
            raise self._no_token(end, may_end_early=False)
        return self.places

    def _token(self) -> tuple[str, int]:
        """Give the next token, and where it begins."""
        start = _space_end(self.text, self._at)
        match = _TOKEN.match(self.text, start)
        if match is None:
            raise self._no_token(start, may_end_early=True)
        self._tokens += 1
        if self._tokens > MAX_TOKENS:
            reason = f"more than {MAX_TOKENS} tokens"
            raise self._error(Code.TOO_MANY_TOKENS, start + 1, reason)
        self._at = match.end()
        return match[0], start

    def _no_token(self, position: int, *, may_end_early: bool) -> TraceError:
        """Explain why there is no token here."""
        rest = self.text[position : position + MAX_STRING_LENGTH + 2]
        column = position + 1
        if not rest:
            return self._error(Code.ENDS_EARLY, column, "ends within the document")
        if rest[0] == "\ufeff":
            return self._error(Code.BAD_CHARACTER, column, "a byte order mark")
        if _NO_NUMBER.match(rest):
            return self._error(Code.BAD_NUMBER, column, "not a number that JSON has")
        if may_end_early and (
            _OPEN_TEXT.match(self.text, position) or any(word.startswith(rest) for word in _WORDS)
        ):
            return self._error(Code.ENDS_EARLY, column, "ends within a value")
        if rest[0] == '"':
            bad = re.search(r"[\x00-\x1f]", rest)
            if bad:
                return self._error(
                    Code.BAD_CHARACTER, column + bad.start(), "a control character in a string"
                )
            return self._error(Code.BAD_SYNTAX, column, "a string with an unknown escape")
        if rest[0] < " ":
            return self._error(Code.BAD_CHARACTER, column, "a control character")
        return self._error(Code.BAD_SYNTAX, column, f"unexpected {rest[0]!r}")

    def _value(self, token: str, start: int, path: str, depth: int) -> None:
        self.places[path] = start + 1
        if token in ("{", "["):
            if depth == MAX_DEPTH:
                raise self._error(Code.TOO_DEEP, start + 1, f"nested deeper than {MAX_DEPTH}")
            (self._object if token == "{" else self._array)(path, depth + 1)
        elif token[0] == '"':
            self._string(token, start)
        elif token[0] in "-0123456789":
            self._check_number(token, start)
        elif token in "}],:":
            raise self._unexpected(token, start)

    def _object(self, path: str, depth: int) -> None:
        keys = set[str]()
        token, start = self._token()
        while token != "}":
            if keys:
                self._expect(",", token, start)
                token, start = self._token()
            if token[0] != '"':
                raise self._unexpected(token, start)
            key = self._string(token, start)
            if key in keys:
                raise self._error(Code.DUPLICATE_KEY, start + 1, f"a second {key!r}")
            keys.add(key)
            self.places[f"{path}.{key}="] = start + 1
            self._expect(":", *self._token())
            self._value(*self._token(), f"{path}.{key}", depth)
            token, start = self._token()

    def _array(self, path: str, depth: int) -> None:
        index = 0
        token, start = self._token()
        while token != "]":
            if index:
                self._expect(",", token, start)
                token, start = self._token()
            self._value(token, start, f"{path}[{index}]", depth)
            token, start = self._token()
            index += 1

    def _expect(self, mark: str, token: str, start: int) -> None:
        if token != mark:
            raise self._unexpected(token, start)

    def _unexpected(self, token: str, start: int) -> TraceError:
        return self._error(Code.BAD_SYNTAX, start + 1, f"unexpected {token!r}")

    def _string(self, token: str, start: int) -> str:
        if len(token) - 2 > MAX_STRING_LENGTH:
            reason = f"more than {MAX_STRING_LENGTH} characters"
            raise self._error(Code.STRING_TOO_LONG, start + 1, reason)
        if "\\" not in token:
            return token[1:-1]
        text: str = json.loads(token)
        if any(c == "\x00" or "\ud800" <= c <= "\udfff" for c in text):
            raise self._error(Code.BAD_STRING, start + 1, "NUL or a lone surrogate in a string")
        return text

    def _check_number(self, token: str, start: int) -> None:
        if any(mark in token for mark in ".eE"):
            if len(token) > 2 * _INT_DIGITS or not abs(float(token)) < float("inf"):
                raise self._error(Code.BAD_NUMBER, start + 1, "a number out of range")
        elif len(token) > _INT_DIGITS or not MIN_INT <= int(token) <= MAX_INT:
            raise self._error(Code.BAD_NUMBER, start + 1, "an integer that is not signed 64-bit")

    def _error(self, code: Code, column: int, reason: str) -> TraceError:
        return TraceError(code, *self._place, column, reason)

"""The words of the language of predicates: from text to tokens, each with its column.

Any text is cut in linear time, or refused with one `PredicateError`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from canvass.graph.errors import GraphError

MAX_LENGTH: Final = 4096
MAX_INTEGER: Final = 1 << 53
"""Numbers beyond it are refused; those of a graph have 32 bits."""

_TOKEN: Final = re.compile(
    r"""\s*(?:
      (?P<number>[0-9]+)
    | (?P<string>"[^"\\]*(?:\\.[^"\\]*)*" | '[^'\\]*(?:\\.[^'\\]*)*')
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<sign> \\(?:in|notin|E|A|land|lor|lnot|neg)\b | /\\ | \\/ | <<|>>|=>|==|=<|<=|>=|!=|/=|\.\.
        | [-+=#<>~()\[\]{},.:] )
    | (?P<end>\Z)
    )""",
    re.ASCII | re.VERBOSE | re.DOTALL,
)
_SPACE: Final = " \t\n\r\f\v"
"""What may stand between words; other blanks have no meaning."""
_SAME: Final = {
    "/\\": "and",
    "\\land": "and",
    "\\/": "or",
    "\\lor": "or",
    "~": "not",
    "\\lnot": "not",
    "\\neg": "not",
    "==": "=",
    "#": "!=",
    "/=": "!=",
    "=<": "<=",
    "\\in": "in",
    "\\E": "any",
    "\\A": "all",
}
_WORDS: Final = frozenset({"and", "or", "not", "in", "DOMAIN"})
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}


class PredicateError(GraphError):
    """A text is no predicate, or none of the graph that is asked.

    Parameters
    ----------
    reason
        What is wrong, and what was expected.
    column
        Where, from 1.
    """

    def __init__(self, reason: str, column: int) -> None:
        super().__init__(f"column {column}: {reason}")
        self.reason = reason
        self.column = column


@dataclass(frozen=True, slots=True)
class Token:
    """A word of the language."""

    kind: str
    """``number``, ``string``, ``name``, ``sign`` or ``end``; words with a meaning are signs."""
    text: str
    at: int

    def __str__(self) -> str:
        return "the end" if self.kind == "end" else ascii(self.text[:40])


def tokens_of(text: str) -> list[Token]:
    """Cut a text; the last token is its end.

    Raises
    ------
    PredicateError
        If it is too long, or holds what is no word.
    """
    if len(text) > MAX_LENGTH:
        raise PredicateError(f"longer than {MAX_LENGTH} characters", MAX_LENGTH + 1)
    tokens: list[Token] = []
    at = 0
    while not tokens or tokens[-1].kind != "end":
        found = _TOKEN.match(text, at)
        if found is None:
            start = at + len(text[at:]) - len(text[at:].lstrip(_SPACE))
            if text[start] in "\"'":
                raise PredicateError("the string has no end", start + 1)
            raise PredicateError(f"{text[start]!a} has no meaning here", start + 1)
        kind = str(found.lastgroup)
        token, at = found[kind], found.end()
        if kind == "sign" or token in _WORDS:
            kind, token = "sign", _SAME.get(token, token)
        tokens.append(Token(kind, token, found.start(str(found.lastgroup)) + 1))
    return tokens


def integer_of(token: Token) -> int:
    """Read a number.

    Raises
    ------
    PredicateError
        If it is too large.
    """
    # Digits are counted first: reading a number of thousands of them is slow, and forbidden.
    if len(token.text) > 16 or int(token.text) > MAX_INTEGER:
        raise PredicateError("the number is too large", token.at)
    return int(token.text)


def string_of(token: Token) -> str:
    """Read a string: without its quotes and escapes."""
    return re.sub(
        r"\\(.)", lambda found: _ESCAPED.get(found[1], found[1]), token.text[1:-1], flags=re.DOTALL
    )

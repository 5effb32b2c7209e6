"""The language of predicates: from text to a tree of nodes, each with the column it stands at.

Nothing is evaluated here, and no name is looked up. Length and depth are bounded, so that any text
is read in bounded time: it is a tree or one `PredicateError`. ``docs/guide/graph.md`` describes the
language.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn, TypeAlias

from canvass.graph import GraphError

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


MAX_DEPTH: Final = 32
"""Brackets within brackets; each costs the reader a dozen frames of Python's stack."""
MAX_HEIGHT: Final = 100
"""Operators within operators; each costs the evaluator some frames."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, a string or a truth value."""

    at: int
    value: int | str | bool


@dataclass(frozen=True, slots=True)
class Name:
    """A field of the state, what a quantifier binds, or a model value."""

    at: int
    name: str


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a record: ``base.name``."""

    at: int
    base: Node
    name: str


@dataclass(frozen=True, slots=True)
class Index:
    """A value of a function or an item of a sequence: ``base[index]``."""

    at: int
    base: Node
    index: Node


@dataclass(frozen=True, slots=True)
class Unary:
    """``not x``, ``-x``, ``len(x)``, ``has(x)`` or ``DOMAIN x``."""

    at: int
    operator: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Binary:
    """An operator between two operands; ``in`` is one."""

    at: int
    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Items:
    """``{x, y}`` or ``<<x, y>>``."""

    at: int
    ordered: bool
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Quantified:
    """``any(x in domain: body)``, ``all(..)`` or ``count(..)``."""

    at: int
    operator: str
    variable: str
    domain: Node
    body: Node


Node: TypeAlias = Literal | Name | Field | Index | Unary | Binary | Items | Quantified

_TRUTH: Final = {"true": True, "TRUE": True, "false": False, "FALSE": False}
_CALLS: Final = {"len": "len", "Len": "len", "Cardinality": "len", "has": "has"}
_QUANTIFIERS: Final = ("any", "all", "count")
_COMPARISONS: Final = frozenset({"=", "!=", "<", "<=", ">", ">=", "in"})


class _Parser:
    """Recursive descent; each method reads what it is named after."""

    def __init__(self, text: str) -> None:
        self._tokens = tokens_of(text)
        self._place = 0
        self._depth = 0

    @property
    def token(self) -> Token:
        """The next token."""
        return self._tokens[self._place]

    def take(self) -> Token:
        """Go on by one token."""
        token = self.token
        self._place += token.kind != "end"
        return token

    def is_sign(self, *signs: str) -> bool:
        """Whether the next token is one of the signs."""
        return self.token.kind == "sign" and self.token.text in signs

    def need(self, sign: str, where: str = "") -> Token:
        """Take a sign that must come here."""
        if not self.is_sign(sign):
            self.refuse(f"'{sign}'{where}")
        return self.take()

    def refuse(self, expected: str) -> NoReturn:
        """Say what was expected in place of the next token."""
        raise PredicateError(f"{expected} was expected, not {self.token}", self.token.at)

    def deeper(self, read: Callable[[], Node]) -> Node:
        """Read what is one level deeper."""
        if self._depth >= MAX_DEPTH:
            raise PredicateError(f"nesting is deeper than {MAX_DEPTH}", self.token.at)
        self._depth += 1
        node = read()
        self._depth -= 1
        return node

    def whole(self, *, several: bool) -> tuple[Node, ...]:
        """Read the whole text."""
        nodes = [self.expression()]
        while several and self.is_sign(","):
            self.take()
            nodes.append(self.expression())
        if self.token.kind != "end":
            self.refuse("an operator or the end")
        return tuple(nodes)

    def expression(self) -> Node:
        """``a => b``, which binds weakest."""
        return self.deeper(self._implication)

    def _implication(self) -> Node:
        left = self._chain(("or",), lambda: self._chain(("and",), self._negation))
        if self.is_sign("=>"):
            sign = self.take()
            return Binary(sign.at, "=>", left, self.deeper(self._implication))
        return left

    def _chain(self, signs: Sequence[str], part: Callable[[], Node]) -> Node:
        # TLA+ writes a list of conjuncts with an operator before the first one, too.
        if self.is_sign(*signs) and signs != ("+", "-"):
            self.take()
        left = part()
        while self.is_sign(*signs):
            sign = self.take()
            left = Binary(sign.at, sign.text, left, part())
        return left

    def _negation(self) -> Node:
        if self.is_sign("not"):
            sign = self.take()
            return Unary(sign.at, "not", self.deeper(self._negation))
        return self._comparison()

    def _comparison(self) -> Node:
        left = self._sum()
        sign = self.token
        negated = self.is_sign("\\notin") or (
            self.is_sign("not") and self._tokens[self._place + 1].text == "in"
        )
        if negated:
            self._place += 1 + (sign.text == "not")
            return Unary(sign.at, "not", Binary(sign.at, "in", left, self._range()))
        if sign.kind != "sign" or sign.text not in _COMPARISONS:
            return left
        self.take()
        node = Binary(sign.at, sign.text, left, self._range() if sign.text == "in" else self._sum())
        if self.is_sign(*_COMPARISONS, "\\notin"):
            raise PredicateError(
                f"a comparison cannot be compared; put 'and' before {self.token}", self.token.at
            )
        return node

    def _range(self) -> Node:
        left = self._sum()
        if self.is_sign(".."):
            sign = self.take()
            return Binary(sign.at, "..", left, self._sum())
        return left

    def _sum(self) -> Node:
        return self._chain(("+", "-"), self._signed)

    def _signed(self) -> Node:
        if self.is_sign("-"):
            sign = self.take()
            operand = self.deeper(self._signed)
            if isinstance(operand, Literal) and type(operand.value) is int:
                return Literal(sign.at, -operand.value)
            return Unary(sign.at, "-", operand)
        if self.is_sign("DOMAIN"):
            sign = self.take()
            return Unary(sign.at, "DOMAIN", self.deeper(self._path))
        return self._path()

    def _path(self) -> Node:
        node = self._primary()
        steps = 0
        while self.is_sign(".", "["):
            sign = self.take()
            steps += 1
            if steps > MAX_DEPTH:
                raise PredicateError(f"a path of more than {MAX_DEPTH} steps", sign.at)
            if sign.text == ".":
                if self.token.kind != "name":
                    self.refuse("the name of a field")
                name = self.take()
                node = Field(name.at, node, name.text)
            else:
                items = [self.expression()]
                while self.is_sign(","):  # f[x, y] is f[<<x, y>>].
                    self.take()
                    items.append(self.expression())
                index = items[0] if len(items) == 1 else Items(sign.at, True, tuple(items))
                node = Index(sign.at, node, index)
                self.need("]")
        return node

    def _primary(self) -> Node:
        token = self.token
        if token.kind == "number":
            return Literal(self.take().at, integer_of(token))
        if token.kind == "string":
            return Literal(self.take().at, string_of(token))
        if token.kind == "name":
            return self._named()
        if self.is_sign("any", "all"):  # \E x \in S : P reaches as far as it can.
            return self._quantified(self.take(), closed=False)
        if self.is_sign("("):
            self.take()
            node = self.expression()
            self.need(")")
            return node
        if not self.is_sign("{", "<<"):
            self.refuse("a value")
        return self._items()

    def _named(self) -> Node:
        token = self.take()
        if token.text in _TRUTH:
            return Literal(token.at, _TRUTH[token.text])
        if self.is_sign("("):
            if token.text in _QUANTIFIERS:
                self.take()
                return self._quantified(token, closed=True)
            if token.text not in _CALLS:
                known = ", ".join(sorted((*_QUANTIFIERS, *_CALLS)))
                raise PredicateError(
                    f"no function is called {token.text}: there are {known}", token.at
                )
            self.take()
            operand = self.expression()
            self.need(")")
            return Unary(token.at, _CALLS[token.text], operand)
        return Name(token.at, token.text)

    def _quantified(self, token: Token, *, closed: bool) -> Node:
        if self.token.kind != "name":
            self.refuse("a name to be bound")
        variable = self.take().text
        self.need("in", f" after {variable}")
        domain = self.deeper(self._range)
        self.need(":", " before the condition")
        body = self.expression()
        if closed:
            self.need(")")
        return Quantified(token.at, token.text, variable, domain, body)

    def _items(self) -> Node:
        opening = self.take()
        closing = "}" if opening.text == "{" else ">>"
        items: list[Node] = []
        if not self.is_sign(closing):
            items.append(self.expression())
            while self.is_sign(","):
                self.take()
                items.append(self.expression())
        self.need(closing)
        return Items(opening.at, opening.text == "<<", tuple(items))


def parts_of(node: Node) -> tuple[Node, ...]:
    """Give the expressions that an expression is made of."""
    match node:
        case Literal() | Name():
            return ()
        case Field():
            return (node.base,)
        case Index():
            return (node.base, node.index)
        case Unary():
            return (node.operand,)
        case Binary():
            return (node.left, node.right)
        case Items():
            return node.items
        case Quantified():
            return (node.domain, node.body)


def parse_expressions(text: str, *, several: bool) -> tuple[Node, ...]:
    """Read an expression, or several with commas between them.

    Raises
    ------
    PredicateError
        If the text is anything else.
    """
    nodes = _Parser(text).whole(several=several)
    # A row of operators is a tree as high as the row is long: read in a loop, and yet too high.
    level: list[Node] = list(nodes)
    for _ in range(MAX_HEIGHT):
        level = [part for node in level for part in parts_of(node)]
    if level:
        raise PredicateError(f"more than {MAX_HEIGHT} operators within each other", level[0].at)
    return nodes

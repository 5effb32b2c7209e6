"""The language of conditions: from text to a tree of nodes, each with its column.

Nothing is evaluated here, and no name is looked up. Lark reads the text by the grammar below.
Length and height are bounded, so any text is read in bounded time; the result is a tree or a
`PredicateError`. ``docs/guide/graph.md`` describes the language.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final, cast

from lark import Lark, Token, Transformer, UnexpectedCharacters, UnexpectedToken, v_args

from canvass.graph import GraphError

MAX_LENGTH: Final = 4096
MAX_INTEGER: Final = 1 << 53
"""Larger numbers are refused; the numbers of a graph have 32 bits."""
MAX_HEIGHT: Final = 100
"""The most nested operators and brackets; each costs the evaluator some frames of the stack."""

# TLA+ allows an operator before the first conjunct: `leading`. The body of \E and \A reaches as far
# as possible, as Lark prefers to shift.
_GRAMMAR: Final = r"""
single: expression
several: _list
_list: expression ("," expression)*

?expression: disjuncts | disjuncts IMPLIES expression -> operation
?disjuncts: disjunction | OR disjunction -> leading
?disjunction: conjuncts | disjunction OR conjuncts -> operation
?conjuncts: conjunction | AND conjunction -> leading
?conjunction: negation | conjunction AND negation -> operation
?negation: comparison | open | NOT negation -> unary
?open: (EVERY | SOME) NAME IN range ":" expression -> quantified
?comparison: sum | sum COMPARISON (sum | open) -> operation | sum IN range -> operation
    | sum (NOT IN | NOT_IN) range -> not_in
?range: sum | sum RANGE sum -> operation | domain
?domain: DOMAIN path -> unary | "(" domain ")"
?sum: signed | sum (PLUS | MINUS) signed -> operation
?signed: path | MINUS signed -> negative
?path: value | path "." NAME -> field | path LEFT_BRACKET _list "]" -> index
?value: NUMBER -> number | STRING -> string | NAME -> name | FUNCTION "(" expression ")" -> call
    | QUANTIFIER "(" NAME IN range ":" expression ")" -> quantified
    | LEFT_BRACE [_list] "}" -> items | LEFT_TUPLE [_list] _RIGHT_TUPLE -> items
    | "(" expression ")"

QUANTIFIER.2: /(any|all|count)(?=\s*\()/
FUNCTION.1: /(?!(and|or|not|in|DOMAIN)\b)[A-Za-z_]\w*(?=\s*\()/
NAME: /(?!(and|or|not|in|DOMAIN)\b)[A-Za-z_]\w*/
NUMBER: /[0-9]+/
STRING: /"[^"\\]*(\\.[^"\\]*)*"|'[^'\\]*(\\.[^'\\]*)*'/s
IMPLIES: "=>"
OR: /or\b|\\\/|\\lor\b/
AND: /and\b|\/\\|\\land\b/
NOT: /not\b|~|\\lnot\b|\\neg\b/
IN: /in\b|\\in\b/
NOT_IN: /\\notin\b/
SOME: /\\E\b/
EVERY: /\\A\b/
DOMAIN: /DOMAIN\b/
COMPARISON: /==|=<|<=(?!=)|>=|!=|\/=|#|<(?!<)|>(?!>)|=(?!>)/
RANGE: ".."
PLUS: "+"
MINUS: "-"
LEFT_BRACKET: "["
LEFT_BRACE: "{"
LEFT_TUPLE: "<<"
_RIGHT_TUPLE: ">>"
%ignore /[ \t\n\r\f\v]+/
"""
_OPERATORS: Final = {
    "OR": "or",
    "AND": "and",
    "NOT": "not",
    "IN": "in",
    "NOT_IN": "in",
    "SOME": "any",
    "EVERY": "all",
    "==": "=",
    "#": "!=",
    "/=": "!=",
    "=<": "<=",
}
"""The name of an operator in the tree, by its terminal or its text; others keep their text."""
_CLOSING: Final = ("RPAR", "RSQB", "RBRACE", "_RIGHT_TUPLE", "COLON")
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
_TRUTH: Final = {"true": True, "TRUE": True, "false": False, "FALSE": False}
_CALLS: Final = {"len": "len", "Len": "len", "Cardinality": "len", "has": "has"}
_QUANTIFIERS: Final = ("any", "all", "count")


class PredicateError(GraphError):
    """A text is no predicate, or no predicate of the queried graph.

    Parameters
    ----------
    reason
        The mistake, and the expected token.
    column
        The column of the mistake, from 1.
    """

    def __init__(self, reason: str, column: int) -> None:
        super().__init__(f"column {column}: {reason}")
        self.reason = reason
        self.column = column


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """An expression.

    Attributes
    ----------
    at
        The column of the expression, from 1.
    kind
        ``literal``, ``name``, ``field`` (``base.name``), ``index`` (``base[index]``), ``set`` or
        ``tuple`` of items, a quantifier (``any``, ``all``, ``count``), ``negative``, or the name of
        an operator: ``not``, ``len``, ``has``, ``DOMAIN``, ``and``, ``=``, ``in``, ``..``, ``+``.
    parts
        The operands; for a quantifier, its domain and its body.
    value
        The value of a literal; for other kinds, the name of a field or of a variable.
    """

    at: int
    kind: str
    parts: tuple[Node, ...] = ()
    value: int | str | bool = ""


def _column(token: Token) -> int:
    return (token.start_pos or 0) + 1


def _operator(token: Token) -> str:
    return _OPERATORS.get(token.type, _OPERATORS.get(token, str(token)))


@v_args(inline=True)
class _Tree(Transformer[Token, tuple[Node, ...]]):
    """Makes the nodes; each method is named after a rule of the grammar."""

    def several(self, *nodes: Node) -> tuple[Node, ...]:
        return nodes

    single = several

    def leading(self, _: Token, node: Node) -> Node:
        return node

    def operation(self, left: Node, sign: Token, right: Node) -> Node:
        return Node(_column(sign), _operator(sign), (left, right))

    def unary(self, sign: Token, operand: Node) -> Node:
        return Node(_column(sign), _operator(sign), (operand,))

    def not_in(self, left: Node, sign: Token, *rest: Token | Node) -> Node:
        at, right = _column(sign), rest[-1]
        assert not isinstance(right, Token)
        return Node(at, "not", (Node(at, "in", (left, right)),))

    def negative(self, sign: Token, operand: Node) -> Node:
        if operand.kind == "literal" and type(operand.value) is int:
            return Node(_column(sign), "literal", value=-operand.value)
        return Node(_column(sign), "negative", (operand,))

    def field(self, base: Node, name: Token) -> Node:
        return Node(_column(name), "field", (base,), str(name))

    def index(self, base: Node, bracket: Token, *items: Node) -> Node:
        # f[x, y] is f[<<x, y>>].
        at = _column(bracket)
        return Node(at, "index", (base, items[0] if len(items) == 1 else Node(at, "tuple", items)))

    def number(self, token: Token) -> Node:
        # Digits are counted first: Python refuses to read a number of thousands of digits.
        if len(token) > 16 or int(token) > MAX_INTEGER:
            raise PredicateError("the number is too large", _column(token))
        return Node(_column(token), "literal", value=int(token))

    def string(self, token: Token) -> Node:
        def unescaped(found: re.Match[str]) -> str:
            return _ESCAPED.get(found[1], found[1])

        text = re.sub(r"\\(.)", unescaped, token[1:-1], flags=re.DOTALL)
        return Node(_column(token), "literal", value=text)

    def name(self, token: Token) -> Node:
        if token in _TRUTH:
            return Node(_column(token), "literal", value=_TRUTH[token])
        return Node(_column(token), "name", value=str(token))

    def call(self, function: Token, operand: Node) -> Node:
        return Node(_column(function), _CALLS[function], (operand,))

    def quantified(self, sign: Token, name: Token, _: Token, domain: Node, body: Node) -> Node:
        return Node(_column(sign), _operator(sign), (domain, body), str(name))

    def items(self, opening: Token, *items: Node | None) -> Node:
        there = tuple(item for item in items if item is not None)
        return Node(_column(opening), "tuple" if opening.type == "LEFT_TUPLE" else "set", there)

    def FUNCTION(self, token: Token) -> Token:  # noqa: N802 (Lark calls it by the terminal's name)
        if token not in _CALLS:
            known = ", ".join(sorted((*_QUANTIFIERS, *_CALLS)))
            reason = f"no function is called {token[:40]}: there are {known}"
            raise PredicateError(reason, _column(token))
        return token


@cache
def _parser() -> Lark:
    return Lark(
        _GRAMMAR,
        parser="lalr",
        lexer="basic",
        start=["single", "several"],
        transformer=_Tree(),
        g_regex_flags=re.ASCII,
    )


def _refusal(error: UnexpectedToken, text: str) -> PredicateError:
    """Make the error for an unexpected token."""
    accepted, at_end = error.accepts or set(), error.token.type == "$END"
    at = len(text) + 1 if at_end else _column(error.token)
    there = "the end" if at_end else ascii(str(error.token)[:40])
    if error.token.type == "DOMAIN":
        return PredicateError("DOMAIN may stand after 'in' only", at)
    signs = [_parser().get_terminal(name).pattern.value for name in _CLOSING if name in accepted]
    if "NUMBER" in accepted:
        expected = "a value"
    elif "NAME" in accepted:
        expected = "a name"
    elif accepted == {"IN"}:
        expected = "'in'"
    elif error.token.type in ("COMPARISON", "IN", "NOT_IN"):
        return PredicateError(f"a comparison cannot be compared; put 'and' before {there}", at)
    else:
        expected = f"an operator or {ascii(signs[0]) if signs else 'the end'}"
    return PredicateError(f"{expected} was expected, not {there}", at)


def parse_expressions(text: str, *, several: bool) -> tuple[Node, ...]:
    """Read an expression, or several with commas between them.

    Raises
    ------
    PredicateError
        If the text is anything else.
    """
    if len(text) > MAX_LENGTH:
        raise PredicateError(f"longer than {MAX_LENGTH} characters", MAX_LENGTH + 1)
    try:
        read: object = _parser().parse(text, start="several" if several else "single")
    except UnexpectedToken as error:
        raise _refusal(error, text) from None
    except UnexpectedCharacters as error:
        place = cast("int", error.pos_in_stream)
        if text[place] in "\"'":
            raise PredicateError("the string has no end", place + 1) from None
        raise PredicateError(f"{text[place]!a} has no meaning here", place + 1) from None
    nodes = cast("tuple[Node, ...]", read)  # The transformer's result for the whole text.
    level: list[Node] = list(nodes)
    for _ in range(MAX_HEIGHT):
        level = [part for node in level for part in node.parts]
    if level:
        raise PredicateError(f"more than {MAX_HEIGHT} operators within each other", level[0].at)
    return nodes


def names_in(node: Node) -> Iterator[Node]:
    """Give the names in an expression that no quantifier binds."""
    if node.kind == "name":
        yield node
    elif node.kind in _QUANTIFIERS:
        yield from names_in(node.parts[0])
        yield from (name for name in names_in(node.parts[1]) if name.value != node.value)
    else:
        for part in node.parts:
            yield from names_in(part)


def nodes_in(node: Node) -> Iterator[Node]:
    """Give an expression and all expressions in it."""
    yield node
    for part in node.parts:
        yield from nodes_in(part)


def near(name: str, known: Iterable[str]) -> str:
    """Give a hint with the most similar name, or with the known names."""
    names = sorted(name if name.isprintable() else ascii(name) for name in known)
    folded = {one.replace("_", "").lower(): one for one in names}
    plain = name.replace("_", "").lower()
    found = difflib.get_close_matches(plain, folded, n=1)
    if found:
        return f"; did you mean {folded[found[0]]}"
    if not names:
        return ""
    return f"; there are {', '.join(names[:12])}{', ...' if len(names) > 12 else ''}"

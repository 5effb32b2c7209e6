"""Names in expressions, and how messages name things: what may have been meant, what a value is."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import Final

from canvass.graph.interned import Kind
from canvass.graph.syntax import (
    Binary,
    Field,
    Index,
    Items,
    Literal,
    Name,
    Node,
    Quantified,
    Unary,
)

_NAMES: Final = {
    Kind.BOOL: "a truth value",
    Kind.INT: "a number",
    Kind.STR: "a string",
    Kind.MODEL: "a model value",
    Kind.SET: "a set",
    Kind.SEQ: "a sequence",
    Kind.RECORD: "a record",
    Kind.FUNCTION: "a function",
}


def names_in(nodes: Iterable[Node]) -> Iterator[Name]:
    """Give the names in expressions that no quantifier binds."""
    for node in nodes:
        match node:
            case Name():
                yield node
            case Field():
                yield from names_in([node.base])
            case Index():
                yield from names_in([node.base, node.index])
            case Unary():
                yield from names_in([node.operand])
            case Binary():
                yield from names_in([node.left, node.right])
            case Items():
                yield from names_in(node.items)
            case Quantified():
                yield from names_in([node.domain])
                inner = names_in([node.body])
                yield from (name for name in inner if name.name != node.variable)
            case Literal():
                pass


def strings_in(node: Node) -> Iterator[Literal]:
    """Give the strings in an expression."""
    match node:
        case Literal(value=str()):
            yield node
        case Field(base=one) | Unary(operand=one):
            yield from strings_in(one)
        case Index(base=one, index=two) | Binary(left=one, right=two):
            yield from strings_in(one)
            yield from strings_in(two)
        case Quantified(domain=one, body=two):
            yield from strings_in(one)
            yield from strings_in(two)
        case Items(items=items):
            for item in items:
                yield from strings_in(item)
        case Literal() | Name():
            pass


def near(name: str, known: Iterable[str]) -> str:
    """Say which name may have been meant, or which there are."""
    names = sorted(name if name.isprintable() else ascii(name) for name in known)
    folded = {one.replace("_", "").lower(): one for one in names}
    plain = name.replace("_", "").lower()
    found = difflib.get_close_matches(plain, folded, n=1)
    if found:
        return f"; did you mean {folded[found[0]]}"
    if not names:
        return ""
    return f"; there are {', '.join(names[:12])}{', ...' if len(names) > 12 else ''}"


def said(kinds: set[Kind]) -> str:
    """Name kinds for a message."""
    names = [_NAMES[kind] for kind in sorted(kinds)]
    return " or ".join(names) if names else "absent everywhere"

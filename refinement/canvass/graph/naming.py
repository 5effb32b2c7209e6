"""Names in expressions, and how messages name things: what may have been meant, what a value is."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import Final

from canvass.graph.interned import Kind
from canvass.graph.syntax import Literal, Name, Node, Quantified, parts_of

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
        if isinstance(node, Name):
            yield node
        elif isinstance(node, Quantified):
            yield from names_in([node.domain])
            inner = names_in([node.body])
            yield from (name for name in inner if name.name != node.variable)
        else:
            yield from names_in(parts_of(node))


def strings_in(node: Node) -> Iterator[Literal]:
    """Give the strings in an expression."""
    if isinstance(node, Literal) and isinstance(node.value, str):
        yield node
    for part in parts_of(node):
        yield from strings_in(part)


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

"""Evaluate expressions in all states of a graph at once, over columns of interned values.

Every operator is total: what is absent makes a comparison false. What can be known to be a mistake
is an error with its column: a name that is no field, a field that no record has, an operator whose
operands are of another kind.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from canvass.graph.interned import Kind
from canvass.graph.syntax import (
    Binary,
    Field,
    Index,
    Items,
    Literal,
    Name,
    Node,
    PredicateError,
    Quantified,
    Unary,
)
from canvass.graph.vectors import (
    UNKNOWN,
    Kernel,
    Mask,
    Nodes,
    Numbers,
    Truths,
    Vector,
    keys_of,
    length,
    present,
    take,
)

MAX_PAIRS: Final = 400_000_000
"""How many pairs of a state and a bound value the quantifiers of one expression may go through."""
_AT_ONCE: Final = 1 << 20
"""How many such pairs are held at a time."""

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
_ORDERS: Final[Mapping[str, Callable[..., NDArray[np.bool_]]]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
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


def near(name: str, known: Iterable[str]) -> str:
    """Say which name may have been meant, or which there are."""
    names = sorted(known)
    folded = {one.replace("_", "").lower(): one for one in names}
    plain = name.replace("_", "").lower()
    found = difflib.get_close_matches(plain, folded, n=1)
    if found:
        return f"; did you mean {folded[found[0]]}"
    if not names:
        return ""
    return f"; there are {', '.join(names[:12])}{', ...' if len(names) > 12 else ''}"


class Evaluator:
    """Evaluates expressions of one graph.

    Parameters
    ----------
    kernel
        The values of the graph.
    fields
        The columns of the fields that the expressions name.
    known
        The names of all fields, for messages.
    count
        How many states there are.
    """

    def __init__(
        self, kernel: Kernel, fields: Mapping[str, Nodes], known: Iterable[str], count: int
    ) -> None:
        self.kernel = kernel
        self._bound: Mapping[str, Vector] = dict(fields)
        self._fields = tuple(known)
        self._count = count
        self._spent = [0]

    # --- contexts ---------------------------------------------------------------------------------

    def _at(self, places: NDArray[np.int64], names: frozenset[str]) -> Evaluator:
        """Give an evaluator of some states, each as often as its place occurs."""
        other = object.__new__(Evaluator)
        other.kernel, other._fields = self.kernel, self._fields
        other._spent, other._count = self._spent, len(places)
        other._bound = {
            name: take(vector, places) for name, vector in self._bound.items() if name in names
        }
        return other

    def _only(self, mask: Mask, node: Node) -> Evaluator:
        names = frozenset(name.name for name in names_in([node]))
        return self._at(np.flatnonzero(mask), names)

    # --- conditions -------------------------------------------------------------------------------

    def truths(self, node: Node) -> Mask:
        """Tell in which states a condition holds.

        Raises
        ------
        PredicateError
            If it is no condition, or names what is not there.
        """
        vector = self.vector(node)
        if isinstance(vector, Truths):
            return vector.holds
        kinds = self._kinds(vector)
        if kinds - {Kind.BOOL}:
            raise PredicateError(f"a condition was expected; this is {_said(kinds)}", node.at)
        return self.kernel.truths(vector.nodes).holds if isinstance(vector, Nodes) else _no(vector)

    def _kinds(self, vector: Vector) -> set[Kind]:
        if isinstance(vector, Nodes):
            return self.kernel.kinds_among(vector.nodes)
        return {Kind.INT if isinstance(vector, Numbers) else Kind.BOOL}

    def vector(self, node: Node) -> Vector:
        """Give the value of an expression in each state."""
        match node:
            case Literal():
                return self._literal(node)
            case Name():
                return self._name(node)
            case Field():
                return self._field(node)
            case Index():
                return self._index(node)
            case Unary():
                return self._unary(node)
            case Binary():
                return self._binary(node)
            case Items():
                return self._items(node)
            case Quantified():
                return self._quantified(node)

    def _literal(self, node: Literal) -> Vector:
        value = node.value
        if isinstance(value, bool):
            return Truths(np.full(self._count, value))
        if isinstance(value, int):
            numbers = np.full(self._count, value, dtype=np.int64)
            return Numbers(numbers, np.ones(self._count, dtype=np.bool_))
        return Nodes(np.full(self._count, self.kernel.string(value), dtype=np.int32))

    def _name(self, node: Name) -> Vector:
        bound = self._bound.get(node.name)
        if bound is not None:
            return bound
        model = self.kernel.table.scalar_node(Kind.MODEL, node.name)
        if model is not None:
            return Nodes(np.full(self._count, model, dtype=np.int32))
        if self.kernel.table.scalar_node(Kind.STR, node.name) is not None:
            hint = f'; did you mean "{node.name}", in quotes'
        else:
            hint = near(node.name, (*self._fields, *self.kernel.table.model_values))
        raise PredicateError(f"no field {node.name}{hint}", node.at)

    def _field(self, node: Field) -> Vector:
        base = self.vector(node.base)
        kinds = self._kinds(base)
        if kinds and Kind.RECORD not in kinds:
            raise PredicateError(f"{_said(kinds)} has no field {node.name}", node.at)
        assert isinstance(base, Nodes)
        found, any_has = self.kernel.field(base.nodes, node.name)
        if not any_has:
            self._refuse_field(node, base)
        return Nodes(found)

    def _refuse_field(self, node: Field, base: Nodes) -> None:
        """Refuse a field that none of these records has, or, without any, no record at all."""
        table = self.kernel.table
        records = base.nodes[self.kernel.kinds(base.nodes) == Kind.RECORD]
        shapes = [table.shapes[code] for code in np.unique(table.scalar[records]).tolist()]
        names = {name for shape in (shapes or table.shapes) for name in shape}
        if node.name not in names:
            raise PredicateError(
                f"no record here has a field {node.name}{near(node.name, names)}", node.at
            )

    def _index(self, node: Index) -> Vector:
        base = self.vector(node.base)
        kinds = self._kinds(base)
        if kinds and not kinds & {Kind.FUNCTION, Kind.SEQ, Kind.RECORD}:
            raise PredicateError(
                f"a function or sequence was expected before [; this is {_said(kinds)}", node.at
            )
        assert isinstance(base, Nodes)
        return Nodes(self.kernel.apply(base.nodes, self.vector(node.index)))

    # --- operators --------------------------------------------------------------------------------

    def _unary(self, node: Unary) -> Vector:
        match node.operator:
            case "not":
                return Truths(~self.truths(node.operand))
            case "-":
                numbers = self._numbers(node.operand, "-", node.at)
                return replace(numbers, values=-numbers.values)
            case "has":
                return Truths(present(self.vector(node.operand)))
            case "len":
                operand = self.vector(node.operand)
                kinds = self._kinds(operand)
                if not isinstance(operand, Nodes) or not all(kind >= Kind.SET for kind in kinds):
                    raise PredicateError(
                        f"len needs a set, sequence, function or record; this is {_said(kinds)}",
                        node.at,
                    )
                return self.kernel.sizes(operand.nodes)
            case _:
                raise PredicateError("DOMAIN may stand after 'in' only", node.at)

    def _numbers(self, node: Node, operator: str, at: int) -> Numbers:
        vector = self.vector(node)
        if isinstance(vector, Numbers):
            return vector
        kinds = self._kinds(vector)
        if kinds - {Kind.INT} or isinstance(vector, Truths):
            raise PredicateError(f"{operator} needs numbers; there is {_said(kinds)}", at)
        return self.kernel.numbers(vector.nodes)

    def _binary(self, node: Binary) -> Vector:
        operator = node.operator
        if operator in ("and", "or", "=>"):
            return Truths(self._connected(node))
        if operator == "in":
            return Truths(self._is_in(node))
        if operator == "..":
            raise PredicateError("a range may stand after 'in' only", node.at)
        if operator in ("=", "!="):
            left, right = self.vector(node.left), self.vector(node.right)
            equal = self.kernel.equal(left, right)
            return Truths(equal if operator == "=" else present(left) & present(right) & ~equal)
        one = self._numbers(node.left, operator, node.at)
        two = self._numbers(node.right, operator, node.at)
        both = one.present & two.present
        if operator in _ORDERS:
            return Truths(_ORDERS[operator](one.values, two.values) & both)
        values = one.values + two.values if operator == "+" else one.values - two.values
        return Numbers(values, both)

    def _connected(self, node: Binary) -> Mask:
        """The right side is asked only where the left one has not decided."""
        left = self.truths(node.left)
        if node.operator == "=>":
            left = ~left
        ask = left if node.operator == "and" else ~left
        out = left.copy()
        out[ask] = self._only(ask, node.right).truths(node.right)
        return out

    def _is_in(self, node: Binary) -> Mask:
        element = self.vector(node.left)
        match node.right:
            case Items(ordered=False, items=items):
                found = np.zeros(self._count, dtype=np.bool_)
                for item in items:
                    found |= self.kernel.equal(element, self.vector(item))
                return found
            case Binary(operator="..", left=low, right=high):
                number = self._numbers(node.left, "in a range", node.at)
                least = self._numbers(low, "..", node.right.at)
                most = self._numbers(high, "..", node.right.at)
                inside = (number.values >= least.values) & (number.values <= most.values)
                return inside & number.present & least.present & most.present
            case _:
                pass
        owner, members = self._members(node.right)
        keys = keys_of(element, self.kernel.table)
        found = np.zeros(self._count, dtype=np.bool_)
        found[owner[(members == keys[owner]) & (members != UNKNOWN)]] = True
        return found & present(element)

    def _items(self, node: Items) -> Vector:
        kind = Kind.SEQ if node.ordered else Kind.SET
        if not node.items:
            empty = self.kernel.empty(kind)
            return Nodes(np.full(self._count, empty, dtype=np.int32))
        parts = [keys_of(self.vector(item), self.kernel.table) for item in node.items]
        return Nodes(self.kernel.composed(kind, parts))

    # --- quantifiers ------------------------------------------------------------------------------

    def _members(self, node: Node) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Give what a set, sequence or function of each state holds: place of the state, node."""
        positions = isinstance(node, Unary) and node.operator == "DOMAIN"
        of = node.operand if isinstance(node, Unary) and positions else node
        vector = self.vector(of)
        kinds = self._kinds(vector)
        if not isinstance(vector, Nodes) or not all(kind >= Kind.SET for kind in kinds):
            raise PredicateError(
                f"a set, sequence or function was expected; this is {_said(kinds)}", of.at
            )
        if positions and Kind.SET in kinds:
            raise PredicateError("a set has no DOMAIN", of.at)
        owner, members = self.kernel.members(vector.nodes)
        if positions and Kind.SEQ in kinds:
            members = self._positions(vector, owner, members)
        return owner, members

    def _positions(
        self, vector: Nodes, owner: NDArray[np.int64], members: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """Give the numbers of items in place of the items of sequences."""
        places = np.arange(len(owner)) - np.searchsorted(owner, owner) + 1
        numbers = keys_of(Numbers(places, np.ones(len(places), dtype=np.bool_)), self.kernel.table)
        in_sequence = self.kernel.kinds(vector.nodes)[owner] == Kind.SEQ
        return np.where(in_sequence, numbers, members).astype(np.int32)

    def _quantified(self, node: Quantified) -> Vector:
        counts = np.zeros(self._count, dtype=np.int64)
        sizes = np.zeros(self._count, dtype=np.int64)
        names = frozenset(name.name for name in names_in([node.body])) | {node.variable}
        for owner, value in self._domain(node):
            np.add.at(sizes, owner, 1)
            for start in range(0, len(owner), _AT_ONCE):
                part = slice(start, start + _AT_ONCE)
                inner = self._at(owner[part], names)
                inner._bound = {**inner._bound, node.variable: _part(value, part)}
                np.add.at(counts, owner[part], inner.truths(node.body))
        if node.operator == "any":
            return Truths(counts > 0)
        if node.operator == "all":
            return Truths(counts == sizes)
        return Numbers(counts, np.ones(self._count, dtype=np.bool_))

    def _domain(self, node: Quantified) -> Iterator[tuple[NDArray[np.int64], Vector]]:
        """Give the values to be bound, with the states that they are bound in."""
        everywhere = np.arange(self._count)
        match node.domain:
            case Items(ordered=False, items=items):
                vectors = [self.vector(item) for item in items]
                for place, vector in enumerate(vectors):
                    # A set has an element once, however often it is written.
                    fresh = present(vector)
                    for earlier in vectors[:place]:
                        fresh &= ~self.kernel.equal(earlier, vector)
                    rows = np.flatnonzero(fresh)
                    self._spend(len(rows), node.at)
                    yield rows, take(vector, rows)
            case Binary(operator="..", left=low, right=high):
                least = self._numbers(low, "..", node.domain.at)
                most = self._numbers(high, "..", node.domain.at)
                there = least.present & most.present & (least.values <= most.values)
                rows = everywhere[there]
                widths = most.values[rows] - least.values[rows] + 1
                self._spend(int(widths.sum()), node.at)
                owner = np.repeat(rows, widths)
                first = np.repeat(np.cumsum(widths) - widths, widths)
                values = least.values[owner] + np.arange(len(owner)) - first
                yield owner, Numbers(values, np.ones(len(owner), dtype=np.bool_))
            case _:
                owner, members = self._members(node.domain)
                self._spend(len(owner), node.at)
                # Without a state to go through, the body is still looked at for mistakes.
                yield owner, Nodes(members)

    def _spend(self, pairs: int, at: int) -> None:
        self._spent[0] += pairs
        if self._spent[0] > MAX_PAIRS:
            _too_much(at)


def _too_much(at: int) -> NoReturn:
    raise PredicateError(f"the quantifiers go through more than {MAX_PAIRS:,} values", at)


def _part(vector: Vector, part: slice) -> Vector:
    if isinstance(vector, Truths):
        return Truths(vector.holds[part])
    if isinstance(vector, Numbers):
        return Numbers(vector.values[part], vector.present[part])
    return Nodes(vector.nodes[part])


def _no(vector: Vector) -> Mask:
    return np.zeros(length(vector), dtype=np.bool_)


def _said(kinds: set[Kind]) -> str:
    """Name kinds for a message."""
    names = [_NAMES[kind] for kind in sorted(kinds)]
    return " or ".join(names) if names else "absent everywhere"

"""Evaluate expressions in all states of a graph at once, over columns of interned values.

Every operator is total: what is absent makes a comparison false. What can be known to be a mistake
is an error with its column: a name that is no field, a field that no record has, an operator whose
operands are of another kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from canvass.graph.interned import Kind
from canvass.graph.naming import names_in, near, said
from canvass.graph.quantify import members_of, quantified
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
from canvass.graph.tokens import PredicateError
from canvass.graph.vectors import (
    Kernel,
    Mask,
    Nodes,
    Numbers,
    Truths,
    Vector,
    length,
    present,
    take,
)

_NONE: Final[Mapping[str, Vector]] = {}
_ORDERS: Final[Mapping[str, Callable[..., NDArray[np.bool_]]]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


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
        self._bound: dict[str, Vector] = dict(fields)
        self._fields = tuple(known)
        self.count = count
        self.spent = [0]

    # --- contexts ---------------------------------------------------------------------------------

    def at(
        self, places: NDArray[np.int64], names: frozenset[str], bound: Mapping[str, Vector] = _NONE
    ) -> Evaluator:
        """Give an evaluator of some states, each as often as its place occurs.

        Parameters
        ----------
        places
            The states.
        names
            The names that are needed there.
        bound
            What is bound there besides.
        """
        other = object.__new__(Evaluator)
        other.kernel, other._fields = self.kernel, self._fields
        other.spent, other.count = self.spent, len(places)
        other._bound = {
            name: take(vector, places)
            for name, vector in self._bound.items()
            if name in names and name not in bound
        }
        other._bound |= bound
        return other

    def _only(self, mask: Mask, node: Node) -> Evaluator:
        names = frozenset(name.name for name in names_in([node]))
        return self.at(np.flatnonzero(mask), names)

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
        kinds = self.kinds(vector)
        if kinds - {Kind.BOOL}:
            raise PredicateError(f"a condition was expected; this is {said(kinds)}", node.at)
        return self.kernel.truths(vector.nodes).holds if isinstance(vector, Nodes) else _no(vector)

    def kinds(self, vector: Vector) -> set[Kind]:
        """Give the kinds of value that occur."""
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
                return quantified(self, node)

    def _literal(self, node: Literal) -> Vector:
        value = node.value
        if isinstance(value, bool):
            return Truths(np.full(self.count, value))
        if isinstance(value, int):
            numbers = np.full(self.count, value, dtype=np.int64)
            return Numbers(numbers, np.ones(self.count, dtype=np.bool_))
        return Nodes(np.full(self.count, self.kernel.scalar(Kind.STR, value), dtype=np.int32))

    def _name(self, node: Name) -> Vector:
        bound = self._bound.get(node.name)
        if bound is not None:
            return bound
        model = self.kernel.table.scalar_node(Kind.MODEL, node.name)
        if model is not None:
            return Nodes(np.full(self.count, model, dtype=np.int32))
        if self.kernel.table.scalar_node(Kind.STR, node.name) is not None:
            hint = f'; did you mean "{node.name}", in quotes'
        else:
            hint = near(node.name, (*self._fields, *self.kernel.table.model_values))
        raise PredicateError(f"no field {node.name}{hint}", node.at)

    def _field(self, node: Field) -> Vector:
        base = self.vector(node.base)
        kinds = self.kinds(base)
        if kinds and Kind.RECORD not in kinds:
            hint = self._of_member(node) if kinds == {Kind.INT} else ""
            raise PredicateError(f"{said(kinds)} has no field {node.name}{hint}", node.at)
        assert isinstance(base, Nodes)
        found, any_has = self.kernel.field(base.nodes, node.name)
        if not any_has:
            self._refuse_field(node, base)
        return Nodes(found)

    def _of_member(self, node: Field) -> str:
        """Say what to write where a member's number stands for the member."""
        known = next((name for name in ("member", "members") if name in self._fields), None)
        if known is None or not isinstance(node.base, Name) or node.base.name in self._fields:
            return ""
        number = node.base.name
        return f"; {number} is the number of a member: write {known}[{number}].{node.name}"

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
        kinds = self.kinds(base)
        if kinds and not kinds & {Kind.FUNCTION, Kind.SEQ, Kind.RECORD}:
            raise PredicateError(
                f"a function or sequence was expected before [; this is {said(kinds)}", node.at
            )
        assert isinstance(base, Nodes)
        return Nodes(self.kernel.apply(base.nodes, self.vector(node.index)))

    # --- operators --------------------------------------------------------------------------------

    def _unary(self, node: Unary) -> Vector:
        match node.operator:
            case "not":
                return Truths(~self.truths(node.operand))
            case "-":
                numbers = self.numbers(node.operand, "-", node.at)
                return replace(numbers, values=-numbers.values)
            case "has":
                return Truths(present(self.vector(node.operand)))
            case "len":
                operand = self.vector(node.operand)
                kinds = self.kinds(operand)
                if not isinstance(operand, Nodes) or not all(kind >= Kind.SET for kind in kinds):
                    raise PredicateError(
                        f"len needs a set, sequence, function or record; this is {said(kinds)}",
                        node.at,
                    )
                return self.kernel.sizes(operand.nodes)
            case _:
                raise PredicateError("DOMAIN may stand after 'in' only", node.at)

    def numbers(self, node: Node, operator: str, at: int) -> Numbers:
        """Give an expression that must be a number."""
        vector = self.vector(node)
        if isinstance(vector, Numbers):
            return vector
        kinds = self.kinds(vector)
        if kinds - {Kind.INT} or isinstance(vector, Truths):
            raise PredicateError(f"{operator} needs numbers; there is {said(kinds)}", at)
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
        one = self.numbers(node.left, operator, node.at)
        two = self.numbers(node.right, operator, node.at)
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
            case Items(items=items):
                found = np.zeros(self.count, dtype=np.bool_)
                for item in items:
                    found |= self.kernel.equal(element, self.vector(item))
                return found
            case Binary(operator="..", left=low, right=high):
                number = self.numbers(node.left, "in a range", node.at)
                least = self.numbers(low, "..", node.right.at)
                most = self.numbers(high, "..", node.right.at)
                inside = (number.values >= least.values) & (number.values <= most.values)
                return inside & number.present & least.present & most.present
            case _:
                pass
        owner, members = members_of(self, node.right)
        found = np.zeros(self.count, dtype=np.bool_)
        found[owner[self.kernel.equal(take(element, owner), Nodes(members))]] = True
        return found

    def _items(self, node: Items) -> Vector:
        kind = Kind.SEQ if node.ordered else Kind.SET
        if not node.items:
            empty = self.kernel.empty(kind)
            return Nodes(np.full(self.count, empty, dtype=np.int32))
        parts = [self.kernel.keys(self.vector(item)) for item in node.items]
        return Nodes(self.kernel.composed(kind, parts))


def _no(vector: Vector) -> Mask:
    return np.zeros(length(vector), dtype=np.bool_)

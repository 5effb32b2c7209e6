"""`Predicate`: a condition on states, evaluated in all states of a graph at once, over columns of
interned values.

`canvass.graph.syntax` reads the language; Python never evaluates the text. ``docs/guide/graph.md``
describes it. Every operator is total: a comparison with an absent value is false. A certain mistake
is an error with its column: a name that is no field, a field that no record has, an operator with
operands of the wrong kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from canvass.graph.folders import Rows
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
    names_in,
    near,
    parse_expressions,
    parts_of,
    strings_in,
)
from canvass.graph.values import Kind
from canvass.graph.vectors import (
    Kernel,
    Mask,
    Nodes,
    Numbers,
    Truths,
    Vector,
    present,
    take,
)
from canvass.graph.view import StateGraph

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


def said(kinds: set[Kind]) -> str:
    """Name kinds for a message."""
    names = [_NAMES[kind] for kind in sorted(kinds)]
    return " or ".join(names) if names else "absent everywhere"


MAX_PAIRS: Final = 50_000_000
"""The most pairs of a state and a bound value that the quantifiers of an expression may visit."""
_AT_ONCE: Final = 1 << 20
"""The most pairs in memory at a time, unless a single state has more."""

Owners = NDArray[np.int64]
"""For each value the place of the state that it is bound in."""


def refuse_too_many(evaluator: Evaluator, nodes: Sequence[Node]) -> None:
    """Refuse expressions that certainly visit too many pairs, before they are evaluated.

    Parts behind a connective, and parts that depend on a bound value, are not counted here. They
    are refused when they are evaluated.

    Raises
    ------
    PredicateError
        If there are more than `MAX_PAIRS`.
    """
    once = np.ones(evaluator.count)
    for node in nodes:
        # A quantifier alone is refused before it is evaluated anyway.
        if (
            _quantifiers(node) > 1
            and sum(_sure_pairs(evaluator, node, once, frozenset())) > MAX_PAIRS
        ):
            raise _too_many(node)


def _quantifiers(node: Node) -> int:
    return isinstance(node, Quantified) + sum(map(_quantifiers, parts_of(node)))


def _sure_pairs(
    evaluator: Evaluator, node: Node, times: NDArray[np.float64], bound: frozenset[str]
) -> Iterator[float]:
    """Count the pairs of each quantifier; ``times``: evaluations of the expression per state."""
    if isinstance(node, Binary) and node.operator in ("and", "or", "=>"):
        yield from _sure_pairs(evaluator, node.left, times, bound)
    elif not isinstance(node, Quantified):
        for part in parts_of(node):
            yield from _sure_pairs(evaluator, part, times, bound)
    elif not bound & {name.name for name in names_in([node.domain])}:
        some = evaluator
        if not times.all():
            asked = np.flatnonzero(times)
            some = evaluator.at(asked, frozenset(name.name for name in names_in([node])))
            times = times[asked]
        pairs = times * _sizes(some, node.domain)
        yield float(pairs.sum())
        yield from _sure_pairs(some, node.body, pairs, bound | {node.variable})


def _too_many(node: Node) -> PredicateError:
    return PredicateError(f"the quantifiers go through more than {MAX_PAIRS:,} values", node.at)


def quantified(evaluator: Evaluator, node: Quantified) -> Vector:
    """Evaluate ``any``, ``all`` or ``count``."""
    counts, sizes = _tally(evaluator, node)
    if node.operator == "any":
        return Truths(counts > 0)
    if node.operator == "all":
        return Truths(counts == sizes)
    return Numbers(counts, np.ones(len(counts), dtype=np.bool_))


def _tally(evaluator: Evaluator, node: Quantified) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count for each state the values for which the body holds, and all of them."""
    pairs = int(_sizes(evaluator, node.domain).sum())
    if evaluator.spent[0] + pairs > MAX_PAIRS:
        raise _too_many(node)
    if pairs > _AT_ONCE and evaluator.count > 1:
        names = frozenset(name.name for name in names_in([node]))
        parts = min(-(-pairs // _AT_ONCE), evaluator.count)
        split = np.array_split(np.arange(evaluator.count), parts)
        tallies = [_tally(evaluator.at(places, names), node) for places in split]
        return np.concatenate([one for one, _ in tallies]), np.concatenate(
            [two for _, two in tallies]
        )
    evaluator.spent[0] += pairs
    names = frozenset(name.name for name in names_in([node.body]))
    owner, value = _bound_values(evaluator, node.domain)
    inner = evaluator.at(owner, names, {node.variable: value})
    holds = inner.truths(node.body)
    counts = np.bincount(owner[holds], minlength=evaluator.count)
    return counts, np.bincount(owner, minlength=evaluator.count)


def _sizes(evaluator: Evaluator, domain: Node) -> NDArray[np.int64]:
    """Count for each state the values of a domain; listed values count even if absent."""
    match domain:
        case Items(items=items):
            return np.full(evaluator.count, len(items), dtype=np.int64)
        case Binary(operator="..") as limits:
            _, there, widths = _range(evaluator, limits)
            sizes = np.zeros(evaluator.count, dtype=np.int64)
            sizes[there] = widths
            return sizes
        case _:
            vector = _collection(evaluator, domain)[0]
            return evaluator.kernel.sizes(vector.nodes).values


def _bound_values(evaluator: Evaluator, domain: Node) -> tuple[Owners, Vector]:
    match domain:
        case Items(ordered=ordered, items=items):
            return _listed(evaluator, items, repeated=ordered)
        case Binary(operator=".."):
            least, there, widths = _range(evaluator, domain)
            owner = np.repeat(there, widths)
            first = np.repeat(np.cumsum(widths) - widths, widths)
            values = least[owner] + np.arange(len(owner)) - first
            return owner, Numbers(values, np.ones(len(owner), dtype=np.bool_))
        case _:
            owner, members = members_of(evaluator, domain)
            return owner, Nodes(members)


def _listed(
    evaluator: Evaluator, items: tuple[Node, ...], *, repeated: bool
) -> tuple[Owners, Vector]:
    """Give the listed values; a set has each element once."""
    columns = [evaluator.kernel.keys(evaluator.vector(item)) for item in items]
    owners, values = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int32)]
    for place, column in enumerate(columns):
        fresh = present(Nodes(column))
        for earlier in () if repeated else columns[:place]:
            fresh &= earlier != column
        owners.append(np.flatnonzero(fresh))
        values.append(column[fresh])
    return np.concatenate(owners), Nodes(np.concatenate(values))


def _range(
    evaluator: Evaluator, node: Binary
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Give the first values of ranges, the states with a range, and the lengths of these ranges."""
    least = evaluator.numbers(node.left, "..", node.at)
    most = evaluator.numbers(node.right, "..", node.at)
    there = least.present & most.present & (least.values <= most.values)
    widths = (most.values - least.values + 1)[there]
    return least.values, np.flatnonzero(there), widths


def _collection(evaluator: Evaluator, node: Node) -> tuple[Nodes, bool]:
    """Give the collection that is visited, and whether its DOMAIN is meant."""
    positions = isinstance(node, Unary) and node.operator == "DOMAIN"
    of = node.operand if isinstance(node, Unary) and positions else node
    vector = evaluator.vector(of)
    kinds = evaluator.kinds(vector)
    if not isinstance(vector, Nodes) or not all(kind >= Kind.SET for kind in kinds):
        raise PredicateError(
            f"a set, sequence or function was expected; this is {said(kinds)}", of.at
        )
    if positions and Kind.SET in kinds:
        raise PredicateError("a set has no DOMAIN", of.at)
    return vector, positions


def members_of(evaluator: Evaluator, node: Node) -> tuple[Owners, Rows]:
    """Give the members of a collection in each state: elements, items or arguments.

    Raises
    ------
    PredicateError
        If the value is no set, sequence or function.
    """
    vector, positions = _collection(evaluator, node)
    owner, members = evaluator.kernel.members(vector.nodes)
    if not positions:
        return owner, members
    places = np.arange(len(owner)) - np.searchsorted(owner, owner) + 1
    numbers = evaluator.kernel.keys(Numbers(places, np.ones(len(places), dtype=np.bool_)))
    in_sequence = evaluator.kernel.kinds(vector.nodes)[owner] == Kind.SEQ
    return owner, np.where(in_sequence, numbers, members).astype(np.int32)


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
        The values of the fields and bound variables that the expressions name.
    known
        The names of all fields, for messages.
    count
        How many states there are.
    """

    def __init__(
        self, kernel: Kernel, fields: Mapping[str, Vector], known: Iterable[str], count: int
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
        """Give an evaluator of some states, each as often as its place occurs."""
        taken = {
            name: take(vector, places)
            for name, vector in self._bound.items()
            if name in names and name not in bound
        }
        other = Evaluator(self.kernel, {**taken, **bound}, self._fields, len(places))
        other.spent = self.spent
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
        if isinstance(vector, Nodes):
            return self.kernel.truths(vector.nodes).holds
        return np.zeros(self.count, dtype=np.bool_)

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
        """Give the hint how to write a field of a member whose number is given."""
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
        """Evaluate a connective; its right side only where the left side does not decide."""
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


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition.

    Attributes
    ----------
    text
        The text as written.
    node
        The expression as read.
    """

    text: str
    node: Node

    def mask(self, graph: StateGraph) -> Mask:
        """Evaluate the condition in each state.

        Raises
        ------
        PredicateError
            If it names what the graph does not have, or is no condition.
        """
        evaluator = _evaluator(graph, (self.node,))[0]
        refuse_too_many(evaluator, [self.node])
        return evaluator.truths(self.node)

    def rows(self, graph: StateGraph) -> Rows:
        """Give the states in which the condition holds, ascending.

        Raises
        ------
        PredicateError
            If it names what the graph does not have, or is no condition.
        """
        return np.flatnonzero(self.mask(graph)).astype(np.int32)

    def unknown_names(self, graph: StateGraph) -> list[str]:
        """Name the strings of the condition that no state has.

        Returns
        -------
        list
            One line for each string, with a similar string. Empty for most conditions; show it when
            the condition holds nowhere.
        """
        table = _evaluator(graph, (self.node,))[1].table
        known = [table.texts[code] for code in table.scalar[table.kind == Kind.STR].tolist()]
        names = {name for shape in table.shapes for name in shape}
        return [
            f"column {literal.at}: no state has the string {literal.value!a}"
            f"{near(str(literal.value), known)}"
            for literal in strings_in(self.node)
            if literal.value not in known and literal.value not in names
        ]


def parse(text: str) -> Predicate:
    """Read a predicate.

    Raises
    ------
    PredicateError
        If the text is no predicate. The message has the column and the expected token.
    """
    return Predicate(text, parse_expressions(text, several=False)[0])


def vectors(graph: StateGraph, text: str) -> tuple[Sequence[Vector], Kernel]:
    """Evaluate one expression, or several with commas between them, in each state.

    Raises
    ------
    PredicateError
        If the text is anything else, or names what the graph does not have.
    """
    nodes = parse_expressions(text, several=True)
    evaluator, kernel = _evaluator(graph, nodes)
    refuse_too_many(evaluator, nodes)
    return [evaluator.vector(node) for node in nodes], kernel


def _evaluator(graph: StateGraph, nodes: Sequence[Node]) -> tuple[Evaluator, Kernel]:
    fields = set(graph.fields)
    named = sorted({name.name for name in names_in(nodes)} & fields)
    columns = graph.columns(named or graph.fields[:1])
    kernel = Kernel(columns.values)
    bound = {name: Nodes(columns.nodes[name]) for name in named}
    return Evaluator(kernel, bound, graph.fields, graph.state_count), kernel

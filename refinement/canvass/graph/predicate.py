"""`Predicate`: a condition on states, evaluated once for each distinct combination of the values of
the variables that it names.

`canvass.graph.syntax` reads the language; here each node of the tree becomes a Python function of
one state (`Compiler`), and `evaluate` calls it. Python never evaluates the text itself.
``docs/guide/graph.md`` describes the language. Every operator is total: a value that is absent is
None, and no comparison with it holds. A certain mistake is an error with its column: a name that is
no field, a field that no record has, an operator with operands of the wrong kind.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

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
    strings_in,
)
from canvass.graph.values import Columns, ValueTable
from canvass.graph.view import StateGraph
from canvass.steps.distinct import distinct_rows
from canvass.tlc.values import Function, ModelValue, Value, same

Mask = NDArray[np.bool_]
Env = dict[str, Any]
"""The values of fields and bound variables in one state."""
Asked = Callable[[Env], Any]
"""An expression as a function of one state; None for an absent value."""
OnProgress = Callable[[int, int], object]
"""Called now and then with how many combinations were evaluated, and how many there are."""

MAX_PAIRS: Final = 50_000_000
"""The most pairs of a state and a bound value that the quantifiers of an expression may visit."""
_PROGRESS_EVERY: Final = 1 << 16
_DENSE: Final = 1 << 22
"""Tables of codes up to this size, or up to four for each row, are not too large."""
_ORDERS: Final[dict[str, Callable[[int, int], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_FOLDS: Final[dict[str, Callable[[Iterable[bool]], Any]]] = {"any": any, "all": all, "count": sum}
_COLLECTIONS: Final = (frozenset, tuple, Function)


def kind_of(value: Any) -> str:
    """Name the kind of a value for a message."""
    if type(value) is Function:
        return "a record" if value.is_record else "a function"
    names = {
        bool: "a truth value",
        int: "a number",
        str: "a string",
        ModelValue: "a model value",
        frozenset: "a set",
        tuple: "a sequence",
    }
    return names[type(value)]


@dataclass(slots=True)
class _Met:
    """The bases of a path in all states: unfit kinds, the names of fields, and whether one fits."""

    refuse: Callable[[], None]
    kinds: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    found: bool = False


class Compiler:
    """Makes functions of the nodes of one expression.

    Parameters
    ----------
    fields
        The names of all fields.
    table
        The values that the states have.
    """

    def __init__(self, fields: Sequence[str], table: ValueTable) -> None:
        self.fields, self.table = fields, table
        self.pairs = 0
        self._met: list[_Met] = []

    def finish(self) -> None:
        """Refuse paths that no state has.

        Raises
        ------
        PredicateError
            If there is one.
        """
        for met in self._met:
            if not met.found:
                met.refuse()

    def condition(self, node: Node, bound: frozenset[str] = frozenset()) -> Asked:
        """Compile an expression that must be true, false or absent."""
        inner = self.of(node, bound)

        def ask(env: Env) -> bool:
            value = inner(env)
            if value is not None and type(value) is not bool:
                reason = f"a condition was expected; this is {kind_of(value)}"
                raise PredicateError(reason, node.at)
            return value is True

        return ask

    def number(self, node: Node, what: str, at: int, bound: frozenset[str]) -> Asked:
        """Compile an expression that must be a number or absent."""
        inner = self.of(node, bound)

        def ask(env: Env) -> int | None:
            value = inner(env)
            if value is not None and type(value) is not int:
                raise PredicateError(f"{what} needs numbers; there is {kind_of(value)}", at)
            return value

        return ask

    def of(self, node: Node, bound: frozenset[str] = frozenset()) -> Asked:
        """Compile any expression; ``bound`` are the variables of quantifiers around it."""
        match node:
            case Literal(value=value):
                return lambda _: value
            case Name():
                return self._name(node, bound)
            case Field():
                return self._field(node, bound)
            case Index():
                return self._index(node, bound)
            case Items(ordered=ordered, items=items):
                parts = [self.of(item, bound) for item in items]
                made = tuple if ordered else frozenset

                def ask(env: Env) -> Any:
                    values = [part(env) for part in parts]
                    return None if None in values else made(values)

                return ask
            case Quantified():
                return self._quantified(node, bound)
            case Unary():
                return self._unary(node, bound)
            case Binary():
                return self._binary(node, bound)

    def _name(self, node: Name, bound: frozenset[str]) -> Asked:
        name = node.name
        if name in bound or name in self.fields:
            return operator.itemgetter(name)
        if name in self.table.model_values:
            model = ModelValue(name)
            return lambda _: model
        if name in self.table.strings:
            hint = f'; did you mean "{name}", in quotes'
        else:
            hint = near(name, (*self.fields, *self.table.model_values))
        raise PredicateError(f"no field {name}{hint}", node.at)

    # --- paths ------------------------------------------------------------------------------------

    def _field(self, node: Field, bound: frozenset[str]) -> Asked:
        base, name = self.of(node.base, bound), node.name

        def refuse() -> None:
            if met.kinds and not met.names:
                hint = self._of_member(node) if met.kinds == {"a number"} else ""
                said = " or ".join(sorted(met.kinds))
                raise PredicateError(f"{said} has no field {name}{hint}", node.at)
            names = met.names or self.table.field_names
            if name not in names:
                reason = f"no record here has a field {name}{near(name, names)}"
                raise PredicateError(reason, node.at)

        met = _Met(refuse)
        self._met.append(met)

        def ask(env: Env) -> Any:
            value = base(env)
            if type(value) is Function:
                if name in value:
                    met.found = True
                    return value[name]
                met.names.update(argument for argument in value if type(argument) is str)
            if value is not None:
                met.kinds.add(kind_of(value))
            return None

        return ask

    def _of_member(self, node: Field) -> str:
        """Give the hint how to write a field of a member whose number is given."""
        known = next((name for name in ("member", "members") if name in self.fields), None)
        if known is None or not isinstance(node.base, Name) or node.base.name in self.fields:
            return ""
        number = node.base.name
        return f"; {number} is the number of a member: write {known}[{number}].{node.name}"

    def _index(self, node: Index, bound: frozenset[str]) -> Asked:
        base, index = self.of(node.base, bound), self.of(node.index, bound)

        def refuse() -> None:
            if met.kinds:
                said = " or ".join(sorted(met.kinds))
                reason = f"a function or sequence was expected before [; this is {said}"
                raise PredicateError(reason, node.at)

        met = _Met(refuse)
        self._met.append(met)

        def ask(env: Env) -> Any:
            value, key = base(env), index(env)
            if type(value) is tuple:
                met.found = True
                inside = type(key) is int and 1 <= key <= len(value)
                return value[key - 1] if inside else None
            if type(value) is Function:
                met.found = True
                return value.get(key) if type(key) is not bool else _at_truth(value, key)
            if value is not None:
                met.kinds.add(kind_of(value))
            return None

        return ask

    # --- operators --------------------------------------------------------------------------------

    def _unary(self, node: Unary, bound: frozenset[str]) -> Asked:
        if node.operator == "not":
            condition = self.condition(node.operand, bound)
            return lambda env: not condition(env)
        if node.operator == "-":
            number = self.number(node.operand, "-", node.at, bound)
            return lambda env: None if (value := number(env)) is None else -value
        operand = self.of(node.operand, bound)
        if node.operator == "has":
            return lambda env: operand(env) is not None
        if node.operator != "len":
            raise PredicateError("DOMAIN may stand after 'in' only", node.at)

        def ask(env: Env) -> int | None:
            value = operand(env)
            if value is not None and type(value) not in _COLLECTIONS:
                said = kind_of(value)
                reason = f"len needs a set, sequence, function or record; this is {said}"
                raise PredicateError(reason, node.at)
            return None if value is None else len(value)

        return ask

    def _binary(self, node: Binary, bound: frozenset[str]) -> Asked:
        name, left, right = node.operator, node.left, node.right
        if name in ("and", "or", "=>"):
            one, two = self.condition(left, bound), self.condition(right, bound)
            if name == "and":
                return lambda env: one(env) and two(env)
            if name == "or":
                return lambda env: one(env) or two(env)
            return lambda env: not one(env) or two(env)
        if name in ("=", "!="):
            first, second, wanted = self.of(left, bound), self.of(right, bound), name == "="

            def equal(env: Env) -> bool:
                a, b = first(env), second(env)
                return a is not None and b is not None and same(a, b) == wanted

            return equal
        if name == "in":
            return self._is_in(node, bound)
        if name == "..":
            raise PredicateError("a range may stand after 'in' only", node.at)
        low, high = (self.number(one, name, node.at, bound) for one in (left, right))
        order = _ORDERS.get(name)
        combine = order or (operator.add if name == "+" else operator.sub)
        nothing = False if order else None

        def ask(env: Env) -> Any:
            a, b = low(env), high(env)
            return nothing if a is None or b is None else combine(a, b)

        return ask

    def _is_in(self, node: Binary, bound: frozenset[str]) -> Asked:
        members = self._domain(node.right, bound)
        if isinstance(node.right, Binary) and node.right.operator == "..":
            element = self.number(node.left, "in a range", node.at, bound)
            return lambda env: (number := element(env)) is not None and number in members(env)
        element = self.of(node.left, bound)

        def ask(env: Env) -> bool:
            value = element(env)
            return value is not None and any(same(value, one) for one in members(env))

        return ask

    # --- quantifiers ------------------------------------------------------------------------------

    def _domain(self, node: Node, bound: frozenset[str]) -> Asked:
        """Compile a collection: elements, items, arguments, or numbers of a range."""
        if isinstance(node, Binary) and node.operator == "..":
            low, high = (self.number(one, "..", node.at, bound) for one in (node.left, node.right))

            def limits(env: Env) -> range:
                least, most = low(env), high(env)
                return range(0) if least is None or most is None else range(least, most + 1)

            return limits
        if isinstance(node, Items):
            parts = [self.of(item, bound) for item in node.items]
            once = (lambda values: values) if node.ordered else _distinct
            return lambda env: once([one for part in parts if (one := part(env)) is not None])
        positions = isinstance(node, Unary) and node.operator == "DOMAIN"
        of = node.operand if isinstance(node, Unary) and positions else node
        inner = self.of(of, bound)

        def members(env: Env) -> Collection[Any]:
            value = inner(env)
            if value is None:
                return ()
            if type(value) not in _COLLECTIONS:
                reason = f"a set, sequence or function was expected; this is {kind_of(value)}"
                raise PredicateError(reason, of.at)
            if positions and type(value) is frozenset:
                raise PredicateError("a set has no DOMAIN", of.at)
            return range(1, len(value) + 1) if positions and type(value) is tuple else value

        return members

    def _quantified(self, node: Quantified, bound: frozenset[str]) -> Asked:
        members, name = self._domain(node.domain, bound), node.variable
        body = self.condition(node.body, bound | {name})
        fold = _FOLDS[node.operator]

        def ask(env: Env) -> Any:
            visited, inner = members(env), dict(env)
            if len(visited) > MAX_PAIRS:
                raise _too_many(node)

            def holds(value: Any) -> bool:
                self.pairs += 1
                if self.pairs > MAX_PAIRS:
                    raise _too_many(node)
                inner[name] = value
                return bool(body(inner))

            return fold(map(holds, visited))

        return ask


def _too_many(node: Node) -> PredicateError:
    return PredicateError(f"the quantifiers go through more than {MAX_PAIRS:,} values", node.at)


def _at_truth(function: Function, key: bool) -> Value | None:
    """Apply a function to a truth value, which for Python is also a number."""
    return next((part for argument, part in function.items() if argument is key), None)


def _distinct(values: list[Any]) -> list[Any]:
    """Give the distinct ones of the values listed as a set."""
    kept: list[Any] = []
    for value in values:
        if not any(same(value, one) for one in kept):
            kept.append(value)
    return kept


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """The values of an expression.

    Attributes
    ----------
    values
        One for each distinct combination of the named fields' values; None for an absent one.
    of
        For each state its combination.
    """

    values: Sequence[Any]
    of: Rows

    def at(self, row: int) -> Any:
        """Give the value in a state."""
        return self.values[int(self.of[row])]

    def codes(self) -> Rows:
        """Give numbers for each state that are equal where the values are."""
        known: dict[Any, int] = {}
        numbers = [known.setdefault((type(one), one), len(known)) for one in self.values]
        return np.array(numbers, dtype=np.int32)[self.of]


def _distinct_codes(codes: NDArray[np.integer], size: int) -> tuple[NDArray[np.int64], Rows]:
    """Give a row of each distinct code below ``size``, and for each row the place of its code."""
    if size > max(_DENSE, 4 * len(codes)):
        rows, places = distinct_rows(codes.reshape(-1, 1))
        return rows, places.astype(np.int32)
    # A table finds the distinct ones faster than sorting does.
    row = np.full(size, -1, dtype=np.int64)
    row[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    seen = row >= 0
    return row[seen], (np.cumsum(seen, dtype=np.int32) - 1)[codes]


def _combinations(columns: Columns, count: int) -> tuple[NDArray[np.int64], Rows]:
    """Give a row of each distinct combination of nodes, and for each row its combination."""
    rows, of = np.arange(min(count, 1)), np.zeros(count, dtype=np.int32)
    for nodes in columns.nodes.values():
        others, other = _distinct_codes(nodes, len(columns.values))
        pairs = of.astype(np.int64) * len(others) + other
        rows, of = _distinct_codes(pairs, len(rows) * len(others))
    return rows, of


def evaluate(graph: StateGraph, text: str, on_progress: OnProgress | None = None) -> list[Answers]:
    """Evaluate one expression, or several with commas between them, in each state.

    Raises
    ------
    PredicateError
        If the text is anything else, or names what the graph does not have.
    """
    return [_evaluate(graph, node, on_progress) for node in parse_expressions(text, several=True)]


def _evaluate(
    graph: StateGraph, node: Node, on_progress: OnProgress | None, *, condition: bool = False
) -> Answers:
    named = sorted({name.name for name in names_in([node])} & set(graph.fields))
    columns = graph.columns(named)
    table = columns.values
    compiler = Compiler(graph.fields, table)
    ask = compiler.condition(node) if condition else compiler.of(node)
    rows, of = _combinations(columns, graph.state_count)
    nodes = [columns.nodes[name][rows].tolist() for name in named]
    # The values of one field are needed once; those of several, in many combinations.
    values = [cache(table.value) if len(named) > 1 else table.value for _ in named]
    found = []
    for done in range(0, len(rows), _PROGRESS_EVERY):
        if on_progress is not None:
            on_progress(done, len(rows))
        parts = [some[done : done + _PROGRESS_EVERY] for some in nodes]
        for combination in zip(*parts, strict=True) if parts else [()]:
            state = zip(named, values, combination, strict=True)
            found.append(ask({name: value(node) for name, value, node in state}))
    compiler.finish()
    return Answers(found, of)


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

    def mask(self, graph: StateGraph, on_progress: OnProgress | None = None) -> Mask:
        """Evaluate the condition in each state.

        Raises
        ------
        PredicateError
            If it names what the graph does not have, or is no condition.
        """
        answers = _evaluate(graph, self.node, on_progress, condition=True)
        mask: Mask = np.array(answers.values, dtype=np.bool_)[answers.of]
        return mask

    def rows(self, graph: StateGraph, on_progress: OnProgress | None = None) -> Rows:
        """Give the states in which the condition holds, ascending.

        Raises
        ------
        PredicateError
            If it names what the graph does not have, or is no condition.
        """
        return np.flatnonzero(self.mask(graph, on_progress)).astype(np.int32)

    def unknown_names(self, graph: StateGraph) -> list[str]:
        """Name the strings of the condition that no state has.

        Returns
        -------
        list
            One line for each string, with a similar string. Empty for most conditions; show it when
            the condition holds nowhere.
        """
        named = {name.name for name in names_in([self.node])} & set(graph.fields)
        table = graph.columns(sorted(named)).values
        return [
            f"column {literal.at}: no state has the string {literal.value!a}"
            f"{near(str(literal.value), table.strings)}"
            for literal in strings_in(self.node)
            if literal.value not in table.strings and literal.value not in table.field_names
        ]


def parse(text: str) -> Predicate:
    """Read a predicate.

    Raises
    ------
    PredicateError
        If the text is no predicate. The message has the column and the expected token.
    """
    return Predicate(text, parse_expressions(text, several=False)[0])

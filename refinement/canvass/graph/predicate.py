"""`Predicate`: a condition on states, evaluated once for each distinct combination of the values of
the variables that it names.

`canvass.graph.syntax` reads the language; here the `Evaluator` evaluates the tree in one state.
``docs/guide/graph.md`` describes the language. Every operator is total: a value that is absent is
None, and no comparison with it holds. What can only be a mistake is an error with its column: a
name that is no field, a field that no record has, an operator with operands of the wrong kind.
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
from canvass.graph.syntax import Node, PredicateError, names_in, near, nodes_in, parse_expressions
from canvass.graph.values import Columns, ValueTable
from canvass.graph.view import StateGraph
from canvass.tlc.values import Function, ModelValue, Value, same
from canvass.traces.columns import distinct_rows

Mask = NDArray[np.bool_]
Env = dict[Any, Any]
"""The values of fields and bound variables in one state."""
OnProgress = Callable[[int, int], object]
"""Called now and then with two counts: the combinations evaluated so far, and all of them."""

MAX_PAIRS: Final = 50_000_000
"""The most pairs of a state and a bound value that the quantifiers of an expression may visit."""
_PROGRESS_EVERY: Final = 1 << 16
_DENSE: Final = 1 << 22
"""A table indexed by code may have this many entries, or four for each row if that is more."""
_ORDERS: Final[dict[str, Callable[[int, int], Any]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_CALCULATIONS: Final = {**_ORDERS, "+": operator.add, "-": operator.sub}
_RIGHT_DECIDES_AFTER: Final = {"and": True, "or": False, "=>": True}
"""For each connective, the value of its left side for which the right side is evaluated."""
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
class _Bases:
    """The results of evaluating a path's base in all states.

    ``kinds`` has the kinds of the bases that do not fit, ``names`` the fields of the records among
    them. ``found`` says whether any base fitted.
    """

    kinds: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    found: bool = False


class Evaluator:
    """Evaluates one expression, state by state.

    Parameters
    ----------
    node
        The expression.
    fields
        The names of all fields.
    table
        The values that the states have.

    Raises
    ------
    PredicateError
        If a name is neither a field nor a model value.
    """

    def __init__(self, node: Node, fields: Sequence[str], table: ValueTable) -> None:
        self.fields, self.table = fields, table
        self.pairs = 0
        # A path that is evaluated in no state has an entry, too, so that `finish` refuses it.
        self._met = {path: _Bases() for path in nodes_in(node) if path.kind in ("field", "index")}
        self._kinds: dict[str, Callable[[Node, Env], Any]] = {
            "literal": self._literal,
            "name": self._name,
            "field": self._field,
            "index": self._index,
            **dict.fromkeys(("set", "tuple"), self._items),
            **dict.fromkeys(_FOLDS, self._quantified),
            **dict.fromkeys((*_RIGHT_DECIDES_AFTER, "not"), self._connected),
            **dict.fromkeys(("=", "!="), self._equal),
            **dict.fromkeys(_CALCULATIONS, self._calculated),
            "negative": self._negative,
            "in": self._is_in,
            "has": self._has,
            "len": self._length,
        }
        for one in names_in(node):
            name = str(one.value)
            if name in fields or name in table.model_values:
                continue
            if name in table.strings:
                hint = f'; did you mean "{name}", in quotes'
            else:
                hint = near(name, (*fields, *table.model_values))
            raise PredicateError(f"no field {name}{hint}", one.at)

    def finish(self) -> None:
        """Refuse paths that no state has.

        Raises
        ------
        PredicateError
            If there is such a path.
        """
        for node, met in self._met.items():
            if not met.found:
                self._refuse(node, met)

    def condition(self, node: Node, env: Env) -> bool:
        """Evaluate an expression that must be true, false or absent."""
        value = self.value(node, env)
        if value is True or value is False:
            return value
        if value is not None:
            raise PredicateError(f"a condition was expected; this is {kind_of(value)}", node.at)
        return False

    def value(self, node: Node, env: Env) -> Any:
        """Evaluate any expression."""
        return self._kinds[node.kind](node, env)

    def _literal(self, node: Node, _: Env) -> Any:
        return node.value

    def _name(self, node: Node, env: Env) -> Any:
        found = env.get(node.value, env)
        return ModelValue(str(node.value)) if found is env else found

    def _items(self, node: Node, env: Env) -> Any:
        values = [self.value(part, env) for part in node.parts]
        return None if None in values else (tuple if node.kind == "tuple" else frozenset)(values)

    def _connected(self, node: Node, env: Env) -> bool:
        left = self.condition(node.parts[0], env)
        if node.kind == "not":
            return not left
        if left is not _RIGHT_DECIDES_AFTER[node.kind]:
            return node.kind != "and"
        return self.condition(node.parts[1], env)

    def _equal(self, node: Node, env: Env) -> bool:
        one, two = node.parts
        a, b = self.value(one, env), self.value(two, env)
        return a is not None and b is not None and same(a, b) == (node.kind == "=")

    def _number(self, node: Node, env: Env, what: str, at: int) -> int | None:
        value = self.value(node, env)
        if value is not None and type(value) is not int:
            raise PredicateError(f"{what} needs numbers; there is {kind_of(value)}", at)
        return value

    def _negative(self, node: Node, env: Env) -> int | None:
        value = self._number(node.parts[0], env, "-", node.at)
        return None if value is None else -value

    def _calculated(self, node: Node, env: Env) -> Any:
        one, two = node.parts
        low = self._number(one, env, node.kind, node.at)
        high = self._number(two, env, node.kind, node.at)
        if low is None or high is None:
            return False if node.kind in _ORDERS else None
        return _CALCULATIONS[node.kind](low, high)

    def _has(self, node: Node, env: Env) -> bool:
        return self.value(node.parts[0], env) is not None

    def _length(self, node: Node, env: Env) -> int | None:
        value = self.value(node.parts[0], env)
        if value is not None and type(value) not in _COLLECTIONS:
            reason = f"len needs a set, sequence, function or record; this is {kind_of(value)}"
            raise PredicateError(reason, node.at)
        return None if value is None else len(value)

    # --- paths ------------------------------------------------------------------------------------

    def _field(self, node: Node, env: Env) -> Any:
        of = node.parts[0]
        base, met = self.value(of, env), self._met[node]
        if type(base) is Function:
            if node.value in base:
                met.found = True
                return base[node.value]
            met.names.update(argument for argument in base if type(argument) is str)
        if base is not None:
            met.kinds.add(kind_of(base))
        return None

    def _index(self, node: Node, env: Env) -> Any:
        of, index = node.parts
        base, key = self.value(of, env), self.value(index, env)
        met = self._met[node]
        if type(base) is tuple:
            met.found = True
            return base[key - 1] if type(key) is int and 1 <= key <= len(base) else None
        if type(base) is Function:
            met.found = True
            return base.get(key) if type(key) is not bool else _apply_to_truth_value(base, key)
        if base is not None:
            met.kinds.add(kind_of(base))
        return None

    def _refuse(self, node: Node, met: _Bases) -> None:
        said = " or ".join(sorted(met.kinds))
        if node.kind == "index":
            if said:
                reason = f"a function or sequence was expected before [; this is {said}"
                raise PredicateError(reason, node.at)
            return
        if said and not met.names:
            hint = self._of_member(node) if met.kinds == {"a number"} else ""
            raise PredicateError(f"{said} has no field {node.value}{hint}", node.at)
        names = met.names or self.table.field_names
        if node.value not in names:
            reason = f"no record here has a field {node.value}{near(str(node.value), names)}"
            raise PredicateError(reason, node.at)

    def _of_member(self, node: Node) -> str:
        """Give a hint how to write the field if the base is the number of a member."""
        known = next((name for name in ("member", "members") if name in self.fields), None)
        base = node.parts[0]
        if known is None or base.kind != "name" or base.value in self.fields:
            return ""
        number = base.value
        return f"; {number} is the number of a member: write {known}[{number}].{node.value}"

    # --- collections ------------------------------------------------------------------------------

    def _is_in(self, node: Node, env: Env) -> bool:
        element, domain = node.parts
        value, members = self.value(element, env), self._members(domain, env)
        if domain.kind == "..":
            if value is not None and type(value) is not int:
                reason = f"in a range needs numbers; there is {kind_of(value)}"
                raise PredicateError(reason, node.at)
            return value in members
        return value is not None and any(same(value, one) for one in members)

    def _members(self, node: Node, env: Env) -> Collection[Any]:
        """Give the elements, items or arguments of a collection, or the numbers of a range."""
        if node.kind == "..":
            least, most = (self._number(part, env, "..", node.at) for part in node.parts)
            return range(0) if least is None or most is None else range(least, most + 1)
        if node.kind in ("set", "tuple"):
            values = [one for part in node.parts if (one := self.value(part, env)) is not None]
            return values if node.kind == "tuple" else _distinct(values)
        of = node.parts[0] if node.kind == "DOMAIN" else node
        value = self.value(of, env)
        if value is None:
            return ()
        if type(value) not in _COLLECTIONS:
            reason = f"a set, sequence or function was expected; this is {kind_of(value)}"
            raise PredicateError(reason, of.at)
        if node.kind != "DOMAIN":
            found: Collection[Any] = value
            return found
        if type(value) is frozenset:
            raise PredicateError("a set has no DOMAIN", of.at)
        return range(1, len(value) + 1) if type(value) is tuple else value

    def _quantified(self, node: Node, env: Env) -> Any:
        domain, body = node.parts
        visited, inner = self._members(domain, env), dict(env)
        if len(visited) > MAX_PAIRS:
            raise _too_many(node)

        def holds(value: Any) -> bool:
            self.pairs += 1
            if self.pairs > MAX_PAIRS:
                raise _too_many(node)
            inner[str(node.value)] = value
            return self.condition(body, inner)

        return _FOLDS[node.kind](map(holds, visited))


def _too_many(node: Node) -> PredicateError:
    return PredicateError(f"the quantifiers go through more than {MAX_PAIRS:,} values", node.at)


def _apply_to_truth_value(function: Function, key: bool) -> Value | None:
    """Apply a function to a truth value; as a key, ``True`` would also find the argument 1."""
    return next((part for argument, part in function.items() if argument is key), None)


def _distinct(values: list[Any]) -> list[Any]:
    """Give the values of a set expression, each once."""
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
        A value for each distinct combination of the named fields' values; None if it is absent.
    of
        For each state, the index of its combination in ``values``.
    """

    values: Sequence[Any]
    of: Rows

    def at(self, row: int) -> Any:
        """Give the value in a state."""
        return self.values[int(self.of[row])]

    def codes(self) -> Rows:
        """Give a number for each state; states with equal values get equal numbers."""
        known: dict[Any, int] = {}
        numbers = [known.setdefault((type(one), one), len(known)) for one in self.values]
        return np.array(numbers, dtype=np.int32)[self.of]


def _distinct_codes(codes: NDArray[np.integer], size: int) -> tuple[NDArray[np.int64], Rows]:
    """Give one row for each distinct code, and for each row the index of its code among them.

    All codes are below ``size``.
    """
    if size > max(_DENSE, 4 * len(codes)):
        rows, places = distinct_rows(codes.reshape(-1, 1))
        return rows, places.astype(np.int32)
    # A table finds the distinct codes faster than sorting does.
    row = np.full(size, -1, dtype=np.int64)
    row[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    seen = row >= 0
    return row[seen], (np.cumsum(seen, dtype=np.int32) - 1)[codes]


def _combinations(columns: Columns, count: int) -> tuple[NDArray[np.int64], Rows]:
    """Give one row for each distinct combination of nodes, and each row's combination."""
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
        If the text is not one or more expressions, or has a name that the graph does not have.
    """
    return [_evaluate(graph, node, on_progress) for node in parse_expressions(text, several=True)]


def _evaluate(
    graph: StateGraph, node: Node, on_progress: OnProgress | None, *, condition: bool = False
) -> Answers:
    named = sorted({str(name.value) for name in names_in(node)} & set(graph.fields))
    columns = graph.columns(named)
    table = columns.values
    evaluator = Evaluator(node, graph.fields, table)
    ask = evaluator.condition if condition else evaluator.value
    rows, of = _combinations(columns, graph.state_count)
    nodes = [columns.nodes[name][rows].tolist() for name in named]
    # With one field, each value is needed once; with several, it occurs in many combinations.
    values = [cache(table.value) if len(named) > 1 else table.value for _ in named]
    found = []
    for done in range(0, len(rows), _PROGRESS_EVERY):
        if on_progress is not None:
            on_progress(done, len(rows))
        parts = [some[done : done + _PROGRESS_EVERY] for some in nodes]
        for combination in zip(*parts, strict=True) if parts else [()]:
            state = zip(named, values, combination, strict=True)
            found.append(ask(node, {name: value(number) for name, value, number in state}))
    evaluator.finish()
    return Answers(found, of)


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition, as it was read."""

    node: Node

    def mask(self, graph: StateGraph, on_progress: OnProgress | None = None) -> Mask:
        """Evaluate the condition in each state.

        Raises
        ------
        PredicateError
            If it has a name that the graph does not have, or is not a condition.
        """
        answers = _evaluate(graph, self.node, on_progress, condition=True)
        mask: Mask = np.array(answers.values, dtype=np.bool_)[answers.of]
        return mask

    def rows(self, graph: StateGraph, on_progress: OnProgress | None = None) -> Rows:
        """Give the states in which the condition holds, ascending.

        Raises
        ------
        PredicateError
            If it has a name that the graph does not have, or is not a condition.
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
        named = {str(name.value) for name in names_in(self.node)} & set(graph.fields)
        table = graph.columns(sorted(named)).values
        return [
            f"column {literal.at}: no state has the string {literal.value!a}"
            f"{near(str(literal.value), table.strings)}"
            for literal in nodes_in(self.node)
            if literal.kind == "literal" and isinstance(literal.value, str)
            if literal.value not in table.strings and literal.value not in table.field_names
        ]


def parse(text: str) -> Predicate:
    """Read a predicate.

    Raises
    ------
    PredicateError
        If the text is no predicate. The message has the column and the expected token.
    """
    return Predicate(parse_expressions(text, several=False)[0])

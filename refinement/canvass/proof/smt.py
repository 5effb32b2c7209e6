r"""From a module's tree to formulas of Z3, for any number of elements of each constant set.

* A constant set, such as ``Members``, is a sort without any known element.
* ``TypeOK`` gives the type of a variable: a relation (``v \subseteq (A \X B)``,
  ``v \subseteq A``) or a function (``v \in [A -> B]``).
* A sort with ``<`` is a total order. An integer of that sort is its least element, so a module may
  use at most one integer of a sort. There is no arithmetic.
* ``x \in Q`` for an element ``Q`` of a sort, such as ``Quorums``, is a relation of its own.

An action is a conjunction of guards and of one ``v' = e`` or ``UNCHANGED`` for each variable. The
state after it has no unknowns of its own: its values are these expressions over the state before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import count, pairwise, product
from typing import Any, Final, NamedTuple, TypeAlias

import z3

from canvass.proof.sany import (
    Apply,
    Bound,
    Expression,
    Module,
    ModuleError,
    Name,
    Number,
    Parameter,
    Quantified,
)

Formula: TypeAlias = Any
"""A Z3 formula; Z3 has no annotations."""
Value: TypeAlias = Any
"""A Z3 term, an int whose sort is not yet known, a tuple of these, a Relation or a Function."""
State: TypeAlias = dict[str, Value]
"""The value of each variable, by its name."""
Scope: TypeAlias = dict[str, Value]
"""The values of parameters by their uid, and of ``@``."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A set of tuples, as its sorts and a test; ``{}`` has no sorts."""

    sorts: tuple[z3.SortRef, ...]
    has: Callable[[Sequence[Any]], Formula]


@dataclass(frozen=True, slots=True)
class Function:
    """A function from one sort."""

    sort: z3.SortRef
    at: Callable[[Any], Any]


class Action(NamedTuple):
    """One disjunct of ``Next``: its name, parameters, guards, and the state after it."""

    name: str
    parameters: list[z3.ExprRef]
    guards: list[Formula]
    after: State

    def assign(self, variable: str, value: Value) -> None:
        """Set the value of a variable after the step."""
        if variable in self.after:
            raise ModuleError(f"{self.name} gives {variable}' twice")
        self.after[variable] = value


@dataclass(slots=True)
class Translation:
    """Translates one module. Z3's symbols are named in the order of the calls.

    With ``size``, each constant set has that many elements, in the order of their names, and
    formulas have no quantifiers: Z3 decides them.
    """

    module: Module
    size: int | None = None
    sorts: dict[str, z3.SortRef] = field(init=False, default_factory=dict)
    elements: dict[str, list[z3.ExprRef]] = field(init=False, default_factory=dict)
    _orders: dict[str, z3.FuncDeclRef] = field(init=False, default_factory=dict)
    _least: dict[str, tuple[int, z3.ExprRef]] = field(init=False, default_factory=dict)
    _elements: dict[str, z3.FuncDeclRef] = field(init=False, default_factory=dict)
    _fresh: Any = field(init=False, default_factory=count)

    def __post_init__(self) -> None:
        for name in self.module.constants:
            if self.size is None:
                self.sorts[name] = z3.DeclareSort(name)
            else:
                self.sorts[name], self.elements[name] = _enumeration(name, self.size)

    # States, axioms, formulas and actions.

    def state(self) -> State:
        """Every variable as an unknown of the type that ``TypeOK`` gives it."""
        found = dict(map(self._unknown, self.module.parts("TypeOK", "/\\")))
        if missing := set(self.module.variables) - set(found):
            raise ModuleError(f"TypeOK of {self.module.name} has no type of {sorted(missing)}")
        return found

    def formula(self, name: str, state: State) -> Formula:
        """A definition without parameters, in a state."""
        return self._value(self.module.definitions[name].body, state, {})

    def action(self, name: str, before: State) -> Action:
        """A disjunct of ``Next`` by its name, taken in a state."""
        found = Action(name, [], [], {})
        self._take(actions_of(self.module)[name], {}, before, found)
        if missing := set(self.module.variables) - set(found.after):
            raise ModuleError(f"{name} leaves {sorted(missing)} open")
        return found

    def axioms(self) -> list[Formula]:
        """The module's ASSUMEs; total orders and least elements of the sorts that are compared."""
        assumed = [self._value(each, {}, {}) for each in self.module.assumptions]
        found: list[Formula] = []
        for name, before in self._orders.items():
            sort = before.domain(0)
            a, b, c = (z3.Const(each, sort) for each in "abc")
            found += [
                self.for_all([a], z3.Not(before(a, a))),
                self.for_all(
                    [a, b, c], z3.Implies(z3.And(before(a, b), before(b, c)), before(a, c))
                ),
                self.for_all([a, b], z3.Or(before(a, b), before(b, a), a == b)),
            ]
            found += [before(x, y) for x, y in pairwise(self.elements.get(name, []))]
        for _, least in self._least.values():
            a = z3.Const("a", least.sort())
            found.append(self.for_all([a], z3.Or(a == least, self.is_less(least, a))))
        return found + assumed

    def for_all(self, constants: list[z3.ExprRef], formula: Formula) -> Formula:
        """The formula for all values of its constants."""
        if self.size is None:
            return z3.ForAll(constants, formula)
        return z3.And(self._instances(constants, formula))

    def exists(self, constants: list[z3.ExprRef], formula: Formula) -> Formula:
        """The formula for some values of its constants."""
        if self.size is None:
            return z3.Exists(constants, formula)
        return z3.Or(self._instances(constants, formula))

    def _instances(self, constants: list[z3.ExprRef], formula: Formula) -> list[Formula]:
        every = product(*(self.elements[self._name_of(each.sort())] for each in constants))
        return [z3.substitute(formula, *zip(constants, values, strict=True)) for values in every]

    def _name_of(self, sort: z3.SortRef) -> str:
        return next(name for name, each in self.sorts.items() if each == sort)

    def is_less(self, a: z3.ExprRef, b: z3.ExprRef) -> Formula:
        """``a < b`` in the order of their sort."""
        sort = a.sort()
        name = self._name_of(sort)
        if name not in self._orders:
            self._orders[name] = z3.Function(f"{sort}_less", sort, sort, z3.BoolSort())
        return self._orders[name](a, b)

    # Types.

    def _unknown(self, conjunct: Expression) -> tuple[str, Value]:
        match conjunct:
            case Apply("\\subseteq", (Name(name), product)):
                sorts = self._product(product)
                relation = z3.Function(name, *sorts, z3.BoolSort())
                return name, Relation(sorts, lambda elements: relation(*elements))
            case Apply("\\in", (Name(name), Apply("->", (domain, values)))):
                (sort,), (value,) = self._product(domain), self._product(values)
                return name, Function(sort, z3.Function(name, sort, value))
            case _:
                raise ModuleError(f"{_place(conjunct)}: TypeOK gives no relation and no function")

    def _product(self, expression: Expression) -> tuple[z3.SortRef, ...]:
        match expression:
            case Apply("\\X", factors):
                return tuple(sort for each in factors for sort in self._product(each))
            case Name(name) if name in self.sorts:
                return (self.sorts[name],)
            case _:
                raise ModuleError(f"{_place(expression)}: not a constant set or a product of them")

    # Actions.

    def _take(self, expression: Expression, scope: Scope, before: State, found: Action) -> None:
        """Add a conjunct to the parameters, the guards or the next state of an action."""
        match expression:
            case Apply("/\\", parts):
                for part in parts:
                    self._take(part, scope, before, found)
            case Quantified("\\E", bounds, body):
                inner, constants = self._bind(bounds, scope)
                found.parameters.extend(constants)
                self._take(body, inner, before, found)
            case Apply("=", (Apply("'", (Name(name),)), value)):
                found.assign(name, self._value(value, before, scope))
            case Apply("UNCHANGED", (Apply("tuple", names),)):
                for each in names:
                    found.assign(_name(each), before[_name(each)])
            case Apply("UNCHANGED", (Name(name),)):
                found.assign(name, before[name])
            case Apply(name, arguments, is_defined=True) if (
                definition := self.module.definitions[name]
            ).is_action:
                values = [self._value(each, before, scope) for each in arguments]
                uids = [each.uid for each in definition.parameters]
                self._take(definition.body, dict(zip(uids, values, strict=True)), before, found)
            case _:
                found.guards.append(self._value(expression, before, scope))

    # Expressions.

    def _bind(self, bounds: Sequence[Bound], scope: Scope) -> tuple[Scope, list[z3.ExprRef]]:
        inner, constants = dict(scope), []
        for bound in bounds:
            sorts = self._product(bound.domain)
            if not bound.is_tuple:
                sorts = sorts * len(bound.parameters)
            for each, sort in zip(bound.parameters, sorts, strict=True):
                inner[each.uid] = z3.Const(f"{each.name}_{next(self._fresh)}", sort)
                constants.append(inner[each.uid])
        return inner, constants

    def _value(self, expression: Expression, state: State, scope: Scope) -> Value:
        match expression:
            case Number(value):
                return value
            case Parameter(uid):
                return scope[uid]
            case Name(name):
                if name not in state:
                    raise ModuleError(f"{name} of {self.module.name} cannot stand here in a proof")
                return state[name]
            case Quantified(kind, bounds, body):
                inner, constants = self._bind(bounds, scope)
                formula = self._value(body, state, inner)
                if kind == "filter":
                    return Relation(
                        tuple(each.sort() for each in constants),
                        lambda given: z3.substitute(formula, *zip(constants, given, strict=True)),
                    )
                return (self.for_all if kind == "\\A" else self.exists)(constants, formula)
            case Apply("at"):
                return scope["@"]
            case Apply("except", (function, *changes)):
                return self._except(self._value(function, state, scope), changes, state, scope)
            case Apply(name, arguments, is_defined=True):
                definition = self.module.definitions[name]
                values = [self._value(each, state, scope) for each in arguments]
                uids = [each.uid for each in definition.parameters]
                return self._value(definition.body, state, dict(zip(uids, values, strict=True)))
            case Apply(name, arguments, place=place):
                if name not in _OPERATORS:
                    raise ModuleError(f"{place}: {name} is not supported in a proof")
                return _OPERATORS[name](self, *(self._value(x, state, scope) for x in arguments))
        raise AssertionError(expression)

    def _except(
        self, function: Function, changes: Sequence[Expression], state: State, scope: Scope
    ) -> Function:
        for change in changes:
            match change:
                case Apply("$Pair", (Apply("$Seq", (index,)), new)):
                    key = self._value(index, state, scope)
                    value = self._value(new, state, {**scope, "@": function.at(key)})
                    function = self._changed(function, key, value)
                case _:
                    raise ModuleError(f"{_place(change)}: EXCEPT with more than one index")
        return function

    def _changed(self, function: Function, key: z3.ExprRef, value: Value) -> Function:
        old = function.at
        return Function(
            function.sort, lambda given: z3.If(given == key, *self.alike(value, old(given)))
        )

    def alike(self, a: Value, b: Value) -> tuple[Value, Value]:
        """Both values; if one is an integer and the other a term, both as terms of one sort."""
        if isinstance(a, int) and isinstance(b, z3.ExprRef):
            return self._number(a, b.sort()), b
        if isinstance(b, int) and isinstance(a, z3.ExprRef):
            return a, self._number(b, a.sort())
        return a, b

    def _number(self, value: int, sort: z3.SortRef) -> z3.ExprRef:
        known = self._least.setdefault(sort.name(), (value, z3.Const(f"{sort}_least", sort)))
        if known[0] != value:
            raise ModuleError(f"{self.module.name} has two integers of {sort}: {known[0]}, {value}")
        return known[1]

    def equal(self, a: Value, b: Value) -> Formula:
        """``a = b``, also of tuples, relations and functions."""
        if isinstance(a, Relation):
            elements = self._any_of(a.sorts or b.sorts)
            return self.for_all(elements, a.has(elements) == b.has(elements))
        if isinstance(a, Function):
            (argument,) = self._any_of((a.sort,))
            return self.for_all([argument], self.equal(a.at(argument), b.at(argument)))
        if isinstance(a, tuple):
            return z3.And([self.equal(x, y) for x, y in zip(a, b, strict=True)])
        a, b = self.alike(a, b)
        return a == b

    def _any_of(self, sorts: Sequence[z3.SortRef]) -> list[z3.ExprRef]:
        return [z3.Const(f"any_{next(self._fresh)}", each) for each in sorts]

    def is_in(self, element: Value, collection: Value) -> Formula:
        r"""``element \in collection``, a relation or an element of a sort of sets."""
        if isinstance(collection, Relation):
            parts = element if isinstance(element, tuple) else (element,)
            sorts = collection.sorts
            return collection.has(
                [self._number(x, s) if isinstance(x, int) else x
                 for x, s in zip(parts, sorts, strict=True)]
            )  # fmt: skip
        sort = collection.sort()
        if sort.name() not in self._elements:
            self._elements[sort.name()] = z3.Function(
                f"in_{sort}", element.sort(), sort, z3.BoolSort()
            )
        return self._elements[sort.name()](element, collection)

    def enumeration(self, *elements: Value) -> Relation:
        """``{a, b}``."""
        tuples = [each if isinstance(each, tuple) else (each,) for each in elements]
        sorts = tuple(each.sort() for each in tuples[0]) if tuples else ()
        return Relation(
            sorts, lambda given: z3.Or([self.equal(each, tuple(given)) for each in tuples])
        )


def actions_of(module: Module) -> dict[str, Expression]:
    """The disjuncts of ``Next`` by the operator that each of them calls."""
    found = {}
    for each in module.parts("Next", "\\/"):
        inner = each
        while isinstance(inner, Quantified):
            inner = inner.body
        if not (isinstance(inner, Apply) and inner.is_defined) or inner.operator in found:
            raise ModuleError(f"{_place(each)}: a disjunct of Next must be an action of its own")
        found[inner.operator] = each
    return found


@cache
def _enumeration(name: str, size: int) -> Any:
    """A sort and its elements, made once: Z3 refuses the same name twice."""
    return z3.EnumSort(f"{name}_of_{size}", [f"{name[0].lower()}{each}" for each in range(size)])


_OPERATORS: Final[dict[str, Callable[..., Value]]] = {
    "TRUE": lambda _: z3.BoolVal(True),
    "FALSE": lambda _: z3.BoolVal(False),
    "/\\": lambda _, *parts: z3.And(list(parts)),
    "\\/": lambda _, *parts: z3.Or(list(parts)),
    "~": lambda _, a: z3.Not(a),
    "=>": lambda _, a, b: z3.Implies(a, b),
    "<=>": lambda _, a, b: a == b,
    "=": lambda t, a, b: t.equal(a, b),
    "/=": lambda t, a, b: z3.Not(t.equal(a, b)),
    "<": lambda t, a, b: t.is_less(*t.alike(a, b)),
    ">": lambda t, a, b: t.is_less(*reversed(t.alike(a, b))),
    "<=": lambda t, a, b: z3.Not(t.is_less(*reversed(t.alike(a, b)))),
    ">=": lambda t, a, b: z3.Not(t.is_less(*t.alike(a, b))),
    "negative": lambda _, a: -a,
    "\\in": lambda t, a, b: t.is_in(a, b),
    "\\notin": lambda t, a, b: z3.Not(t.is_in(a, b)),
    "tuple": lambda _, *parts: parts,
    "set": lambda t, *elements: t.enumeration(*elements),
    "apply": lambda _, function, argument: function.at(argument),
    "\\cup": lambda _, a, b: Relation(a.sorts or b.sorts, lambda x: z3.Or(a.has(x), b.has(x))),
    "\\cap": lambda _, a, b: Relation(a.sorts or b.sorts, lambda x: z3.And(a.has(x), b.has(x))),
    "\\": lambda _, a, b: Relation(a.sorts, lambda x: z3.And(a.has(x), z3.Not(b.has(x)))),
}


def _place(expression: Expression) -> str:
    return expression.place if isinstance(expression, Apply | Quantified) else str(expression)


def _name(expression: Expression) -> str:
    if isinstance(expression, Name):
        return expression.name
    raise ModuleError(f"{_place(expression)}: UNCHANGED of something else than a variable")

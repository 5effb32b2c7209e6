"""Conditions drawn as text and as a tree, and what the tree means in one state: an oracle.

Absent values are ``None``; a comparison with one does not hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from canvass.tlc import Function, Value
from canvass.tlc.values import same
from support.state_graphs import State

Tree = tuple[Any, ...]
Pair = tuple[str, Tree]

NAMES = ("red", "green")

_small = st.integers(-1, 3)
_records = st.fixed_dictionaries({"a": _small, "b": st.sampled_from(NAMES)})


def _states(least: int) -> st.SearchStrategy[State]:
    # Without 1 in its domain the function is no sequence, whose items would be gone through.
    return st.fixed_dictionaries(
        {
            "x": _small,
            "on": st.booleans(),
            "f": st.dictionaries(st.sampled_from([-1, 0, 2, 3]), _records, min_size=least),
            "seq": st.lists(_small, max_size=3).map(tuple),
            "some": st.frozensets(_small, max_size=3),
        }
    )


def _numbers(variables: tuple[str, ...]) -> st.SearchStrategy[Pair]:
    leaf = st.one_of(
        _small.map(lambda n: (str(n), ("lit", n))),
        st.just(("x", ("field", "x"))),
        st.just(("len(seq)", ("len", "seq"))),
        st.just(("len(some)", ("len", "some"))),
        *(st.just((name, ("bound", name))) for name in variables),
    )

    def grow(inner: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
        return st.one_of(
            st.tuples(inner, st.sampled_from("+-"), inner).map(
                lambda p: (f"({p[0][0]} {p[1]} {p[2][0]})", (p[1], p[0][1], p[2][1]))
            ),
            inner.map(lambda p: (f"f[{p[0]}].a", ("f.a", p[1]))),
            inner.map(lambda p: (f"seq[{p[0]}]", ("item", p[1]))),
        )

    return st.recursive(leaf, grow, max_leaves=4)


def _conditions(variables: tuple[str, ...], depth: int) -> st.SearchStrategy[Pair]:
    number = _numbers(variables)
    leaf = st.one_of(
        st.just(("on", ("on",))),
        st.tuples(number, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), number).map(
            lambda p: (f"{p[0][0]} {p[1]} {p[2][0]}", ("cmp", p[1], p[0][1], p[2][1]))
        ),
        st.tuples(number, st.sampled_from(NAMES)).map(
            lambda p: (f'f[{p[0][0]}].b = "{p[1]}"', ("f.b", p[0][1], p[1]))
        ),
        number.map(lambda p: (f"{p[0]} in some", ("in", p[1], "some"))),
        number.map(lambda p: (f"{p[0]} not in seq", ("notin", p[1], "seq"))),
        number.map(lambda p: (f"has(f[{p[0]}])", ("has", p[1]))),
    )
    if depth == 0:
        return leaf
    inner = _conditions(variables, depth - 1)
    name = f"v{depth}"
    bound = _conditions((*variables, name), depth - 1)
    return st.one_of(
        leaf,
        st.tuples(inner, st.sampled_from(["and", "or", "=>"]), inner).map(
            lambda p: (f"({p[0][0]}) {p[1]} ({p[2][0]})", (p[1], p[0][1], p[2][1]))
        ),
        inner.map(lambda p: (f"not ({p[0]})", ("not", p[1]))),
        st.tuples(
            st.sampled_from(["any", "all"]), st.sampled_from(["f", "seq", "some", "0..2"]), bound
        ).map(lambda p: (f"{p[0]}({name} in {p[1]}: {p[2][0]})", (p[0], name, p[1], p[2][1]))),
        st.tuples(st.sampled_from(["f", "seq", "some"]), bound, _small).map(
            lambda p: (
                f"count({name} in {p[0]}: {p[1][0]}) = {p[2]}",
                ("count", name, p[0], p[1][1], p[2]),
            )
        ),
    )


def conditions() -> st.SearchStrategy[tuple[list[State], str, Tree]]:
    """Draw states, a condition and its tree."""
    return st.tuples(_states(1), st.lists(_states(0), max_size=4), _conditions((), 2)).map(
        lambda p: ([p[0], *p[1]], *p[2])
    )


def holds(tree: Tree, state: Mapping[str, Value], env: Mapping[str, Value] | None = None) -> bool:
    """Tell whether a condition holds in a state."""
    env = env or {}
    match tree:
        case ("on",):
            return state["on"] is True
        case ("not", inner):
            return not holds(inner, state, env)
        case ("and", one, two):
            return holds(one, state, env) and holds(two, state, env)
        case ("or", one, two):
            return holds(one, state, env) or holds(two, state, env)
        case ("=>", one, two):
            return not holds(one, state, env) or holds(two, state, env)
        case ("cmp", sign, one, two):
            return _compare(sign, _number(one, state, env), _number(two, state, env))
        case ("f.b", key, name):
            record = _applied(state["f"], _number(key, state, env))
            return isinstance(record, Function) and record["b"] == name
        case ("has", key):
            return _applied(state["f"], _number(key, state, env)) is not None
        case ("in", element, of):
            return _is_in(_number(element, state, env), _members(state, of))
        case ("notin", element, of):
            return not _is_in(_number(element, state, env), _members(state, of))
        case _:
            return _quantified(tree, state, env)


def _quantified(tree: Tree, state: Mapping[str, Value], env: Mapping[str, Value]) -> bool:
    match tree:
        case (("any" | "all") as which, name, of, body):
            each = [holds(body, state, {**env, name: one}) for one in _members(state, of)]
            return any(each) if which == "any" else all(each)
        case ("count", name, of, body, expected):
            each = [holds(body, state, {**env, name: one}) for one in _members(state, of)]
            return bool(sum(each) == expected)
        case _:
            raise AssertionError(tree)


def _compare(sign: str, one: int | None, two: int | None) -> bool:
    if one is None or two is None:
        return False
    order = (one > two) - (one < two)
    return {
        "=": order == 0,
        "!=": order != 0,
        "<": order < 0,
        "<=": order <= 0,
        ">": order > 0,
        ">=": order >= 0,
    }[sign]


def _is_in(element: int | None, members: list[Value]) -> bool:
    return element is not None and any(same(element, one) for one in members)


def _members(state: Mapping[str, Value], of: str) -> list[Value]:
    if of == "0..2":
        return [0, 1, 2]
    value = state[of]
    assert isinstance(value, (Function, tuple, frozenset))
    return list(value)


def _applied(function: Value, key: int | None) -> Value | None:
    if key is None:
        return None
    if isinstance(function, tuple):
        return function[key - 1] if 1 <= key <= len(function) else None
    assert isinstance(function, Function)
    return function.get(key)


def _number(tree: Tree, state: Mapping[str, Value], env: Mapping[str, Value]) -> int | None:
    match tree:
        case ("lit", value):
            return int(value)
        case ("field", name):
            found = state[name]
        case ("bound", name):
            found = env[name]
        case ("len", name):
            sized = state[name]
            assert isinstance(sized, (tuple, frozenset))
            return len(sized)
        case ("f.a", key):
            record = _applied(state["f"], _number(key, state, env))
            found = record["a"] if isinstance(record, Function) else -99
            return None if found == -99 else int(found)
        case ("item", key):
            item = _applied(state["seq"], _number(key, state, env))
            return None if item is None else int(item)  # type: ignore[arg-type]
        case (sign, one, two):
            left, right = _number(one, state, env), _number(two, state, env)
            if left is None or right is None:
                return None
            return left + right if sign == "+" else left - right
        case _:
            raise AssertionError(tree)
    assert isinstance(found, int)
    return int(found)

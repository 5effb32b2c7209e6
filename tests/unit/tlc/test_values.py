"""Values: equality, hashes, order, membership, and conversion to and from Python."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canvass.tlc.config import from_python
from canvass.tlc.errors import TlaValueError
from canvass.tlc.output import TraceState
from canvass.tlc.results import Outcome, Violation
from canvass.tlc.values import (
    Function,
    ModelValue,
    Value,
    format_value,
    function,
    ordered,
    parse_value,
    same,
    sort_key,
    to_itf_value,
)
from support.itf_values import from_itf_value
from support.tlc_values import values

KINDS: list[Value] = [
    False,
    True,
    -1,
    0,
    1,
    "",
    "1",
    "m1",
    ModelValue("m1"),
    ModelValue("m2"),
    frozenset(),
    frozenset([1]),
    frozenset([True]),
    frozenset(["1"]),
    frozenset([1, 2]),
    (),
    (1,),
    (True,),
    (1, 2),
    Function({"a": 1}),
    Function({"a": True}),
    Function({"b": 1}),
    Function({2: 1}),
    Function({ModelValue("m1"): 1}),
    Function({"a b": 1}),
]


def test_values_of_different_kinds_are_never_equal() -> None:
    for place, one in enumerate(KINDS):
        for other in KINDS[place + 1 :]:
            assert not same(one, other), (one, other)
            assert sort_key(one) != sort_key(other)
            assert format_value(one) != format_value(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (function({}), ()),
        (function({1: "x", 2: "y"}), ("x", "y")),
        (from_python({"a": {}}), function({"a": ()})),
        (frozenset([2, 1, 2]), frozenset([1, 2])),
        (frozenset([(), function({})]), frozenset([()])),
        (Function({"b": 1, "a": 2}), Function({"a": 2, "b": 1})),
        (parse_value("1..3"), frozenset([1, 2, 3])),
        (parse_value("5..4"), frozenset()),
    ],
)
def test_equality_is_the_equality_of_tla(one: Value, other: Value) -> None:
    assert one == other
    assert hash(one) == hash(other)
    assert format_value(one) == format_value(other)


def test_a_function_is_a_sequence_if_its_domain_is() -> None:
    assert parse_value("<< >>") == parse_value("<<>>") == ()
    assert parse_value("(2 :> 7 @@ 1 :> 8)") == (8, 7)
    assert parse_value("{}") == frozenset()


@given(values)
def test_equal_values_have_equal_hashes_and_text(value: Value) -> None:
    again = parse_value(format_value(value))

    assert same(again, value)
    assert hash(again) == hash(value)
    assert format_value(again) == format_value(value)
    assert sort_key(again) == sort_key(value)


@given(values)
def test_a_value_survives_pickling(value: Value) -> None:
    assert same(pickle.loads(pickle.dumps(value)), value)


@given(st.lists(values, max_size=5))
def test_the_canonical_order_is_total(several: list[Value]) -> None:
    once = ordered(several)

    assert [sort_key(one) for one in once] == sorted(sort_key(one) for one in several)
    assert ordered(reversed(several)) == once


def test_functions_are_mappings_in_canonical_order() -> None:
    record, mapped = Function({"b": 2, "a": 1}), Function({2: "two", -1: "minus"})

    assert list(record.items()) == [("a", 1), ("b", 2)]
    assert list(mapped.items()) == [(-1, "minus"), (2, "two")]


def test_values_cannot_be_changed_by_assignment() -> None:
    value = Function({0: 1})
    with pytest.raises(AttributeError):
        value.other = 1  # type: ignore[attr-defined]
    change: Callable[[], object]
    for change in (value.clear, value.popitem, lambda: value.update({1: 1}), lambda: value.pop(0)):
        with pytest.raises(TypeError, match="cannot be changed"):
            change()
    with pytest.raises(TypeError, match="cannot be changed"):
        value[0] = 2


def test_other_objects_than_values_are_refused() -> None:
    for data in (None, 1.5, b"x", object(), 2**31, -(2**31) - 1, "\x00", "\ud800"):
        with pytest.raises(TlaValueError):
            from_python(data)
    with pytest.raises(TlaValueError):
        format_value((2**40,))
    for name in ("", "a b", "1", "a-b", "ä", 'x"'):
        with pytest.raises(TlaValueError, match="identifier"):
            ModelValue(name)


def test_python_data_and_values_are_converted_both_ways() -> None:
    data = {"members": (0, 1), "leader": True, "acks": frozenset({1, 2}), "by": {0: "x"}}

    value = from_python(data)

    assert isinstance(value, Function)
    assert value.is_record
    assert format_value(value) == (
        '[acks |-> {1, 2}, by |-> (0 :> "x"), leader |-> TRUE, members |-> <<0, 1>>]'
    )
    assert value == data


@given(values)
def test_itf_is_lossless(value: Value) -> None:
    through = json.loads(json.dumps(to_itf_value(value)))

    assert same(from_itf_value(through), value)


def test_an_itf_trace_has_actions_and_loop() -> None:
    states = (
        TraceState(1, None, None, None, "/\\ n = 0\n/\\ s = {}"),
        TraceState(2, "Step", None, None, "/\\ n = 1\n/\\ s = {m}"),
    )

    assert Violation(Outcome.LIVENESS, "Ends", "", states, 1).to_itf("Counter") == {
        "#meta": {"format": "ITF", "source": "Counter"},
        "vars": ["n", "s"],
        "loop": 1,
        "states": [
            {"#meta": {"index": 0}, "n": {"#bigint": "0"}, "s": {"#set": []}},
            {
                "#meta": {"index": 1, "action": "Step"},
                "n": {"#bigint": "1"},
                "s": {"#set": [{"#unserializable": "m"}]},
            },
        ],
    }


@pytest.mark.parametrize(
    "data", [None, 1.5, {"#bigint": "x"}, {"#bigint": "9" * 25}, {"#map": [[1]]}, {"#odd": 1}]
)
def test_other_data_than_itf_is_refused(data: object) -> None:
    with pytest.raises(TlaValueError):
        from_itf_value(data)

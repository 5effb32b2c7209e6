"""Values: equality, hashes, order, membership, and conversion to and from Python."""

from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canvass.tlc import (
    Function,
    ModelValue,
    Record,
    Seq,
    Set,
    TlaValueError,
    Value,
    format_value,
    from_python,
    parse_value,
    sort_key,
    to_itf_trace,
    to_python,
    to_tla,
)
from canvass.tlc.convert import to_itf_value
from canvass.tlc.values import same
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
    Set(),
    Set([1]),
    Set([True]),
    Set(["1"]),
    Set([1, 2]),
    Seq(),
    Seq([1]),
    Seq([True]),
    Seq([1, 2]),
    Record({"a": 1}),
    Record({"a": True}),
    Record({"b": 1}),
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
        (Function({}), Seq()),
        (Record({}), Seq()),
        (Function({1: "x", 2: "y"}), Seq(["x", "y"])),
        (Function({"a": 1}), Record({"a": 1})),
        (Set([2, 1, 2]), Set([1, 2])),
        (Set([Seq(), Function({})]), Set([Seq()])),
        (Record({"b": 1, "a": 2}), Record({"a": 2, "b": 1})),
        (parse_value("1..3"), Set([1, 2, 3])),
        (parse_value("5..4"), Set()),
    ],
)
def test_equality_is_the_equality_of_tla(one: Value, other: Value) -> None:
    assert one == other
    assert hash(one) == hash(other)
    assert format_value(one) == format_value(other)


def test_a_value_keeps_the_kind_that_tlc_printed() -> None:
    assert isinstance(parse_value("<< >>"), Function)
    assert isinstance(parse_value("<<>>"), Seq)
    assert isinstance(parse_value("{}"), Set)


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
    once = sorted(several, key=sort_key)

    assert [sort_key(one) for one in once] == sorted(sort_key(one) for one in several)
    assert list(Set(several)) == list(Set(reversed(several)))


@given(st.lists(values, max_size=6), values)
def test_membership_is_equality_with_an_element(several: list[Value], one: Value) -> None:
    expected = any(same(one, other) for other in several)

    assert expected == (one in Set(several))
    assert expected == (one in Seq(several))
    assert all(element in Set(several) for element in several)


def test_truth_is_not_one() -> None:
    assert True not in Set([1])
    assert 1 not in Seq([True])
    assert True not in Function({1: 2})
    with pytest.raises(KeyError):
        Function({1: 2})[True]


def test_composites_are_collections() -> None:
    record, function = Record({"b": 2, "a": 1}), Function({2: "two", -1: "minus"})

    assert list(record.items()) == [("a", 1), ("b", 2)]
    assert list(function.items()) == [(-1, "minus"), (2, "two")]
    assert function[2] == "two"
    assert Seq([1, 2, 3])[1:] == Seq([2, 3])
    assert Set([1]) <= Set([1, 2])
    assert Set([1, 2]) & Set([2, 3]) == Set([2])
    assert object() not in Set([1])


def test_values_cannot_be_changed_by_assignment() -> None:
    for value in (Set(), Seq(), Record({}), Function({})):
        with pytest.raises(AttributeError):
            value.other = 1  # type: ignore[union-attr]


def test_other_objects_than_values_are_refused() -> None:
    for data in (None, 1.5, b"x", object(), 2**31, -(2**31) - 1, "\x00", "\ud800"):
        with pytest.raises(TlaValueError):
            from_python(data)
    with pytest.raises(TlaValueError):
        Set([1, 2.5])  # type: ignore[list-item]
    with pytest.raises(TlaValueError):
        format_value(Seq([2**40]))
    with pytest.raises(TlaValueError, match="twice"):
        Function([(1, 2), (1, 3)])
    for name in ("", "a b", "1", "a-b", "ä", 'x"'):
        with pytest.raises(TlaValueError, match="identifier"):
            ModelValue(name)
        with pytest.raises(TlaValueError, match="identifier"):
            Record({name: 1})


def test_python_data_and_values_are_converted_both_ways() -> None:
    data = {"members": (0, 1), "leader": True, "acks": frozenset({1, 2}), "by": {0: "x"}}

    value = from_python(data)

    assert isinstance(value, Record)
    assert format_value(value) == (
        '[acks |-> {1, 2}, by |-> (0 :> "x"), leader |-> TRUE, members |-> <<0, 1>>]'
    )
    assert to_python(value) == data


def test_values_that_python_cannot_hash_stay_mappings() -> None:
    plain = to_python(parse_value("{[a |-> 1]}"))

    (element,) = plain
    assert element["a"] == 1


def test_source_text_can_be_written_in_a_module() -> None:
    assert to_tla(-(2**31)) == "(-2147483647 - 1)"
    assert to_tla({"LET": 1, "a": {}}) == '("LET" :> 1 @@ "a" :> <<>>)'
    assert to_tla('"]\\ @@ IOExec(<<>>)\n') == '"\\"]\\\\ @@ IOExec(<<>>)\\n"'
    with pytest.raises(TlaValueError, match="ASCII"):
        to_tla("ä")


@given(values)
def test_itf_is_lossless(value: Value) -> None:
    through = json.loads(json.dumps(to_itf_value(value)))

    assert same(from_itf_value(through), value)


def test_an_itf_trace_has_actions_and_loop() -> None:
    states: list[dict[str, Value]] = [{"n": 0, "s": Set()}, {"n": 1, "s": Set([ModelValue("m")])}]

    document = to_itf_trace(states, actions=[None, "Step"], loop=1, source="Counter")

    assert document == {
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
    with pytest.raises(TlaValueError, match="other variables"):
        to_itf_trace([{"n": 0}, {"m": 0}])


@pytest.mark.parametrize(
    "data", [None, 1.5, {"#bigint": "x"}, {"#bigint": "9" * 25}, {"#map": [[1]]}, {"#odd": 1}]
)
def test_other_data_than_itf_is_refused(data: object) -> None:
    with pytest.raises(TlaValueError):
        from_itf_value(data)

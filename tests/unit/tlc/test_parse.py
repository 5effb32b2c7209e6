"""Reading values: the forms that TLC prints, wrapped or not, and the forms that it never prints."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canvass.tlc.errors import TlaValueError, ValueSyntaxError
from canvass.tlc.values import (
    MAX_DEPTH,
    Function,
    ModelValue,
    Value,
    format_value,
    join_values,
    parse_state,
    parse_value,
    same,
)
from support.tlc_values import identifiers, values


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-2147483648", -(2**31)),
        ("2147483647", 2**31 - 1),
        ("TRUE", True),
        ('"TRUE"', "TRUE"),
        ("m1", ModelValue("m1")),
        ("1a", ModelValue("1a")),
        ("Nat", ModelValue("Nat")),
        (r'"q\"uo b\\s n\nl t\tt"', 'q"uo b\\s n\nl t\tt'),
        ('"<<"', "<<"),
        ("-2..0", frozenset([-2, -1, 0])),
        ("<<{}, <<>>, << >>>>", (frozenset(), (), ())),
        ("[1a |-> 1, TRUE |-> 2]", Function({"1a": 1, "TRUE": 2})),
        ('("a b" :> 1 @@ "" :> 2)', Function({"a b": 1, "": 2})),
        ("(-1 :> -1 @@ 0 :> 0)", Function({-1: -1, 0: 0})),
        (
            "(<<1>> :> (m1 :> TRUE) @@ <<2>> :> {})",
            Function({(1,): Function({ModelValue("m1"): True}), (2,): frozenset()}),
        ),
    ],
)
def test_the_forms_of_tlc_are_read(text: str, value: Value) -> None:
    assert same(parse_value(text), value)
    assert same(parse_value(f"  {text}\n"), value)


@given(values)
def test_printing_and_reading_round_trip(value: Value) -> None:
    assert same(parse_value(format_value(value)), value)


@given(values, st.data())
def test_line_breaks_between_tokens_do_not_matter(value: Value, data: st.DataObject) -> None:
    text = format_value(value)
    outside = 0
    laid_out = []
    quoted = False
    for place, letter in enumerate(text):
        laid_out.append(letter)
        escaped = quoted and text[outside:place].endswith("\\")
        if letter == '"' and not escaped:
            quoted = not quoted
        outside = place + 1 if not quoted or escaped else outside
        if letter in ",[{(" and not quoted:
            laid_out.append(data.draw(st.sampled_from(["", " ", "\n   "])))

    assert same(parse_value("".join(laid_out)), value)


@pytest.mark.parametrize(
    ("text", "reason", "offset"),
    [
        ("", "a value was expected", 0),
        ("1 2", "the end of the value was expected", 2),
        ("<<1", "',' or '>>' was expected", 3),
        ("{1,}", "a value was expected", 3),
        ("{1}}", "the end of the value was expected", 3),
        ("[a |-> 1, a |-> 2]", "the record has the field a twice", 10),
        ("[1 |-> 2]", "1 is not a field name", 1),
        ("[]", "'name |->' was expected", 1),
        ("()", "a value was expected", 1),
        ("(1 : 2)", "':>' was expected", 3),
        ("(1 :> 2, 3 :> 4)", "'@@' or ')' was expected", 7),
        ("(1 :> 2 @@ 1 :> 3)", "a function has the argument 1 twice", 13),
        ('"abc', "a value was expected", 0),
        ('"a\nb"', "a value was expected", 0),
        (r'"\q"', r"'\q' is not an escape of TLA+", 0),
        ("1.5", "the end of the value was expected", 1),
        ("Seq({1})", "the end of the value was expected", 3),
        ("2147483648", "TLC integers have 32 bits, 2147483648 is outside -2^31..2^31-1", 0),
        ("0..99999999", "the interval has more than 1048576 elements", 0),
    ],
)
def test_another_text_than_a_value_is_refused_with_its_place(
    text: str, reason: str, offset: int
) -> None:
    with pytest.raises(ValueSyntaxError) as caught:
        parse_value(text)

    assert (caught.value.reason, caught.value.offset) == (reason, offset)
    assert "\n" not in str(caught.value)


def test_an_error_names_line_and_column() -> None:
    with pytest.raises(ValueSyntaxError, match="line 2, column 3"):
        parse_value("<<1,\n  ?>>")


def test_nesting_is_bounded_before_python_is() -> None:
    assert parse_value("{" * MAX_DEPTH + "}" * MAX_DEPTH)
    for opener in ("{", "<<", "[a |-> ", "(", "(1 :> "):
        with pytest.raises(ValueSyntaxError, match="deeper than"):
            parse_value(opener * 100_000)


def test_a_huge_number_costs_nothing() -> None:
    for text in ("9" * 1_000_000, "-" + "9" * 1_000_000, "1.." + "9" * 1_000_000):
        with pytest.raises(ValueSyntaxError, match="32 bits"):
            parse_value(text)


@given(st.text(alphabet='<>{}[]()|-:@,."\\ \n\tab1_', max_size=40))
def test_any_text_is_a_value_or_one_error(text: str) -> None:
    try:
        value = parse_value(text)
    except TlaValueError:
        return

    assert same(parse_value(format_value(value)), value)


@given(st.dictionaries(identifiers, values, max_size=4))
def test_states_are_read_by_variable(state: dict[str, Value]) -> None:
    text = "\n".join(f"/\\ {name} = {format_value(value)}" for name, value in state.items())

    read = parse_state(text + "\n\n")

    assert list(read) == list(state)
    assert all(same(read[name], state[name]) for name in state)


def test_a_single_variable_has_no_conjunction_sign() -> None:
    assert parse_state("n = 0\n") == {"n": 0}


@pytest.mark.parametrize("text", ["n", "/\\ n == 1", "/\\ n = 1\n/\\ n = 2", "/\\ n = 1\n/\\ m"])
def test_another_text_than_a_state_is_refused(text: str) -> None:
    with pytest.raises(ValueSyntaxError):
        parse_state(text)


WRAPPED = """\
[ wide |->
      ( 10 :> <<"abcdef", {10}>> @@
        11 :> <<"a{[(<<b", {11}>> ),
  to |-> 0 ]
<<"short", 1>>
"""


def test_printed_values_are_joined_over_lines_and_other_lines_are_handed_to_the_caller() -> None:
    others: list[str] = []
    lines = ["Hello, world (", *WRAPPED.splitlines(), "<<1,", "3 :> 4", "<<2,", "  3"]

    first, second = join_values(lines, others.append)

    assert isinstance(first, Function)
    assert first["to"] == 0
    assert second == ("short", 1)
    assert others == ["Hello, world (", "<<1,", "3 :> 4", "<<2,", "  3"]


@pytest.mark.night
def test_reading_takes_linear_time() -> None:
    """No measure of speed: only quadratic work takes so much of a processor, however busy."""
    count = 100_000
    text = "<<" + ", ".join(['[a |-> {1, 2}, b |-> <<"x">>]'] * count) + ">>"
    start = process_time()

    value = parse_value(text)

    assert isinstance(value, tuple)
    assert len(value) == count
    assert process_time() - start < 10.0, "quadratic work would take a minute"

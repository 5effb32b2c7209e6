"""The changes between two values are the fewest, and lead from one to the other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canvass.tlc.config import from_python
from canvass.tlc.counterexample import ValueChange, changes, state_changes
from canvass.tlc.values import Value, parse_value


def shown(before: str, after: str) -> list[str]:
    return [str(one) for one in changes(parse_value(before), parse_value(after), ("v",))]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("1", "1", []),
        ("1", "2", ["v: 1 -> 2"]),
        ("TRUE", "1", ["v: TRUE -> 1"]),
        ('"CANVASS"', '"NOMINATE"', ["v: CANVASS -> NOMINATE"]),
        ("[a |-> 1, b |-> <<>>]", "[a |-> 2, b |-> <<7>>]", ["v.a: 1 -> 2", "v.b: + 7"]),
        ("[a |-> 1]", "[b |-> 1]", ["v: [a |-> 1] -> [b |-> 1]"]),
        ("(0 :> 1 @@ 5 :> 2)", "(0 :> 1 @@ 6 :> 2)", ["v[5]: - 2", "v[6]: + 2"]),
        ("(0 :> 1 @@ 1 :> 2)", "(0 :> 1 @@ 1 :> 3)", ["v[1]: 2 -> 3"]),
        ("<<1>>", "(1 :> 2 @@ 5 :> 3)", ["v[1]: 1 -> 2", "v[5]: + 3"]),
        ("{1, 2}", "{2, 3}", ["v: - 1", "v: + 3"]),
    ],
)
def test_values_of_each_kind(before: str, after: str, expected: list[str]) -> None:
    assert shown(before, after) == expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("<<1, 2, 3>>", "<<2, 3, 4>>", ["v: - 1", "v: + 4"]),
        ("<<1>>", "<<>>", ["v: - 1"]),
        ("<<0, 0, 1, 1>>", "<<0, 0, 2>>", ["v: - 1", "v: - 1", "v: + 2"]),
        ("<<1, 2, 3>>", "<<1, 9, 3>>", ["v[2]: 2 -> 9"]),
        ("<<[a |-> 1], [a |-> 2]>>", "<<[a |-> 1], [a |-> 3]>>", ["v[2].a: 2 -> 3"]),
    ],
    ids=["a queue moves on", "it empties", "a log is cut and grows", "in place", "nested"],
)
def test_sequences_change_like_queues_logs_or_in_place(
    before: str, after: str, expected: list[str]
) -> None:
    assert shown(before, after) == expected


def test_states_are_compared_by_variable() -> None:
    before: dict[str, Value] = {"log": (), "term": 0}
    after: dict[str, Value] = {"log": (1,), "term": 0}

    assert state_changes(before, after) == (ValueChange(("log",), None, 1),)


def queue_of(items: list[int], shown: list[ValueChange]) -> list[int]:
    """Apply the changes of a sequence of integers, at its ends or in place."""
    result = list(items)
    for change in shown:
        if change.kind == "changed":
            place = int(change.path[1].strip("[]")) - 1
            assert result[place] == change.before
            assert isinstance(change.after, int)
            result[place] = change.after
        elif change.kind == "removed":
            result.remove(change.before)  # type: ignore[arg-type]
        else:
            assert isinstance(change.after, int)
            result.append(change.after)
    return result


INTEGERS = st.lists(st.integers(0, 3), max_size=6)


@given(INTEGERS, INTEGERS)
def test_the_changes_of_a_sequence_lead_to_the_new_one(one: list[int], two: list[int]) -> None:
    """Compared as multisets: a `ValueChange` does not tell the front of a sequence from its end."""
    shown = list(changes(from_python(one), from_python(two), ("v",)))

    assert sorted(queue_of(one, shown)) == sorted(two)
    assert bool(shown) == (one != two)
    assert len(shown) <= len(one) + len(two)

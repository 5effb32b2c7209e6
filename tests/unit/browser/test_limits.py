"""Content that is too long or too deep is cut off, and the page says where."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from canvass.browser.labels import MAX_CHANGES, label_of, labels_of, tree_changes
from canvass.browser.questions import (
    LABEL_CHARS,
    TEXT_CHARS,
    TREE_ITEMS,
    bounded,
    encoded,
    shortened,
)
from canvass.lanes.drawing import value_text

LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=12,
)


@given(st.text(max_size=50))
def test_short_texts_stay_as_they_are(text: str) -> None:
    assert shortened(text) == text


def test_long_texts_say_how_much_is_missing() -> None:
    assert shortened("x" * 10_000, 10) == "x" * 10 + "… (shortened: 9,990 more characters)"


def test_what_utf_8_cannot_hold_is_replaced() -> None:
    assert shortened("a\ud800b") == "a?b"


class Answer(msgspec.Struct):
    """Stands for an answer of the server."""

    found: Any


@given(TREES)
def test_an_answer_with_short_texts_is_written_as_it_is(tree: Any) -> None:
    assert encoded(Answer(tree)) == msgspec.json.encode(Answer(tree))


def test_an_answer_has_the_beginning_of_each_long_text_and_no_lone_surrogate() -> None:
    long = '"\\' * TEXT_CHARS
    shown = shortened(long)
    assert shown.endswith("more characters)")
    found = msgspec.json.decode(encoded(Answer({long: [long, 1], "\ud800": None})))
    assert found == {"found": {shown: [shown, 1], "?": None}}


@given(TREES)
def test_bounded_trees_are_json_and_the_same_again(tree: Any) -> None:
    found = bounded(tree)

    assert bounded(found) == found
    assert msgspec.json.decode(msgspec.json.encode(found)) == found


def test_large_integers_become_texts_as_a_browser_cannot_hold_them() -> None:
    most = (1 << 53) - 1

    assert bounded([most, -most, True]) == [most, -most, True]
    assert bounded([most + 1, -most - 1, 1 << 60]) == [str(most + 1), str(-most - 1), str(1 << 60)]


def test_long_lists_and_deep_trees_are_cut_and_say_so() -> None:
    assert bounded(list(range(TREE_ITEMS + 5)))[-1] == "… (shortened: 5 more)"
    assert bounded({str(k): k for k in range(TREE_ITEMS + 5)})["…"] == "(shortened: 5 more)"
    deep: Any = 1
    for _ in range(5000):
        deep = [deep]
    text = str(msgspec.json.encode(bounded(deep)))
    assert "nested too deep" in text
    assert len(text) < 200


@given(TREES, TREES)
def test_changes_are_reported_exactly_when_there_are_some(one: Any, two: Any) -> None:
    assert tree_changes(one, one) == ()
    same = msgspec.json.encode(one) == msgspec.json.encode(two)
    if not same and value_text(one) != value_text(two) and isinstance(one, type(two)):
        assert tree_changes(one, two)


def test_changes_name_the_place_and_both_values() -> None:
    before = {"a": 1, "b": [1, {"c": True}], "d": "x"}
    after = {"a": 2, "b": [1, {"c": False}, 3], "e": None}

    assert [(one.field, one.before, one.after) for one in tree_changes(before, after)] == [
        ("a", "1", "2"),
        ("b[1].c", "true", "false"),
        ("b[2]", "absent", "3"),
        ("d", "x", "absent"),
        ("e", "absent", "null"),
    ]


def test_too_many_changes_are_cut_and_it_is_said() -> None:
    found = tree_changes(list(range(1000)), list(range(1, 1001)))

    assert len(found) == MAX_CHANGES + 1
    assert "shortened" in found[-1].after


def test_labels_are_short() -> None:
    label = label_of({f"variable{k}": "x" * TEXT_CHARS for k in range(9)})

    assert len(label) < LABEL_CHARS + 60
    assert "shortened" in label


def test_a_long_value_that_tells_two_states_apart_is_short_in_their_names() -> None:
    labels = labels_of({k: {"a": 1, "b": 2, "c": 3, "d": f"{k}" * TEXT_CHARS} for k in range(2)})

    assert labels[0] != labels[1]
    assert all(len(label) < 2 * (LABEL_CHARS + 60) for label in labels.values())


def test_a_member_is_named_by_its_election_state() -> None:
    tree = {"electionState": "CLOSED", "role": "LEADER", "moduleState": "ACTIVE"}
    numbers = {"leadershipTermId": 2, "appendPosition": 64}

    assert label_of({**tree, **numbers}) == "CLOSED LEADER t2 p64"
    assert label_of({**tree, **numbers, "moduleState": "CLOSED"}) == "not running t2 p64"
    assert label_of({**tree, **numbers, "electionState": "CANVASS"}) == "CANVASS t2 p64"

"""``graph export --format parquet``: tables give the exact values back, and have types."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from canvass.graph import GraphError
from canvass.graph.export import arrow_type, decode, encode, read_states, shape_of, write_parquet
from canvass.tlc.values import Function, ModelValue, Value, parse_value, same
from support.examples import examples
from support.state_graphs import view_of
from support.tlc_values import values

NIL = ModelValue("Nil")


def through_arrow(given_values: list[Value]) -> list[Value]:
    shape = shape_of(given_values)
    column = pa.array([encode(shape, one) for one in given_values], arrow_type(shape))
    return [decode(shape, cell) for cell in column.to_pylist()]


@examples(150)
@given(st.lists(values, max_size=5))
@example([NIL, 3])
@example([NIL, Function({"a": 1})])
@example([Function({"a": NIL}), Function({"a": 1}), Function({"b": 1})])
@example([(), Function({"a": ()}), Function({"b": ()})])
@example([Function({"a": 1, "A": 2})])
@example([Function({NIL: 1, 0: 2})])
@example([(), Function({0: frozenset()}), (1, 2)])
@example([frozenset({(1, True)}), frozenset()])
def test_values_are_the_same_after_arrow(several: list[Value]) -> None:
    assert all(map(same, through_arrow(several), several))


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1", "2"], "int32"),
        (["TRUE"], "bool"),
        (['"a"'], "string"),
        (["m1", "m2"], "string"),
        (["Nil", "1"], "int32"),
        (["Nil", "Other", "1"], "string"),
        (["<<1>>", "<<>>"], "list<item: int32>"),
        (["{<<1>>}"], "list<item: list<item: int32>>"),
        (["(0 :> 1)", "<<1>>"], "map<int32, int32>"),
        (['[a |-> 1, b |-> "x"]', "[a |-> 1]"], "struct<a: int32, b: string>"),
        (["1", '"a"'], "string"),
        (["{}"], "list<item: null>"),
    ],
)
def test_values_of_one_kind_have_a_type(texts: list[str], expected: str) -> None:
    assert str(arrow_type(shape_of([parse_value(text) for text in texts]))) == expected


def test_a_graph_is_written_with_its_states_and_edges(tmp_path: Path) -> None:
    states = [{"n": number, "log": {0: (number,), 1: ()}} for number in range(3)]
    view = view_of(states, [(0, "Go(1, 2)", 1), (1, "Go(2, 3)", 2), (0, "Skip", 2)])

    write_parquet(view, tmp_path / "out")

    table = pq.read_table(tmp_path / "out" / "states.parquet")
    edges = pq.read_table(tmp_path / "out" / "edges.parquet").to_pylist()
    assert list(read_states(tmp_path / "out" / "states.parquet")) == [
        view.state(row) for row in range(3)
    ]
    assert table["_id"].to_pylist() == [view.id_of(row) for row in range(3)]
    assert [row for row in range(3) if table["_initial"][row].as_py()] == view.initial.tolist()
    assert sorted((edge["action"], edge["arguments"] or "") for edge in edges) == [
        ("Go", "1, 2"),
        ("Go", "2, 3"),
        ("Skip", ""),
    ]
    number = table["n"].to_pylist()
    assert {(number[edge["source"]], number[edge["target"]]) for edge in edges} == {
        (0, 1),
        (1, 2),
        (0, 2),
    }


def test_nothing_is_written_over_and_no_column_is_hidden(tmp_path: Path) -> None:
    view = view_of([{"_row": 1}], [])

    with pytest.raises(GraphError, match="exists"):
        write_parquet(view, tmp_path)
    with pytest.raises(GraphError, match=re.escape("has a variable _row")):
        write_parquet(view, tmp_path / "out")

"""Graphs of any model: made of dumps, the same whatever order TLC took; damage and nonsense."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from canvass.graph import GraphError, dump_graph
from canvass.graph.dump_graph import import_dump
from canvass.graph.open import open_view
from canvass.graph.values import Interner, ValueTable
from canvass.tlc.config import from_python
from canvass.tlc.output import DumpEdge, DumpState, read_dump
from canvass.tlc.values import ModelValue, Value, format_value, parse_state, sort_key
from support.examples import examples
from support.state_graphs import dot_text, numbered, view_of
from support.tlc_cases import FIXTURES

atoms = st.one_of(
    st.booleans(),
    st.integers(-(2**31), 2**31 - 1),
    st.text(st.sampled_from('ab "\\,<>|-:@[]{}()\n'), max_size=6),
    st.sampled_from([ModelValue("m1"), ModelValue("m2")]),
)
values = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(tuple),
        st.lists(inner, max_size=4).map(lambda parts: from_python(tuple(parts))),
        st.dictionaries(st.sampled_from(["aField", "b", "longName"]), inner, max_size=3),
        st.dictionaries(st.integers(-2, 3), inner, max_size=4),
        st.dictionaries(st.sampled_from(["x y", "z"]), inner, max_size=2),
        st.frozensets(st.one_of(st.integers(0, 5), st.text("ab", max_size=2)), max_size=4),
    ),
    max_leaves=40,
).map(from_python)


@examples(80)
@given(st.lists(values, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_equal_values_are_one_node_however_they_are_given(
    drawn: list[Value], order: random.Random
) -> None:
    interner, other = Interner(), Interner()
    numbers = [interner.value(value) for value in drawn]
    texts = [interner.text(format_value(value)) for value in drawn]
    shuffled = list(drawn)
    order.shuffle(shuffled)
    for value in shuffled:
        other.text(format_value(value))
    table, number = interner.sealed([np.array(numbers)])
    again, _ = other.sealed([np.array([other.value(value) for value in drawn])])

    assert numbers == texts
    assert [sort_key(table.value(int(number[one]))) for one in numbers] == [*map(sort_key, drawn)]
    assert len({*numbers}) == len({*map(sort_key, drawn)})
    assert table.to_table().equals(again.to_table())
    assert ValueTable.from_table(table.to_table()).to_table().equals(table.to_table())


@pytest.mark.parametrize("name", ["lights", "shapes", "newest", "unusual"])
def test_a_dump_becomes_a_graph_with_the_same_states_and_edges(tmp_path: Path, name: str) -> None:
    dump = FIXTURES / f"{name}.dot"
    manifest = import_dump(dump, tmp_path / "graph")
    view = open_view(tmp_path / "graph")
    items = list(read_dump(dump))
    states = [item for item in items if isinstance(item, DumpState)]
    edges = [item for item in items if isinstance(item, DumpEdge) and item.action]
    key = {
        state.id: tuple(sort_key(value) for _, value in sorted(parse_state(state.text).items()))
        for state in states
    }
    rows = {
        tuple(sort_key(value) for _, value in sorted(view.state(row).items())): row
        for row in range(view.state_count)
    }
    expected = {
        (rows[key[edge.source]], edge.action, edge.arguments, rows[key[edge.target]])
        for edge in edges
    }
    found = {
        (edge.source, edge.action, edge.given.get("arguments"), edge.target)
        for edge in map(view.edge, view.out.edge.tolist())
    }

    assert view.state_count == len(states) == manifest.counts.states
    assert {rows[key[state.id]] for state in states if state.initial} == set(view.initial.tolist())
    assert found == expected
    assert sum(view.action_counts.values()) == view.edge_count == len(expected)
    assert {row for row in range(view.state_count) if view.is_initial(row)} == set(view.initial)
    assert sum((Counter(view.leaving(row)) for row in rows.values()), Counter()) == Counter(
        action for _, action, _, _ in expected
    )


def test_the_order_of_the_dump_and_the_numbers_of_tlc_do_not_matter(tmp_path: Path) -> None:
    states = [{"n": number, "s": {number, 9}} for number in range(6)]
    edges = [(0, "Go", 1), (1, "Go", 2), (1, "Go", 2), (2, "Stop", 5), (5, "Go", 0)]
    order = [3, 0, 5, 1, 4, 2]
    place = {number: at for at, number in enumerate(order)}
    moved = [(place[one], action, place[two]) for one, action, two in reversed(edges)]
    texts = [
        dot_text(states, edges),
        dot_text([states[number] for number in order], moved, [place[0]]),
    ]
    folders = []
    for number, text in enumerate(texts):
        dump = tmp_path / f"{number}" / "M.dot"
        dump.parent.mkdir()
        dump.write_text(text)
        import_dump(dump, tmp_path / f"graph{number}")
        folders.append(tmp_path / f"graph{number}")
    files = [
        {file.name: file.read_bytes() for file in folder.glob("*.parquet")} for folder in folders
    ]

    assert files[0] == files[1]
    assert len(files[0]) == 3


def test_a_state_without_steps_is_expanded_unless_tlc_stopped_early() -> None:
    states, edges = [{"n": 0}, {"n": 1}], [(0, "Go", 1)]

    assert view_of(states, edges).expanded.all()
    assert view_of(states, edges, complete=True).expanded.all()
    partial = view_of(states, edges, complete=False)
    rows = np.flatnonzero(partial.expanded).tolist()
    assert [partial.tree(row)["n"] for row in rows] == [0]


def test_stuttering_is_left_out() -> None:
    assert numbered(2, [(0, "", 0), (0, "Go", 1)]).edge_count == 1


def test_states_are_found_by_the_beginning_of_their_ids() -> None:
    view = numbered(40, [])
    names = [view.id_of(row) for row in range(40)]

    assert names == sorted(names)
    assert [view.find(name) for name in names] == list(range(40))
    assert view.find("0" * 32) is None
    lone = next(row for row, name in enumerate(names) if sum(x[0] == name[0] for x in names) == 1)
    assert view.find(names[lone][0].upper()) == lone
    with pytest.raises(GraphError, match="states have an id that begins with"):
        view.find(next(name[0] for name in names if sum(x[0] == name[0] for x in names) > 1))
    for wrong in ("", "xyz", "0" * 33, "\u0661"):
        with pytest.raises(GraphError, match="not a state id"):
            view.find(wrong)


WHOLE = 'digraph {\n1 [label="x = 1",style = filled];\n'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("digraph {\n}\n", "has no state"),
        (WHOLE + "1 -> 2;\n}\n", "is of the state 2, which is not in it"),
        (WHOLE + '2 [label="y = 1"];\n}\n', "state 2 has other variables than the first one"),
        (WHOLE + '2 [label="x = 1\\n/\\\\ x = 2"];\n}\n', "state 2 of the dump: .*x occurs twice"),
        (WHOLE + '2 [label="x = <<1,"];\n}\n', "state 2 of the dump"),
        (WHOLE + '2 [label="x = \\"\x1b\\""];\n}\n', "cannot hold the character"),
        (WHOLE, "the end is missing"),
        ("PNG\x00", "line 1: not a state graph"),
    ],
)
def test_what_is_no_graph_is_one_error(tmp_path: Path, text: str, reason: str) -> None:
    dump = tmp_path / "M.dot"
    dump.write_text(text)

    with pytest.raises(GraphError, match=reason) as raised:
        import_dump(dump, tmp_path / "graph")
    assert len(str(raised.value).splitlines()) == 1
    assert not (tmp_path / "graph").exists()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'1 [label="x = \\"\xff\\""];\n', "cannot hold the character"),
        (b'1 [label="x = 1"];\n1 -> 1 [label="G\xff"];\n', "not UTF-8"),
    ],
)
def test_text_that_is_not_utf_8_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    dump = tmp_path / "M.dot"
    dump.write_bytes(b"digraph {\n" + content + b"}\n")

    with pytest.raises(GraphError, match=reason):
        import_dump(dump, tmp_path / "graph")


def test_more_states_than_are_read_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dump = tmp_path / "M.dot"
    dump.write_text(dot_text([{"n": number} for number in range(4)], []))

    monkeypatch.setattr(dump_graph, "MAX_STATES", 4)
    assert import_dump(dump, tmp_path / "graph").counts.states == 4
    monkeypatch.setattr(dump_graph, "MAX_STATES", 3)
    with pytest.raises(GraphError, match="more than 3 states"):
        dump_graph.read_graph(dump)


def test_damage_is_noticed(tmp_path: Path) -> None:
    dump, folder = tmp_path / "M.dot", tmp_path / "graph"
    dump.write_text(dot_text([{"n": number} for number in range(4)], [(0, "Go", 1)]))
    import_dump(dump, folder)
    for file in sorted(folder.iterdir()):
        whole = file.read_bytes()
        for spoilt in (b"", whole[:-9], whole[:40] + bytes([whole[40] ^ 1]) + whole[41:]):
            file.write_bytes(spoilt)
            with pytest.raises(GraphError):
                open_view(folder)
        file.unlink()
        with pytest.raises(GraphError):
            open_view(folder)
        file.write_bytes(whole)
    open_view(folder)


def test_a_manifest_must_vouch_for_every_file(tmp_path: Path) -> None:
    dump, folder = tmp_path / "M.dot", tmp_path / "graph"
    dump.write_text(dot_text([{"n": 0}], []))
    import_dump(dump, folder)
    manifest = folder / "manifest.json"
    document = json.loads(manifest.read_text())
    del document["files"]["edges.parquet"]
    manifest.write_text(json.dumps(document))

    with pytest.raises(GraphError, match=r"edges\.parquet: damaged"):
        open_view(folder)


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    dump, folder = tmp_path / "M.dot", tmp_path / "mine"
    dump.write_text(dot_text([{"n": 0}], []))
    folder.mkdir()
    (folder / "precious.txt").write_text("precious")

    with pytest.raises(GraphError, match="exists; name a new folder"):
        import_dump(dump, folder)
    assert (folder / "precious.txt").read_text() == "precious"

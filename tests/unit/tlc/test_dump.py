"""Reading state graphs in dot, of 2.15 (recorded) and of newer versions (written by hand)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from time import process_time

import pytest

from canvass.tlc.errors import TlcError
from canvass.tlc.output import DumpEdge, DumpState, read_dump
from canvass.tlc.values import Function, ModelValue, format_value, parse_state
from support.tlc_cases import FIXTURES


def states(name: str) -> list[DumpState]:
    return [item for item in read_dump(FIXTURES / name) if isinstance(item, DumpState)]


def edges(name: str) -> list[DumpEdge]:
    return [item for item in read_dump(FIXTURES / name) if isinstance(item, DumpEdge)]


def test_all_states_and_edges_are_read() -> None:
    nodes, arrows = states("lights.dot"), edges("lights.dot")

    # The counts are those of TLC's own statistics and coverage for this model.
    assert len({node.id for node in nodes}) == len(nodes) == 63
    assert Counter(arrow.action for arrow in arrows) == {
        "Arrive": 84,
        "Go": 54,
        "Slow": 18,
        "Stop": 18,
        "Pass": 12,
    }
    assert {arrow.target for arrow in arrows} | {nodes[0].id} == {node.id for node in nodes}
    assert [node.initial for node in nodes] == [True] + [False] * 62


def test_wrapped_labels_are_values() -> None:
    (first, *_) = states("lights.dot")

    assert parse_state(first.text)["last"] == ("none", -1, frozenset())
    assert parse_state(first.text)["lamp"] == {
        street: {"colour": "red", "since": 0} for street in ("north", "east")
    }


def test_every_kind_of_value_survives_the_labels() -> None:
    (only,) = states("shapes.dot")
    m1, m2 = ModelValue("m1"), ModelValue("m2")

    assert parse_state(only.text) == {
        "interval": (frozenset([1, 2, 3]), frozenset(), frozenset([-2, -1])),
        "functions": (
            Function({2: 2, 3: 3}),
            Function(dict.fromkeys((m1, m2), Function({(1,): frozenset()}))),
        ),
        "empty": ((), frozenset(), (), ""),
        "named": (
            Function({"a b": 1, "": 2}),
            Function({"TRUE": 0, "_b": 0, "1a": 0}),
            Function({"b1": 1, "b_": -1}),
        ),
        "texts": ('q"uo', "b\\s", "n\nl", "t\tt", "<<", ",", " @@ ", "/\\ x = 1"),
        "given": (7, 2147483647, -2147483648, True),
    }


def test_the_dump_of_a_newer_version_has_the_same_states_and_edges() -> None:
    def facts(name: str) -> tuple[object, object]:
        nodes = sorted(
            (node.id, node.initial, str(parse_state(node.text))) for node in states(name)
        )
        return nodes, sorted((edge.source, edge.target, edge.action) for edge in edges(name))

    assert facts("newest.dot") == facts("lights.dot")
    assert {edge.arguments for edge in edges("newest.dot")} == {'"east"', '"north"'}


def test_forms_without_a_recorded_dump_are_read() -> None:
    nodes = states("unusual.dot")

    assert [(node.id, node.initial) for node in nodes] == [(-11, True), (22, False)]
    assert parse_state(nodes[0].text) == {"n": 0, "s": 'a\\b "c"'}
    assert edges("unusual.dot") == [
        DumpEdge(-11, 22, "Step", '1, <<"x">>'),
        DumpEdge(-11, 22, "Jump", None),
        DumpEdge(22, 22, "", None),
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the end is missing"),
        ("hello\n", "line 1: not a state graph"),
        ("1 -> 2;\n", "line 1: not a state graph"),
        ("strict digraph DiskGraph {\n1 -> 2;\n", "the end is missing"),
        ('digraph {\n1 [label="x\n}\n', "line 2: attributes were expected"),
        ("digraph {\n1 [colour=red];\n}\n", "line 2: a state without a label"),
    ],
)
def test_another_text_than_a_dump_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "graph.dot"
    file.write_text(text)

    with pytest.raises(TlcError) as caught:
        list(read_dump(file))

    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_truncated_dump_is_an_error_after_its_last_whole_item(tmp_path: Path) -> None:
    whole = (FIXTURES / "lights.dot").read_text()
    file = tmp_path / "graph.dot"
    file.write_text(whole[:10_000])
    seen: list[DumpState | DumpEdge] = []

    with pytest.raises(TlcError):
        seen.extend(read_dump(file))  # Keeps what came before the error.
    assert len(seen) > 20
    with pytest.raises(TlcError, match="cannot be read"):
        list(read_dump(tmp_path / "missing.dot"))


@pytest.mark.night
def test_reading_takes_linear_time(tmp_path: Path) -> None:
    """No measure of speed: only quadratic work takes so much of a processor, however busy."""
    file, count = tmp_path / "graph.dot", 300_000
    label = r"/\\ s = <<\"" + r"\\\\ \\\" a\\n" * count + r"\">>"
    file.write_text(f'strict digraph G {{\n1 [label="{label}"];\n}}\n')
    start = process_time()

    (state,) = read_dump(file)

    assert isinstance(state, DumpState)
    assert len(format_value(parse_state(state.text)["s"])) > count
    assert process_time() - start < 10.0, "quadratic work would take a minute"

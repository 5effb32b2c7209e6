"""The replay of traces on graphs made by hand, held against one that follows each path."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from canvass.cli.main import run
from canvass.conformance.findings import Verdict
from canvass.graph.dump_graph import DumpView
from canvass.graph.values import interned
from canvass.replay.lines import TraceLine, agrees
from canvass.replay.walk import Replay, Walker, replay
from canvass.tlc.config import from_python
from canvass.tlc.values import Function, ModelValue, Value, sort_key, to_itf_value
from canvass.traces.errors import TraceError
from support.examples import examples
from support.naive_replay import Naive
from support.state_graphs import dot_text, numbered, view_of

ACTIONS = ("Go", "Stop")


@st.composite
def graphs(draw: st.DrawFn, complete: bool | None = True) -> DumpView:
    """A graph of a few states with several values that many states share."""
    count = draw(st.integers(1, 7))
    ends = st.integers(0, count - 1)
    edges = draw(st.lists(st.tuples(ends, st.sampled_from(ACTIONS), ends), max_size=14))
    initial = draw(st.lists(ends, min_size=1, max_size=2, unique=True))
    states = [
        {"n": n, "half": n // 2, "odd": {"is": bool(n % 2)}, "s": {n % 3}} for n in range(count)
    ]
    return view_of(states, edges, initial, complete=complete)


def projected(view: DumpView, row: int, names: list[str]) -> dict[str, Any]:
    """Some values of a state as a line has them."""
    return {name: to_itf_value(view.state(row)[name]) for name in names}


names = st.lists(st.sampled_from(["n", "half", "odd", "s"]), max_size=2, unique=True)


@examples(60)
@given(graphs(None), st.integers(0, 2), st.booleans(), st.data())
def test_a_walk_through_a_graph_conforms_whatever_is_logged_of_it(
    view: DumpView, hidden: int, anywhere: bool, data: st.DataObject
) -> None:
    row = data.draw(st.sampled_from(range(view.state_count) if anywhere else view.initial.tolist()))
    lines = []
    if data.draw(st.booleans()):
        lines.append(TraceLine(vars=projected(view, row, data.draw(names))))
    for _ in range(data.draw(st.integers(0, 6))):
        left = data.draw(st.integers(0, hidden))
        for _ in range(left + 1):
            edges = range(*view.out.offsets[row : row + 2])
            if not edges:
                break
            place = data.draw(st.sampled_from(edges))
            action, row = view.actions[view.out.action[place]], int(view.out.ends[place])
        else:
            logged = projected(view, row, data.draw(names))
            # A first line without an action is the state at the start.
            action = data.draw(st.sampled_from([action, None])) if lines else action
            lines.append(TraceLine(action, None, logged))

    if lines:
        found = replay(Walker(view, hidden=hidden, anywhere=anywhere), lines)
        assert (found.verdict, found.explained) == (Verdict.CONFORMS, len(lines))


line = st.builds(
    TraceLine,
    action=st.sampled_from([None, *ACTIONS]),
    vars=st.one_of(
        st.just({}),
        st.builds(lambda n: {"n": n}, st.integers(0, 7)),
        st.builds(
            lambda h, n: {"half": h, "s": {"#set": [n]}}, st.integers(0, 3), st.integers(0, 2)
        ),
    ),
)


@examples(150)
@given(
    st.one_of(graphs(True), graphs(False)),
    st.lists(line, min_size=1, max_size=5),
    st.integers(0, 2),
    st.booleans(),
)
def test_any_trace_is_decided_as_by_following_each_path(
    view: DumpView, lines: list[TraceLine], hidden: int, anywhere: bool
) -> None:
    naive = Naive(view, lines, hidden, anywhere)
    walker = Walker(view, hidden=hidden, anywhere=anywhere, covering=True)
    failed = naive.explained < len(lines)
    unsure = naive.unsure or (anywhere and not view.complete)
    unknown = failed and lines[naive.explained].action not in (None, *view.action_counts)
    if unknown and not unsure:
        with pytest.raises(TraceError, match="no step of the graph is of"):
            replay(walker, lines)
    else:
        found = replay(walker, lines)
        assert found.verdict is (
            Verdict.CONFORMS if not failed else Verdict.INCOMPLETE if unsure else Verdict.DIVERGES
        )
        assert found.explained == naive.explained
        assert found.failure is None or found.failure.line == naive.explained + 1
    assert set(np.flatnonzero(walker.taken_states).tolist()) == naive.states
    assert set(view.into.edge[walker.taken_edges].tolist()) == naive.edges


def test_a_failure_says_what_was_possible_and_what_differs() -> None:
    view = view_of(
        [{"x": 0, "q": ()}, {"x": 1, "q": ({"id": 7},)}, {"x": 2, "q": ({"id": 8},)}],
        [(0, "Put", 1), (1, "Swap", 2)],
        complete=True,
    )
    lines = [TraceLine("Put"), TraceLine("Swap", None, {"x": 2, "q": [{"id": 9}]})]
    failure = replay(view, lines).failure

    assert failure is not None
    assert (failure.line, failure.before_count, failure.possible_count) == (2, 1, 1)
    assert failure.before[0].values == {"q": "<<[id |-> 7]>>", "x": "1"}
    assert [(step.line, step.action, step.changes) for step in failure.path] == [
        (1, "Put", ["q: + [id |-> 7]", "x: 0 -> 1"])
    ]
    assert [(step.action, step.changes) for step in failure.possible] == [
        ("Swap", ["q[1].id: 7 -> 8", "x: 1 -> 2"])
    ]
    assert failure.nearest is not None
    assert failure.nearest.differences == ["q[1].id: the line has 9, the state 8"]


def test_missing_lines_may_be_hidden() -> None:
    view = numbered(5, [(n, "Go", n + 1) for n in range(3)] + [(3, "Stop", 4)])
    lines = [TraceLine(vars={"n": 0}), TraceLine("Stop", None, {"n": 4})]

    assert replay(Walker(view, hidden=2), lines).verdict is Verdict.INCOMPLETE
    assert replay(Walker(view, hidden=3), lines).verdict is Verdict.CONFORMS


def chain(complete: bool | None) -> Callable[[list[TraceLine]], Replay]:
    """Replay on ``n = 0``, 1, 2, of which the last has no step."""
    states, edges = [{"n": n} for n in range(3)], [(0, "Go", 1), (1, "Go", 2)]
    view = view_of(states, edges, complete=complete)
    return lambda lines: replay(view, lines)


def test_a_graph_that_lacks_steps_accuses_no_trace() -> None:
    wrong, beyond = [TraceLine("Go", None, {"n": 5})], [TraceLine("Go")] * 3

    assert [chain(True)(lines).verdict for lines in (wrong, beyond)] == [Verdict.DIVERGES] * 2
    assert [chain(False)(lines).verdict for lines in (wrong, beyond)] == [
        Verdict.DIVERGES,
        Verdict.INCOMPLETE,
    ]
    assert "from line 3 on" in str(chain(False)(beyond).reason)
    assert [chain(None)(lines).verdict for lines in (wrong, beyond)] == [Verdict.INCOMPLETE] * 2
    assert "--complete" in str(chain(None)(wrong).reason)


@pytest.mark.parametrize(
    ("parameters", "conforms"),
    [([1, "a"], True), ([1, "b"], False), ([1], False), (["a", 1], False), (None, True)],
)
def test_parameters_choose_among_the_steps_of_an_action(parameters: Any, conforms: bool) -> None:
    label = r"Send(1, \"a\")"
    view = view_of([{"n": 0}, {"n": 1}], [(0, label, 1)], complete=True)
    found = replay(view, [TraceLine("Send", parameters, {"n": 1})])

    assert (found.verdict is Verdict.CONFORMS) == conforms
    assert found.remarks == ()


def test_parameters_that_the_graph_does_not_have_are_not_compared_and_that_is_said() -> None:
    found = replay(numbered(2, [(0, "Send", 1)]), [TraceLine("Send", [7], {"n": 1})])

    assert found.verdict is Verdict.CONFORMS
    assert len(found.remarks) == 1


@pytest.mark.parametrize(
    ("logged", "value", "same"),
    [
        (1, 1, True),
        (1, True, False),
        (True, True, True),
        (10**30, 1, False),
        ("a", "a", True),
        ("m1", ModelValue("m1"), True),
        ("m2", ModelValue("m1"), False),
        ({"#unserializable": "m1"}, ModelValue("m1"), True),
        ({"#unserializable": "m1"}, "m1", False),
        ({"#bigint": "-5"}, -5, True),
        ([1, 2], (1, 2), True),
        ([1], (1, 2), False),
        ([], (), True),
        ([1, 2], {1, 2}, False),
        ({"#tup": [1]}, (1,), True),
        ({"#set": [2, 1, 1]}, {1, 2}, True),
        ({"#set": [1]}, {1, 2}, False),
        ({"#set": [1, 2, 3]}, {1, 2}, False),
        ({"#set": [{"a": 1}]}, frozenset({from_python({"a": 1, "b": 2})}), True),
        ({"a": 1}, {"a": 1, "b": 2}, True),
        ({"a": 2}, {"a": 1, "b": 2}, False),
        ({"c": 1}, {"a": 1}, False),
        ({"c": None}, {"a": 1}, True),
        ({"0": "x"}, Function({0: "x", 5: "y"}), True),
        ({"m1": 3}, Function({ModelValue("m1"): 3}), True),
        ({"2": "y"}, ("x", "y"), True),
        ({"a": {"b": [0, {"c": 1}]}}, {"a": {"b": (0, {"c": 1, "d": 2})}}, True),
        ({"#map": [[0, "x"], [5, "y"]]}, Function({0: "x", 5: "y"}), True),
        ({"#map": [[0, "x"]]}, Function({0: "x", 5: "y"}), False),
        ({"a": 1}, 1, False),
        (None, 1, False),
        (None, None, True),
    ],
)
def test_json_is_compared_with_a_value_of_tla(logged: Any, value: Any, same: bool) -> None:
    assert agrees(logged, None if value is None else from_python(value)) == same


def stored(data: Any) -> Value:
    """The value as a graph has it."""
    columns = interned({"x": ([from_python(data)], np.zeros(1, dtype=np.int64))})
    return columns.values.value(int(columns.nodes["x"][0]))


values = st.recursive(
    st.one_of(st.booleans(), st.integers(-5, 5), st.text("ab", max_size=2)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.integers(0, 3), inner, max_size=2),
        st.frozensets(st.integers(0, 3), max_size=3),
    ),
    max_leaves=8,
).map(stored)


@examples(150)
@given(values, values)
def test_a_value_in_itf_is_its_own_value_and_no_other(one: Value, two: Value) -> None:
    logged = to_itf_value(one)

    assert agrees(logged, one)
    assert agrees(logged, two) == (sort_key(one) == sort_key(two))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The graph of ``n = 0``, 1 and 2 in a folder."""
    made = tmp_path_factory.mktemp("replay")
    edges = [(0, "Go", 1), (1, "Go", 2)]
    (made / "Small.dot").write_text(dot_text([{"n": n} for n in range(3)], edges))
    words = ["graph", "build", str(made / "Small.dot"), "--complete", "--out", str(made / "g")]
    assert run(words) == 0
    return made


@pytest.mark.parametrize(
    ("text", "line", "phrase"),
    [
        (b'{"action": "Go"}\n{"action": \n', 2, "truncated"),
        (b'{"action": "Go"}\n\n', 2, "empty"),
        (b"", 1, "no line"),
        (b"[1]\n", 1, "Expected `object`"),
        (b"{}\n", 1, "neither"),
        (b'{"actoin": "Go"}\n', 1, "unknown field `actoin`"),
        (b'{"action": 5}\n', 1, "Expected `str"),
        (b'{"vars": {"n": 1.5}}\n', 1, "1.5 is no integer"),
        (b'{"vars": {"n": {"#sett": [1]}}}\n', 1, "not a form of ITF"),
        (b'{"vars": {"n": {"#map": [1]}}}\n', 1, "Expected `array`"),
        (b'{"vars": {"n": ' + b"[" * 90 + b"]" * 90 + b"}}\n", 1, "nested"),
        (b'{"vars": {"n": "\xff"}}\n', 1, "utf-8"),
        (b'{"action": "Go"}\n{"vars": {"m": 1}}\n', 2, "no field m"),
        (b'{"vars": {"n =": 1}}\n', 1, "column"),
        (b'{"vars": {"n, n": 1}}\n', 1, "one expression"),
        (b'{"action": "Go"}\n{"action": "Goo"}\n', 2, "did you mean Go"),
    ],
)
def test_a_malformed_line_is_one_line_with_its_file_and_number(
    folder: Path, capsys: pytest.CaptureFixture[str], text: bytes, line: int, phrase: str
) -> None:
    trace = folder / "wrong.ndjson"
    trace.write_bytes(text)
    capsys.readouterr()

    assert run(["replay", str(folder / "g"), str(trace)]) == 2
    (printed,) = capsys.readouterr().out.splitlines()
    assert printed.startswith(f"MALFORMED: {trace}:{line}:")
    assert phrase in printed


def test_the_worst_trace_of_a_folder_decides_the_exit_code(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, wrong = '{"action": "Go", "vars": {"n": 1}}\n', '{"vars": {"n": 1}}\n'
    (tmp_path / "a.ndjson").write_text(good)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c.jsonl").write_text(wrong)
    (tmp_path / "notes.txt").write_text("no trace")
    words = ["replay", str(folder / "g"), str(tmp_path), "--coverage", "--format", "json"]
    capsys.readouterr()

    assert run(words) == 1
    document = msgspec.json.decode(capsys.readouterr().out)
    assert [one["verdict"] for one in document["replays"]] == ["CONFORMS", "DIVERGES"]
    assert document["coverage"]["takenStates"] == 2
    assert document["coverage"]["takenSteps"] == 1
    assert [step["changes"] for step in document["coverage"]["missedSteps"]] == [["n: 1 -> 2"]]
    assert run([*words, "--initial", "any"]) == 0
    assert run(["replay", str(folder / "g"), str(tmp_path / "b" / ".." / "none")]) == 2
    (tmp_path / "empty").mkdir()
    assert run(["replay", str(folder / "g"), str(tmp_path / "empty")]) == 2

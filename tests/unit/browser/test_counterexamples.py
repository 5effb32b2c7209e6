"""Counterexamples in files: the forms that are read, and what is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from canvass.browser.counterexamples import CounterexampleError, plain, read_counterexample
from canvass.models.counterexample import Counterexample, CounterexampleStep
from canvass.tlc.counterexample import state_changes
from canvass.tlc.output import TraceState
from canvass.tlc.results import Outcome, Violation
from support.tlc_cases import FIXTURES

STATES = (
    "/\\ x = 0\n/\\ f = (0 :> <<>> @@ 1 :> <<{}>>)",
    "/\\ x = 1\n/\\ f = (0 :> <<7>> @@ 1 :> <<{2}>>)",
)


@pytest.fixture
def violation() -> Violation:
    states = tuple(
        TraceState(number, None if number == 1 else "Grow", None, None, text)
        for number, text in enumerate(STATES, 1)
    )
    return Violation(outcome=Outcome.SAFETY, message="no", name="Small", states=states, loop=0)


def write(path: Path, document: Any) -> Path:
    path.write_bytes(msgspec.json.encode(document))
    return path


def test_what_canvass_check_exports_is_read(tmp_path: Path, violation: Violation) -> None:
    one, two = violation.states
    changes = tuple(state_changes(one.values, two.values))
    reported = Counterexample(
        "MCSmall",
        violation,
        (CounterexampleStep(one, None), CounterexampleStep(two, changes)),
        ("why",),
        None,
        "MCSmall.tla",
    )
    view = read_counterexample(write(tmp_path / "c.json", reported.document())).view("c")

    assert (view.title, view.claim, view.explanation) == ("MCSmall", "Small is violated", ("why",))
    assert [one.action for one in view.states] == ["", "Grow"]
    assert view.states[1].tree == {"x": 1, "f": {"0": [7], "1": [[2]]}}
    assert [(one.field, one.before, one.after) for one in view.states[1].changes] == [
        ("x", "0", "1"),
        ("f[0][0]", "absent", "7"),
        ("f[1][0][0]", "absent", "2"),
    ]
    assert (view.loop, view.stuttering, view.lanes, view.states_total) == (1, False, None, 2)


def test_a_failed_evaluation_is_no_violation_and_its_message_is_whole(tmp_path: Path) -> None:
    message = "Evaluating invariant Small failed.\nA tuple has no item 3.\n\nPositions."
    document = {
        "schema": "canvass.counterexample/1",
        "model": "MCSmall",
        "outcome": "evaluation error",
        "violated": "Small",
        "message": message,
        "steps": [{"number": 1, "state": {"x": {"#bigint": "0"}}}],
    }
    view = read_counterexample(write(tmp_path / "c.json", document)).view("c")

    assert view.claim == "Evaluating invariant Small failed. A tuple has no item 3."


def test_itf_is_read(tmp_path: Path, violation: Violation) -> None:
    view = read_counterexample(
        write(tmp_path / "c.itf.json", violation.to_itf("MCSmall.tla"))
    ).view("c")

    assert (view.title, view.claim) == ("c.itf.json", "a behaviour of MCSmall.tla")
    assert [one.tree["x"] for one in view.states] == [0, 1]
    assert view.loop == 1


def test_what_tlc_prints_is_read(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text((FIXTURES / "safety.txt").read_text())
    view = read_counterexample(path).view("c")

    assert (view.title, view.claim) == ("Lights", "OneMoves is violated")
    assert [one.action for one in view.states] == ["", "Go", "Go"]
    assert view.states[2].tree["lamp"]["east"] == {"colour": "green", "since": 1}
    assert ("lamp.east.colour", "red", "green") in [
        (one.field, one.before, one.after) for one in view.states[2].changes
    ]
    assert (view.loop, view.stuttering, view.lanes) == (None, False, None)


def test_what_tlc_dumps_as_json_is_read(tmp_path: Path) -> None:
    """The form of ``-dumpTrace json``; an action that leads back is the end of a lasso."""
    states = [[k + 1, {"big": big, "small": {"of": [big]}}] for k, big in enumerate((0, 5, 2))]
    names = enumerate(["FillBig", "Pour", "Empty"])
    taken = [[states[k], {"name": name}, states[(k + 1) % 3]] for k, name in names]
    document = {"counterexample": {"state": states[::-1], "action": taken}}
    view = read_counterexample(write(tmp_path / "trace.json", document)).view("c")

    assert [one.action for one in view.states] == ["", "FillBig", "Pour"]
    assert [one.tree for one in view.states] == [values for _, values in states]
    assert (view.title, view.loop) == ("trace.json", 1)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", ": there is no counterexample: no line is like `State 1: <...>`"),
        (
            "State 1: <Initial predicate>\n/\\ x = <<1,\n",
            ":2: the value of x: a value was expected",
        ),
        ("State 2: <Go>\nx = 1\n", ":1: state 2 is the first"),
        (b"\xff\xfe", ": not text in UTF-8"),
    ],
)
def test_a_broken_text_is_refused_with_file_and_line(
    tmp_path: Path, text: str | bytes, reason: str
) -> None:
    path = tmp_path / "out.log"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(CounterexampleError) as refusal:
        read_counterexample(path)

    assert str(refusal.value) == f"{path}{reason}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "1",
        "{}",
        '{"states": 1}',
        '{"states": [1]}',
        '{"states": [{"x": {"#bigint": "no"}}]}',
        '{"states": [{"x": {"#bigint": {}}}]}',
        '{"states": [{"x": {"#map": [[1]]}}]}',
        '{"states": [{"x": {"#tup": 5}}]}',
        '{"states": [], "loop": "1"}',
        '{"counterexample": {}}',
        '{"counterexample": {"state": [], "action": [[[1, {}], {"name": ""}, [2, {}]]]}}',
        '{"counterexample": {"state": [[1, {"x": 1}]], "action": [[[1, {}], {"name": 1}]]}}',
        '{"states": [{"#meta": 5}]}',
        '{"schema": "canvass.counterexample/1"}',
        '{"schema": "canvass.counterexample/1", "model": "m", "message": "", "steps": [1]}',
        '{"schema": "canvass.counterexample/1", "model": "m", "steps": [{"number": 1}]}',
        '{"schema": "canvass.counterexample/1", "model": "m", "steps": [], "loop": true}',
        '{"schema": "canvass.counterexample/2", "steps": []}',
        "[" * 100_000,
        '{"states": [' + '{"x":' * 5000 + "1" + "}" * 5000 + "]}",
        '\ufeff{"states": []}',
        '{"states": [{"x": {"#bigint": "' + "9" * 5000 + '"}}]}',
    ],
)
def test_what_is_none_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "c.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CounterexampleError) as refusal:
        read_counterexample(path)

    assert str(refusal.value).startswith(str(path))


def test_a_document_with_a_wrong_step_is_refused_with_the_place(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text('{"schema": "canvass.counterexample/1", "model": "m", "steps": [{}, 1]}')
    with pytest.raises(CounterexampleError) as refusal:
        read_counterexample(path)

    assert str(refusal.value) == (
        f"{path}: not a counterexample: Expected `object`, got `int` - at `$.steps[1]`"
    )


def test_bytes_that_are_no_text_and_files_that_are_not_there_are_refused(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_bytes(b"\xff\xfe{}")
    for name in ("c.json", "none.json"):
        with pytest.raises(CounterexampleError):
            read_counterexample(tmp_path / name)


def test_values_of_itf_become_plain_trees() -> None:
    assert plain(
        {
            "a": {"#set": [{"#bigint": "-5"}, 1]},
            "b": {"#map": [[{"#tup": [1, "x"]}, True]]},
            "c": {"#unserializable": "model"},
        }
    ) == {"a": [-5, 1], "b": {"[1, x]": True}, "c": "model"}

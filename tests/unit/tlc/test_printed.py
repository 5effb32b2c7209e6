"""The text of TLC, for a person or a tool, gives the same counterexample as its events."""

from __future__ import annotations

from pathlib import Path

import pytest

from canvass.tlc.counterexample import Printed, PrintedError, read_printed
from canvass.tlc.results import Outcome, ResultBuilder, Violation
from canvass.tlc.values import Value
from support.tlc_cases import FIXTURES

TERMINAL = sorted(FIXTURES.glob("*.txt"))
TOOL = sorted(FIXTURES.glob("*.out"))
HEAD = "Error: Invariant Small is violated.\nError: The behavior up to this point is:\n"
ONE = "State 1: <Initial predicate>\n/\\ x = 0\n/\\ s = <<1,\n  2>>\n\n"


def violations(path: Path) -> tuple[Violation, ...]:
    """Give the counterexample that the events of a tool's output have."""
    builder = ResultBuilder()
    for line in path.read_text().splitlines():
        builder.feed(line)
    return builder.result(exit_code=1, seconds=0).violations


def read(text: str) -> Printed:
    return read_printed(text.splitlines(keepends=True))


def values(text: str) -> list[dict[str, Value | str]]:
    return read(text).values()


@pytest.mark.parametrize("path", TOOL, ids=lambda path: path.stem)
def test_the_output_for_tools_is_read_like_its_events(path: Path) -> None:
    expected = next((one for one in violations(path) if one.states), None)
    if expected is None:
        with pytest.raises(PrintedError, match="there is no counterexample"):
            read(path.read_text())
        return
    found = read(path.read_text())

    assert found.violation.states == expected.states
    assert found.values() == [dict(one.values) for one in expected.states]
    assert found.violation.message == expected.message


@pytest.mark.parametrize("path", TERMINAL, ids=lambda path: path.stem)
def test_the_output_for_people_equals_the_output_for_tools(path: Path) -> None:
    other = path.with_suffix(".out").read_text()
    if path.stem == "success":
        with pytest.raises(PrintedError, match="TLC found no error"):
            read(path.read_text())
        return
    found, result = read(path.read_text()).violation, read(other).violation

    assert found.message.split() == result.message.split()
    assert [one.action for one in found.states] == [one.action for one in result.states]
    assert (found.name, found.loop, found.stuttering) == (
        result.name,
        result.loop,
        result.stuttering,
    )
    # Of two such lassos that are as short, TLC shows the one that it found first.
    if found.loop is None:
        assert [one.values for one in found.states] == [one.values for one in result.states]


def test_there_are_texts_of_every_kind() -> None:
    found = [read(path.read_text()).violation for path in TERMINAL if path.stem != "success"]
    assert {one.stuttering for one in found} == {True, False}
    assert any(one.loop for one in found)
    assert any(len(one.states) == 1 for one in found)


def test_a_behaviour_between_other_lines_is_found() -> None:
    found = read("$ java tlc2.TLC\r\n" + HEAD.replace("\n", "\r\n") + ONE.replace("\n", "\r\n"))
    assert found.values()[0].keys() == {"x", "s"}


@pytest.mark.parametrize("what", ["Invariant", "Property"])
def test_the_state_after_a_violation_by_the_initial_state_has_no_head(what: str) -> None:
    found = read(
        f"Error: {what} Small is violated by the initial state:\nx = 1\n\nFinished in 1s\n"
    )

    assert (found.violation.outcome, found.violation.name) == (Outcome.SAFETY, "Small")
    assert (found.values(), found.places) == ([{"x": 1}], [1])


def test_further_counterexamples_are_counted() -> None:
    found = read(HEAD + ONE + "Error: Invariant Other is violated.\n" + ONE + HEAD + ONE)
    assert (len(found.violation.states), found.more, found.violation.name) == (1, 2, "Small")


def test_a_value_that_cannot_be_listed_is_its_text() -> None:
    found = read(HEAD + "State 1: <Initial predicate>\n/\\ f = [Nat -> tuple(Nat)]\n/\\ x = 1\n")
    assert found.values()[0] == {"f": "[Nat -> tuple(Nat)]", "x": 1}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (HEAD + "State 2: <Go line 1, col 1 to line 2, col 2 of module M>\nx = 1\n", 3),
        (HEAD + ONE + "State 3: <Go line 1, col 1 to line 2, col 2 of module M>\nx = 1\n", 8),
        (HEAD + "State 1: <Initial predicate>\n\n", 4),
        (HEAD + "State 1: <Initial predicate>\nno variable\n", 4),
        (HEAD + "State 1: <Initial predicate>\n/\\ y = 1\n/\\ x = <<1,\n  {2,\n", 6),
        (HEAD + 'State 1: <Initial predicate>\n/\\ x = 1\n/\\ y = "a\n', 5),
        (HEAD + "State 1: <Initial predicate>\n/\\ x = 1\n/\\ x = 2\n", 5),
    ],
)
def test_a_broken_text_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(PrintedError) as refusal:
        values(text)

    assert refusal.value.line == line
    assert "\n" not in refusal.value.reason


@pytest.mark.parametrize("text", ["", "\n", "no\n", "@!@!@STARTMSG 2217:4 @!@!@\n", HEAD])
def test_a_text_without_states_has_no_counterexample(text: str) -> None:
    with pytest.raises(PrintedError, match="there is no counterexample"):
        read(text)


def test_a_state_of_difftrace_has_the_unchanged_variables_of_the_one_before() -> None:
    """The option prints in each state what changed only; numbers and lines stay."""
    go = "{}: <Go line 1, col 1 to line 2, col 2 of module M>\n"
    text = f"State {go.format(2)}/\\ x = 1\n\nState {go.format(3)}/\\ s = <<>>\n/\\ x = 0\n"

    assert values(HEAD + ONE + text) == [
        {"x": 0, "s": (1, 2)},
        {"x": 1, "s": (1, 2)},
        {"x": 0, "s": ()},
    ]


def test_a_behaviour_that_a_simulation_wrote_is_read() -> None:
    """As ``-simulate file=`` of TLC 2.15 writes it."""
    states = "".join(f"STATE_{k} == \n/\\ x = {k}\n/\\ s = <<>>\n\n\n" for k in (1, 2, 3))
    found = read(f"---------------- MODULE out/t_0 -----------------\n{states}=====\n")

    assert found.values() == [{"x": k, "s": ()} for k in (1, 2, 3)]
    assert (found.violation.message, found.violation.loop, found.more) == ("", None, 0)


def test_the_model_is_the_last_module() -> None:
    read_first = "Semantic processing of module Naturals\nSemantic processing of module MCHazard1\n"
    assert read(read_first + HEAD + ONE).module == "MCHazard1"
    assert read(HEAD + ONE).module == ""

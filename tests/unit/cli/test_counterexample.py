"""A counterexample is reported for states of every kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from canvass.cli.counterexample import counterexample
from canvass.tlc import Outcome, TraceState, Violation


def state(number: int, action: str | None, text: str, arguments: str | None = None) -> TraceState:
    return TraceState(number, action, arguments, None, text)


def shown(root: Path, *states: TraceState, loop: int | None = None, name: str = "P") -> list[str]:
    violation = Violation(Outcome.SAFETY, name, f"{name} is violated.", states, loop)
    return list(counterexample(root, root / "Tiny.tla", "Model", violation).lines())


MEMBERS = r"""
/\ member = ( 0 :> [state |-> "A", peers |-> <<1, 0, 0>>] @@
  1 :> [state |-> "A", peers |-> <<1, 0, 0>>] @@
  2 :> [state |-> "A", peers |-> <<0, 0, 1>>] )
/\ log = <<>>
""".strip()


def test_members_with_nearly_equal_initial_states_are_shown_by_the_difference(
    tmp_path: Path,
) -> None:
    assert shown(tmp_path, state(1, None, MEMBERS))[1:-1] == [
        "   1  initial state",
        '      member[0], member[1] = [peers |-> <<1, 0, 0>>, state |-> "A"]',
        "      member[2] = member[0], but peers[1]: 1 -> 0, peers[3]: 0 -> 1",
        "      log = <<>>",
    ]


def test_the_arguments_of_an_action_are_shown_if_tlc_prints_them(tmp_path: Path) -> None:
    after = MEMBERS.replace('"A"', '"B"', 1)
    lines = shown(tmp_path, state(1, None, MEMBERS), state(2, "Canvass", after, "0"))

    assert "   2  Canvass(0)               member 0" in lines
    assert "      member[0].state: A -> B" in lines


def test_a_step_that_changes_nothing_says_so(tmp_path: Path) -> None:
    lines = shown(tmp_path, state(1, None, MEMBERS), state(2, "Tick", MEMBERS), loop=0)

    assert lines[-4:] == [
        "   2  Tick",
        "      nothing changes",
        "      and so on for ever from step 1",
        "violated: P",
    ]


def test_states_that_cannot_be_listed_are_shown_as_tlc_printed_them(tmp_path: Path) -> None:
    """A variable may hold an infinite set; then there is nothing to compare."""
    infinite = "/\\ queue = Seq({1, 2})\n/\\ log = <<>>"
    states = (state(1, None, infinite), state(2, "Go", infinite))
    violation = Violation(Outcome.SAFETY, None, "The first line.\nMore.", states)
    found = counterexample(tmp_path, tmp_path / "Tiny.tla", "Model", violation)

    assert list(found.lines()) == [
        "counterexample of Model: The first line. More. (safety)",
        "   1  initial state",
        "      /\\ queue = Seq({1, 2})",
        "      /\\ log = <<>>",
        "   2  Go",
        "      /\\ queue = Seq({1, 2})",
        "      /\\ log = <<>>",
    ]
    assert found.document().steps[1].text == infinite


@pytest.mark.parametrize("width", [40, 400])
def test_long_values_are_folded_and_lose_nothing(tmp_path: Path, width: int) -> None:
    items = ", ".join(str(number) for number in range(width))
    lines = shown(tmp_path, state(1, None, f"/\\ log = <<{items}>>"))[2:-1]

    assert all(len(line) <= 100 for line in lines)
    assert " ".join(line.strip() for line in lines) == f"log = <<{items}>>"


def test_the_whole_message_of_a_failed_assertion_is_shown(tmp_path: Path) -> None:
    message = (
        "The first argument of Assert evaluated to FALSE; the second argument was:\n"
        '<<"too far", 2>>\n\n'
        "The error occurred when TLC was evaluating the nested\nexpressions at:\n"
        "0. Line 15, column 12 to line 15, column 64 in Counter"
    )
    failed = Violation(Outcome.ASSERTION, None, message, (state(1, None, "n = 2"),))

    head, *rest = counterexample(tmp_path, tmp_path / "Tiny.tla", "Model", failed).lines()
    assert head.startswith("counterexample of Model: The first argument of Assert evaluated to")
    assert head.endswith('the second argument was: <<"too far", 2>> (assertion)')
    assert rest == [
        "   1  initial state",
        "      n = 2",
        "  The error occurred when TLC was evaluating the nested",
        "  expressions at:",
        "  0. Line 15, column 12 to line 15, column 64 in Counter",
    ]

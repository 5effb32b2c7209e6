"""A counterexample is reported for states of every kind."""

from __future__ import annotations

from pathlib import Path

from canvass.models.counterexample import counterexample
from canvass.tlc.output import TraceState
from canvass.tlc.results import Outcome, Violation


def state(number: int, action: str | None, text: str, arguments: str | None = None) -> TraceState:
    return TraceState(number, action, arguments, None, text)


def shown(root: Path, *states: TraceState, loop: int | None = None, name: str = "P") -> list[str]:
    violation = Violation(Outcome.SAFETY, name, f"{name} is violated.", states, loop)
    return list(counterexample(root, root / "Tiny.tla", "Model", violation).lines())


MEMBERS = r"""
/\ member = ( 0 :> [state |-> "A", peers |-> <<1, 0, 0>>] @@
  1 :> [state |-> "A", peers |-> <<1, 0, 0>>] )
/\ log = <<>>
""".strip()


def test_a_step_has_at_most_eight_lines_the_election_first(tmp_path: Path) -> None:
    before = "n = [" + ", ".join(f"f{k} |-> 0" for k in range(20)) + ', electionState |-> "A"]'
    after = before.replace("> 0", "> 1").replace('"A"', '"B"')
    lines = shown(tmp_path, state(1, None, before), state(2, "Go", after))
    at = lines.index("   2  Go")

    assert lines[at + 1] == "      n.electionState: A -> B"
    assert lines[at + 8] == "      … and 14 lines more (--export has them)"
    assert lines[at + 9 :] == ["violated: P"]


def test_equal_changes_of_several_places_are_one(tmp_path: Path) -> None:
    message = '<<[type |-> "Vote", vote |-> TRUE]>>'
    before = "n = (0 :> [a |-> 1] @@ 1 :> [a |-> 1])\n/\\ q = (0 :> <<>> @@ 1 :> <<>>)"
    after = f"n = (0 :> [a |-> 2] @@ 1 :> [a |-> 2])\n/\\ q = (0 :> {message} @@ 1 :> {message})"
    lines = shown(tmp_path, state(1, None, f"/\\ {before}"), state(2, "Go", f"/\\ {after}"))

    assert lines[-3:-1] == ["      n[0], [1].a: 1 -> 2", "      q[0], [1]: + Vote(vote true)"]


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
    infinite = "/\\ queue = tuple({1, 2})\n/\\ log = <<>>"
    states = (state(1, None, infinite), state(2, "Go", infinite))
    violation = Violation(Outcome.SAFETY, None, "The first line.\nMore.", states)
    found = counterexample(tmp_path, tmp_path / "Tiny.tla", "Model", violation)

    assert list(found.lines()) == [
        "counterexample of Model: The first line. More. (safety)",
        "   1  initial state",
        "      /\\ queue = tuple({1, 2})",
        "      /\\ log = <<>>",
        "   2  Go",
        "      /\\ queue = tuple({1, 2})",
        "      /\\ log = <<>>",
    ]
    assert found.document().steps[1].text == infinite


def test_long_values_are_folded_and_the_rest_is_named(tmp_path: Path) -> None:
    items = ", ".join(str(number) for number in range(40))
    long = ", ".join(str(number) for number in range(400))
    whole = shown(tmp_path, state(1, None, f"/\\ log = <<{items}>>"))[2:-1]
    cut = shown(tmp_path, state(1, None, f"/\\ log = <<{long}>>"))[2:]

    assert " ".join(line.strip() for line in whole) == f"log = <<{items}>>"
    assert all(len(line) <= 100 for line in cut)
    assert (len(cut), cut[7].strip(), cut[8]) == (9, cut[7].strip(), "violated: P")
    assert cut[7].startswith("      … and ")


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

"""Counterexamples are shown, in lines and in swim lanes, as `counterexamples.txt` has it.

A block has the outcome and the property, or what TLC says; then the states with their actions; then
what is shown. ``lanes`` asks for swim lanes. ``pytest --rewrite`` writes what is shown again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from canvass.models import ModelError
from canvass.models.counterexample import Counterexample, counterexample, swim_lanes
from canvass.tlc.output import TraceState
from canvass.tlc.results import Outcome, Violation
from support.scenario_language import blocks

KEPT = Path(__file__).with_name("counterexamples.txt")
STATE = re.compile(r"(\d+)(?: (\w+)(?:\((.*)\))?)?")


def read(lines: list[str], root: Path) -> Counterexample:
    """Read the lines of a block."""
    outcome, _, name = lines[0].partition(" ")
    said = [line[2:] for line in lines if line.startswith(">")]
    loop = next((int(line[5:]) for line in lines if line.startswith("loop ")), None)
    starts = [k for k, line in enumerate(lines) if STATE.fullmatch(line)]
    states = []
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        head = STATE.fullmatch(lines[start])
        assert head is not None
        text = "\n".join(lines[start + 1 : end])
        states.append(TraceState(int(head[1]), head[2], head[3], None, text))
    message = "\n".join(said) or f"{name} is violated."
    violation = Violation(Outcome(outcome), name or None, message, tuple(states), loop)
    return counterexample(root, root / "Tiny.tla", "Model", violation)


def shown(lines: list[str], root: Path) -> Iterator[str]:
    """Give what is shown of a block."""
    found = read(lines, root)
    if "lanes" not in lines:
        yield from found.lines()
        return
    try:
        yield from ("".join(text for text, _ in line) for line in swim_lanes(found, 80))
    except ModelError as error:
        yield str(error)


def test_counterexamples_are_shown_as_the_kept_ones(tmp_path: Path, rewrite: bool) -> None:
    kept = list(blocks(KEPT.read_text("utf-8")))
    made = [block.text("\n".join(shown(list(block.commands), tmp_path))) for block in kept]
    if rewrite:
        KEPT.write_text("\n".join(made), "utf-8")

    assert "\n".join(made) == KEPT.read_text("utf-8")


def test_states_that_cannot_be_listed_are_in_the_document_as_tlc_printed_them(
    tmp_path: Path,
) -> None:
    """A variable may hold an infinite set; then there is nothing to compare."""
    infinite = ["/\\ queue = tuple({1, 2})", "/\\ log = <<>>"]
    found = read(["safety P", "1", *infinite, "2 Go", *infinite], tmp_path)

    assert found.document().steps[1].text == "\n".join(infinite)

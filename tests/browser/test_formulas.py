"""The parts of a violated property that are false in the states of a counterexample."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Final

import pytest

from canvass.browser.counterexamples import read_counterexample

MODULE: Final = Path(__file__).parent / "tlc" / "Queue.tla"


def written(folder: Path, violated: str, states: list[dict[str, Any]]) -> Path:
    shutil.copy(MODULE, folder)
    (folder / "Queue.cfg").write_text("INIT Init\nNEXT Next\nCONSTANT Most = 2\n")
    steps = [{"action": "Next", "arguments": None, "state": one} for one in states]
    head = {"schema": "canvass.counterexample/1", "model": "Queue", "violated": violated}
    path = folder / "found.json"
    path.write_text(json.dumps({**head, "steps": steps}))
    return path


def state(queue: list[int], taken: list[int]) -> dict[str, Any]:
    return {"queue": {"#tup": queue}, "taken": {"#set": taken}}


def false_parts(path: Path) -> list[tuple[int, str, tuple[str, ...]]]:
    """State, text and values of each false part."""
    found = read_counterexample(path).formula()
    assert found.operator is not None, found.note
    lines = found.operator.lines
    return [
        (p.state, lines[p.line - 1][p.column - 1 : p.end_column], p.values) for p in found.parts
    ]


@pytest.mark.tlc
def test_the_false_parts_of_each_state_have_the_values_that_make_them_false(tmp_path: Path) -> None:
    states = [state([], []), state([1, 2], [1]), state([2, 1, 0], [0, 1])]

    assert false_parts(written(tmp_path, "Safe", states)) == [
        (2, "Len(queue) <= Most", ("Len(queue) = 3", "Most = 2")),
        (2, "last > 0", ("last = 0",)),
        (2, r"last \notin taken", ("last = 0", "taken = {0, 1}")),
        *((2, "taken = {}", ("k = 3", f"n = {n}", "taken = {0, 1}")) for n in (1, 2, 3)),
        *((2, r"n = k \/ \E x \in taken : x = queue[n]", (f"k = {k}", "n = 1")) for k in (2, 3)),
    ]


@pytest.mark.tlc
def test_a_part_of_an_action_property_is_false_where_the_step_leads(tmp_path: Path) -> None:
    states = [state([1], [1]), state([1, 1], [1]), state([], [2])]

    assert false_parts(written(tmp_path, "OnlyGrows", states)) == [
        (2, "Len(queue') >= Len(queue)", ("Len(queue') = 0", "Len(queue) = 2")),
        (2, r"x \in taken'", ("x = 1", "taken' = {2}")),
    ]


@pytest.mark.tlc
def test_a_temporal_formula_has_no_parts(tmp_path: Path) -> None:
    found = read_counterexample(written(tmp_path, "Ends", [state([], [])])).formula()

    assert "a temporal formula speaks of the whole behaviour" in found.note
    assert found.operator is not None


@pytest.mark.tlc
@pytest.mark.parametrize("missing", ["java", "time", "folder"])
def test_a_formula_is_shown_without_values_if_they_cannot_be_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    found = read_counterexample(written(tmp_path, "OnlyGrows", [state([], [])] * 2))
    if missing == "java":
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.delenv("JAVA_HOME", raising=False)
    elif missing == "time":
        monkeypatch.setattr("canvass.proof.sany.TIMEOUT_S", 0.01)
    else:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    formula = found.formula()

    assert formula.operator is not None
    assert formula.operator.lines[0].startswith(("OnlyGrows ==", "Grows =="))
    assert (formula.parts, formula.note.count("\n")) == ((), 0)
    assert formula.note.startswith("Its parts are not evaluated: ")
    assert found.formula() is formula


def test_names_that_would_be_more_than_names_are_not_given_to_tlc(tmp_path: Path) -> None:
    path = written(tmp_path, "Safe", [{"x = 1 \\/ y": 1}])
    found = read_counterexample(path).formula()

    assert found.parts == ()
    assert "not a TLA+ identifier" in found.note

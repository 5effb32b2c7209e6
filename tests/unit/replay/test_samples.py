"""Traces of small specifications: true ones conform, each wrong line is found where it is."""

from __future__ import annotations

import random
import shlex
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from canvass.cli.main import run
from canvass.conformance.findings import Verdict
from canvass.graph.open import open_view
from canvass.graph.view import StateGraph
from canvass.replay.lines import TraceLine
from canvass.replay.walk import replay
from canvass.tlc.values import to_itf_value
from support.guide_examples import ROOT, block
from support.naive_replay import Naive

pytestmark = pytest.mark.tlc

SAMPLES: Final = ROOT / "samples" / "replay"
NAMES: Final = ("Jugs", "Commit", "Queue", "Raft")


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The graphs of the samples, by the names that the guide gives them."""
    folder = tmp_path_factory.mktemp("graphs")
    for name in NAMES:
        out = str(folder / name.lower())
        words = ["graph", "build", str(SAMPLES / f"{name}.tla"), "--heap", "512m", "--out", out]
        assert run(words) == 0
    return folder


def walked(view: StateGraph, chance: random.Random, length: int) -> list[TraceLine]:
    """A random walk, with all variables in each line."""
    row = int(view.initial[0])
    lines = [TraceLine(vars=logged(view, row))]
    while len(lines) < length and view.out.offsets[row] < view.out.offsets[row + 1]:
        place = chance.choice(range(*view.out.offsets[row : row + 2]))
        row = int(view.out.ends[place])
        lines.append(TraceLine(view.actions[view.out.action[place]], None, logged(view, row)))
    return lines


def logged(view: StateGraph, row: int) -> dict[str, Any]:
    return {name: to_itf_value(value) for name, value in view.state(row).items()}


def wrong_lines(
    view: StateGraph, states: list[dict[str, Any]], chance: random.Random, line: TraceLine
) -> list[TraceLine]:
    """The line with another value of each variable, and with another action."""
    found = []
    for name, value in line.vars.items():
        other = chance.choice([one[name] for one in states if one[name] != value])
        found.append(msgspec.structs.replace(line, vars=line.vars | {name: other}))
    if line.action is not None:
        action = chance.choice([one for one in view.actions if one != line.action])
        found.append(msgspec.structs.replace(line, action=action))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_each_wrong_line_is_found_where_it_is(graphs: Path, name: str) -> None:
    view, chance = open_view(graphs / name.lower()), random.Random(54)
    states = [logged(view, row) for row in range(view.state_count)]
    found = {True: 0, False: 0}
    for _ in range(4):
        lines = walked(view, chance, 7)
        assert replay(view, lines).verdict is Verdict.CONFORMS
        for at, line in enumerate(lines):
            for wrong in wrong_lines(view, states, chance, line):
                trace = [*lines[:at], wrong, *lines[at + 1 :]]
                naive, result = Naive(view, trace), replay(view, trace)
                failed = naive.explained < len(trace)
                found[failed] += 1
                assert result.explained == naive.explained
                assert result.verdict is (
                    Verdict.CONFORMS
                    if not failed
                    else Verdict.INCOMPLETE
                    if naive.unsure
                    else Verdict.DIVERGES
                )
                # All variables are logged, so no later line can be the first that fails, but where
                # the wrong state is another one that the action leads to.
                assert not failed or naive.explained >= at

    assert found[True] > 20


def test_the_state_before_a_constraint_has_its_step_and_the_state_after_it_has_none(
    graphs: Path,
) -> None:
    view = open_view(graphs / "queue")
    beyond = {row for row in range(view.state_count) if view.state(row)["produced"] == 4}

    assert view.complete is False
    assert set(range(view.state_count)) - set(view.expanded.nonzero()[0].tolist()) == beyond
    put = [TraceLine("Put"), TraceLine("Take"), TraceLine("Put"), TraceLine("Take")]
    lines = [*put, TraceLine("Put"), TraceLine("Put", None, {"produced": 4})]
    assert replay(view, lines).verdict is Verdict.CONFORMS
    assert replay(view, [*lines, TraceLine("Take")]).verdict is Verdict.INCOMPLETE
    wrong = [*lines[:5], TraceLine("Put", None, {"produced": 5})]
    assert replay(view, wrong).verdict is Verdict.DIVERGES


@pytest.mark.parametrize("first", [f"$ canvass replay {name.lower()} " for name in NAMES])
def test_the_examples_of_the_guide_are_those_of_the_samples(
    graphs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], first: str
) -> None:
    command, *example = block("replay.md", first)
    _, _, graph, *words = shlex.split(command)[1:]
    monkeypatch.chdir(SAMPLES)
    capsys.readouterr()

    run(["replay", str(graphs / graph), *words])

    assert capsys.readouterr().out.splitlines() == example

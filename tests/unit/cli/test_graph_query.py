"""``canvass graph`` on hostile names, models of the spec and runs; `transcripts` have the rest."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from canvass.graph.build import cache_folder, load_model
from canvass.traces.run import RunFolder
from canvass.traces.schema import ACTION_NAMES
from support.graphs import graph_of
from support.state_graphs import dot_text

Command = Callable[..., tuple[int, str, str]]


def test_hostile_names_do_not_break_out_of_an_export(command: Command, tmp_path: Path) -> None:
    name = 'a"];\\ <b>&\x01'
    dump, folder = tmp_path / f"{name}.dot", tmp_path / "graph"
    dump.write_text(dot_text([{"s": name[:-1]}], []))
    command("graph", "build", dump, "--out", folder)
    _, dot, _ = command("graph", "export", folder, "--format", "dot")

    assert dot.splitlines()[0] == 'digraph "a\\"];\\\\ <b>&\ufffd" {'


def test_what_a_graph_holds_cannot_steer_the_terminal(command: Command, tmp_path: Path) -> None:
    dump, folder = tmp_path / "\x1b]0;M\x07.dot", tmp_path / "graph"
    text = dot_text([{"s": "X"}, {"s": "Y"}], [(0, "Go", 1)])
    dump.write_text(text.replace("X", "\u202e<b>").replace("Go", "G\x1b[2Jo"))
    said = [command("graph", "build", dump, "--out", folder)]
    said.append(command("graph", "find", folder, "initial"))
    said.append(command("graph", "path", folder, "--where", "s = 'Y'"))
    said.append(command("graph", "stats", folder))

    assert [code for code, _, _ in said] == [0] * 4
    for _, out, err in said:
        assert all(line.isprintable() for line in (out + err).splitlines())
    assert "\\u202e<b>" in said[1][1]


@pytest.mark.tlc
@pytest.mark.night
def test_a_graph_of_a_model_of_the_manifest_is_built(command: Command, tmp_path: Path) -> None:
    code, _, _ = command("graph", "build", "MCHazard8Hardened", "--out", tmp_path / "graph")
    found, out, _ = command(
        "graph", "find", tmp_path / "graph", "--format", "json",
        "--where", r'\E m \in DOMAIN member : member[m].role = "LEADER"',
    )  # fmt: skip

    assert (code, found) == (0, 0)
    assert json.loads(out)["of"] == 74


@pytest.mark.tlc
def test_the_steps_that_runs_take_are_found_in_the_graph(
    command: Command, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    graph_of(pytestconfig, "MCMemberGraph3", 0)
    assert pytestconfig.cache is not None
    model = load_model("MCMemberGraph3").with_steps(0)
    graph = cache_folder(model, pytestconfig.cache.mkdir("graphs"))
    runs, options = tmp_path / "runs", ("--seeds", 1, "--steps", 200)
    made, *_ = command("simulate", "--revision", "1.50", *options, "--out", runs)
    code, out, _ = command("graph", "coverage", graph, runs, "--format", "json")
    document = json.loads(out)
    counts = document["coverage"]
    by_action = {row["action"]: row["covered"] for row in counts["actions"]}
    taken = {
        ACTION_NAMES[action]
        for folder in runs.iterdir()
        for columns in RunFolder(folder).columns()
        for action in columns.action.tolist()
    }

    assert (made, code) == (0, 0)
    assert sum(by_action.values()) == counts["covered"] > 0
    assert by_action["Restart"] == 1
    assert {action for action, covered in by_action.items() if covered} <= taken
    assert len(document["missed"]) == 20
    assert command("graph", "coverage", graph, tmp_path / "none")[0] == 2

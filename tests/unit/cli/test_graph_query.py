"""``canvass graph`` on a graph of any model: questions, exports, and what is wrong."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from canvass.graph.build import cache_folder, load_model
from canvass.graph.open import open_view
from canvass.graph.predicate import parse
from canvass.traces.run import RunFolder
from canvass.traces.schema import ACTION_NAMES
from support.graphs import graph_of
from support.state_graphs import dot_text
from support.tlc_cases import FIXTURES

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from canvass.graph.dump_graph import import_dump

    made = tmp_path_factory.mktemp("graphs") / "lights"
    import_dump(FIXTURES / "lights.dot", made)
    return made


def test_a_dump_is_imported_and_described(command: Command, tmp_path: Path, folder: Path) -> None:
    dump = shutil.copy(FIXTURES / "lights.dot", tmp_path / "Lights.dot")
    code, out, _ = command("graph", "build", dump, "--out", tmp_path / "made")
    result, stats, _ = command("graph", "stats", tmp_path / "made", "--format", "json")
    counts = json.loads(stats)["manifest"]["counts"]

    assert (code, result) == (0, 0)
    assert out.startswith("Lights: variables lamp, last, queue")
    assert (counts["states"], counts["edges"], counts["initial"]) == (63, 186, 1)
    for name in ("states.parquet", "values.parquet"):
        assert (tmp_path / "made" / name).read_bytes() == (folder / name).read_bytes()


def test_states_are_found_by_id_and_by_condition(command: Command, folder: Path) -> None:
    where = 'lamp.east.colour = "green"'
    code, out, _ = command("graph", "find", folder, "--where", where, "--format", "json")
    found = json.loads(out)
    one, state, _ = command("graph", "find", folder, found["shown"][0]["id"], "--format", "json")

    assert (code, one) == (0, 0)
    assert (found["count"], found["of"], len(found["shown"])) == (9, 63, 9)
    assert json.loads(state)["state"]["lamp"]["east"]["colour"] == "green"


def test_a_path_leads_to_the_nearest_state_where_a_condition_holds(
    command: Command, folder: Path
) -> None:
    where = 'lamp.east.colour = "green"'
    code, out, _ = command("graph", "path", folder, "--where", where, "--format", "json")
    hops = json.loads(out)
    same, _, _ = command("graph", "path", folder, "initial", hops[-1]["state"])

    assert (code, same) == (0, 0)
    assert command("graph", "path", folder, hops[-1]["state"], "--format", "json")[1] == out
    view = open_view(folder)
    colours = [view.tree(view.find(hop["state"]) or 0)["lamp"]["east"]["colour"] for hop in hops]
    assert colours[-1] == "green"
    assert "green" not in colours[:-1]


def test_the_states_where_a_condition_holds_are_drawn(
    command: Command, tmp_path: Path, folder: Path
) -> None:
    words = ("--format", "dot", "--where", "lamp.east.colour = 'green'", "--out", tmp_path / "part")
    code, out, err = command("graph", "export", folder, *words)
    view = open_view(folder)
    rows = parse("lamp.east.colour = 'green'").rows(view).tolist()
    text = (tmp_path / "part").read_text()

    assert (code, out, err) == (0, "", "")
    drawn = {line.split('"')[1] for line in text.splitlines() if "[label=" in line}
    assert drawn == {view.id_of(row) for row in rows}


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


def write_clock(folder: Path, properties: str) -> Path:
    """Write the module of a clock with some properties."""
    spec = folder / "Clock.tla"
    spec.write_text(
        "---- MODULE Clock ----\nEXTENDS Integers\nVARIABLE hour\n"
        "Init == hour = 0\nTick == hour' = (hour + 1) % 4\nSpec == Init /\\ [][Tick]_hour\n"
        f"{properties}====\n"
    )
    return spec


@pytest.mark.tlc
def test_a_graph_of_a_specification_of_ones_own_is_built(command: Command, tmp_path: Path) -> None:
    spec = write_clock(tmp_path, "Early == hour < 2\n")
    (tmp_path / "Clock.cfg").write_text("SPECIFICATION Spec\n")
    (tmp_path / "Early.cfg").write_text("SPECIFICATION Spec\nINVARIANT Early\n")
    whole, _, _ = command("graph", "build", spec, "--out", tmp_path / "a")
    _, out, _ = command("graph", "stats", tmp_path / "a", "--format", "json")
    part, cut, _ = command(
        "graph", "build", spec, "--config", tmp_path / "Early.cfg", "--out", tmp_path / "b"
    )
    manifest = json.loads(out)["manifest"]

    assert (whole, part) == (0, 0)
    assert manifest["complete"] is True
    assert manifest["counts"]["actions"] == {"Tick": 4}
    assert set(manifest["origin"]["modules"]) == {"Clock.tla"}
    assert "TLC found: Invariant Early is violated.\n" in cut
    assert "(those found up to there)" in cut
    cut_graph = open_view(tmp_path / "b")
    assert [cut_graph.tree(row) for row in cut_graph.violating.tolist()] == [{"hour": 2}]


@pytest.mark.tlc
def test_a_graph_says_which_property_tlc_found_violated(command: Command, tmp_path: Path) -> None:
    graph = tmp_path / "graph"
    spec = write_clock(tmp_path, "Late == <>(hour = 3)\nLater == hour > 0\n")
    (tmp_path / "Clock.cfg").write_text("SPECIFICATION Spec\nPROPERTY Late\n")
    (tmp_path / "Later.cfg").write_text("SPECIFICATION Spec\nINVARIANT Later\n")
    built, shown, _ = command("graph", "build", spec, "--out", graph)
    _, document, _ = command("graph", "stats", graph, "--format", "json")
    origin = json.loads(document)["manifest"]["origin"]
    none, nothing, reason = command(
        "graph", "build", spec, "--config", tmp_path / "Later.cfg", "--out", tmp_path / "none"
    )

    # TLC looks for the behaviours of a temporal property when it has every state.
    assert built == 0
    assert "TLC found: Temporal property Late is violated.\n4 states (all that there are)" in shown
    assert (origin["outcome"], origin["violated"]) == ("liveness", "Late")
    assert (none, nothing) == (2, "")
    assert "no graph of Clock: Invariant Later is violated by the initial state" in reason

    manifest = graph / "manifest.json"
    old = json.loads(manifest.read_text())
    for name in ("outcome", "violated", "message"):
        del old["origin"][name]
    manifest.write_text(json.dumps(old))
    assert "TLC found" not in command("graph", "stats", graph)[1]


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

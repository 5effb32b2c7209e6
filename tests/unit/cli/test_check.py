"""``canvass check`` on a spec of a few states: its output, its files and its exit codes."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from canvass.cli.options import heap_mib
from canvass.cli.output import CommandError
from support.interrupting import heed_interrupts
from support.itf_values import from_itf_value
from support.processes import canvass, processes_with
from support.tiny_spec import model, spec_with, write_manifest

pytestmark = pytest.mark.tlc

Command = Callable[..., tuple[int, str, str]]


def test_every_model_of_a_push_gets_one_line(command: Command, tiny: Path) -> None:
    code, out, err = command("check", "--spec", tiny)
    lines = out.splitlines()

    assert code == 0
    assert [line.split()[:2] for line in lines] == [
        ["ok", "TinyOk"],
        ["ok", "TinyNominees"],
        ["ok", "TinyLoss"],
    ]
    assert all(line.endswith(" s  as expected") for line in lines)
    assert "canvass: [1/3] TinyOk: 13 states, 9 distinct, 0 of them still to expand, " in err


def test_json_has_the_results_and_the_expectations_of_the_manifest(
    command: Command, tiny: Path
) -> None:
    code, out, _ = command("check", "TinyOk", "TinyLasso", "--spec", tiny, "--format", "json")
    report = json.loads(out)
    fine, lasso = report["models"]

    assert (code, report["ok"]) == (0, True)
    wanted = {
        "name": "TinyOk",
        "standing": "as expected",
        "outcome": "success",
        "expected": "success",
        "distinctStates": 9,
        "generated": 13,
        "queue": 0,
        "depth": 5,
        "tlcVersion": "2.15",
        "mode": "check",
        "workers": 1,
        "violated": None,
        "counterexample": None,
    }
    assert wanted == {name: fine[name] for name in wanted}
    assert fine["seconds"] > 0
    assert fine["processorSeconds"] > 0
    assert (lasso["outcome"], lasso["violated"]) == ("liveness", "Settles")
    assert lasso["counterexample"]["stuttering"] is True


def test_warnings_of_the_parser_are_shown(command: Command, tiny: Path, tmp_path: Path) -> None:
    spec = tmp_path / "spec"
    shutil.copytree(tiny, spec)
    write_manifest(spec, model("TinyOk"))
    for module, number in (("One", 1), ("Two", 2)):
        (spec / f"{module}.tla").write_text(f"---- MODULE {module} ----\nTwice == {number}\n====\n")
    file = spec / "Tiny.tla"
    file.write_text(file.read_text().replace("TinyProperties", "TinyProperties, One, Two", 1))
    warning = (
        "line 2, col 1 to line 2, col 10 of module Two: the definition of 'Twice' conflicts with"
        " its definition at line 2, col 1 to line 2, col 10 of module One."
    )

    code, out, _ = command("check", "--spec", spec)
    _, written, _ = command("check", "--spec", spec, "--format", "json")

    assert code == 0
    assert out.splitlines()[1:] == [f"      warning {warning}"]
    assert json.loads(written)["models"][0]["warnings"] == [warning]


def test_a_counterexample_names_members_changes_and_the_violated_property(
    command: Command, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "88")
    code, out, _ = command("check", "TinyLoss", "--spec", tiny)

    assert code == 0
    assert out.splitlines()[1:] == [
        "counterexample of TinyLoss: NothingLost is violated (safety)",
        "   1  initial state",
        '      member = (0 :> [candidateTermId |-> -1, electionState |-> "CANVASS"] @@ 1 :>',
        '          [candidateTermId |-> -1, electionState |-> "CANVASS"])',
        "      channel = (0 :> (0 :> <<>> @@ 1 :> <<>>) @@ 1 :> (0 :> <<>> @@ 1 :> <<>>))",
        "   2  Nominate                 member 0",
        "      member[0].electionState: CANVASS -> NOMINATE",
        "      channel[0][1]: + RequestVote(from 0)",
        "      member[0].candidateTermId: -1 -> 0",
        "   3  Lose                     channel 0 -> 1",
        "      channel[0][1]: - RequestVote(from 0)",
        "violated: NothingLost  (TinyProperties.tla:13)",
        "  INV: NothingLost.  A goal: its violation shows a loss.",
    ]


def test_a_model_that_does_not_end_as_expected_shows_why(
    command: Command, tiny: Path, tmp_path: Path
) -> None:
    spec = shutil.copytree(tiny, tmp_path / "spec")
    write_manifest(
        spec,
        model("TinyOk", distinctStates=8),
        model("TinyLoss"),
        model("TinyNominees", expected="safety", violates="TypeOK"),
    )
    code, out, _ = command("check", "--spec", spec)

    assert code == 1
    assert "expected 8 distinct states, found 9" in out
    assert "expected success, found safety (NothingLost)" in out
    assert "counterexample of TinyLoss: NothingLost is violated" in out
    assert "expected TypeOK to be violated, found OneNominee" in out


def test_a_model_that_cannot_be_checked_is_an_error_and_the_others_are_still_checked(
    command: Command, tiny: Path, tmp_path: Path
) -> None:
    spec = shutil.copytree(tiny, tmp_path / "spec")
    spoilt = "---- MODULE Spoilt ----\nEXTENDS Tiny\nA == \n====\n"
    (spec / "Spoilt.tla").write_text(spoilt)
    write_manifest(spec, model("TinyEndless", module="Spoilt"), model("TinyOk"))
    code, out, err = command("check", "--spec", spec)
    first, second = out.splitlines()

    assert code == 2
    assert first.startswith("ERROR TinyEndless  parse error")
    assert second.startswith("ok    TinyOk")
    (line,) = [line for line in err.splitlines() if "parse error" in line]
    assert line.startswith("canvass: TinyEndless: parse error: Spoilt.tla:")
    assert "Spoilt" not in out, "the reason is given once"


WRONG = {
    "Odd": (
        b"SPECIFICATION Spec\nCONSTANT Limit 4\n",
        "Odd.cfg: '= value' or '<- operator' was expected after Limit",
    ),
    "Bytes": (b"\xff", "Bytes.cfg cannot be read: 'utf-8' codec"),
    "More": (
        b"SPECIFICATION Spec\nCONSTANT Limit = 4 Limits = 5\n",
        "More.cfg: Tiny has no Limits; did you mean Limit",
    ),
    "Specs": (
        b"SPECIFICATION Specs\nCONSTANT Limit = 4\n",
        "Specs.cfg: Tiny has no Specs; did you mean Spec",
    ),
}
"""Configurations that cannot be read, and why not."""


def test_configurations_that_cannot_be_read_leave_the_results_of_the_other_models(
    command: Command, tiny: Path, tmp_path: Path
) -> None:
    spec = shutil.copytree(tiny, tmp_path / "spec")
    for name, (text, _) in WRONG.items():
        (spec / f"{name}.cfg").write_bytes(text)
    write_manifest(spec, *map(model, WRONG), model("TinyOk"))
    code, out, err = command("check", "--spec", spec)
    *wrong, sound = out.splitlines()
    said = [line for line in err.splitlines() if "config error" in line]

    assert code == 2
    assert sound.startswith("ok    TinyOk")
    for line, (name, (_, reason)), complaint in zip(wrong, WRONG.items(), said, strict=True):
        assert line.split()[:4] == ["ERROR", name, "config", "error"]
        assert complaint.startswith(f"canvass: {name}: config error: ")
        assert reason in complaint


def test_a_behaviour_without_lanes_is_written_and_the_other_models_are_checked(
    command: Command, tiny: Path, tmp_path: Path
) -> None:
    module = (
        "---- MODULE Clock ----\nEXTENDS Integers\nVARIABLE hour\nEarly == hour < 1\n"
        "Spec == hour = 0 /\\ [][hour' = (hour + 1) % 4]_hour\n====\n"
    )
    spec = spec_with(tiny, tmp_path, "Clock", module, "SPECIFICATION Spec\nINVARIANT Early\n")
    write_manifest(spec, model("Clock", module="Clock", expected="safety"), model("TinyOk"))
    code, out, err = command("check", "--spec", spec, "Clock", "TinyOk", "--diagram")

    assert code == 0
    assert "canvass: Clock: only models of Cluster.tla have swim lanes; its states are" in err
    assert "      hour: 0 -> 1\n" in out
    assert "\nok    TinyOk" in out


def test_an_assertion_that_fails_before_there_is_a_state_is_not_as_expected(
    command: Command, tiny: Path, tmp_path: Path
) -> None:
    module = (
        "---- MODULE Early ----\nEXTENDS Tiny, TLC\n"
        'Failing == Assert(FALSE, "the script stops") /\\ Init\n====\n'
    )
    config = "INIT Failing\nNEXT Next\nCONSTANT Limit = 0\n"
    spec = spec_with(tiny, tmp_path, "Early", module, config)
    write_manifest(spec, model("Early", module="Early"))
    code, out, err = command("check", "--spec", spec)

    assert code == 1
    assert out.startswith("FAIL  Early  assertion")
    assert "bug in canvass" not in err


def test_the_states_up_to_an_evaluation_error_are_shown(
    command: Command, tiny: Path, tmp_path: Path
) -> None:
    module = (
        "---- MODULE Wrong ----\nEXTENDS Tiny\n"
        'Stepped == member[0].electionState = "NOMINATE" => member[2].electionState = ""\n====\n'
    )
    config = "SPECIFICATION Spec\nCONSTANT Limit = 0\nINVARIANT Stepped\n"
    spec = spec_with(tiny, tmp_path, "Wrong", module, config)
    write_manifest(spec, model("Wrong", module="Wrong", workers=1))
    code, out, err = command("check", "--spec", spec)
    document = json.loads(command("check", "--spec", spec, "--format", "json")[1])
    (found,) = document["models"]

    assert code == 2
    assert "counterexample of Wrong: Evaluating invariant Stepped failed. Attempted to" in out
    assert "   2  Nominate                 member 0\n" in out
    assert out.endswith("\nevaluated: Stepped  (Wrong.tla:3)\n")
    assert "is violated" not in out + err
    assert found["standing"] == "not checked"
    assert [step["action"] for step in found["counterexample"]["steps"]] == [None, "Nominate"]


def test_a_state_without_a_successor_is_a_deadlock_unless_the_configuration_says_otherwise(
    command: Command, tiny: Path, tmp_path: Path
) -> None:
    spec = shutil.copytree(tiny, tmp_path / "spec")
    config = spec / "TinyOk.cfg"
    config.write_text(config.read_text().replace("CHECK_DEADLOCK FALSE\n", ""))
    write_manifest(spec, model("TinyOk", expected="deadlock"), model("TinyNominees"))
    code, out, _ = command("check", "--spec", spec, "TinyOk")

    assert code == 0, out


def test_a_time_limit_ends_a_search_as_not_checked(command: Command, tiny: Path) -> None:
    code, out, err = command("check", "TinyEndless", "--spec", tiny, "--timeout", "1")

    assert code == 2
    assert out.startswith("ERROR TinyEndless  timeout")
    assert "TinyEndless: timeout: " in err


def test_an_empty_check_exits_with_2(command: Command, tiny: Path, tmp_path: Path) -> None:
    spec = shutil.copytree(tiny, tmp_path / "spec")
    write_manifest(spec, model("TinyOk", set="night"))
    code, _, err = command("check", "--spec", spec)

    assert code == 2
    assert err == "canvass: nothing to check: the manifest has no model in the set ci\n"


def test_without_java_it_is_one_line(
    command: Command, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    code, out, err = command("check", "--spec", tiny)

    assert (code, out) == (2, "")
    assert err.startswith("canvass: no Java: install OpenJDK 17 or newer")
    assert err.count("\n") == 1


JUGS = """
---- MODULE Jugs ----
EXTENDS Naturals
VARIABLES big, small
Init == big = 0 /\\ small = 0
Fill == big' = 5 /\\ small' = small
Pour == big > 3 /\\ big' = big - 3 /\\ small' = 3
Next == Fill \\/ Pour
NotTwo == big # 2
====
"""


def test_a_specification_of_the_user_is_checked(command: Command, tmp_path: Path) -> None:
    (tmp_path / "Jugs.tla").write_text(JUGS)
    (tmp_path / "Jugs.cfg").write_text("INIT Init\nNEXT Next\nINVARIANT NotTwo\n")
    code, out, _ = command("check", tmp_path / "Jugs.tla")

    assert code == 1
    assert "found safety (NotTwo)" in out.splitlines()[0]
    assert "      big: 5 -> 2" in out.splitlines()
    assert "canvass check My.tla" in command("check", "--spec", tmp_path)[2]


def test_other_rules_are_put_in_force(command: Command) -> None:
    code, out, _ = command("check", "MCHazard8", "--with", "all,-HZ8")

    assert code == 0
    assert out.splitlines()[0].startswith("done  MCHazard8  safety: CommittedIsDurable")


def test_a_simulation_is_repeated_by_its_seed(command: Command, tiny: Path, tmp_path: Path) -> None:
    spec = shutil.copytree(tiny, tmp_path / "spec")
    loss = {"expected": "safety", "violates": "NothingLost", "workers": 1}
    write_manifest(spec, model("TinyLoss", mode="simulate", traces=1000, **loss))
    words = ("check", "--seed", "7", "--spec", spec)
    first = json.loads(command(*words, "--format", "json")[1])["models"][0]
    second = json.loads(command(*words, "--format", "json")[1])["models"][0]

    assert (first["mode"], first["seed"], first["violated"]) == ("simulate", 7, "NothingLost")
    assert first["counterexample"] == second["counterexample"]


def test_several_counterexamples_go_to_a_folder_as_json_and_itf(
    command: Command, tiny: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "new" / "folder"
    words = ("check", "TinyNominees", "TinyLoss", "--spec", tiny, "--export")
    code, _, err = command(*words, folder)
    refused = command(*words, tmp_path / "one.json")
    names = [
        f"{name}.{kind}" for name in ("TinyLoss", "TinyNominees") for kind in ("itf.json", "json")
    ]

    assert code == 0
    assert sorted(path.name for path in folder.iterdir()) == names
    assert err.count("canvass: wrote ") == 4
    assert refused[0] == 2
    assert "2 models have a counterexample: name one model, or export to a folder" in refused[2]

    trace, document = (json.loads((folder / name).read_text()) for name in names[:2])
    assert (document["schema"], document["model"]) == ("canvass.counterexample/1", "TinyLoss")
    assert [step["acting"] for step in document["steps"]] == [None, "member 0", "channel 0 -> 1"]
    assert document["steps"][1]["changes"][1] == {
        "path": "member[0].electionState",
        "kind": "changed",
        "before": "CANVASS",
        "after": "NOMINATE",
    }
    assert trace["#meta"]["format"] == "ITF"
    assert [state["#meta"].get("action") for state in trace["states"]] == [None, "Nominate", "Lose"]
    for step, state in zip(document["steps"], trace["states"], strict=True):
        assert from_itf_value(step["state"]["channel"]) == from_itf_value(state["channel"])


@pytest.mark.parametrize(
    ("text", "mib"), [("4g", 4096), ("512m", 512), ("512M", 512), ("300", 300), ("65536k", 64)]
)
def test_sizes_of_the_heap(text: str, mib: int) -> None:
    assert heap_mib(text) == mib


@pytest.mark.parametrize("text", ["", "4 g", "-1", "4gb", "1.5g", "0", "1k", "4m"])
def test_an_invalid_size_of_a_heap_is_refused(text: str) -> None:
    with pytest.raises(CommandError):
        heap_mib(text)


def running_check(*words: str) -> subprocess.Popen[str]:
    """Start ``canvass check`` as a process that a test can interrupt."""
    return subprocess.Popen(
        canvass("check", *words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    )


def test_an_interrupt_ends_it_with_130_and_leaves_no_java(tiny: Path, tmp_path: Path) -> None:
    """The interrupt comes when TLC has reported its first progress."""
    spec = shutil.copytree(tiny, tmp_path / "endless")
    with running_check("TinyEndless", "--spec", str(spec)) as process:
        assert process.stderr is not None
        progress = process.stderr.readline()
        running = processes_with(str(spec))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()

    assert progress.startswith("canvass: [1/1] TinyEndless: ")
    assert len(running) > 1
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "canvass: interrupted"
    assert "Traceback" not in err
    assert processes_with(str(spec)) == []


def test_an_interrupt_keeps_the_results_of_the_models_before(tiny: Path, tmp_path: Path) -> None:
    spec = shutil.copytree(tiny, tmp_path / "endless")
    export = tmp_path / "counterexamples"
    words = ["TinyOk", "TinyLoss", "TinyEndless", "--spec", str(spec)]
    with running_check(*words, "--format", "json", "--export", str(export)) as process:
        assert process.stderr is not None
        assert any("TinyEndless: " in line for line in iter(process.stderr.readline, ""))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    report = json.loads(out)

    assert process.returncode == 130
    assert err.splitlines()[-1] == "canvass: interrupted"
    assert report["ok"] is False
    assert [each["name"] for each in report["models"]] == ["TinyOk", "TinyLoss"]
    assert sorted(file.name for file in export.iterdir()) == ["TinyLoss.itf.json", "TinyLoss.json"]

"""The output that guides show is what the commands print."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Final

import pytest

from canvass.cli.main import run
from canvass.conformance import verify
from canvass.selftest.kill_matrix import MUTANTS
from support.core_lookup import core_lookup
from support.guide_examples import ROOT, absent, block

SAMPLE: Final = ROOT / "samples" / "aeron" / "b-leader-killed"


def test_the_release_of_the_guide_is_that_of_the_sample(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["import", "aeron", str(SAMPLE), "--out", str(tmp_path / "run")]) == 0

    printed = capsys.readouterr().out.splitlines()
    assert list(absent(block("import.md", "Aeron 1.52.2"), printed)) == []


@pytest.fixture(scope="module")
def sample_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that the guide on traces makes of the sample."""
    folder = tmp_path_factory.mktemp("guide") / "my-run"
    assert run(["import", "aeron", str(SAMPLE), "--out", str(folder)]) == 0
    return folder


def test_the_lanes_of_the_guide_are_those_of_the_sample(
    sample_run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)  # A worker of xdist has it.
    command, *_ = [line for line in block("traces.md", "canvass trace show") if "--around" in line]
    words = shlex.split(command, comments=True)[1:]
    assert f"{shlex.join(words)}\n" in (ROOT / "README.md").read_text()
    words[words.index("my-run")] = str(sample_run)
    capsys.readouterr()

    assert run(words) == 0

    printed = capsys.readouterr().out.splitlines()
    assert printed[-1].startswith("sent before: ")
    example = block("traces.md", "member 0 ")
    assert list(absent(example, printed)) == []
    event = words[words.index("--around") + 1].split(":")[1]
    assert any(re.match(rf"● {event} ", line) for line in example)


def test_the_free_inputs_of_the_guide_are_those_of_the_sample(
    sample_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()

    assert run(["verify", str(sample_run)]) == 0

    printed = capsys.readouterr().out.splitlines()
    assert list(absent(block("traces.md", "CONFORMS:"), printed)) == []


@pytest.mark.parametrize(
    ("page", "first"), [("operate.md", "3 members, 3 logs"), ("operate.md", "  Election 2:")]
)
def test_the_explanation_of_the_guide_is_that_of_the_sample(
    page: str, first: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", str(SAMPLE)]) == 0

    assert list(absent(block(page, first), capsys.readouterr().out.splitlines())) == []


def test_the_finding_of_the_guide_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    command, *example = block("simulate.md", "$ canvass simulate --members 3 --seeds 1 ")

    assert run(shlex.split(command)[2:]) == 0

    assert list(absent(example, capsys.readouterr().out.splitlines())) == []


@pytest.mark.tlc
def test_the_graph_of_the_guide_shows_where_two_members_lead(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    example = block("graph.md", "$ canvass graph build MUT_VoteTwice")
    for line in example:
        if line.startswith("$ canvass"):
            assert run(shlex.split(line)[2:]) == 0

    printed = capsys.readouterr().out.splitlines()
    shown = [line for line in example if not line.startswith("$")]
    assert list(absent(shown, printed)) == []


def test_the_disks_of_the_guide_are_those_of_the_capture(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT / "tests" / "captures" / "disks" / "1.52.2-wipe-241")

    assert run(["disks", "."]) == 1

    printed = capsys.readouterr().out.splitlines()
    assert list(absent(block("disks.md", "1. Is each disk sound"), printed)) == []


def test_a_line_that_is_not_printed_is_found() -> None:
    printed = ["one", "two, and more", "three"]

    assert list(absent(["one", "...", "two..."], printed)) == []
    assert list(absent(["three", "one"], printed)) == ["one"]
    assert list(absent(["two"], printed)) == ["two"]


def test_the_readme_counts_the_mutants() -> None:
    readme = (ROOT / "README.md").read_text()

    assert f"breaks the reference implementation in {len(MUTANTS)} ways" in readme


@pytest.mark.night
def test_the_readme_counts_the_steps_of_its_simulation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    readme = (ROOT / "README.md").read_text()
    command = next(line for line in readme.splitlines() if "canvass simulate --members" in line)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(verify, "make_lookup", lambda *_, **__: core_lookup())

    assert run(shlex.split(command)[1:]) == 0
    capsys.readouterr()
    assert run(["verify", "my-corpus", "--format", "json"]) == 0

    distinct = json.loads(capsys.readouterr().out)["counts"]["distinctSteps"]
    assert f"looks up all {distinct:,} distinct steps" in readme

"""``canvass verify`` from the command line: exit codes, the three formats, reports."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from canvass.cli.main import run
from canvass.cluster.rules import Rules
from canvass.selftest.runs import record_run
from support import corruptions
from support.corruptions import corrupted


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good") / "run"
    record_run(folder, Rules.of("1.50"), 0, 600, faults=0.0, run_id="good")
    return folder


@pytest.fixture
def bad(good: Path, tmp_path: Path) -> Path:
    return corrupted(good, tmp_path / "bad", corruptions.send_removed)


def written_by(release: str, good: Path, folder: Path) -> Path:
    """A copy of a run that names the release of imported logs."""
    shutil.copytree(good, folder)
    file = folder / "run.json"
    named = json.loads(file.read_text())
    named["source"] = {"releases": {"members": {"0": [release]}, "choice": "RELEASE"}}
    file.write_text(json.dumps(named))
    return folder


@pytest.mark.usefixtures("without_tlc")
def test_the_release_of_an_imported_run_is_named(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new, page = written_by("1.60.0", good, tmp_path / "new"), tmp_path / "page.html"
    said = "Aeron 1.60.0 (member 0); revision 1.50 of the spec, chosen by the release"
    note = "note: release 1.60.0 (member 0) has not been tried, only 1.43 to 1.53;"

    assert run(["verify", str(new), "--html", str(page)]) == 0
    assert f"\n{said}\n{note}" in capsys.readouterr().out
    assert f'<p class="note">{said}</p><p class="note">{note}' in page.read_text()

    assert run(["verify", str(new), "--format", "json"]) == 0
    releases = json.loads(capsys.readouterr().out)["runs"][0]["releases"]
    assert releases["members"] == {"0": ["1.60.0"]}
    assert releases["revision"] == "1.50"
    assert len(releases["remarks"]) == 1

    old = written_by("1.50.0", good, tmp_path / "old")
    assert run(["verify", *map(str, (new, old, good))]) == 0
    shown = capsys.readouterr().out
    assert f"\n1 of 3 runs: {said}\n{note}" in shown
    assert "\n1 of 3 runs: Aeron 1.50.0 (member 0); revision 1.50 of the spec" in shown


@pytest.mark.usefixtures("without_tlc")
def test_verify_says_which_properties_were_not_asked(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, page = tmp_path / "run", tmp_path / "page.html"
    shutil.copytree(good, folder)
    header = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(header | {"initial": "unknown"}))

    assert run(["verify", str(folder), "--html", str(page)]) == 0

    said = "Not a full check of the run; not checked: AppliedWithinCommitted; checked only on"
    assert said in capsys.readouterr().out
    assert said in page.read_text()
    assert run(["batch", "verify", str(folder), "--out", str(tmp_path / "report")]) == 0
    assert "not a full check of 1 run that conforms: see" in capsys.readouterr().out


@pytest.mark.usefixtures("without_tlc")
def test_verify_json_holds_verdicts_counts_and_explanations(
    bad: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["verify", "--format", "json", str(bad)]) == 1

    report = json.loads(capsys.readouterr().out)
    assert report["schema"] == "canvass.verdict/5"
    assert report["ok"] is False
    assert report["counts"]["runs"] == 1
    (found,) = report["runs"]
    assert found["verdict"] == "DIVERGES"
    (explained,) = report["explanations"]
    assert explained["divergence"] == found["divergences"][0]
    assert explained["operator"]["lines"]
    assert explained["expected"][0]["field"].startswith("sends to")


@pytest.mark.tlc
def test_verify_asks_tlc_and_remembers_what_it_said(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = tmp_path / "run"
    shutil.copytree(good, short)
    streams = corruptions.read_streams(short)
    sent = {0}
    while sent:
        sent = set()
        kept = {s["id"] for lines in streams.values() for k in lines[:40] for s in k["sends"]}
        for member, lines in streams.items():
            streams[member] = lines[:40]
            for place, line in enumerate(streams[member]):
                if line["input"].get("id") and line["input"]["id"] not in kept:
                    sent.add(place)
                    del streams[member][place:]
                    break
    corruptions.write_streams(short, streams)
    cache = ["--cache", str(tmp_path / "cache")]

    assert run(["verify", "--format", "json", *cache, str(short)]) == 0
    first = json.loads(capsys.readouterr().out)["counts"]
    assert run(["verify", "--format", "json", *cache, str(short)]) == 0
    second = json.loads(capsys.readouterr().out)["counts"]

    assert first["askedOfOracle"] == first["distinctSteps"] - first["foundInTable"] > 0
    assert second["foundInCache"] == first["askedOfOracle"]

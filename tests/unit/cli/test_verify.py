"""``canvass verify`` from the command line: exit codes, the three formats, reports."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

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


@pytest.mark.usefixtures("without_tlc")
def test_verify_a_good_run_exits_with_0(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", str(good)]) == 0

    shown = capsys.readouterr().out
    assert shown.startswith("CONFORMS    good  ")
    assert "1 run, 600 events" in shown


@pytest.mark.usefixtures("without_tlc")
def test_verify_a_divergence_exits_with_1_and_is_explained(
    bad: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["verify", str(bad)]) == 1

    shown = capsys.readouterr().out
    assert shown.startswith("DIVERGES    good  ")
    assert "a step that the spec does not allow" in shown
    assert "What the spec allows instead (1 of 1)" in shown
    assert "observed none, allowed" in shown
    assert ".tla:" in shown
    assert "\nrevision 1.50 of the spec, which the run names\n" in shown


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
def test_verify_an_incomplete_run_exits_with_3(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = corrupted(good, tmp_path / "run", corruptions.event_dropped)

    assert run(["verify", str(folder)]) == 3

    shown = capsys.readouterr().out
    assert re.search(r"GAP of member \d at line \d+", shown)
    assert "\nINCOMPLETE: revision 1.50 of the spec allows every step that is there" in shown


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
def test_verify_says_of_how_many_runs_the_spec_allows_every_step(
    good: Path, bad: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["verify", str(good), str(bad)]) == 1

    shown = capsys.readouterr().out
    assert "\n1 of 2 runs: revision 1.50 of the spec allows every step" in shown
    assert "\nCONFORMS:" not in shown


@pytest.mark.usefixtures("without_tlc")
def test_verify_a_malformed_run_exits_with_2(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(good, folder)
    (folder / "member-0.ndjson").write_text("no event\n")

    assert run(["verify", str(folder)]) == 2

    shown = capsys.readouterr().out
    assert shown.startswith("MALFORMED")
    assert "member-0.ndjson:1:" in shown


@pytest.mark.usefixtures("without_tlc")
def test_verify_what_can_be_no_run_is_a_row_among_the_others(
    good: Path,
    bad: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A folder of another name, a link, a folder that is empty, a file that is no data set."""
    runs, files = tmp_path / "runs", tmp_path / "files"
    shutil.copytree(good, runs / "b")
    shutil.copytree(bad, runs / "z")
    shutil.copytree(good, runs / "a b\n")
    (runs / "empty").mkdir()
    (runs / "link").symlink_to(good)
    files.mkdir()
    (files / "x.parquet").write_bytes(b"no")

    assert run(["verify", str(runs), str(files)]) == 1

    shown = capsys.readouterr().out
    rows = [line.split(maxsplit=1) for line in shown.splitlines() if "  0 events" in line]
    assert [row[0] for row in rows] == ["MALFORMED"] * 4
    for text, (_, row) in zip(
        (
            "a b\\n: BAD_NAME",
            "empty/run.json: NOT_FOUND",
            "link: BAD_NAME",
            "x.parquet: BAD_SCHEMA",
        ),
        rows,
        strict=True,
    ):
        assert text in row
    assert "CONFORMS    good" in shown
    assert "DIVERGES    good" in shown


@pytest.mark.usefixtures("without_tlc")
def test_verify_a_run_that_is_named_twice_is_one_run(
    good: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["verify", str(good), str(good)]) == 0

    assert "1 run, 600 events" in capsys.readouterr().out


def test_verify_nothing_to_check_exits_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["verify", str(tmp_path)]) == 2
    assert "neither runs nor a data set" in capsys.readouterr().err


@pytest.mark.usefixtures("without_tlc")
def test_verify_json_holds_verdicts_counts_and_explanations(
    bad: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["verify", "--format", "json", str(bad)]) == 1

    report = json.loads(capsys.readouterr().out)
    assert report["schema"] == "canvass.verdict/4"
    assert report["ok"] is False
    assert report["counts"]["runs"] == 1
    (found,) = report["runs"]
    assert found["verdict"] == "DIVERGES"
    (explained,) = report["explanations"]
    assert explained["divergence"] == found["divergences"][0]
    assert explained["operator"]["lines"]
    assert explained["alternatives"][0][0]["field"].startswith("sends to")


@pytest.mark.usefixtures("without_tlc")
def test_verify_junit_counts_failures(
    good: Path, bad: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["verify", "--format", "junit", str(good), str(bad)]) == 1

    suite = ElementTree.fromstring(capsys.readouterr().out)
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    failures = suite.findall("testcase/failure")
    assert [each.get("type") for each in failures] == ["IMPLEMENTATION_STEP"]


@pytest.mark.usefixtures("without_tlc")
def test_verify_tells_runs_of_one_id_apart_by_their_paths(
    good: Path, bad: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(good, broken)
    (broken / "member-0.ndjson").write_text("no event\n")
    paths = [str(broken), str(good), str(bad)]

    assert run(["verify", *paths]) == 1
    shown = capsys.readouterr().out
    assert run(["verify", *paths, "--format", "junit"]) == 1
    suite = ElementTree.fromstring(capsys.readouterr().out)
    assert run(["verify", *paths, "--format", "json"]) == 1
    report = json.loads(capsys.readouterr().out)

    names = [f"good ({path})" for path in paths]
    assert [name in line for name, line in zip(names, shown.splitlines(), strict=False)] == [
        True
    ] * 3
    assert [case.get("name") for case in suite.findall("testcase")] == names
    assert [one["verdict"] for one in report["runs"]] == ["MALFORMED", "CONFORMS", "DIVERGES"]


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


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--engine", "tlc", "--graph", "x"), "--graph is for --engine steps"),
        (("--engine", "tlc", "--cache", "x"), "--cache is for --engine steps"),
        (("--engine", "tlc", "--no-cache"), "--no-cache is for --engine steps"),
    ],
)
def test_verify_options_of_the_other_engine_are_refused(
    good: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], line: str
) -> None:
    assert run(["verify", str(good), *words]) == 2

    output = capsys.readouterr()
    assert output.out == ""
    assert line in output.err
    assert output.err.count("\n") == 1

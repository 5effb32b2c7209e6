"""Timing warnings of ``canvass verify`` and the timeouts that ``canvass import aeron`` notes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from canvass.cli.main import run
from canvass.traces.alignment.importer import import_logs
from canvass.traces.run import RunFolder
from canvass.traces.timeouts import beside, note_timeouts, timeouts_of

pytestmark = pytest.mark.usefixtures("without_tlc")

SAMPLE = Path(__file__).parents[3] / "samples" / "aeron" / "b-leader-killed"
HEARTBEAT = "aeron.cluster.leader.heartbeat.timeout"
"""2 s in the captured cluster."""


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("imported") / "run"
    import_logs([SAMPLE], out)
    note_timeouts(out / "run.json", beside(SAMPLE))
    return out


def test_every_form_of_report_has_the_warnings(
    imported: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    wrong, page = shutil.copytree(imported, tmp_path / "run"), tmp_path / "page.html"
    named = timeouts_of(RunFolder(wrong).run)
    note_timeouts(wrong / "run.json", named | {HEARTBEAT: 10 * 10**9})

    assert run(["verify", str(wrong), "--html", str(page)]) == 0
    shown = capsys.readouterr().out
    assert "8 timing warnings" in shown
    assert f"{HEARTBEAT} is 10s [LEADER_HEARD]" in shown
    assert "Timing warnings" in page.read_text()

    assert run(["verify", str(wrong), "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    (checked,) = report["runs"]
    assert (report["ok"], checked["verdict"]) == (True, "CONFORMS")
    assert {one["rule"] for one in checked["timing"]} == {"LEADER_HEARD", "EARLY_TIMEOUT"}
    assert checked["timing"][0]["timeoutNs"] == 10_000_000_000
    assert {one["name"] for one in checked["choices"]} >= {"timeouts", "active sets"}

    assert run(["verify", str(wrong), "--format", "junit"]) == 0
    suite = ElementTree.fromstring(capsys.readouterr().out)
    assert suite.get("failures") == "0"
    assert "[LEADER_HEARD]" in (suite.findtext("testcase/system-out") or "")


def test_the_import_notes_the_timeouts_beside_the_logs(tmp_path: Path) -> None:
    sample = SAMPLE.parent / "a-clean-startup"
    words = ["import", "aeron", str(sample), "--out", str(tmp_path / "run")]

    assert run([*words, "--set", f"{HEARTBEAT}=3s"]) == 0

    noted = json.loads((tmp_path / "run" / "run.json").read_bytes())["source"]["timeouts"]
    assert noted[HEARTBEAT] == "3s"
    assert noted["aeron.cluster.startup.canvass.timeout"] == "5s"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b'{"properties": {"aeron.cluster.election.timeout": 1}}', "1 is not a duration"),
        (b"garbage", "JSON is malformed"),
        (b"\xff\xfe", "JSON is malformed"),
        (b"", "truncated"),
        (b"[]", "there are no properties"),
        (b'{"properties": 5}', "there are no properties"),
    ],
)
def test_settings_beside_the_logs_that_are_none_are_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: bytes, reason: str
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for path in (SAMPLE.parent / "a-clean-startup").glob("member-*"):
        (logs / path.name).write_bytes(path.read_bytes())
    (logs / "config.json").write_bytes(text)

    assert run(["import", "aeron", str(logs), "--out", str(tmp_path / "run")]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith(f"canvass: {logs}/config.json: ")
    assert reason in shown
    assert shown.count("\n") == 1
    assert not (tmp_path / "run").exists()

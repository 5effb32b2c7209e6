"""No log is accused because its release prints less, or because events are disabled."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from canvass.cli.main import run as canvass
from canvass.conformance.findings import Verdict
from canvass.traces.alignment.importer import EXPLAINED, import_logs
from support.aeron_runs import FINDING, RELEASES, SAMPLES, aligned, release_logs
from support.checked_runs import checked


@pytest.mark.parametrize("logs", RELEASES, ids=lambda path: path.name)
def test_the_logs_of_each_release_are_explained_and_conform(logs: Path, tmp_path: Path) -> None:
    summary = import_logs([logs], tmp_path / "run")
    result = checked(tmp_path / "run")

    assert (summary.outcome, result.verdict) == (EXPLAINED, Verdict.CONFORMS)


@pytest.mark.parametrize(
    ("logs", "options", "revision"),
    [
        (RELEASES[0], [], "1.49"),
        (FINDING, [], "1.50"),
        (SAMPLES[0], ["--revision", "1.49"], "1.49"),
    ],
)
def test_the_revision_is_that_of_the_release_or_the_one_that_is_asked_for(
    logs: Path, options: list[str], revision: str, tmp_path: Path
) -> None:
    canvass(["import", "aeron", str(logs), "--out", str(tmp_path / "run"), *options])

    assert json.loads((tmp_path / "run" / "run.json").read_text())["revision"] == revision


@pytest.mark.parametrize(("release", "shown"), [("1.50.4-kills", True), ("1.48.11-calm", False)])
def test_a_line_shows_a_request_to_terminate_if_it_names_the_request(
    release: str, shown: bool
) -> None:
    path = release_logs(release)
    requests = [
        (step, live)
        for live in aligned(path).members.values()
        for step in live.emitted
        if step.action == "InitiateTermination"
    ]
    ((step, live),) = requests
    lines = [live.windows.trajectory.lines.records[k] for k in step.lines]

    assert {send.to for send in step.outcome.sends} == {0, 1, 2} - {live.member_id}
    assert [getattr(line, "reason", None) for line in lines] == (
        ["ClusterControl.SHUTDOWN"] if shown else []
    )


def test_events_that_the_user_says_are_disabled_are_said_not_to_be_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = release_logs("1.52.2-kills-production")
    out = str(tmp_path / "run")
    code = canvass(["import", "aeron", str(logs), "--out", out, "--events", "production"])
    printed = capsys.readouterr().out

    assert code in (0, 3)
    assert "turned on" not in printed


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--events", "VOTES"], "no event is called 'VOTES'"),
        (["--events", ","], "no event is called ''"),
        (["--revision", "1.48"], "'1.48' is none of 1.49"),
    ],
)
def test_a_wrong_option_is_one_line(
    options: list[str], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "run")
    code = canvass(["import", "aeron", str(SAMPLES[0]), "--out", out, *options])
    error = capsys.readouterr().err

    assert code == 2
    assert reason in error
    assert error.count("\n") == 1

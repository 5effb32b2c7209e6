"""``canvass import aeron``: what it prints, and its exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from canvass.cli.main import run
from canvass.traces.alignment.importer import import_logs
from canvass.traces.alignment.run_events import RunWriter
from support.aeron_runs import SAMPLES, captures, lines_by_member, lines_of, write_logs

CAPTURE = captures()[0]


def test_an_explained_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(
        ["import", "aeron", str(CAPTURE), "--out", str(tmp_path / "run"), "--format", "json"]
    )
    summary = json.loads(capsys.readouterr().out)

    assert code == 0
    assert summary["outcome"] == "EXPLAINED"
    assert all(member["lines"] == member["accounted"] for member in summary["members"])
    assert all(
        member["steps"] == member["observed"] + member["inferred"] for member in summary["members"]
    )


def test_the_release_and_the_revision_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["import", "aeron", str(CAPTURE), "--out", str(tmp_path / "run")])

    shown = capsys.readouterr().out
    said = "Aeron 1.52.2 (members 0, 1, 2); revision 1.50 of the spec, chosen by the release\n"
    assert code == 0
    assert said in shown
    assert "note:" not in shown


def test_a_rolling_upgrade_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs = lines_by_member(CAPTURE)
    logs[0] = [
        line.replace("CLUSTER: version=1.52.2", "CLUSTER: version=1.49.3") for line in logs[0]
    ]
    words = ["import", "aeron", str(write_logs(tmp_path / "logs", logs)), "--out"]

    assert run([*words, str(tmp_path / "a")]) == 0
    shown = capsys.readouterr().out
    assert "Aeron 1.49.3 (member 0), 1.52.2 (members 1, 2); revision 1.50 of the spec" in shown
    assert "note: release 1.49.3 (member 0) has the rules of revision 1.49;" in shown

    assert run([*words, str(tmp_path / "b"), "--format", "json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    releases = summary["releases"]
    assert releases["members"] == {"0": ["1.49.3"], "1": ["1.52.2"], "2": ["1.52.2"]}
    assert (releases["choice"], releases["revision"]) == ("RELEASE", "1.50")
    assert len(releases["remarks"]) == 1


def test_a_missing_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_logs(tmp_path / "logs", {0: list(lines_of(CAPTURE, 0))})
    code = run(["import", "aeron", str(folder), "--out", str(tmp_path / "run")])

    assert code == 3
    assert "missing: the log of member 1 is not there" in capsys.readouterr().out


def test_a_line_that_cannot_be_read_is_named_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = lines_by_member(CAPTURE)
    place = next(k for k, line in enumerate(logs[1]) if " VOTE " in line)
    logs[1][place] = re.sub(r"logPosition=\d+", "logPosition=99999999999999999999", logs[1][place])
    folder = write_logs(tmp_path / "logs", logs)
    (folder / "config.json").write_text("{}")
    (folder / "member-1.log.old").write_text("garbage")

    code = run(["import", "aeron", str(folder), "--out", str(tmp_path / "run")])

    shown = capsys.readouterr().out
    column = logs[1][place].index("99999999999999999999") + 1
    where = f"{folder}/member-1.log:{place + 1}:{column}"
    assert code == 3
    assert f"missing: {where}: not a 64-bit integer: " in shown
    assert "BAD_VALUE" not in shown
    assert "config.json" not in shown
    assert "not read, as the name is not that of a log: member-1.log.old\n" in shown


def test_of_many_lines_that_are_missing_some_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = lines_by_member(CAPTURE)
    logs[2][60:90] = [line[:60] for line in logs[2][60:90]]
    run(["import", "aeron", str(write_logs(tmp_path / "logs", logs)), "--out", str(tmp_path / "a")])
    shown = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("missing: ") for line in shown) == 21
    paths = [str(tmp_path / "logs"), "--out", str(tmp_path / "b"), "--format", "json"]
    run(["import", "aeron", *paths])
    missing = json.loads(capsys.readouterr().out)["missing"]

    assert sum(line.startswith(f"missing: {tmp_path}") for line in shown) == 20
    assert f"missing: {len(missing) - 20} more (--format json has all)" in shown


def test_an_output_may_have_the_longest_name_of_a_file(tmp_path: Path) -> None:
    import_logs([CAPTURE], tmp_path / ("x" * 255))

    assert (tmp_path / ("x" * 255) / "run.json").is_file()


def test_an_import_that_is_interrupted_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        assert list(tmp_path.rglob("member-2.ndjson")), "the run is being written"
        raise KeyboardInterrupt

    monkeypatch.setattr(RunWriter, "finish", interrupted)
    (tmp_path / "empty").mkdir()
    for name in ("new", "empty"):
        with pytest.raises(KeyboardInterrupt):
            import_logs([CAPTURE], tmp_path / name)

    assert list(tmp_path.rglob("*")) == [tmp_path / "empty"]


def test_an_empty_folder_gets_the_run(tmp_path: Path) -> None:
    before = tmp_path.stat().st_ino
    import_logs([CAPTURE], tmp_path)

    assert tmp_path.stat().st_ino == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *(f"member-{i}.ndjson" for i in range(3)),
        "run.json",
    ]


def test_what_share_of_the_run_lines_show(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the lines of a follower's reports their messages are inferred."""
    logs = lines_by_member(CAPTURE)
    few = {i: [one for one in lines if " APPEND_" not in one] for i, lines in logs.items()}
    shares = []
    for name, shown in (("all", logs), ("few", few)):
        folder, out = write_logs(tmp_path / name, shown), str(tmp_path / f"{name}-run")
        run(["import", "aeron", str(folder), "--out", out, "--format", "json"])
        summary = json.loads(capsys.readouterr().out)
        shares.append(summary["observed"])
        members, messages = summary["members"], summary["observed"]["messages"]

        assert summary["observed"]["steps"] == {
            "observed": sum(member["observed"] for member in members),
            "total": sum(member["steps"] for member in members),
        }
        assert messages["total"] == sum(member["sends"] for member in members)
        assert messages["observed"] <= sum(member["receivedSends"] for member in members)

    whole, part = shares
    assert 0.9 < whole["messages"]["observed"] / whole["messages"]["total"] <= 1
    assert part["messages"]["observed"] < 0.6 * whole["messages"]["observed"]


@pytest.mark.parametrize(("member", "begin", "end"), [(0, 0.3, 1), (0, 0, 0.3), (1, 0.3, 1)])
def test_no_more_is_observed_than_is_there_if_a_log_is_truncated(
    tmp_path: Path, member: int, begin: float, end: float
) -> None:
    """Members receive messages that the member sent in steps whose lines are missing."""
    logs = lines_by_member(SAMPLES[-1])
    count = len(logs[member])
    logs[member] = logs[member][int(count * begin) : int(count * end)]
    summary = import_logs([write_logs(tmp_path / "logs", logs)], tmp_path / "run")

    assert any("lines are missing" in one for one in summary.missing)
    assert summary.observed["messages"].total > 0
    assert all(one.observed <= one.total for one in summary.observed.values())


def test_the_share_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["import", "aeron", str(CAPTURE), "--out", str(tmp_path / "run")])
    pattern = (
        r"observed: \d+ % of [\d,]+ steps, \d+ % of [\d,]+ messages, \d+ % of [\d,]+ positions"
    )

    assert any(re.fullmatch(pattern, line) for line in capsys.readouterr().out.splitlines())

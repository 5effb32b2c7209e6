"""A disk that was changed from outside is an input, named with its line; nobody broke a rule."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from canvass.conformance.findings import Verdict
from canvass.traces.alignment.importer import (
    CONTRADICTED,
    EXPLAINED,
    INCOMPLETE,
    ImportSummary,
    import_logs,
)
from support.aeron_corruptions import number_in, with_number
from support.aeron_runs import MOMENTS, OUTSIDE, SAMPLES, lines_by_member, write_logs
from support.checked_runs import checked

Logs = dict[int, list[str]]
EMPTIED, SEEDED, INVALIDATED = OUTSIDE
SINGLE = next(path for path in MOMENTS if path.name == "1.52.2-single-node")
KILLED = next(path for path in SAMPLES if path.name == "b-leader-killed")

STARTS = {
    EMPTIED: {1: "log position 0 after 96, log term -1 after 0, candidate term -1 after 0"},
    SEEDED: dict.fromkeys(range(3), "log position 0 after 329312, snapshot 0 after 329312"),
    INVALIDATED: dict.fromkeys(range(3), "snapshot 672 after 1536"),
}


def starts(lines: list[str]) -> Iterator[int]:
    """The indexes of the lines with which processes begin their elections."""
    yield from (at for at, line in enumerate(lines) if 'reason="node started"' in line)


def later(line: str) -> str:
    """A line with a stamp that is a minute later."""
    stamp = float(line[1 : line.index("]")])
    return f"[{stamp + 60:.9f}{line[line.index(']') :]}"


def imported(logs: Logs, folder: Path) -> ImportSummary:
    """The import of changed logs."""
    return import_logs([write_logs(folder / "logs", logs)], folder / "run")


def expect(folder: Path) -> None:
    """Note beside logs that disks may be changed from outside."""
    (folder / "config.json").write_text('{"expect_disk_replaced": true}')


@pytest.mark.parametrize("logs", OUTSIDE, ids=lambda path: path.name)
def test_a_start_with_less_than_was_there_is_an_event_of_its_own(
    logs: Path, tmp_path: Path
) -> None:
    summary = import_logs([logs], tmp_path / "run")
    result = checked(tmp_path / "run")

    found = {one.member_id: one for one in summary.disk_replaced}
    assert {i: one.changed for i, one in found.items()} == {
        i: f"member {i} starts with {text}" for i, text in STARTS[logs].items()
    }
    for i, one in found.items():
        line = lines_by_member(logs)[i][one.line - 1]
        assert (one.file, 'reason="node started"' in line) == (f"member-{i}.log.gz", True)
    assert (summary.outcome, summary.missing) == (INCOMPLETE, [*map(str, found.values())])
    assert all(member.accounted == member.lines for member in summary.members)
    assert (result.verdict, result.divergences) == (Verdict.INCOMPLETE, ())
    assert result.reason == "; ".join(summary.missing)


@pytest.mark.parametrize("logs", OUTSIDE, ids=lambda path: path.name)
def test_it_is_a_remark_if_config_json_expects_it(logs: Path, tmp_path: Path) -> None:
    """So each command that imports logs takes it for a remark."""
    shutil.copytree(logs, tmp_path / "logs")
    expect(tmp_path / "logs")
    summary = import_logs([tmp_path / "logs"], tmp_path / "run")
    result = checked(tmp_path / "run")

    assert (summary.outcome, summary.missing) == (EXPLAINED, [])
    assert len(summary.disk_replaced) == len(STARTS[logs])
    assert (result.verdict, result.divergences) == (Verdict.CONFORMS, ())
    assert result.reason == "remark: " + "; ".join(map(str, summary.disk_replaced))
    assert result.not_checked == ()


def test_a_false_line_elsewhere_is_still_found(tmp_path: Path) -> None:
    logs = lines_by_member(EMPTIED)
    at = next(at for at, line in enumerate(logs[1]) if " STOP_CATCHUP " in line)
    last = next(k for k in range(at, len(logs[1])) if " COMMIT_POSITION " in logs[1][k])
    logs[1][last] = with_number(logs[1][last], "logPosition", 9_600)
    summary = imported(logs, tmp_path)

    assert (summary.outcome, len(summary.disk_replaced)) == (CONTRADICTED, 1)
    assert summary.contradiction is not None
    assert (summary.contradiction.member_id, summary.contradiction.line) == (1, last + 1)


@pytest.mark.parametrize("begins", [True, False])
def test_a_single_member_finds_another_disk(tmp_path: Path, *, begins: bool) -> None:
    """Its log begins with the disk of a backup, or its disk is emptied between two processes."""
    logs = lines_by_member(SINGLE)
    second = next(at for at, line in enumerate(logs[0]) if at and " log started " in line)
    first = logs[0][:second]
    logs[0] = logs[0][second:] if begins else [*first, *map(later, first)]
    summary = imported(logs, tmp_path)
    expect(tmp_path / "logs")
    expected = import_logs([tmp_path / "logs"], tmp_path / "expected")

    text = "log position 1248 after 0, log term 0 after -1, candidate term 0 after -1"
    if not begins:
        text = "log term -1 after 0, candidate term -1 after 0"
    assert [one.changed for one in summary.disk_replaced] == [f"member 0 starts with {text}"]
    assert (summary.outcome, len(summary.missing)) == (INCOMPLETE, 1)
    assert checked(tmp_path / "run").verdict is Verdict.INCOMPLETE
    assert expected.outcome == EXPLAINED
    assert checked(tmp_path / "expected").verdict is Verdict.CONFORMS


@pytest.mark.parametrize("lines", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("name", ["appendPosition", "candidateTermId"])
def test_a_false_number_is_no_other_disk(name: str, lines: tuple[int, ...], tmp_path: Path) -> None:
    """The lines that follow the start show the disk that the member left."""
    logs = lines_by_member(KILLED)
    i, at = next((i, at) for i in logs for at in [*starts(logs[i])][1:])
    changed = [at + k for k in lines if f"{name}=" in logs[i][at + k]]
    for k in changed:
        logs[i][k] = with_number(logs[i][k], name, number_in(logs[i][k], name) - 64)
    summary = imported(logs, tmp_path)

    assert summary.disk_replaced == []
    assert (summary.outcome == EXPLAINED) == (not changed)

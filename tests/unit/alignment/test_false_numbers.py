"""Lines with one false number are contradicted, and logs that only lack lines are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from canvass.traces.alignment.importer import INCOMPLETE, ImportSummary, import_logs
from support.aeron_corruptions import with_number
from support.aeron_runs import (
    RELEASES,
    SAMPLES,
    align_logs,
    captures,
    lines_by_member,
    read_cluster,
    write_logs,
)

FOLDERS = {path.name: path for path in (*captures(), *RELEASES, *SAMPLES)}


def slow(*values: object, id: str = "") -> ParameterSet:  # noqa: A002  (as in pytest)
    return pytest.param(*values, id=id or None, marks=pytest.mark.night)


def logs_of(name: str) -> dict[int, list[str]]:
    """The cluster's lines of each log."""
    logs = lines_by_member(FOLDERS[name])
    return {i: [*filter(is_kept, lines)] for i, lines in logs.items()}


def is_kept(line: str) -> bool:
    return "CLUSTER: " in line or "log started" in line


def said_of(logs: dict[int, list[str]], folder: Path) -> ImportSummary:
    return import_logs([write_logs(folder / "logs", logs)], folder / "run")


@pytest.mark.parametrize(
    ("name", "member_id", "line", "field", "value"),
    [
        ("a-clean-startup", 1, 27, "catchupPosition", 1824),
        ("a-clean-startup", 2, 23, "candidateTermId", 3),
        ("a-clean-startup", 0, 15, "candidateTermId", 1),
        pytest.param("a-clean-startup", 0, 31, "leadershipTermId", -1, id="an entry of no term"),
        pytest.param("a-clean-startup", 0, 31, "logPosition", 1856, id="an entry too long"),
        pytest.param("b-leader-killed", 1, 196, "commitPosition", 30976, id="beyond the log"),
        slow("1.44.7-kills", 2, 178, "leadershipTermId", 2),
        slow("1.44.7-kills", 0, 227, "logPosition", 91424),
        slow("1.46.9-tail", 2, 352, "appendPosition", 31680),
        ("1.50.4-kills", 0, 657, "candidateTermId", 0),
        slow("1.45.2-behind", 0, 12, "termBaseLogPosition", -768, id="no vote decides it"),
        slow("s1-with-sends", 1, 814, "leadershipTermId", 5, id="a term without a leader"),
        ("1.52.2-kills-production", 1, 24, "appendPosition", 5984),
        pytest.param(
            "1.50.4-behind-production", 0, 49, "appendPosition", 152896, id="less than processed"
        ),
    ],
)
def test_a_false_number_is_contradicted(
    name: str, member_id: int, line: int, field: str, value: int, tmp_path: Path
) -> None:
    logs = logs_of(name)
    logs[member_id][line - 1] = with_number(logs[member_id][line - 1], field, value)
    found = said_of(logs, tmp_path).contradiction

    assert found is not None
    assert (found.member_id, found.line) == (member_id, line)


@pytest.mark.parametrize(
    ("name", "member_id", "line", "field", "value"),
    [
        slow("1.45.2-behind", 2, 354, "logPosition", 25664, id="above what was reported"),
        slow("1.48.11-calm", 0, 614, "logPosition", 256960, id="below the report before"),
        slow("1.50.4-behind-production", 0, 47, "leadershipTermId", 0, id="its sender has ended"),
    ],
)
def test_a_false_number_that_missing_lines_may_explain_is_no_contradiction(
    name: str, member_id: int, line: int, field: str, value: int, tmp_path: Path
) -> None:
    logs = logs_of(name)
    logs[member_id][line - 1] = with_number(logs[member_id][line - 1], field, value)

    assert said_of(logs, tmp_path).outcome == INCOMPLETE


def test_a_false_line_is_decided_once(tmp_path: Path) -> None:
    """Member 2 says that it has recorded less than it had reported before."""
    logs = logs_of("s1-with-sends")
    logs[2][422] = with_number(logs[2][422], "appendPosition", 41792)
    found = align_logs(read_cluster([write_logs(tmp_path / "logs", logs)])).found

    assert [(place.member_id, place.line) for place in found.false_lines] == [(2, 423)]


@pytest.mark.parametrize(
    ("name", "member_id", "line", "count"),
    [
        *(
            slow(name, 2, 124, 173, id="an election, and much after it")
            for name in FOLDERS
            if name == "h-operator-actions"
        ),
        pytest.param("b-leader-killed", 0, 112, 16, id="an election that was won"),
        slow("s1-with-sends", 0, 243, 4, id="a leader whose commit position fell"),
        slow("1.48.11-calm", 2, 299, 103, id="the end, with what terminates the member"),
        slow("1.50.4-behind-production", 1, 67, 190, id="the end, in a replay"),
        pytest.param("1.50.4-behind-production", 1, 44, 7, id="the beginning of a process"),
    ],
)
def test_lines_that_are_missing_contradict_nothing(
    name: str, member_id: int, line: int, count: int, tmp_path: Path
) -> None:
    logs = logs_of(name)
    del logs[member_id][line - 1 : line - 1 + count]
    summary = said_of(logs, tmp_path)

    assert summary.outcome == INCOMPLETE, summary.contradiction

"""A line that no behaviour of the spec explains is named, and the run ends with it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from canvass.traces.alignment.importer import CONTRADICTED, INCOMPLETE, ImportSummary, import_logs
from support.aeron_runs import SAMPLES, captures, lines_by_member, write_logs
from support.checked_runs import checked

Logs = dict[int, list[str]]

CAPTURES = captures()
AFTER_A_KILL = "c-follower-down-two-terms"
"""Here the last vote arrives after the end of its sender: missing lines may explain it."""


@pytest.fixture(
    params=[
        pytest.param(path, marks=() if path == SAMPLES[0] else pytest.mark.night)
        for path in CAPTURES
    ],
    ids=lambda path: path.name,
)
def capture(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def place(lines: list[str], pattern: str, number: int = 0) -> int:
    return [k for k, line in enumerate(lines) if re.search(pattern, line)][number]


def stamp(line: str) -> float:
    match = re.match(r"\[([\d.]+)\]", line)
    return float(match[1]) if match else 0.0


def contradicted_at(logs: Logs, folder: Path) -> tuple[int, int]:
    """Member and line, counted from 1, of what is not explained; the checker refuses it, too."""
    summary: ImportSummary = import_logs([write_logs(folder / "logs", logs)], folder / "run")

    assert summary.outcome == CONTRADICTED
    assert summary.contradiction is not None
    assert summary.contradiction.file == f"member-{summary.contradiction.member_id}.log"
    assert checked(folder / "run").verdict.value == "DIVERGES"
    return summary.contradiction.member_id, summary.contradiction.line


def test_a_vote_granted_to_a_second_candidate_in_one_term(capture: Path, tmp_path: Path) -> None:
    logs = lines_by_member(capture)
    granted = "CLUSTER: VOTE.*vote=true"
    candidate = next(m for m in logs if any(re.search(granted, line) for line in logs[m]))
    vote = logs[candidate][place(logs[candidate], granted, -1)]
    voter = int(re.search(r"voterId=(\d)", vote)[1])  # type: ignore[index]
    other = ({0, 1, 2} - {candidate, voter}).pop()
    forged = re.sub(r"memberId=\d", f"memberId={other}", vote, count=1)
    forged = re.sub(r"candidateId=\d", f"candidateId={other}", forged)
    at = [k for k, line in enumerate(logs[other]) if 0 < stamp(line) <= stamp(vote)][-1] + 1
    logs[other].insert(at, forged)

    if capture.name == AFTER_A_KILL:
        summary = import_logs([write_logs(tmp_path / "logs", logs)], tmp_path / "run")
        assert summary.outcome == INCOMPLETE
    else:
        assert contradicted_at(logs, tmp_path) == (other, at + 1)


def test_a_commit_position_beyond_every_append_position(capture: Path, tmp_path: Path) -> None:
    logs = lines_by_member(capture)
    at = place(logs[0], "CLUSTER: COMMIT_POSITION", 40)
    logs[0][at] = re.sub(r"logPosition=\d+", "logPosition=99999968", logs[0][at])

    assert contradicted_at(logs, tmp_path) == (0, at + 1)


def test_a_new_leadership_term_from_a_member_that_never_won(capture: Path, tmp_path: Path) -> None:
    logs = lines_by_member(capture)
    at = place(logs[2], "CLUSTER: NEW_LEADERSHIP_TERM", -1)
    leader = int(re.search(r"leaderId=(\d)", logs[2][at])[1])  # type: ignore[index]
    other = min({0, 1} - {leader})
    logs[2][at] = re.sub(r"leaderId=\d", f"leaderId={other}", logs[2][at])

    assert contradicted_at(logs, tmp_path) == (2, at + 1)


def test_a_commit_position_of_the_member_that_receives_it(tmp_path: Path) -> None:
    logs = lines_by_member(SAMPLES[0])
    at = place(logs[0], "CLUSTER: COMMIT_POSITION", 40)
    logs[0][at] = re.sub(r"leaderId=\d", "leaderId=0", logs[0][at])

    assert contradicted_at(logs, tmp_path) == (0, at + 1)


def test_a_false_line_to_which_no_member_can_be_driven(tmp_path: Path) -> None:
    """The log lacks its first half, so others wait for messages of its member. The run has the line
    all the same.
    """
    logs = lines_by_member(SAMPLES[1])
    logs[2] = logs[2][len(logs[2]) // 2 :]
    early, late = (place(logs[2], "CLUSTER: COMMIT_POSITION", number) for number in (2, -3))
    greater = re.search(r"logPosition=\d+", logs[2][late])[0]  # type: ignore[index]
    logs[2][early] = re.sub(r"logPosition=\d+", greater, logs[2][early])

    assert contradicted_at(logs, tmp_path) == (2, early + 1)


@pytest.mark.parametrize("offset", [-64, 0, 32])
def test_the_first_entry_of_a_term_ends_elsewhere(offset: int, tmp_path: Path) -> None:
    logs = lines_by_member(SAMPLES[1])
    at = place(logs[1], "CLUSTER: REPLAY_NEW_LEADERSHIP_TERM")
    base = int(re.search(r"termBaseLogPosition=(\d+)", logs[1][at])[1])  # type: ignore[index]
    logs[1][at] = re.sub(r" logPosition=\d+", f" logPosition={base + offset}", logs[1][at])

    assert contradicted_at(logs, tmp_path) == (1, at + 1)

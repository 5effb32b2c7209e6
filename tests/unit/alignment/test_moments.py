"""Moments of captured clusters that once were not explained. Each log is true."""

from __future__ import annotations

from pathlib import Path

import pytest

from canvass.conformance.findings import Verdict
from canvass.traces.alignment.importer import CONTRADICTED, EXPLAINED, INCOMPLETE, import_logs
from support.aeron_corruptions import with_number
from support.aeron_runs import MOMENTS, align_logs, lines_by_member, read_cluster, write_logs
from support.checked_runs import checked

Logs = dict[int, list[str]]

AT_NIGHT = (
    "1.46.0-replays-of-two-terms",
    "1.50.4-replay-rejected",
    "1.51.0-commit-by-an-old-log",
    "1.52.2-answer-in-order",
    "1.52.2-canvass-after-a-request",
    "1.52.2-late-report-of-a-catch-up",
    "1.52.2-longer-log-of-an-older-term",
    "1.52.2-reports-to-an-elected-leader",
    "1.53-commit-without-the-asking",
    "1.53-copy-ended-later",
    "1.53-message-from-before-a-restart",
)
"""Moments that take long and of whose branches in the alignment each is another capture's, too. Of
1.53-commit-without-the-asking, ten of twelve are those of false copies; two skip what was tried."""


def marked(logs: Path) -> object:
    late = [pytest.mark.night] if logs.name in AT_NIGHT else []
    return pytest.param(logs, id=logs.name, marks=late)


@pytest.mark.parametrize("logs", [marked(logs) for logs in MOMENTS])
def test_a_captured_moment_is_explained_and_conforms(logs: Path, tmp_path: Path) -> None:
    summary = import_logs([logs], tmp_path / "run")
    result = checked(tmp_path / "run")

    assert (summary.outcome, summary.missing) == (EXPLAINED, [])
    assert (result.verdict, result.divergences) == (Verdict.CONFORMS, ())


def test_no_snapshot_is_taken_that_a_service_has_failed_to_take() -> None:
    (logs,) = (path for path in MOMENTS if path.name == "1.45.2-failed-snapshot")
    (ends,) = {
        tuple(
            one.state.snapshot_log_position for one in live.emitted if one.action == "TakeSnapshot"
        )
        for live in align_logs(read_cluster([logs])).members.values()
    }

    # Member 1 was asked for one more, at 37472.
    assert len(ends) == 2
    assert max(ends) < 37472


def logs_of(name: str) -> Logs:
    """The logs of a moment."""
    (moment,) = (path for path in MOMENTS if path.name == name)
    return lines_by_member(moment)


def changed(name: str, member_id: int, text: str, field: str, value: int) -> tuple[Logs, int]:
    """The logs of a moment with another number in the first line that has a text, and its place."""
    logs = logs_of(name)
    at = next(at for at, line in enumerate(logs[member_id]) if text in line)
    logs[member_id][at] = with_number(logs[member_id][at], field, value)
    return logs, at + 1


@pytest.mark.parametrize(("noted", "outcome"), [(96, EXPLAINED), (97, CONTRADICTED)])
def test_a_member_that_copies_a_log_refuses_a_vote_with_what_it_has_noted(
    noted: int, outcome: str, tmp_path: Path
) -> None:
    """Member 4 copies 96 bytes. No line says when; its vote can say 0 or 96, and no more."""
    vote = "candidateTermId=4 candidateId=3 voterId=4"
    logs, line = changed("1.53-votes-during-a-copy", 3, vote, "logPosition", noted)
    summary = import_logs([write_logs(tmp_path / "logs", logs)], tmp_path / "run")

    assert summary.outcome == outcome
    if outcome == EXPLAINED:
        assert checked(tmp_path / "run").verdict is Verdict.CONFORMS
    else:
        assert summary.contradiction is not None
        assert (summary.contradiction.file, summary.contradiction.line) == ("member-3.log", line)


@pytest.mark.parametrize("position", [1_024, 50_113, 50_336])
def test_a_leader_announces_no_commit_position_that_nobody_can_have_reported(
    position: int, tmp_path: Path
) -> None:
    """One of the others has 50112 or more when it votes, and one is not heard of."""
    name, said = "1.53-commit-below-a-report", "commitPosition=50112"
    logs, line = changed(name, 2, said, "commitPosition", position)
    found = import_logs([write_logs(tmp_path / "logs", logs)], tmp_path / "run").contradiction

    assert found is not None
    assert (found.file, found.line) == ("member-2.log", line)


def test_an_election_that_a_message_begins_has_as_much_recorded_as_processed(
    tmp_path: Path,
) -> None:
    name, said = "1.52.2-report-to-former-leader", 'reason="unexpected'
    logs, line = changed(name, 0, said, "appendPosition", 10_464)
    found = import_logs([write_logs(tmp_path / "logs", logs)], tmp_path / "run").contradiction

    assert found is not None
    assert (found.file, found.line) == ("member-0.log", line)
    assert "recorded up to 10496" in found.reason


def test_an_answer_to_a_question_whose_line_is_missing_is_not_false(tmp_path: Path) -> None:
    """Member 1 answers one canvass position of a member that starts. That line is deleted."""
    logs = logs_of("1.51.0-canvass-before-a-start")
    del logs[1][69]
    summary = import_logs([write_logs(tmp_path / "logs", logs)], tmp_path / "run")

    assert summary.contradiction is None
    assert summary.outcome == INCOMPLETE

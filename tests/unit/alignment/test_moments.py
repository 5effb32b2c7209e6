"""Moments of captured clusters that once were not explained. Each log is true."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from canvass.conformance.verdict import Verdict
from canvass.traces.aeron_log.logs import read_cluster
from canvass.traces.alignment.importer import CONTRADICTED, EXPLAINED, import_logs
from support.aeron_corruptions import with_number
from support.aeron_runs import MOMENTS, align_logs, write_logs
from support.checked_runs import checked


@pytest.mark.parametrize("logs", MOMENTS, ids=lambda path: path.name)
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


@pytest.mark.parametrize(("noted", "outcome"), [(96, EXPLAINED), (97, CONTRADICTED)])
def test_a_member_that_copies_a_log_refuses_a_vote_with_what_it_has_noted(
    noted: int, outcome: str, tmp_path: Path
) -> None:
    """Member 4 copies 96 bytes. No line says when; its vote can say 0 or 96, and no more."""
    (moment,) = (path for path in MOMENTS if path.name == "1.53-votes-during-a-copy")
    logs = {}
    for member_id, path in enumerate(sorted(moment.iterdir())):
        with gzip.open(path, "rt") as file:
            logs[member_id] = file.read().splitlines()
    (at,) = (
        at
        for at, line in enumerate(logs[3])
        if "VOTE " in line and "candidateId=3 voterId=4" in line
    )
    logs[3][at] = with_number(logs[3][at], "logPosition", noted)
    summary = import_logs([write_logs(tmp_path / "logs", logs)], tmp_path / "run")

    assert summary.outcome == outcome
    if outcome == EXPLAINED:
        assert checked(tmp_path / "run").verdict is Verdict.CONFORMS
    else:
        assert summary.contradiction is not None
        assert (summary.contradiction.file, summary.contradiction.line) == ("member-3.log", at + 1)

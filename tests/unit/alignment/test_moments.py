"""Moments of captured clusters that once were not explained. Each log is true."""

from __future__ import annotations

from pathlib import Path

import pytest

from canvass.conformance.verdict import Verdict
from canvass.traces.aeron_log.logs import read_cluster
from canvass.traces.alignment.importer import EXPLAINED, import_logs
from support.aeron_runs import MOMENTS, align_logs
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

"""Logs whose member was told to leave an event out contradict nothing; the event is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from canvass.conformance.check import check_run
from canvass.conformance.verdict import Verdict
from canvass.traces.aeron_import.importer import import_logs
from canvass.traces.aeron_import.summary import EXPLAINED, INCOMPLETE
from support.aeron_runs import SAMPLES, lines_of, write_logs
from support.judging import core_judge


def logs_without(*events: str) -> dict[int, list[str]]:
    return {
        member_id: [
            line
            for line in lines_of(SAMPLES[0], member_id)
            if not any(f" CLUSTER: {event} " in line for event in events)
        ]
        for member_id in range(3)
    }


@pytest.mark.parametrize("event", ["APPEND_POSITION", "COMMIT_POSITION", "CANVASS_POSITION"])
def test_an_event_that_is_needed(event: str, tmp_path: Path) -> None:
    logs = write_logs(tmp_path / "logs", logs_without(event))
    summary = import_logs([logs], tmp_path / "run")

    assert summary.outcome == INCOMPLETE
    assert summary.contradiction is None
    assert any(f"has no {event} at all: it was not turned on" in one for one in summary.missing)
    assert check_run(tmp_path / "run", core_judge()).verdict is Verdict.INCOMPLETE


def test_events_that_are_not_needed(tmp_path: Path) -> None:
    """What shows a role or a session is shown by other lines as well."""
    others = logs_without("ROLE_CHANGE", "APPEND_SESSION_OPEN", "CLUSTER_SESSION_STATE_CHANGE")
    summary = import_logs([write_logs(tmp_path / "logs", others)], tmp_path / "run")

    assert summary.outcome == EXPLAINED

"""Logs without the lines of some events are not contradicted: an event can be disabled."""

from __future__ import annotations

from pathlib import Path

import pytest

from canvass.traces.alignment.importer import import_logs
from canvass.traces.alignment.outcome import CONTRADICTED, EXPLAINED
from support.aeron_runs import SAMPLES, lines_of, write_logs
from support.checked_runs import checked


def logs_without(path: Path, *events: str) -> dict[int, list[str]]:
    return {
        member_id: [
            line
            for line in lines_of(path, member_id)
            if not any(f" CLUSTER: {event} " in line for event in events)
        ]
        for member_id in range(3)
    }


EVENTS = (
    "APPEND_POSITION",
    "CANVASS_POSITION",
    "CATCHUP_POSITION",
    "COMMIT_POSITION",
    "NEW_ELECTION",
    "NEW_LEADERSHIP_TERM",
    "REPLAY_NEW_LEADERSHIP_TERM",
    "REQUEST_VOTE",
    "ROLE_CHANGE",
    "STATE_CHANGE",
    "STOP_CATCHUP",
    "VOTE",
)


@pytest.mark.parametrize("event", EVENTS)
def test_a_log_without_an_event_is_not_contradicted(event: str, tmp_path: Path) -> None:
    logs = write_logs(tmp_path / "logs", logs_without(SAMPLES[1], event))
    summary = import_logs([logs], tmp_path / "run")

    assert summary.outcome != CONTRADICTED, summary.contradiction
    if event not in ("CATCHUP_POSITION", "REPLAY_NEW_LEADERSHIP_TERM"):
        assert checked(tmp_path / "run").verdict.value in ("CONFORMS", "INCOMPLETE")


def test_the_lines_of_sessions_are_not_needed(tmp_path: Path) -> None:
    others = logs_without(SAMPLES[0], "APPEND_SESSION_OPEN", "CLUSTER_SESSION_STATE_CHANGE")
    summary = import_logs([write_logs(tmp_path / "logs", others)], tmp_path / "run")

    assert summary.outcome == EXPLAINED

"""Logs without the lines of some events are not contradicted: an event can be disabled."""

from __future__ import annotations

from pathlib import Path

import pytest

from canvass.traces.alignment.alignment import ImportFault
from canvass.traces.alignment.importer import CONTRADICTED, EXPLAINED, INCOMPLETE, import_logs
from support.aeron_runs import SAMPLES, lines_by_member, release_logs, write_logs
from support.checked_runs import checked


def logs_without(path: Path, *events: str) -> dict[int, list[str]]:
    return {
        member_id: [
            line for line in lines if not any(f" CLUSTER: {event} " in line for event in events)
        ]
        for member_id, lines in lines_by_member(path).items()
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
    "SERVICE_ACK",
    "STATE_CHANGE",
    "STOP_CATCHUP",
    "VOTE",
)
INFERRED = ("CATCHUP_POSITION", "NEW_ELECTION", "REPLAY_NEW_LEADERSHIP_TERM")
"""Events whose news of starts and catch-ups is in other lines, too."""
LATE = ("APPEND_POSITION", "ROLE_CHANGE", "SERVICE_ACK", "STOP_CATCHUP")
"""The night takes these."""


@pytest.mark.parametrize(
    "event",
    [pytest.param(each, marks=[pytest.mark.night] if each in LATE else []) for each in EVENTS],
)
def test_a_log_without_an_event_is_not_contradicted(event: str, tmp_path: Path) -> None:
    logs = write_logs(tmp_path / "logs", logs_without(SAMPLES[1], event))
    summary = import_logs([logs], tmp_path / "run")

    assert summary.outcome != CONTRADICTED, summary.contradiction
    assert checked(tmp_path / "run").verdict.value in ("CONFORMS", "INCOMPLETE")
    assert event not in INFERRED or summary.outcome == EXPLAINED, summary.missing


def test_what_a_member_did_after_the_end_of_its_log_is_not_known(tmp_path: Path) -> None:
    """The log ends in an election; what others received soon afterwards was sent in a later one."""
    logs = logs_without(SAMPLES[1], "CANVASS_POSITION", "APPEND_POSITION", "COMMIT_POSITION")
    begun = next(k for k, line in enumerate(logs[2]) if "-> FOLLOWER_LOG_INIT" in line)
    del logs[2][begun + 1 :]
    summary = import_logs([write_logs(tmp_path / "logs", logs)], tmp_path / "run")

    assert summary.outcome == INCOMPLETE, summary.contradiction
    assert checked(tmp_path / "run").verdict.value == "INCOMPLETE"


@pytest.mark.parametrize(
    ("release", "events"),
    [
        ("1.45.2-behind", ("NEW_LEADERSHIP_TERM", "REQUEST_VOTE", "SERVICE_ACK", "STATE_CHANGE")),
        pytest.param(
            "1.47.7-kills",
            ("CANVASS_POSITION", "NEW_ELECTION", "NEW_LEADERSHIP_TERM"),
            marks=pytest.mark.night,
        ),
        pytest.param(
            "1.45.2-behind",
            ("CANVASS_POSITION", "COMMIT_POSITION", "TERMINATION_POSITION"),
            marks=pytest.mark.night,
        ),
    ],
)
def test_no_line_is_false_where_messages_cannot_be_inferred(
    release: str, events: tuple[str, ...], tmp_path: Path
) -> None:
    path = release_logs(release)
    logs = write_logs(tmp_path / "logs", logs_without(path, *events))
    summary = import_logs([logs], tmp_path / "run")

    assert summary.outcome == INCOMPLETE, summary.contradiction
    assert checked(tmp_path / "run").verdict.value in ("CONFORMS", "INCOMPLETE")


def test_a_snapshot_whose_position_no_line_says_is_not_contradicted(tmp_path: Path) -> None:
    release = release_logs("1.47.7-kills")
    logs = write_logs(tmp_path / "logs", logs_without(release, "SERVICE_ACK"))
    summary = import_logs([logs], tmp_path / "run")

    assert summary.outcome == EXPLAINED, summary.missing
    assert checked(tmp_path / "run").verdict.value == "CONFORMS"


def test_logs_without_elections_are_refused(tmp_path: Path) -> None:
    logs = write_logs(tmp_path / "logs", logs_without(SAMPLES[1], "ELECTION_STATE_CHANGE"))

    with pytest.raises(ImportFault, match=r"member-0\.log: .* ELECTION_STATE_CHANGE"):
        import_logs([logs], tmp_path / "run")


def test_one_log_without_elections_is_not_used(tmp_path: Path) -> None:
    logs = lines_by_member(SAMPLES[1])
    logs[2] = logs_without(SAMPLES[1], "ELECTION_STATE_CHANGE")[2]
    summary = import_logs([write_logs(tmp_path / "logs", logs)], tmp_path / "run")

    assert summary.outcome == INCOMPLETE
    assert [member.accounted for member in summary.members][2] == 0
    assert any("member-2.log" in one and "is not used" in one for one in summary.missing)
    assert checked(tmp_path / "run").verdict.value in ("CONFORMS", "INCOMPLETE")


def test_the_lines_of_sessions_are_not_needed(tmp_path: Path) -> None:
    others = logs_without(SAMPLES[0], "APPEND_SESSION_OPEN", "CLUSTER_SESSION_STATE_CHANGE")
    summary = import_logs([write_logs(tmp_path / "logs", others)], tmp_path / "run")

    assert summary.outcome == EXPLAINED

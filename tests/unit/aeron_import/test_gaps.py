"""Single lines and short blocks cut out of captured logs contradict nothing, whatever they were."""

from __future__ import annotations

from pathlib import Path

import pytest

from canvass.conformance.check import check_run
from canvass.conformance.verdict import Verdict
from canvass.traces.aeron_import.importer import summarise, write_run
from canvass.traces.aeron_import.proposing import propose
from canvass.traces.aeron_import.summary import CONTRADICTED, INCOMPLETE
from canvass.traces.aeron_log.logs import read_cluster
from canvass.traces.aeron_log.records import LogRecord, TerminationPosition, Vote
from support.aeron_runs import SAMPLES, captures, logs_of_nodes
from support.judging import core_judge

Lines = dict[int, list[LogRecord]]


def captured(path: Path) -> Lines:
    logs = read_cluster([path])
    return {member_id: log.records for member_id, log in logs.members.items()}


def without(lines: Lines, member_id: int, at: int, count: int = 1) -> Lines:
    mine = lines[member_id]
    return {**lines, member_id: mine[:at] + mine[at + count :]}


@pytest.mark.parametrize(
    ("member_id", "at", "told"),
    [
        pytest.param(0, 131, "lines are missing before", id="the report of one commit position"),
        pytest.param(0, 128, "ELECTION_STATE_CHANGE", id="a leader's election closes"),
        pytest.param(2, 387, "ELECTION_STATE_CHANGE", id="a follower's election closes"),
        pytest.param(0, 442, "ELECTION_STATE_CHANGE", id="so it does, and nothing is processed"),
        pytest.param(2, 35, "COMMIT_POSITION", id="up to where an entry is processed"),
        pytest.param(2, 115, "COMMIT_POSITION", id="up to where it is before an election"),
        pytest.param(0, 435, "COMMIT_POSITION", id="up to where it is before a catch-up ends"),
        pytest.param(0, 439, "STOP_CATCHUP", id="what ends a catch-up"),
        pytest.param(0, 438, "REPLAY_NEW_LEADERSHIP_TERM", id="an entry in a catch-up"),
        pytest.param(0, 296, "lines are missing before", id="what a leader answers"),
        pytest.param(0, 300, "lines are missing before", id="what ends another's catch-up"),
        pytest.param(0, 423, "STATE_CHANGE", id="a module becomes active"),
    ],
)
def test_a_line_whose_absence_is_told(member_id: int, at: int, told: str, tmp_path: Path) -> None:
    found = propose(logs_of_nodes(without(captured(SAMPLES[1]), member_id, at)))
    write_run(found, tmp_path / "run", "gap")
    summary = summarise(found, "gap", 1)

    assert summary.outcome == INCOMPLETE, summary.contradiction
    assert any(told in one for one in summary.missing), summary.missing
    assert check_run(tmp_path / "run", core_judge()).verdict is Verdict.INCOMPLETE


def test_lines_with_which_a_service_begins() -> None:
    """The entry that is processed next is processed outside an election: it has closed."""
    summary = summarise(propose(logs_of_nodes(without(captured(SAMPLES[0]), 0, 18, 10))), "gap", 1)

    assert summary.outcome == INCOMPLETE, summary.contradiction


BLOCKS = {
    "the opening of the first leader's term": ("a-clean-startup", 1, 18, 7),
    "that, and its close": ("a-clean-startup", 1, 19, 8),
    "the opening of a later leader's term": ("s1-with-sends", 1, 98, 8),
    "that of the last one, and its close": ("s1-with-sends", 0, 458, 14),
    "the end of a process and the beginning of the next": ("d-snapshot-restart", 0, 896, 15),
    "the beginning of a process": ("d-snapshot-restart", 2, 640, 6),
    "that of one that hears nobody again": ("h-operator-actions", 2, 365, 8),
    "the opening of a leader's term": ("d-snapshot-restart", 0, 528, 14),
    "that of a first term, and what made it": ("i-uncommitted-tail-truncated", 1, 14, 9),
    "the close of a leader's election": ("h-operator-actions", 1, 286, 3),
    "that and its reports, of which later ones are left": ("h-operator-actions", 0, 613, 10),
    "two votes, and the role that they gave": ("h-operator-actions", 0, 16, 3),
    "reports, and what a service has snapshot": ("h-operator-actions", 0, 478, 3),
    "the beginning and the end of a snapshot": ("h-operator-actions", 0, 754, 3),
    "the order to terminate, and its begin": ("h-operator-actions", 2, 361, 3),
}


@pytest.mark.parametrize(
    ("path", "block"),
    [
        pytest.param(path, (member_id, at, count), id=told)
        for told, (name, member_id, at, count) in BLOCKS.items()
        for path in captures()
        if path.name == name
    ],
)
def test_a_block_of_lines(path: Path, block: tuple[int, int, int]) -> None:
    """A process that has ended logs nothing more, who has not opened its term has no reports of it,
    and the others tell who voted: a line at the block is named.
    """
    member_id, at, count = block
    lines = captured(path)
    found = propose(logs_of_nodes(without(lines, member_id, at, count)))
    summary = summarise(found, "gap", 1)

    assert summary.outcome == INCOMPLETE, summary.contradiction
    near = [line.line for line in lines[member_id][at - 3 : at + count + 3]]
    assert any(one.endswith(f":{line}") for one in summary.missing for line in near)


@pytest.mark.parametrize(
    "path",
    [path for path in captures() if path.name in ("h-operator-actions", "s1-with-sends")],
    ids=lambda path: path.name,
)
def test_the_order_to_terminate_that_was_obeyed(path: Path) -> None:
    """The member acknowledges what it says it was told, and says that it terminates."""
    lines = captured(path)
    at = next(k for k, one in enumerate(lines[2]) if isinstance(one, TerminationPosition))
    summary = summarise(propose(logs_of_nodes(without(lines, 2, at))), "gap", 1)

    assert summary.outcome == INCOMPLETE, summary.contradiction


@pytest.mark.parametrize(("member_id", "at"), [(0, 119), (1, 277)])
def test_a_vote_that_is_missing_is_contradicted(member_id: int, at: int) -> None:
    """A leader without votes may be one, and the same text: nobody may overlook it."""
    lines = captured(SAMPLES[1])

    assert isinstance(lines[member_id][at], Vote)
    found = propose(logs_of_nodes(without(lines, member_id, at)))
    assert summarise(found, "gap", 1).outcome == CONTRADICTED

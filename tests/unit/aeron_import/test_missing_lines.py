"""Single lines that a member must have written, cut out of logs that explain themselves without."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from canvass.conformance.check import check_run
from canvass.conformance.verdict import Verdict
from canvass.traces.aeron_import.importer import summarise, write_run
from canvass.traces.aeron_import.proposing import propose
from canvass.traces.aeron_import.summary import INCOMPLETE
from canvass.traces.aeron_log.logs import read_cluster
from canvass.traces.aeron_log.records import (
    ElectionStateChange,
    LifeStart,
    LogRecord,
    NewElection,
    ReplayNewLeadershipTerm,
    ReplicationEnded,
    RoleChange,
    ServiceAck,
    StateChange,
)
from support.aeron_runs import SAMPLES, captures, logs_of_nodes
from support.judging import core_judge

TOLD: dict[type[LogRecord], str] = {
    ElectionStateChange: "",
    NewElection: "",
    ReplayNewLeadershipTerm: "REPLAY_NEW_LEADERSHIP_TERM",
    RoleChange: "ROLE_CHANGE",
    LifeStart: "log started",
    ReplicationEnded: "REPLICATION_ENDED",
    ServiceAck: "SERVICE_ACK",
    StateChange: "STATE_CHANGE",
}
"""Lines that are missed wherever they are cut out, with what they are called; the others are told
by what they leave.
"""

Lines = dict[int, list[LogRecord]]


def captured(path: Path) -> Lines:
    logs = read_cluster([path])
    return {member_id: log.records for member_id, log in logs.members.items()}


def is_last_of_kind(mine: list[LogRecord], at: int) -> bool:
    """Whether no other line of the kind follows in the same life, or a line that ends it."""
    for record in mine[at + 1 :]:
        if isinstance(record, LifeStart):
            return True
        if type(record) is type(mine[at]):
            return isinstance(record, StateChange) and record.new_state == "CLOSED"
    return True


def places(lines: Lines, kind: type[LogRecord]) -> Iterator[tuple[int, int]]:
    """Where there are lines of a kind that can be missed: not the last of a life, which a kill may
    have taken, nor the only one of a log, whose event may be turned off.
    """
    for member_id, mine in lines.items():
        of_kind = [at for at, record in enumerate(mine) if type(record) is kind and at]
        for at in of_kind:
            ends = kind in (ServiceAck, StateChange, ElectionStateChange)
            alone = len(of_kind) < 2 and kind is not ReplayNewLeadershipTerm
            if not alone and not (ends and is_last_of_kind(mine, at)):
                yield member_id, at


def without(lines: Lines, member_id: int, at: int) -> Lines:
    mine = lines[member_id]
    return {**lines, member_id: mine[:at] + mine[at + 1 :]}


def not_missed(lines: Lines, kind: type[LogRecord], step: int) -> list[str]:
    """The lines of a kind that nobody misses, of each so many one."""
    found = []
    for member_id, at in list(places(lines, kind))[::step]:
        summary = summarise(propose(logs_of_nodes(without(lines, member_id, at))), "torn", 1)
        named = any(TOLD[kind] in one or _is_hole(kind, one) for one in summary.missing)
        if summary.outcome != INCOMPLETE or not named:
            found.append(f"{summary.outcome} without {lines[member_id][at]}: {summary}")
    return found


def _is_hole(kind: type[LogRecord], told: str) -> bool:
    """Whether a line is told as some that are missing: so a snapshot that nobody acknowledged."""
    return kind is ServiceAck and told.startswith("lines are missing before ")


@pytest.mark.parametrize("kind", TOLD, ids=lambda kind: kind.__name__)
def test_a_line_of_a_sample(kind: type[LogRecord]) -> None:
    assert not_missed(captured(SAMPLES[1]), kind, 12) == []


@pytest.mark.night
@pytest.mark.parametrize("kind", TOLD, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("path", captures(), ids=lambda path: path.name)
def test_each_line_of_a_capture(path: Path, kind: type[LogRecord]) -> None:
    assert not_missed(captured(path), kind, 1) == []


@pytest.mark.parametrize("kind", [ReplayNewLeadershipTerm, RoleChange])
def test_the_checker_says_the_same(kind: type[LogRecord], tmp_path: Path) -> None:
    lines = captured(SAMPLES[1])
    member_id, at = next(places(lines, kind))
    found = propose(logs_of_nodes(without(lines, member_id, at)))
    write_run(found, tmp_path / "run", "torn")

    assert check_run(tmp_path / "run", core_judge()).verdict is Verdict.INCOMPLETE

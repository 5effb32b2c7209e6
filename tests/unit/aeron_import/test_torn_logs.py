"""Logs of made-up clusters out of which lines were cut: what was lost is missing, and not false."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from canvass.conformance.check import check_run
from canvass.conformance.verdict import Verdict
from canvass.traces.aeron_import.importer import summarise, write_run
from canvass.traces.aeron_import.proposing import propose
from canvass.traces.aeron_import.summary import CONTRADICTED, EXPLAINED, INCOMPLETE
from canvass.traces.aeron_log.logs import read_cluster
from canvass.traces.aeron_log.records import LogRecord, TruncateLogEntry
from support.aeron_hostile import HostileCluster
from support.aeron_runs import SAMPLES, logs_of_nodes
from support.judging import core_judge

LONG_NS = 150_000_000
"""A silence that is at least so long can be told to be a hole."""
VERDICTS = {
    EXPLAINED: Verdict.CONFORMS,
    CONTRADICTED: Verdict.DIVERGES,
    INCOMPLETE: Verdict.INCOMPLETE,
}


def lines_of(seed: int) -> dict[int, list[LogRecord]]:
    cluster = HostileCluster(seed, 3 if seed % 3 else 5)
    cluster.run(8_000)
    return {i: node.lines for i, node in enumerate(cluster.nodes)}


def outcome_without(
    lines: dict[int, list[LogRecord]], member_id: int, at: int, count: int, folder: Path
) -> str:
    """What is said if lines of a member are cut out; the checker has to say the same."""
    mine = lines[member_id]
    found = propose(logs_of_nodes({**lines, member_id: mine[:at] + mine[at + count :]}))
    write_run(found, folder, "torn")
    summary = summarise(found, "torn", 1)

    assert check_run(folder, core_judge()).verdict is VERDICTS[summary.outcome]
    return summary.outcome


@pytest.mark.parametrize(
    ("seed", "member_id", "at", "count"),
    [
        pytest.param(5, 2, 140, 10, id="no earlier life sends what was heard in the hole"),
        pytest.param(30, 4, 112, 100, id="a snapshot was taken in the hole"),
        pytest.param(35, 2, 90, 40, id="much is lacking within a short time"),
        pytest.param(35, 2, 92, 40, id="the same later", marks=pytest.mark.night),
        pytest.param(40, 1, 79, 10, id="a short hole", marks=pytest.mark.night),
        pytest.param(41, 1, 47, 40, id="what comes after does not fit either"),
    ],
)
def test_what_is_lost_contradicts_nothing(
    seed: int, member_id: int, at: int, count: int, tmp_path: Path
) -> None:
    outcome = outcome_without(lines_of(seed), member_id, at, count, tmp_path / "run")

    assert outcome == INCOMPLETE


def test_a_log_that_was_cut_in_a_hole_contradicts_nothing(tmp_path: Path) -> None:
    """What the member had recorded before the hole is not there after it, and was not committed."""
    cluster = HostileCluster(33, 3, "tails")
    cluster.run(12_000)
    lines = {i: node.lines for i, node in enumerate(cluster.nodes)}
    lost = lines[0][72:86]

    assert any(isinstance(one, TruncateLogEntry) for one in lost)
    assert outcome_without(lines, 0, 72, len(lost), tmp_path / "run") == INCOMPLETE


@pytest.mark.parametrize(
    ("member_id", "at", "count"),
    [
        pytest.param(2, 375, 10, id="changes, and what caused them"),
        pytest.param(1, 4, 9, id="one change"),
        pytest.param(0, 230, 2, id="reports to a leader"),
    ],
)
def test_a_short_hole_contradicts_nothing(
    member_id: int, at: int, count: int, tmp_path: Path
) -> None:
    logs = read_cluster([SAMPLES[1]])
    lines = {i: log.records for i, log in logs.members.items()}

    assert outcome_without(lines, member_id, at, count, tmp_path / "run") == INCOMPLETE


@pytest.mark.night
@pytest.mark.parametrize("seed", range(45))
def test_long_holes_contradict_nothing(seed: int, tmp_path: Path) -> None:
    random, lines = Random(seed), lines_of(seed)
    for number in range(3):
        member_id = random.randrange(len(lines))
        mine = lines[member_id]
        if len(mine) < 40:
            continue
        at, count = random.randrange(5, len(mine) - 10), random.choice((10, 40, 100, 300))
        outcome = outcome_without(lines, member_id, at, count, tmp_path / str(number))
        end = min(at + count, len(mine) - 1)

        if mine[end].time_ns - mine[at - 1].time_ns >= LONG_NS:
            assert outcome in (INCOMPLETE, EXPLAINED), (member_id, at, count)

"""A real cluster with hazard L-A: the explanation names the leader, its guard and the page."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

from support.aeron_runs import HOSTS

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "samples" / "aeron-la"
PAGE = ROOT / "docs" / "findings" / "L-A.md"

Command = Callable[..., tuple[int, str, str]]


def test_no_position_is_named_without_reports(command: Command, tmp_path: Path) -> None:
    for member in (0, 1, 2):
        with gzip.open(SAMPLE / f"member-{member}.log.gz", "rt") as log:
            lines = [line for line in log if " APPEND_POSITION " not in line]
        (tmp_path / f"member-{member}.log").write_text("".join(lines))
    _, data, _ = command("explain", tmp_path, "--format", "json")

    assert json.loads(data)["positions"] == []


def test_the_page_quotes_lines_that_are_there() -> None:
    rows = re.findall(r"`member-(\d)\.log\.gz:(\d+)`", PAGE.read_text(encoding="utf-8"))
    expected = {
        ("2", "409"): "CANDIDATE_BALLOT -> LEADER_LOG_REPLICATION leaderId=2 candidateTermId=3",
        ("2", "446"): "REQUEST_VOTE [36/36]: memberId=2 logLeadershipTermId=2 logPosition=43680"
        " candidateTermId=4",
        ("0", "404"): "LEADER_READY -> CLOSED leaderId=0 candidateTermId=4 leadershipTermId=4",
        ("2", "3008"): "STATE_CHANGE [34/34]: memberId=2 ACTIVE -> CLOSED",
    }

    assert set(rows) == set(expected)
    for (member, line), text in expected.items():
        with gzip.open(SAMPLE / f"member-{member}.log.gz", "rt") as log:
            assert text in log.readlines()[int(line) - 1]


def test_clocks_that_differ_are_named(command: Command) -> None:
    (folder,) = HOSTS

    assert "member 2 is 75,033.9 s ahead of member 0" in command("explain", folder)[1]


def test_a_member_that_truncates_what_it_has_copied_and_reported_is_hazard_hz2(
    command: Command,
) -> None:
    """The commit position is of a newer term than that with which the member canvasses."""
    _, data, _ = command("explain", ROOT / "samples" / "aeron-hz2", "--format", "json")
    [risk] = [one for one in json.loads(data)["risks"] if one["severity"] != "note"]
    at = {line["line"] for one in risk["sentences"] for line in one["evidence"]}

    assert (risk["page"], risk["kind"], risk["memberId"]) == (
        "HZ2", "committed on too few disks", 0,
    )  # fmt: skip
    assert {160, 188, 190, 194, 246, 895} == at
    assert round((risk["untilNs"] - risk["fromNs"]) / 1e6) == 384

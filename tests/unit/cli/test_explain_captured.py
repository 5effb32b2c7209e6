"""A real cluster with hazard L-A: the page on it quotes lines of its logs."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "samples" / "aeron-la"
PAGE = ROOT / "docs" / "findings" / "L-A.md"

Command = Callable[..., tuple[int, str, str]]


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

"""The captured cluster of docs/findings/captured-hz6.md: its verdict, and the quoted lines."""

from __future__ import annotations

import gzip
import re
from functools import cache
from pathlib import Path

import pytest

from canvass.conformance.verdict import Verdict
from canvass.traces.alignment.importer import import_logs
from support.checked_runs import checked

ROOT = Path(__file__).resolve().parents[3]
SAMPLE = ROOT / "samples" / "aeron-hz6"
PAGE = (ROOT / "docs" / "findings" / "captured-hz6.md").read_text()
QUOTED = re.findall(r"^\| `(member-\d\.log):(\d+)` \| (\d+\.\d+) \| `(.*)` \|$", PAGE, re.MULTILINE)


@cache
def lines_of(name: str) -> list[str]:
    """The lines of a member's log."""
    return gzip.decompress((SAMPLE / f"{name}.gz").read_bytes()).decode().splitlines()


def test_every_line_is_explained_and_what_was_committed_is_not_durable(tmp_path: Path) -> None:
    summary = import_logs([SAMPLE], tmp_path / "run")
    result = checked(tmp_path / "run")
    found = [(one.name, one.member) for one in result.divergences]

    assert summary.outcome == "EXPLAINED"
    assert sum(member.accounted for member in summary.members) == 2070
    assert result.verdict is Verdict.DIVERGES
    assert found == [("CommittedIsDurable", 0)]
    assert "73408" in result.divergences[0].text


def test_the_page_quotes_lines() -> None:
    assert len(QUOTED) == PAGE.count("| `member-") == 21


@pytest.mark.parametrize(("name", "number", "time", "quoted"), QUOTED)
def test_a_quoted_line_is_in_the_log(name: str, number: str, time: str, quoted: str) -> None:
    """Each part of the quotation stands in the line, in its order."""
    line = lines_of(name)[int(number) - 1]
    at = 0
    for part in re.findall(r'\w+="[^"]*"|\S+ -> \S+|\S+', quoted):
        place = re.compile(rf"(?<!\S){re.escape(part)}(?!\S)").search(line, at)
        assert place is not None, (part, line)
        at = place.end()

    assert line.startswith(f"[{time}")

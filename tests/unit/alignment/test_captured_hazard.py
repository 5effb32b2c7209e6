"""Captured clusters in which hazards happened: their verdicts, and the lines that the pages
docs/findings/captured-*.md quote.
"""

from __future__ import annotations

import gzip
import json
import re
from functools import cache
from pathlib import Path

import pytest

from canvass.conformance.findings import Verdict
from canvass.traces.alignment.importer import import_logs
from support.aeron_runs import BOUND_WITHIN, OLD_LOG, PAUSED, REPLAYED
from support.checked_runs import checked

ROOT = Path(__file__).resolve().parents[3]
FINDINGS = {"hz1": 16, "hz2": 15, "hz3": 21, "hz3-acknowledged": 20, "hz6": 21}
"""How many lines each page quotes."""
PRODUCTION = (" CANVASS_POSITION ", " APPEND_POSITION ", " COMMIT_POSITION ")
_QUOTED = re.compile(r"^\| `(member-\d\.log):(\d+)` \| (\d+\.\d+) \| `(.*)` \|$", re.MULTILINE)
PAGES = {
    name: (ROOT / "docs" / "findings" / f"captured-{name}.md").read_text() for name in FINDINGS
}
QUOTED = [(name, *quoted) for name, page in PAGES.items() for quoted in _QUOTED.findall(page)]


def sample(name: str) -> Path:
    """The logs of a finding."""
    return ROOT / "samples" / f"aeron-{name}"


@cache
def lines_of(name: str, log: str) -> list[str]:
    """The lines of a member's log."""
    return gzip.decompress((sample(name) / f"{log}.gz").read_bytes()).decode().splitlines()


@pytest.mark.parametrize(
    ("name", "lines", "member", "position"),
    [("hz1", 3720, 0, 54080), ("hz2", 2748, 2, 100608), ("hz6", 2070, 0, 73408)],
)
def test_every_line_is_explained_and_what_was_committed_is_not_durable(
    tmp_path: Path, name: str, lines: int, member: int, position: int
) -> None:
    summary = import_logs([sample(name)], tmp_path / "run")
    result = checked(tmp_path / "run")
    found = [(one.name, one.member) for one in result.divergences]

    assert summary.outcome == "EXPLAINED"
    assert sum(one.accounted for one in summary.members) == lines
    assert result.verdict is Verdict.DIVERGES
    assert found == [("CommittedIsDurable", member)]
    assert str(position) in result.divergences[0].text


@pytest.mark.night
def test_members_that_follow_an_older_leader_than_they_have_elected_lose_a_committed_entry(
    tmp_path: Path,
) -> None:
    summary = import_logs([sample("hz3")], tmp_path / "run")
    result = checked(tmp_path / "run")
    found = {(one.name, one.member, one.step) for one in result.divergences}

    assert (summary.outcome, summary.missing) == ("EXPLAINED", [])
    assert sum(member.accounted for member in summary.members) == 11_924
    assert found == {
        (name, 3, 4044)
        for name in ("CommitBounded", "CommittedIsDurable", "NoTruncationBelowCommit")
    }


def test_by_cuts_of_the_network_alone_a_quorum_truncates_what_it_has_committed(
    tmp_path: Path,
) -> None:
    summary = import_logs([sample("hz3-acknowledged")], tmp_path / "run")
    result = checked(tmp_path / "run")
    found = {(one.name, one.member, one.step) for one in result.divergences}
    names = ("CommitBounded", "CommittedIsDurable", "NoTruncationBelowCommit")

    assert (summary.outcome, summary.missing) == ("EXPLAINED", [])
    assert sum(member.accounted for member in summary.members) == 848
    assert found == {(name, 1, 497) for name in (*names, "RecordingLogCoherent")}


def test_by_pauses_alone_a_quorum_truncates_what_it_has_committed(tmp_path: Path) -> None:
    summary = import_logs([PAUSED], tmp_path / "run")
    result = checked(tmp_path / "run")
    names = ("CommitBounded", "CommittedIsDurable", "NoTruncationBelowCommit")

    assert (summary.outcome, summary.missing) == ("EXPLAINED", [])
    assert {(one.name, one.member, one.step) for one in result.divergences} == {
        (name, 1, 155) for name in names
    }


def test_a_commit_by_a_report_of_an_older_term_is_found_though_no_line_shows_reports(
    tmp_path: Path,
) -> None:
    summary = import_logs([OLD_LOG], tmp_path / "run")
    result = checked(tmp_path / "run")

    assert (summary.outcome, summary.missing) == ("EXPLAINED", [])
    assert result.verdict is Verdict.DIVERGES
    assert [one.name for one in result.divergences] == ["CommittedIsDurable"]
    assert "51904" in result.divergences[0].text


def test_a_leader_replays_entries_that_the_leader_of_a_newer_term_lacks(tmp_path: Path) -> None:
    """It hears of that leader by a commit position, and reports of its own old term reach it."""
    summary = import_logs([REPLAYED], tmp_path / "run")
    result = checked(tmp_path / "run")
    names = ("CommitBounded", "CommittedIsDurable", "NoTruncationBelowCommit")

    assert (summary.outcome, summary.missing) == ("EXPLAINED", [])
    assert {one.name for one in result.divergences} == {*names, "RecordingLogCoherent"}
    assert {one.member for one in result.divergences} == {2}


def test_a_leader_that_waits_for_a_quorum_logs_nothing_in_production(tmp_path: Path) -> None:
    """Others receive its announcements for seconds after its last line."""
    (tmp_path / "logs").mkdir()
    for number in range(3):
        lines = lines_of("hz3-acknowledged", f"member-{number}.log")
        kept = [line for line in lines if not any(event in line for event in PRODUCTION)]
        (tmp_path / "logs" / f"member-{number}.log").write_text("\n".join(kept) + "\n")
    summary = import_logs([tmp_path / "logs"], tmp_path / "run")

    assert (summary.outcome, summary.missing) == ("EXPLAINED", [])


@pytest.mark.parametrize("name", FINDINGS)
def test_the_page_quotes_lines(name: str) -> None:
    count = sum(one == name for one, *_ in QUOTED)

    assert count == PAGES[name].count("| `member-") == FINDINGS[name]


@pytest.mark.parametrize(("name", "log", "number", "time", "quoted"), QUOTED)
def test_a_quoted_line_is_in_the_log(
    name: str, log: str, number: str, time: str, quoted: str
) -> None:
    """Each part of the quotation stands in the line, in its order."""
    line = lines_of(name, log)[int(number) - 1]
    at = 0
    for part in re.findall(r'\w+="[^"]*"|\S+ -> \S+|\S+', quoted):
        place = re.compile(rf"(?<!\S){re.escape(part)}(?!\S)").search(line, at)
        assert place is not None, (part, line)
        at = place.end()

    assert line.startswith(f"[{time}")


def test_a_replay_passes_its_bound_within_an_entry(tmp_path: Path) -> None:
    """Another log ends at the bound, 4864. An entry of the member's own log ends at 4928."""
    summary = import_logs([BOUND_WITHIN], tmp_path / "run")
    result = checked(tmp_path / "run")
    text = (tmp_path / "run" / "member-3.ndjson").read_text()
    inputs = [json.loads(line)["input"] for line in text.splitlines()]
    (within,) = [one for one in inputs if "entryPosition" in one]

    assert (summary.outcome, summary.missing) == ("EXPLAINED", [])
    assert within["entryPosition"] < 4864 < within["position"] == 4928
    assert result.verdict is Verdict.DIVERGES
    assert [(one.name, one.member) for one in result.divergences] == [
        ("CommittedIsDurable", 0),
        ("AppliedWithinCommitted", 3),
    ]

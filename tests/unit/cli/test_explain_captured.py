"""A real cluster with hazard L-A: the explanation names the leader, its guard and the page."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from support.aeron_runs import HOSTS

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "samples" / "aeron-la"
PAGE = ROOT / "docs" / "findings" / "L-A.md"

Command = Callable[..., tuple[int, str, str]]


def test_the_leader_that_waits_for_ever_is_stuck(command: Command) -> None:
    code, out, _ = command("explain", SAMPLE, "--format", "json")
    stuck = json.loads(out)["stuck"]
    waits = [one for one in stuck if one["state"] == "LEADER_LOG_REPLICATION"]

    assert code == 0
    assert [one["memberId"] for one in waits] == [2]
    assert waits[0]["durationMs"] > 74_000
    assert waits[0]["page"] == "L-A"


def test_the_screen_leaves_nothing_out_without_saying_so(command: Command) -> None:
    folder = ROOT / "samples" / "aeron-hz3"
    _, screen, _ = command("explain", folder)
    _, data, _ = command("explain", folder, "--format", "json")
    listed = [line for line in screen.splitlines() if " without a leader " in line]

    assert len(json.loads(data)["gaps"]) == 5
    assert "and 2 more times without a leader" in listed[-1]
    assert [found[0] for line in listed[:-1] if (found := re.findall(r"term \d+", line))] == [
        "term 4",
        "term 6",
        "term 11",
    ]
    assert "After that only members 1, 2 held the log up to 8352" in screen
    assert not re.search(r"\b1 (notes|other members)|\((message|work|unknown)\)", screen)


def test_a_truncation_in_a_release_before_1_50_begins_at_the_end_of_the_log(
    command: Command,
) -> None:
    """The line has the leader's position as well, and the next change still shows the old end."""
    _, screen, _ = command("explain", ROOT / "samples" / "aeron-hz3-acknowledged")

    assert "Member 1 truncated its log from 6496 to 2560." in screen
    assert "After that no line shows another member that holds the log up to 6496." in screen
    assert screen.count("No later line shows that a quorum held the log up to 6496 again.") == 2


def test_the_member_that_is_behind_is_named(command: Command) -> None:
    _, screen, _ = command("explain", SAMPLE)
    behind = [line for line in screen.splitlines() if "behind member" in line]

    assert behind == [
        "  Member 2 was last seen at 147200, 2,636,256 behind member 0. [member-2.log.gz:409]"
    ]


def test_no_position_is_named_without_reports(command: Command, tmp_path: Path) -> None:
    for member in (0, 1, 2):
        with gzip.open(SAMPLE / f"member-{member}.log.gz", "rt") as log:
            lines = [line for line in log if " APPEND_POSITION " not in line]
        (tmp_path / f"member-{member}.log").write_text("".join(lines))
    _, data, _ = command("explain", tmp_path, "--format", "json")

    assert json.loads(data)["positions"] == []


def test_a_voter_that_waits_is_explained_in_words(command: Command) -> None:
    _, screen, _ = command("explain", ROOT / "samples" / "aeron-hz3")

    assert "waits for a leader to announce term 13." in screen
    assert "after the election timeout a majority is enough." in screen
    assert "No vote came from members 0, 4." in screen


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


@pytest.mark.parametrize("words", [(), ("--election", 2)])
def test_clocks_that_differ_are_named(command: Command, words: tuple[object, ...]) -> None:
    """The clock of member 2 was 75,033.903 s ahead; the other two had the same one."""
    (folder,) = HOSTS
    _, apart, _ = command("explain", folder, *words)
    _, one_host, _ = command("explain", SAMPLE, *words)

    assert [line for line in apart.splitlines() if line.startswith("Clocks")] == [
        "Clocks: member 2 is 75,033.9 s ahead of member 0; times are each member's own."
    ]
    assert "Clocks" not in one_host


def test_a_page_names_clocks_that_differ(command: Command, tmp_path: Path) -> None:
    (folder,) = HOSTS
    command("explain", folder, "--html", tmp_path / "page.html")

    assert "member 2 is 75,033.9 s ahead of member 0" in (tmp_path / "page.html").read_text()


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


@pytest.mark.parametrize(
    ("name", "shown"),
    [("hz1", ["HZ1"]), ("hz2", ["HZ2"]), ("hz6", ["HZ6", "HZ2", "HZ1"])],
)
def test_the_hazards_of_a_sample_are_named_by_what_they_cost(
    command: Command, tmp_path: Path, name: str, shown: list[str]
) -> None:
    """Otherwise a verification lists every hazard that can violate the property."""
    command("import", "aeron", ROOT / "samples" / f"aeron-{name}", "--out", tmp_path / "run")
    code, out, _ = command("verify", tmp_path / "run")

    assert code == 1
    assert re.findall(r"What the lines show: (\w+), ", out) == shown

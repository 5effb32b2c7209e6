"""Times without a leader, the slowest part of an election, near misses, and sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from canvass.explanation.explanation import explain, time_without_leader
from canvass.explanation.reading import read
from support.aeron_runs import BOUND_WITHIN, SAMPLES, more_captures
from support.aeron_story import StoryLog, explained

WON = "CANDIDATE_BALLOT LEADER_LOG_REPLICATION LEADER_REPLAY LEADER_INIT LEADER_READY CLOSED"
SESSION_END = "sessionId=1 closeReason=TIMEOUT leadershipTermId=4 timestamp=1 timeUnit=MILLISECONDS"


def win(log: StoryLog, term: int, at: float) -> None:
    log.state(at - 0.5, "CANVASS NOMINATE CANDIDATE_BALLOT", candidate=term)
    log.state(at, WON, leader=log.member_id, term=term)


def test_the_winners_own_late_start_is_the_slowest_part_though_nobody_was_there_before(
    tmp_path: Path,
) -> None:
    """All members are down from 105 s to 120 s; the winner of term 5 starts at 127 s."""
    one, two = StoryLog(0), StoryLog(1)
    one.begin(100.0)
    win(one, 4, 101.0)
    for k in range(20):
        one.appended(101.2 + k * 0.2, 1, 4, 96)
    two.begin(120.0)
    one.begin(127.0)
    win(one, 5, 128.0)

    election = explained(tmp_path, one, two).elections[-1]

    assert election.slowest.text == (
        "Slowest part: 7,000 ms until the winner itself began its election (node started)."
    )


@pytest.mark.parametrize("reports", [True, False])
def test_the_time_without_a_leader_is_a_bound_if_no_line_shows_when_one_stopped(
    tmp_path: Path, reports: bool
) -> None:
    """A log without the reports of followers does not show when a killed leader stopped."""
    one, two = StoryLog(0), StoryLog(1)
    one.begin(100.0)
    win(one, 4, 101.0)
    for k in range(20 if reports else 0):
        one.appended(101.2 + k * 0.2, 1, 4, 96)
    one.begin(110.0)
    two.begin(100.0)
    two.election(107.0, "leader heartbeat timeout")
    win(two, 5, 108.0)

    found = explained(tmp_path, one, two)

    says = "4,000 ms without a leader" if reports else "at least 1,000 ms without a leader"
    assert time_without_leader(found) == says


def test_a_leader_that_hears_of_no_follower_does_not_work(tmp_path: Path) -> None:
    """It is cut off at 105 s, ends a session at 106.5 s, and gives up at 107.1 s."""
    one, two = StoryLog(0), StoryLog(1)
    one.begin(100.0)
    win(one, 4, 101.0)
    for k in range(20):
        one.appended(101.2 + k * 0.2, 1, 4, 96)
    one.event(106.5, "APPEND_SESSION_CLOSE", SESSION_END)
    one.election(107.1, "inactive follower quorum", (4, 96))
    two.begin(100.0)
    two.election(107.0, "leader heartbeat timeout")
    win(two, 5, 108.0)

    [gap] = [gap for gap in explained(tmp_path, one, two).gaps if gap.leadership_term_id == 5]

    assert gap.from_ns == 105_000_000_000


def test_a_replay_that_keeps_the_log_term_is_no_near_miss_of_hz6() -> None:
    """It fails because it passes its bound within an entry; term 2 reaches the end of the log."""
    risks = explain(read(BOUND_WITHIN)).risks

    assert "HZ6" not in {risk.page for risk in risks}


MORE = [pytest.param(path, marks=pytest.mark.night) for path in more_captures()]


@pytest.mark.parametrize("path", [*SAMPLES, *MORE], ids=lambda path: path.name)
def test_a_sentence_about_a_risk_counts_no_line_twice(path: Path) -> None:
    """A ballot between two leaders is listed under the elections of both."""
    for risk in explain(read(path)).risks:
        for sentence in risk.sentences:
            assert len(set(sentence.evidence)) == len(sentence.evidence), sentence.text


def test_a_leader_that_is_suspended_or_shut_down_is_listed_with_the_operators_command(
    tmp_path: Path,
) -> None:
    log = StoryLog(0)
    log.begin(100.0)
    win(log, 4, 101.0)
    log.module(103.0, "ACTIVE SUSPENDED", "ClusterControl.SUSPEND")
    log.module(105.5, "SUSPENDED ACTIVE", "ClusterControl.RESUME")
    log.module(107.0, "ACTIVE SNAPSHOT", "ClusterControl.SHUTDOWN")
    log.module(107.2, "SNAPSHOT TERMINATING", "null != clusterTermination")
    log.module(107.3, "TERMINATING CLOSED", "closed")

    found = explained(tmp_path, log)

    assert [one.text for one in found.interruptions] == [
        "Term 4: leader 0 was in SUSPENDED for 2,500 ms (ClusterControl.SUSPEND).",
        "Term 4: leader 0 was in SNAPSHOT for 200 ms (ClusterControl.SHUTDOWN).",
        "Term 4: leader 0 was in TERMINATING for 100 ms (null != clusterTermination).",
    ]
    lines = [[place.line for place in one.evidence] for one in found.interruptions]
    assert lines == [[11, 12], [13, 14], [14, 15]]
    assert found.leaderships[0].reason == "ClusterControl.SHUTDOWN"


def test_lines_that_stand_in_a_false_order_are_missing(tmp_path: Path) -> None:
    log = StoryLog(0)
    log.begin(100.0)
    for second in (104, 103, 102, 105):
        log.appended(second, 1, 0, 96)

    texts = [sentence.text for sentence in explained(tmp_path, log).missing]

    reason = "older than the line before it: lines were copied or moved, or a stamp is false"
    assert f"2 lines of member 0 cannot be read; the first one: {reason}." in texts

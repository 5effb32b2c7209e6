"""Sentences about the end of a phase, a truncated log, and two leaders at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from canvass.explanation.explanation import explain
from canvass.explanation.reading import read
from support.aeron_runs import FINDING
from support.aeron_story import StoryLog, write_story


def test_the_last_member_to_answer_ends_a_canvass_though_it_answers_twice(tmp_path: Path) -> None:
    """Both positions of member 2 come before the change of state, well before the timeout."""
    log = StoryLog(0)
    log.start(100.0)
    log.election(100.0, "node started")
    log.canvassed(100.1, 1, (-1, 0))
    log.canvassed(100.8, 2, (-1, 0))
    log.canvassed(100.8, 2, (-1, 0))
    log.state(100.81, "CANVASS NOMINATE")
    log.state(100.9, "NOMINATE CANDIDATE_BALLOT", candidate=0)
    ready = "CANDIDATE_BALLOT LEADER_LOG_REPLICATION LEADER_REPLAY LEADER_INIT LEADER_READY CLOSED"
    log.state(101.0, ready, leader=0, term=0)

    [election] = explain(read(write_story(tmp_path, [log]))).elections

    canvass = next(phase for phase in election.phases if phase.state == "CANVASS")
    assert canvass.governed_by == "message"
    assert "it needed the canvass position (-1, 0) of member 2, which came last" in str(canvass)
    assert [line.line for line in canvass.sentence.evidence] == [3, 5, 7]


@pytest.mark.parametrize(
    ("votes", "reason", "governed_by", "why"),
    [
        ({1: True, 2: True}, "", "message", "all members voted for it"),
        ({1: True}, "", "timeout", "not all members voted for it"),
        ({1: True, 2: False}, "", "timeout", "not all members voted for it"),
        ({}, "", "unknown", "it won; the lines of the votes are not in the log"),
        ({}, "unanimous leader", "message", "all members voted for it"),
        ({1: True, 2: True}, "quorum leader", "timeout", "not all members voted for it"),
    ],
)
def test_votes_say_how_a_ballot_was_won_if_the_release_prints_no_reason(
    tmp_path: Path, votes: dict[int, bool], reason: str, governed_by: str, why: str
) -> None:
    """Releases before 1.50 print no reason. The last vote of a ballot may come after its end."""
    log, rest = StoryLog(0), "LEADER_LOG_REPLICATION LEADER_REPLAY LEADER_INIT LEADER_READY CLOSED"
    log.start(100.0)
    log.election(100.0, "node started")
    log.canvassed(100.1, 1, (-1, 0))
    log.canvassed(100.1, 2, (-1, 0))
    log.state(100.2, "CANVASS NOMINATE CANDIDATE_BALLOT", candidate=0)
    for voter, vote in votes.items():
        log.voted(100.3, voter, 0, (-1, 0), vote=vote)
    log.state(101.2, "CANDIDATE_BALLOT LEADER_LOG_REPLICATION", leader=0, term=0, reason=reason)
    log.state(101.2, rest, leader=0, term=0)
    log.voted(101.3, 2, 0, (-1, 0), vote=True)

    [election] = explain(read(write_story(tmp_path, [log]))).elections

    ballot = next(phase for phase in election.phases if phase.state == "CANDIDATE_BALLOT")
    assert ballot.governed_by == governed_by
    assert why in ballot.sentence.text


def test_a_late_vote_of_an_earlier_ballot_is_no_answer(tmp_path: Path) -> None:
    log = StoryLog(0)
    log.start(100.0)
    log.election(100.0, "node started")
    log.canvassed(100.1, 1, (-1, 0))
    log.canvassed(100.1, 2, (-1, 0))
    log.state(100.2, "CANVASS NOMINATE CANDIDATE_BALLOT", candidate=0)
    log.voted(100.3, 1, 0, (-1, 0), vote=True)
    log.voted(100.4, 1, -1, (-1, 0), vote=False)
    log.state(101.2, "CANDIDATE_BALLOT CANVASS", candidate=0)

    [election] = explain(read(write_story(tmp_path, [log]))).elections

    [ballot] = election.ballots
    assert [(one.voter_member_id, one.granted) for one in ballot.votes] == [(1, True), (2, None)]


def test_reports_sent_before_a_truncation_do_not_restore_the_log() -> None:
    """In HZ3 every member truncates its log from 8352 to 8256, and later receives positions that
    others sent before they truncated.
    """
    found = explain(read(FINDING.parent / "aeron-hz3"))

    lost = [risk for risk in found.risks if risk.severity == "danger"]
    assert len(lost) == 3
    for risk in lost:
        assert risk.until_ns is None
        *_, until, advice = (sentence.text for sentence in risk.sentences)
        assert until == "No later line shows that a quorum held the log up to 8352 again."
        # Members 1 and 2 truncate the entries as well, after member 3.
        assert advice == (
            "No line shows a member that has the entries at the end of the logs. Copy all disks"
            " before you restart a member."
        )


def leader_of(member_id: int, term: int, at: float) -> StoryLog:
    """The log of a member that opens a term at a time, as far as the end of its election."""
    log = StoryLog(member_id)
    log.start(at - 1)
    log.election(at - 1, "node started")
    log.state(at - 0.5, "CANVASS NOMINATE CANDIDATE_BALLOT", candidate=term)
    ready = "CANDIDATE_BALLOT LEADER_LOG_REPLICATION LEADER_REPLAY LEADER_INIT LEADER_READY CLOSED"
    log.state(at, ready, leader=member_id, term=term)
    return log


def test_two_leaders_of_one_term_are_a_danger(tmp_path: Path) -> None:
    logs = [leader_of(0, 4, 101.0), leader_of(1, 4, 102.0)]

    risks = explain(read(write_story(tmp_path, logs))).risks

    dangers = [(risk.kind, risk.sentences[0].text) for risk in risks if risk.severity == "danger"]
    text = "Members 0, 1 led the same term 4: ElectionSafety does not hold."
    assert dangers == [("two leaders in one term", text)]


def test_a_leader_that_leads_on_after_a_later_term_is_open_is_noted(tmp_path: Path) -> None:
    old, new = leader_of(0, 4, 101.0), leader_of(1, 5, 103.0)
    old.election(104.5, "inactive follower quorum", (4, 96))

    risks = explain(read(write_story(tmp_path, [old, new]))).risks

    [stale] = [risk for risk in risks if risk.member_id == 0]
    text = (
        "Member 0 was still in the role of leader of term 4 for 1,500 ms after member 1 had"
        " opened term 5."
    )
    assert (stale.severity, stale.sentences[0].text) == ("note", text)


def test_a_commit_position_does_not_make_its_sender_the_leader_of_its_term(tmp_path: Path) -> None:
    """Before 1.50 the leader of term 5 commits in term 4 while it waits for copies of its log."""
    log = StoryLog(0)
    log.announced(100.0, 1, 4, 3, 96)
    fields = "isInElection=false leadershipTermId=4 logPosition=192 termBaseLogPosition=96"
    fields += " appVersion=1 timestamp=1 timeUnit=MILLISECONDS"
    log.event(100.1, "REPLAY_NEW_LEADERSHIP_TERM", fields)
    log.committed(110.0, 2, 4, 192)

    [row] = explain(read(write_story(tmp_path, [log]))).leaderships

    assert (row.leadership_term_id, row.leader_member_id) == (4, 1)


@pytest.mark.parametrize("pause", [True, False])
def test_a_leader_that_was_paused_led_until_the_pause(tmp_path: Path, pause: bool) -> None:
    """When it wakes, it closes a client's session and changes its role before its own end."""
    old, new = leader_of(0, 4, 101.0), leader_of(1, 5, 110.0)
    for k in range(9 if pause else 45):
        old.appended(101.2 + k * 0.2, 1, 4, 96)
    fields = "sessionId=1 closeReason=TIMEOUT leadershipTermId=4 timestamp=1 timeUnit=MILLISECONDS"
    old.event(110.01, "APPEND_SESSION_CLOSE", fields)
    old.event(110.02, "ROLE_CHANGE", 'LEADER -> FOLLOWER reason=""')
    old.election(110.02, "inactive follower quorum", (4, 96))

    for shift in (0.0, 0.5):  # The new term may begin before the old leader's end, or after it.
        folder = tmp_path / str(shift)
        logs = [old, leader_of(1, 5, 109.98 + shift) if shift else new]
        gaps = explain(read(write_story(folder, logs))).gaps

        after = [gap.from_ns for gap in gaps if gap.leadership_term_id == 5]
        if pause:
            assert after == [102_800_000_000]
        else:
            assert all(at is not None and at >= 110_000_000_000 for at in after)


def test_a_replay_that_ended_early_is_a_near_miss_of_hz6() -> None:
    found = explain(read(FINDING.parent / "aeron-hz6"))

    texts = [risk.sentences[0].text for risk in found.risks if risk.page == "HZ6"]
    assert any(" ended early: the member canvasses with log term " in text for text in texts)

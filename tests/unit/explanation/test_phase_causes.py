"""The cause that ended a phase is one that lines show: none is made up, and none is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from canvass.explanation.explanation import Explanation
from canvass.explanation.phases import PhaseReport
from canvass.traces.timeouts import ELECTION, STARTUP_CANVASS
from support.aeron_story import StoryLog, explained

LOG = (0, 96)
LEADS = "LEADER_REPLAY LEADER_INIT LEADER_READY CLOSED"


def started(member_id: int, at: float) -> StoryLog:
    """The log of a member that starts and canvasses."""
    log = StoryLog(member_id)
    log.begin(at, LOG)
    return log


def phases_of(found: Explanation, state: str) -> list[PhaseReport]:
    return [
        phase for election in found.elections for phase in election.phases if phase.state == state
    ]


def won(log: StoryLog, at: float) -> None:
    """The member wins the vote of member 1 and opens term 1."""
    me = log.member_id
    log.state(at, "CANVASS NOMINATE CANDIDATE_BALLOT", candidate=1, log=LOG)
    log.voted(at + 0.1, 1, 1, LOG, vote=True)
    log.state(at + 1, "CANDIDATE_BALLOT LEADER_LOG_REPLICATION", leader=me, term=1, log=LOG)
    log.state(at + 1, f"LEADER_LOG_REPLICATION {LEADS}", leader=me, term=1, log=LOG)


@pytest.mark.parametrize("has_votes", [False, True])
def test_a_canvass_without_canvass_positions_has_no_known_cause(
    tmp_path: Path, has_votes: bool
) -> None:
    """A vote is not an answer in a canvass."""
    log = started(0, 100.0)
    if has_votes:
        log.voted(101.0, 1, 0, LOG, vote=True)
    won(log, 170.0)

    found = explained(tmp_path, log, StoryLog(1), StoryLog(2))
    [canvass] = phases_of(found, "CANVASS")

    assert (canvass.governed_by, canvass.setting) == ("unknown", None)
    what = "its log lacks CANVASS_POSITION lines, so no line shows for whom it waited."
    assert canvass.sentence.text == f"Member 0 was in CANVASS for 70.0 s: {what}"
    # What is not known may be a timeout.
    slowest = f"Slowest part: CANVASS of member 0 for 70.0 s: {what}"
    assert found.elections[0].slowest.text == slowest


@pytest.mark.parametrize(
    ("answers", "setting"), [({1: 100.2, 2: 109.9}, STARTUP_CANVASS), ({1: 109.9}, None)]
)
def test_a_timeout_bounds_a_canvass_once_a_quorum_is_there(
    tmp_path: Path, answers: dict[int, float], setting: str | None
) -> None:
    log = started(0, 100.0)
    for by, at in answers.items():
        log.canvassed(at, by, LOG)
    won(log, 109.9)

    [canvass] = phases_of(explained(tmp_path, log, StoryLog(1), StoryLog(2)), "CANVASS")

    assert "which came last" in canvass.sentence.text
    assert (canvass.governed_by, canvass.setting) == ("message", setting)


@pytest.mark.parametrize("voters", [(), (1,), (1, 2)])
def test_the_election_timeout_bounds_every_ballot(tmp_path: Path, voters: tuple[int, ...]) -> None:
    log = started(0, 100.0)
    log.state(100.5, "CANVASS NOMINATE CANDIDATE_BALLOT", candidate=1, log=LOG)
    for voter in voters:
        log.voted(101.2, voter, 1, LOG, vote=True)
    log.state(101.5, "CANDIDATE_BALLOT LEADER_LOG_REPLICATION", leader=0, term=1, log=LOG)
    log.state(101.5, f"LEADER_LOG_REPLICATION {LEADS}", leader=0, term=1, log=LOG)

    found = explained(tmp_path, log, StoryLog(1), StoryLog(2))

    assert [ballot.setting for ballot in phases_of(found, "CANDIDATE_BALLOT")] == [ELECTION]
    [election] = found.elections
    assert f"{ELECTION} bounds it" in election.slowest.text


def test_a_member_that_closes_ends_its_phase_and_its_ballot(tmp_path: Path) -> None:
    candidate, voter = started(0, 100.0), started(1, 100.0)
    candidate.state(101.0, "CANVASS NOMINATE CANDIDATE_BALLOT", candidate=1, log=LOG)
    candidate.voted(101.1, 1, 1, LOG, vote=True)
    for log in (candidate, voter):
        log.module(101.5, "ACTIVE CLOSED", "closed")
        log.start(110.0)

    [election] = explained(tmp_path, candidate, voter, StoryLog(2)).elections

    texts = [phase.sentence.text for phase in election.phases]
    assert "Member 0 was in CANDIDATE_BALLOT for 500 ms: the member closed." in texts
    assert "Member 1 was in CANVASS for 1,500 ms: the member closed." in texts
    [ballot] = election.ballots
    assert ballot.sentence.text == (
        "Member 0 ran for term 1 with log (0, 96); the member closed before the ballot was decided."
    )
    assert [line.line for line in ballot.sentence.evidence] == [5, 7]


def test_no_line_shows_when_a_killed_process_ended(tmp_path: Path) -> None:
    log = started(0, 100.0)
    log.canvassed(101.0, 1, LOG)
    log.start(110.0)

    [election] = explained(tmp_path, log, StoryLog(1), StoryLog(2)).elections

    assert election.phases[1].sentence.text == (
        "Member 0 was in CANVASS: its process ended, and no line shows when."
    )


def test_votes_report_the_end_of_the_leaders_log_before_the_leader_waits_for_it(
    tmp_path: Path,
) -> None:
    log = started(0, 100.0)
    log.state(101.0, "CANVASS NOMINATE CANDIDATE_BALLOT", candidate=1, log=LOG)
    log.voted(101.1, 1, 1, (0, 32), vote=True)
    log.voted(101.1, 2, 1, LOG, vote=True)
    log.state(101.2, "CANDIDATE_BALLOT LEADER_LOG_REPLICATION", leader=0, term=1, log=LOG)
    log.canvassed(101.2, 1, LOG)
    log.state(101.2, f"LEADER_LOG_REPLICATION {LEADS}", leader=0, term=1, log=LOG)

    [waits] = phases_of(
        explained(tmp_path, log, StoryLog(1), StoryLog(2)), "LEADER_LOG_REPLICATION"
    )

    assert waits.sentence.text.endswith(
        ": a quorum had already reported the end of the leader's log, at last with the vote of"
        " member 2."
    )
    assert [line.line for line in waits.sentence.evidence] == [8, 7, 10]


def test_a_position_from_before_the_canvass_is_none_that_the_leader_knows(tmp_path: Path) -> None:
    log = started(0, 100.0)
    log.canvassed(100.5, 1, LOG)
    log.state(101.0, "CANVASS NOMINATE CANDIDATE_BALLOT CANVASS", candidate=1, log=LOG)
    won(log, 102.0)
    log.lines[-6] = log.lines[-6].replace("logPosition=96", "logPosition=32")

    [waits] = phases_of(
        explained(tmp_path, log, StoryLog(1), StoryLog(2)), "LEADER_LOG_REPLICATION"
    )

    assert "the message's line is not in the log" in waits.sentence.text


@pytest.mark.parametrize(("by", "place"), [("vote", None), ("old position", None), ("new", 10)])
def test_only_a_position_of_the_new_term_opens_it(
    tmp_path: Path, by: str, place: int | None
) -> None:
    log = started(0, 100.0)
    log.canvassed(100.5, 1, LOG)
    log.state(101.0, "CANVASS NOMINATE CANDIDATE_BALLOT LEADER_LOG_REPLICATION", candidate=1)
    log.state(101.0, "LEADER_LOG_REPLICATION LEADER_READY", leader=0, term=1, log=LOG)
    log.appended(101.1, 1, 1, 32)
    if by == "vote":
        log.voted(101.2, 1, 1, LOG, vote=True)
    else:
        log.appended(101.2, 1, 1 if by == "new" else 0, 96)
    log.state(101.3, "LEADER_READY CLOSED", leader=0, term=1, log=LOG)

    [ready] = phases_of(explained(tmp_path, log, StoryLog(1), StoryLog(2)), "LEADER_READY")

    shown = [line.line for line in ready.sentence.evidence]
    assert shown == [8, *([] if place is None else [place]), 11]
    assert ("line is not in the log" in ready.sentence.text) == (place is None)


@pytest.mark.parametrize(
    ("release", "who", "place"),
    [
        ("1.52.2", "a quorum had", 9),
        ("1.49.3", "each voter, or a quorum after the leader heartbeat timeout, had", 10),
    ],
)
def test_before_1_50_a_new_term_waits_for_each_voter(
    tmp_path: Path, release: str, who: str, place: int
) -> None:
    """Source: ``Election.leaderReady``."""
    log = started(0, 100.0)
    log.lines[0] = log.lines[0].replace("1.52.2", release)
    log.canvassed(100.5, 1, LOG)
    log.state(101.0, "CANVASS NOMINATE CANDIDATE_BALLOT LEADER_LOG_REPLICATION", candidate=1)
    log.state(101.0, "LEADER_LOG_REPLICATION LEADER_READY", leader=0, term=1, log=LOG)
    log.appended(101.1, 1, 1, 96)
    log.appended(101.2, 2, 1, 96)
    log.state(101.3, "LEADER_READY CLOSED", leader=0, term=1, log=LOG)

    [ready] = phases_of(explained(tmp_path, log, StoryLog(1), StoryLog(2)), "LEADER_READY")

    assert f"{who} to report a position of the new term" in ready.sentence.text
    assert [line.line for line in ready.sentence.evidence] == [8, place, 11]


def test_a_single_member_is_a_quorum_by_itself(tmp_path: Path) -> None:
    log = StoryLog(0)
    log.start(100.0)
    log.event(100.0, "NEW_ELECTION", 'leadershipTermId=-1 logPosition=0 appendPosition=0 reason=""')
    log.state(100.1, "INIT LEADER_LOG_REPLICATION LEADER_REPLAY LEADER_INIT LEADER_READY", term=0)
    log.state(100.1, "LEADER_READY CLOSED", leader=0, term=0)
    log.module(101.0, "ACTIVE CLOSED", "closed")

    found = explained(tmp_path, log)

    for state in ("LEADER_LOG_REPLICATION", "LEADER_READY"):
        [waits] = phases_of(found, state)
        assert waits.sentence.text.endswith("0.0 ms: it is a quorum by itself.")


def test_a_vote_without_a_leader_ends_with_the_timeout_and_not_with_a_value_of_it(
    tmp_path: Path,
) -> None:
    """A member acts late on the timeout, so the duration of the phase is not the timeout."""
    log = started(1, 100.0)
    log.asked(101.0, 0, 1, LOG)
    log.state(101.0, "CANVASS FOLLOWER_BALLOT", candidate=1, log=LOG)
    log.state(102.031, "FOLLOWER_BALLOT CANVASS", candidate=1, log=LOG)

    [ballot] = phases_of(explained(tmp_path, StoryLog(0), log), "FOLLOWER_BALLOT")

    what = "no leader announced its term within the election timeout."
    assert ballot.sentence.text == f"Member 1 was in FOLLOWER_BALLOT for 1,031 ms: {what}"

"""The phases of a member stand under the election in which it looked for, or joined, a leader."""

from __future__ import annotations

from pathlib import Path

from canvass.explanation.elections import ElectionReport
from support.aeron_story import StoryLog, explained

LOG = (0, 96)
WINS = "CANVASS NOMINATE CANDIDATE_BALLOT LEADER_LOG_REPLICATION LEADER_REPLAY LEADER_INIT"
FOLLOWS = "CANVASS FOLLOWER_REPLAY FOLLOWER_LOG_INIT FOLLOWER_LOG_AWAIT FOLLOWER_READY"


def won(log: StoryLog, term: int, at: float) -> None:
    """The member wins a term, and opens it 0.1 s later."""
    log.state(at, WINS, leader=0, term=term, log=LOG)
    log.state(at + 0.05, "LEADER_INIT LEADER_READY", leader=0, term=term, log=LOG)
    log.state(at + 0.1, "LEADER_READY CLOSED", leader=0, term=term, log=LOG)


def followed(log: StoryLog, term: int, at: float) -> None:
    """The member follows the leader, and closes its election 0.02 s later."""
    log.state(at, FOLLOWS, leader=0, term=term, log=LOG)
    log.state(at + 0.02, "FOLLOWER_READY CLOSED", leader=0, term=term, log=LOG)


def of_member(election: ElectionReport, member_id: int) -> list[tuple[str, float]]:
    return [
        (phase.state, phase.from_ns / 1e9)
        for phase in election.phases
        if phase.member_id == member_id and phase.state in ("INIT", "FOLLOWER_READY")
    ]


def test_a_follower_that_joins_after_the_leader_has_closed_is_not_in_the_next_election(
    tmp_path: Path,
) -> None:
    """Member 2 closes after its leader each time. It joins the second term late: its own election
    begins when the leader has opened the term.
    """
    leader, follower = StoryLog(0), StoryLog(2)
    for log in (leader, follower):
        log.begin(100.0, LOG)
    won(leader, 1, 101.0)
    followed(follower, 1, 101.09)
    leader.election(120.0, "inactive follower quorum", LOG)
    won(leader, 2, 121.0)
    follower.election(122.0, "leader heartbeat timeout", LOG)
    followed(follower, 2, 122.5)
    leader.election(140.0, "inactive follower quorum", LOG)
    won(leader, 3, 141.0)

    elections = explained(tmp_path, leader, StoryLog(1), follower).elections

    assert [of_member(election, 2) for election in elections] == [
        [("INIT", 100.0), ("FOLLOWER_READY", 101.09)],
        [("INIT", 122.0), ("FOLLOWER_READY", 122.5)],
        [],
    ]


def test_a_process_that_starts_when_a_leader_leads_took_no_part_in_the_election(
    tmp_path: Path,
) -> None:
    leader, other = StoryLog(0), StoryLog(2)
    leader.begin(100.0, LOG)
    won(leader, 1, 101.0)
    other.begin(110.0, LOG)
    followed(other, 1, 111.0)

    [election] = explained(tmp_path, leader, StoryLog(1), other).elections

    assert of_member(election, 2) == []


def test_a_member_that_starts_in_the_next_election_is_not_in_the_one_before(tmp_path: Path) -> None:
    leader, other = StoryLog(0), StoryLog(2)
    leader.begin(100.0, LOG)
    won(leader, 1, 101.0)
    leader.election(120.0, "inactive follower quorum", LOG)
    other.begin(120.5, LOG)
    won(leader, 2, 121.0)
    followed(other, 2, 121.05)
    leader.appended(130.0, 2, 2, 96)

    elections = explained(tmp_path, leader, StoryLog(1), other).elections

    joined = [("INIT", 120.5), ("FOLLOWER_READY", 121.05)]
    assert [of_member(election, 2) for election in elections] == [[], joined]

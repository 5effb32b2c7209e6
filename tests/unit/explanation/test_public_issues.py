"""Answers of explanations to public issues of aeron-io/aeron, with logs made from their texts.

The guide shows the same answers; the last test holds the two together.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from canvass.explanation.elections import ElectionReport
from canvass.explanation.explanation import Explanation, explain
from canvass.explanation.reading import read
from support.aeron_story import StoryLog, lead, write_story

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "operate.md"
LOG = (0, 96)


def answer(folder: Path, *logs: StoryLog) -> Explanation:
    return explain(read(write_story(folder, logs)))


def three() -> tuple[StoryLog, StoryLog, StoryLog]:
    return StoryLog(0), StoryLog(1), StoryLog(2)


def wins(winner: StoryLog, voter: StoryLog, at: float, term: int, log: tuple[int, int]) -> None:
    """One member asks, another one votes for it, and both close their elections."""
    winner.state(at, "CANVASS NOMINATE CANDIDATE_BALLOT", candidate=term, log=log)
    voter.asked(at + 0.01, winner.member_id, term, log)
    voter.state(at + 0.01, "CANVASS FOLLOWER_BALLOT", candidate=term, log=log)
    winner.voted(at + 0.02, voter.member_id, term, log, vote=True)
    ready = "CANDIDATE_BALLOT LEADER_LOG_REPLICATION LEADER_REPLAY LEADER_INIT LEADER_READY CLOSED"
    winner.state(at + 0.03, ready, leader=winner.member_id, term=term, log=log)
    voter.announced(at + 0.04, winner.member_id, term, log[0], log[1], commit=log[1])
    joined = "FOLLOWER_BALLOT FOLLOWER_REPLAY FOLLOWER_LOG_INIT FOLLOWER_LOG_AWAIT FOLLOWER_READY"
    voter.state(at + 0.04, f"{joined} CLOSED", leader=winner.member_id, term=term, log=log)


def slow_failover(folder: Path) -> Explanation:
    """1441: the leader is ended in good order, and in some clusters it takes 10 s until the next
    one.
    """
    leader, one, two = three()
    lead(leader, (one, two), 100.0, 110.0)
    leader.module(110.0, "ACTIVE CLOSED", "closed")
    for follower, other in ((one, 2), (two, 1)):
        follower.election(119.8, "leader heartbeat timeout", LOG)
        follower.canvassed(119.9, other, LOG)
    wins(one, two, 120.0, 1, LOG)
    return answer(folder, leader, one, two)


def closed_leader_is_waited_for(folder: Path) -> Explanation:
    """1472: the end of the leader's log is not seen, so the leader that has closed is waited
    for.
    """
    leader, one, two = three()
    lead(leader, (one, two), 100.0, 110.0)
    leader.module(110.0, "ACTIVE CLOSED", "closed")
    for follower, other in ((one, 2), (two, 1)):
        follower.election(110.1, "log recording stopped: eos=false", LOG)
        follower.canvassed(110.2, other, LOG)
    wins(one, two, 120.1, 1, LOG)
    return answer(folder, leader, one, two)


PORT = "ERROR - channel error - Address already in use"


def port_in_use(folder: Path) -> Explanation:
    """1433: the leader wins again and cannot open its log channel: it fails for ever."""
    leader, one = StoryLog(0), StoryLog(1)
    lead(leader, (one,), 100.0, 105.0)
    leader.election(115.0, "inactive follower quorum", LOG)
    one.start(116.0)
    one.election(116.0, "node started", LOG)
    at = 116.2
    for term in range(1, 6):
        leader.canvassed(at, 1, LOG)
        leader.state(at + 0.1, "CANVASS NOMINATE CANDIDATE_BALLOT", candidate=term, log=LOG)
        one.asked(at + 0.2, 0, term, LOG)
        one.state(at + 0.2, "CANVASS FOLLOWER_BALLOT", candidate=term, log=LOG)
        leader.voted(at + 0.3, 1, term, LOG, vote=True)
        leader.state(at + 1.2, "CANDIDATE_BALLOT INIT", candidate=term, log=LOG, reason=PORT)
        leader.state(at + 1.3, "INIT CANVASS", candidate=term, log=LOG)
        one.state(at + 1.3, "FOLLOWER_BALLOT CANVASS", candidate=term, log=LOG)
        at += 3.0
    return answer(folder, leader, one)


START = (
    "ERROR - requested replay start position=0 is less than recording start position=4096"
    " for recording 0"
)


def _cannot_copy(member: StoryLog, leader: StoryLog, begin: float, rounds: int) -> None:
    at = begin
    for _ in range(rounds):
        leader.canvassed(at, member.member_id, (-1, 0))
        member.announced(at, leader.member_id, 4, -1, 8192)
        follower = "CANVASS FOLLOWER_LOG_REPLICATION"
        member.state(at, follower, leader=leader.member_id, term=4)
        again = "FOLLOWER_LOG_REPLICATION INIT"
        member.state(at + 1.0, again, leader=leader.member_id, term=4, reason=START)
        member.state(at + 1.1, "INIT CANVASS", term=4)
        at += 3.0


def purged_log(folder: Path) -> Explanation:
    """1657: the leader's log no longer begins where the follower's ends."""
    leader, one, two = three()
    lead(leader, (one,), 100.0, 130.0)
    two.start(110.0)
    two.election(110.0, "node started")
    _cannot_copy(two, leader, 110.5, 6)
    return answer(folder, leader, one, two)


def lost_files(folder: Path) -> Explanation:
    """1533: two members have lost their files, and the log of the third one has been purged."""
    leader, one, two = three()
    log = (3, 8192)
    for member in (leader, one, two):
        member.start(100.0)
        member.election(100.0, "node started", log if member is leader else (-1, 0))
    ballot = "CANVASS NOMINATE CANDIDATE_BALLOT"
    leader.state(100.2, ballot, candidate=4, log=log)
    for member in (one, two):
        leader.voted(100.3, member.member_id, 4, (-1, 0), vote=True)
        member.asked(100.3, 0, 4, log)
        member.state(100.3, "CANVASS FOLLOWER_BALLOT CANVASS", candidate=4)
    leader.state(100.4, "CANDIDATE_BALLOT LEADER_LOG_REPLICATION", leader=0, term=4, log=log)
    _cannot_copy(one, leader, 101.0, 6)
    _cannot_copy(two, leader, 101.5, 6)
    return answer(folder, leader, one, two)


def endless_catchup(folder: Path) -> Explanation:
    """701, the first test: a follower loses the leader's traffic for a time and then catches up
    for ever.
    """
    leader, one, two = three()
    lead(leader, (one, two), 100.0, 160.0)
    two.lines = [line for line in two.lines if line < "[104.9"]
    two.election(114.8, "leader heartbeat timeout", LOG)
    two.announced(116.0, 0, 0, 0, 0, commit=4096)
    path = "CANVASS FOLLOWER_REPLAY FOLLOWER_CATCHUP_INIT FOLLOWER_CATCHUP_AWAIT FOLLOWER_CATCHUP"
    two.state(116.0, path, leader=0, term=0, log=LOG, join=4096)
    for beat in range(200):
        two.committed(116.2 + beat * 0.2, 0, 0, 4096 + beat * 96)
    return answer(folder, leader, one, two)


def alone(folder: Path) -> Explanation:
    """701, the second test: both followers stop, one comes back, and nobody leads."""
    leader, one, two = three()
    lead(leader, (one, two), 100.0, 110.0)
    one.module(110.0, "ACTIVE CLOSED", "closed")
    two.module(111.0, "ACTIVE CLOSED", "closed")
    leader.election(121.0, "inactive follower quorum", LOG)
    two.start(125.0)
    two.election(125.0, "node started", LOG)
    for beat in range(400):
        two.asked(126.0 + beat * 0.3, 0, beat + 1, (0, 64))
    return answer(folder, leader, one, two)


def single_node(folder: Path) -> Explanation:
    """1809: one member, and its service is never given a role."""
    only = StoryLog(0)
    only.start(100.0)
    fields = "leadershipTermId=-1 logPosition=0 appendPosition=0"
    only.event(100.1, "NEW_ELECTION", f'{fields} reason="node started"')
    path = "INIT LEADER_LOG_REPLICATION LEADER_REPLAY LEADER_INIT"
    only.state(100.1, path, leader=0, term=0, reason="single-node cluster leader")
    only.event(
        160.0, "CLUSTER_SESSION_STATE_CHANGE", 'sessionId=1 action=CLIENT null -> INIT reason=""'
    )
    return answer(folder, only)


def last(found: Explanation) -> ElectionReport:
    return found.elections[-1]


def test_the_time_until_a_leaders_end_is_noticed_is_named(tmp_path: Path) -> None:
    found = slow_failover(tmp_path)

    assert [(row.leadership_term_id, row.leader_member_id) for row in found.leaderships] == [
        (0, 0),
        (1, 1),
    ]
    assert last(found).setting == "aeron.cluster.leader.heartbeat.timeout"
    assert "until the leader's end was noticed" in last(found).slowest.text
    assert found.leaderships[0].ended_by == "process closed"


def test_a_candidate_that_waits_for_the_closed_leader_is_named(tmp_path: Path) -> None:
    found = closed_leader_is_waited_for(tmp_path)

    assert last(found).slowest.text.startswith("Slowest part: CANVASS of member 1 for 10.0 s")
    assert last(found).setting == "aeron.cluster.leader.heartbeat.timeout"
    assert "member 2 had answered" in last(found).slowest.text


def test_a_leader_that_cannot_open_its_log_goes_round(tmp_path: Path) -> None:
    found = port_in_use(tmp_path)
    stuck = next(one for one in found.stuck if one.member_id == 0)

    assert (stuck.kind, stuck.state) == ("loop", "CANDIDATE_BALLOT")
    assert PORT in stuck.sentences[1].text
    assert last(found).leader_member_id is None


def test_a_follower_that_cannot_copy_a_purged_log_goes_round(tmp_path: Path) -> None:
    found = purged_log(tmp_path)
    stuck = next(one for one in found.stuck if one.member_id == 2)

    assert (stuck.kind, stuck.state) == ("loop", "FOLLOWER_LOG_REPLICATION")
    assert START in stuck.sentences[1].text
    assert "replicationStopPosition" in stuck.guard


def test_a_leader_whose_followers_cannot_copy_its_log_waits_for_ever(tmp_path: Path) -> None:
    found = lost_files(tmp_path)
    kinds = {(one.member_id, one.kind, one.state, one.page) for one in found.stuck}

    assert (0, "phase", "LEADER_LOG_REPLICATION", "L-A") in kinds
    assert (1, "loop", "FOLLOWER_LOG_REPLICATION", "") in kinds
    assert (2, "loop", "FOLLOWER_LOG_REPLICATION", "") in kinds
    assert found.leaderships == ()


def test_a_catch_up_without_end_names_what_it_waits_for(tmp_path: Path) -> None:
    found = endless_catchup(tmp_path)
    stuck = next(one for one in found.stuck if one.state == "FOLLOWER_CATCHUP")
    text = " ".join(sentence.text for sentence in stuck.sentences)

    assert stuck.until_ns is None
    assert "~catchupDestination" in stuck.guard
    assert "No STOP_CATCHUP line ends its catch-up." in text
    assert "It catches up from 96 and joins at 4096 or later." in text


def test_a_member_without_a_quorum_says_whom_it_does_not_hear(tmp_path: Path) -> None:
    found = alone(tmp_path)
    stuck = next(one for one in found.stuck if one.member_id == 2)

    assert (stuck.kind, stuck.state) == ("phase", "CANVASS")
    assert last(found).leader_member_id is None
    assert found.gaps[-1].leadership_term_id is None


def test_a_single_node_waits_for_its_service(tmp_path: Path) -> None:
    found = single_node(tmp_path)
    [stuck] = found.stuck

    assert stuck.state == "LEADER_INIT"
    assert "waits for its services" in stuck.sentences[1].text
    assert found.leaderships == ()


@pytest.mark.parametrize(
    "story",
    [
        slow_failover,
        closed_leader_is_waited_for,
        port_in_use,
        purged_log,
        lost_files,
        endless_catchup,
        alone,
        single_node,
    ],
)
def test_the_guide_shows_what_is_answered(story: object, tmp_path: Path) -> None:
    """One sentence of each answer stands in the guide word for word."""
    assert callable(story)
    found: Explanation = story(tmp_path)
    shown = " ".join(GUIDE.read_text().split())
    said = [one.slowest.text for one in found.elections]
    said += [sentence.text for one in found.stuck for sentence in one.sentences]

    assert any(text in shown for text in said), said

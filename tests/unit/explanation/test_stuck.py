"""Members that do not get on: the silent ones, and the timeouts against which they are measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from canvass.explanation.explanation import Explanation, explain
from canvass.explanation.reading import read
from canvass.traces.timeouts import SettingFault
from support.aeron_story import StoryLog, lead, write_story

LOG = (0, 96)
TWO_SECONDS = '{"properties": {"aeron.cluster.leader.heartbeat.timeout": "2s"}}'


def explained(folder: Path, *logs: StoryLog) -> Explanation:
    return explain(read(write_story(folder, logs)))


def isolated(silent_s: float) -> tuple[StoryLog, StoryLog, StoryLog]:
    """Member 2 loses the others at 110 s and hears nobody; they go on for some time."""
    leader, one, two = StoryLog(0), StoryLog(1), StoryLog(2)
    lead(leader, (one, two), 100.0, 110.5 + silent_s)
    two.lines = [line for line in two.lines if line < "[100.5"]
    two.election(110.5, "leader heartbeat timeout", LOG)
    return leader, one, two


def test_a_member_that_hears_nobody_is_stuck_while_the_others_go_on(tmp_path: Path) -> None:
    [stuck] = explained(tmp_path, *isolated(60)).stuck

    assert (stuck.member_id, stuck.kind, stuck.state, stuck.until_ns) == (
        2, "silent", "CANVASS", None,
    )  # fmt: skip
    assert "wrote no line in CANVASS for 59" in stuck.sentences[0].text
    assert "it received no messages, or its process had ended" in stuck.sentences[0].text
    assert {line.file for line in stuck.sentences[0].evidence} > {"member-2.log"}


def test_a_member_is_not_stuck_within_its_timeout(tmp_path: Path) -> None:
    assert explained(tmp_path, *isolated(12)).stuck == ()


def test_a_silent_member_was_stuck_until_its_next_process(tmp_path: Path) -> None:
    leader, one, two = isolated(60)
    two.start(150.0)
    [stuck] = explained(tmp_path, leader, one, two).stuck

    assert (stuck.kind, stuck.until_ns) == ("silent", 150_000_000_000)
    assert "until its next process started" in stuck.sentences[0].text


def test_timeouts_beside_the_logs_are_those_of_the_cluster(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(TWO_SECONDS)
    found = explained(tmp_path, *isolated(12))

    heartbeat = next(one for one in found.timeouts if one.setting.endswith("heartbeat.timeout"))
    assert (heartbeat.value_ns, heartbeat.source) == (2_000_000_000, "given")
    assert [one.member_id for one in found.stuck] == [2]


def test_a_timeout_beside_the_logs_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(TWO_SECONDS.replace("2s", "soon"))

    with pytest.raises(SettingFault, match="'soon' is not a duration"):
        explained(tmp_path, *isolated(12))


def looped(*, then: str, leader: int = -1) -> tuple[StoryLog, StoryLog]:
    """Member 1 fails four times in its replay, then its election goes on for a minute."""
    other, looping = StoryLog(0), StoryLog(1)
    for log in (other, looping):
        log.start(100.0)
        log.election(100.0, "node started", LOG)
    for second in range(5, 45, 10):
        round_trip = "CANVASS FOLLOWER_REPLAY CANVASS"
        looping.state(100.0 + second, round_trip, leader=0, log=LOG, reason="log replay rejected")
    looping.state(145.0, then, leader=leader, term=3, log=LOG)
    return other, looping


def test_a_loop_ends_where_its_member_wins_an_election(tmp_path: Path) -> None:
    won = "CANVASS NOMINATE CANDIDATE_BALLOT LEADER_LOG_REPLICATION LEADER_REPLAY LEADER_INIT"
    other, looping = looped(then=won, leader=1)
    looping.state(146.0, "LEADER_INIT LEADER_READY", leader=1, term=3, log=LOG)
    looping.canvassed(200.0, 0, LOG)
    looping.start(205.0)
    loop, ready = (one for one in explained(tmp_path, other, looping).stuck if one.member_id == 1)

    assert (loop.kind, loop.until_ns) == ("loop", 145_000_000_000)
    assert loop.sentences[0].text.endswith("in 45.0 s, before it won term 3.")
    assert (ready.kind, ready.state, ready.duration_ms) == ("phase", "LEADER_READY", 54_000.0)


def test_a_loop_ends_where_its_member_gets_further(tmp_path: Path) -> None:
    other, looping = looped(then="CANVASS FOLLOWER_REPLAY FOLLOWER_CATCHUP_INIT", leader=0)
    loop = next(one for one in explained(tmp_path, other, looping).stuck if one.kind == "loop")

    assert loop.sentences[0].text.endswith("before it reached FOLLOWER_CATCHUP_INIT.")


def test_a_loop_that_nothing_follows_ends_with_its_process(tmp_path: Path) -> None:
    other, looping = looped(then="CANVASS NOMINATE CANDIDATE_BALLOT CANVASS")
    looping.start(205.0)
    loop = next(one for one in explained(tmp_path, other, looping).stuck if one.kind == "loop")

    assert loop.sentences[0].text.endswith("before its process ended.")


def test_a_member_that_wins_before_another_has_opened_its_term_has_an_election(
    tmp_path: Path,
) -> None:
    logs = tuple(StoryLog(member_id) for member_id in range(3))
    for log in logs:
        log.start(100.0)
        log.election(100.0, "node started", LOG)
    ballot = "CANVASS NOMINATE CANDIDATE_BALLOT LEADER_LOG_REPLICATION LEADER_REPLAY LEADER_INIT"
    logs[0].state(101.0, ballot, leader=0, term=2, log=LOG)
    logs[1].state(102.0, ballot, leader=1, term=3, log=LOG)
    logs[0].state(103.0, "LEADER_INIT LEADER_READY CLOSED", leader=0, term=2, log=LOG)
    first, second, *_ = explained(tmp_path, *logs).elections

    assert (first.leadership_term_id, second.leadership_term_id) == (2, 3)
    assert second.sentence.text.startswith("Election 2: member 1 won term 3 after 2,000 ms")


def test_a_stuck_canvass_names_newer_logs_and_announcements_for_another_term(
    tmp_path: Path,
) -> None:
    log = StoryLog(1)
    log.start(100.0)
    log.election(100.0, "node started", LOG)
    for second in range(1, 90):
        log.canvassed(100.0 + second, 2, (2, 640))
        log.announced(100.1 + second, 2, 3, 2, 640)

    [stuck] = explained(tmp_path, StoryLog(0), log).stuck

    texts = [sentence.text for sentence in stuck.sentences]
    assert "Member 2 has a newer log, (2, 640), than its own (0, 96)." in texts
    text = "Member 2 announces term 3 for logs of term 2; its own log ends in term 0."
    assert text in texts


@pytest.mark.parametrize(
    ("stops", "text"),
    [
        (True, "Its leader has stopped the catch-up."),
        (False, "No STOP_CATCHUP line ends its catch-up."),
    ],
)
def test_a_stuck_catch_up_says_whether_its_leader_has_stopped_it(
    stops: bool, text: str, tmp_path: Path
) -> None:
    leader, log = StoryLog(0), StoryLog(1)
    lead(leader, (), 100.0, 101.0)
    log.start(100.0)
    log.election(100.0, "node started", LOG)
    path = "CANVASS FOLLOWER_REPLAY FOLLOWER_CATCHUP_INIT FOLLOWER_CATCHUP_AWAIT FOLLOWER_CATCHUP"
    log.state(101.0, path, leader=0, term=0, log=LOG, join=960)
    for second in range(2, 90):
        log.committed(100.0 + second, 0, 0, 640)
        leader.appended(100.1 + second, 1, 0, 96)
    if stops:
        log.event(190.0, "STOP_CATCHUP", "leadershipTermId=0 followerMemberId=1")

    stuck = next(one for one in explained(tmp_path, leader, log).stuck if one.member_id == 1)

    texts = [sentence.text for sentence in stuck.sentences]
    assert "It catches up from 96 and joins at 960 or later." in texts
    assert text in texts
    assert "The highest commit position that it was notified of is 640." in texts
    assert "Member 1 last reported 96 to the leader in term 0." in texts


@pytest.mark.parametrize(
    ("path", "processed", "guard", "page", "texts"),
    [
        (
            "CANVASS FOLLOWER_BALLOT",
            96,
            "OnNewLeadershipTerm",
            "",
            ["It has voted, and waits for a leader to announce term 1."],
        ),
        (
            "CANVASS NOMINATE CANDIDATE_BALLOT LEADER_LOG_REPLICATION",
            96,
            "LeaderLogReplication",
            "L-A",
            [
                "It needs 1 other member at 96.",
                "In that time no line shows a position of member 0.",
                "Member 2 last reported 64 in term 0.",
            ],
        ),
        (
            "CANVASS FOLLOWER_LOG_REPLICATION",
            96,
            "FollowerLogReplication",
            "",
            [
                "It copies its leader's log up to 960.",
                "It waits for a commit position of at least 960; the highest was 640.",
            ],
        ),
        (
            "CANVASS FOLLOWER_REPLAY",
            32,
            "FollowerReplay",
            "",
            ["It has processed its log up to 32 and holds it up to 96."],
        ),
        (
            "CANVASS FOLLOWER_REPLAY FOLLOWER_LOG_INIT FOLLOWER_LOG_AWAIT",
            96,
            "FollowerLogAwait",
            "",
            ["It waits for an image of the leader's log that begins at 96."],
        ),
        (
            "CANVASS FOLLOWER_REPLAY FOLLOWER_LOG_INIT FOLLOWER_LOG_AWAIT",
            128,
            "FollowerLogAwait",
            "L-D",
            [
                (
                    "It has processed 128 and holds its log only up to 96: no image of the"
                    " leader's log can begin at 128."
                )
            ],
        ),
    ],
)
def test_a_stuck_member_names_its_guard_and_the_values_that_lines_show(
    path: str, processed: int, guard: str, page: str, texts: list[str], tmp_path: Path
) -> None:
    leader, log = StoryLog(0), StoryLog(1)
    lead(leader, (), 100.0, 190.0)
    log.start(100.0)
    log.election(100.0, "node started", LOG)
    log.announced(101.0, 0, 1, 0, 960)
    log.state(101.1, path, leader=0, term=1, candidate=1, log=LOG, processed=processed)
    for second in range(2, 90):
        log.committed(100.0 + second, 0, 1, 640)
        log.appended(100.1 + second, 2, 0, 64)

    stuck = next(one for one in explained(tmp_path, leader, log).stuck if one.member_id == 1)

    assert (stuck.guard.partition(" ")[0].strip(":"), stuck.page) == (guard, page)
    said = [sentence.text for sentence in stuck.sentences]
    assert [text for text in texts if text not in said] == []


@pytest.mark.parametrize("wins", [True, False])
def test_a_ballot_that_a_majority_won_is_not_stuck(tmp_path: Path, wins: bool) -> None:
    """A majority wins only after the election timeout, and members act late on timeouts."""
    one_second = '{"properties": {"aeron.cluster.election.timeout": "1s"}}'
    (tmp_path / "config.json").write_text(one_second)
    log = StoryLog(0)
    log.start(100.0)
    log.election(100.0, "node started", LOG)
    log.state(101.0, "CANVASS NOMINATE CANDIDATE_BALLOT", candidate=1, log=LOG)
    log.voted(101.1, 1, 1, LOG, vote=wins)
    then = "LEADER_LOG_REPLICATION LEADER_REPLAY LEADER_INIT LEADER_READY" if wins else "CANVASS"
    log.state(102.5, f"CANDIDATE_BALLOT {then}", leader=0, term=1, log=LOG)

    stuck = explained(tmp_path, log, StoryLog(1), StoryLog(2)).stuck

    assert [one.state for one in stuck] == ([] if wins else ["CANDIDATE_BALLOT"])


def test_a_stuck_member_has_the_reason_of_the_line_with_which_it_entered_its_state(
    tmp_path: Path,
) -> None:
    reason = "WARN - followerLogAwait - joinPosition=192 greater than logPosition=96"
    log = StoryLog(1)
    log.start(100.0)
    log.election(100.0, "node started", LOG)
    path = "CANVASS FOLLOWER_REPLAY FOLLOWER_LOG_INIT FOLLOWER_LOG_AWAIT"
    log.state(101.0, path, leader=0, term=1, log=LOG)
    log.state(101.1, "FOLLOWER_LOG_AWAIT INIT", leader=0, term=1, log=LOG, reason=reason)
    log.state(125.0, "INIT CANVASS", log=LOG)

    [stuck] = explained(tmp_path, StoryLog(0), log).stuck

    [_, entered] = stuck.sentences
    assert entered.text == f"It entered INIT with the reason: {reason}."
    assert [line.line for line in entered.evidence] == [7]


def _followed(until: float) -> tuple[StoryLog, StoryLog, StoryLog]:
    """A leader with two followers; the leader's log grows by 96 each second from 104 s on."""
    logs = StoryLog(0), StoryLog(1), StoryLog(2)
    lead(logs[0], logs[1:], 100.0, 103.0)
    for second in range(104, int(until)):
        logs[0].appended(second, 1, 0, 96 * (second - 102))
        logs[1].committed(second + 0.1, 0, 0, 96 * (second - 102))
    return logs


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_follower_that_records_nothing_while_others_do_stands_still(
    tmp_path: Path, goes_on: bool
) -> None:
    leader, one, two = _followed(160.0)
    for second in range(104, 160):
        stands = second < 140 or not goes_on
        leader.appended(second + 0.5, 2, 0, 96 if stands else 96 * (second - 102))
    leader.lines.sort(key=lambda line: line[:15])
    [report] = explained(tmp_path, leader, one, two).stuck

    assert (report.kind, report.member_id, report.state) == ("standstill", 2, "")
    assert 102.0 <= report.from_ns / 1e9 <= 104.0
    assert (report.until_ns is not None) == goes_on
    assert "it reported 96 while others had the log up to" in report.sentences[0].text


def test_a_follower_that_lags_but_records_does_not_stand_still(tmp_path: Path) -> None:
    leader, one, two = _followed(160.0)
    for second in range(104, 160):
        leader.appended(second + 0.5, 2, 0, 96 + 96 * ((second - 102) // 8))
    leader.lines.sort(key=lambda line: line[:15])

    assert explained(tmp_path, leader, one, two).stuck == ()


def test_a_follower_that_is_stopped_while_the_log_grows_does_not_stand_still(
    tmp_path: Path,
) -> None:
    """It reports nothing: its process has ended, which other lines show."""
    assert explained(tmp_path, *_followed(160.0)).stuck == ()


def test_the_line_since_when_it_stands_is_named(tmp_path: Path) -> None:
    leader, one, two = _followed(160.0)
    for second in range(104, 160):
        leader.appended(second + 0.5, 2, 0, 96)
    leader.lines.sort(key=lambda line: line[:15])
    [report] = explained(tmp_path, leader, one, two).stuck
    first = report.sentences[0].evidence[0]

    line = leader.lines[first.line - 1]
    assert (first.member_id, "followerMemberId=2" in line, "logPosition=96 " in line) == (
        0, True, True,
    )  # fmt: skip

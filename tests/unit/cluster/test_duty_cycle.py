"""The duty cycle and its clocks: what is done when, and in which order."""

from __future__ import annotations

from collections import deque

import pytest
from msgspec.structs import replace

from canvass.cluster.clocks import MILLISECOND_NS, SECOND_NS, SLOW_TICK_NS, Clocks, Timing
from canvass.cluster.duty_cycle import DutyCycle, LogPart, Offer, Received
from canvass.cluster.effects import Outcome
from canvass.cluster.member import ElectionState, Input, Member, Role
from canvass.cluster.messages import (
    NULL_VALUE,
    AppendPosition,
    CanvassPosition,
    CommitPosition,
    Message,
    NewLeadershipTerm,
    RequestVote,
    Vote,
)
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member

MS, S = MILLISECOND_NS, SECOND_NS
TIMING = Timing()
RULES = Rules.of("hardened")
NEW_TERM = NewLeadershipTerm(-1, 0, 0, 0, 0, 0, 0, 0, 1)


class Desk:
    """A port whose every answer is laid out by the test."""

    def __init__(self) -> None:
        self.inbox: deque[Received] = deque()
        self.offers: deque[Offer] = deque()
        self.recorded = 0
        self.joined = NULL_VALUE
        self.closed: bool | None = None
        self.taken: list[str] = []
        self.sent: list[Message] = []
        self.active = True

    def poll(self) -> Received | None:
        return self.inbox.popleft() if self.inbox else None

    def accepts(self, to: int) -> bool:
        return True

    def recorded_position(self) -> int:
        return self.recorded

    def log_part(self, position: int, bound: int, limit: int) -> LogPart | None:
        return None

    def log_join_position(self) -> int:
        return self.joined

    def log_closed(self) -> bool | None:
        return self.closed

    def add_live_destination(self) -> None:
        pass

    def poll_ingress(self) -> Offer | None:
        return self.offers.popleft() if self.offers else None

    def is_active(self) -> bool:
        return self.active

    def poll_termination(self) -> bool:
        return False

    def nomination_delay_ns(self, limit_ns: int) -> int:
        return limit_ns - 1

    def adopt(
        self, now_ns: int, action: str, x: Input, sender: int, number: int, outcome: Outcome
    ) -> None:
        self.taken.append(action)
        self.sent += [send.message for send in outcome.sends]

    def arrive(self, sender: int, message: Message) -> None:
        self.inbox.append(Received(sender, 0, message))


@pytest.fixture
def desk() -> Desk:
    return Desk()


def started(desk: Desk, member_count: int = 3) -> DutyCycle:
    rules = Rules.of("hardened", member_count)
    duty = DutyCycle(rules, 0, TIMING, persistent_member(rules), desk)
    duty.start(0)
    desk.taken.clear()
    return duty


def leading(desk: Desk) -> DutyCycle:
    """Member 0 leads term 0 outside elections, with an empty log."""
    duty = started(desk)
    duty.member = replace(
        duty.member,
        election_state=ElectionState.CLOSED,
        role=Role.LEADER,
        leader_member_id=0,
        leadership_term_id=0,
        module_leadership_term_id=0,
        publication_position=0,
    )
    return duty


def state_of(duty: DutyCycle) -> ElectionState:
    return duty.member.election_state


def followed(desk: Desk) -> DutyCycle:
    """Member 0 as a closed follower of member 1 in term 0, at 0 ns."""
    duty = started(desk)
    duty.do_work(0)
    desk.arrive(1, NEW_TERM)
    desk.joined = 0
    for _ in range(6):
        duty.do_work(0)
    assert state_of(duty) is ElectionState.CLOSED
    desk.taken.clear()
    return duty


def test_a_member_canvasses_at_once_and_then_each_interval(desk: Desk) -> None:
    duty = started(desk)
    for now_ns in (0, 50 * MS, 99 * MS, 100 * MS, 150 * MS, 200 * MS):
        duty.do_work(now_ns)

    assert desk.taken == ["Canvass", "Canvass", "Canvass"]


def test_a_cycle_without_anything_to_do_takes_no_step(desk: Desk) -> None:
    duty = started(desk)
    duty.do_work(0)

    assert not duty.do_work(1)
    assert desk.taken == ["Canvass"]


def test_slow_tick_is_due_after_ten_milliseconds_or_at_once_if_it_did_something(desk: Desk) -> None:
    duty = followed(desk)
    duty.do_work(SLOW_TICK_NS)
    assert duty.slow_tick_deadline_ns == 2 * SLOW_TICK_NS

    desk.recorded = 96
    duty.do_work(2 * SLOW_TICK_NS)
    assert duty.slow_tick_deadline_ns == 2 * SLOW_TICK_NS + 1


def test_a_cycle_does_slow_tick_work_then_reads_messages_then_does_the_work_of_its_state(
    desk: Desk,
) -> None:
    duty = followed(desk)
    desk.arrive(1, CommitPosition(0, 0, 1))  # It would have kept the follower from canvassing.
    duty.do_work(10 * S)

    assert desk.taken == ["EnterElection", "OnCommitPosition", "Canvass"]


def test_first_canvass_waits_for_all_until_the_startup_timeout(desk: Desk) -> None:
    duty = started(desk)
    desk.arrive(1, CanvassPosition(-1, 0, -1, 1))
    duty.do_work(60 * S - 1)
    assert state_of(duty) is ElectionState.CANVASS

    duty.do_work(60 * S)
    assert state_of(duty) is ElectionState.NOMINATE


def test_nominee_stands_when_the_delay_drawn_has_passed(desk: Desk) -> None:
    duty = started(desk)
    for j in (1, 2):
        desk.arrive(j, CanvassPosition(-1, 0, -1, j))
    duty.do_work(0)
    duty.do_work(500 * MS - 2)
    assert state_of(duty) is ElectionState.NOMINATE

    duty.do_work(500 * MS - 1)
    assert state_of(duty) is ElectionState.CANDIDATE_BALLOT


def test_at_most_ten_messages_are_handled_in_a_cycle(desk: Desk) -> None:
    duty = started(desk)
    for _ in range(12):
        desk.arrive(1, CanvassPosition(-1, 0, -1, 1))
    duty.do_work(0)

    assert desk.taken == ["OnCanvassPosition"] * 10 + ["Canvass"]


def test_follower_waits_for_its_leader_for_the_heartbeat_timeout(desk: Desk) -> None:
    duty = followed(desk)
    duty.do_work(10 * S - 1)
    assert state_of(duty) is ElectionState.CLOSED

    desk.arrive(1, CommitPosition(0, 0, 1))
    duty.do_work(10 * S - 1)
    duty.do_work(20 * S - 2)
    assert state_of(duty) is ElectionState.CLOSED

    duty.do_work(20 * S + SLOW_TICK_NS)
    assert "EnterElection" in desk.taken


def test_follower_reports_when_it_has_recorded_more_or_the_interval_has_passed(desk: Desk) -> None:
    duty = followed(desk)
    duty.do_work(1 * MS)
    assert desk.taken == []

    desk.recorded = 96
    duty.do_work(2 * MS)
    duty.do_work(202 * MS - 1)
    assert desk.taken == ["RecordLog", "UpdateFollowerPosition"]

    duty.do_work(202 * MS)
    assert desk.taken[2:] == ["UpdateFollowerPosition"]


def test_what_is_recorded_is_taken_up_before_a_message_that_begins_an_election(desk: Desk) -> None:
    duty = followed(desk)
    desk.recorded = 96
    desk.arrive(2, RequestVote(0, 96, 5, 2))
    duty.do_work(1)

    assert desk.taken[:2] == ["RecordLog", "OnRequestVote"]
    assert duty.member.append_position == 96


def test_end_of_the_log_stream_tells_whether_the_leader_has_closed_in_good_order(
    desk: Desk,
) -> None:
    duty = followed(desk)
    desk.closed = True
    duty.do_work(1 * MS)

    assert "EnterElection" in desk.taken
    assert duty.member.graceful_closed_leader_id == 1


def test_log_that_is_joined_elsewhere_is_an_error(desk: Desk) -> None:
    duty = started(desk)
    desk.arrive(1, NEW_TERM)
    desk.joined = 96
    for _ in range(6):
        duty.do_work(0)

    assert "ElectionError" in desk.taken


def test_log_that_cannot_be_joined_is_an_error_after_the_heartbeat_timeout(desk: Desk) -> None:
    duty = started(desk)
    desk.arrive(1, NEW_TERM)
    for now_ns in (0, 0, 0, 0, 10 * S - 1):
        duty.do_work(now_ns)
    assert state_of(duty) is ElectionState.FOLLOWER_LOG_AWAIT

    duty.do_work(10 * S)
    assert "ElectionError" in desk.taken


@pytest.mark.parametrize(
    ("waiting", "place"),
    [
        (ElectionState.LEADER_LOG_REPLICATION, Role.LEADER),
        (ElectionState.LEADER_READY, Role.LEADER),
        (ElectionState.FOLLOWER_REPLAY, Role.FOLLOWER),
    ],
)
@pytest.mark.parametrize(("revision", "gives_up"), [("hardened", True), ("1.50", False)])
def test_waits_without_a_deadline_have_one_where_all_hardenings_are_in_force(
    desk: Desk, waiting: ElectionState, place: Role, revision: str, gives_up: bool
) -> None:
    """L-A and L-B: for a quorum, and for a commit position."""
    rules = Rules.of(revision)
    duty = DutyCycle(rules, 0, TIMING, persistent_member(rules), desk)
    duty.start(0)
    leader = 0 if place is Role.LEADER else 1
    duty.member = replace(
        duty.member,
        election_state=waiting,
        role=place,
        leader_member_id=leader,
        leadership_term_id=1,
        candidate_term_id=1,
        recorded_position=96,
        append_position=96,
        publication_position=96 if waiting is ElectionState.LEADER_READY else NULL_VALUE,
    )
    desk.recorded = 96
    duty.do_work(1 * MS)
    for now_ns in (5 * S, 10 * S):
        duty.do_work(now_ns)
    assert "ElectionError" not in desk.taken
    duty.do_work(10 * S + 1 * MS)

    assert ("ElectionError" in desk.taken) is gives_up


def test_a_later_canvass_waits_for_ten_seconds_after_the_last_message_of_a_leader() -> None:
    clocks = clocks_at(0)
    canvasses = replace(candidate(), election_state=ElectionState.CANVASS)
    clocks.now_ns = 59 * S
    assert not clocks.state_timeout(canvasses)
    clocks.on_transition(canvasses, replace(canvasses, election_state=ElectionState.NOMINATE))
    clocks.on_message(canvasses, 1, NewLeadershipTerm(-1, 0, 0, 0, 9, 0, 0, 0, 1))
    clocks.on_transition(candidate(), canvasses)
    clocks.now_ns = 69 * S - 1
    assert not clocks.state_timeout(canvasses)

    clocks.now_ns = 69 * S
    assert clocks.state_timeout(canvasses)


def test_a_position_that_is_not_known_stalls_from_the_last_change_of_state_on() -> None:
    clocks = clocks_at(50 * S)
    before = candidate()
    after = replace(before, election_state=ElectionState.LEADER_LOG_REPLICATION)
    clocks.on_transition(before, after)
    assert not clocks.has_stalled(NULL_VALUE)

    clocks.now_ns = 60 * S
    assert clocks.has_stalled(NULL_VALUE)


@pytest.mark.parametrize(("revision", "keeps"), [("hardened", False), ("1.50", True)])
@pytest.mark.parametrize("promised", [2, 3])
def test_a_leader_of_a_lower_term_than_was_promised_does_not_keep_from_standing(
    revision: str, keeps: bool, promised: int
) -> None:
    clocks = Clocks(Rules.of(revision), TIMING, 0, lambda limit_ns: limit_ns)
    clocks.now_ns = 5
    canvasses = replace(
        candidate(), election_state=ElectionState.CANVASS, candidate_term_id=promised
    )
    clocks.on_message(canvasses, 1, NewLeadershipTerm(-1, 0, 0, 0, 2, 0, 0, 0, 1))

    assert (clocks.last_leader_update_ns == 5) is (keeps or promised == 2)


@pytest.mark.parametrize("active", [True, False])
def test_a_leader_looks_for_its_quorum_while_its_module_is_active(desk: Desk, active: bool) -> None:
    duty = leading(desk)
    desk.active = active
    duty.do_work(1 * S)

    assert ("EnterElection" in desk.taken) is active


def test_a_leader_tells_the_commit_position_when_it_changes_or_the_interval_has_passed(
    desk: Desk,
) -> None:
    duty = leading(desk)
    duty.member = replace(
        duty.member,
        publication_position=96,
        members=tuple(
            replace(record, leadership_term_id=0, log_position=0) for record in duty.member.members
        ),
    )
    desk.arrive(1, AppendPosition(0, 0, 1, 0))
    duty.do_work(1 * MS)
    assert desk.sent == [CommitPosition(0, 0, 0)] * 2
    duty.do_work(201 * MS - 1)
    assert len(desk.sent) == 2
    duty.do_work(201 * MS)
    assert len(desk.sent) == 4

    desk.recorded = 96
    desk.arrive(1, AppendPosition(0, 96, 1, 0))
    duty.do_work(202 * MS)
    assert desk.sent[4:] == []  # The leader ranks its own position of the cycle before.
    duty.do_work(203 * MS)
    assert desk.sent[4:] == [CommitPosition(0, 96, 0)] * 2


def test_single_member_leads_and_writes_what_is_offered(desk: Desk) -> None:
    duty = started(desk, 1)
    for _ in range(5):
        duty.do_work(0)
    desk.recorded = 96
    desk.offers += (Offer(64), Offer(128))
    duty.do_work(1 * MS)
    duty.do_work(2 * MS)

    assert duty.member.role is Role.LEADER
    assert duty.member.publication_position == 96 + 64 + 128
    assert duty.member.commit_position == 96


def test_nothing_is_written_between_a_request_for_a_snapshot_and_the_snapshot(desk: Desk) -> None:
    duty = started(desk, 1)
    for _ in range(5):
        duty.do_work(0)
    desk.offers += (Offer(96, snapshot=True), Offer(64))
    desk.recorded = 96
    duty.do_work(1 * MS)
    assert duty.member.publication_position == 192

    desk.recorded = 192
    duty.do_work(2 * MS)
    duty.do_work(3 * MS)
    assert duty.member.snapshot_log_position == 192

    duty.do_work(4 * MS)
    assert duty.member.publication_position == 256


def clocks_at(now_ns: int) -> Clocks:
    clocks = Clocks(RULES, TIMING, 0, lambda limit_ns: limit_ns)
    clocks.now_ns = now_ns
    return clocks


def test_member_is_active_for_less_than_the_heartbeat_timeout() -> None:
    clocks = clocks_at(10 * S)
    clocks.heard_ns = [0, 1, 10 * S]

    assert clocks.active() == {1, 2}


@pytest.mark.parametrize(
    ("message", "counts"),
    [
        (CanvassPosition(-1, 0, -1, 1), True),
        (Vote(3, 0, 0, 0, 1, vote=True), True),
        (Vote(2, 0, 0, 0, 1, vote=True), False),
        (Vote(3, 0, 0, 2, 1, vote=True), False),
        (RequestVote(0, 0, 9, 1), False),
    ],
)
def test_candidate_counts_as_heard_of_whose_report_it_notes(message: Message, counts: bool) -> None:
    clocks = clocks_at(5)
    clocks.on_message(candidate(), 1, message)

    assert (clocks.heard_ns[1] == 5) is counts


def candidate() -> Member:
    from canvass.cluster.core import step

    begun = step(RULES, 0, persistent_member(RULES), "Restart", Input())
    assert begun is not None
    return replace(begun.next, election_state=ElectionState.CANDIDATE_BALLOT, candidate_term_id=3)


def test_a_position_stalls_when_it_has_not_advanced_for_the_heartbeat_timeout() -> None:
    clocks = clocks_at(0)
    assert not clocks.has_stalled(0)

    clocks.now_ns = 10 * S - 1
    assert not clocks.has_stalled(0)
    assert not clocks.has_stalled(32)

    clocks.now_ns = 20 * S - 2
    assert not clocks.has_stalled(32)
    clocks.now_ns = 20 * S - 1
    assert clocks.has_stalled(32)


@pytest.mark.parametrize("wrong", [(0, 1, 1, 1, 1, 1), (19, 1, 1, 10, 1, 1)])
def test_timing_that_cannot_work_is_refused(wrong: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"positive|two leader heartbeat timeouts"):
        Timing(*wrong)

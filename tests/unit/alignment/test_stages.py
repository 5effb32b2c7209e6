"""The stages of the alignment, each by itself."""

from __future__ import annotations

from dataclasses import replace as replace_fields
from functools import cache
from itertools import pairwise

import pytest
from msgspec.structs import replace

from canvass.cluster.core import step
from canvass.cluster.member import (
    NO_INPUT,
    ElectionState,
    Input,
    Member,
    ModuleState,
    Role,
    TermEntry,
)
from canvass.cluster.messages import (
    CATCHUP_FLAG,
    NULL_VALUE,
    AppendPosition,
    CanvassPosition,
    CommitPosition,
    Message,
    NewLeadershipTerm,
    StopCatchup,
    Vote,
)
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member
from canvass.traces.aeron_log import records
from canvass.traces.alignment import repairs
from canvass.traces.alignment.channel_matching import SCANS, Matching, Receipt, match
from canvass.traces.alignment.cluster_facts import ClusterFacts, cluster_facts
from canvass.traces.alignment.member_lines import member_lines
from canvass.traces.alignment.possible_steps import Moves
from canvass.traces.alignment.printing import printed_lines
from canvass.traces.alignment.replay import PathStep, PositionBounds, Replay, Trajectory
from canvass.traces.alignment.schedule import Conflict, Schedule
from canvass.traces.alignment.segment_search import Solution, move_left, with_early_ticks
from canvass.traces.alignment.send_windows import AFTER, SLOTS, Windows
from canvass.traces.alignment.unmatched import decide_unmatched
from support.aeron_runs import ALL_EVENTS, SAMPLES, lines_of_logs, read_cluster

RULES = Rules(3)


@cache
def facts() -> ClusterFacts:
    return cluster_facts(lines_of_logs(SAMPLES[0]))


@cache
def windows() -> dict[int, Windows]:
    found = {}
    for i, lines in lines_of_logs(SAMPLES[0]).items():
        replay = Replay(RULES, lines, facts())
        trajectory = replay.run()
        move_left(trajectory, replay.moves)
        found[i] = Windows(trajectory, replay.moves)
    return found


def started() -> Member:
    outcome = step(RULES, 0, persistent_member(RULES), "Restart", NO_INPUT)
    assert outcome is not None
    return outcome.next


def test_a_start_prints_the_election_and_its_first_change() -> None:
    before = persistent_member(RULES)
    outcome = step(RULES, 0, before, "Restart", NO_INPUT)
    assert outcome is not None

    kinds = [line.kind for line in printed_lines("Restart", before, outcome)]
    assert kinds == [records.NewElection, records.ElectionStateChange]


def test_a_tick_that_changes_nothing_prints_nothing() -> None:
    before = started()
    outcome = step(RULES, 0, before, "Canvass", Input(interval=True))
    assert outcome is not None

    assert outcome.sends
    assert printed_lines("Canvass", before, outcome) == ()


def test_a_lower_bound_never_exceeds_the_upper_one() -> None:
    for one in windows().values():
        for taken, upper in zip(one.steps, one.bounds, strict=True):
            assert taken.state.recorded_position <= upper.recorded_position
            assert taken.state.commit_position <= upper.commit_position


def test_each_receipt_has_a_window_and_windows_keep_the_order_of_the_channel() -> None:
    matching = match(windows())

    assert matching.unmatched == []
    for receipts in matching.channels.values():
        places = [one.earliest for one in receipts]
        assert places == sorted(places)
        assert all(one.earliest <= one.latest for one in receipts)


@pytest.mark.parametrize(
    ("waits_for", "causes"),
    [
        ({0: 4, 4: 3, 3: 0, 1: 3, 2: 1}, [0, 4, 3]),
        ({0: 2, 2: NULL_VALUE, 1: 0}, [2]),
        ({0: 1, 2: 1}, [0, 2]),
        ({0: NULL_VALUE, 1: 2, 2: 1}, [0, 1, 2]),
    ],
)
def test_members_that_wait_for_each_other_or_for_none_cause_the_conflicts(
    waits_for: dict[int, int], causes: list[int]
) -> None:
    """In the third case member 1 has reached its end and does not help the others."""
    schedule = Schedule({}, Matching())
    schedule.conflicts = [Conflict(i, 0, "", j) for i, j in waits_for.items()]

    found = Solution({}, Matching(), schedule).causes()
    assert [conflict.member_id for conflict in found] == causes


def test_sends_of_a_trajectory_are_not_computed_again() -> None:
    """A search with many inferred receipts matches nearly the same trajectories many times."""
    replays = {i: Replay(RULES, one, facts()) for i, one in lines_of_logs(SAMPLES[0]).items()}
    trajectories = {i: one.run() for i, one in replays.items()}
    counts = [sum(one.moves.core_steps for one in replays.values())]
    for _ in range(2):
        match({i: Windows(trajectories[i], one.moves) for i, one in replays.items()})
        counts.append(sum(one.moves.core_steps for one in replays.values()))
    first, second = (after - before for before, after in pairwise(counts))

    assert second < first / 4


def test_an_impossible_commit_position_has_no_window() -> None:
    assert all(
        one.first(0, to, CommitPosition(0, 1 << 50, i)) is None
        for i, one in windows().items()
        for to in windows()
        if to != i
    )


def test_two_gaps_cost_more_than_a_false_line_and_one_small_gap_less() -> None:
    gap = repairs.GAP + repairs.MISSING_LINE

    assert gap < repairs.FALSE_LINE < 2 * gap


def walked(rules: Rules, before: Member, *moves: tuple[str, Input], member_id: int = 0) -> Windows:
    """The windows of a member after some steps, none of which a line shows."""
    lines = lines_of_logs(SAMPLES[0])[member_id]
    steps: list[PathStep] = []
    for action, given in moves:
        outcome = step(rules, member_id, steps[-1].state if steps else before, action, given)
        assert outcome is not None, action
        steps.append(PathStep(action, given, outcome))
    return Windows(Trajectory(lines, before, steps), Moves(rules, lines, facts()))


def test_a_member_in_its_election_can_have_sent_a_stop_catchup() -> None:
    report = AppendPosition(NULL_VALUE, 0, 1, CATCHUP_FLAG)
    found = walked(RULES, started(), ("OnAppendPosition", Input(message=report)))

    assert found.first(0, 1, StopCatchup(NULL_VALUE, 1)) is not None
    assert found.first(0, 2, StopCatchup(NULL_VALUE, 2)) is None


@pytest.mark.parametrize("terms", [(NULL_VALUE, 0), (0, NULL_VALUE)])
def test_a_member_that_canvasses_can_have_answered_reports_of_each_term(
    terms: tuple[int, int],
) -> None:
    found = walked(RULES, DISK, ("Restart", NO_INPUT))
    found.silent_messages = frozenset({"AppendPosition"})

    for term in terms:
        assert found.sends_after(0, 1, StopCatchup(term, 1))


def test_a_senders_steps_are_looked_through_so_many_times_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Receipts that nobody can have sent would each cost a look at all steps of their sender."""
    never = Input(message=CommitPosition(5, 64, 0))
    ticks, receipts = 400, 100
    found = {
        0: walked(RULES, started(), *[("Canvass", Input(interval=True))] * ticks),
        1: walked(RULES, started(), *[("OnCommitPosition", never)] * receipts, member_id=1),
    }
    looks = []
    look = Windows.first

    def counted(
        one: Windows, place: int, to: int, m: Message, stop: int | None = None
    ) -> int | None:
        looks.append((to, m))
        return look(one, place, to, m, stop)

    monkeypatch.setattr(Windows, "first", counted)
    matching = match(found)

    assert len(matching.unmatched) == receipts
    assert len(looks) == SCANS * (ticks + receipts) // ticks + 1


def test_a_candidate_that_wins_has_the_votes_that_others_granted() -> None:
    logs = read_cluster([SAMPLES[0]])
    vocabulary = replace_fields(ALL_EVENTS, kinds=ALL_EVENTS.kinds - {records.Vote})
    lines = {i: member_lines(log, vocabulary) for i, log in logs.members.items()}
    known = cluster_facts(lines)
    (leader, term), granted = next(iter(known.votes.items()))
    steps = Replay(RULES, lines[leader], known).run().steps

    votes = [m for one in steps if isinstance(m := one.given.message, Vote)]
    assert {m.follower_member_id for m in votes if m.candidate_term_id == term} == set(granted)
    assert len(granted) == 2


RULES_149 = Rules(3, "1.49")
DISK = replace(
    persistent_member(RULES_149), recording_log=(TermEntry(0, 0, NULL_VALUE),), recorded_position=64
)


def elected(term: int) -> list[tuple[str, Input]]:
    """The steps of member 0 from CANVASS to LEADER_REPLAY, with the vote of member 1."""
    return [
        ("OnCanvassPosition", Input(message=CanvassPosition(term - 1, 64, term - 1, 1))),
        ("Canvass", Input(timeout=True)),
        ("Nominate", Input(timeout=True)),
        ("OnVote", Input(message=Vote(term, term - 1, 64, 0, 1, True))),
        ("CandidateBallot", Input(timeout=True)),
        ("LeaderLogReplication", Input(active=frozenset(range(3)))),
    ]


def test_a_leader_begins_its_replay_before_it_receives_reports() -> None:
    found = walked(
        RULES_149,
        DISK,
        ("Restart", NO_INPUT),
        *elected(1),
        ("OnAppendPosition", Input(message=AppendPosition(1, 64, 1, 0))),
        ("LeaderReplay", NO_INPUT),
    )
    message = CommitPosition(NULL_VALUE, 64, 0)
    begun = with_early_ticks(found.trajectory, found.moves)

    assert begun is not None
    assert [one.action for one in begun.steps[-2:]] == ["LeaderReplay", "OnAppendPosition"]
    assert not found.sends_after(8, 1, message)
    assert Windows(begun, found.moves).sends_after(8, 1, message)
    assert found.slot(8, 1, message) == -1


def test_commit_positions_of_another_term_are_looked_for_without_the_core() -> None:
    for i, one in windows().items():
        asked = one.moves.core_steps
        for t, found in enumerate(one.steps):
            if found.state.election_state is ElectionState.CLOSED:
                assert not one.sends_after(t, (i + 1) % 3, CommitPosition(9, 96, i))
        assert one.moves.core_steps == asked


def test_a_follower_begins_to_copy_though_no_own_line_asks_for_it() -> None:
    announced = NewLeadershipTerm(0, 1, 128, NULL_VALUE, 1, 128, 128, NULL_VALUE, 1)
    found = walked(
        RULES_149,
        DISK,
        ("Restart", NO_INPUT),
        ("OnNewLeadershipTerm", Input(message=announced)),
        ("OnCommitPosition", Input(message=CommitPosition(1, 64, 1))),
    )
    report = AppendPosition(1, 64, 0, 0)
    begun = with_early_ticks(found.trajectory, found.moves)

    assert found.first(0, 1, report) is None
    assert begun is not None
    assert [one.action for one in begun.steps[2:]] == ["FollowerLogReplication", "OnCommitPosition"]
    assert Windows(begun, found.moves).first(0, 1, report) is not None


def test_a_step_that_changes_the_election_state_sends_nothing_before_it() -> None:
    found = walked(RULES_149, DISK, ("Restart", NO_INPUT), *elected(1))
    message = CommitPosition(NULL_VALUE, 64, 0)

    assert found.steps[5].action == "CandidateBallot"
    assert found.slot(5, 1, message) == -1
    assert not found.sends_after(5, 1, message)
    assert found.slot(6, 1, message) >= 0


def test_a_closed_leader_does_not_wait_for_the_commit_positions_of_its_next_election() -> None:
    report = AppendPosition(1, 64, 1, 0)
    found = walked(
        RULES_149,
        DISK,
        ("Restart", NO_INPUT),
        *elected(1),
        ("LeaderReplay", NO_INPUT),
        (
            "OnReplayNewLeadershipTermEvent",
            Input(position=32, leadership_term_id=0, term_base_log_position=0),
        ),
        ("ConsumeLog", Input(position=64)),
        ("LeaderReplay", NO_INPUT),
        ("LeaderInit", NO_INPUT),
        ("OnAppendPosition", Input(message=report)),
        ("LeaderReady", Input(position=96, timeout=True)),
        ("EnterElection", NO_INPUT),
        *elected(2),
    )
    closed = 13
    receipts = [Receipt(0, CommitPosition(1, 64, 0)), Receipt(0, CommitPosition(1, 64, 0))]
    for receipt, at in zip(receipts, (closed, len(found.steps) - 1), strict=True):
        receipt.earliest = receipt.latest = SLOTS * at + AFTER
    pending = []
    for receipt in receipts:
        schedule = Schedule({0: found, 1: found}, Matching({(0, 1): [receipt]}))
        live = schedule.members[0]
        live.state = found.steps[closed].state
        pending.append(schedule.pending_commits(live))

    assert found.steps[closed].state.election_state is ElectionState.CLOSED
    assert pending == [[64], []]


def test_others_have_recorded_what_a_follower_replays_without_its_commit() -> None:
    closed = copies_of_term(leader=1)
    windows_of = {
        i: walked(RULES_149, before, ("RecordLog", Input(position=64)), member_id=i)
        for i, before in closed.items()
    }
    for one in windows_of.values():
        vocabulary = replace_fields(ALL_EVENTS, kinds=ALL_EVENTS.kinds - {records.AppendPosition})
        one.silent_messages = vocabulary.silent_messages
        one.bounds = [PositionBounds()]
    schedule = Schedule(windows_of, Matching())
    for live in schedule.members.values():
        live.state = live.windows.steps[0].state
    schedule._record_elsewhere(schedule.members[0], 128)

    assert [schedule.members[i].state.recorded_position for i in (1, 2)] == [128, 128]


def copies_of_term(leader: int) -> dict[int, Member]:
    """Three closed members of term 0 that have recorded 32 bytes."""
    return {
        i: replace(
            DISK,
            recorded_position=32,
            module_state=ModuleState.ACTIVE,
            election_state=ElectionState.CLOSED,
            role=Role.LEADER if i == leader else Role.FOLLOWER,
            leader_member_id=leader,
            module_leadership_term_id=0,
            log_subscription=i != leader,
            publication_position=64 if i == leader else NULL_VALUE,
        )
        for i in range(3)
    }


@pytest.mark.parametrize(
    ("message", "decided"),
    [
        pytest.param(CommitPosition(NULL_VALUE, 64, 0), False, id="others may have been received"),
        pytest.param(CommitPosition(7, 64, 0), True, id="whatever was received"),
    ],
)
def test_a_receipt_is_false_if_its_sender_cannot_have_sent_it(
    message: CommitPosition, decided: bool
) -> None:
    """The sender may have received other messages than the lines show."""
    report = ("OnAppendPosition", Input(message=AppendPosition(1, 64, 1, 0)))
    sender = walked(RULES_149, DISK, ("Restart", NO_INPUT), *elected(1), report)
    sender.silent_messages = frozenset({"Vote"})
    receiver = walked(RULES_149, DISK, ("Restart", NO_INPUT))
    receiver.steps[0].lines = range(1)
    for one in (sender, receiver):
        one.trajectory.stopped = len(one.trajectory.lines.records)
    matching = Matching({}, [(0, 1, Receipt(0, message))])

    assert decide_unmatched({0: sender, 1: receiver}, matching) is decided

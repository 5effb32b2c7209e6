"""The stages of the alignment, each by itself."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from canvass.cluster.core import step
from canvass.cluster.member import NO_INPUT, Input, Member
from canvass.cluster.messages import CommitPosition
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.logs import read_cluster
from canvass.traces.alignment import costs
from canvass.traces.alignment.channel_matching import match
from canvass.traces.alignment.commuting import move_left
from canvass.traces.alignment.completeness import missing_commits
from canvass.traces.alignment.facts import ClusterFacts, cluster_facts
from canvass.traces.alignment.member_lines import MemberLines, member_lines
from canvass.traces.alignment.moves import END_OF_LIFE, TICKS
from canvass.traces.alignment.printing import printed_lines
from canvass.traces.alignment.replay import Replay
from canvass.traces.alignment.vocabulary import ALL_EVENTS, Vocabulary, vocabulary_of
from canvass.traces.alignment.windows import Windows
from support.aeron_runs import SAMPLES

RULES = Rules(3)


@cache
def lines_of_sample(path: Path = SAMPLES[0]) -> dict[int, MemberLines]:
    logs = read_cluster([path])
    return {i: member_lines(log, ALL_EVENTS) for i, log in logs.members.items()}


@cache
def facts() -> ClusterFacts:
    return cluster_facts(lines_of_sample())


@cache
def windows() -> dict[int, Windows]:
    found = {}
    for i, lines in lines_of_sample().items():
        replay, before = Replay(RULES, lines, facts()), persistent_member(RULES)
        trajectory = replay.run(before)
        move_left(trajectory, replay.moves, before)
        found[i] = Windows(trajectory, replay.moves, before)
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


def test_each_election_state_has_its_tick() -> None:
    assert [TICKS[state] for state in list(TICKS)[:2]] == ["ElectionInit", "Canvass"]
    assert len(TICKS) == 17


def test_events_that_no_log_has_are_silent_but_for_rare_ones() -> None:
    vocabulary = vocabulary_of([ALL_EVENTS.events - {records.CommitPosition, records.StopCatchup}])

    assert vocabulary.silent_messages == {"CommitPosition"}
    assert not vocabulary.prints(records.CommitPosition)
    assert vocabulary.prints(records.StopCatchup)
    assert Vocabulary(frozenset()).silent_messages >= {"Vote", "CommitPosition"}


def test_each_member_is_replayed_alone_to_its_last_line() -> None:
    for i, lines in lines_of_sample().items():
        trajectory = windows()[i].trajectory

        assert trajectory.stopped == len(lines.records)
        accounted = [index for one in trajectory.steps for index in one.lines]
        assert accounted == list(range(len(lines.records)))


def test_each_step_of_a_replay_is_one_of_the_core() -> None:
    one = windows()[0]
    state = one.before
    for taken in one.steps:
        if taken.action != END_OF_LIFE:
            outcome = one.moves.take(state, taken.action, taken.given)
            assert outcome is not None
            assert outcome.next == taken.state
        state = taken.state


def test_a_lower_bound_never_exceeds_the_upper_one() -> None:
    for one in windows().values():
        for taken, upper in zip(one.steps, one.bounds, strict=True):
            assert taken.state.recorded_position <= upper.recorded
            assert taken.state.commit_position <= upper.committed


def test_each_receipt_has_a_window_and_windows_keep_the_order_of_the_channel() -> None:
    matching = match(windows())

    assert matching.unmatched == []
    for receipts in matching.channels.values():
        places = [one.earliest for one in receipts]
        assert places == sorted(places)
        assert all(one.earliest <= one.latest for one in receipts)


def test_an_impossible_commit_position_has_no_window() -> None:
    assert all(
        one.first(0, to, CommitPosition(0, 1 << 50, i)) is None
        for i, one in windows().items()
        for to in windows()
        if to != i
    )


def test_a_true_log_lacks_no_commit_position() -> None:
    assert list(missing_commits(lines_of_sample())) == []


def test_two_gaps_cost_more_than_a_false_line_and_one_small_gap_less() -> None:
    gap = costs.GAP + costs.MISSING_LINE

    assert gap < costs.EXCHANGED_LINES < costs.FALSE_LINE < 2 * gap

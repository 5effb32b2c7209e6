"""Predicates on member records, with the peer's values. Source: ClusterMemberTest."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from canvass.cluster.member import (
    NULL_RECORD,
    ElectionState,
    Input,
    Member,
    MemberRecord,
    TermEntry,
)
from canvass.cluster.predicates import (
    bounded_quorum_position,
    compare_log,
    counted_position,
    has_quorum_at_position,
    has_voters_at_position,
    is_quorum_candidate,
    is_quorum_leader,
    is_unanimous_candidate,
    is_unanimous_leader,
    will_vote_for,
)
from canvass.cluster.quorum import is_quorum, quorum_position, quorum_size
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member


def member(*records: MemberRecord, candidate_term: int = -1, gone: int = -1) -> Member:
    empty = persistent_member(Rules.of("1.50", len(records)))
    return replace(
        empty,
        members=records,
        candidate_term_id=candidate_term,
        graceful_closed_leader_id=gone,
        election_state=ElectionState.CANVASS,
    )


def heard(term: int, position: int) -> MemberRecord:
    return replace(NULL_RECORD, leadership_term_id=term, log_position=position)


def voted(term: int, vote: int) -> MemberRecord:
    return replace(NULL_RECORD, candidate_term_id=term, vote=vote)


@pytest.mark.parametrize(
    ("count", "size"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (6, 4), (7, 4)]
)
def test_quorum_size(count: int, size: int) -> None:
    assert quorum_size(count) == size
    assert is_quorum(size, count)
    assert not is_quorum(size - 1, count)


@pytest.mark.parametrize(
    ("positions", "expected"), [((0, 123, 123), 123), ((0, 0, 123), 0), ((5, 3, 1), 3)]
)
def test_quorum_position_of_three(positions: tuple[int, ...], expected: int) -> None:
    for order in permutations(positions):
        assert quorum_position(order, 3) == expected


@pytest.mark.parametrize(
    ("heard_of", "expected"),
    [
        ([(5, 5), (2, 5), (3, 5), (2, 0), (1, 0)], 2),
        ([(5, 5), (2, 0), (3, 0), (2, 0), (1, 0)], 0),
    ],
)
def test_quorum_position_of_five_counts_active_members(
    heard_of: list[tuple[int, int]], expected: int
) -> None:
    """(position, last heard of), at time 8 with a timeout of 7."""
    active = [position for position, last in heard_of if last + 7 > 8]

    assert quorum_position(active, 5) == expected


@given(st.integers(1, 7), st.lists(st.integers(-1, 9), max_size=7))
def test_quorum_position_is_the_greatest_that_a_quorum_has_reached(
    count: int, positions: list[int]
) -> None:
    positions = positions[:count]
    reached = [p for p in range(1, 10) if is_quorum(sum(q >= p for q in positions), count)]

    assert quorum_position(positions, count) == max(reached, default=0)


def test_logs_are_compared_by_term_first() -> None:
    assert compare_log(1, 0, 0, 100) == 1
    assert compare_log(0, 100, 1, 0) == -1
    assert compare_log(1, 100, 1, 0) == 1
    assert compare_log(1, 0, 1, 100) == -1
    assert compare_log(1, 100, 1, 100) == 0


def test_nobody_votes_for_an_older_log_or_a_silent_candidate() -> None:
    candidate = heard(2, 100)

    assert will_vote_for(heard(2, 100), candidate)
    assert will_vote_for(heard(1, 200), candidate)
    assert not will_vote_for(heard(2, 101), candidate)
    assert not will_vote_for(heard(3, 0), candidate)
    assert not will_vote_for(NULL_RECORD, candidate)


def test_unanimous_candidate() -> None:
    rules, own = Rules.of("1.50"), heard(2, 100)

    assert is_unanimous_candidate(rules, 0, member(own, heard(2, 100), heard(1, 150)))
    assert not is_unanimous_candidate(rules, 0, member(own, heard(2, 100), NULL_RECORD))
    assert not is_unanimous_candidate(rules, 0, member(own, heard(2, 100), heard(2, 101)))
    assert is_unanimous_candidate(rules, 0, member(own, heard(2, 100), heard(2, 101), gone=2))


def test_unanimous_candidate_of_two_is_not_one_without_the_closed_leader() -> None:
    """The closed leader is not waited for, but it counts in what a quorum is."""
    two = member(heard(2, 100), heard(2, 100), gone=1)

    assert not is_unanimous_candidate(Rules.of("1.50", 2), 0, two)


def test_quorum_candidate_is_not_vetoed() -> None:
    rules, own = Rules.of("1.50"), heard(2, 100)

    assert is_quorum_candidate(rules, 0, member(own, heard(2, 100), heard(5, 500)))
    assert not is_quorum_candidate(rules, 0, member(own, NULL_RECORD, heard(5, 500)))


def test_unanimous_leader() -> None:
    rules, yes, no = Rules.of("1.50"), voted(7, 1), voted(7, 0)

    assert is_unanimous_leader(rules, member(yes, yes, yes, candidate_term=7))
    assert not is_unanimous_leader(rules, member(yes, yes, no, candidate_term=7))
    assert not is_unanimous_leader(rules, member(yes, yes, voted(6, 1), candidate_term=7))
    assert not is_unanimous_leader(rules, member(yes, yes, NULL_RECORD, candidate_term=7))
    assert is_unanimous_leader(rules, member(yes, yes, no, candidate_term=7, gone=2))
    assert not is_unanimous_leader(Rules.of("1.50", 2), member(yes, no, candidate_term=7, gone=1))


def test_quorum_leader_is_vetoed_by_one_vote_against() -> None:
    rules, yes, no = Rules.of("1.50"), voted(7, 1), voted(7, 0)

    assert is_quorum_leader(rules, member(yes, yes, NULL_RECORD, candidate_term=7))
    assert not is_quorum_leader(rules, member(yes, yes, no, candidate_term=7))
    assert is_quorum_leader(rules, member(yes, yes, voted(6, 0), candidate_term=7))
    assert not is_quorum_leader(rules, member(yes, voted(6, 1), voted(8, 1), candidate_term=7))


def test_quorum_at_a_position_is_in_exactly_that_term() -> None:
    rules = Rules.of("1.50")
    three = member(heard(2, 100), heard(2, 150), heard(3, 100))
    everybody = frozenset({0, 1, 2})

    assert has_quorum_at_position(rules, three, 2, 100, everybody)
    assert not has_quorum_at_position(rules, three, 2, 100, frozenset({0, 2}))
    assert not has_quorum_at_position(rules, three, 2, 101, everybody)
    assert not has_quorum_at_position(rules, three, 3, 100, everybody)
    assert has_quorum_at_position(Rules.of("1.49"), three, 2, 100, frozenset())


def test_voters_at_a_position_are_those_of_the_ballot() -> None:
    own = MemberRecord(2, 100, 2, 1, False, False)
    other = MemberRecord(2, 90, 2, 1, False, False)

    assert has_voters_at_position(member(own, own, NULL_RECORD), 2, 100)
    assert not has_voters_at_position(member(own, other, NULL_RECORD), 2, 100)


def test_a_leader_is_not_bounded_in_149_and_does_not_forget_the_silent() -> None:
    three = member(heard(2, 100), heard(2, 150), heard(2, 150))

    assert bounded_quorum_position(Rules.of("1.50"), three, 2, 100, frozenset({0, 1, 2})) == 100
    assert bounded_quorum_position(Rules.of("1.50"), three, 2, 100, frozenset({0})) == 0
    assert bounded_quorum_position(Rules.of("1.49"), three, 2, 100, frozenset({0})) == 150


@pytest.mark.parametrize(
    ("report", "counted"),
    [
        (heard(4, 1000), 1000),
        (heard(2, 1000), 700),
        (heard(2, 600), 600),
        (heard(3, 1000), 800),
        (heard(5, 1000), 0),
        (NULL_RECORD, -1),
    ],
)
def test_a_report_counts_for_what_is_surely_the_leaders_log(
    report: MemberRecord, counted: int
) -> None:
    """The leader of term 4, at 800, has term 2 up to 700 and term 3 open. Hazard HZ1."""
    log = (TermEntry(2, 0, 700), TermEntry(3, 700, -1))
    leader = replace(member(*[NULL_RECORD] * 3), recording_log=log)

    assert counted_position(Rules.of("hardened"), leader, 4, 800, report) == counted
    assert counted_position(Rules.of("1.50"), leader, 4, 800, report) == report.log_position


def test_an_input_is_empty_unless_said_otherwise() -> None:
    assert Input() == Input(message=None, position=-1, active=frozenset())

"""Quorums of any size, and what a report counts. The edges of graphs show the other predicates."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from canvass.cluster.member import NULL_RECORD, TermEntry
from canvass.cluster.predicates import counted_position, is_quorum, quorum_position, quorum_size
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member


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


@pytest.mark.parametrize(
    ("term", "position", "counted"),
    [(4, 1000, 1000), (2, 1000, 700), (2, 600, 600), (3, 1000, 800), (5, 1000, 0), (-1, -1, -1)],
)
def test_a_report_counts_for_what_is_surely_the_leaders_log(
    term: int, position: int, counted: int
) -> None:
    """The leader of term 4, at 800, has term 2 up to 700 and term 3 open. Hazard HZ1."""
    report = replace(NULL_RECORD, leadership_term_id=term, log_position=position)
    log = (TermEntry(2, 0, 700), TermEntry(3, 700, -1))
    leader = replace(persistent_member(Rules.of("1.50")), recording_log=log)

    assert counted_position(Rules.of("hardened"), leader, 4, 800, report) == counted
    assert counted_position(Rules.of("1.50"), leader, 4, 800, report) == position

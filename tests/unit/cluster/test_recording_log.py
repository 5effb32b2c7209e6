"""The recording log against the peer's test vectors and an explicit list of entries.

Source: RecordingLogTest; the entries that Aeron fills a gap with are implied here, so they are
asked for by `find_term_entry`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canvass.cluster.member import TermEntry
from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.recording_log import (
    NO_TERM_ENTRY,
    RecordingLog,
    commit_log_position,
    ensure_coherent,
    find_term_entry,
    last_term,
)


def is_coherent(log: Sequence[TermEntry]) -> bool:
    """Whether terms rise, each term begins where the previous one ends, and only the last one is
    open.
    """
    return all(
        entry.log_position == NULL_VALUE or entry.term_base_log_position <= entry.log_position
        for entry in log
    ) and all(
        entry.leadership_term_id < following.leadership_term_id
        and entry.log_position == following.term_base_log_position
        for entry, following in pairwise(log)
    )


def spans(log: RecordingLog, terms: range) -> list[tuple[int, int]]:
    found = [find_term_entry(log, term) for term in terms]
    return [(entry.term_base_log_position, entry.log_position) for entry in found]


@pytest.mark.parametrize(
    ("arguments", "first", "expected"),
    [
        ((0, 0, 4, 0, 500), 0, [(0, 0), (0, 0), (0, 0), (0, 0), (0, 500)]),
        ((2, 500, 4, 500, 1000), 2, [(500, 500), (500, 500), (500, 1000)]),
        ((2, 120, 4, 500, -1), 3, [(120, 500), (500, -1)]),
    ],
    ids=["empty terms", "after a snapshot", "a later base"],
)
def test_an_empty_log_holds_the_terms_before_its_first(
    arguments: tuple[int, int, int, int, int], first: int, expected: list[tuple[int, int]]
) -> None:
    log = ensure_coherent((), *arguments)

    assert spans(log, range(first, 5)) == expected
    assert last_term(log) == 4
    assert is_coherent(log)


@pytest.mark.parametrize("term", [0, 1, 2, 3])
def test_an_open_term_is_closed_at_the_base_and_the_gap_is_empty(term: int) -> None:
    base, end = term + 100, term + 500
    log = ensure_coherent((TermEntry(term, 0, -1),), 0, 0, 4, base, end)

    assert find_term_entry(log, term) == TermEntry(term, 0, base)
    assert spans(log, range(term + 1, 4)) == [(base, base)] * (3 - term)
    assert find_term_entry(log, 4) == TermEntry(4, base, end)


CLOSED, SECOND = TermEntry(0, 0, 100), TermEntry(1, 100, -1)


@pytest.mark.parametrize(
    ("log", "arguments", "expected"),
    [
        ((CLOSED, SECOND), (0, 0, 1, 300, 200), (CLOSED, TermEntry(1, 100, 200))),
        ((CLOSED, SECOND), (0, 0, 1, 300, -1), (CLOSED, SECOND)),
        # A log without a first term never names term -1.
        ((), (-1, 0, 0, 0, -1), (TermEntry(0, 0, -1),)),
        # Election.ensureRecordingLogCoherent gives its own last term's base.
        (
            (CLOSED, SECOND),
            (-1, 0, 2, -1, 300),
            (CLOSED, TermEntry(1, 100, 100), TermEntry(2, 100, 300)),
        ),
        # Whatever base is given: RecordingLog.ensureCoherent.
        ((CLOSED,), (0, 0, 1, 300, -1), (CLOSED, SECOND)),
    ],
    ids=["end", "no end", "no first term", "no next base", "closed before"],
)
def test_a_term_begins_where_the_last_one_ends_and_gets_its_end(
    log: RecordingLog, arguments: tuple[int, int, int, int, int], expected: RecordingLog
) -> None:
    assert ensure_coherent(log, *arguments) == expected


def test_only_an_entry_that_is_there_is_committed() -> None:
    log = (TermEntry(0, 0, 100), TermEntry(3, 100, -1))

    assert commit_log_position(log, 3, 200) == (TermEntry(0, 0, 100), TermEntry(3, 100, 200))
    assert commit_log_position(log, 2, 200) == log


@pytest.mark.parametrize("term", [-1, 4, 100])
def test_no_entry_is_found_before_the_first_term_and_after_the_last(term: int) -> None:
    assert find_term_entry((TermEntry(3, 0, -1),), term) == NO_TERM_ENTRY


@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 50), st.none() | st.integers(0, 50)),
        max_size=6,
    )
)
def test_opening_and_closing_terms_at_rising_positions_keeps_the_log_coherent(
    steps: list[tuple[int, int, int | None]],
) -> None:
    log: RecordingLog = ()
    position = 0
    for term, length, ends in steps:
        if term <= last_term(log):
            continue
        position += length
        end = -1
        log = ensure_coherent(log, -1, 0, term, position, end)
        if ends is not None:
            position = max(log[-1].term_base_log_position, position) + ends
            log = commit_log_position(log, term, position)

        assert is_coherent(log)

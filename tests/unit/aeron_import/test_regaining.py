"""What a member's recording log is taken to be after lines that are missing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canvass.cluster.member import TermEntry
from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.recording_log import is_coherent
from canvass.traces.aeron_import.regaining import with_term


def knowing(bases: dict[int, int]) -> Any:
    """A proposal of which only that matters where terms begin, as far as logs tell."""
    return SimpleNamespace(plan=SimpleNamespace(event_bases=bases))


FIRST, OPEN = TermEntry(0, 0, 64), TermEntry(1, 64, NULL_VALUE)


@pytest.mark.parametrize(
    ("log", "bases", "reached", "found"),
    [
        ((FIRST, OPEN), {2: 128}, 96, (FIRST, TermEntry(1, 64, 128), TermEntry(2, 128, -1))),
        ((FIRST, OPEN), {}, 96, (FIRST, TermEntry(1, 64, 96), TermEntry(2, 96, -1))),
        ((FIRST,), {2: 96}, 64, (FIRST, TermEntry(1, 64, 96), TermEntry(2, 96, -1))),
        ((FIRST, OPEN), {2: 32}, 96, (TermEntry(0, 0, 32), TermEntry(2, 32, -1))),
        ((FIRST, TermEntry(2, 64, 96)), {}, 96, (FIRST, TermEntry(2, 64, -1))),
        ((), {}, 96, (TermEntry(2, 96, -1),)),
    ],
    ids=["open", "nobody knows", "one between", "cut in the hole", "there already", "nothing"],
)
def test_a_term_is_opened_where_the_one_before_ends(
    log: tuple[TermEntry, ...],
    bases: dict[int, int],
    reached: int,
    found: tuple[TermEntry, ...],
) -> None:
    assert with_term(knowing(bases), log, 2, reached) == found


POSITIONS = st.integers(0, 9).map(lambda frames: 32 * frames)


@given(
    st.sets(st.integers(0, 6)),
    st.lists(POSITIONS, min_size=8, max_size=8).map(sorted),
    st.booleans(),
    st.integers(0, 7),
    st.dictionaries(st.integers(0, 7), POSITIONS),
    POSITIONS,
)
def test_a_log_with_a_term_opened_is_coherent(
    terms: set[int],
    ends: list[int],
    is_open: bool,
    term: int,
    bases: dict[int, int],
    beyond: int,
) -> None:
    """``reached`` is never before the last term's base: so far the log had gone."""
    rising = sorted(terms)
    log = [
        TermEntry(one, base, end) for one, base, end in zip(rising, ends, ends[1:], strict=False)
    ]
    if log and is_open:
        log[-1] = TermEntry(log[-1].leadership_term_id, log[-1].term_base_log_position, NULL_VALUE)
    reached = (log[-1].term_base_log_position if log else 0) + beyond

    found = with_term(knowing(bases), tuple(log), term, reached)

    assert is_coherent(found)
    assert found[-1].leadership_term_id == term
    assert found[-1].log_position == NULL_VALUE

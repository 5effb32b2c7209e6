"""A table of keys finds the edges, and equal keys are found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from canvass.steps.answers import KeyTable, distinct_keys

KEYS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=60)


def as_keys(pairs: list[tuple[int, int]]) -> np.ndarray[tuple[int, ...], np.dtype[np.uint64]]:
    return np.array(pairs, dtype=np.uint64).reshape(len(pairs), 2)


@given(KEYS, KEYS)
def test_lookup_finds_the_first_edge_of_each_key(
    known: list[tuple[int, int]], asked: list[tuple[int, int]]
) -> None:
    table = KeyTable.build(as_keys(known), np.arange(len(known)))

    found = table.lookup(as_keys(asked))

    assert found.tolist() == [known.index(key) if key in known else -1 for key in asked]


def test_lookup_survives_the_disk(tmp_path: Path) -> None:
    keys = as_keys([(9, 1), (3, 4), (3, 2)])
    KeyTable.build(keys, np.array([5, 6, 7])).save(tmp_path)

    table = KeyTable.open(tmp_path)

    assert table.lookup(keys).tolist() == [5, 6, 7]
    assert table.lookup(as_keys([(3, 3)])).tolist() == [-1]


@given(KEYS)
def test_distinct_keys_are_found_with_the_first_row_of_each(pairs: list[tuple[int, int]]) -> None:
    first, places = distinct_keys(as_keys(pairs))

    assert sorted(first.tolist()) == sorted({pairs.index(key) for key in pairs})
    assert [pairs[first[place]] for place in places.tolist()] == pairs

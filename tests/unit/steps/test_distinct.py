"""Keys get numbers, and a table of keys finds the edges."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from canvass.steps.distinct import DistinctKeys, KeyTable

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


@given(st.lists(KEYS, max_size=5))
def test_interning_numbers_keys_in_the_order_in_which_they_come(
    batches: list[list[tuple[int, int]]],
) -> None:
    distinct = DistinctKeys()
    order: dict[tuple[int, int], int] = {}

    for batch in batches:
        numbers = distinct.number(as_keys(batch), np.ones(len(batch), dtype=np.bool_))
        assert numbers.tolist() == [order.setdefault(key, len(order)) for key in batch]

    assert len(distinct) == len(order)
    assert [tuple(key) for key in distinct.keys.tolist()] == list(order)


def test_interning_grows() -> None:
    distinct = DistinctKeys()
    keys = as_keys([(k * 977, k) for k in range(50_000)])

    first = distinct.number(keys[:10], np.ones(10, dtype=np.bool_))
    numbers = distinct.number(keys, np.ones(len(keys), dtype=np.bool_))

    assert numbers.tolist() == list(range(50_000))
    assert first.tolist() == list(range(10))


def test_interning_passes_over_what_is_not_wanted() -> None:
    distinct = DistinctKeys()

    numbers = distinct.number(as_keys([(1, 1), (2, 2)]), np.array([False, True]))

    assert numbers.tolist() == [-1, 0]

"""Damage of a recording by a bad disk is found, and can be put back."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from canvass.archive.memory import SECTOR, MemoryStorage
from canvass.archive.recording import Recording
from canvass.archive.storage import DamageError
from canvass.simulation import faults

SEGMENT = 2_048


def recorded() -> MemoryStorage:
    """A recording of several segments, all of it synced but the last entry."""
    storage = MemoryStorage()
    recording = Recording(storage, segment_length=SEGMENT)
    rng = random.Random(3)
    for _ in range(60):
        recording.sync()
        recording.append(rng.randbytes(rng.randrange(1, 200)))
    return storage


def contents(storage: MemoryStorage) -> dict[str, bytes]:
    return {name: storage.read(name) for name in storage.names()}


@pytest.mark.parametrize("spoil", [faults.rot, faults.stray])
def test_no_damage_is_cut_off_and_all_of_it_can_be_put_back(spoil: faults.Spoil) -> None:
    whole = contents(recorded())
    reported: Counter[str] = Counter()
    for seed in range(150):
        storage = recorded()
        how = spoil(storage, random.Random(seed))
        reported[how] += 1
        try:
            Recording(storage, segment_length=SEGMENT)
        except DamageError:
            assert storage.mend()
        again = contents(storage)
        Recording(storage, segment_length=SEGMENT)
        # Zeros after an entry mean nothing, whatever they are.
        assert {name: len(data) for name, data in again.items()} == {
            name: len(data) for name, data in whole.items()
        }

    expected = {"bit rot"} if spoil is faults.rot else {"misdirected write", "lost write"}
    assert set(reported) - {""} == expected
    assert all(reported[how] > 30 for how in expected)


def test_a_stray_write_changes_one_sector_and_what_a_power_failure_leaves_of_it() -> None:
    storage = recorded()
    before = contents(storage)
    assert faults.stray(storage, random.Random(1))
    after = contents(storage)

    (name,) = [name for name in before if before[name] != after[name]]
    places = [k for k, (a, b) in enumerate(zip(before[name], after[name], strict=True)) if a != b]
    assert places[0] // SECTOR == places[-1] // SECTOR
    storage.crash(random.Random(0))
    first = places[0]
    assert storage.read(name, first, 1) == after[name][first : first + 1]


@pytest.mark.parametrize("spoil", [faults.rot, faults.stray])
def test_nothing_is_damaged_that_is_not_known_to_be_synced(spoil: faults.Spoil) -> None:
    storage = MemoryStorage()
    Recording(storage).append(b"the only entry")
    before = contents(storage)

    assert spoil(storage, random.Random(0)) == ""
    assert contents(storage) == before

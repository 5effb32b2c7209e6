"""A member that has lost its disk is restored from all other disks, or not at all."""

from __future__ import annotations

import pytest

from canvass.archive.archive import Archive, Change
from canvass.archive.memory import MemoryStorage
from canvass.archive.storage import ArchiveError, DamageError
from canvass.cluster.member import TermEntry
from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.rules import Rules
from canvass.simulation.disk_replacement import restore

RULES = Rules.of("hardened")


def disk(term: int, count: int, candidate_term: int) -> MemoryStorage:
    """A disk whose log has so many entries, the last ones of a term."""
    storage = MemoryStorage()
    archive = Archive(storage)
    for number in range(count):
        archive.recording.append(b"entry %d" % number)
    archive.recording.sync()
    entries = (TermEntry(term, 0, NULL_VALUE),)
    archive.change(Change(candidate_term, entries), 0)
    return storage


def test_the_newest_log_and_the_greatest_candidate_term_are_used() -> None:
    """They may be on the disks of different members."""
    storage, longer, newer = MemoryStorage(), disk(1, 9, 7), disk(2, 5, 2)

    assert restore(storage, [longer, newer], RULES, 0) == 1
    found = Archive(storage).found(RULES)
    assert found.recorded_position == Archive(newer).recording.end
    assert found.recording_log == (TermEntry(2, 0, NULL_VALUE),)
    assert found.persisted_candidate_term_id == 7


def test_the_longer_of_two_logs_of_one_term_is_copied() -> None:
    assert restore(MemoryStorage(), [disk(1, 9, 1), disk(1, 5, 1)], RULES, 0) == 0


def test_the_disks_of_all_other_members_are_needed() -> None:
    with pytest.raises(ArchiveError, match="1 of 2 other members"):
        restore(MemoryStorage(), [disk(1, 9, 1)], RULES, 0)


def test_a_disk_with_files_is_not_overwritten() -> None:
    with pytest.raises(ArchiveError, match="not empty"):
        restore(disk(1, 1, 1), [disk(1, 9, 1), disk(1, 9, 1)], RULES, 0)


def test_a_damaged_disk_restores_nothing_and_no_source_is_changed() -> None:
    """The damaged disk may be the only one with entries that the lost member acknowledged."""
    storage, sound, rotten = MemoryStorage(), disk(1, 9, 1), disk(1, 9, 1)
    rotten.spoil("node-state.dat", 20)
    writes = sound.writes, rotten.writes

    with pytest.raises(DamageError):
        restore(storage, [sound, rotten], RULES, 0)
    assert (storage.names(), sound.writes, rotten.writes) == ([], *writes)

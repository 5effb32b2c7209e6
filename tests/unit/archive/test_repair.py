"""Damaged recordings, repaired with another member's: entries are proved or not put back."""

from __future__ import annotations

import pytest

from canvass.archive.memory import MemoryStorage
from canvass.archive.recording import Recording, segment_name, segment_starts
from canvass.archive.repair import find_damage, repair
from canvass.archive.storage import ArchiveError, DamageError
from canvass.log.entries import FRAME_HEADER_LENGTH

SMALL_SEGMENT = 256
CANNOT = "^0-0.rec is damaged at offset .*the other recording cannot repair this"
LENGTHS = (10, 60, 200, 33, 90, 5, 300, 1)


def recorded(storage: MemoryStorage, count: int = len(LENGTHS)) -> Recording:
    """A log whose entries were synced one by one."""
    recording = Recording(storage, segment_length=SMALL_SEGMENT)
    for number, length in enumerate(LENGTHS[:count]):
        recording.append(bytes([number]) * length)
        recording.sync()
    return recording


def contents(storage: MemoryStorage) -> dict[str, bytes]:
    return {name: storage.read(name, 0, 1 << 20) for name in storage.names()}


def places() -> list[tuple[str, int, bool]]:
    """Every 7th byte of all entries but the last, and whether it means anything.

    Zeros after an entry mean nothing, whatever they are.
    """
    storage = MemoryStorage()
    recording = recorded(storage)
    frames = list(recording.replay(0, recording.end))
    padding = {
        place
        for frame in frames
        for place in range(frame.position + FRAME_HEADER_LENGTH + len(frame.payload), frame.end)
    }
    found = []
    for name in storage.names():
        start = int(name.removesuffix(".rec").partition("-")[2])
        last = min(storage.size(name), frames[-1].position - start)
        found += [(name, offset, start + offset not in padding) for offset in range(0, last, 7)]
    return found


def is_damaged(storage: MemoryStorage) -> str:
    """The file that a recovery finds damaged; empty if none."""
    try:
        Recording(storage, segment_length=SMALL_SEGMENT)
    except DamageError as error:
        return error.name
    return ""


def test_every_damaged_byte_before_the_last_entry_is_found_and_put_back() -> None:
    source = MemoryStorage()
    payloads = [frame.payload for frame in recorded(source).replay(0, 1 << 20)]
    assert {means for _, _, means in places()} == {True, False}
    for name, offset, means in places():
        storage = MemoryStorage()
        recorded(storage)
        storage.spoil(name, offset)
        assert is_damaged(storage) == (name if means else ""), (name, offset)
        if means:
            assert repair(storage, source) == 1
            again = Recording(storage, segment_length=SMALL_SEGMENT)
            assert [frame.payload for frame in again.replay(0, again.end)] == payloads


def test_several_places_are_repaired_at_once() -> None:
    source, storage = MemoryStorage(), MemoryStorage()
    recorded(source)
    recording = recorded(storage)
    payloads = [frame.payload for frame in recording.replay(0, recording.end)]
    for start in segment_starts(storage)[:2]:
        storage.spoil(segment_name(start), 40)

    assert repair(storage, source) == 2
    again = Recording(storage, segment_length=SMALL_SEGMENT)
    assert [frame.payload for frame in again.replay(0, again.end)] == payloads


def test_damage_that_remains_after_a_repair_is_named() -> None:
    """The other recording ends before the second damaged entry."""
    source, storage = MemoryStorage(), MemoryStorage()
    recorded(source, 3)
    recorded(storage)
    storage.spoil("0-0.rec", 40)
    second = segment_name(segment_starts(storage)[1])
    storage.spoil(second, 40)

    assert repair(storage, source) == 1
    remaining = find_damage(storage)
    assert remaining is not None
    assert remaining.name == second
    with pytest.raises(ArchiveError, match=f"{second} is damaged .*the other recording cannot"):
        repair(storage, source)


def test_a_repair_next_to_a_torn_write_is_complete() -> None:
    source, storage = MemoryStorage(), MemoryStorage()
    recorded(source, 3)
    recorded(storage)
    storage.spoil("0-0.rec", 40)
    last = segment_name(segment_starts(storage)[-1])
    storage.truncate(last, storage.size(last) - 8)

    assert repair(storage, source) == 1
    assert find_damage(storage) is None


@pytest.mark.parametrize("gone", [0, 1])
def test_a_missing_segment_is_named(gone: int) -> None:
    source, storage = MemoryStorage(), MemoryStorage()
    recorded(source)
    recorded(storage)
    starts = segment_starts(storage)
    storage.remove(segment_name(starts[gone]))

    with pytest.raises(
        ArchiveError, match=f"{segment_name(starts[gone + 1])} is damaged at offset 0"
    ):
        repair(storage, source)


def test_another_recording_without_the_entry_repairs_nothing() -> None:
    source, storage = MemoryStorage(), MemoryStorage()
    recorded(source, 1)
    recorded(storage)
    storage.spoil("0-0.rec", 100)
    before = contents(storage)

    with pytest.raises(ArchiveError, match=CANNOT):
        repair(storage, source)
    assert contents(storage) == before


def test_another_log_is_not_taken_for_the_same() -> None:
    """The other entry has the right length, and the checksum of the next entry refutes it."""
    source, storage = MemoryStorage(), MemoryStorage()
    other = Recording(source, segment_length=SMALL_SEGMENT)
    for length in LENGTHS:
        other.append(b"?" * length)
    recorded(storage)
    storage.spoil("0-0.rec", 40)
    before = contents(storage)

    with pytest.raises(ArchiveError, match=CANNOT):
        repair(storage, source)
    assert contents(storage) == before


def test_a_sound_recording_is_left_alone() -> None:
    source, storage = MemoryStorage(), MemoryStorage()
    recorded(source)
    recorded(storage)

    with pytest.raises(ArchiveError, match="the recording of the log has no damage"):
        repair(storage, source)
    with pytest.raises(ArchiveError, match="there is no recording of the log to repair"):
        repair(MemoryStorage(), source)


def test_a_damaged_entry_is_not_sent() -> None:
    storage = MemoryStorage()
    recording = recorded(storage)
    assert recording.sound(0, recording.end)
    storage.spoil("0-0.rec", 40)

    assert recording.raw(0, recording.end)
    with pytest.raises(DamageError, match="has changed since it was written"):
        recording.sound(0, recording.end)


@pytest.mark.parametrize("rotten", [1, 2, 3])
def test_a_damaged_entry_does_not_become_the_last_entry_by_a_truncation(rotten: int) -> None:
    """Entries 1 to 3 were synced together; only the truncated entry shows that."""
    source, storage = MemoryStorage(), MemoryStorage()
    for one in (source, storage):
        recording = Recording(one)
        for number in range(5):
            recording.append(bytes([number]) * 40)
            if number in (0, 3, 4):
                recording.sync()
    ends = [frame.end for frame in recording.replay(0, recording.end)]
    storage.spoil("0-0.rec", ends[rotten - 1] + 33)

    with pytest.raises(DamageError, match="has changed since it was written"):
        recording.truncate(ends[3])
    with pytest.raises(DamageError):
        Recording(storage)
    assert repair(storage, source) == 1
    again = Recording(storage)
    again.truncate(ends[3])
    assert Recording(storage).end == ends[3]

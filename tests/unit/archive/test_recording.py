"""The recording of the log: written, truncated, copied, read again, and checked for damage."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from zlib import crc32

import pytest

from canvass.archive.memory import MemoryStorage
from canvass.archive.recording import HEADER, Recording
from canvass.archive.storage import ArchiveError, DamageError, FileStorage, Storage
from canvass.log.entries import FRAME_HEADER_LENGTH

SMALL_SEGMENT = 512


@pytest.fixture(params=["memory", "files"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    return MemoryStorage() if request.param == "memory" else FileStorage(tmp_path / "archive")


def payload(number: int) -> bytes:
    return b"entry %d " % number * (1 + number % 9)


def filled(storage: Storage, count: int) -> Recording:
    recording = Recording(storage, segment_length=SMALL_SEGMENT)
    for number in range(count):
        recording.append(payload(number))
    recording.sync()
    return recording


def payloads(recording: Recording, start: int = 0) -> list[bytes]:
    return [frame.payload for frame in recording.replay(start, recording.end)]


def reopened(storage: Storage) -> Recording:
    return Recording(storage, segment_length=SMALL_SEGMENT)


def test_recorded_entries_are_replayed_after_a_restart(storage: Storage) -> None:
    before = filled(storage, 40)
    after = reopened(storage)

    assert len([name for name in storage.names() if name.endswith(".rec")]) > 3
    assert payloads(after) == [payload(number) for number in range(40)]
    assert (after.end, after.checksum(after.end)) == (before.end, before.checksum(before.end))
    assert after.synced_position == after.end


def test_segments_of_another_recording_are_ignored() -> None:
    storage = MemoryStorage()
    Recording(storage).append(b"entry")
    data = bytearray(storage.read("0-0.rec", 0, 1 << 10))
    struct.pack_into("<I", data, HEADER.size - 4, 1)
    length = FRAME_HEADER_LENGTH + len(b"entry")
    struct.pack_into("<I", data, 4, crc32(memoryview(data)[8:length]))

    with pytest.raises(ArchiveError, match="the data to record at 0 are not a frame"):
        Recording(MemoryStorage()).extend(bytes(data), 1 << 10)


def test_a_replay_keeps_to_its_bounds(storage: Storage) -> None:
    recording = filled(storage, 20)
    frames = list(recording.replay(0, recording.end))
    start, stop = frames[3].end, frames[9].end

    assert list(recording.replay(start, stop)) == frames[4:10]
    assert list(recording.replay(start, stop - 1)) == frames[4:9]
    assert list(recording.replay(start + 32, stop)) == []
    assert list(recording.replay(recording.end, recording.end + 100)) == []


def test_an_entry_that_has_a_position_within_it_is_found_by_its_end(storage: Storage) -> None:
    recording = filled(storage, 20)
    ends = [0, *(frame.end for frame in recording.replay(0, recording.end))]

    assert [recording.boundary_from(end) for end in ends] == ends
    assert [recording.boundary_from(end - 1) for end in ends[1:]] == ends[1:]
    assert [recording.boundary_from(end + 1) for end in ends[:-1]] == ends[1:]
    assert recording.boundary_from(ends[-1] + 1) == ends[-1]


def test_a_truncation_keeps_the_earlier_entries(storage: Storage) -> None:
    recording = filled(storage, 30)
    ends = [0, *(frame.end for frame in recording.replay(0, recording.end))]
    for keep in (29, 17, 16, 1, 0):
        recording.truncate(ends[keep])

        assert payloads(recording) == [payload(number) for number in range(keep)]
        assert payloads(reopened(storage)) == payloads(recording)
    recording.append(b"again")
    recording.sync()

    assert payloads(reopened(storage)) == [b"again"]


def test_a_truncation_within_an_entry_is_refused(storage: Storage) -> None:
    recording = filled(storage, 3)

    with pytest.raises(ArchiveError, match="no entry ends at 32"):
        recording.truncate(32)


def test_another_members_entries_are_copied_up_to_a_bound(storage: Storage) -> None:
    source = filled(MemoryStorage(), 25)
    copy = filled(storage, 10)
    stop = [frame.end for frame in source.replay(0, source.end)][19]
    while copy.end < stop:
        assert copy.extend(source.raw(copy.end, source.end, limit=300), stop) > 0
    copy.sync()

    assert copy.end == stop
    assert copy.checksum(stop) == source.checksum(stop)
    assert payloads(copy) == [payload(number) for number in range(20)]
    assert payloads(reopened(storage)) == payloads(copy)


def test_bytes_that_are_not_a_frame_of_the_position_are_not_recorded(storage: Storage) -> None:
    source = filled(MemoryStorage(), 5)
    copy = filled(storage, 1)
    for data in (source.raw(0, source.end), b"x" * 64, source.raw(copy.end, source.end)[:40]):
        with pytest.raises(ArchiveError, match=f"the data to record at {copy.end} are not a frame"):
            copy.extend(data, source.end)

    assert payloads(copy) == [payload(0)]


@pytest.mark.parametrize("cut", [1, 31, 32, 40, 63])
def test_a_torn_write_is_removed(cut: int) -> None:
    storage = MemoryStorage()
    recording = filled(storage, 3)
    end = recording.end
    recording.append(b"never synced, and torn")
    name = storage.names()[-1]
    storage.truncate(name, len(storage.read(name)) - cut)
    after = reopened(storage)

    assert after.end == end
    assert payloads(after) == [payload(number) for number in range(3)]


def test_damage_to_synced_data_is_reported_with_file_and_offset() -> None:
    storage = MemoryStorage()
    filled(storage, 4)
    recording = reopened(storage)
    damaged = recording.end
    for number in (4, 5):  # The second one bears witness that the first was synced.
        recording.append(payload(number))
        recording.sync()
    storage.spoil("0-0.rec", damaged + 40)

    with pytest.raises(DamageError) as found:
        reopened(storage)
    assert (found.value.name, found.value.offset) == ("0-0.rec", damaged)


def test_every_flipped_bit_is_found_or_was_in_the_last_entry() -> None:
    """No data on disk shows that the last entry was synced."""
    reference = MemoryStorage()
    recording = Recording(reference)
    for number in range(3):
        recording.append(payload(number))
        recording.sync()
    last = max(frame.position for frame in recording.replay(0, recording.end))
    padding = {
        offset
        for frame in recording.replay(0, recording.end)
        for offset in range(frame.position + 32 + len(frame.payload), frame.end)
    }
    for offset in range(recording.end):
        storage = MemoryStorage()
        storage.create("0-0.rec")
        storage.append("0-0.rec", reference.read("0-0.rec", 0, recording.end))
        storage.spoil("0-0.rec", offset, 1 << offset % 8)
        if offset in padding:
            assert payloads(Recording(storage)) == payloads(recording)
        elif offset >= last:
            assert Recording(storage).end == last
        else:
            with pytest.raises(DamageError):
                Recording(storage)


def test_damage_during_a_run_is_found_when_the_entry_is_read() -> None:
    storage = MemoryStorage()
    recording = filled(storage, 3)
    storage.spoil("0-0.rec", 70)

    with pytest.raises(DamageError, match="has changed since it was written"):
        payloads(recording)


@pytest.mark.parametrize(
    "change",
    [
        lambda storage: storage.remove("0-544.rec"),
        lambda storage: storage.rename("0-544.rec", "0-576.rec"),
        lambda storage: storage.truncate("0-0.rec", 512),
    ],
    ids=["missing", "misplaced", "short"],
)
def test_a_gap_between_segments_is_damage(change: Callable[[MemoryStorage], None]) -> None:
    storage = MemoryStorage()
    filled(storage, 30)
    assert "0-544.rec" in storage.names()
    change(storage)

    with pytest.raises(DamageError):
        reopened(storage)


def test_a_full_disk_is_an_error_and_synced_data_remains() -> None:
    storage = MemoryStorage(capacity=1000)
    recording = Recording(storage)
    recording.append(b"x" * 500)
    recording.sync()

    with pytest.raises(OSError, match="No space left"):
        recording.append(b"x" * 500)
    storage.capacity = 2000
    assert payloads(Recording(storage)) == [b"x" * 500]


def test_a_folder_is_held_by_one_process_at_a_time(tmp_path: Path) -> None:
    first = FileStorage(tmp_path)

    with pytest.raises(ArchiveError, match="in use by another process"):
        FileStorage(tmp_path)
    first.close()
    FileStorage(tmp_path).close()

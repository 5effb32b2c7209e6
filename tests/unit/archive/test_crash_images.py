"""Every write boundary of a short history, and every disk that a crash there may leave."""

from __future__ import annotations

import random
from dataclasses import replace

import msgspec
import pytest

from canvass.archive.archive import Archive, write_sealed
from canvass.archive.memory import MemoryStorage, PowerFailure
from canvass.archive.recording import Recording
from canvass.archive.storage import ArchiveError, DamageError
from canvass.cluster.rules import Rules
from support.archive_history import FIRST, HISTORY, IMAGES, SMALL_SEGMENT, Disk

BOUNDARIES = 90
"""Writes of the history, at least."""


def found(storage: MemoryStorage) -> Disk:
    archive = Archive(storage, SMALL_SEGMENT)
    recording = archive.recording
    _, parts = archive.last_snapshot()
    return Disk(
        tuple(frame.payload for frame in recording.replay(0, recording.end)),
        archive.kept.candidate_term_id,
        archive.kept.terms,
        parts.get(0, b""),
    )


def is_between(disk: Disk, before: Disk, after: Disk) -> bool:
    """Whether a disk is one of two, or of the two with some of the entries that were being written.

    Entries are cut off in one piece with all else that a step writes.
    """
    if disk in (before, after):
        return True
    grown = replace(before, payloads=disk.payloads) == disk
    return (
        grown
        and after.payloads[: len(disk.payloads)] == disk.payloads
        and disk.payloads[: len(before.payloads)] == before.payloads
    )


def run_until(boundary: int) -> tuple[MemoryStorage, Disk, Disk, bool]:
    """Run the history until the power fails; the disk, what was acknowledged, and what was not."""
    storage = MemoryStorage()
    storage.fail_before = boundary
    before = after = Disk()
    try:
        archive = Archive(storage, SMALL_SEGMENT)
        for do, make in HISTORY:
            before, after = after, make(after)
            do(archive)
    except PowerFailure:
        return storage, before, after, True
    return storage, after, after, False


def test_every_crash_image_has_the_acknowledged_data_and_no_partial_change() -> None:
    boundary = images = 0
    while True:
        storage, before, after, failed = run_until(boundary)
        for image in storage.images(IMAGES):
            disk = found(image)
            assert is_between(disk, before, after), (boundary, disk, before, after)
            images += 1
        if not failed:
            break
        boundary += 1

    assert boundary > BOUNDARIES
    assert images > 400


@pytest.mark.parametrize("content", [b"", b"\x91", bytes(25)])
def test_a_state_of_another_version_is_refused(content: bytes) -> None:
    storage = MemoryStorage()
    write_sealed(storage, "state.dat", b"CVARCHIV", content)

    with pytest.raises(ArchiveError, match=r"state\.dat is of another version"):
        Archive(storage)


def test_a_recovery_that_crashes_is_recovered() -> None:
    """The recovery itself is ended before each of its writes."""
    rng = random.Random(1)
    boundary = 0
    while True:
        storage, before, after, failed = run_until(boundary)
        if not failed:
            break
        storage.crash(rng)
        again = 0
        while True:
            image = next(storage.images())
            image.fail_before = again
            try:
                disk = found(image)
            except PowerFailure:
                image.crash(rng)
                image.fail_before = -1
                disk = found(image)
                assert is_between(disk, before, after)
                again += 1
                continue
            assert is_between(disk, before, after)
            break
        boundary += 1

    assert boundary > BOUNDARIES


def test_data_that_a_restart_has_found_survives_a_crash_of_the_machine() -> None:
    """A killed process leaves written data, and the next process relies on it."""
    boundary = 0
    while True:
        storage, _, _, failed = run_until(boundary)
        if not failed:
            break
        storage.fail_before = -1
        disk = found(storage)
        for image in storage.images(IMAGES):
            assert found(image) == disk, boundary
        boundary += 1

    assert boundary > BOUNDARIES


def test_a_segment_begins_only_after_its_predecessor_is_durable() -> None:
    """Otherwise a crash could leave the second segment without the end of the first."""
    storage = MemoryStorage()
    recording = Recording(storage, segment_length=SMALL_SEGMENT)
    images = 0
    for number in range(12):
        recording.append(b"%d" % number * 60)
        for image in storage.images(IMAGES):
            left = Recording(image, segment_length=SMALL_SEGMENT)
            assert recording.checksum(left.end) == left.checksum(left.end)
            images += 1

    assert len(storage.names()) > 3
    assert images > 20


def test_a_restart_finds_the_state_of_the_protocol() -> None:
    storage, _, _, _ = run_until(-1)
    state = Archive(storage, SMALL_SEGMENT).found(Rules.of("hardened"))

    assert state.persisted_candidate_term_id == 2
    assert state.recording_log == (msgspec.structs.replace(FIRST, log_position=96),)
    assert state.recorded_position == 96 + 64
    assert state.snapshot_log_position == 1408


@pytest.mark.parametrize("name", ["state.dat", "snapshot-1408-module.dat"])
@pytest.mark.parametrize("offset", [0, 9, 20])
def test_damage_to_a_small_file_is_reported(name: str, offset: int) -> None:
    storage, _, _, _ = run_until(-1)
    storage.spoil(name, offset)

    with pytest.raises(DamageError, match=name):
        found(storage)


def test_a_disk_whose_sync_fails_ends_the_process() -> None:
    storage = MemoryStorage()
    archive = Archive(storage)
    archive.recording.append(b"x")
    storage.sync_fails = True

    with pytest.raises(OSError, match="Input/output error"):
        archive.recording.sync()
    assert archive.recording.synced_position == 0

"""Each finding about one disk, on disks that have this fault only."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from canvass.cluster.messages import NULL_VALUE
from canvass.disks import layouts
from canvass.disks.findings import Finding, Kind
from canvass.disks.verdict import assess
from support.aeron_disks import (
    LOG,
    Disk,
    Snapshot,
    Term,
    catalog,
    descriptor,
    disk_of,
    entry,
    snapshot_recording,
    write_disks,
    write_log,
)

TERMS = (Term(0, 0, (b"first", b"second")), Term(1, 1, (b"third",)))
BASE, END = len(write_log(TERMS[:1])), len(write_log(TERMS))
TAKEN = Snapshot(0, 0, BASE)
SEGMENT = 1 << 16
ABSENT = "which the archive does not have"


def findings(tmp_path: Path, disk: Disk) -> list[tuple[Kind, str]]:
    """The findings about the disk of member 2; members 0 and 1 have sound disks."""
    found: list[Finding] = assess(
        write_disks(tmp_path, [disk_of(0, TERMS), disk_of(1, TERMS), disk])
    ).findings
    return [(one.kind, one.text) for one in found if one.member_id == 2]


def replaced(name: str, data: bytes) -> Disk:
    """A sound disk with a snapshot, but for one file."""
    return disk_of(2, TERMS, snapshots=(TAKEN,), extra={name: data})


@pytest.mark.parametrize("snapshots", [(), (TAKEN,)], ids=["no snapshot", "snapshot"])
def test_a_sound_disk_has_no_finding(tmp_path: Path, snapshots: tuple[Snapshot, ...]) -> None:
    assert findings(tmp_path, disk_of(2, TERMS, snapshots=snapshots)) == []


@pytest.mark.parametrize(
    ("entries", "text"),
    [
        (((0, 0, NULL_VALUE), (1, BASE, NULL_VALUE)), "term 0 is open, though term 1 follows"),
        (
            ((0, 0, BASE - 32), (1, BASE, -1)),
            f"term 0 ends at {BASE - 32} and term 1 begins at {BASE}",
        ),
        (((0, 0, BASE), (2, BASE, NULL_VALUE)), "terms 1 to 1 have no entry"),
        (((0, 0, BASE), (1, BASE, BASE - 32)), f"term 1 is from {BASE} to {BASE - 32}"),
        (
            ((0, 0, BASE), (1, BASE, END), (1, BASE, END)),
            "term 1 has two entries, at offsets 64 and 128",
        ),
        (((0, 0, BASE), (1, BASE, END + 64)), f"term 1 ends at {END + 64}, and the log at {END}"),
    ],
)
def test_entries_of_terms_follow_each_other(
    tmp_path: Path, entries: tuple[tuple[int, int, int], ...], text: str
) -> None:
    found = findings(tmp_path, disk_of(2, TERMS, entries=entries, candidate_term=2))

    assert any(kind is Kind.DAMAGED and one.startswith(text) for kind, one in found), found


LOG_RECORDING = descriptor(LOG, 0, END, session=2)
PARTS = [descriptor(number, 0, len(snapshot_recording(TAKEN))) for number in (1, 2)]


@pytest.mark.parametrize(
    ("descriptors", "next_id", "text"),
    [
        (
            [descriptor(LOG, 0, END, checksum=7, session=2), *PARTS],
            3,
            "the checksum of recording 0 is wrong",
        ),
        ([LOG_RECORDING, *PARTS, PARTS[1]], 3, "recording 2 is there twice"),
        ([LOG_RECORDING, *PARTS], 2, "the next recording id is 2, and 2 is in use"),
        (PARTS, 3, f"the log is recording 0, {ABSENT}"),
        (
            [LOG_RECORDING, PARTS[1]],
            3,
            f"the snapshot of the consensus module at {BASE} is recording 1, {ABSENT}",
        ),
        (
            [LOG_RECORDING, PARTS[0], descriptor(2, 0, 0)],
            3,
            f"the snapshot of service 0 at {BASE} (recording 2) is empty",
        ),
    ],
)
def test_the_catalog_has_each_recording_once(
    tmp_path: Path, descriptors: list[bytes], next_id: int, text: str
) -> None:
    data = catalog(descriptors, next_id)

    assert (Kind.DAMAGED, text) in findings(tmp_path, replaced("archive/archive.catalog", data))


def other_marker(data: bytearray) -> None:
    struct.pack_into("<q", data, layouts.DATA_HEADER_LENGTH + 8 + 8, BASE + 32)


def no_marker(data: bytearray) -> None:
    struct.pack_into("<H", data, layouts.DATA_HEADER_LENGTH + 2, 101)


def broken_frame(data: bytearray) -> None:
    struct.pack_into("<i", data, 8, 64)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (other_marker, f" of term 0 has a marker of position {BASE + 32} of term 0"),
        (no_marker, " does not begin with a snapshot marker"),
        (broken_frame, ": the frame"),
    ],
)
def test_a_snapshot_begins_with_its_marker(
    tmp_path: Path, change: Callable[[bytearray], None], text: str
) -> None:
    data = bytearray(snapshot_recording(TAKEN).ljust(SEGMENT, b"\0"))
    change(data)

    ((kind, found),) = findings(tmp_path, replaced("archive/1-0.rec", bytes(data)))

    assert kind is Kind.DAMAGED
    assert found.startswith(f"the snapshot of the consensus module at {BASE}{text}")


@pytest.mark.parametrize(
    ("taken", "kind", "text"),
    [
        (
            Snapshot(1, BASE, END + 64),
            Kind.DAMAGED,
            f"the snapshot at {END + 64} of term 1 is beyond the end of the log, {END}",
        ),
        (
            Snapshot(1, BASE - 32, END),
            Kind.DAMAGED,
            f"the snapshot at {END} of term 1 has term base {BASE - 32}, the term's entry {BASE}",
        ),
        (
            Snapshot(0, 0, BASE + 32),
            Kind.LOST,
            f"the snapshot at {BASE + 32} of term 0: the term ends",
        ),
    ],
)
def test_a_snapshot_lies_in_its_term_and_in_the_log(
    tmp_path: Path, taken: Snapshot, kind: Kind, text: str
) -> None:
    found = findings(tmp_path, disk_of(2, TERMS, snapshots=(taken,)))

    assert any(one[0] is kind and one[1].startswith(text) for one in found), found


def test_a_snapshot_without_a_recording_or_a_part_is_not_loaded(tmp_path: Path) -> None:
    log = b"".join(
        [
            entry(0, 0, 0, BASE),
            entry(1, 0, 0, 96, 2, 0),
            entry(1, 0, 0, 96, 1, -1),
            entry(0, 1, BASE, NULL_VALUE),
            entry(1, 0, 0, BASE, NULL_VALUE, -1),
        ]
    )
    found = findings(tmp_path, replaced("cluster/recording.log", log))

    assert (
        Kind.DAMAGED,
        f"the snapshot of the consensus module at {BASE} has recording id -1",
    ) in found
    assert (Kind.DAMAGED, f"the snapshot at {BASE} has no part of service 0") in found

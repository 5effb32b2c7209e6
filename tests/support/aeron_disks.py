"""Synthetic disks of Aeron members with any history, in Aeron's formats."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from canvass.cluster.messages import NULL_VALUE
from canvass.disks import layouts
from canvass.disks.layouts import Layout, align
from canvass.log import entries
from canvass.log.entries import (
    ClusterTimeUnit,
    LogMessage,
    NewLeadershipTermEvent,
    SessionMessageHeader,
)

TERM_LENGTH = 1 << 16
SEGMENT_LENGTH = 1 << 16
INITIAL_TERM_ID = 77
LOG = 0
STREAM = 100
SCHEMA_VERSION = 16
TIME = 1_700_000_000_000
DATA_HEADER = struct.Struct("<iBBHiiiiq")
PADDING_FRAME, DATA_FRAME = range(2)
MARK_FILE_BLOCK_LENGTH = 128


@dataclass(frozen=True)
class Term:
    """A term of a log: its leader, and the payloads that the leader appended."""

    term: int
    leader: int
    payloads: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class Snapshot:
    """A snapshot in the recording log, of a consensus module and one service."""

    term: int
    base: int
    position: int
    recording_id: int = 1
    services: int = 1


@dataclass
class Disk:
    """The content of a member's disk. ``entries`` are TERM entries (term, base, end)."""

    member: int
    log: bytes = b""
    entries: tuple[tuple[int, int, int], ...] = ()
    snapshots: tuple[Snapshot, ...] = ()
    candidate_term: int = 0
    stop: int | None = None
    start: int = 0
    with_snapshot_segments: bool = True
    extra: dict[str, bytes] = field(default_factory=dict)


def written(layout: Layout, values: dict[str, int], strings: dict[str, str] | None = None) -> bytes:
    """The bytes of values in a layout; a field without a value is -1."""
    block = struct.pack(layout.codes, *(values.get(name, NULL_VALUE) for name, _ in layout.fields))
    for name in layout.strings:
        data = (strings or {}).get(name, "").encode("latin-1")
        block += struct.pack("<I", len(data)) + data
    return block


def frame(position: int, message: bytes, flags: int = 0xC0, session: int = 5) -> bytes:
    """A data frame at a log position, padded to the alignment."""
    length = layouts.DATA_HEADER_LENGTH + len(message)
    term_id = INITIAL_TERM_ID + position // TERM_LENGTH
    offset = position % TERM_LENGTH
    head = DATA_HEADER.pack(length, 0, flags, DATA_FRAME, offset, session, STREAM, term_id, 0)
    return (head + message).ljust(align(length, layouts.FRAME_ALIGNMENT), b"\0")


def message(entry: LogMessage) -> bytes:
    """An entry of the log in bytes, of the schema version of these disks."""
    data = bytearray(entries.encode(entry))
    struct.pack_into("<H", data, 6, SCHEMA_VERSION)
    return bytes(data)


def _append(log: bytearray, data: bytes) -> None:
    """Append a frame, after padding if it does not fit into the term buffer."""
    left = TERM_LENGTH - len(log) % TERM_LENGTH
    size = align(layouts.DATA_HEADER_LENGTH + len(data), layouts.FRAME_ALIGNMENT)
    if size > left:
        head = bytearray(frame(len(log), b""))
        struct.pack_into("<iBBH", head, 0, left, 0, 0xC0, PADDING_FRAME)
        log += bytes(head).ljust(left, b"\0")
    log += frame(len(log), data)


def write_log(terms: Iterable[Term], log: bytes = b"") -> bytes:
    """The bytes of a log, continued with some terms. Session messages are of session 1."""
    found = bytearray(log)
    for term in terms:
        base = len(found)
        event = NewLeadershipTermEvent(
            term.term, base + 96, TIME + base, base, term.leader, 5, ClusterTimeUnit.MILLIS, 1
        )
        _append(found, message(event))
        for payload in term.payloads:
            found = bytearray(with_message(bytes(found), term.term, payload))
    return bytes(found)


def with_message(log: bytes, term: int, payload: bytes, session: int = 1) -> bytes:
    """A log with one session message appended."""
    found = bytearray(log)
    header = SessionMessageHeader(term, session, TIME + len(found), payload)
    _append(found, message(header))
    return bytes(found)


def entry(
    kind: int, term: int, base: int, end: int, recording: int = LOG, service: int = -1
) -> bytes:
    """An entry of the recording log."""
    values = {
        "recordingId": recording,
        "leadershipTermId": term,
        "termBaseLogPosition": base,
        "logPosition": end,
        "timestamp": TIME,
        "serviceId": service,
        "entryType": kind,
    }
    block = written(layouts.RECORDING_LOG_ENTRY, values)[: layouts.RECORDING_LOG_ENTRY.length]
    return block.ljust(layouts.RECORDING_LOG_ALIGNMENT, b"\0")


def recording_log(disk: Disk) -> bytes:
    """The file ``recording.log``."""
    found = b"".join(entry(0, *one) for one in disk.entries)
    for one in disk.snapshots:
        for service in range(one.services - 1, -2, -1):
            recording = one.recording_id + service + 1
            found += entry(1, one.term, one.base, one.position, recording, service)
    return found


def node_state(candidate_term: int, position: int = 0) -> bytes:
    """The file ``node-state.dat``."""

    def head(template: int, block: int) -> bytes:
        values = {
            "blockLength": block,
            "templateId": template,
            "schemaId": layouts.NODE_STATE_SCHEMA_ID,
            "version": 10,
            "frameLength": block + layouts.NODE_STATE_FRAME.length,
            "padding": 0,
        }
        return written(layouts.NODE_STATE_FRAME, values)

    term = {"candidateTermId": candidate_term, "timestamp": TIME, "logPosition": position}
    return (
        written(layouts.NODE_STATE_HEADER, {"version": 768, "padding": 0})
        + head(layouts.CANDIDATE_TERM_TEMPLATE, layouts.CANDIDATE_TERM.length)
        + written(layouts.CANDIDATE_TERM, term)
        + head(layouts.NODE_STATE_FOOTER_TEMPLATE, 0)
    ).ljust(4096, b"\0")


def mark_file(member: int, *, sbe_header: bool = True) -> bytes:
    """The file ``cluster-mark.dat``, with or without the SBE header of later releases."""
    values = {
        "version": 768,
        "componentType": 1,
        "activityTimestamp": TIME,
        "startTimestamp": TIME,
        "pid": 1,
        "candidateTermId": -1,
        "memberId": member,
        "headerLength": 8192,
        "errorBufferLength": 4096,
        "clusterId": 0,
    }
    block = written(layouts.MARK_FILE_HEADER, values)[: layouts.MARK_FILE_HEADER.length]
    block = block.ljust(MARK_FILE_BLOCK_LENGTH, b"\0")
    if sbe_header:
        head = {
            "blockLength": MARK_FILE_BLOCK_LENGTH,
            "templateId": layouts.MARK_FILE_TEMPLATE,
            "schemaId": layouts.MARK_SCHEMA_ID,
            "version": 2,
        }
        block = written(layouts.SBE_HEADER, head) + block
    return block.ljust(12288, b"\0")


def descriptor(
    recording: int, start: int, stop: int, checksum: int = 0, state: int = 1, session: int = 5
) -> bytes:
    """An entry of the catalog."""
    values = {
        "recordingId": recording,
        "startTimestamp": TIME,
        "stopTimestamp": TIME,
        "startPosition": start,
        "stopPosition": stop,
        "initialTermId": INITIAL_TERM_ID,
        "segmentFileLength": SEGMENT_LENGTH,
        "termBufferLength": TERM_LENGTH,
        "mtuLength": 1408,
        "sessionId": session,
        "streamId": STREAM if recording == LOG else 106,
    }
    channel = "aeron:udp?alias=log" if recording == LOG else "aeron:ipc?alias=snapshot"
    body = written(layouts.RECORDING_DESCRIPTOR, values, {"strippedChannel": channel})
    body = body.ljust(align(len(body) + 32, 64) - 32, b"\0")
    head = written(
        layouts.DESCRIPTOR_HEADER, {"length": len(body), "state": state, "checksum": checksum}
    )
    return head.ljust(layouts.DESCRIPTOR_HEADER_LENGTH, b"\0") + body


def catalog(descriptors: Sequence[bytes], next_id: int) -> bytes:
    """The file ``archive.catalog``."""
    values = {"version": 3 << 16, "length": 32, "nextRecordingId": next_id, "alignment": 64}
    head = written(layouts.CATALOG_HEADER, values).ljust(layouts.CATALOG_HEADER_LENGTH, b"\0")
    return (head + b"".join(descriptors)).ljust(1 << 16, b"\0")


def snapshot_recording(one: Snapshot) -> bytes:
    """The recording of a snapshot: its first marker, and the last."""
    found = bytearray()
    for mark in (0, 2):
        head = {"blockLength": 40, "templateId": 100, "schemaId": 111, "version": SCHEMA_VERSION}
        values = {
            "typeId": 1,
            "logPosition": one.position,
            "leadershipTermId": one.term,
            "index": 0,
            "mark": mark,
        }
        body = written(layouts.SNAPSHOT_MARKER, values).ljust(40, b"\0")
        _append(found, written(layouts.SBE_HEADER, head) + body)
    return bytes(found)


def write_disk(folder: Path, disk: Disk) -> Path:
    """Write all files of a member."""
    cluster, archive = folder / "cluster", folder / "archive"
    cluster.mkdir(parents=True)
    archive.mkdir()
    (cluster / "recording.log").write_bytes(recording_log(disk))
    (cluster / "node-state.dat").write_bytes(node_state(disk.candidate_term))
    (cluster / "cluster-mark.dat").write_bytes(mark_file(disk.member))
    stop = len(disk.log) if disk.stop is None else disk.stop
    descriptors = (
        [descriptor(LOG, disk.start, stop, session=disk.member)] if disk.log or disk.entries else []
    )
    for base in range(disk.start - disk.start % SEGMENT_LENGTH, len(disk.log), SEGMENT_LENGTH):
        part = disk.log[base : base + SEGMENT_LENGTH]
        (archive / f"{LOG}-{base}.rec").write_bytes(part.ljust(SEGMENT_LENGTH, b"\0"))
    for one in disk.snapshots:
        data = snapshot_recording(one)
        for recording in range(one.recording_id, one.recording_id + one.services + 1):
            descriptors.append(descriptor(recording, 0, len(data)))
            if disk.with_snapshot_segments:
                path = archive / f"{recording}-0.rec"
                path.write_bytes(data.ljust(SEGMENT_LENGTH, b"\0"))
    next_id = len(descriptors) + (0 if disk.log or disk.entries else 1)
    (archive / "archive.catalog").write_bytes(catalog(descriptors, next_id))
    for name, data in disk.extra.items():
        (folder / name).write_bytes(data)
    return folder


def entries_of(log: bytes, terms: Sequence[Term]) -> tuple[tuple[int, int, int], ...]:
    """The TERM entries of a log that holds these terms, the last one open."""
    bases = []
    so_far = b""
    for term in terms:
        bases.append(len(so_far))
        so_far = write_log([term], so_far)
    assert log.startswith(so_far[: len(log)])
    ends = [*bases[1:], NULL_VALUE]
    return tuple((t.term, b, e) for t, b, e in zip(terms, bases, ends, strict=True))


def disk_of(member: int, terms: Sequence[Term], **changes: object) -> Disk:
    """A sound disk of a member whose log holds these terms."""
    log = write_log(terms)
    made = Disk(
        member,
        log,
        entries_of(log, terms),
        candidate_term=max((term.term for term in terms), default=NULL_VALUE),
    )
    return replace(made, **changes)  # type: ignore[arg-type]  # The names are those of the fields.


def write_disks(folder: Path, disks: Iterable[Disk]) -> list[Path]:
    """Write the disks of several members, each in its folder."""
    return [write_disk(folder / f"member-{disk.member}", disk) for disk in disks]

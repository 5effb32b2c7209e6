"""Readers of the recording log, the node state, the mark file and the archive's catalog.

A reader takes the bytes of a file, and its name for errors. It returns the values in the file.
`canvass.disks.soundness` checks the values against each other and against the segments.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from canvass.cluster.messages import NULL_VALUE, Record
from canvass.disks import layouts
from canvass.disks.files import Bytes
from canvass.disks.findings import DiskError, printable
from canvass.disks.layouts import CHECKSUMS, align

MAX_ENTRIES: Final = 1_000_000
"""The greatest number of entries of a recording log that are read."""


class LogEntry(Record, frozen=True):
    """One entry of the recording log, with the names of ``RecordingLog.Entry``."""

    offset: int
    index: int
    recording_id: int
    leadership_term_id: int
    term_base_log_position: int
    log_position: int
    timestamp: int
    service_id: int
    type: str
    is_valid: bool

    @property
    def sort_key(self) -> tuple[int, int, int, int, int, int]:
        """The order of ``RecordingLog``: term, base, snapshots last, then position and service."""
        if self.type == "TERM":
            return (self.leadership_term_id, self.term_base_log_position, 0, self.index, 0, 0)
        rank = 2 if self.type == "SNAPSHOT" else 1
        place = (self.log_position, -self.service_id, self.index)
        return (self.leadership_term_id, self.term_base_log_position, rank, *place)


def read_recording_log(file: str, data: Bytes) -> tuple[LogEntry, ...]:
    """Read all entries except removed ones, in the order of the file.

    Raises
    ------
    DiskError
        If an entry is of no known type, or its endpoint reaches beyond the file.

    Notes
    -----
    The last entry may lack its padding. A shorter rest is not read, as in Aeron. Source:
    ``RecordingLog.captureEntriesFromBuffer``.
    """
    return tuple(_entries(file, data.data))


def _entries(file: str, buffer: memoryview) -> Iterator[LogEntry]:
    table = layouts.RECORDING_LOG_ENTRY
    offset, index = 0, 0
    while offset + table.length < len(buffer):
        if index >= MAX_ENTRIES:
            raise DiskError(file, offset, f"more than {MAX_ENTRIES} entries")
        values = table.read(file, buffer, offset)
        kind = values["entryType"] & 0x7FFFFFFF
        length = table.length
        if values["entryType"] != NULL_VALUE and kind not in layouts.ENTRY_TYPES:
            raise DiskError(file, offset, f"entry {index} is of no known type: {kind}")
        if kind == layouts.STANDBY_SNAPSHOT:
            found = table.read_strings(file, buffer, offset + length, len(buffer))
            length += 4 + len(found.get("archiveEndpoint", ""))
        if values["entryType"] != NULL_VALUE:
            place = {"offset": offset, "index": index, "type": layouts.ENTRY_TYPES[kind]}
            is_valid = values["entryType"] & layouts.INVALID_FLAG == 0
            yield msgspec.convert({**values, **place, "isValid": is_valid}, LogEntry)
        offset += align(length, layouts.RECORDING_LOG_ALIGNMENT)
        index += 1


def read_node_state(file: str, data: Bytes) -> int:
    """Read the candidate term.

    Raises
    ------
    DiskError
        If the version is not 0.x, a message or the footer is missing, or the candidate term is
        negative and not -1.

    Notes
    -----
    Source: ``NodeStateFile.loadInitialState``.
    """
    buffer = data.data
    header = layouts.NODE_STATE_HEADER.read(file, buffer, 0)
    if header["version"] >> layouts.MAJOR_VERSION_SHIFT != 0:
        raise DiskError(file, 0, f"version {_version(header['version'])} is not 0.x")
    offset, found = layouts.NODE_STATE_HEADER.length, None
    while True:
        frame = layouts.NODE_STATE_FRAME.read(file, buffer, offset)
        if frame["schemaId"] != layouts.NODE_STATE_SCHEMA_ID:
            raise DiskError(file, offset, f"no message of schema {layouts.NODE_STATE_SCHEMA_ID}")
        if frame["templateId"] == layouts.NODE_STATE_FOOTER_TEMPLATE:
            break
        if frame["frameLength"] < layouts.NODE_STATE_FRAME.length:
            raise DiskError(file, offset, f"a message of {frame['frameLength']} bytes")
        if frame["templateId"] == layouts.CANDIDATE_TERM_TEMPLATE:
            at = offset + layouts.NODE_STATE_FRAME.length
            found = layouts.CANDIDATE_TERM.read(file, buffer, at)["candidateTermId"]
        offset += align(frame["frameLength"], 8)
    if found is None:
        raise DiskError(file, offset, "no candidate term before the footer")
    if found < NULL_VALUE:
        raise DiskError(file, at, f"the candidate term is {found}")
    return found


class MarkFile(Record, frozen=True):
    """The mark file of a consensus module."""

    version: int
    component_type: int
    activity_timestamp: int
    member_id: int


def read_mark_file(file: str, data: Bytes) -> MarkFile:
    """Read the header.

    Raises
    ------
    DiskError
        If the file is too short, or its version is neither 0.x nor -1 (failed to start).

    Notes
    -----
    From release 1.45 on, an SBE header precedes the header. Source:
    ``ClusterMarkFile.headerOffset``.
    """
    buffer = data.data
    head = layouts.SBE_HEADER.read(file, buffer, 0)
    has_header = (
        head["templateId"] == layouts.MARK_FILE_TEMPLATE
        and head["schemaId"] == layouts.MARK_SCHEMA_ID
    )
    offset = layouts.SBE_HEADER.length if has_header else 0
    values = layouts.MARK_FILE_HEADER.read(file, buffer, offset)
    version = values["version"]
    if version != layouts.VERSION_FAILED and version >> layouts.MAJOR_VERSION_SHIFT != 0:
        raise DiskError(file, offset, f"version {_version(version)} is not 0.x")
    if not 0 <= values["componentType"] <= 4:
        raise DiskError(file, offset + 4, f"component type {values['componentType']} is unknown")
    return msgspec.convert(values, MarkFile)


def _version(version: int) -> str:
    return f"{version >> 16}.{version >> 8 & 0xFF}.{version & 0xFF}"


OLD_ALIGNMENT: Final = 1024
"""The alignment of catalogs whose header does not name it."""

MIN_TERM_LENGTH: Final = 1 << 16
MAX_TERM_LENGTH: Final = 1 << 30

ARCHIVE_MAJOR_VERSION: Final = 3


class Recording(Record, frozen=True):
    """One entry of the catalog, with the names of ``RecordingDescriptor``."""

    offset: int
    state: str
    checksum_matches: bool
    recording_id: int
    start_position: int
    stop_position: int
    initial_term_id: int
    segment_file_length: int
    term_buffer_length: int
    stream_id: int
    channel: str

    @property
    def geometry_error(self) -> str:
        """The field that makes the segments unreadable, with the reason; empty if there is none."""
        term, segment = self.term_buffer_length, self.segment_file_length
        if not MIN_TERM_LENGTH <= term <= MAX_TERM_LENGTH or term & (term - 1):
            return f"termBufferLength {term} is not a power of two from 64 KiB to 1 GiB"
        if segment < term or segment > MAX_TERM_LENGTH or segment & (segment - 1):
            return f"segmentFileLength {segment} is not a power of two from a term to 1 GiB"
        if self.start_position < 0 or self.start_position % layouts.FRAME_ALIGNMENT:
            return f"startPosition {self.start_position} is not a position of a frame"
        if self.stop_position != NULL_VALUE and self.stop_position < self.start_position:
            return f"stopPosition {self.stop_position} is before startPosition"
        if self.stop_position != NULL_VALUE and self.stop_position % layouts.FRAME_ALIGNMENT:
            return f"stopPosition {self.stop_position} is not a position of a frame"
        return ""

    @property
    def first_segment(self) -> int:
        """The position at which the segment of the start position begins.

        Notes
        -----
        Segments are counted from the term in which a recording starts. Source:
        ``AeronArchive.segmentFileBasePosition``.
        """
        start = self.start_position
        return start - (start & (self.term_buffer_length - 1))


class Catalog(msgspec.Struct, frozen=True):
    """The catalog: its header's next recording id, and the recordings in the order of the file."""

    next_recording_id: int
    recordings: tuple[Recording, ...]

    def find(self, recording_id: int) -> Recording | None:
        """The valid recording with an id; as in an archive, the last one if there are several."""
        for one in reversed(self.recordings):
            if one.recording_id == recording_id and one.state == "VALID":
                return one
        return None


def read_catalog(file: str, data: Bytes) -> Catalog:
    """Read the header and all descriptors.

    Raises
    ------
    DiskError
        If the major version is not `ARCHIVE_MAJOR_VERSION`, or a descriptor reaches beyond the
        file.

    Notes
    -----
    Source: ``Catalog.buildIndex``.
    """
    buffer = data.data
    header = layouts.CATALOG_HEADER.read(file, buffer, 0)
    major = header["version"] >> layouts.MAJOR_VERSION_SHIFT
    if major != ARCHIVE_MAJOR_VERSION:
        raise DiskError(file, 0, f"major version {major} is not {ARCHIVE_MAJOR_VERSION}")
    alignment = header["alignment"]
    if alignment < 0 or alignment & (alignment - 1):
        raise DiskError(file, 16, f"alignment {alignment} is not a power of two")
    first = layouts.CATALOG_HEADER_LENGTH if alignment else OLD_ALIGNMENT
    found = tuple(_recordings(file, buffer, first, alignment or OLD_ALIGNMENT))
    return Catalog(header["nextRecordingId"], found)


def _recordings(file: str, buffer: memoryview, offset: int, alignment: int) -> Iterator[Recording]:
    table, head_length = layouts.RECORDING_DESCRIPTOR, layouts.DESCRIPTOR_HEADER_LENGTH
    while offset + head_length <= len(buffer):
        head = layouts.DESCRIPTOR_HEADER.read(file, buffer, offset)
        length = head["length"]
        if length <= 0:
            return
        at = offset + head_length
        if length < table.length or at + length > len(buffer):
            raise DiskError(file, offset, f"a recording descriptor of {length} bytes")
        if head["state"] not in layouts.RECORDING_STATES:
            raise DiskError(file, offset + 4, f"recording state {head['state']} is unknown")
        values = table.read(file, buffer, at)
        strings = table.read_strings(file, buffer, at + table.length, at + length)
        written = table.length + sum(4 + len(text) for text in strings.values())
        written = align(written + head_length, alignment) - head_length
        found = {
            "offset": offset,
            "state": layouts.RECORDING_STATES[head["state"]],
            "checksumMatches": _matches(head["checksum"], bytes(buffer[at : at + length]), written),
            "channel": printable(strings.get("strippedChannel", "")),
        }
        yield msgspec.convert({**values, **found}, Recording)
        offset += align(length + head_length, alignment)


def _matches(checksum: int, descriptor: bytes, written: int) -> bool:
    """Whether a descriptor has the checksum in its header; 0 means no checksum.

    Notes
    -----
    The archive may be configured with CRC-32 or CRC-32C. The checksum covers all bytes, or only
    the ``written`` bytes if a shorter descriptor has replaced a longer one. Source:
    ``Catalog.updateChecksum``, ``Catalog.replaceRecording``.
    """
    if checksum == 0:
        return True
    return any(
        checksum & 0xFFFFFFFF == compute(descriptor[:length])
        for length in (len(descriptor), written)
        for compute in CHECKSUMS.values()
    )

"""The reader of the archive's catalog: which recordings there are, and where each begins and ends.

Whether what it says is true of the segments is checked in `canvass.disks.soundness`.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from canvass.disks import layouts
from canvass.disks.files import Bytes
from canvass.disks.findings import DiskError, printable
from canvass.disks.kernels import crc32c
from canvass.disks.layouts import NULL_VALUE, align

OLD_ALIGNMENT: Final = 1024
"""The alignment of catalogs whose header does not say one."""

MIN_TERM_LENGTH: Final = 1 << 16
MAX_TERM_LENGTH: Final = 1 << 30

ARCHIVE_MAJOR_VERSION: Final = 3


@dataclass(frozen=True, slots=True)
class Recording:
    """One entry of the catalog; the names are those of ``RecordingDescriptor``."""

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
        """Why positions of this recording cannot be found in segments; empty if they can."""
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


@dataclass(frozen=True, slots=True)
class Catalog:
    """The catalog: its header's next recording id, and the recordings in the order of the file."""

    next_recording_id: int
    recordings: tuple[Recording, ...]

    def find(self, recording_id: int) -> Recording | None:
        """The valid recording of that id."""
        for one in self.recordings:
            if one.recording_id == recording_id and one.state == "VALID":
                return one
        return None


def read_catalog(file: str, data: Bytes) -> Catalog:
    """Read the header and all descriptors.

    Raises
    ------
    DiskError
        If the version is not that of an archive of these releases, or a descriptor reaches beyond
        the file.

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
            raise DiskError(file, offset + 4, f"no recording has state {head['state']}")
        values = table.read(file, buffer, at)
        strings = table.read_strings(file, buffer, at + table.length, at + length)
        written = table.length + sum(4 + len(text) for text in strings.values())
        written = align(written + head_length, alignment) - head_length
        yield Recording(
            offset=offset,
            state=layouts.RECORDING_STATES[head["state"]],
            checksum_matches=_matches(head["checksum"], bytes(buffer[at : at + length]), written),
            recording_id=values["recordingId"],
            start_position=values["startPosition"],
            stop_position=values["stopPosition"],
            initial_term_id=values["initialTermId"],
            segment_file_length=values["segmentFileLength"],
            term_buffer_length=values["termBufferLength"],
            stream_id=values["streamId"],
            channel=printable(strings.get("strippedChannel", "")),
        )
        offset += align(length + head_length, alignment)


def _matches(checksum: int, descriptor: bytes, written: int) -> bool:
    """Whether a descriptor has the checksum that its header says; 0 is none.

    Notes
    -----
    The archive may be configured with CRC-32 or CRC-32C. The checksum is of all bytes, or of the
    ``written`` ones if the descriptor was replaced by a shorter one. Source:
    ``Catalog.updateChecksum``, ``Catalog.replaceRecording``.
    """
    if checksum == 0:
        return True
    expected = checksum & 0xFFFFFFFF
    return any(
        expected in (zlib.crc32(descriptor[:length]), crc32c(descriptor[:length]))
        for length in (len(descriptor), written)
    )

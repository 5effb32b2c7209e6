"""Aeron's file formats from release 1.44 to 1.53: their fields in order, and their checksums.

A `Layout` is a row of fixed-length fields, followed by strings with a length before each. All
numbers are little endian. This module opens no file and checks no value. The loops that no library
has, CRC-32C and the way from frame to frame, are compiled by numba.

Source: ``RecordingLog.java``, ``Catalog.java``, ``DataHeaderFlyweight.java`` and the SBE schemas
101 (archive), 110 (mark file), 111 (cluster) and 112 (node state).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from canvass.cluster.messages import NULL_VALUE
from canvass.disks.findings import DiskError

MAJOR_VERSION_SHIFT: Final = 16
"""A semantic version is one number: major, minor and patch, with eight bits each."""

CLUSTER_SCHEMA_ID: Final = 111
NODE_STATE_SCHEMA_ID: Final = 112
MARK_SCHEMA_ID: Final = 110

_CODES: Final = {"u16": "H", "i32": "i", "i64": "q"}


@cache
def _fields(declared: str) -> tuple[tuple[str, str], ...]:
    groups = (group.split(maxsplit=1) for group in declared.split(";"))
    return tuple((name.strip(), kind) for kind, names in groups for name in names.split(","))


@dataclass(frozen=True, slots=True)
class Layout:
    """A row of fields.

    Parameters
    ----------
    name
        The name in errors.
    declared
        The fields in the order of the bytes, without gaps, each type before the names of its
        fields: ``i64 position, termId; i32 serviceId``.
    strings
        The names of the strings after the fields, each with an unsigned length before it.
    """

    name: str
    declared: str
    strings: tuple[str, ...] = ()

    @property
    def fields(self) -> tuple[tuple[str, str], ...]:
        """The name and the type of each field."""
        return _fields(self.declared)

    @property
    def codes(self) -> str:
        """The format of the fields for `struct`."""
        return "<" + "".join(_CODES[kind] for _, kind in self.fields)

    @property
    def length(self) -> int:
        """The bytes of all fields."""
        return struct.calcsize(self.codes)

    def read(self, file: str, buffer: bytes | memoryview, offset: int) -> dict[str, int]:
        """Read all fields at an offset.

        Raises
        ------
        DiskError
            If the buffer ends within the fields.
        """
        if offset < 0 or offset + self.length > len(buffer):
            raise DiskError(file, max(offset, 0), f"the file ends before the end of {self.name}")
        values = struct.unpack_from(self.codes, buffer, offset)
        return dict(zip((name for name, _ in self.fields), values, strict=True))

    def read_strings(
        self, file: str, buffer: bytes | memoryview, offset: int, end: int
    ) -> dict[str, str]:
        """Read the strings between an offset and ``end``; later strings are left out.

        Raises
        ------
        DiskError
            If a string reaches beyond ``end``.
        """
        found: dict[str, str] = {}
        limit = min(end, len(buffer))
        for name in self.strings:
            if offset + 4 > limit:
                break
            (length,) = struct.unpack_from("<I", buffer, offset)
            if offset + 4 + length > limit:
                raise DiskError(file, offset, f"{name} of {self.name} has {length} bytes")
            found[name] = bytes(buffer[offset + 4 : offset + 4 + length]).decode("latin-1")
            offset += 4 + length
        return found


RECORDING_LOG_ENTRY: Final = Layout(
    "a recording log entry",
    "i64 recordingId, leadershipTermId, termBaseLogPosition, logPosition, timestamp;"
    "i32 serviceId, entryType",
    ("archiveEndpoint",),
)
RECORDING_LOG_ALIGNMENT: Final = 64
ENTRY_TYPES: Final = {0: "TERM", 1: "SNAPSHOT", 2: "STANDBY_SNAPSHOT"}
STANDBY_SNAPSHOT: Final = 2
INVALID_FLAG: Final = -(1 << 31)

SBE_HEADER: Final = Layout(
    "an SBE message header", "u16 blockLength, templateId, schemaId, version"
)

NODE_STATE_HEADER: Final = Layout("the node state header", "i32 version, padding")
NODE_STATE_FRAME: Final = Layout(
    "a node state message header", f"{SBE_HEADER.declared}; i32 frameLength, padding"
)
CANDIDATE_TERM: Final = Layout("the candidate term", "i64 candidateTermId, timestamp, logPosition")
CANDIDATE_TERM_TEMPLATE: Final = 301
NODE_STATE_FOOTER_TEMPLATE: Final = 304

MARK_FILE_HEADER: Final = Layout(
    "the mark file header",
    "i32 version, componentType; i64 activityTimestamp, startTimestamp, pid, candidateTermId;"
    "i32 archiveStreamId, serviceStreamId, consensusModuleStreamId, ingressStreamId, memberId,"
    "serviceId, headerLength, errorBufferLength, clusterId",
)
MARK_FILE_TEMPLATE: Final = 200
CONSENSUS_MODULE: Final = 1
"""The component type in the mark file of a consensus module."""
VERSION_FAILED: Final = -1
"""The version of a mark file whose component failed to start."""

CATALOG_HEADER: Final = Layout(
    "the catalog header", "i32 version, length; i64 nextRecordingId; i32 alignment"
)
CATALOG_HEADER_LENGTH: Final = 32
DESCRIPTOR_HEADER: Final = Layout("a recording descriptor header", "i32 length, state, checksum")
DESCRIPTOR_HEADER_LENGTH: Final = 32
RECORDING_STATES: Final = {0: "INVALID", 1: "VALID", 2: "DELETED"}
RECORDING_DESCRIPTOR: Final = Layout(
    "a recording descriptor",
    "i64 controlSessionId, correlationId, recordingId, startTimestamp, stopTimestamp,"
    "startPosition, stopPosition; i32 initialTermId, segmentFileLength, termBufferLength,"
    "mtuLength, sessionId, streamId",
    ("strippedChannel", "originalChannel", "sourceIdentity"),
)

DATA_HEADER_LENGTH: Final = 32
"""Bytes before the payload of a frame."""
FRAME_ALIGNMENT: Final = 32

SNAPSHOT_MARKER_TEMPLATE: Final = 100
SNAPSHOT_MARKER: Final = Layout(
    "SnapshotMarker", "i64 typeId, logPosition, leadershipTermId; i32 index, mark"
)

_FIRST_150_SCHEMA: Final = 15
"""The first version of schema 111 with the protocol of release 1.50."""

RELEASES: Final = {12: "1.44-1.47", 13: "1.48", 14: "1.49", 15: "1.50", 16: "1.51-1.52", 17: "1.53"}
"""The releases that write each version of schema 111."""


def revision_of(schema_version: int) -> str:
    """The revision of the spec for entries of a version of schema 111, known or not."""
    return "1.49" if NULL_VALUE < schema_version < _FIRST_150_SCHEMA else "1.50"


def align(length: int, alignment: int) -> int:
    """The length, rounded up to a multiple of an alignment."""
    return -(-length // alignment) * alignment


Ints = NDArray[np.int64]
Checksum = Callable[[bytes | memoryview], int]

_Loop = TypeVar("_Loop", bound=Callable[..., object])


def _compiled(loop: _Loop) -> _Loop:
    """Compile a loop at its first call. Without numba, the loop stays as it is."""

    @cache
    def machine_code() -> Callable[..., object]:
        try:
            import numba  # The import takes 50 MiB and half a second.
        except ImportError:
            return loop
        return cast(_Loop, numba.njit(cache=True, nogil=True)(loop))

    return cast(_Loop, lambda *args: machine_code()(*args))


def _crc32c_table() -> NDArray[np.uint32]:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ np.uint32(0x82F63B78), table >> 1)
    return table


_TABLE: Final = _crc32c_table()


@_compiled
def _crc32c(table: NDArray[np.uint32], data: NDArray[np.uint8]) -> int:
    value = np.uint32(0xFFFFFFFF)
    for byte in data:
        value = table[(value ^ byte) & np.uint32(0xFF)] ^ (value >> np.uint32(8))
    return int(value ^ np.uint32(0xFFFFFFFF))


def crc32c(data: bytes | memoryview) -> int:
    """The CRC-32C of some bytes."""
    return int(_crc32c(_TABLE, np.frombuffer(data, np.uint8)))


CHECKSUMS: Final[dict[str, Checksum]] = {"CRC-32": zlib.crc32, "CRC-32C": crc32c}
"""The checksums with which an archive may be configured."""


@_compiled
def follow(halves: NDArray[np.int32], offset: int, limit: int, found: Ints) -> tuple[int, int]:
    """Go from frame to frame by their lengths alone.

    ``found`` is filled with the offsets of the frames that begin before ``limit``.

    Returns
    -------
    tuple of int
        The number of frames, and the end of the last one.
    """
    count = 0
    while offset < limit and halves[offset >> 2] > 0:
        found[count] = offset
        count += 1
        offset += (int(halves[offset >> 2]) + 31) & ~31
    return count, offset

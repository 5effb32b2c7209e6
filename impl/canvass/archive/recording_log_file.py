"""The recording log and the node state in bytes: what surrounds the recording of the log.

This module has the formats. `canvass.cluster.recording_log` says what the entries mean to the
protocol; the archive decides when they are written.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Final, TypeVar
from zlib import crc32

import msgspec

from canvass.archive.storage import ArchiveError, DamageError, Storage
from canvass.cluster.member import TermEntry
from canvass.cluster.messages import NULL_VALUE

_HEADER: Final = struct.Struct("<8sII")
"""Magic, length, CRC of what follows."""
_ASIDE: Final = ".new"

T = TypeVar("T")


def write_sealed(storage: Storage, name: str, magic: bytes, data: bytes) -> None:
    """Put a file in the place of the one of that name, durably."""
    aside = name + _ASIDE
    storage.create(aside)
    storage.append(aside, _HEADER.pack(magic, len(data), crc32(data)) + data)
    storage.sync(aside)
    storage.rename(aside, name)
    storage.sync_folder()


def read_sealed(storage: Storage, name: str, magic: bytes) -> bytes | None:
    """Read a file, or give None if there is none.

    Raises
    ------
    DamageError
        If it is not as it was written.
    """
    if name not in storage.names():
        return None
    found = storage.read(name, 0, storage.size(name))
    if len(found) < _HEADER.size:
        raise DamageError(name, 0, f"{len(found)} bytes are no whole header")
    begins, length, crc = _HEADER.unpack_from(found)
    data = found[_HEADER.size :]
    if begins != magic:
        raise DamageError(name, 0, "it is a file of another kind")
    if length != len(data) or crc32(data) != crc:
        raise DamageError(name, _HEADER.size, "its checksum is not that of its contents")
    return data


def remove_aside(storage: Storage) -> None:
    """Remove what a crash has left of files that were being written."""
    for name in storage.names():
        if name.endswith(_ASIDE):
            storage.remove(name)


MODULE_SERVICE_ID: Final = -1
"""Stands for the consensus module among the services."""


class EntryType(IntEnum):
    """What an entry of the recording log is about."""

    TERM = 0
    SNAPSHOT = 1


class _Record(msgspec.Struct, frozen=True, array_like=True):
    """A record of a file."""


class LogEntry(_Record, frozen=True):
    """One entry of the recording log, with the fields that Aeron's has."""

    recording_id: int
    leadership_term_id: int
    term_base_log_position: int
    log_position: int
    """Of a term, where it ends, or -1; of a snapshot, where it was taken."""
    timestamp: int
    service_id: int
    type: EntryType

    @property
    def term(self) -> TermEntry:
        """The entry as the protocol sees it."""
        return TermEntry(self.leadership_term_id, self.term_base_log_position, self.log_position)


def term_entry(entry: TermEntry, timestamp: int, recording_id: int = 0) -> LogEntry:
    """The entry of a term."""
    return LogEntry(
        recording_id,
        entry.leadership_term_id,
        entry.term_base_log_position,
        entry.log_position,
        timestamp,
        NULL_VALUE,
        EntryType.TERM,
    )


class NodeState(_Record, frozen=True):
    """What a member must not forget of its ballots."""

    candidate_term_id: int = NULL_VALUE
    log_position: int = 0
    timestamp: int = 0


class Intent(_Record, frozen=True):
    """What is to become of the files of a member; what is None stays as it is."""

    node_state: NodeState | None
    truncate_position: int | None
    """Where to cut the log off."""
    entries: tuple[LogEntry, ...] | None
    """Of the recording log, all of them."""

    @property
    def count(self) -> int:
        """How many files change."""
        parts = (self.node_state, self.truncate_position, self.entries)
        return sum(part is not None for part in parts)


encode: Final = msgspec.msgpack.Encoder().encode
"""Writes the entries of a recording log, the node state or an intent."""


def decode(data: bytes, kind: type[T]) -> T:
    """Read what `encode` has written.

    Raises
    ------
    ArchiveError
        If it is of another kind.
    """
    try:
        return msgspec.msgpack.decode(data, type=kind)
    except msgspec.MsgspecError as error:
        raise ArchiveError(f"{len(data)} bytes are no record of an archive: {error}") from None

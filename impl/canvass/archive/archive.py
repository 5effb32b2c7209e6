"""A member's archive: all data that survives a restart.

The log is a recording. Everything else that the protocol keeps is in one file, which is replaced as
a whole. So the changes of a step on disk are made all together or not at all. If a step also
truncates the log, the file first names the position: a recovery that finds a position there
truncates the log. A snapshot is durable before the file names it. The meaning of the recording
log's entries is in `canvass.cluster.recording_log`.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final
from zlib import crc32

import msgspec
from msgspec.structs import replace

from canvass.archive.recording import SEGMENT_LENGTH, Recording
from canvass.archive.storage import ArchiveError, DamageError, Storage
from canvass.cluster.member import Member, TermEntry
from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member

_HEADER: Final = struct.Struct("<8sII")
"""Magic, and the length and the CRC of the data after the header."""
_ASIDE: Final = ".new"


def write_sealed(storage: Storage, name: str, magic: bytes, data: bytes) -> None:
    """Write a file with a checksum in place of the old one of that name, durably."""
    aside = name + _ASIDE
    storage.create(aside)
    storage.append(aside, _HEADER.pack(magic, len(data), crc32(data)) + data)
    storage.sync(aside)
    storage.rename(aside, name)
    storage.sync_folder()


def read_sealed(storage: Storage, name: str, magic: bytes) -> bytes | None:
    """Read a file with a checksum. Return None if there is no such file.

    Raises
    ------
    DamageError
        If the data has changed since it was written.
    """
    if name not in storage.names():
        return None
    found = storage.read(name)
    if len(found) < _HEADER.size:
        raise DamageError(name, 0, f"{len(found)} bytes are less than a header")
    begins, length, crc = _HEADER.unpack_from(found)
    data = found[_HEADER.size :]
    if begins != magic:
        raise DamageError(name, 0, "it is a file of another kind")
    if length != len(data) or crc32(data) != crc:
        raise DamageError(name, _HEADER.size, "the checksum does not match the content")
    return data


MODULE_SERVICE_ID: Final = -1
"""The service id of the consensus module."""


class SnapshotEntry(msgspec.Struct, frozen=True):
    """A snapshot of the consensus module and of some services, as the recording log names it."""

    leadership_term_id: int
    term_base_log_position: int
    log_position: int
    service_ids: tuple[int, ...]


class Kept(msgspec.Struct, frozen=True):
    """All that an archive keeps beside the log: node state and recording log.

    Parameters
    ----------
    terms, snapshots
        The entries of the recording log, in the order of their positions.
    truncate_position
        Where the log is being truncated; -1 if it is not.
    """

    candidate_term_id: int = NULL_VALUE
    terms: tuple[TermEntry, ...] = ()
    snapshots: tuple[SnapshotEntry, ...] = ()
    truncate_position: int = NULL_VALUE


STATE: Final = "state.dat"
_STATE_MAGIC: Final = b"CVARCHIV"
_SNAPSHOT_MAGIC: Final = b"CVSNAPSH"


class Archive:
    """The archive of one member.

    Parameters
    ----------
    storage
        The storage of its files.
    segment_length
        See `canvass.archive.recording.SEGMENT_LENGTH`.

    Raises
    ------
    DamageError
        If data on disk has changed since it was written.
    ArchiveError
        If the data on disk is of another version.
    """

    def __init__(self, storage: Storage, segment_length: int = SEGMENT_LENGTH) -> None:
        self._storage = storage
        for name in storage.names():
            if name.endswith(_ASIDE):  # It was not complete when a process ended.
                storage.remove(name)
        storage.sync_folder()  # The last renames of a killed process may not be durable.
        self.recording = Recording(storage, segment_length=segment_length)
        written = read_sealed(storage, STATE, _STATE_MAGIC)
        try:
            self.kept = Kept() if written is None else msgspec.msgpack.decode(written, type=Kept)
        except msgspec.DecodeError as error:
            raise ArchiveError(f"{STATE} is of another version: {error}") from None
        self._truncate()

    def found(self, rules: Rules) -> Member:
        """The protocol state that a restart finds."""
        kept = self.kept
        disk = kept.candidate_term_id, kept.terms, self.recording.end
        if not kept.snapshots:
            return persistent_member(rules, *disk)
        term, base, position, _ = msgspec.structs.astuple(kept.snapshots[-1])
        return persistent_member(rules, *disk, term, base, position)

    def change(self, kept: Kept, truncate_position: int = NULL_VALUE) -> None:
        """Replace the kept data, and truncate the log unless the position is -1.

        A crash leaves both changes or neither.
        """
        if kept != self.kept:
            self._keep(replace(kept, truncate_position=truncate_position))
            self._truncate()
        elif truncate_position != NULL_VALUE:
            self.recording.truncate(truncate_position)

    def write_snapshot(
        self, term: int, base: int, position: int, parts: Mapping[int, bytes]
    ) -> None:
        """Write a snapshot: first its parts by service id, then its entry in the recording log."""
        for service_id, data in sorted(parts.items()):
            name = _snapshot_name(position, service_id)
            write_sealed(self._storage, name, _SNAPSHOT_MAGIC, data)
        entry = SnapshotEntry(term, base, position, tuple(sorted(parts)))
        others = (one for one in self.kept.snapshots if one.log_position != position)
        entries = sorted((*others, entry), key=lambda one: one.log_position)
        self._keep(replace(self.kept, snapshots=tuple(entries)))

    def last_snapshot(self) -> tuple[int, dict[int, bytes]]:
        """Read the position and the parts of the newest snapshot; 0 and no parts if there is none.

        Raises
        ------
        ArchiveError
            If a part is missing or damaged.
        """
        if not self.kept.snapshots:
            return 0, {}
        last, parts = self.kept.snapshots[-1], {}
        for service_id in last.service_ids:
            name = _snapshot_name(last.log_position, service_id)
            data = read_sealed(self._storage, name, _SNAPSHOT_MAGIC)
            if data is None:
                raise ArchiveError(f"the recording log names {name}, which is missing")
            parts[service_id] = data
        return last.log_position, parts

    def close(self) -> None:
        """Close the storage."""
        self._storage.close()

    def _keep(self, kept: Kept) -> None:
        write_sealed(self._storage, STATE, _STATE_MAGIC, msgspec.msgpack.encode(kept))
        self.kept = kept

    def _truncate(self) -> None:
        """Finish a truncation that was begun, and forget its position: later entries must stay."""
        if self.kept.truncate_position != NULL_VALUE:
            self.recording.truncate(self.kept.truncate_position)
            self._keep(replace(self.kept, truncate_position=NULL_VALUE))


def _snapshot_name(position: int, service_id: int) -> str:
    part = "module" if service_id == MODULE_SERVICE_ID else f"service-{service_id}"
    return f"snapshot-{position}-{part}.dat"

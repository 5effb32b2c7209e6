"""The recording log and the node state in bytes: what surrounds the recording of the log.

This module has the formats. `canvass.cluster.recording_log` says what the entries mean to the
protocol; the archive decides when they are written.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from enum import IntEnum
from typing import Final
from zlib import crc32

from canvass.archive.storage import ArchiveError, DamageError, Storage
from canvass.cluster.member import TermEntry
from canvass.cluster.messages import NULL_VALUE

_HEADER: Final = struct.Struct("<8sII")
"""Magic, length, CRC of what follows."""
_ASIDE: Final = ".new"


def replace_file(storage: Storage, name: str, data: bytes) -> None:
    """Put a file in the place of the one of that name, durably."""
    aside = name + _ASIDE
    storage.create(aside)
    storage.append(aside, data)
    storage.sync(aside)
    storage.rename(aside, name)
    storage.sync_folder()


def write_sealed(storage: Storage, name: str, magic: bytes, data: bytes) -> None:
    """Put a file with a checksum in the place of the one of that name, durably."""
    replace_file(storage, name, _HEADER.pack(magic, len(data), crc32(data)) + data)


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


@dataclass(frozen=True, slots=True)
class LogEntry:
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


@dataclass(frozen=True, slots=True)
class NodeState:
    """What a member must not forget of its ballots."""

    candidate_term_id: int = NULL_VALUE
    log_position: int = 0
    timestamp: int = 0


@dataclass(frozen=True, slots=True)
class Intent:
    """What is to become of the files of a member; what is None stays as it is."""

    node_state: NodeState | None
    truncate_position: int | None
    """Where to truncate the log."""
    entries: tuple[LogEntry, ...] | None
    """Of the recording log, all of them."""

    @property
    def count(self) -> int:
        """How many files change."""
        parts = (self.node_state, self.truncate_position, self.entries)
        return sum(part is not None for part in parts)


_ENTRY: Final = struct.Struct("<qqqqqii")
_NODE_STATE: Final = struct.Struct("<qqq")
_INTENT: Final = struct.Struct("<qqqq?")
"""Candidate term, with log position and timestamp; where to truncate the log; whether entries of
the recording log follow."""
_NOTHING: Final = -2


def encode_entries(entries: Sequence[LogEntry]) -> bytes:
    """Write the entries of a recording log."""
    return b"".join(_ENTRY.pack(*astuple(entry)) for entry in entries)


def decode_entries(data: bytes) -> tuple[LogEntry, ...]:
    """Read the entries of a recording log."""
    try:
        return tuple(
            LogEntry(recording, term, base, end, timestamp, service, EntryType(kind))
            for recording, term, base, end, timestamp, service, kind in _ENTRY.iter_unpack(data)
        )
    except (struct.error, ValueError) as error:
        raise ArchiveError(f"{len(data)} bytes are no recording log: {error}") from None


def encode_node_state(state: NodeState) -> bytes:
    """Write the node state."""
    return _NODE_STATE.pack(*astuple(state))


def decode_node_state(data: bytes) -> NodeState:
    """Read the node state."""
    if len(data) != _NODE_STATE.size:
        raise ArchiveError(f"{len(data)} bytes are no node state")
    return NodeState(*_NODE_STATE.unpack(data))


def encode_intent(intent: Intent) -> bytes:
    """Write an intent."""
    state, cut = intent.node_state, intent.truncate_position
    data = _INTENT.pack(
        _NOTHING if state is None else state.candidate_term_id,
        0 if state is None else state.log_position,
        0 if state is None else state.timestamp,
        _NOTHING if cut is None else cut,
        intent.entries is not None,
    )
    return data + encode_entries(intent.entries or ())


def decode_intent(data: bytes) -> Intent:
    """Read an intent."""
    if len(data) < _INTENT.size:
        raise ArchiveError(f"{len(data)} bytes are no intent")
    candidate, position, timestamp, cut, has_entries = _INTENT.unpack_from(data)
    return Intent(
        None if candidate == _NOTHING else NodeState(candidate, position, timestamp),
        None if cut == _NOTHING else cut,
        decode_entries(data[_INTENT.size :]) if has_entries else None,
    )

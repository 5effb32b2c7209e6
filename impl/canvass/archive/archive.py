"""A member's archive: all data that survives a restart.

A step of the protocol may change several files, all of them or none. If more than one file changes,
the archive first writes the changes into a file (the *intent*). A recovery that finds the intent
carries it out again. This module has the formats of recording log and node state.
`canvass.cluster.recording_log` has the meaning of the entries.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from enum import IntEnum
from typing import Final
from zlib import crc32

from canvass.archive.recording import SEGMENT_LENGTH, Recording
from canvass.archive.storage import ArchiveError, DamageError, Storage
from canvass.cluster.member import Member, TermEntry
from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member

_HEADER: Final = struct.Struct("<8sII")
"""Magic, and the length and the CRC of the data after the header."""
_ASIDE: Final = ".new"


def replace_file(storage: Storage, name: str, data: bytes) -> None:
    """Write a file in place of the old one of that name, durably."""
    aside = name + _ASIDE
    storage.create(aside)
    storage.append(aside, data)
    storage.sync(aside)
    storage.rename(aside, name)
    storage.sync_folder()


def write_sealed(storage: Storage, name: str, magic: bytes, data: bytes) -> None:
    """Write a file with a checksum in place of the old one of that name, durably."""
    replace_file(storage, name, _HEADER.pack(magic, len(data), crc32(data)) + data)


def read_sealed(storage: Storage, name: str, magic: bytes) -> bytes | None:
    """Read a file with a checksum. Return None if there is no such file.

    Raises
    ------
    DamageError
        If the data has changed since it was written.
    """
    if name not in storage.names():
        return None
    found = storage.read(name, 0, storage.size(name))
    if len(found) < _HEADER.size:
        raise DamageError(name, 0, f"{len(found)} bytes are less than a header")
    begins, length, crc = _HEADER.unpack_from(found)
    data = found[_HEADER.size :]
    if begins != magic:
        raise DamageError(name, 0, "it is a file of another kind")
    if length != len(data) or crc32(data) != crc:
        raise DamageError(name, _HEADER.size, "the checksum does not match the content")
    return data


def remove_aside(storage: Storage) -> None:
    """Remove files that were not complete when a process ended."""
    for name in storage.names():
        if name.endswith(_ASIDE):
            storage.remove(name)


MODULE_SERVICE_ID: Final = -1
"""The service id of the consensus module."""


class EntryType(IntEnum):
    """The types of entries in the recording log."""

    TERM = 0
    SNAPSHOT = 1


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One entry of the recording log, with Aeron's fields."""

    recording_id: int
    leadership_term_id: int
    term_base_log_position: int
    log_position: int
    """The end of a term, or -1; the position of a snapshot."""
    timestamp: int
    service_id: int
    type: EntryType

    @property
    def term(self) -> TermEntry:
        """The entry as the protocol sees it."""
        return TermEntry(self.leadership_term_id, self.term_base_log_position, self.log_position)


@dataclass(frozen=True, slots=True)
class NodeState:
    """The candidate term of a member, with the end of its log when the term was written."""

    candidate_term_id: int = NULL_VALUE
    log_position: int = 0
    timestamp: int = 0


@dataclass(frozen=True, slots=True)
class Intent:
    """The changes of a member's files. None means no change."""

    node_state: NodeState | None
    truncate_position: int | None
    """Where to truncate the log."""
    entries: tuple[LogEntry, ...] | None
    """All entries of the recording log."""

    @property
    def count(self) -> int:
        """The number of files that change."""
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


RECORDING_LOG: Final = "recording.log"
NODE_STATE: Final = "node-state.dat"
INTENT: Final = "intent.dat"
_LOG_MAGIC: Final = b"CVRECLOG"
_STATE_MAGIC: Final = b"CVNODEST"
_INTENT_MAGIC: Final = b"CVINTENT"
_SNAPSHOT_MAGIC: Final = b"CVSNAPSH"


@dataclass(frozen=True, slots=True)
class Change:
    """The changes of a step on disk. None means no change."""

    candidate_term_id: int | None = None
    term_entries: tuple[TermEntry, ...] | None = None
    truncate_position: int | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot of the consensus module and of all services."""

    leadership_term_id: int
    term_base_log_position: int
    log_position: int
    parts: Mapping[int, bytes]
    """The parts by service id; the consensus module has -1."""


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
    """

    def __init__(self, storage: Storage, segment_length: int = SEGMENT_LENGTH) -> None:
        self._storage = storage
        remove_aside(storage)
        storage.sync_folder()  # The last renames of a killed process may not be durable.
        self.recording = Recording(storage, segment_length=segment_length)
        written = read_sealed(storage, RECORDING_LOG, _LOG_MAGIC)
        self.entries = () if written is None else decode_entries(written)
        state = read_sealed(storage, NODE_STATE, _STATE_MAGIC)
        self.node_state = NodeState() if state is None else decode_node_state(state)
        intent = read_sealed(storage, INTENT, _INTENT_MAGIC)
        if intent is not None:
            self._carry_out(decode_intent(intent))
            self._remove_intent()

    @property
    def term_entries(self) -> tuple[TermEntry, ...]:
        """The TERM entries of the recording log."""
        return tuple(entry.term for entry in self.entries if entry.type is EntryType.TERM)

    def found(self, rules: Rules) -> Member:
        """The protocol state that a restart finds."""
        last = self._last_snapshot_entry()
        position = self.recording.end
        candidate_term_id = self.node_state.candidate_term_id
        if last is None:
            return persistent_member(rules, candidate_term_id, self.term_entries, position)
        return persistent_member(
            rules,
            candidate_term_id,
            self.term_entries,
            position,
            last.leadership_term_id,
            last.term_base_log_position,
            last.log_position,
        )

    def change(self, change: Change, timestamp: int) -> None:
        """Carry out the changes of a step on disk, all of them or none."""
        state = entries = None
        if change.candidate_term_id is not None:
            state = NodeState(change.candidate_term_id, self.recording.end, timestamp)
        if change.term_entries is not None:
            entries = self._with_terms(change.term_entries, timestamp)
        intent = Intent(state, change.truncate_position, entries)
        if intent.count > 1:
            write_sealed(self._storage, INTENT, _INTENT_MAGIC, encode_intent(intent))
        self._carry_out(intent)
        if intent.count > 1:
            self._remove_intent()

    def write_snapshot(self, snapshot: Snapshot, timestamp: int) -> None:
        """Write a snapshot: first its parts, then its entries in the recording log."""
        position = snapshot.log_position
        for service_id, data in sorted(snapshot.parts.items()):
            name = _snapshot_name(position, service_id)
            write_sealed(self._storage, name, _SNAPSHOT_MAGIC, data)
        # Services first, the module last: only a snapshot that has the module's entry is whole.
        entries = tuple(
            LogEntry(
                position,
                snapshot.leadership_term_id,
                snapshot.term_base_log_position,
                position,
                timestamp,
                service_id,
                EntryType.SNAPSHOT,
            )
            for service_id in sorted(snapshot.parts, reverse=True)
        )
        kept = tuple(
            entry
            for entry in self.entries
            if entry.type is EntryType.TERM or entry.log_position != position
        )
        self._write_entries((*kept, *entries))

    def last_snapshot(self) -> Snapshot | None:
        """Read the newest snapshot.

        Raises
        ------
        ArchiveError
            If a part of it is missing.
        """
        last = self._last_snapshot_entry()
        if last is None:
            return None
        parts = {}
        for entry in self.entries:
            if entry.type is EntryType.SNAPSHOT and entry.log_position == last.log_position:
                name = _snapshot_name(entry.log_position, entry.service_id)
                data = read_sealed(self._storage, name, _SNAPSHOT_MAGIC)
                if data is None:
                    raise ArchiveError(f"the recording log names {name}, which is missing")
                parts[entry.service_id] = data
        return Snapshot(
            last.leadership_term_id, last.term_base_log_position, last.log_position, parts
        )

    def close(self) -> None:
        """Close the storage."""
        self._storage.close()

    def _last_snapshot_entry(self) -> LogEntry | None:
        found = [
            entry
            for entry in self.entries
            if entry.type is EntryType.SNAPSHOT and entry.service_id == MODULE_SERVICE_ID
        ]
        return max(found, key=lambda entry: entry.log_position, default=None)

    def _with_terms(self, terms: tuple[TermEntry, ...], timestamp: int) -> tuple[LogEntry, ...]:
        """The recording log with new TERM entries. Unchanged entries keep their timestamps."""
        known = {entry.term: entry for entry in self.entries if entry.type is EntryType.TERM}
        kept = tuple(entry for entry in self.entries if entry.type is not EntryType.TERM)
        written = (
            known.get(term)
            or LogEntry(
                0,
                term.leadership_term_id,
                term.term_base_log_position,
                term.log_position,
                timestamp,
                NULL_VALUE,
                EntryType.TERM,
            )
            for term in terms
        )
        return (*written, *kept)

    def _write_entries(self, entries: tuple[LogEntry, ...]) -> None:
        write_sealed(self._storage, RECORDING_LOG, _LOG_MAGIC, encode_entries(entries))
        self.entries = entries

    def _carry_out(self, intent: Intent) -> None:
        if intent.node_state is not None:
            data = encode_node_state(intent.node_state)
            write_sealed(self._storage, NODE_STATE, _STATE_MAGIC, data)
            self.node_state = intent.node_state
        if intent.truncate_position is not None:
            self.recording.truncate(intent.truncate_position)
        if intent.entries is not None:
            self._write_entries(intent.entries)

    def _remove_intent(self) -> None:
        self._storage.remove(INTENT)
        self._storage.sync_folder()


def _snapshot_name(position: int, service_id: int) -> str:
    part = "module" if service_id == MODULE_SERVICE_ID else f"service-{service_id}"
    return f"snapshot-{position}-{part}.dat"

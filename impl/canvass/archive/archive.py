"""A member's archive: everything that it finds again after a restart.

A step of the protocol may change several files. It is carried out whole or not at all: when there
is more than one change, what is going to be done is written down first (the *intent*), and a
recovery that finds it does it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from canvass.archive.recording import SEGMENT_LENGTH, Recording
from canvass.archive.recording_log_file import (
    MODULE_SERVICE_ID,
    EntryType,
    Intent,
    LogEntry,
    NodeState,
    decode_entries,
    decode_intent,
    decode_node_state,
    encode_entries,
    encode_intent,
    encode_node_state,
    read_sealed,
    remove_aside,
    write_sealed,
)
from canvass.archive.storage import ArchiveError, Storage
from canvass.cluster.member import Member, TermEntry
from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member

RECORDING_LOG: Final = "recording.log"
NODE_STATE: Final = "node-state.dat"
INTENT: Final = "intent.dat"
_LOG_MAGIC: Final = b"CVRECLOG"
_STATE_MAGIC: Final = b"CVNODEST"
_INTENT_MAGIC: Final = b"CVINTENT"
_SNAPSHOT_MAGIC: Final = b"CVSNAPSH"


@dataclass(frozen=True, slots=True)
class Change:
    """What a step changes on disk; what is None stays as it is."""

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
    """By service id; the consensus module's is -1."""


class Archive:
    """The archive of one member.

    Parameters
    ----------
    storage
        Where it is kept.
    segment_length
        See `canvass.archive.recording.SEGMENT_LENGTH`.

    Raises
    ------
    DamageError
        If something on disk is not what was written there.
    """

    def __init__(self, storage: Storage, segment_length: int = SEGMENT_LENGTH) -> None:
        self._storage = storage
        remove_aside(storage)
        storage.sync_folder()  # Names that a killed process has given may not be durable.
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
        """The state of the protocol that a restart finds."""
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
        """Carry out what a step changes on disk, all of it or nothing."""
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
        """Keep a snapshot: first its parts, then the entries that make it count."""
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
            If a part of it is not there.
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
        """Give up the storage."""
        self._storage.close()

    def _last_snapshot_entry(self) -> LogEntry | None:
        found = [
            entry
            for entry in self.entries
            if entry.type is EntryType.SNAPSHOT and entry.service_id == MODULE_SERVICE_ID
        ]
        return max(found, key=lambda entry: entry.log_position, default=None)

    def _with_terms(self, terms: tuple[TermEntry, ...], timestamp: int) -> tuple[LogEntry, ...]:
        """The recording log with other TERM entries; entries that stay keep their timestamps."""
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

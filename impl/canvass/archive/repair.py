"""Repair of a recording whose bits have rotted, from another member's recording of the same log.

Every frame bears a checksum of the whole log up to its end. So the first sound frame after the
damage tells whether what was put in its place is what was there: nothing is guessed, and what
cannot be proved is left as it is. Small files are not repaired: no other member has the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from canvass.archive.archive import NODE_STATE, Archive, Change, replace_file
from canvass.archive.memory import MemoryStorage
from canvass.archive.recording import (
    SEGMENT_LENGTH,
    Frame,
    chained,
    decode_frame,
    encode_frame,
    segment_name,
    segment_starts,
)
from canvass.archive.storage import ArchiveError, Storage
from canvass.cluster.member import Member
from canvass.cluster.recording_log import last_term
from canvass.cluster.rules import Rules


def restore(
    storage: Storage,
    others: Sequence[Storage],
    rules: Rules,
    timestamp: int,
    segment_length: int = SEGMENT_LENGTH,
) -> int:
    """Fill an empty disk for a member that has lost its own; say which of the others was copied.

    Parameters
    ----------
    storage
        The new disk. If this fails, what is on it must not be started, but be removed.
    others
        The disks of all other members, whose processes do not write meanwhile. They are only read.
    rules
        Of the cluster.
    timestamp
        In milliseconds.
    segment_length
        See `canvass.archive.recording.SEGMENT_LENGTH`.

    Raises
    ------
    ArchiveError
        If one of the other members is missing, or what it has is damaged: it may be the only one
        that has what the lost member acknowledged.
    """
    if storage.names():
        raise ArchiveError("the disk to restore a member on is not empty")
    if len(others) != rules.member_count - 1:
        raise ArchiveError(f"{len(others)} of {rules.member_count - 1} other members are there")
    found = [_found(source, rules, segment_length) for source in others]
    newest = max(range(len(found)), key=lambda k: (_log_term(found[k]), found[k].recorded_position))
    _copy(others[newest], storage, NODE_STATE)
    promised = max(max(s.persisted_candidate_term_id, _log_term(s)) for s in found)
    change = Change(candidate_term_id=promised)
    Archive(storage, segment_length).change(change, timestamp)
    return newest


def _log_term(found: Member) -> int:
    """The term that a log ends with, as a restart sees it."""
    log = found.recording_log
    return last_term(log) if log else found.snapshot_leadership_term_id


def _found(source: Storage, rules: Rules, segment_length: int) -> Member:
    """What a restart would find, which may repair its disk: on a copy."""
    scratch = MemoryStorage()
    _copy(source, scratch)
    return Archive(scratch, segment_length).found(rules)


def _copy(source: Storage, target: Storage, without: str = "") -> None:
    for name in source.names():
        if name != without:
            target.create(name)
            target.append(name, source.read(name, 0, source.size(name)))
            target.sync(name)
    target.sync_folder()


@dataclass
class _Segment:
    """One file, with what is put into it."""

    name: str
    data: bytearray
    proved: bytearray = field(init=False)

    def __post_init__(self) -> None:
        self.proved = bytearray(self.data)

    def prove(self) -> None:
        self.proved[:] = self.data


def repair(storage: Storage, source: Storage) -> int:
    """Put back what is damaged in a recording; say how many entries.

    Parameters
    ----------
    storage
        Where the damaged recording is. No process may have it open.
    source
        Where another member's recording of the same log is; only read.

    Raises
    ------
    ArchiveError
        If nothing could be put back: there is no damage, the other has not what is missing, or
        nothing after it proves it.
    """
    starts, damaged = segment_starts(storage), False
    if not starts:
        raise ArchiveError("there is no recording of the log to repair")
    supply = _Supply(source)
    position = checksum = proved = unproved = 0
    changed: list[_Segment] = []
    for start in starts:
        if start != position:
            damaged = True
            break
        name = segment_name(start)
        segment = _Segment(name, bytearray(storage.read(name, 0, storage.size(name))))
        changed.append(segment)
        while position - start < len(segment.data):
            offset = position - start
            frame = decode_frame(segment.data, offset, position)
            if frame is not None and frame.checksum == chained(checksum, position, frame.payload):
                if unproved:
                    proved, unproved = proved + unproved, 0
                    for one in changed:
                        one.prove()
            else:
                damaged = True
                frame = supply.frame_at(position, checksum)
                if frame is None or frame.end - start > len(segment.data):
                    break
                data = encode_frame(frame)
                segment.data[offset : offset + len(data)] = data
                unproved += 1
            position, checksum = frame.end, frame.checksum
    if not proved:
        reason = "the other recording cannot repair the damage"
        raise ArchiveError(reason if damaged else "the recording of the log has no damage")
    for segment in changed:
        if storage.read(segment.name, 0, storage.size(segment.name)) != segment.proved:
            replace_file(storage, segment.name, bytes(segment.proved))
    return proved


class _Supply:
    """The sound entries of the other recording, in order."""

    def __init__(self, source: Storage) -> None:
        self._frames = sound_frames(source)
        self._next: Frame | None = next(self._frames, None)

    def frame_at(self, position: int, checksum: int) -> Frame | None:
        """The entry that begins at a position, chained to what stands before it here."""
        while self._next is not None and self._next.position < position:
            self._next = next(self._frames, None)
        found = self._next
        if found is None or found.position != position:
            return None
        return Frame(position, found.end, found.payload, chained(checksum, position, found.payload))


def sound_frames(storage: Storage) -> Iterator[Frame]:
    """Read the entries of a recording in their order, up to the first that is not sound."""
    position = checksum = 0
    for start in segment_starts(storage):
        name = segment_name(start)
        data = storage.read(name, 0, storage.size(name))
        while position - start < len(data):
            frame = decode_frame(data, position - start, position)
            if frame is None or frame.checksum != chained(checksum, position, frame.payload):
                return
            yield frame
            position, checksum = frame.end, frame.checksum

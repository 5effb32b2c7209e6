"""Repair of a damaged recording, and of a lost disk, from the disks of other members.

Each frame has a checksum of the whole log up to its end. So the first sound frame after the damage
proves that the entries put back are the original ones. Entries without this proof are not put back.
Small files are not repaired, because they differ from member to member.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from canvass.archive.archive import NODE_STATE, Archive, Change, replace_file
from canvass.archive.memory import MemoryStorage
from canvass.archive.recording import (
    SEGMENT_LENGTH,
    Frame,
    Recording,
    chained,
    decode_frame,
    encode_frame,
    segment_name,
    segment_starts,
)
from canvass.archive.storage import ArchiveError, DamageError, Storage
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
    """Fill an empty disk for a member that has lost its disk, from the newest other disk.

    Parameters
    ----------
    storage
        The new disk. After an error it must be emptied before the member starts.
    others
        The disks of all other members. They are only read. No process may write to them meanwhile.
    rules
        The rules of the cluster.
    timestamp
        The time in milliseconds.
    segment_length
        See `canvass.archive.recording.SEGMENT_LENGTH`.

    Returns
    -------
    int
        The index of the disk that was copied.

    Raises
    ------
    ArchiveError
        If another member's disk is missing or damaged. It may be the only disk with the entries
        that the lost member acknowledged.
    """
    if storage.names():
        raise ArchiveError("the disk to restore a member on is not empty")
    if len(others) != rules.member_count - 1:
        raise ArchiveError(f"{len(others)} of {rules.member_count - 1} other members are there")
    found = [_found(source, rules, segment_length) for source in others]
    newest = max(range(len(found)), key=lambda k: (_log_term(found[k]), found[k].recorded_position))
    _copy(others[newest], storage, [n for n in others[newest].names() if n != NODE_STATE])
    promised = max(max(s.persisted_candidate_term_id, _log_term(s)) for s in found)
    change = Change(candidate_term_id=promised)
    Archive(storage, segment_length).change(change, timestamp)
    return newest


def _log_term(found: Member) -> int:
    """The log term of a member after a restart."""
    log = found.recording_log
    return last_term(log) if log else found.snapshot_leadership_term_id


def _found(source: Storage, rules: Rules, segment_length: int) -> Member:
    """The state that a restart finds. It reads a copy, because a restart may change the disk."""
    scratch = MemoryStorage()
    _copy(source, scratch, source.names())
    return Archive(scratch, segment_length).found(rules)


def _copy(source: Storage, target: Storage, names: Sequence[str]) -> None:
    for name in names:
        target.create(name)
        target.append(name, source.read(name, 0, source.size(name)))
        target.sync(name)
    target.sync_folder()


def repair(storage: Storage, source: Storage) -> int:
    """Put back the damaged entries of a recording. Return the number of entries.

    Parameters
    ----------
    storage
        The disk of the damaged recording. No process may have it open.
    source
        The disk of another member with a recording of the same log. It is only read.

    Raises
    ------
    ArchiveError
        If there is no damage, or if no entry could be put back: the other recording lacks an entry,
        or no sound entry follows that proves it. The message names the file and the offset.

    Notes
    -----
    Damage may remain; see `find_damage`.
    """
    if not segment_starts(storage):
        raise ArchiveError("there is no recording of the log to repair")
    damage = find_damage(storage)
    if damage is None:
        raise ArchiveError("the recording of the log has no damage; other files are not repaired")
    count = _put_back(storage, source)
    if not count:
        raise ArchiveError(f"{damage}; the other recording cannot repair this")
    return count


def find_damage(storage: Storage) -> DamageError | None:
    """The damage that keeps a member from starting on a recording, or None."""
    scratch = MemoryStorage()
    _copy(storage, scratch, [segment_name(start) for start in segment_starts(storage)])
    try:
        Recording(scratch)
    except DamageError as error:
        return error
    return None


@dataclass
class _Segment:
    """A segment file while it is repaired: its data, and its data with proved entries only."""

    name: str
    data: bytearray
    proved: bytearray = field(init=False)

    def __post_init__(self) -> None:
        self.proved = bytearray(self.data)


def _put_back(storage: Storage, source: Storage) -> int:
    """Replace damaged entries by entries of the other recording as far as these are proved."""
    supply = {frame.position: frame for frame in sound_frames(source)}
    position = checksum = proved = unproved = 0
    changed: list[_Segment] = []
    for start in segment_starts(storage):
        if start != position:
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
                        one.proved[:] = one.data
            else:
                sound = supply.get(position)
                if sound is None or sound.end - start > len(segment.data):
                    break
                after = chained(checksum, position, sound.payload)
                frame = Frame(position, sound.end, sound.payload, after)
                data = encode_frame(frame)
                segment.data[offset : offset + len(data)] = data
                unproved += 1
            position, checksum = frame.end, frame.checksum
    for segment in changed:
        if storage.read(segment.name, 0, storage.size(segment.name)) != segment.proved:
            replace_file(storage, segment.name, bytes(segment.proved))
    return proved


def sound_frames(storage: Storage) -> Iterator[Frame]:
    """The entries of a recording in order, up to the first damaged one."""
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

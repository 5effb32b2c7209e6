"""The new disk of a member that has lost its disk, filled from the disks of all other members."""

from __future__ import annotations

from collections.abc import Sequence

from canvass.archive.archive import NODE_STATE, Archive, Change
from canvass.archive.memory import MemoryStorage
from canvass.archive.recording import SEGMENT_LENGTH
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

"""Restoring a member whose disk is lost, from the disks of all other members.

What such a member had acknowledged and promised is lost with its disk; if it came back empty and
voted, what was committed with its help could be lost as well. So it comes back with the newest log
of all others, in which everything is that it can have helped to commit, and with the greatest
candidate term of all others: whom it has voted for has that term, too, and so has who heard of its
own ballot. It must not come back before the others have read, or lost, all that it had sent. Why
that is enough: see ``docs/guide/simulate.md``.
"""

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

"""The TERM entries of the recording log: which leadership terms a log holds, and where each begins
and ends.

Pure functions on tuples of `canvass.cluster.member.TermEntry` with rising terms. A term that no
entry names, below the last one, is empty at the base of the next entry: the entries with which
Aeron fills such gaps are implied. Bytes, files and snapshot entries do not belong here.

The recording log and the bytes that the archive has recorded can disagree. Nothing here reconciles
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, TypeAlias

from msgspec.structs import replace

from canvass.cluster.member import TermEntry
from canvass.cluster.messages import NULL_VALUE

RecordingLog: TypeAlias = tuple[TermEntry, ...]

NO_TERM_ENTRY: Final = TermEntry(NULL_VALUE, NULL_VALUE, NULL_VALUE)


def last_entry(log: RecordingLog) -> TermEntry:
    """The last entry, or `NO_TERM_ENTRY`."""
    return log[-1] if log else NO_TERM_ENTRY


def last_term(log: RecordingLog) -> int:
    """The term of the last entry, or -1."""
    return last_entry(log).leadership_term_id


def find_term_entry(log: RecordingLog, term: int) -> TermEntry:
    """The entry of a term, an implied one included, or `NO_TERM_ENTRY`.

    Notes
    -----
    Source: ``RecordingLog.findTermEntry``.
    """
    if 0 <= term <= last_term(log):
        for entry in log:
            if entry.leadership_term_id == term:
                return entry
            if entry.leadership_term_id > term:
                base = entry.term_base_log_position
                return TermEntry(term, base, base)
    return NO_TERM_ENTRY


def commit_log_position(log: RecordingLog, term: int, end: int) -> RecordingLog:
    """The log with the end of a term set, if an entry names that term.

    Notes
    -----
    Entries of later terms stay as they are. Source: ``RecordingLog.commitLogPosition``.
    """
    return tuple(
        replace(entry, log_position=end) if entry.leadership_term_id == term else entry
        for entry in log
    )


def cut_terms(log: RecordingLog, position: int) -> RecordingLog:
    """The log that ends at ``position``, without the terms that begin beyond it.

    Notes
    -----
    Only a log that hardening HZ5 has opened a term in too early can be cut below the base of its
    last term.
    """
    kept = tuple(entry for entry in log if entry.term_base_log_position <= position)
    return commit_log_position(kept, last_term(kept), position)


def ensure_coherent(
    log: RecordingLog, initial_term: int, initial_base: int, term: int, base: int, end: int
) -> RecordingLog:
    """The log with ``term`` as its last one, unless it is there or below.

    Parameters
    ----------
    log
        The log before.
    initial_term, initial_base
        Where an empty log begins: the snapshot's term and that term's base, or -1 and 0.
    term
        The term to open, or to end.
    base
        Where it begins, or -1 if that is not known. Not used if the last term was closed: the new
        one begins where that ended.
    end
        Where it ends, or -1 if it is open.

    Notes
    -----
    An open last term is closed at ``base``, or where it began if that is not given: Aeron takes the
    base of the term that the election found last in the recording log. If the term is there already
    only its end is set, and only if one is given. Source: ``RecordingLog.ensureCoherent``,
    ``Election.ensureRecordingLogCoherent``.
    """
    if not log:
        first_base = initial_base if base == NULL_VALUE else base
        opened = TermEntry(term, first_base, end)
        if max(0, initial_term) < term and first_base != initial_base:
            return (TermEntry(term - 1, initial_base, first_base), opened)
        return (opened,)
    last = log[-1]
    if last.leadership_term_id < term:
        closed = last.log_position
        if closed == NULL_VALUE:
            closed = last.term_base_log_position if base == NULL_VALUE else base
        return (*log[:-1], replace(last, log_position=closed), TermEntry(term, closed, end))
    if end != NULL_VALUE:
        return commit_log_position(log, term, end)
    return log


def is_coherent(log: Sequence[TermEntry]) -> bool:
    """Whether terms rise, each begins where the one before ended, and only the last is open."""
    return all(
        entry.log_position == NULL_VALUE or entry.term_base_log_position <= entry.log_position
        for entry in log
    ) and all(
        entry.leadership_term_id < following.leadership_term_id
        and entry.log_position == following.term_base_log_position
        for entry, following in pairwise(log)
    )

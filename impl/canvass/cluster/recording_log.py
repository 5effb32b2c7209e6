"""The TERM entries of the recording log: which leadership terms a log holds, and where each begins
and ends.

Pure functions on tuples of `canvass.cluster.member.TermEntry` with rising terms. If a term below
the last one has no entry, it is empty and lies at the base of the next entry. Aeron fills such gaps
with entries; here they are implied. Bytes, files and snapshot entries are in `canvass.archive`.

The recording log and the recording can disagree. No function here makes them agree.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from msgspec.structs import replace

from canvass.cluster.member import TermEntry
from canvass.cluster.messages import NULL_VALUE

RecordingLog: TypeAlias = tuple[TermEntry, ...]

NO_TERM_ENTRY: Final = TermEntry(NULL_VALUE, NULL_VALUE, NULL_VALUE)


def last_term(log: RecordingLog) -> int:
    """The term of the last entry, or -1."""
    return log[-1].leadership_term_id if log else NULL_VALUE


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
    """The log with ``end`` as the end of ``term``, if it has an entry of that term.

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
    A log is cut below the base of its last term only if hardening HZ5 opened that term before a
    quorum did.
    """
    kept = tuple(entry for entry in log if entry.term_base_log_position <= position)
    return commit_log_position(kept, last_term(kept), position)


def ensure_coherent(
    log: RecordingLog, initial_term: int, initial_base: int, term: int, base: int, end: int
) -> RecordingLog:
    """The log with ``term`` as its last term, if it had only older terms.

    Parameters
    ----------
    log
        The log before.
    initial_term, initial_base
        Where an empty log begins: the snapshot's term and the base of that term, or -1 and 0.
    term
        The term to open or to end.
    base
        The base of the term, or -1 if it is unknown. It is not used if the last term in the log is
        closed: then the new term begins at the end of that one.
    end
        The end of the term, or -1 if the term stays open.

    Notes
    -----
    An open last term is closed at ``base``, or at its own base if ``base`` is -1: Aeron takes the
    base of the term that the election found last in the recording log. If the log has ``term``, or
    a later term, only the end of ``term`` is set, if ``end`` is given. Source:
    ``RecordingLog.ensureCoherent``, ``Election.ensureRecordingLogCoherent``.
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

"""The log of one member, and the logs of a cluster, as records."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from canvass.traces.aeron_log.errors import AeronLogError, LogCode
from canvass.traces.aeron_log.incarnations import LineCounts
from canvass.traces.aeron_log.records import (
    SENDER_FIELDS,
    ElectionStateChange,
    Line,
    LogRecord,
)

_NAMES_MEMBER: Final[dict[type[Line], str]] = {
    **SENDER_FIELDS,
    ElectionStateChange: "leader_member_id",
}
"""The field with a sender or leader, for each record that has one."""


@dataclass(frozen=True, slots=True)
class MemberLog:
    """The log of one member.

    Parameters
    ----------
    member_id
        The member in its lines. If it has no line of the cluster, the member in the file's name, or
        `NULL_VALUE`.
    files
        The files in reading order. A record's ``file`` is an index into them.
    records
        The records in the order of the lines. If the log is too long for the memory, only the
        records of `_KEY_KINDS`, and for each process incarnation the first record of each kind and
        the last record.
    counts
        The numbers of its lines by kind.
    unknown_fields
        For each unknown field, as ``EVENT.name``, the number of its occurrences.
    named
        The members that its lines name as senders or leaders.
    reread
        A function that reads all records again; None if all are in memory.
    """

    member_id: int
    files: tuple[Path, ...]
    records: list[LogRecord]
    counts: LineCounts = field(default_factory=LineCounts)
    unknown_fields: dict[str, int] = field(default_factory=dict)
    named: Collection[int] = ()
    reread: Callable[[], Iterator[LogRecord]] | None = None

    def every_record(self) -> Iterable[LogRecord]:
        """All records in the order of the lines; records that are not in memory are read again."""
        return self.records if self.reread is None else self.reread()


@dataclass(frozen=True, slots=True)
class ClusterLogs:
    """The logs of one cluster.

    Parameters
    ----------
    members
        The logs by member id.
    missing
        The members that other logs name, but that have no log.
    ignored
        Names of files that resemble names of logs. These files are not read.
    member_count
        The number of members; 0 if only the lines show it.
    real_ids
        For each member whose number here differs from its id in the logs, that id.
    """

    members: dict[int, MemberLog]
    missing: tuple[int, ...]
    ignored: tuple[str, ...]
    member_count: int = 0
    real_ids: Mapping[int, int] = field(default_factory=dict)

    def need_lines(self) -> None:
        """Check that the logs have a line.

        Raises
        ------
        AeronLogError
            If all files are empty.
        """
        if not any(log.counts.lines for log in self.members.values()):
            first = next(iter(self.members.values())).files[0]
            more = " and all others" if len(self.members) > 1 else ""
            reason = f"the log is empty{more}"
            raise AeronLogError(str(first), 0, 0, LogCode.NO_LOG, reason)


def members_named(records: Iterable[LogRecord]) -> set[int]:
    """The ids of members that records name as senders or leaders."""
    heard: set[int] = set()
    for record in records:
        if (name := _NAMES_MEMBER.get(type(record))) is not None:
            heard.add(getattr(record, name))
    return heard

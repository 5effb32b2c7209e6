"""The logs of a cluster: finding the files of each member, their order, and reading them.

A folder has files ``member-<id>.log``, optionally with ``.gz`` or ``.zst``, and rolled files
``member-<id>.log.<n>``. Files that the caller names one by one may have any name: their lines show
the members. A log may hold the lines of several members. Then it may also hold the lines of several
clusters that ran one after the other.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Final, TypeAlias

from canvass.cluster.messages import NULL_VALUE
from canvass.traces.aeron_log.clusters import noted_beside, split_clusters, with_numbers
from canvass.traces.aeron_log.incarnations import ClusterLogs, MemberLog, members_named
from canvass.traces.aeron_log.parser import LogParser
from canvass.traces.aeron_log.records import (
    ClusterEvent,
    ElectionStateChange,
    LogRecord,
    NewElection,
    NewLeadershipTerm,
    ProcessStart,
    ReplayNewLeadershipTerm,
    RequestVote,
)
from canvass.traces.aeron_log.source import (
    SIMILAR_NAME,
    AeronLogError,
    LogCode,
    LogName,
    LogSource,
    is_log_name,
    is_other_log,
    parse_log_name,
)
from canvass.traces.run import RUN_FILE
from canvass.traces.schema import MAX_MEMBERS

_KEY_KINDS: Final = frozenset(
    {
        ElectionStateChange,
        ProcessStart,
        NewElection,
        NewLeadershipTerm,
        ReplayNewLeadershipTerm,
        RequestVote,
    }
)
"""The records that are kept in memory for each log: they show elections, leaders and terms."""


def read_records(files: Iterable[Path], parser: LogParser) -> Iterator[list[LogRecord]]:
    """Read the log of one member, file after file, in bounded memory.

    Raises
    ------
    AeronLogError
        If a file is no event log, cannot be read, or breaks a limit.
    """
    for path in files:
        source = LogSource(path)
        parser.begin_file(str(path))
        for piece in source.pieces():
            yield parser.feed(piece)
        yield parser.end_file(cut=source.cut)
    yield parser.close()


@dataclass(slots=True)
class _Kept:
    """The records of a log that are kept in memory: all, or key records if there are too many."""

    limit: int
    records: list[LogRecord] = field(default_factory=list)
    named: set[int] = field(default_factory=set)
    is_whole: bool = True
    _seen: set[type[LogRecord]] = field(default_factory=set)
    _last: LogRecord | None = None

    def add(self, batch: list[LogRecord]) -> None:
        self.named |= members_named(batch)
        if self.is_whole and len(self.records) + len(batch) > self.limit:
            self.is_whole = False
            every, self.records = self.records, []
            self._add_key_records(every)
        if self.is_whole:
            self.records += batch
        else:
            self._add_key_records(batch)

    def _add_key_records(self, batch: Iterable[LogRecord]) -> None:
        for record in batch:
            kind = type(record)
            if kind is ProcessStart:
                self._seen.clear()
                self.end()
            self._last = None
            if kind in _KEY_KINDS or kind not in self._seen:
                self._seen.add(kind)
                self.records.append(record)
            else:
                self._last = record

    def end(self) -> None:
        """Keep the last record of a process incarnation, in addition to the key records."""
        if self._last is not None:
            self.records.append(self._last)


def read_log(files: Sequence[Path], kept: int = sys.maxsize) -> dict[int, MemberLog]:
    """Read the log of one member, or of several members.

    Parameters
    ----------
    files
        The files in the order in which they were written.
    kept
        The most records of a member that are kept in memory. A longer log is read again when its
        records are needed.

    Returns
    -------
    dict
        The log of each member. If no line names a member, there is one log, of `NULL_VALUE`.

    Raises
    ------
    AeronLogError
        As for `read_records`; also if two members with the same id ran at the same time.
    """
    only = _read_lines(files, kept, None)
    members = sorted(i for i in only.counts.members if i != NULL_VALUE)
    if len(members) < 2:
        found = {only.member_id: only}
    elif len(members) > MAX_MEMBERS:
        file, line = sorted(only.counts.members.values())[MAX_MEMBERS]
        reason = f"lines of more than {MAX_MEMBERS} members"
        raise AeronLogError(str(files[file]), line, 0, LogCode.TOO_MANY_MEMBERS, reason)
    else:
        found = {i: _read_lines(files, kept, i) for i in members}
        for i in members[1:]:  # Lines that no member has written count once.
            counts = found[i].counts
            counts.foreign, counts.other_components, counts.headers = 0, 0, 0
    for i, log in found.items():
        if log.counts.overlap is not None:
            file, line = log.counts.overlap
            reason = (
                f"two processes of a member {i} run at the same time: the lines of several clusters"
                " with the same ids, and no line names its cluster"
            )
            raise AeronLogError(str(files[file]), line, 0, LogCode.OVERLAPPING_CLUSTERS, reason)
    return found


def _read_lines(files: Sequence[Path], kept: int, member: int | None) -> MemberLog:
    """Read the lines of one member, or all lines as those of one member."""
    parser = LogParser(member)
    found = _Kept(kept)
    for batch in read_records(files, parser):
        found.add(batch)
    found.end()
    ids = (i for i in parser.counts.members if i != NULL_VALUE)
    member_id = next(ids, NULL_VALUE) if member is None else member

    def reread() -> Iterator[LogRecord]:
        for batch in read_records(files, LogParser(member)):
            yield from batch

    return MemberLog(
        member_id,
        tuple(files),
        found.records,
        parser.counts,
        parser.unknown_fields,
        found.named,
        None if found.is_whole else reread,
    )


def read_clusters(
    paths: Sequence[Path],
    say: Callable[[str], object] = lambda _: None,
    kept: int = sys.maxsize,
    count: int = 0,
) -> list[ClusterLogs]:
    """Read the logs of a cluster's members, or of several clusters that ran one after the other.

    There can be several clusters only if there is a single log, its file is not named as that of
    one member, and the log has lines of each member that it names.

    Parameters
    ----------
    paths
        One folder, or files. Several files of one member may stand in any order.
    say
        Called with a short description of each stage when it begins.
    kept
        As for `read_log`.
    count
        The number of members; 0 to take it from ``config.json`` beside the logs, or from the lines.

    Raises
    ------
    AeronLogError
        As for `read_log`; also if there is no log at all, if a log is there twice, or if two logs
        have lines of the same member.
    """
    ignored: tuple[str, ...] = ()
    if len(paths) == 1 and paths[0].is_dir():
        groups, ignored = _folder(paths[0])
    else:
        groups = [[path] for path in paths]
    if not groups:
        place = str(paths[0]) if paths else ""
        reason = (
            "there is no member-<id>.log, member-<id>.log.gz or member-<id>.log.zst, nor one other"
            " log"
        )
        raise AeronLogError(place, 0, 0, LogCode.NO_LOG, reason)
    firsts = {path: _first(path) for path in chain.from_iterable(groups)}
    by_member: dict[int, list[Path]] = {}
    for group in groups:
        member_id = _member_of(group, firsts)
        by_member.setdefault(member_id, []).extend(group)
    several: list[dict[int, MemberLog]] = []
    for number, (member_id, files) in enumerate(sorted(by_member.items()), 1):
        say(f"reading the log of member {member_id} ({number} of {len(by_member)})")
        found = read_log(_in_order(files, firsts), kept)
        if len(found) == 1:  # Without a line of the cluster, the file's name decides.
            found = dict(zip([member_id], found.values(), strict=True))
        several.append(found)
    _check_apart(several)
    logs = dict(sorted(chain.from_iterable(one.items() for one in several)))
    is_shared = len(several) == 1 and parse_log_name(groups[0][0].name) is None
    clusters = split_clusters(logs) if is_shared else [logs]
    if not count and len(clusters) == 1:
        count = noted_beside(groups[0][0]).members
    return [with_numbers(_cluster_of(one, ignored), count, is_shared=is_shared) for one in clusters]


def _cluster_of(logs: Mapping[int, MemberLog], ignored: tuple[str, ...]) -> ClusterLogs:
    heard = set().union(*(log.named for log in logs.values()))
    # A member that never reached its election has no line of the cluster, and no other log names
    # it. If another log names such a member, its lines are missing.
    members = {
        member_id: replace(log, member_id=member_id)
        for member_id, log in logs.items()
        if log.member_id == member_id or member_id not in heard
    }
    missing = tuple(sorted(heard - members.keys() - {NULL_VALUE}))
    return ClusterLogs(members, missing, ignored)


def _check_apart(several: Sequence[Mapping[int, MemberLog]]) -> None:
    """Check that no two logs have lines of the same member."""
    owners: dict[int, MemberLog] = {}
    for found in several:
        for member_id, log in found.items():
            if (other := owners.setdefault(member_id, log)) is log:
                continue
            mixed = log if len(found) > 1 else other
            file, line = mixed.counts.members.get(member_id, (0, 0))
            reason = f"a line of member {member_id}, whose lines are also in another log"
            raise AeronLogError(str(mixed.files[file]), line, 0, LogCode.MIXED_MEMBERS, reason)


def _folder(folder: Path) -> tuple[list[list[Path]], tuple[str, ...]]:
    """The files of each member, and the names of files that resemble those of logs."""
    groups: dict[int, list[Path]] = {}
    taken: set[LogName] = set()
    ignored = []
    try:
        paths = sorted(folder.iterdir())
    except OSError as error:
        reason = error.strerror or "cannot be listed"
        raise AeronLogError(str(folder), 0, 0, LogCode.UNREADABLE, reason) from None
    for path in paths:
        name = parse_log_name(path.name)
        if name is None:
            if SIMILAR_NAME.fullmatch(path.name):
                ignored.append(path.name)
            continue
        if name in taken:
            reason = "the same log is there plain and compressed"
            raise AeronLogError(str(path), 0, 0, LogCode.DUPLICATE_LOG, reason)
        taken.add(name)
        groups.setdefault(name.member_id, []).append(path)
    others = [path for path in paths if is_other_log(path.name)]
    if not groups and len(others) == 1:  # The log of all members.
        return [others], ()
    return list(groups.values()), tuple(ignored)


_First: TypeAlias = tuple[ProcessStart | None, ClusterEvent | None]
"""The header and the first cluster event of a file, if it has them."""


def _first(path: Path) -> _First:
    """Read the beginning of a file."""
    parser = LogParser()
    header, event = None, None
    for batch in read_records([path], parser):
        for record in batch:
            if isinstance(record, ProcessStart) and event is None:
                header = header or record
            elif isinstance(record, ClusterEvent) and record.member_id >= 0:
                return header, record
            elif isinstance(record, ClusterEvent):
                event = event or record
    return header, event


def _member_of(files: Sequence[Path], firsts: Mapping[Path, _First]) -> int:
    """The member of some files, from their lines, or from the name if no line is of the cluster."""
    for path in files:
        _, event = firsts[path]
        if event is not None:
            return event.member_id
    name = parse_log_name(files[0].name)
    return NULL_VALUE if name is None else name.member_id


def _in_order(files: Sequence[Path], firsts: Mapping[Path, _First]) -> list[Path]:
    """The files of a member in the order in which they were written.

    The headers decide: first the wall clock, then the stamp. If a file has no header, the stamps of
    all files decide, which is right unless the host was restarted. The numbers of rolled files do
    not show the order: the agent begins with 1 after each start, and fills gaps.
    """
    if len(files) == 1:
        return list(files)
    found = [firsts[path] for path in files]
    if all(header is not None for header, _ in found):
        keys = [(h.wall_time_ms, h.time_ns) for h, _ in found if h]
    else:
        starts = [header or event for header, event in found]
        keys = [(0, start.time_ns if start else 0) for start in starts]
    return [path for _, path in sorted(zip(keys, files, strict=True), key=lambda pair: pair[0])]


_PLAIN: Final = frozenset({"all", "events", "output"})
"""File names of logs that say nothing about the cluster: the folder's name is taken instead."""


def logs_below(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield the logs of each cluster at or below ``root``: a name, and the path.

    The path is a folder with files of members, or a file with the lines of all members.
    """
    if root.is_file():
        yield root.name.partition(".log")[0], root
        return
    for folder in (root, *sorted(one for one in root.rglob("*") if one.is_dir())):
        files = sorted(path for path in folder.iterdir() if path.is_file())
        names = {path.name for path in files}
        parts = folder.relative_to(root).parts
        if any(map(is_log_name, names)) and RUN_FILE not in names:
            yield ".".join(parts) or root.name, folder
        elif RUN_FILE not in names:
            for path in (one for one in files if is_other_log(one.name)):
                stem = path.name.partition(".log")[0]
                own = () if stem in _PLAIN and parts else (stem,)
                yield ".".join((*parts, *own)), path

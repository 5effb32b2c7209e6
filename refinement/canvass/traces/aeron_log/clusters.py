"""The clusters in logs: how many there are, the number of their members, and the members' numbers.

A log with the lines of all members may have several clusters that ran one after the other. Such a
log comes from a test with parameters, or from a node that is started from a backup. No line names
its cluster. A new cluster begins where two things are true: no member runs, and each member that
starts next has an empty disk, or an id that no member of the cluster before had.

A run numbers its members from 0. Mostly the ids in the logs are these numbers. If a cluster has
other ids, its members are numbered in the order of their ids. The first step of a cluster with one
member shows its size: the member leads without a canvass. The size of a larger cluster is the
number of members in the lines, unless the user or `config.json` names it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final, TypeAlias, TypeVar

import msgspec

from canvass.cluster.messages import NULL_VALUE
from canvass.traces.aeron_log.event_types import ROW_OF
from canvass.traces.aeron_log.incarnations import (
    ClusterLogs,
    LineCounts,
    MemberLog,
    members_named,
    starts_process,
)
from canvass.traces.aeron_log.records import (
    ClusterEvent,
    ElectionStateChange,
    LogRecord,
    NewElection,
    ProcessStart,
    TruncatedLine,
)
from canvass.traces.aeron_log.source import AeronLogError, LogCode
from canvass.traces.schema import MAX_MEMBERS
from canvass.traces.timeouts import CONFIG_FILE

_Place: TypeAlias = tuple[int, int]
_END: Final[_Place] = (1 << 62, 0)
_Record = TypeVar("_Record", bound=LogRecord)


@dataclass(slots=True)
class _Incarnation:
    """A process incarnation of a member.

    Attributes
    ----------
    begin, end
        File and line of its first line, and of the first line after it.
    times
        The times of its first and last event in ns.
    is_begun
        Whether a line of an election has been seen.
    is_start
        Whether its first line of an election is that of a process that starts.
    is_fresh
        Whether its disk was empty at that line.
    """

    member_id: int
    begin: _Place
    end: _Place = _END
    times: tuple[int, int] = (0, 0)
    is_begun: bool = False
    is_start: bool = False
    is_fresh: bool = False


def split_clusters(logs: Mapping[int, MemberLog]) -> list[dict[int, MemberLog]]:
    """Divide the lines of a log, by member, into those of each cluster.

    If lines name a member that has no lines itself, the log is not divided: it is not known when
    that member runs.
    """
    if set[int]().union(*(log.named for log in logs.values())) - {NULL_VALUE, *logs}:
        return [dict(logs)]
    several = sorted(
        (one for i, log in logs.items() for one in _incarnations(i, log.records)),
        key=lambda one: one.times,
    )
    clusters: list[list[_Incarnation]] = [[]]
    running: list[list[_Incarnation]] = []
    """Groups of incarnations. From the begin to the end of a group, some member always runs."""
    latest = 0
    for one in several:
        if not running or one.times[0] > latest:
            running.append([])
        running[-1].append(one)
        latest = max(latest, one.times[1]) if len(running[-1]) > 1 else one.times[1]
    for stretch in running:
        known = {one.member_id for one in clusters[-1]}
        firsts = {one.member_id: one for one in reversed(stretch)}
        if clusters[-1] and all(
            one.is_start and (one.is_fresh or i not in known) for i, one in firsts.items()
        ):
            clusters.append([])
        clusters[-1] += stretch
    if len(clusters) == 1:
        return [dict(logs)]
    return [_logs_of(logs, cluster, is_first=k == 0) for k, cluster in enumerate(clusters)]


def _incarnations(member_id: int, records: Iterable[LogRecord]) -> Iterator[_Incarnation]:
    """The incarnations of a member that have an event, in their order."""
    one: _Incarnation | None = None
    for record in records:
        place = record.file, record.line
        if isinstance(record, ProcessStart):
            if one is not None and one.times[1]:
                one.end = place
                yield one
            one = _Incarnation(member_id, (0, 0) if one is None else place)
        elif isinstance(record, ClusterEvent):
            one = one or _Incarnation(member_id, (0, 0))
            one.times = one.times[0] or record.time_ns, record.time_ns
            if isinstance(record, NewElection | ElectionStateChange) and not one.is_begun:
                one.is_begun = True
                one.is_start, one.is_fresh = starts_process(record), _is_fresh(record)
    if one is not None and one.times[1]:
        yield one


def _is_fresh(record: NewElection | ElectionStateChange) -> bool:
    """Whether a member begins an election with an empty disk."""
    if isinstance(record, NewElection):
        return (record.leadership_term_id, record.append_position) == (NULL_VALUE, 0)
    return (record.log_leadership_term_id, record.append_position) == (NULL_VALUE, 0)


def _logs_of(
    logs: Mapping[int, MemberLog], cluster: Iterable[_Incarnation], *, is_first: bool
) -> dict[int, MemberLog]:
    """The logs of one cluster. Lines that no member has written count for the first cluster."""
    spans: dict[int, tuple[_Place, _Place]] = {}
    for one in cluster:
        spans[one.member_id] = spans.get(one.member_id, (one.begin,))[0], one.end
    return {i: _part(logs[i], *span, is_first=is_first) for i, span in sorted(spans.items())}


def _part(log: MemberLog, begin: _Place, end: _Place, *, is_first: bool) -> MemberLog:
    def inside(records: Iterable[LogRecord]) -> Iterator[LogRecord]:
        return (record for record in records if begin <= (record.file, record.line) < end)

    part = _changed(log, inside)
    events: Counter[str] = Counter()
    unreadable, named = 0, set[int]()
    counts = log.counts if is_first else LineCounts()
    for record in part.every_record():
        if isinstance(record, ClusterEvent):
            events[ROW_OF[type(record)].name] += 1
            named |= members_named([record])
        unreadable += isinstance(record, TruncatedLine)
    members = log.counts.members
    counts = replace(counts, members=members, events=dict(events), unreadable=unreadable)
    return replace(part, counts=counts, named=named)


def _changed(
    log: MemberLog, change: Callable[[Iterable[LogRecord]], Iterator[LogRecord]]
) -> MemberLog:
    """A log with other records, in memory and when they are read again."""

    def reread() -> Iterator[LogRecord]:
        return change(log.every_record())

    records = list(change(log.records))
    return replace(log, records=records, reread=None if log.reread is None else reread)


class Noted(msgspec.Struct, frozen=True):
    """The facts about a cluster that `CONFIG_FILE` may have in addition to properties.

    The logs do not print them.

    Attributes
    ----------
    members
        The number of members; 0 if the file does not name it.
    expect_disk_replaced
        Whether a member may start with another disk than it left.
    """

    members: Annotated[int, msgspec.Meta(ge=0, le=MAX_MEMBERS)] = 0
    expect_disk_replaced: bool = False


def noted_beside(log: Path) -> Noted:
    """Read `CONFIG_FILE` beside a log; without it, or if it has another form, take the defaults."""
    try:
        return msgspec.json.decode((log.parent / CONFIG_FILE).read_bytes(), type=Noted)
    except (OSError, msgspec.MsgspecError):
        return Noted()


def with_numbers(logs: ClusterLogs, count: int, *, is_shared: bool) -> ClusterLogs:
    """Number the members of a cluster.

    Parameters
    ----------
    logs
        The logs, by the ids in them.
    count
        The number of members; 0 if it is unknown.
    is_shared
        Whether there is one log for all members. A member without a line has then never run.

    Raises
    ------
    AeronLogError
        If more members are named than there are.
    """
    named = sorted({i for i in logs.members if i >= 0} | set(logs.missing))
    count = count or int(len(named) == 1 and _leads_at_once(logs.members.get(named[0])))
    if not count or not named:
        return logs
    if len(named) > count:
        path = next(iter(logs.members.values())).files[0]
        several = ", ".join(map(str, named))
        reason = f"lines name the members {several}; the cluster is said to have {count}"
        raise AeronLogError(str(path), 0, 0, LogCode.TOO_MANY_MEMBERS, reason)
    ids = {i: i if named[-1] < count else k for k, i in enumerate(named)}
    members = {ids.get(i, i): _renumbered(log, ids) for i, log in logs.members.items()}
    others = sorted(set(range(count)) - set(ids.values()))
    missing = [ids[i] for i in logs.missing]
    if is_shared:
        files = next(iter(members.values())).files
        members |= {i: MemberLog(i, files, [], LineCounts()) for i in others}
    else:
        missing += others
    real = {k: i for i, k in ids.items() if i != k}
    return replace(
        logs,
        members=dict(sorted(members.items())),
        missing=tuple(sorted(missing)),
        member_count=count,
        real_ids=real,
    )


def _leads_at_once(log: MemberLog | None) -> bool:
    changes = (r for r in (log.records if log else ()) if isinstance(r, ElectionStateChange))
    first = next(changes, None)
    return first is not None and first.old_state == "INIT" and first.new_state.startswith("LEADER")


def _renumbered(log: MemberLog, ids: Mapping[int, int]) -> MemberLog:
    if all(i == k for i, k in ids.items()):
        return log
    members = {ids.get(i, i): at for i, at in log.counts.members.items()}
    return replace(
        _changed(log, lambda records: (_with_ids(record, ids) for record in records)),
        member_id=ids.get(log.member_id, log.member_id),
        counts=replace(log.counts, members=members),
        named={ids.get(i, i) for i in log.named},
    )


def _with_ids(record: _Record, ids: Mapping[int, int]) -> _Record:
    names = [name for name in record.__struct_fields__ if name.endswith("member_id")]
    values = {name: getattr(record, name) for name in names}
    return msgspec.structs.replace(record, **{n: ids.get(i, i) for n, i in values.items()})

"""Division of a log with the lines of all members into clusters that ran one after the other.

Such a log comes from a test with parameters, or from a node that is started from a backup. No line
names its cluster. A new cluster begins where two things are true: no member runs, and each member
that starts next has an empty disk, or an id that no member of the cluster before had.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from canvass.cluster.messages import NULL_VALUE
from canvass.traces.aeron_log.event_types import EVENT_TYPES
from canvass.traces.aeron_log.incarnations import LineCounts, starts_process
from canvass.traces.aeron_log.member_log import MemberLog, members_named
from canvass.traces.aeron_log.records import (
    ClusterEvent,
    ElectionStateChange,
    Line,
    LogRecord,
    NewElection,
    ProcessStart,
    TruncatedLine,
)

_NAMES: Final = {row.record: name for name, row in EVENT_TYPES.items()}
_Place: TypeAlias = tuple[int, int]
_END: Final[_Place] = (1 << 62, 0)


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
    def is_inside(record: Line) -> bool:
        return begin <= (record.file, record.line) < end

    def reread() -> Iterator[LogRecord]:
        return filter(is_inside, log.every_record())

    events: Counter[str] = Counter()
    unreadable, named = 0, set[int]()
    counts = log.counts if is_first else LineCounts()
    for record in reread():
        if isinstance(record, ClusterEvent):
            events[_NAMES[type(record)]] += 1
            named |= members_named([record])
        unreadable += isinstance(record, TruncatedLine)
    return replace(
        log,
        records=list(filter(is_inside, log.records)),
        counts=replace(
            counts, members=log.counts.members, events=dict(events), unreadable=unreadable
        ),
        named=named,
        reread=None if log.reread is None else reread,
    )

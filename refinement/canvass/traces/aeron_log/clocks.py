"""The differences between the clocks of the members' hosts, from the messages between the members.

Each host has a monotonic clock of its own. A message is received after it was sent. Some lines of
the sender's log are lower bounds of the time of the send: a candidate requests votes after its
ballot was opened, a voter votes after the request. Messages in both directions between two members
give an interval for the difference of their clocks. If there is no message in one direction, the
wall clocks in the headers of the logs are used.

Commit positions are not used. They would make the interval some milliseconds narrower. But if a
line is missing, a later report would be taken for the cause of a commit position, and the bound
would be false.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, NamedTuple, TypeAlias

from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.records import Line

_ASSUMED_DELAY_NS: Final = 1_000_000
"""The assumed delay of a message if only one direction is known: the longest in local networks."""

_ONE_HOST_NS: Final = 100_000_000
"""If the boot times in two headers differ by less than this, the hosts count as one. A wall clock
that is set while members run moves the boot time by a few milliseconds.
"""

Bounds: TypeAlias = dict[tuple[int, int], int]
"""By sender and receiver: the least number of ns to add to the receiver's clock, relative to the
sender's, so that no message is received before it was sent.
"""


@dataclass(frozen=True, slots=True)
class ClockedLog:
    """The lines of one member, with times of one clock.

    Parameters
    ----------
    times
        The time of each line in ns. Times never fall.
    """

    records: Sequence[Line]
    times: Sequence[int]


def boot_times(lines: Iterable[Line]) -> Iterator[int]:
    """Give the wall time, in ns, at which the host's clock was 0, for each header of a log."""
    for record in lines:
        if isinstance(record, records.ProcessStart):
            yield record.wall_time_ms * 1_000_000 - record.time_ns


def is_one_host(logs: Iterable[Iterable[Line]]) -> bool:
    """Whether headers show that all members ran on one host since one boot; false without headers.

    Two hosts are assumed never to start within `_ONE_HOST_NS` of each other.
    """
    return _are_near([boot for lines in logs for boot in boot_times(lines)])


def _are_near(host_starts: Collection[int]) -> bool:
    return bool(host_starts) and max(host_starts) - min(host_starts) < _ONE_HOST_NS


def align_clocks(members: Mapping[int, ClockedLog]) -> dict[int, int]:
    """Give for each member the nanoseconds to add to its times, so that all have one clock.

    Nothing is added if the members ran on one host, or if no message contradicts their times.
    """
    known = {i: _clock(log) for i, log in sorted(members.items()) if log.times}
    if not _share_host(known.values()):
        bounds = _bounds(members)
        if any(bound > 0 for bound in bounds.values()) or not _overlap(known.values()):
            return _offsets(known, bounds)
    return dict.fromkeys(known, 0)


class _Clock(NamedTuple):
    """The clock of one member.

    Parameters
    ----------
    begin_ns, end_ns
        The times of the first and the last line.
    host_starts
        For each header, the wall time at which the clock of its host was 0.
    wall_offset_ns
        The wall clock minus this clock, from the first header; 0 if there is no header.
    """

    begin_ns: int
    end_ns: int
    host_starts: tuple[int, ...]
    wall_offset_ns: int


def _clock(log: ClockedLog) -> _Clock:
    offsets = (
        record.wall_time_ms * 1_000_000 - time_ns
        for record, time_ns in zip(log.records, log.times, strict=True)
        if isinstance(record, records.ProcessStart)
    )
    starts = tuple(boot_times(log.records))
    return _Clock(log.times[0], log.times[-1], starts, next(offsets, 0))


def _bounds(members: Mapping[int, ClockedLog]) -> Bounds:
    """Compare the first receipt of each message with the earliest time of its send."""
    sent: dict[tuple[int, tuple[object, ...]], int] = {}
    received: dict[tuple[int, tuple[object, ...], int], int] = {}
    for i, log in members.items():
        for record, time_ns in zip(log.records, log.times, strict=True):
            if (key := _sent_key(record)) is not None:
                sent.setdefault((i, key), time_ns)
            if (message := _received_key(record)) is not None:
                received.setdefault((*message, i), time_ns)
    bounds: Bounds = {}
    for (sender, key, receiver), received_ns in received.items():
        if sender != receiver and (sender, key) in sent:
            least = sent[sender, key] - received_ns
            bounds[sender, receiver] = max(bounds.get((sender, receiver), least), least)
    return bounds


def _share_host(members: Collection[_Clock]) -> bool:
    """Whether headers show one host. If a log has no header, the times of all logs must overlap."""
    host_starts = [one.host_starts for one in members]
    if any(host_starts) and not _are_near(list(chain.from_iterable(host_starts))):
        return False
    return all(host_starts) or _overlap(members)


def _overlap(members: Collection[_Clock]) -> bool:
    """Whether there is a time at which all logs have begun and none has ended."""
    begin = max((one.begin_ns for one in members), default=0)
    return begin <= min((one.end_ns for one in members), default=0)


def _offsets(members: Mapping[int, _Clock], bounds: Bounds) -> dict[int, int]:
    """Place one clock after the other. The next one is always that with the narrowest interval."""
    waiting = list(members)
    offsets = {waiting[0]: 0}
    while len(offsets) < len(waiting):
        pairs = [(_width(bounds, i, j), i, j) for i in offsets for j in waiting if j not in offsets]
        _, i, j = min(pairs)
        wall = members[j].wall_offset_ns - members[i].wall_offset_ns
        offsets[j] = offsets[i] + _between(bounds.get((i, j)), bounds.get((j, i)), wall)
    return offsets


def _width(bounds: Bounds, i: int, j: int) -> int:
    low, high = bounds.get((i, j)), bounds.get((j, i))
    return -high - low if low is not None and high is not None else 1 << 62


def _between(forth: int | None, back: int | None, wall: int) -> int:
    """The difference of two clocks, from the bound of each direction and from the wall clocks."""
    if forth is not None and back is not None:
        return (forth - back) // 2
    if forth is not None:
        return max(wall, forth + _ASSUMED_DELAY_NS)
    if back is not None:
        return min(wall, -back - _ASSUMED_DELAY_NS)
    return wall


_KEYS: Final[dict[type[Line], tuple[str, ...]]] = {
    records.RequestVote: ("candidate_term_id",),
    records.Vote: ("candidate_member_id", "candidate_term_id"),
    records.NewLeadershipTerm: ("leadership_term_id",),
    records.AppendPosition: ("leadership_term_id",),
    records.CatchupPosition: ("leadership_term_id",),
    records.TerminationAck: ("leadership_term_id",),
    records.CanvassPosition: ("log_leadership_term_id", "log_position", "leadership_term_id"),
}
"""The messages whose earliest send a line of the sender shows, each with its identifying fields.
Reports of a catch-up, which have flags, are left out.
"""


def _received_key(record: Line) -> tuple[int, tuple[object, ...]] | None:
    """The sender of a received message, and the key of its earliest send; none for other lines."""
    kind = type(record)
    if kind not in _KEYS or getattr(record, "flags", None):
        return None
    key = (kind.__name__, *(getattr(record, name) for name in _KEYS[kind]))
    return getattr(record, records.SENDER_FIELDS[kind]), key


def _sent_key(record: Line) -> tuple[object, ...] | None:
    """The key of the messages that a member can send from a line on, but not before it."""
    if isinstance(record, records.RequestVote):
        return "Vote", record.candidate_member_id, record.candidate_term_id
    if isinstance(record, records.TerminationPosition):
        return "TerminationAck", record.leadership_term_id
    if not isinstance(record, records.ElectionStateChange):
        return None
    state, term = record.new_state, record.leadership_term_id
    if state == "CANDIDATE_BALLOT":
        return "RequestVote", record.candidate_term_id
    if record.old_state == "CANDIDATE_BALLOT" and state == "LEADER_LOG_REPLICATION":
        return "NewLeadershipTerm", term
    if _reports_in(record):
        return "AppendPosition", term
    if state == "FOLLOWER_CATCHUP_INIT":
        return "CatchupPosition", term
    if state == "CANVASS":
        return "CanvassPosition", record.log_leadership_term_id, record.append_position, term
    return None


def _reports_in(record: records.ElectionStateChange) -> bool:
    """Whether a follower reports its position to the leader in the state that the line names."""
    if record.new_state == "FOLLOWER_REPLAY":
        return record.log_position < record.append_position
    return record.new_state in ("FOLLOWER_LOG_REPLICATION", "FOLLOWER_READY")

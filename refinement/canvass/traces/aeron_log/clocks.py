"""The clocks of the members' hosts, compared by the messages between the members.

Each host has a monotonic clock of its own. A message is received after it was sent. Some lines of
the sender's log bound the time of the send from below: a candidate requests votes after its ballot
was opened, a voter votes after the request, a leader sends a commit position after the reports of a
quorum. Messages in both directions between two members give an interval for the difference of their
clocks. Where a direction has no message, the wall clocks in the headers of the logs are used.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from canvass.cluster.quorum import quorum_size
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.records import Line

_ASSUMED_DELAY_NS: Final = 1_000_000
"""Assumed delay of a message if only one direction is known: the most that local networks take."""

_ONE_HOST_NS: Final = 100_000_000
"""Difference between the boot times in two headers below which the hosts count as one. A wall clock
that is set while members run moves the boot time by a few milliseconds.
"""

Bounds: TypeAlias = dict[tuple[int, int], int]
"""By sender and receiver: the least that has to be added to the receiver's clock, relative to the
sender's, so that no message is received before it was sent.
"""


@dataclass(frozen=True, slots=True)
class ClockedLog:
    """The lines of one member, with times of one clock.

    Parameters
    ----------
    times
        Of each line in ns, never falling.
    wall_offset_ns
        Wall clock minus this clock, as the first header says; 0 if there is no header.
    """

    records: Sequence[Line]
    times: Sequence[int]
    wall_offset_ns: int = 0


def boot_times(lines: Iterable[Line]) -> Iterator[int]:
    """Give the wall time at which the host's clock was 0, in ns, by each header of a log."""
    for record in lines:
        if isinstance(record, records.ProcessStart):
            yield record.wall_time_ms * 1_000_000 - record.time_ns


def is_one_host(logs: Iterable[Iterable[Line]]) -> bool:
    """Whether headers show that all members ran on one host since one boot; false without headers.

    No two hosts start at times that are so near to each other.
    """
    host_starts = [boot for lines in logs for boot in boot_times(lines)]
    return bool(host_starts) and max(host_starts) - min(host_starts) < _ONE_HOST_NS


def align_clocks(members: Mapping[int, ClockedLog]) -> dict[int, int]:
    """Give for each member the nanoseconds to add to its times, so that all have one clock.

    Nothing is added if the members ran on one host, or if no message contradicts their times.
    """
    if not _share_host(members):
        bounds = _find_bounds(members)
        if any(bound > 0 for bound in bounds.values()) or not _overlap(members):
            return _offsets(members, bounds)
    return dict.fromkeys(members, 0)


def _share_host(members: Mapping[int, ClockedLog]) -> bool:
    """Whether the headers show one host; where headers are missing the times have to overlap."""
    host_starts = [list(boot_times(log.records)) for log in members.values()]
    if any(host_starts) and not is_one_host(log.records for log in members.values()):
        return False
    return all(host_starts) or _overlap(members)


def _overlap(members: Mapping[int, ClockedLog]) -> bool:
    """Whether there is a time at which all logs have begun and none has ended."""
    spans = [(log.times[0], log.times[-1]) for log in members.values() if log.times]
    return max((a for a, _ in spans), default=0) <= min((b for _, b in spans), default=0)


def _offsets(members: Mapping[int, ClockedLog], bounds: Bounds) -> dict[int, int]:
    """Place the clocks one after the other, next always the one with the narrowest interval."""
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
    """The difference of two clocks, by the bound of each direction and by the wall clocks."""
    if forth is not None and back is not None:
        return (forth - back) // 2
    if forth is not None:
        return max(wall, forth + _ASSUMED_DELAY_NS)
    if back is not None:
        return min(wall, -back - _ASSUMED_DELAY_NS)
    return wall


def _find_bounds(members: Mapping[int, ClockedLog]) -> Bounds:
    """Compare the receipt of each message with its earliest send."""
    earliest = {member_id: _earliest_sends(log) for member_id, log in members.items()}
    reached = {member_id: _quorum_reports(members, log) for member_id, log in members.items()}
    bounds: Bounds = {}
    for receiver, log in members.items():
        for record, received_ns in zip(log.records, log.times, strict=True):
            sent_ns: int | None = None
            if isinstance(record, records.CommitPosition):
                sender = record.leader_member_id
                positions, times = reached.get(sender, ([], []))
                place = bisect_left(positions, record.log_position)
                if record.log_position > 0 and place < len(positions):
                    sent_ns = times[place]
            elif (message := _message_key(record)) is not None:
                sender, key = message
                sends = earliest.get(sender, {})
                sent_ns = sends.get((receiver, *key), sends.get(key))
            if sent_ns is not None and sender != receiver:
                least = sent_ns - received_ns
                bounds[sender, receiver] = max(bounds.get((sender, receiver), least), least)
    return bounds


_KEYS: Final[dict[type[Line], tuple[str, ...]]] = {
    records.RequestVote: ("candidate_term_id",),
    records.Vote: ("candidate_term_id",),
    records.NewLeadershipTerm: ("leadership_term_id",),
    records.AppendPosition: ("leadership_term_id",),
    records.CatchupPosition: ("leadership_term_id",),
    records.TerminationAck: ("leadership_term_id",),
    records.CanvassPosition: ("log_leadership_term_id", "log_position", "leadership_term_id"),
}
"""The messages of which an earliest send is known, each with the fields that identify it. Reports
of a catch-up have flags, and are left out.
"""


def _message_key(record: Line) -> tuple[int, tuple[object, ...]] | None:
    """The sender of a received message, and the key of its earliest send; none for other lines."""
    kind = type(record)
    if kind not in _KEYS or getattr(record, "flags", None):
        return None
    key = (kind.__name__, *(getattr(record, name) for name in _KEYS[kind]))
    return getattr(record, records.SENDER_FIELDS[kind]), key


def _earliest_sends(log: ClockedLog) -> dict[tuple[object, ...], int]:
    """For each message key a time before which the member cannot have sent the message."""
    first: dict[tuple[object, ...], int] = {}
    for record, time_ns in zip(log.records, log.times, strict=True):
        if isinstance(record, records.RequestVote):
            candidate, term = record.candidate_member_id, record.candidate_term_id
            first.setdefault((candidate, "Vote", term), time_ns)
        elif isinstance(record, records.TerminationPosition):
            first.setdefault(("TerminationAck", record.leadership_term_id), time_ns)
        elif isinstance(record, records.ElectionStateChange):
            state, term = record.new_state, record.leadership_term_id
            if state == "CANDIDATE_BALLOT":
                first.setdefault(("RequestVote", record.candidate_term_id), time_ns)
            elif record.old_state == "CANDIDATE_BALLOT" and state == "LEADER_LOG_REPLICATION":
                first.setdefault(("NewLeadershipTerm", term), time_ns)
            elif _reports_in(record):
                first.setdefault(("AppendPosition", term), time_ns)
            elif state == "FOLLOWER_CATCHUP_INIT":
                first.setdefault(("CatchupPosition", term), time_ns)
            elif state == "CANVASS":
                end = (record.log_leadership_term_id, record.append_position, term)
                first.setdefault(("CanvassPosition", *end), time_ns)
    return first


def _reports_in(record: records.ElectionStateChange) -> bool:
    """Whether a follower reports its position to the leader in the state that it enters."""
    if record.new_state == "FOLLOWER_REPLAY":
        return record.log_position < record.append_position
    return record.new_state in ("FOLLOWER_LOG_REPLICATION", "FOLLOWER_READY")


def _quorum_reports(
    members: Mapping[int, ClockedLog], log: ClockedLog
) -> tuple[list[int], list[int]]:
    """Rising positions that with the leader a quorum has reported, and the times of these reports.

    A leader sends a commit position after the reports of a quorum, of whatever terms they are.
    """
    needed = quorum_size(max(members) + 1) - 1
    last: dict[int, int] = {}
    positions: list[int] = []
    times: list[int] = []
    for record, time_ns in zip(log.records, log.times, strict=True):
        if isinstance(record, records.AppendPosition | records.CanvassPosition | records.Vote):
            last[record.follower_member_id] = record.log_position
            if 0 < needed <= len(last):
                position = sorted(last.values(), reverse=True)[needed - 1]
                if not positions or position > positions[-1]:
                    positions.append(position)
                    times.append(time_ns)
    return positions, times

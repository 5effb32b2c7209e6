"""The clocks of the members' hosts, compared by the messages between the members.

Each host has a monotonic clock of its own. A message is received after it was sent. Some lines of
the sender's log bound the time of the send from below: a candidate requests votes after its ballot
was opened, a voter votes after the request, a leader sends a commit position after the reports of a
quorum. Messages in both directions between two members give an interval for the difference of their
clocks. Where a direction has no message, the wall clocks in the headers of the logs are used.

The bounds hold only if every line is compared: where a report is missing, a later one is taken for
the cause of a message, which then seems to be received before it was sent.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import chain
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
    """

    records: Sequence[Line]
    times: Sequence[int]


def boot_times(lines: Iterable[Line]) -> Iterator[int]:
    """Give the wall time at which the host's clock was 0, in ns, by each header of a log."""
    for record in lines:
        if isinstance(record, records.ProcessStart):
            yield record.wall_time_ms * 1_000_000 - record.time_ns


def is_one_host(logs: Iterable[Iterable[Line]]) -> bool:
    """Whether headers show that all members ran on one host since one boot; false without headers.

    No two hosts start at times that are so near to each other.
    """
    return _are_near([boot for lines in logs for boot in boot_times(lines)])


def _are_near(host_starts: Collection[int]) -> bool:
    return bool(host_starts) and max(host_starts) - min(host_starts) < _ONE_HOST_NS


def align_clocks(members: Mapping[int, ClockedLog]) -> dict[int, int]:
    """Give for each member the nanoseconds to add to its times, so that all have one clock."""
    found = ClockBounds()
    found.expect(members)
    for member_id, log in members.items():
        found.add(member_id, log.records, log.times)
    return found.offsets()


@dataclass(slots=True)
class _Message:
    """All messages with the same key, as far as lines show them."""

    sent_ns: int | None = None
    received_ns: dict[int, int] = field(default_factory=dict)
    """By receiver the first receipt, until the send is known."""


@dataclass(slots=True)
class _Member:
    """The clock of one member, and the messages that it has sent, as far as lines show them.

    Attributes
    ----------
    begin_ns, end_ns
        The times of the first and the last line.
    host_starts
        The least and the greatest wall time at which a clock of its host was 0.
    wall_offset_ns
        Wall clock minus this clock, as the first header says; 0 if there is no header.
    positions, times
        Rising positions that with this member a quorum has reported, and the times of the reports.
    forgotten
        The highest of these positions that is no longer known.
    awaited
        By receiver a heap of commit positions of this member that no quorum has reported so far,
        each with the time of its receipt.
    """

    begin_ns: int | None = None
    end_ns: int = 0
    host_starts: tuple[int, ...] = ()
    wall_offset_ns: int = 0
    reported: dict[int, int] = field(default_factory=dict)
    positions: list[int] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    forgotten: int = 0
    awaited: dict[int, list[tuple[int, int]]] = field(default_factory=dict)


class ClockBounds:
    """Compares the receipt of each message with its earliest send, as lines come.

    The lines of one member come in their order. Lines of two members come in any order.

    Parameters
    ----------
    limit
        How many messages are remembered until both sides are known. If lines of one member come
        so much later than those of others that a message is forgotten, it bounds nothing.

    Attributes
    ----------
    bounds
        By the lines so far.
    """

    def __init__(self, limit: int = sys.maxsize) -> None:
        self._limit = limit
        self.bounds: Bounds = {}
        self._members: defaultdict[int, _Member] = defaultdict(_Member)
        self._messages: dict[tuple[object, ...], _Message] = {}
        self._count = 0

    def expect(self, members: Iterable[int]) -> None:
        """Note which members the cluster has: their number says what a quorum is."""
        self._count = max([self._count, *(member_id + 1 for member_id in members)])

    def add(self, member_id: int, lines: Iterable[Line], times: Iterable[int]) -> None:
        """Add lines of one member, with times that never fall."""
        member = self._members[member_id]
        for record, time_ns in zip(lines, times, strict=True):
            if member.begin_ns is None:
                member.begin_ns = time_ns
            member.end_ns = time_ns
            if isinstance(record, records.ProcessStart):
                self._start(member, record, time_ns)
            elif isinstance(record, records.CommitPosition):
                self._receive_commit(member_id, record, time_ns)
            else:
                if (key := _sent_key(record)) is not None:
                    self._send(member_id, key, time_ns)
                if (message := _received_key(record)) is not None:
                    self._receive(*message, member_id, time_ns)
                if isinstance(record, _REPORTS):
                    self._report(member_id, record, time_ns)

    def offsets(self) -> dict[int, int]:
        """Give for each member the nanoseconds to add to its times, so that all have one clock.

        Nothing is added if the members ran on one host, or if no message contradicts their times.
        """
        known = {k: one for k, one in sorted(self._members.items()) if one.begin_ns is not None}
        if not _share_host(known.values()):
            contradicted = any(bound > 0 for bound in self.bounds.values())
            if contradicted or not _overlap(known.values()):
                return _offsets(known, self.bounds)
        return dict.fromkeys(known, 0)

    def _start(self, member: _Member, header: records.ProcessStart, time_ns: int) -> None:
        if not member.host_starts:
            member.wall_offset_ns = header.wall_time_ms * 1_000_000 - time_ns
        starts = (*member.host_starts, *boot_times([header]))
        member.host_starts = (min(starts), max(starts))

    def _bound(self, sender: int, receiver: int, least: int) -> None:
        if sender != receiver:
            known = self.bounds.get((sender, receiver), least)
            self.bounds[sender, receiver] = max(known, least)

    def _message(self, sender: int, key: tuple[object, ...]) -> _Message:
        """The messages with a key; those that no line named for long are forgotten."""
        found = self._messages.pop((sender, *key), None) or _Message()
        self._messages[sender, *key] = found
        if len(self._messages) > self._limit:
            del self._messages[next(iter(self._messages))]
        return found

    def _send(self, sender: int, key: tuple[object, ...], time_ns: int) -> None:
        """Note a time before which the member cannot have sent a message."""
        message = self._message(sender, key)
        if message.sent_ns is None:
            message.sent_ns = time_ns
            for receiver, received_ns in message.received_ns.items():
                self._bound(sender, receiver, time_ns - received_ns)
            message.received_ns.clear()

    def _receive(self, sender: int, key: tuple[object, ...], receiver: int, time_ns: int) -> None:
        message = self._message(sender, key)
        if message.sent_ns is not None:
            self._bound(sender, receiver, message.sent_ns - time_ns)
        else:
            message.received_ns.setdefault(receiver, time_ns)

    def _report(self, leader: int, record: _Report, time_ns: int) -> None:
        """Note a report. A leader sends a commit position after the reports of a quorum, of
        whatever terms they are.
        """
        member = self._members[leader]
        member.reported[record.follower_member_id] = record.log_position
        # Members that are not known yet can only raise the number.
        needed = max(quorum_size(self._count) - 1, 1)
        if len(member.reported) < needed:
            return
        position = sorted(member.reported.values(), reverse=True)[needed - 1]
        if position <= (member.positions[-1] if member.positions else member.forgotten):
            return
        member.positions.append(position)
        member.times.append(time_ns)
        if len(member.positions) > 2 * self._limit:
            member.forgotten = member.positions[self._limit - 1]
            del member.positions[: self._limit], member.times[: self._limit]
        for receiver, waiting in member.awaited.items():
            while waiting and waiting[0][0] <= position:
                self._bound(leader, receiver, time_ns - heappop(waiting)[1])

    def _receive_commit(self, receiver: int, record: records.CommitPosition, time_ns: int) -> None:
        leader = self._members[record.leader_member_id]
        position = record.log_position
        if position <= leader.forgotten:
            return
        place = bisect_left(leader.positions, position)
        if place < len(leader.positions):
            self._bound(record.leader_member_id, receiver, leader.times[place] - time_ns)
            return
        waiting = leader.awaited.setdefault(receiver, [])
        heappush(waiting, (position, time_ns))
        if len(waiting) > self._limit:
            heappop(waiting)


def _share_host(members: Collection[_Member]) -> bool:
    """Whether the headers show one host; where headers are missing the times have to overlap."""
    host_starts = [one.host_starts for one in members]
    if any(host_starts) and not _are_near(list(chain.from_iterable(host_starts))):
        return False
    return all(host_starts) or _overlap(members)


def _overlap(members: Collection[_Member]) -> bool:
    """Whether there is a time at which all logs have begun and none has ended."""
    begin = max((one.begin_ns or 0 for one in members), default=0)
    return begin <= min((one.end_ns for one in members), default=0)


def _offsets(members: Mapping[int, _Member], bounds: Bounds) -> dict[int, int]:
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


_KEYS: Final[dict[type[Line], tuple[str, ...]]] = {
    records.RequestVote: ("candidate_term_id",),
    records.Vote: ("candidate_member_id", "candidate_term_id"),
    records.NewLeadershipTerm: ("leadership_term_id",),
    records.AppendPosition: ("leadership_term_id",),
    records.CatchupPosition: ("leadership_term_id",),
    records.TerminationAck: ("leadership_term_id",),
    records.CanvassPosition: ("log_leadership_term_id", "log_position", "leadership_term_id"),
}
"""The messages of which an earliest send is known, each with the fields that identify it. Reports
of a catch-up have flags, and are left out.
"""


def _received_key(record: Line) -> tuple[int, tuple[object, ...]] | None:
    """The sender of a received message, and the key of its earliest send; none for other lines."""
    kind = type(record)
    if kind not in _KEYS or getattr(record, "flags", None):
        return None
    key = (kind.__name__, *(getattr(record, name) for name in _KEYS[kind]))
    return getattr(record, records.SENDER_FIELDS[kind]), key


def _sent_key(record: Line) -> tuple[object, ...] | None:
    """The key of the messages that a member sends after a line at the earliest."""
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
    """Whether a follower reports its position to the leader in the state that it enters."""
    if record.new_state == "FOLLOWER_REPLAY":
        return record.log_position < record.append_position
    return record.new_state in ("FOLLOWER_LOG_REPLICATION", "FOLLOWER_READY")


_Report: TypeAlias = records.AppendPosition | records.CanvassPosition | records.Vote
_REPORTS: Final = (records.AppendPosition, records.CanvassPosition, records.Vote)
"""Messages whose receiver learns how far a follower's log reaches."""

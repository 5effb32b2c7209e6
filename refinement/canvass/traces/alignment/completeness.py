"""Completeness checks: they find lines that Aeron must have logged, and that are missing.

The spec has no time, so it cannot give these checks. Each check finds gaps. A gap makes the outcome
`INCOMPLETE`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from canvass.cluster.member import ElectionState
from canvass.cluster.messages import AppendPosition, CommitPosition, Message, sender_of
from canvass.traces.aeron_log.clocks import is_one_host
from canvass.traces.aeron_log.records import (
    ClusterSessionStateChange,
    ElectionStateChange,
    Line,
    NewElection,
    ProcessStart,
    ServiceAck,
    StateChange,
)
from canvass.traces.alignment.channel_matching import Receipt
from canvass.traces.alignment.member_lines import MemberLines
from canvass.traces.alignment.send_windows import SLOTS, Windows

IN_STEP_NS: Final = 20_000_000
"""Two members receive the same two messages. If the times between these messages differ by at most
this, both members were connected, and neither was paused.
"""

LOST_COMMITS: Final = 3
"""If so many commit positions are missing, failed offers of the leader cannot be the reason."""

BEAT_NS: Final = 200_000_000
"""The interval at which a leader repeats its commit position, and a follower its report, if nothing
else is configured (``ConsensusModule.leaderHeartbeatIntervalNs``).
"""

CONNECTED_NS: Final = 1_000_000_000
"""A connection ends if its sender hears nothing from its receiver for a while: by default for 5 s,
Aeron's publication connection timeout. If the sender has received a message of the receiver within
this time, the connection has not ended.
"""

BURST_NS: Final = 20_000_000
"""Messages that a connection has held up all arrive within this time."""

CLOCK_NS: Final = 1_000_000
"""The accuracy of the clock that the processes of one host read."""

_Key = tuple[int, int, type[Message], int]
_BACK: Final[Mapping[type[Message], type[Message]]] = {
    AppendPosition: CommitPosition,
    CommitPosition: AppendPosition,
}
"""For each message that a member receives at intervals, the one that it sends back at intervals."""


def missing_ends(members: Mapping[int, MemberLines]) -> Iterator[tuple[int, int, str]]:
    """Find the members whose messages others received after the ends of the members' logs.

    Yields
    ------
    tuple of int, int, str
        Member, the number of its lines, and the reason. Nothing if the logs have the clocks of
        several hosts.
    """
    if not is_one_host(one.records for one in members.values()):
        return
    for i, lines in members.items():
        if not lines.records or _REPEATED & lines.vocabulary.silent_messages:
            continue  # The member may have had nothing to log.
        if lines.closes_before(len(lines.records)):
            continue  # The messages that were received later were on their way.
        end = _in_order(lines)[-1][1].time_ns
        late = sorted(
            time
            for j, other in members.items()
            if j != i
            for time in _received_from(i, other)
            if time > end + 2 * BEAT_NS
        )
        apart = sum(b - a > BURST_NS for a, b in pairwise([end, *late]))
        if apart >= LATE_MESSAGES:
            yield i, len(lines.records), f"others received {len(late)} messages of it later"


def _received_from(i: int, receiver: MemberLines) -> Iterator[int]:
    """The times at which a member received messages of member ``i`` outside ballots.

    In a ballot the receiver sends nothing at intervals (``Election.candidateBallot``). So member
    ``i``, if it canvasses then, may receive nothing and have nothing to log.
    """
    in_ballot = False
    for record, m in zip(receiver.records, receiver.messages, strict=True):
        if m is not None:
            if sender_of(m) == i and not in_ballot:
                yield record.time_ns
        elif isinstance(record, ElectionStateChange):
            in_ballot = record.new_state in _BALLOT_STATES
        elif isinstance(record, NewElection | ProcessStart):
            in_ballot = False


_BALLOT_STATES: Final = frozenset(
    {ElectionState.NOMINATE, ElectionState.CANDIDATE_BALLOT, ElectionState.FOLLOWER_BALLOT}
)


_REPEATED: Final = frozenset({"AppendPosition", "CanvassPosition", "CommitPosition"})
"""The messages that members send at intervals."""

LATE_MESSAGES: Final = 2
"""If so many messages were received apart from each other, some were sent after the log's end."""


@dataclass(slots=True)
class _Stream:
    """The positions that a closed member received from another member in a term.

    Parameters
    ----------
    times, lines, positions
        For each receipt, its wall time, the index of its line, and its position.
    elections
        For each receipt, a number that grows whenever the receiver's election state changes, or a
        process of the receiver starts.
    first, last
        For each position, the indexes of its first and its last receipt.
    """

    times: list[int] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    elections: list[int] = field(default_factory=list)
    first: dict[int, int] = field(default_factory=dict)
    last: dict[int, int] = field(default_factory=dict)

    def add(self, time_ns: int, line: int, position: int, elections: int) -> None:
        """Add a receipt."""
        self.first.setdefault(position, len(self.times))
        self.last[position] = len(self.times)
        self.times.append(time_ns)
        self.lines.append(line)
        self.positions.append(position)
        self.elections.append(elections)

    def goes_on(self, begin: int, end: int, silence: int) -> bool:
        """Whether the receiver had receipts all the time from ``begin`` to ``end``.

        Between them there is no election and no pause as long as ``silence``. The last receipt
        before them is at most `CONNECTED_NS` earlier.
        """
        low, high = bisect_left(self.times, begin), bisect_right(self.times, end)
        # The times of a damaged log may fall.
        if low >= high or self.elections[low] != self.elections[high - 1]:
            return False
        if low > 0 and self.times[low] - self.times[low - 1] > CONNECTED_NS:
            return False
        return all(b - a < silence for a, b in pairwise([begin, *self.times[low:high], end]))

    def is_made_up_for(self, at: int, back: _Stream) -> bool:
        """Whether repetitions that had been held up arrive soon after a receipt.

        A sender that runs repeats a position once in `BEAT_NS`. It runs when it receives a message
        of ``back``, the stream in the other direction.
        """
        begin = self.times[at]
        end = begin + 3 * (self.times[at + 1] - begin)
        beats = [begin]
        for time_ns in back.times[bisect_right(back.times, begin) : bisect_right(back.times, end)]:
            if time_ns - beats[-1] >= 3 * BEAT_NS // 4:  # No interval is kept exactly.
                beats.append(time_ns)
        repeated = 0
        for after in range(at + 1, bisect_right(self.times, end)):
            repeated += self.positions[after] == self.positions[after - 1]
            if repeated >= bisect_right(beats, self.times[after] - BEAT_NS // 2) - 1:
                return True
        return False

    def between(self, before: int, after: int, duration: int) -> int:
        """The number of positions between ``before`` and ``after`` that were received between them.

        0 if the receipts of the two positions are not ``duration`` apart, up to `IN_STEP_NS`.
        """
        begin, end = self.last.get(before), self.first.get(after)
        if begin is None or end is None:
            return 0
        if abs(self.times[end] - self.times[begin] - duration) > IN_STEP_NS:
            return 0
        # A repeated position may be smaller, and may have been received before.
        found = set(self.positions[begin + 1 : end])
        return sum(before < one < after and self.first[one] > begin for one in found)


def missing_receipts(members: Mapping[int, MemberLines]) -> Iterator[tuple[int, int, str]]:
    """Find the members that lack messages of another member, although that member receives theirs.

    Yields
    ------
    tuple of int, int, str
        Member, index of the line before which lines are missing, and the reason.

    Notes
    -----
    A member that receives messages is not paused, so it also sends. A leader offers a commit
    position to each member in turn (``ConsensusModuleAgent.publishCommitPosition``) and repeats it.
    Followers repeat their reports. Messages that a connection holds up arrive later, mostly all at
    once. A pause without receipts counts as a gap only if all members ran on one host. Commit
    positions that another member received in the same interval count on any hosts. Lines are lost
    in blocks of the file: where the file has lines of other senders or components, none is missing.
    """
    one_host = is_one_host(one.records for one in members.values())
    streams = _streams(members)
    silent = {i: _silent_before(lines) for i, lines in members.items()}
    for (i, j, kind, term), found in streams.items():
        back = streams.get((j, i, _BACK[kind], term))
        others = [streams.get((k, j, kind, term)) for k in members if k not in (i, j)]
        for at, (begin, end) in enumerate(pairwise(found.times) if back is not None else ()):
            is_same = found.elections[at] == found.elections[at + 1]
            silence = end - begin
            if not is_same or back is None or not back.goes_on(begin, end, silence // 2):
                continue
            line = found.lines[at + 1]
            pair = found.positions[at], found.positions[at + 1]
            witnessed = [one.between(*pair, silence) for one in others if one is not None]
            lost = max(witnessed, default=0)
            held_up = bisect_right(found.times, end + BURST_NS) - at - 2
            if lost >= LOST_COMMITS:
                what = f"{lost} commit positions of member {j} that another member received"
                yield i, line, f"lines are missing before it: {what}"
            elif (
                one_host
                and any(found.lines[at] < index <= line for index in silent[i])
                and held_up * 2 * BEAT_NS < silence - BEAT_NS
                and not found.is_made_up_for(at, back)
            ):
                what = f"member {j} received messages of it, and it none of member {j}"
                reason = f"lines are missing before it: for {silence // 1_000_000} ms {what}"
                yield i, line, reason


def _in_order(lines: MemberLines) -> list[tuple[int, Line]]:
    """All lines of the cluster component in order, each with the index of its record.

    A line that is not among the records has the index of the next record.
    """
    ordered = [(index, 1, record) for index, record in enumerate(lines.records)]
    ordered += [(index, 0, record) for index, record in lines.beside]
    return [(index, record) for index, _, record in sorted(ordered, key=lambda one: one[:2])]


def _silent_before(lines: MemberLines) -> list[int]:
    """The indexes of the records before which the whole file is silent for over ``2 * BEAT_NS``."""
    return [
        index
        for (_, last), (index, record) in pairwise(_in_order(lines))
        if (record.file, record.line) == (last.file, last.line + 1)
        and record.time_ns - last.time_ns > 2 * BEAT_NS
    ]


def _streams(members: Mapping[int, MemberLines]) -> dict[_Key, _Stream]:
    """The positions that closed members received, by receiver, sender, kind and term."""
    found: defaultdict[_Key, _Stream] = defaultdict(_Stream)
    for i, lines in members.items():
        changes = [
            record
            for record, m in zip(lines.records, lines.messages, strict=True)
            if m is None and isinstance(record, ElectionStateChange)
        ]
        closed, elections = not changes or changes[0].old_state == "INIT", 0
        for index, (record, m) in enumerate(zip(lines.records, lines.messages, strict=True)):
            if isinstance(m, AppendPosition | CommitPosition):
                if closed:
                    stream = found[i, sender_of(m), type(m), m.leadership_term_id]
                    stream.add(lines.times[index], index, m.log_position, elections)
            elif isinstance(record, ProcessStart | ElectionStateChange):
                closed = isinstance(record, ElectionStateChange) and record.new_state == "CLOSED"
                elections += 1
    return dict(found)


def missing_causes(
    windows: Mapping[int, Windows], channels: Mapping[tuple[int, int], list[Receipt]]
) -> Iterator[tuple[int, int, str]]:
    """Find the messages of closed members that were received before the lines that caused them.

    Yields
    ------
    tuple of int, int, str
        Member, index of the line before which lines are missing, and the reason. Nothing if the
        logs have the clocks of several hosts.
    """
    if not is_one_host(one.trajectory.lines.records for one in windows.values()):
        return
    for (i, j), receipts in channels.items():
        steps, lines = windows[i].steps, windows[i].trajectory.lines
        received = windows[j].trajectory.lines.records
        at, last, named = 0, -1, -1
        for receipt in receipts:
            place = receipt.earliest // SLOTS + 1
            for step in steps[at:place]:
                # The line of a receipt comes before the messages that it causes. The line of a
                # change comes after them.
                if step.lines and step.given.message is not None:
                    last = step.lines.start
            at = max(at, place)
            shown = windows[j].steps[receipt.step].lines
            closed = steps[place - 1].state.election_state is ElectionState.CLOSED
            if closed and shown and last > named:
                received_ns = received[shown.start].time_ns
                if received_ns < lines.records[last].time_ns - CLOCK_NS:
                    named, name = last, type(receipt.message).__name__
                    reason = f"lines are missing before it: member {j} received a {name} before"
                    yield i, last, reason


def missing_links(members: Mapping[int, MemberLines]) -> Iterator[tuple[int, int, str]]:
    """Find the lines whose old state is not the new state of the line before.

    Yields
    ------
    tuple of int, int, str
        Member, index of the line before which lines are missing, and the reason.

    Notes
    -----
    Source: ``ConsensusModuleAgent.state`` and ``ClusterSession.state`` log the old and the new
    state. ``ClusteredServiceAgent`` counts its acknowledgements.
    """
    for i, lines in members.items():
        reached: dict[object, str] = {}
        for index, record in _in_order(lines):
            if isinstance(record, ProcessStart):
                reached.clear()
            elif (link := _link(record)) is not None:
                of, begin, end = link
                before = reached.get(of, begin)
                if begin not in (before, "null"):
                    yield i, index, f"lines are missing before it: {of} was {before}"
                reached[of] = end


def _link(record: Line) -> tuple[str, str, str] | None:
    """The thing whose state or count a line changes, with the old and the new value, or None."""
    if isinstance(record, StateChange):
        return "the module", record.old_state, record.new_state
    if isinstance(record, ClusterSessionStateChange):
        session = f"session {record.cluster_session_id}"
        return session, record.old_state, record.new_state
    if isinstance(record, ServiceAck):
        service = f"the count of service {record.service_id}"
        return service, str(record.ack_id), str(record.ack_id + 1)
    return None

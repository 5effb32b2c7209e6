"""The clocks of the members' hosts, put on one.

Each host has a monotonic clock of its own. What is known is that a message is received after it was
sent, and of some messages after what in the sender's log they were sent: a request for votes after
its ballot was opened, a vote after the request, a commit position after the reports that make it.
In both directions between two members that gives an interval for the difference of their clocks;
its middle is taken. Where one end is missing the wall clocks of the headers stand in.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from canvass.cluster.quorum import quorum_size
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.records import LifeStart, Line

_GUESSED_DELAY_NS: Final = 1_000_000
"""Of a message, where only one direction is known: what local networks take at most."""

_SAME_START_NS: Final = 100_000_000
"""Difference of two hosts' starts below which they are taken for one; a wall clock that is set
while members run moves it by a few milliseconds.
"""

Lines: TypeAlias = Sequence[Line]

Bounds: TypeAlias = dict[tuple[int, int], int]
"""For a sender and a receiver the least that the receiver's clock is to be moved against the
sender's, so that nothing is received before it was sent.
"""


def align_clocks(members: Mapping[int, Lines]) -> dict[int, int]:
    """Give for each member what is to be added to its clock.

    Parameters
    ----------
    members
        The lines of each member.
    """
    if _one_host(members):
        return dict.fromkeys(members, 0)
    bounds = find_bounds(members)
    if all(bound <= 0 for bound in bounds.values()) and _overlap(members):
        return dict.fromkeys(members, 0)
    return _offsets(members, bounds)


def _wall_offset(lines: Lines) -> int:
    """What is to be added to a member's clock to make it the wall clock, by its first header."""
    for record in lines:
        if isinstance(record, LifeStart):
            return record.wall_time_ms * 1_000_000 - record.time_ns
    return 0


def _one_host(members: Mapping[int, Lines]) -> bool:
    """Whether the headers say that all members ran on one host: no two hosts are started at times
    that are so near to each other.
    """
    walls = [wall for lines in members.values() if (wall := _wall_offset(lines))]
    near = not walls or max(walls) - min(walls) < _SAME_START_NS
    return near and (len(walls) == len(members) or _overlap(members))


def _overlap(members: Mapping[int, Lines]) -> bool:
    """Whether the stamps of all members are of one time."""
    spans = [(lines[0].time_ns, lines[-1].time_ns) for lines in members.values() if lines]
    return max((a for a, _ in spans), default=0) <= min((b for _, b in spans), default=0)


def _offsets(members: Mapping[int, Lines], bounds: Bounds) -> dict[int, int]:
    """Move one member after the other against the ones moved before, the best known first."""
    waiting = list(members)
    offsets = {waiting[0]: 0}
    while len(offsets) < len(waiting):
        pairs = [(_width(bounds, i, j), i, j) for i in offsets for j in waiting if j not in offsets]
        _, i, j = min(pairs)
        wall = _wall_offset(members[j]) - _wall_offset(members[i])
        offsets[j] = offsets[i] + _between(bounds.get((i, j)), bounds.get((j, i)), wall)
    return offsets


def _width(bounds: Bounds, i: int, j: int) -> int:
    low, high = bounds.get((i, j)), bounds.get((j, i))
    return -high - low if low is not None and high is not None else 1 << 62


def _between(forth: int | None, back: int | None, wall: int) -> int:
    """The difference of two clocks, given what is known of each direction."""
    if forth is not None and back is not None:
        return (forth - back) // 2
    if forth is not None:
        return max(wall, forth + _GUESSED_DELAY_NS)
    if back is not None:
        return min(wall, -back - _GUESSED_DELAY_NS)
    return wall


def find_bounds(members: Mapping[int, Lines]) -> Bounds:
    """What messages say of each two clocks."""
    sent = {member_id: earliest_sends(lines) for member_id, lines in members.items()}
    bounds: Bounds = {}
    for receiver, lines in members.items():
        for record in lines:
            key = None if type(record) is records.CommitPosition else key_of(record)
            if key is None:
                continue
            sender, what = key
            known_sends = sent.get(sender, {})
            begun = known_sends.get((receiver, *what)) or known_sends.get(what)
            if begun is not None and sender != receiver:
                least = begun - record.time_ns
                known = bounds.get((sender, receiver), least)
                bounds[sender, receiver] = max(known, least)
    _bound_commits(members, bounds)
    return bounds


def key_of(record: object) -> tuple[int, tuple[object, ...]] | None:
    """The sender of a message and what names it, if its earliest send is known."""
    match record:
        case records.RequestVote():
            return record.candidate_member_id, ("RV", record.candidate_term_id)
        case records.Vote():
            return record.follower_member_id, ("VOTE", record.candidate_term_id)
        case records.NewLeadershipTerm():
            return record.leader_member_id, ("NLT", record.leadership_term_id)
        case records.AppendPosition(flags=0):
            return record.follower_member_id, ("AP", record.leadership_term_id)
        case records.CatchupPosition():
            return record.follower_member_id, ("CATCHUP", record.leadership_term_id)
        case records.TerminationAck():
            return record.sender_member_id, ("TA", record.leadership_term_id)
        case records.CanvassPosition():
            return record.follower_member_id, (
                "CAN",
                record.log_leadership_term_id,
                record.log_position,
                record.leadership_term_id,
            )
        case _:
            return None


def earliest_sends(logged: Iterable[Line]) -> dict[tuple[object, ...], int]:
    """When, on its own clock, a member can first have sent what."""
    first: dict[tuple[object, ...], int] = {}
    for record in logged:
        if isinstance(record, records.RequestVote):
            answer = (record.candidate_member_id, "VOTE", record.candidate_term_id)
            first.setdefault(answer, record.time_ns)
        elif isinstance(record, records.TerminationPosition):
            first.setdefault(("TA", record.leadership_term_id), record.time_ns)
        elif isinstance(record, records.ElectionStateChange):
            state, term = record.new_state, record.leadership_term_id
            if state == "CANDIDATE_BALLOT":
                first.setdefault(("RV", record.candidate_term_id), record.time_ns)
            elif record.old_state == "CANDIDATE_BALLOT" and state == "LEADER_LOG_REPLICATION":
                first.setdefault(("NLT", term), record.time_ns)
            elif _reports_in(record):
                first.setdefault(("AP", term), record.time_ns)
            elif state == "FOLLOWER_CATCHUP_INIT":
                first.setdefault(("CATCHUP", term), record.time_ns)
            elif state == "CANVASS":
                log = (record.log_leadership_term_id, record.append_position, term)
                first.setdefault(("CAN", *log), record.time_ns)
    return first


def _reports_in(record: records.ElectionStateChange) -> bool:
    """Whether the state that is entered is one in which a follower reports in its leader's term."""
    if record.new_state == "FOLLOWER_REPLAY":
        return record.log_position < record.append_position
    return record.new_state in ("FOLLOWER_LOG_REPLICATION", "FOLLOWER_READY")


def _bound_commits(members: Mapping[int, Lines], bounds: Bounds) -> None:
    """A commit position is sent after the reports of a quorum, of whatever term they are."""
    needed = quorum_size(max(members) + 1) - 1
    reached = {leader: _reports(lines, needed) for leader, lines in members.items()}
    for receiver, lines in members.items():
        for record in lines:
            if not isinstance(record, records.CommitPosition) or record.log_position <= 0:
                continue
            leader = record.leader_member_id
            positions, times = reached.get(leader, ([], []))
            place = bisect_left(positions, record.log_position)
            if leader != receiver and place < len(positions):
                least = times[place] - record.time_ns
                known = bounds.get((leader, receiver), least)
                bounds[leader, receiver] = max(known, least)


def _reports(leader: Lines, needed: int) -> tuple[list[int], list[int]]:
    """Rising positions that so many others have reported, and when it was so first."""
    last: dict[int, int] = {}
    positions: list[int] = []
    times: list[int] = []
    kinds = records.AppendPosition | records.CanvassPosition | records.Vote
    for record in leader:
        if isinstance(record, kinds):
            last[record.follower_member_id] = record.log_position
            if 0 < needed <= len(last):
                position = sorted(last.values(), reverse=True)[needed - 1]
                if not positions or position > positions[-1]:
                    positions.append(position)
                    times.append(record.time_ns)
    return positions, times

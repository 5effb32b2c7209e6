"""Completeness that an untimed spec cannot demand: messages that a connection would not have lost.

Each check is a warning of its own: what is missing is named, and the outcome is `INCOMPLETE`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final

from canvass.cluster.messages import AppendPosition, CommitPosition
from canvass.traces.aeron_log.records import LifeStart, StateChange
from canvass.traces.alignment.member_lines import MemberLines, is_termination
from canvass.traces.alignment.windows import sender_of

CONNECTED_NS: Final = 2_000_000_000
"""Between two messages of one channel that come so soon after each other the connection has held.

Source: an image is given up after 10 s without a sign (``aeron.image.liveness.timeout``).
"""

IN_STEP_NS: Final = 20_000_000
"""Two members that received the same two messages at the same distance of time were both connected
then, and neither was paused.
"""

LOST_COMMITS: Final = 3
"""Commit positions that one offer after another would have to fail for."""

GOES_ON_NS: Final = 600_000_000
"""A member of which others receive something so long after its last line had more to log: it
receives reports or commit positions at intervals (``ConsensusModule.leaderHeartbeatIntervalNs``).
"""

ONE_HOST_NS: Final = 100_000_000
"""Clocks whose headers put them so near to each other are those of one host."""

_Times = dict[int, tuple[int, int]]
"""For each position when it was received first, and last."""


def missing_ends(members: Mapping[int, MemberLines]) -> Iterator[tuple[int, int, str]]:
    """Members of which others went on receiving messages after the ends of their logs.

    Yields
    ------
    tuple of int, int, str
        Member, the number of its lines, and the reason. Nothing if the clocks are several hosts'.
    """
    if not is_one_host(members):
        return
    for i, lines in members.items():
        if not lines.records:
            continue
        end = lines.records[-1].time_ns
        if lines.beside:
            end = max(end, lines.beside[-1][1].time_ns)
        late = [
            record.time_ns
            for j, other in members.items()
            if j != i
            for record, m in zip(other.records, other.messages, strict=True)
            if m is not None and sender_of(m) == i and record.time_ns > end + GOES_ON_NS
        ]
        if len(late) >= LATE_MESSAGES and not is_termination(lines.records[-1]):
            yield i, len(lines.records), f"others received {len(late)} messages of it later"


def is_one_host(members: Mapping[int, MemberLines]) -> bool:
    """Whether the clocks of all members are one host's."""
    walls = [
        record.wall_time_ms * 1_000_000 - record.time_ns
        for lines in members.values()
        for record in lines.records
        if isinstance(record, LifeStart)
    ]
    return bool(walls) and max(walls) - min(walls) < ONE_HOST_NS


LATE_MESSAGES: Final = 3
"""So many messages are not all late for having been on their way."""


def missing_commits(members: Mapping[int, MemberLines]) -> Iterator[tuple[int, int, str]]:
    """Members that lack commit positions which their leader sent to all, as another member shows.

    Yields
    ------
    tuple of int, int, str
        Member, index of the line before which lines are missing, and the reason.

    Notes
    -----
    Source: ``ConsensusModuleAgent.publishCommitPosition`` offers to each member in turn. A member
    that the leader does not hear of meanwhile may be cut off, or paused.
    """
    reports = _reports(members)
    first: dict[int, dict[tuple[int, int], _Times]] = {}
    for i, lines in members.items():
        own: defaultdict[tuple[int, int], _Times] = defaultdict(dict)
        for record, m in zip(lines.records, lines.messages, strict=True):
            if isinstance(m, CommitPosition):
                key = (m.leader_member_id, m.leadership_term_id)
                begun = own[key].get(m.log_position, (record.time_ns, 0))[0]
                own[key][m.log_position] = begun, record.time_ns
        first[i] = dict(own)
    for i, lines in members.items():
        others = [times for k, times in first.items() if k != i]
        rising = _rising(others)
        last: tuple[CommitPosition, int] | None = None
        for index, m in enumerate(lines.messages):
            if isinstance(lines.records[index], LifeStart):
                last = None
            if not isinstance(m, CommitPosition):
                continue
            time_ns = lines.records[index].time_ns
            near = last is not None and time_ns - last[1] < CONNECTED_NS
            if last is not None and near and _is_heard_of(reports, i, m, lines, index, last[1]):
                lost = _lost(last[0], m, time_ns - last[1], others, rising)
                if lost >= LOST_COMMITS:
                    reason = (
                        f"lines are missing before it: {lost} commit positions of member"
                        f" {m.leader_member_id} that another member received"
                    )
                    yield i, index, reason
            last = m, time_ns


def missing_states(members: Mapping[int, MemberLines]) -> Iterator[tuple[int, int, str]]:
    """Changes of a module's state that do not begin where the one before in the process ended.

    Yields
    ------
    tuple of int, int, str
        Member, index of the line before which lines are missing, and the reason.

    Notes
    -----
    Source: ``ConsensusModuleAgent.state`` logs the state that it leaves and the one that it enters.
    """
    for i, lines in members.items():
        state: str | None = None
        ordered = [(index, 1, record) for index, record in enumerate(lines.records)]
        ordered += [(index, 0, record) for index, record in lines.beside]
        for index, _, record in sorted(ordered, key=lambda one: one[:2]):
            if isinstance(record, LifeStart):
                state = None
            elif isinstance(record, StateChange):
                if state not in (None, record.old_state):
                    yield i, index, f"lines are missing before it: the module was {state}"
                state = record.new_state


def _reports(members: Mapping[int, MemberLines]) -> dict[tuple[int, int], list[int]]:
    """For each leader and follower when the leader received reports."""
    found: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for i, lines in members.items():
        for at, m in zip(lines.times, lines.messages, strict=True):
            if isinstance(m, AppendPosition):
                found[i, m.follower_member_id].append(at)
    return dict(found)


def _is_heard_of(
    reports: Mapping[tuple[int, int], list[int]],
    i: int,
    m: CommitPosition,
    lines: MemberLines,
    index: int,
    last_ns: int,
) -> bool:
    """Whether the leader went on receiving reports of a member between two commit positions."""
    end = lines.times[index]
    begin = end - (lines.records[index].time_ns - last_ns)
    times = reports.get((m.leader_member_id, i), [])
    heard = times[bisect_left(times, begin) : bisect_right(times, end)]
    silences = [b - a for a, b in pairwise([begin, *heard, end])]
    return bool(heard) and max(silences) < GOES_ON_NS


def _rising(others: list[dict[tuple[int, int], _Times]]) -> list[dict[tuple[int, int], list[int]]]:
    return [{key: sorted(times) for key, times in one.items()} for one in others]


def _lost(
    before: CommitPosition,
    after: CommitPosition,
    distance_ns: int,
    others: list[dict[tuple[int, int], _Times]],
    rising: list[dict[tuple[int, int], list[int]]],
) -> int:
    """How many commit positions another member received between two, in the same time."""
    key = (after.leader_member_id, after.leadership_term_id)
    if (before.leader_member_id, before.leadership_term_id) != key:
        return 0
    for times, positions in zip(others, rising, strict=True):
        known = times.get(key, {})
        if before.log_position not in known or after.log_position not in known:
            continue
        # What a leader repeats may fall: this position may have been received before, too.
        begin, end = known[before.log_position][1], known[after.log_position][0]
        if abs(end - begin - distance_ns) > IN_STEP_NS:
            continue
        low = bisect_right(positions[key], before.log_position)
        between = positions[key][low : bisect_left(positions[key], after.log_position)]
        return sum(begin < known[position][0] < end for position in between)
    return 0

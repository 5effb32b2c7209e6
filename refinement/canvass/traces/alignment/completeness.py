"""Completeness that an untimed spec cannot demand: messages that a connection would not have lost.

Each check is a warning of its own: what is missing is named, and the outcome is `INCOMPLETE`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from canvass.cluster.messages import CommitPosition
from canvass.traces.aeron_log.records import LifeStart
from canvass.traces.alignment.member_lines import MemberLines

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

_Times = dict[int, int]


def missing_commits(members: Mapping[int, MemberLines]) -> Iterator[tuple[int, int, str]]:
    """Members that lack commit positions which their leader sent to all, as another member shows.

    Yields
    ------
    tuple of int, int, str
        Member, index of the line before which lines are missing, and the reason.

    Notes
    -----
    Source: ``ConsensusModuleAgent.publishCommitPosition`` offers to each member in turn.
    """
    first: dict[int, dict[tuple[int, int], _Times]] = {}
    for i, lines in members.items():
        own: defaultdict[tuple[int, int], _Times] = defaultdict(dict)
        for record, m in zip(lines.records, lines.messages, strict=True):
            if isinstance(m, CommitPosition):
                key = (m.leader_member_id, m.leadership_term_id)
                own[key].setdefault(m.log_position, record.time_ns)
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
            if last is not None and time_ns - last[1] < CONNECTED_NS:
                lost = _lost(last[0], m, time_ns - last[1], others, rising)
                if lost >= LOST_COMMITS:
                    reason = (
                        f"lines are missing before it: {lost} commit positions of member"
                        f" {m.leader_member_id} that another member received"
                    )
                    yield i, index, reason
            last = m, time_ns


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
        begin, end = known.get(before.log_position), known.get(after.log_position)
        if begin is None or end is None or abs(end - begin - distance_ns) > IN_STEP_NS:
            continue
        low = bisect_right(positions[key], before.log_position)
        return bisect_left(positions[key], after.log_position) - low
    return 0

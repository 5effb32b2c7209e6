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

LOST_COMMITS: Final = 2
"""Commit positions that one offer after another would have to fail for."""


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
    published: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
    for lines in members.values():
        for m in lines.messages:
            if isinstance(m, CommitPosition):
                published[m.leader_member_id, m.leadership_term_id].add(m.log_position)
    rising = {key: sorted(positions) for key, positions in published.items()}
    for i, lines in members.items():
        last: tuple[CommitPosition, int] | None = None
        for index, m in enumerate(lines.messages):
            if isinstance(lines.records[index], LifeStart):
                last = None
            if not isinstance(m, CommitPosition):
                continue
            time_ns = lines.records[index].time_ns
            key = (m.leader_member_id, m.leadership_term_id)
            if last is not None and time_ns - last[1] < CONNECTED_NS:
                before = last[0]
                if (before.leader_member_id, before.leadership_term_id) == key:
                    known = rising[key]
                    low = bisect_right(known, before.log_position)
                    high = bisect_left(known, m.log_position)
                    if high - low >= LOST_COMMITS:
                        reason = (
                            f"{high - low} commit positions of member {key[0]} are missing that"
                            " another member received"
                        )
                        yield i, index, reason
            last = m, time_ns

"""What receipts anywhere in the cluster say of a leader's log: a position that somebody heard of
was reached before.

Nothing here knows who sent what.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Hashable, Iterable

from canvass.cluster.messages import (
    NULL_VALUE,
    AppendPosition,
    CommitPosition,
    Message,
    NewLeadershipTerm,
)


class Known:
    """How far the log of each term is known to have been written and committed by when.

    Whoever received a position knows that it was reached before.

    Parameters
    ----------
    received
        Time and message of each receipt in the cluster.
    """

    def __init__(self, received: Iterable[tuple[int, Message]]) -> None:
        seen: dict[Hashable, list[tuple[int, int]]] = defaultdict(list)
        for time, message in received:
            if isinstance(message, CommitPosition):
                committed = written = message.log_position
            elif isinstance(message, AppendPosition):
                committed, written = NULL_VALUE, message.log_position
            elif isinstance(message, NewLeadershipTerm):
                committed, written = message.commit_position, message.log_position
            else:
                continue
            term = message.leadership_term_id
            seen["committed", term].append((time, committed))
            seen["written", term].append((time, written))
        self._reached = {key: _first_reached(times) for key, times in seen.items()}

    def bound(self, message: Message) -> int | None:
        """When at the latest an answer of a leader that has opened its term was sent."""
        if not isinstance(message, NewLeadershipTerm):
            return None
        if message.log_position <= message.term_base_log_position:
            return None
        term = message.leadership_term_id
        times = (
            self._passed("committed", term, message.commit_position),
            self._passed("written", term, message.log_position),
        )
        return min((time for time in times if time is not None), default=None)

    def written(self, term: int, time: int) -> int:
        """How far the leader of a term is known to have written by a time."""
        positions, times = self._reached.get(("written", term), ([], []))
        place = bisect_right(times, time) - 1
        return positions[place] if place >= 0 else NULL_VALUE

    def _passed(self, what: str, term: int, position: int) -> int | None:
        positions, times = self._reached.get((what, term), ([], []))
        place = bisect_right(positions, position)
        return times[place] if place < len(times) else None


def _first_reached(seen: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Rising positions, and when each was first known to be reached."""
    positions: list[int] = []
    times: list[int] = []
    for time, position in sorted(seen):
        if not positions or position > positions[-1]:
            positions.append(position)
            times.append(time)
    return positions, times

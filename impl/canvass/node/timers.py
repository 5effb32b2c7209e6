"""The timers of a cluster: scheduled by services on every member, fired by the leader.

Time is a parameter. `canvass.node.consensus_module` appends a timer's event and handles it.
"""

from __future__ import annotations

import heapq
from collections import Counter

from canvass.cluster.messages import NULL_VALUE


class TimerService:
    """The timers that are waiting."""

    def __init__(self) -> None:
        self._deadlines: dict[int, int] = {}
        self._heap: list[tuple[int, int]] = []
        self._expired: Counter[int] = Counter()
        """Events that were replayed before the own service had scheduled their timers."""
        self._uncommitted: list[tuple[int, int]] = []
        """Position and correlation id of the events that this leader has appended."""

    def __len__(self) -> int:
        return len(self._deadlines)

    def pending(self) -> list[tuple[int, int]]:
        """Correlation id and deadline of each timer, by rising id."""
        return sorted(self._deadlines.items())

    def schedule(self, correlation_id: int, deadline: int) -> None:
        """Let a timer wait, unless its event has been replayed already."""
        if self._expired[correlation_id]:
            self._expired[correlation_id] -= 1
            return
        self._deadlines[correlation_id] = deadline
        heapq.heappush(self._heap, (deadline, correlation_id))

    def cancel(self, correlation_id: int) -> bool:
        """Let a timer wait no more; false if there is none."""
        return self._deadlines.pop(correlation_id, None) is not None

    def expired(self, now: int) -> int:
        """The correlation id of the timer whose deadline has passed first, or -1."""
        while self._heap:
            deadline, correlation_id = self._heap[0]
            if self._deadlines.get(correlation_id) == deadline:
                return correlation_id if deadline <= now else NULL_VALUE
            heapq.heappop(self._heap)
        return NULL_VALUE

    def on_append(self, position: int, correlation_id: int) -> None:
        """Note that this leader has appended the event of a timer."""
        self.cancel(correlation_id)
        self._uncommitted.append((position, correlation_id))

    def on_replay(self, correlation_id: int) -> None:
        """The event of a timer is in the log that another member wrote."""
        if not self.cancel(correlation_id):
            self._expired[correlation_id] += 1

    def sweep(self, commit_position: int) -> None:
        """Forget what can no more be undone."""
        self._uncommitted = [one for one in self._uncommitted if one[0] > commit_position]

    def roll_back(self, commit_position: int) -> None:
        """Let the timers wait again whose events may never commit; they are due at once."""
        for position, correlation_id in self._uncommitted:
            if position > commit_position:
                self.schedule(correlation_id, 0)
        self._uncommitted.clear()

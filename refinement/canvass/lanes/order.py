"""An order of causes for events of several lanes: each receipt after its send, each lane in order.

There is no global clock. Among events that no cause puts in an order the lanes' own clocks decide,
which is a matter of looks: clocks may be wrong, and the order is then still one of causes.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush


@dataclass(frozen=True, slots=True)
class Lane:
    """The events of one lane, in its own order; all sequences are of the same length."""

    time: Sequence[int]
    """By the lane's own clock."""
    receives: Sequence[Hashable | None]
    """The message that each event receives, if it does."""
    sends: Sequence[Sequence[Hashable]]
    """The messages that each event sends."""


def causal_order(lanes: Sequence[Lane]) -> list[tuple[int, int]]:
    """Put the events of all lanes in an order of causes.

    Returns
    -------
    list of (lane, place in the lane)
        All events. A message that nobody sends holds nothing up; events that wait for each other
        in a circle follow in the order of their clocks.

    Notes
    -----
    The time is that of sorting all events.
    """
    sendable = {sent for lane in lanes for sending in lane.sends for sent in sending}
    sent: set[Hashable] = set()
    waiting: dict[Hashable, list[int]] = {}
    blocked: set[int] = set()
    places = [0] * len(lanes)
    ready: list[tuple[int, int, int]] = []
    order: list[tuple[int, int]] = []

    def offer(lane: int, *, force: bool = False) -> None:
        """Let the next event of a lane wait for its message, or for its turn."""
        place = places[lane]
        if place == len(lanes[lane].time):
            return
        wanted = lanes[lane].receives[place]
        if wanted is None or wanted in sent or wanted not in sendable or force:
            blocked.discard(lane)
            # Equal clocks take turns, so that lanes without clocks advance together.
            heappush(ready, (lanes[lane].time[place], place, lane))
        else:
            blocked.add(lane)
            waiting.setdefault(wanted, []).append(lane)

    for lane in range(len(lanes)):
        offer(lane)
    while ready or blocked:
        if not ready:
            first = min(blocked, key=lambda lane: (lanes[lane].time[places[lane]], lane))
            offer(first, force=True)
            continue
        _, place, lane = heappop(ready)
        order.append((lane, place))
        places[lane] = place + 1
        for message in lanes[lane].sends[place]:
            sent.add(message)
            for other in waiting.pop(message, ()):
                if other in blocked:
                    offer(other)
        offer(lane)
    return order

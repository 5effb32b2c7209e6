"""Members over a run: their election states, leaderships, and times when they were down.

A member leads while its role is leader and its election is closed. It is down between its last
event and the restart that follows. Arrays hold all events; only changes become objects, up to a
limit.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from canvass.browser import api
from canvass.explanation.evidence import shown_ns
from canvass.traces.columns import EventColumns
from canvass.traces.layout import ACTION_NAMES, STATE_ENUMS, STATE_INDEX
from canvass.traces.schema import Closing

DOWN: Final = "DOWN"
ENDED: Final = "ENDED"
MAX_TIMES: Final = 600
"""Most samples of the clock: an axis has no room for more."""
LEAST_SPAN_NS: Final = 1_000_000
MAX_BANDS: Final = 1000
MAX_LEVELS: Final = 1000
"""Most changes of a member's levels: more would each be narrower than a pixel."""
_LEVELS: Final = [
    STATE_INDEX[name]
    for name in ("module_leadership_term_id", "commit_position", "recorded_position")
]
QUIET_EVENTS: Final = 20
"""A member is shown as ended if none of this many last events of the run is one of its events."""
_ELECTION: Final = STATE_ENUMS["election_state"]
_ROLE: Final = STATE_ENUMS["role"]
_CLOSED: Final = [state.value for state in _ELECTION].index("CLOSED")
_LEADER: Final = [role.value for role in _ROLE].index("LEADER")
_RESTART: Final = ACTION_NAMES.index("Restart")
_TERMINATE: Final = ACTION_NAMES.index("Terminate")


class Track:
    """The events of one member.

    Parameters
    ----------
    columns
        All events of the run.
    rows
        Rows of the member's events, in their order.
    places
        Their places in the causal order.
    total
        The number of events of the run.
    closings
        Times at which the member closed without a step that records it.
    """

    def __init__(
        self,
        columns: EventColumns,
        rows: NDArray[np.int64],
        places: NDArray[np.int64],
        total: int,
        closings: Sequence[Closing] = (),
    ) -> None:
        self._closed = sorted(closing.time_ns for closing in closings)
        self.places = places
        self.state = columns.state[rows, STATE_INDEX["election_state"]]
        self.role = columns.state[rows, STATE_INDEX["role"]]
        self._levels = columns.state[rows][:, _LEVELS]
        self._time = columns.time_ns[rows]
        self._restart = columns.action[rows] == _RESTART
        term = self._levels[:, 0]
        self.leads = np.where((self.state == _CLOSED) & (self.role == _LEADER), term, -1)
        """The term that the member leads after each event, -1 if it leads none."""
        ended = len(rows) > 0 and columns.action[rows[-1]] == _TERMINATE
        quiet = len(rows) > 0 and total - int(places[-1]) > QUIET_EVENTS
        self._ends = ended or quiet

    def at(self, member: int, number: int, steps: NDArray[np.int64]) -> api.MemberAt:
        """Give the member's state after the event at place ``number``.

        ``steps`` has the step numbers of the member's events.
        """
        k = int(np.searchsorted(self.places, number, side="right")) - 1
        if k < 0:
            return api.MemberAt(member, "", "", step=-1, status="", leads=None)
        status = self._status_after(k) if number > int(self.places[k]) else ""
        return api.MemberAt(
            member=member,
            election_state=_ELECTION[int(self.state[k])].value,
            role=_ROLE[int(self.role[k])].value,
            step=int(steps[k]),
            status=status,
            leads=None if status or self.leads[k] < 0 else int(self.leads[k]),
        )

    def _status_after(self, k: int) -> str:
        """Give the member's status between its event ``k`` and its next event."""
        if k + 1 == len(self.places):
            return ENDED if self._ends else ""
        return DOWN if self._restart[k + 1] else ""

    def segments(self) -> Iterator[api.Segment]:
        """Give the segments in which election state and role are equal, or the member is down."""
        if not len(self.places) or self.places[0]:
            yield api.Segment(start=0, election_state="")
        code = self.state * len(_ROLE) + self.role
        changed = np.diff(code, prepend=-1) != 0
        for k in np.flatnonzero(changed | self._restart).tolist():
            if k and self._restart[k]:
                yield api.Segment(start=int(self.places[k - 1]) + 1, election_state="", status=DOWN)
            yield api.Segment(
                start=int(self.places[k]),
                election_state=_ELECTION[int(self.state[k])].value,
                role=_ROLE[int(self.role[k])].value,
            )
        if self._ends:
            yield api.Segment(start=int(self.places[-1]) + 1, election_state="", status=ENDED)

    def levels(self, member: int) -> api.MemberLevels:
        """Give the changes of the member's term, commit position and end of the log."""
        changes = np.flatnonzero((np.diff(self._levels, axis=0, prepend=-2) != 0).any(axis=1))
        kept = changes[:: -(-len(changes) // MAX_LEVELS) or 1]
        columns = map(tuple, [self.places[kept].tolist(), *self._levels[kept].T.tolist()])
        return api.MemberLevels(member, *columns)

    def bands(self, member: int, total: int) -> Iterator[api.LeaderBand]:
        """Give the member's leaderships."""
        edges = np.flatnonzero((np.diff(self.leads, prepend=-1) != 0) | self._restart).tolist()
        for start, end in zip(edges, [*edges[1:], len(self.leads)], strict=True):
            if self.leads[start] < 0:
                continue
            last = end - 1
            goes_on = end < len(self.leads) and not self._restart[end]
            stop = int(self.places[end]) if goes_on else int(self.places[last]) + 1
            if end == len(self.leads) and not self._ends:
                stop = total
            began = self._election_start(start)
            until = self._time[end] if goes_on else self._closed_after(last)
            yield api.LeaderBand(
                member=member,
                term=int(self.leads[start]),
                start=int(self.places[start]),
                end=stop,
                lasted=shown_ns(int(until - self._time[start])),
                election_start=int(self.places[began]),
                election=shown_ns(int(self._time[start] - self._time[began])),
            )

    def _closed_after(self, k: int) -> int:
        """Give the time at which the member closed between its event ``k`` and the next event.

        Without a closing, that is the time of event ``k``.
        """
        began = int(self._time[k])
        at = bisect_left(self._closed, began)
        if at == len(self._closed) or (
            k + 1 < len(self._time) and self._closed[at] > int(self._time[k + 1])
        ):
            return began
        return self._closed[at]

    def _election_start(self, k: int) -> int:
        """Give the first event of the election that event ``k`` closed."""
        before = np.flatnonzero((self.state[:k] == _CLOSED) | self._restart[1 : k + 1])
        first = int(before[-1]) + 1 if len(before) else 0
        return min(first, k)


def bands_of(tracks: list[Track], total: int) -> tuple[api.LeaderBand, ...]:
    """List the first `MAX_BANDS` leaderships, ordered by their beginnings."""
    found = [band for member, one in enumerate(tracks) for band in one.bands(member, total)]
    return tuple(sorted(found, key=lambda band: (band.start, band.member))[:MAX_BANDS])


def times_of(columns: EventColumns, rows: list[int]) -> tuple[api.TimeMark, ...]:
    """Sample the clocks evenly over the causal order; nothing if the clock is only a counter."""
    if not len(columns) or int(np.ptp(columns.time_ns)) < LEAST_SPAN_NS:
        return ()  # The clock is only a counter.
    count = min(len(rows), MAX_TIMES)
    numbers = sorted({round(k * (len(rows) - 1) / max(1, count - 1)) for k in range(count)})
    times = columns.time_ns[[rows[number] for number in numbers]].tolist() if numbers else []
    return tuple(map(api.TimeMark, numbers, map(seconds_text, times)))


def seconds_text(time_ns: int) -> str:
    """Write a time, such as ``12.345 s``."""
    ms = time_ns // 1_000_000
    return f"{'-' if ms < 0 else ''}{abs(ms) // 1000}.{abs(ms) % 1000:03d} s"


def since_text(duration_ns: int) -> str:
    """Write a difference of times, such as ``+1.2 ms``."""
    if abs(duration_ns) < 50_000:
        return "+0 ms"
    return f"{'-' if duration_ns < 0 else '+'}{shown_ns(abs(duration_ns))}"

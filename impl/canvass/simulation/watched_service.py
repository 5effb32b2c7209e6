"""A service that uses all that a cluster offers, and reports what it processes.

What it must never see is found here; what services must agree on is compared by the simulator.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final

from canvass.services.exactly_once import Application, ExactlyOnce
from canvass.services.service import ClientSession, Cluster

_TIMER_MS: Final = 30
"""After a message, until its timer expires."""
_WATCHED: Final = struct.Struct("<QQI")


class WatchedService(ExactlyOnce):
    """An application whose requests are watched.

    For each message of a client it puts one into the log and lets a timer expire. Both have to come
    back once, messages in their order.

    Parameters
    ----------
    application
        What requests are applied to.
    number
        Of the service.
    on_processed
        Called with position and contents of each message of a client.
    find
        Called with each violation: a property and a sentence.
    """

    def __init__(
        self,
        application: Application,
        number: int,
        on_processed: Callable[[int, int, bytes], None],
        find: Callable[[str, str], None],
    ) -> None:
        super().__init__(application)
        self._number = number
        self._on_processed, self._find = on_processed, find
        self._asked = self._seen = 0
        """Messages put into the log, and those that have come back."""
        self._timers: set[int] = set()

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is to come back any more."""
        return self._asked == self._seen and not self._timers

    def on_start(self, cluster: Cluster, snapshot: bytes | None) -> None:
        """See `ClusteredService`."""
        if snapshot is not None:
            self._asked, self._seen, count = _WATCHED.unpack_from(snapshot)
            snapshot = snapshot[_WATCHED.size :]
            self._timers = set(struct.unpack_from(f"<{count}q", snapshot))
            snapshot = snapshot[8 * count :]
        super().on_start(cluster, snapshot)

    def on_session_message(
        self, session: ClientSession | None, timestamp: int, payload: bytes
    ) -> None:
        """See `ClusteredService`."""
        cluster = self._cluster
        if session is None:
            self._on_own_message(payload)
            return
        self._on_processed(self._number, cluster.log_position, payload)
        self._asked += 1
        cluster.offer_to_log(b"%d %d" % (self._number, self._asked))
        timer = 2 * cluster.log_position + self._number
        self._timers.add(timer)
        cluster.schedule_timer(timer, timestamp + _TIMER_MS)
        super().on_session_message(session, timestamp, payload)

    def _on_own_message(self, payload: bytes) -> None:
        number, count = map(int, payload.split())
        if number != self._number:
            return  # Another service's.
        self._seen += 1
        if count != self._seen:
            violation = f"{count} comes back to service {number} in place of {self._seen}"
            self._find("ServiceMessages", violation)

    def on_timer_event(self, correlation_id: int, timestamp: int) -> None:
        """See `ClusteredService`."""
        del timestamp
        if correlation_id % 2 != self._number:
            return  # Another service's.
        if correlation_id not in self._timers:
            self._find("Timers", f"{correlation_id} expires, which is not waiting")
        self._timers.discard(correlation_id)

    def on_take_snapshot(self) -> bytes:
        """See `ClusteredService`."""
        timers = sorted(self._timers)
        head = _WATCHED.pack(self._asked, self._seen, len(timers))
        return head + struct.pack(f"<{len(timers)}q", *timers) + super().on_take_snapshot()

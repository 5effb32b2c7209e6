"""The replicated state of the consensus module: sessions, timers, service messages, control.

`ReplicatedState.apply` acts on one message of the log. The consensus module of a leader has two
states: one after the committed messages, the other after all that it has appended. An election
drops the second.

The toggles with which an operator controls a cluster or a member have Aeron's names. They are not
replicated. `canvass.node.consensus_module` polls them and appends to the log.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final, TypeAlias

import msgspec

from canvass.cluster.messages import NULL_VALUE
from canvass.log.entries import (
    STANDBY_FLAG,
    CloseReason,
    ClusterAction,
    ClusterActionRequest,
    LogMessage,
    SessionCloseEvent,
    SessionMessageHeader,
    SessionOpenEvent,
    TimerEvent,
)
from canvass.services.service import ScheduleTimer, ServiceMessage


class ModuleControlState(IntEnum):
    """The state of the consensus module, in Aeron's codes."""

    ACTIVE = 1
    SUSPENDED = 2
    SNAPSHOT = 3
    TERMINATING = 5


class ControlToggle(IntEnum):
    """The control toggle of the whole cluster, in Aeron's codes."""

    INACTIVE = 0
    NEUTRAL = 1
    SUSPEND = 2
    RESUME = 3
    SNAPSHOT = 4
    SHUTDOWN = 5
    ABORT = 6
    STANDBY_SNAPSHOT = 7


class NodeToggle(IntEnum):
    """The control toggle of one member in any role, in Aeron's codes."""

    INACTIVE = 0
    NEUTRAL = 1
    REPLICATE_STANDBY_SNAPSHOT = 2


ACTION_OF: Final = {
    ControlToggle.SUSPEND: (ModuleControlState.ACTIVE, ClusterAction.SUSPEND),
    ControlToggle.RESUME: (ModuleControlState.SUSPENDED, ClusterAction.RESUME),
    ControlToggle.SNAPSHOT: (ModuleControlState.ACTIVE, ClusterAction.SNAPSHOT),
    ControlToggle.SHUTDOWN: (ModuleControlState.ACTIVE, ClusterAction.SNAPSHOT),
    ControlToggle.STANDBY_SNAPSHOT: (ModuleControlState.ACTIVE, ClusterAction.SNAPSHOT),
}
"""The state in which a toggle takes effect, and the action that the leader then appends."""
_STATE_AFTER: Final = {
    ClusterAction.SUSPEND: ModuleControlState.SUSPENDED,
    ClusterAction.RESUME: ModuleControlState.ACTIVE,
    ClusterAction.SNAPSHOT: ModuleControlState.SNAPSHOT,
}


class Control:
    """The toggles of one member."""

    def __init__(self) -> None:
        self.toggle = ControlToggle.INACTIVE
        self.node_toggle = NodeToggle.INACTIVE

    def set_toggle(self, toggle: ControlToggle) -> bool:
        """Set the toggle of the cluster. Return false if it is not ready."""
        ready = self.toggle is ControlToggle.NEUTRAL or (
            toggle is ControlToggle.RESUME and self.toggle is ControlToggle.SUSPEND
        )
        if ready:
            self.toggle = toggle
        return ready

    def set_node_toggle(self, toggle: NodeToggle) -> bool:
        """Set the toggle of this member. Return false if it is not ready."""
        ready = self.node_toggle is NodeToggle.NEUTRAL
        if ready:
            self.node_toggle = toggle
        return ready

    def reset_node_toggle(self, state: ModuleControlState) -> NodeToggle:
        """Reset the toggle of this member in the ACTIVE state. Return its value.

        Return NEUTRAL if the state is not ACTIVE or the toggle is INACTIVE.
        """
        toggle = self.node_toggle
        if state is not ModuleControlState.ACTIVE or toggle is NodeToggle.INACTIVE:
            return NodeToggle.NEUTRAL
        self.node_toggle = NodeToggle.NEUTRAL
        return toggle

    def on_election(self) -> None:
        """Make both toggles not ready."""
        self.toggle, self.node_toggle = ControlToggle.INACTIVE, NodeToggle.INACTIVE

    def on_elected(self, state: ModuleControlState, *, leads: bool) -> None:
        """Make the toggle of the member ready, and on a leader the toggle of the cluster."""
        self.node_toggle = NodeToggle.NEUTRAL
        if leads:
            suspended = state is ModuleControlState.SUSPENDED
            self.toggle = ControlToggle.SUSPEND if suspended else ControlToggle.NEUTRAL


@dataclass(slots=True)
class ClusterSession:
    """One session."""

    id: int
    correlation_id: int
    response_channel: str
    is_closing: bool = False
    close_reason: CloseReason = CloseReason.CLIENT_ACTION
    last_activity: int = 0
    """The time of the last activity, in the unit of timestamps."""
    is_new_leader_event_pending: bool = False

    def begin_close(self, reason: CloseReason) -> None:
        """Let the leader append the end of the session next."""
        self.is_closing, self.close_reason = True, reason

    def touch(self, timestamp: int) -> None:
        """Note that the session is active."""
        self.last_activity = max(self.last_activity, timestamp)


class TimerService:
    """The scheduled timers."""

    def __init__(self) -> None:
        self._deadlines: dict[int, int] = {}
        self._heap: list[tuple[int, int]] = []
        self._expired: Counter[int] = Counter()
        """The timer events that were read before this member's service scheduled the timer."""

    def __len__(self) -> int:
        return len(self._deadlines)

    def pending(self) -> list[tuple[int, int]]:
        """The correlation id and the deadline of each timer, by rising id."""
        return sorted(self._deadlines.items())

    def schedule(self, correlation_id: int, deadline: int) -> None:
        """Schedule a timer, unless its event has already been read."""
        if self._expired[correlation_id]:
            self._expired[correlation_id] -= 1
            return
        self._deadlines[correlation_id] = deadline
        heapq.heappush(self._heap, (deadline, correlation_id))

    def cancel(self, correlation_id: int) -> bool:
        """Cancel a timer. Return false if it is not scheduled."""
        return self._deadlines.pop(correlation_id, None) is not None

    def expired(self, now: int) -> int:
        """The correlation id of the expired timer with the earliest deadline, or -1."""
        while self._heap:
            deadline, correlation_id = self._heap[0]
            if self._deadlines.get(correlation_id) == deadline:
                return correlation_id if deadline <= now else NULL_VALUE
            heapq.heappop(self._heap)
        return NULL_VALUE

    def on_event(self, correlation_id: int) -> None:
        """Act on the event of a timer in the log."""
        if not self.cancel(correlation_id):
            self._expired[correlation_id] += 1


_SIGN = -(1 << 63)
_SERVICE_SHIFT = 56


def first_session_id(service_id: int) -> int:
    """The session id before the first message of a service: negative, unlike a client's."""
    return _SIGN + (service_id << _SERVICE_SHIFT)


def service_of(session_id: int) -> int:
    """The service that sent a message with this negative session id."""
    return (session_id - _SIGN) >> _SERVICE_SHIFT


class PendingServiceMessageTracker:
    """The messages of one service that are not in the log."""

    def __init__(self, service_id: int) -> None:
        self.next_service_session_id = first_session_id(service_id) + 1
        self.log_service_session_id = first_session_id(service_id)
        """The session id of the last message in the log."""
        self.pending: deque[tuple[int, bytes]] = deque()
        """Session id and payload of each message, in order."""

    def enqueue(self, payload: bytes) -> None:
        """Add a message that the service has offered, unless it is in the log already."""
        session_id = self.next_service_session_id
        self.next_service_session_id += 1
        if session_id > self.log_service_session_id:
            self.pending.append((session_id, payload))

    def on_message(self, session_id: int) -> None:
        """Act on a message of the service in the log."""
        self.log_service_session_id = max(self.log_service_session_id, session_id)
        while self.pending and self.pending[0][0] <= session_id:
            self.pending.popleft()


_Snapshot: TypeAlias = tuple[
    int,
    list[ClusterSession],
    list[tuple[int, int]],
    list[tuple[int, int, list[tuple[int, bytes]]]],
]
"""Next session id; sessions; timers; trackers, each with its pending messages."""


class ReplicatedState:
    """The replicated state of the consensus module of one member."""

    def __init__(self, service_count: int) -> None:
        self.sessions: dict[int, ClusterSession] = {}
        self.next_session_id = 1
        """The session id for the next client that connects to this leader."""
        self.timers = TimerService()
        self.trackers = [PendingServiceMessageTracker(number) for number in range(service_count)]
        self.control_state = ModuleControlState.ACTIVE

    def allocate_id(self) -> int:
        """Take the next session id, for a client that connects."""
        self.next_session_id += 1
        return self.next_session_id - 1

    def opened(self) -> list[ClusterSession]:
        """All sessions, by rising id."""
        return [self.sessions[key] for key in sorted(self.sessions)]

    def apply(self, message: LogMessage) -> None:
        """Act on a message of the log."""
        match message:
            case SessionMessageHeader(cluster_session_id=session_id, timestamp=timestamp):
                if session_id < 0:
                    self.trackers[service_of(session_id)].on_message(session_id)
                elif session_id in self.sessions:
                    self.sessions[session_id].touch(timestamp)
            case TimerEvent(correlation_id=correlation_id):
                self.timers.on_event(correlation_id)
            case SessionOpenEvent(cluster_session_id=session_id):
                self.sessions[session_id] = ClusterSession(
                    session_id,
                    message.correlation_id,
                    message.response_channel,
                    last_activity=message.timestamp,
                )
                self.next_session_id = max(self.next_session_id, session_id + 1)
            case SessionCloseEvent(cluster_session_id=session_id):
                self.sessions.pop(session_id, None)
            case ClusterActionRequest(action=action, flags=flags):
                if not flags & STANDBY_FLAG:
                    self.control_state = _STATE_AFTER[action]
            case _:
                pass

    def on_service(self, message: ScheduleTimer | ServiceMessage) -> None:
        """Act on a request of a service. Every member does the same."""
        match message:
            case ScheduleTimer(correlation_id=correlation_id, deadline=deadline):
                self.timers.schedule(correlation_id, deadline)
            case ServiceMessage(service_id=service_id, payload=payload):
                self.trackers[service_id].enqueue(payload)

    # Snapshots.

    def snapshot(self) -> bytes:
        """The state as bytes, with all data that a restart needs."""
        written: _Snapshot = (
            self.next_session_id,
            [replace(one, is_new_leader_event_pending=False) for one in self.opened()],
            self.timers.pending(),
            [
                (one.next_service_session_id, one.log_service_session_id, list(one.pending))
                for one in self.trackers
            ],
        )
        return msgspec.msgpack.encode(written)

    def restore(self, snapshot: bytes) -> None:
        """Restore the state from the bytes of `snapshot`."""
        read = msgspec.msgpack.decode(snapshot, type=_Snapshot)
        self.next_session_id, sessions, timers, trackers = read
        self.sessions = {session.id: session for session in sessions}
        for timer in timers:
            self.timers.schedule(*timer)
        for tracker, (next_id, log_id, pending) in zip(self.trackers, trackers, strict=False):
            tracker.next_service_session_id, tracker.log_service_session_id = next_id, log_id
            tracker.pending.extend(pending)

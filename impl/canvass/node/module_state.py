"""The replicated state of the consensus module: sessions, timers, service messages, control.

A leader acts on a message when it appends the message (`ReplicatedState.on_append`). Any other
member acts on it when it reads the log (`ReplicatedState.on_replay`). Both reach the same state.
When a leader loses its leadership, it undoes its uncommitted actions (`ReplicatedState.roll_back`).

The toggles by which an operator controls a cluster and a member have Aeron's names.
`canvass.node.consensus_module` polls them and appends to the log.
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
    ClusterAction,
    ClusterActionRequest,
    LogMessage,
    NewLeadershipTermEvent,
    SessionCloseEvent,
    SessionMessageHeader,
    SessionOpenEvent,
    TimerEvent,
)
from canvass.node.sessions import ClusterSession, Sessions
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
    """The toggles and the state of one member."""

    def __init__(self) -> None:
        self.toggle = ControlToggle.INACTIVE
        self.node_toggle = NodeToggle.INACTIVE
        self.state = ModuleControlState.ACTIVE
        self._previous: list[tuple[int, ModuleControlState]] = []
        """The position of each uncommitted action of this leader, and the state before it."""

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

    def reset_node_toggle(self) -> NodeToggle:
        """Reset the toggle of this member in the ACTIVE state. Return its value.

        Return NEUTRAL if the state is not ACTIVE or the toggle is INACTIVE.
        """
        toggle = self.node_toggle
        if self.state is not ModuleControlState.ACTIVE or toggle is NodeToggle.INACTIVE:
            return NodeToggle.NEUTRAL
        self.node_toggle = NodeToggle.NEUTRAL
        return toggle

    def on_append(self, position: int, action: ClusterAction) -> None:
        """Note that this leader has appended an action."""
        self._previous.append((position, self.state))
        self.state = _STATE_AFTER[action]
        if action is ClusterAction.RESUME:
            self.toggle = ControlToggle.NEUTRAL

    def on_replay(self, action: ClusterAction) -> None:
        """Act on an action in the log."""
        self.state = _STATE_AFTER[action]

    def on_snapshot_taken(self) -> None:
        """Note that the requested snapshot is complete."""
        if self.state is ModuleControlState.SNAPSHOT:
            ends = self.toggle is ControlToggle.SHUTDOWN
            self.state = ModuleControlState.TERMINATING if ends else ModuleControlState.ACTIVE
        if self.toggle is ControlToggle.SNAPSHOT:
            self.toggle = ControlToggle.NEUTRAL

    def sweep(self, commit_position: int) -> None:
        """Forget how to undo the entries up to a commit position."""
        self._previous = [one for one in self._previous if one[0] > commit_position]

    def roll_back(self, commit_position: int) -> None:
        """Undo the actions that may never be committed."""
        self.sweep(commit_position)
        if self._previous:
            self.state = self._previous[0][1]
        elif self.state is ModuleControlState.TERMINATING:
            self.state = ModuleControlState.ACTIVE  # Only the protocol ends the process.
        self._previous.clear()
        self.toggle = ControlToggle.INACTIVE
        self.node_toggle = NodeToggle.INACTIVE

    def on_elected(self, *, leads: bool) -> None:
        """Make the toggle of the member ready, and on a leader the toggle of the cluster."""
        self.node_toggle = NodeToggle.NEUTRAL
        if not leads:
            return
        suspended = self.state is ModuleControlState.SUSPENDED
        self.toggle = ControlToggle.SUSPEND if suspended else ControlToggle.NEUTRAL


class TimerService:
    """The scheduled timers."""

    def __init__(self) -> None:
        self._deadlines: dict[int, int] = {}
        self._heap: list[tuple[int, int]] = []
        self._expired: Counter[int] = Counter()
        """The events that were replayed before this member's service scheduled the timer."""
        self._uncommitted: list[tuple[int, int]] = []
        """The position and the correlation id of each uncommitted event of this leader."""

    def __len__(self) -> int:
        return len(self._deadlines)

    def pending(self) -> list[tuple[int, int]]:
        """The correlation id and the deadline of each timer, by rising id."""
        return sorted(self._deadlines.items())

    def schedule(self, correlation_id: int, deadline: int) -> None:
        """Schedule a timer, unless its event has already been replayed."""
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

    def on_append(self, position: int, correlation_id: int) -> None:
        """Note that this leader has appended the event of a timer."""
        self.cancel(correlation_id)
        self._uncommitted.append((position, correlation_id))

    def on_replay(self, correlation_id: int) -> None:
        """Act on an event that another leader has appended."""
        if not self.cancel(correlation_id):
            self._expired[correlation_id] += 1

    def sweep(self, commit_position: int) -> None:
        """Forget how to undo the entries up to a commit position."""
        self._uncommitted = [one for one in self._uncommitted if one[0] > commit_position]

    def roll_back(self, commit_position: int) -> None:
        """Schedule the timers again whose events may never be committed; they expire at once."""
        for position, correlation_id in self._uncommitted:
            if position > commit_position:
                self.schedule(correlation_id, 0)
        self._uncommitted.clear()


_SIGN = -(1 << 63)
_SERVICE_SHIFT = 56


def first_session_id(service_id: int) -> int:
    """The session id before the first message of a service: negative, unlike a client's."""
    return _SIGN + (service_id << _SERVICE_SHIFT)


def service_of(session_id: int) -> int:
    """The service whose message has a negative session id."""
    return (session_id - _SIGN) >> _SERVICE_SHIFT


@dataclass(slots=True)
class PendingMessage:
    """A message of a service that is not known to be committed."""

    session_id: int
    payload: bytes
    appended_position: int = NULL_VALUE
    """The position at which the message ends in the log, if this leader has appended it."""


class PendingServiceMessageTracker:
    """The uncommitted messages of one service."""

    def __init__(self, service_id: int) -> None:
        self.service_id = service_id
        self.next_service_session_id = first_session_id(service_id) + 1
        self.log_service_session_id = first_session_id(service_id)
        """The session id of the last committed message."""
        self._pending: deque[PendingMessage] = deque()
        self._appended = 0
        """The number of messages at the front that have been appended."""

    def enqueue(self, payload: bytes) -> None:
        """Add a message that the service has offered, unless it is committed already."""
        session_id = self.next_service_session_id
        self.next_service_session_id += 1
        if session_id > self.log_service_session_id:
            self._pending.append(PendingMessage(session_id, payload))

    def pending(self) -> tuple[PendingMessage, ...]:
        """The messages that are not known to be committed, in order."""
        return tuple(self._pending)

    def next_to_append(self) -> PendingMessage | None:
        """The first message that has not been appended, or None."""
        return self._pending[self._appended] if self._appended < len(self._pending) else None

    def on_append(self, position: int) -> None:
        """Note that this leader has appended the message of `next_to_append`."""
        self._pending[self._appended].appended_position = position
        self._appended += 1

    def on_replay(self, session_id: int) -> None:
        """Act on a committed message that another leader has appended."""
        self.log_service_session_id = max(self.log_service_session_id, session_id)
        while self._pending and self._pending[0].session_id <= session_id:
            self._pending.popleft()
            self._appended = max(0, self._appended - 1)

    def sweep(self, commit_position: int) -> None:
        """Forget the committed messages."""
        while self._appended and self._pending[0].appended_position <= commit_position:
            self.log_service_session_id = self._pending.popleft().session_id
            self._appended -= 1

    def roll_back(self, commit_position: int) -> None:
        """Mark the messages that may never be committed as not appended."""
        self.sweep(commit_position)
        for message in self._pending:
            message.appended_position = NULL_VALUE
        self._appended = 0

    def restore(self, next_id: int, log_id: int, pending: list[tuple[int, bytes]]) -> None:
        """Restore the messages from a snapshot."""
        self.next_service_session_id, self.log_service_session_id = next_id, log_id
        self._pending = deque(PendingMessage(key, payload) for key, payload in pending)
        self._appended = 0


_Snapshot: TypeAlias = tuple[
    int,
    list[ClusterSession],
    list[tuple[int, int]],
    list[tuple[int, int, list[tuple[int, bytes]]]],
]
"""Next committed session id; sessions; timers; trackers, each with its pending messages."""


class ReplicatedState:
    """The replicated state of the consensus module of one member."""

    def __init__(self, service_count: int) -> None:
        self.sessions = Sessions()
        self.timers = TimerService()
        self.trackers = [PendingServiceMessageTracker(number) for number in range(service_count)]
        self.control = Control()

    def on_append(self, position: int, message: LogMessage) -> None:
        """Act on a message that this leader has appended, and that ends at a position."""
        match message:
            case SessionMessageHeader(cluster_session_id=session_id, timestamp=timestamp):
                if session_id < 0:
                    self.trackers[service_of(session_id)].on_append(position)
                else:
                    self.sessions.touch(session_id, timestamp)
            case TimerEvent(correlation_id=correlation_id):
                self.timers.on_append(position, correlation_id)
            case SessionOpenEvent():
                self.sessions.on_append_open(position, message)
            case SessionCloseEvent(cluster_session_id=session_id):
                self.sessions.on_append_close(position, session_id)
            case ClusterActionRequest(action=action, flags=flags):
                if not flags & STANDBY_FLAG:
                    self.control.on_append(position, action)
            case NewLeadershipTermEvent():
                pass

    def on_replay(self, position: int, message: LogMessage) -> None:
        """Act on a message in the log that ends at a position."""
        match message:
            case SessionMessageHeader(cluster_session_id=session_id, timestamp=timestamp):
                if session_id < 0:
                    self.trackers[service_of(session_id)].on_replay(session_id)
                else:
                    self.sessions.touch(session_id, timestamp)
            case TimerEvent(correlation_id=correlation_id):
                self.timers.on_replay(correlation_id)
            case SessionOpenEvent():
                self.sessions.on_replay_open(position, message)
            case SessionCloseEvent(cluster_session_id=session_id):
                self.sessions.on_replay_close(session_id)
            case ClusterActionRequest(action=action, flags=flags):
                if not flags & STANDBY_FLAG:
                    self.control.on_replay(action)
            case NewLeadershipTermEvent():
                pass

    def on_service(self, message: ScheduleTimer | ServiceMessage) -> None:
        """Act on a request of a service. Every member does the same."""
        match message:
            case ScheduleTimer(correlation_id=correlation_id, deadline=deadline):
                self.timers.schedule(correlation_id, deadline)
            case ServiceMessage(service_id=service_id, payload=payload):
                self.trackers[service_id].enqueue(payload)

    def sweep(self, commit_position: int) -> None:
        """Forget how to undo the entries up to a commit position."""
        self.sessions.sweep(commit_position)
        self.timers.sweep(commit_position)
        self.control.sweep(commit_position)
        for tracker in self.trackers:
            tracker.sweep(commit_position)

    def roll_back(self, commit_position: int) -> list[ClusterSession]:
        """Undo the entries that may never be committed. Return the sessions that end thereby."""
        gone = self.sessions.roll_back(commit_position)
        self.timers.roll_back(commit_position)
        self.control.roll_back(commit_position)
        for tracker in self.trackers:
            tracker.roll_back(commit_position)
        return gone

    # Snapshots.

    def snapshot(self) -> bytes:
        """The state as bytes, with all data that a restart needs."""
        sessions = [
            replace(session, is_new_leader_event_pending=False)
            for session in self.sessions.opened()
        ]
        trackers = [
            (
                tracker.next_service_session_id,
                tracker.log_service_session_id,
                [(message.session_id, message.payload) for message in tracker.pending()],
            )
            for tracker in self.trackers
        ]
        written: _Snapshot = (
            self.sessions.next_committed_session_id,
            sessions,
            self.timers.pending(),
            trackers,
        )
        return msgspec.msgpack.encode(written)

    def restore(self, snapshot: bytes) -> None:
        """Restore the state from the bytes of `snapshot`."""
        next_id, sessions, timers, trackers = msgspec.msgpack.decode(snapshot, type=_Snapshot)
        self.sessions.restore(sessions, next_id)
        for timer in timers:
            self.timers.schedule(*timer)
        for tracker, written in zip(self.trackers, trackers, strict=False):
            tracker.restore(*written)

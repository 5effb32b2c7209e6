"""What the consensus module makes of log messages: sessions, timers, service messages, control.

A leader acts on a message when it appends it (`ModuleState.on_append`), any other member when it
reads it from the log (`ModuleState.on_replay`). Both come to the same state, and what a leader did
too early is undone (`ModuleState.roll_back`) when it leads no more.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final

from canvass.log.messages import (
    STANDBY_FLAG,
    CloseReason,
    ClusterActionRequest,
    LogMessage,
    NewLeadershipTermEvent,
    SessionCloseEvent,
    SessionMessageHeader,
    SessionOpenEvent,
    TimerEvent,
)
from canvass.node.control import Control
from canvass.node.service_messages import PendingServiceMessageTracker, service_of
from canvass.node.sessions import ClusterSession, Sessions, SessionState
from canvass.node.timers import TimerService
from canvass.services.messages import CancelTimer, ScheduleTimer, ServiceMessage

_SNAPSHOT: Final = struct.Struct("<qIII")
"""Next committed session id; numbers of sessions, timers and services."""
_SESSION: Final = struct.Struct("<qqqqiiiII")
_TIMER: Final = struct.Struct("<qq")
_TRACKER: Final = struct.Struct("<qqI")
_PENDING: Final = struct.Struct("<qI")


class ModuleState:
    """The replicated state of the consensus module of one member.

    Parameters
    ----------
    service_count
        How many services there are.
    """

    def __init__(self, service_count: int) -> None:
        self.sessions = Sessions()
        self.timers = TimerService()
        self.trackers = [PendingServiceMessageTracker(number) for number in range(service_count)]
        self.control = Control()

    def on_append(self, position: int, message: LogMessage) -> None:
        """Act on a message that this leader has appended so that it ends at a position."""
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
        """Act on a message that the log holds up to a position."""
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

    def on_service(self, message: ScheduleTimer | CancelTimer | ServiceMessage) -> None:
        """Act on what a service asks for, on every member alike."""
        match message:
            case ScheduleTimer(correlation_id=correlation_id, deadline=deadline):
                self.timers.schedule(correlation_id, deadline)
            case CancelTimer(correlation_id=correlation_id):
                self.timers.cancel(correlation_id)
            case ServiceMessage(service_id=service_id, payload=payload):
                self.trackers[service_id].enqueue(payload)

    def sweep(self, commit_position: int) -> None:
        """Forget what can no more be undone: it is committed."""
        self.sessions.sweep(commit_position)
        self.timers.sweep(commit_position)
        self.control.sweep(commit_position)
        for tracker in self.trackers:
            tracker.sweep(commit_position)

    def roll_back(self, commit_position: int) -> list[ClusterSession]:
        """Undo what may never commit; give the sessions that are no more."""
        gone = self.sessions.roll_back(commit_position)
        self.timers.roll_back(commit_position)
        self.control.roll_back(commit_position)
        for tracker in self.trackers:
            tracker.roll_back(commit_position)
        return gone

    # Snapshots.

    def snapshot(self) -> bytes:
        """Write down all that a restart needs."""
        sessions, timers = self.sessions.opened(), self.timers.pending()
        head = _SNAPSHOT.pack(
            self.sessions.next_committed_session_id, len(sessions), len(timers), len(self.trackers)
        )
        parts = [head, *(part for session in sessions for part in _session(session))]
        parts += (_TIMER.pack(*timer) for timer in timers)
        for tracker in self.trackers:
            pending = tracker.pending()
            ids = tracker.next_service_session_id, tracker.log_service_session_id
            parts.append(_TRACKER.pack(*ids, len(pending)))
            for message in pending:
                parts.append(_PENDING.pack(message.session_id, len(message.payload)))
                parts.append(message.payload)
        return b"".join(parts)

    def restore(self, snapshot: bytes) -> None:
        """Take up what a snapshot says."""
        reader = _Reader(snapshot)
        next_id, session_count, timer_count, tracker_count = reader.unpack(_SNAPSHOT)
        self.sessions.restore([_read_session(reader) for _ in range(session_count)], next_id)
        for _ in range(timer_count):
            self.timers.schedule(*reader.unpack(_TIMER))
        for tracker in self.trackers[:tracker_count]:
            next_id, log_id, pending_count = reader.unpack(_TRACKER)
            pending = []
            for _ in range(pending_count):
                session_id, length = reader.unpack(_PENDING)
                pending.append((session_id, reader.take(length)))
            tracker.restore(next_id, log_id, pending)


class _Reader:
    """Reads one part after the other."""

    def __init__(self, data: bytes) -> None:
        self._data, self._offset = data, 0

    def unpack(self, layout: struct.Struct) -> tuple[int, ...]:
        return layout.unpack(self.take(layout.size))

    def take(self, length: int) -> bytes:
        self._offset += length
        return self._data[self._offset - length : self._offset]


def _session(session: ClusterSession) -> Iterable[bytes]:
    channel, principal = session.response_channel.encode(), session.encoded_principal
    yield _SESSION.pack(
        session.id,
        session.correlation_id,
        session.opened_position,
        session.last_activity,
        session.response_stream_id,
        session.state is SessionState.CLOSING,
        session.close_reason,
        len(channel),
        len(principal),
    )
    yield channel
    yield principal


def _read_session(reader: _Reader) -> ClusterSession:
    key, correlation, position, activity, stream, closing, reason, channel, principal = (
        reader.unpack(_SESSION)
    )
    return ClusterSession(
        key,
        correlation,
        stream,
        reader.take(channel).decode(),
        reader.take(principal),
        position,
        SessionState.CLOSING if closing else SessionState.OPEN,
        CloseReason(reason),
        activity,
    )

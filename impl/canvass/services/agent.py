"""The agent of one service: it joins logs, gives committed entries to the service, and reports to
the consensus module.

The module makes the agent join a log by a call. Apart from that, module and agent share only the
recording of the log, the commit position and messages.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Final, TypeAlias

import msgspec

from canvass.archive.recording import Recording
from canvass.archive.storage import ArchiveError
from canvass.cluster.member import Role
from canvass.cluster.messages import NULL_VALUE
from canvass.log import entries
from canvass.log.entries import (
    ClusterActionRequest,
    LogMessage,
    NewLeadershipTermEvent,
    SessionCloseEvent,
    SessionMessageHeader,
    SessionOpenEvent,
    TimerEvent,
)
from canvass.services.service import (
    ClientSession,
    ClusteredService,
    FromService,
    ScheduleTimer,
    ServiceAck,
    ServiceMessage,
)

FRAGMENT_LIMIT: Final = 50
"""The most entries that one cycle processes."""
_Snapshot: TypeAlias = tuple[int, int, tuple[ClientSession, ...], bytes]
"""Position, timestamp, sessions, and the snapshot of the service."""


class ServiceAgent:
    """The agent of one service. The service sees it as a `canvass.services.service.Cluster`.

    Parameters
    ----------
    service_id
        The id of the service.
    service
        The application.
    log
        The recorded log.
    egress
        A function that sends a payload to a client's session.
    snapshot, position
        The snapshot that the service begins with, and its position in the log.
    """

    def __init__(
        self,
        service_id: int,
        service: ClusteredService,
        log: Recording,
        egress: Callable[[int, bytes], None],
        snapshot: bytes | None = None,
        position: int = 0,
    ) -> None:
        self.service_id, self.service = service_id, service
        self._egress = egress
        self.outbox: deque[FromService] = deque()
        self.role = Role.FOLLOWER
        self.timestamp = 0
        self._sessions: dict[int, ClientSession] = {}
        self._log = log
        self.log_position = position
        """The position up to which the service has processed the log."""
        self._stop_position = NULL_VALUE
        """The end of the stream that the service follows, or -1 without a stream."""
        content = None if snapshot is None else self._restore(snapshot, position)
        service.on_start(self, content)

    def do_work(self, commit_position: int) -> bool:
        """Process committed entries only. Return whether there were any."""
        bound = min(commit_position, self._stop_position)
        before = self.log_position
        for frame in islice(self._log.replay(before, bound), FRAGMENT_LIMIT):
            self.log_position = frame.end
            self._on_entry(entries.decode(frame.payload))
        return self.log_position > before

    def join(self, position: int, stop_position: int, role: Role, commit_position: int) -> None:
        """Process the log up to a position, and follow another stream from there on.

        This call stands for Aeron's JoinLog message and the ServiceAck that answers it.

        Raises
        ------
        ArchiveError
            If the service has processed the log beyond the position, or cannot reach it.
        """
        if self._stop_position != NULL_VALUE:
            self._stop_position = position
            while self.do_work(commit_position):
                pass
            self._become(Role.FOLLOWER)
        if position != self.log_position:
            raise ArchiveError(
                f"service {self.service_id} has processed the log up to {self.log_position}, and "
                f"cannot join it at {position}"
            )
        self._stop_position = stop_position
        self._become(role)

    def _become(self, role: Role) -> None:
        if role is not self.role:
            self.role = role
            self.service.on_role_change(role)

    # The log.

    def _on_entry(self, message: LogMessage) -> None:
        self.timestamp = message.timestamp
        match message:
            case SessionMessageHeader():
                self._on_session_message(message)
            case TimerEvent():
                self.service.on_timer_event(message.correlation_id, message.timestamp)
            case SessionOpenEvent():
                session = ClientSession(
                    message.cluster_session_id,
                    message.response_stream_id,
                    message.response_channel,
                    message.encoded_principal,
                )
                self._sessions[session.id] = session
                self.service.on_session_open(session, message.timestamp)
            case SessionCloseEvent():
                closed = self._sessions.pop(message.cluster_session_id, None)
                if closed is not None:
                    self.service.on_session_close(closed, message.timestamp, message.close_reason)
            case NewLeadershipTermEvent():
                self.service.on_new_leadership_term_event(message)
            case ClusterActionRequest():
                if message.is_snapshot:
                    self.outbox.append(ServiceAck(self.log_position, self._snapshot()))

    def _on_session_message(self, message: SessionMessageHeader) -> None:
        session_id = message.cluster_session_id
        session = self._sessions.get(session_id)
        if session is not None or session_id < 0:
            self.service.on_session_message(session, message.timestamp, message.payload)

    # Requests of the service.

    def offer(self, cluster_session_id: int, payload: bytes) -> None:
        """See `canvass.services.service.Cluster`."""
        if self.role is Role.LEADER:
            self._egress(cluster_session_id, payload)

    def offer_to_log(self, payload: bytes) -> None:
        """See `canvass.services.service.Cluster`."""
        self.outbox.append(ServiceMessage(self.service_id, payload))

    def schedule_timer(self, correlation_id: int, deadline: int) -> None:
        """See `canvass.services.service.Cluster`."""
        self.outbox.append(ScheduleTimer(correlation_id, deadline))

    # Snapshots: the sessions of the agent, then the snapshot of the service.

    def _snapshot(self) -> bytes:
        content = self.service.on_take_snapshot()
        sessions = tuple(self._sessions[key] for key in sorted(self._sessions))
        written = self.log_position, self.timestamp, sessions, content
        return msgspec.msgpack.encode(written)

    def _restore(self, snapshot: bytes, position: int) -> bytes:
        written: _Snapshot = msgspec.msgpack.decode(snapshot, type=_Snapshot)
        written_at, self.timestamp, sessions, content = written
        if written_at != position:
            raise ArchiveError(f"the snapshot of position {position} was taken at {written_at}")
        self._sessions = {session.id: session for session in sessions}
        return content

"""The consensus module outside of elections: it admits clients, appends entries, processes the log,
and runs the services.

`canvass.cluster.duty_cycle` handles elections and replication. `canvass.node.node.Node` carries out
some effects by methods of `ConsensusModule`: `written`, `committed`, `rolled_back`, `elected`,
`join` and `take_snapshot`.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Final

import msgspec
from msgspec.structs import replace

from canvass.archive.archive import MODULE_SERVICE_ID, Archive
from canvass.archive.storage import ArchiveError
from canvass.cluster.clocks import Timing
from canvass.cluster.member import Role
from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.rules import Rules
from canvass.log import entries
from canvass.log.entries import (
    CloseReason,
    ClusterActionRequest,
    LogMessage,
    SessionCloseEvent,
    SessionMessageHeader,
    SessionOpenEvent,
    TimerEvent,
    aligned_length,
)
from canvass.node.module_state import (
    ACTION_OF,
    ClusterSession,
    Control,
    ControlToggle,
    ModuleControlState,
    NodeToggle,
    ReplicatedState,
)
from canvass.node.streams import MAX_POSITION
from canvass.services.agent import ServiceAgent
from canvass.services.service import ClusteredService, ServiceAck
from canvass.transport.messages import (
    PROTOCOL_VERSION,
    AdminRequest,
    AdminResponse,
    AdminResponseCode,
    Egress,
    EventCode,
    Ingress,
    NewLeaderEvent,
    SessionCloseRequest,
    SessionConnectRequest,
    SessionEvent,
    SessionKeepAlive,
)

MAX_SESSIONS: Final = 10
"""Aeron's default."""
MAX_WAITING: Final = 4_096
"""The greatest number of waiting messages. Later ones are dropped; clients offer them again."""
_MAJOR_SHIFT: Final = 16
_OF_SESSIONS: Final = (SessionMessageHeader, SessionKeepAlive, SessionCloseRequest, AdminRequest)
"""The messages that a client sends in an open session."""


@dataclass(slots=True)
class PendingSession:
    """A client that connects."""

    id: int
    request: SessionConnectRequest
    is_admitted: bool = False


class ClientIngress:
    """The clients that one member admits, and their messages that wait for the log.

    A follower redirects clients to the leader. A leader admits every client (none is authenticated)
    and keeps their messages in order until they are appended. None of this is replicated: an
    election clears it.

    Parameters
    ----------
    i, endpoints
        The member id, and the ingress endpoints of all members in the form that messages have.
    state
        The replicated state: after the committed messages, on a leader after the appended ones.
    send
        A function that sends a message to an egress channel. The message may be lost.
    request_snapshot
        A function that requests a snapshot and returns the answer to the client.
    """

    def __init__(
        self,
        i: int,
        endpoints: str,
        state: ReplicatedState,
        send: Callable[[str, Egress], None],
        request_snapshot: Callable[[], tuple[AdminResponseCode, str]],
    ) -> None:
        self._id, self._endpoints, self.state = i, endpoints, state
        self._send, self._request_snapshot = send, request_snapshot
        self.leads = False
        self.leader_member_id = -1
        self.leadership_term_id = -1
        self.messages: deque[SessionMessageHeader | SessionCloseRequest] = deque()
        """The messages to append, in order of arrival: a close follows a session's messages."""
        self._pending: dict[int, PendingSession] = {}
        self._redirected: deque[SessionConnectRequest] = deque()
        self._rejected: deque[tuple[SessionConnectRequest, str]] = deque()

    def on_message(self, message: Ingress, now: int) -> None:
        """Receive a message of a client; ``now`` is in the unit of timestamps."""
        if isinstance(message, SessionConnectRequest):
            self._on_connect(message)
        elif self.leads:
            self._on_session(message, now)

    def next_admitted(self) -> PendingSession | None:
        """The next client whose session can be opened, or None."""
        for pending in self._pending.values():
            if pending.is_admitted:
                return pending
        return None

    def opened(self, session_id: int) -> None:
        """Notify a client that its session is open."""
        pending = self._pending.pop(session_id)
        self.notify(pending.request, EventCode.OK, "", session_id)

    def notify_refused(self) -> None:
        """Send the waiting redirections and rejections; part of the slow tick of every member."""
        while self._redirected:
            self.notify(self._redirected.popleft(), EventCode.REDIRECT, self._endpoints)
        while self._rejected:
            request, detail = self._rejected.popleft()
            self.notify(request, EventCode.ERROR, detail)

    def process_pending(self) -> None:
        """Admit all new clients; part of the slow tick of a leader."""
        for pending in self._pending.values():
            pending.is_admitted = True

    def clear(self) -> None:
        """Forget everything: an election begins."""
        self.leads = False
        self.messages.clear()
        self._pending.clear()
        self._rejected.clear()

    def notify(
        self,
        client: SessionConnectRequest | ClusterSession,
        code: EventCode,
        detail: str,
        session_id: int = -1,
    ) -> None:
        """Send a client the state of its session. A session has no id before it is open."""
        event = SessionEvent(
            session_id,
            client.correlation_id,
            self.leadership_term_id,
            self.leader_member_id,
            code,
            PROTOCOL_VERSION,
            detail,
        )
        self._send(client.response_channel, event)

    def _on_connect(self, request: SessionConnectRequest) -> None:
        if not self.leads:
            self._redirected.append(request)
            return
        asked = request.response_channel, request.correlation_id
        for session in self.state.sessions.values():
            if (session.response_channel, session.correlation_id) == asked:
                # The client has sent the request again.
                self.notify(request, EventCode.OK, "", session.id)
                return
        for pending in self._pending.values():
            if (pending.request.response_channel, pending.request.correlation_id) == asked:
                return
        session_id = self.state.allocate_id()
        if request.version >> _MAJOR_SHIFT != 1:
            self._rejected.append((request, "another version of the protocol"))
        elif len(self.state.sessions) + len(self._pending) >= MAX_SESSIONS:
            self._rejected.append((request, "there are too many sessions"))
        else:
            self._pending[session_id] = PendingSession(session_id, request)

    def _on_session(self, message: Ingress, now: int) -> None:
        if not isinstance(message, _OF_SESSIONS):
            return
        session = self.state.sessions.get(message.cluster_session_id)
        if (
            session is None
            or session.is_closing
            or message.leadership_term_id != self.leadership_term_id
        ):
            return
        match message:
            case SessionKeepAlive():
                session.touch(now)
            case AdminRequest(correlation_id=correlation_id, request_type=asked):
                code, answer = self._request_snapshot()
                response = AdminResponse(session.id, correlation_id, asked, code, answer, b"")
                self._send(session.response_channel, response)
            case SessionMessageHeader() | SessionCloseRequest():
                if len(self.messages) < MAX_WAITING:
                    self.messages.append(message)


SESSION_TIMEOUT_MS: Final = 10_000
"""Aeron's default."""


@dataclass(frozen=True)
class NodeSettings:
    """The settings of a member; they do not change."""

    member_id: int
    rules: Rules
    timing: Timing
    ingress_endpoints: str
    session_timeout_ms: int = SESSION_TIMEOUT_MS


class ConsensusModule:
    """The consensus module of one process of one member, outside of elections.

    Parameters
    ----------
    settings
        The settings of the member.
    archive
        The archive of the member.
    services
        New applications. They begin with the last snapshot.
    send
        A function that sends a message to an egress channel. The message may be lost.

    Attributes
    ----------
    committed_state
        The state after all committed messages.
    state
        The same; on a leader the state after all messages that it has appended.

    Raises
    ------
    ArchiveError
        If the last snapshot is not of these services, or cannot be read.
    """

    def __init__(
        self,
        settings: NodeSettings,
        archive: Archive,
        services: Sequence[ClusteredService],
        send: Callable[[str, Egress], None],
    ) -> None:
        self._settings, self._archive, self._send = settings, archive, send
        self.control = Control()
        self.state = self.committed_state = ReplicatedState(len(services))
        self._uncommitted: deque[tuple[int, LogMessage]] = deque()
        """The messages that this leader has appended, each with the position of its end."""
        position, parts = archive.last_snapshot()
        known = sorted(set(parts) - {MODULE_SERVICE_ID})
        if parts and known != list(range(len(services))):
            raise ArchiveError(
                f"the snapshot at {position} is of services {known}, and {len(services)} run"
            )
        self.commit_position = position
        """The module has processed the log up to here, and the services may do so too."""
        try:
            if parts:
                self.state.restore(parts[MODULE_SERVICE_ID])
            self.agents = [
                ServiceAgent(
                    number,
                    service,
                    archive.recording,
                    self._on_service_egress,
                    parts.get(number),
                    position,
                )
                for number, service in enumerate(services)
            ]
        except msgspec.MsgspecError as error:
            raise ArchiveError(f"the snapshot at {position} cannot be read: {error}") from None
        self.ingress = ClientIngress(
            settings.member_id,
            settings.ingress_endpoints,
            self.state,
            send,
            self._request_snapshot,
        )
        self.counters: Counter[str] = Counter()
        """How often each event has occurred that the member's status reports."""
        self.time_ms = 0
        self._next: LogMessage | None = None
        self._action: ControlToggle | None = None
        self._applied_from = MAX_POSITION
        """From here on this leader acts on messages when it appends them, not at their commit."""
        self._is_startup = True
        self.termination_is_requested = False

    @property
    def is_active(self) -> bool:
        """Whether the module is neither suspended, nor takes a snapshot, nor terminates."""
        return self.state.control_state is ModuleControlState.ACTIVE

    # Appending.

    def poll(self, position: int) -> LogMessage | None:
        """The next message for a leader to append at a position, or None."""
        if self._next is None:
            self._next = self._find(position)
        return self._next

    def _find(self, position: int) -> LogMessage | None:
        term, now = self.ingress.leadership_term_id, self.time_ms
        if self._action is not None:
            flags = int(self._action is ControlToggle.STANDBY_SNAPSHOT)
            asked = ClusterActionRequest(term, 0, now, ACTION_OF[self._action][1], flags)
            end = position + aligned_length(len(entries.encode(asked)))
            return replace(asked, log_position=end)
        if not self.is_active:
            return None
        pending = self.ingress.next_admitted()
        if pending is not None:
            request = pending.request
            return SessionOpenEvent(
                term,
                request.correlation_id,
                pending.id,
                now,
                request.response_stream_id,
                request.response_channel,
                request.encoded_credentials,
            )
        for session in self.state.sessions.values():
            if session.is_closing:
                return SessionCloseEvent(term, session.id, now, session.close_reason)
        expired = self.state.timers.expired(now)
        if expired != NULL_VALUE:
            return TimerEvent(term, expired, now)
        return self._find_message(term, now)

    def _find_message(self, term: int, now: int) -> LogMessage | None:
        for tracker in self.state.trackers:
            if tracker.pending:
                session_id, payload = tracker.pending[0]
                return SessionMessageHeader(term, session_id, now, payload)
        while self.ingress.messages:
            message = self.ingress.messages.popleft()
            session = self.state.sessions.get(message.cluster_session_id)
            if session is None or session.is_closing:
                continue
            if isinstance(message, SessionMessageHeader):
                return replace(message, timestamp=now)
            session.begin_close(CloseReason.CLIENT_ACTION)
            return SessionCloseEvent(term, session.id, now, session.close_reason)
        return None

    def written(self, position: int) -> None:
        """Act on the polled message: the leader has appended it, and it ends at ``position``."""
        message, self._next = self._next, None
        assert message is not None
        closed = None
        if isinstance(message, SessionCloseEvent):
            closed = self.state.sessions.get(message.cluster_session_id)
        self.state.apply(message)
        self._uncommitted.append((position, message))
        if isinstance(message, SessionOpenEvent):
            self.ingress.opened(message.cluster_session_id)
        elif closed is not None:
            self.ingress.notify(closed, EventCode.CLOSED, closed.close_reason.name, closed.id)
        elif isinstance(message, ClusterActionRequest):
            toggle, self._action = self._action, None
            self.counters["actions appended"] += 1
            if toggle is ControlToggle.SHUTDOWN:
                self.termination_is_requested = True
            elif toggle in (ControlToggle.STANDBY_SNAPSHOT, ControlToggle.RESUME):
                self.control.toggle = ControlToggle.NEUTRAL

    def publication_opened(self, position: int) -> None:
        """Begin to lead: this leader's own messages begin at a position."""
        self._applied_from = position
        self._use(deepcopy(self.committed_state))

    def _use(self, state: ReplicatedState) -> None:
        self.state = self.ingress.state = state

    def _states(self) -> tuple[ReplicatedState, ...]:
        """The states of this member: one, or two on a leader."""
        committed = self.committed_state
        return (committed,) if self.state is committed else (committed, self.state)

    # The log.

    def committed(self, position: int) -> None:
        """Process the log up to a position, and let the services do so."""
        start = self.commit_position
        if position <= start:
            return
        for frame in self._archive.recording.replay(start, min(position, self._applied_from)):
            message = entries.decode(frame.payload)
            for state in self._states():
                state.apply(message)
        while self._uncommitted and self._uncommitted[0][0] <= position:
            self.committed_state.apply(self._uncommitted.popleft()[1])
        self.commit_position = position

    def rolled_back(self) -> None:
        """Undo the effects of entries beyond the commit position: an election begins.

        If this leader has begun to close a session, or has appended its end, the session is about
        to be closed again, because the end may never be committed.
        """
        left, committed = self.state.sessions, self.committed_state
        for session_id in sorted(left.keys() - committed.sessions.keys()):
            self.ingress.notify(left[session_id], EventCode.CLOSED, "election", session_id)
        closing = {one.id: one.close_reason for one in left.values() if one.is_closing}
        for _, message in self._uncommitted:
            if isinstance(message, SessionCloseEvent):
                closing[message.cluster_session_id] = message.close_reason
        for session_id in closing.keys() & committed.sessions.keys():
            committed.sessions[session_id].begin_close(closing[session_id])
        if committed.control_state is ModuleControlState.TERMINATING:
            committed.control_state = ModuleControlState.ACTIVE  # Only the protocol ends a process.
        self._uncommitted.clear()
        self._use(committed)
        self.control.on_election()
        self.ingress.clear()
        self._next = self._action = None
        self.termination_is_requested = False
        self._applied_from = MAX_POSITION

    def elected(self, role: Role, term: int, leader: int) -> None:
        """Serve in the role that results from an election."""
        self.ingress.leads = role is Role.LEADER
        self.ingress.leadership_term_id, self.ingress.leader_member_id = term, leader
        self.counters["elections"] += 1
        self.control.on_elected(self.state.control_state, leads=role is Role.LEADER)
        if role is Role.LEADER:
            for session in self.state.opened():
                session.touch(self.time_ms)
                session.is_new_leader_event_pending = True
                if self._is_startup:
                    session.begin_close(CloseReason.TIMEOUT)
        self._is_startup = False

    # Services.

    def join(self, position: int, role: Role, stop_position: int = MAX_POSITION) -> None:
        """Let the services follow the log from ``position`` on.

        ``stop_position`` is the end of the stream, if they follow a replay.
        """
        for agent in self.agents:
            agent.join(position, stop_position, role, self.commit_position)
            while self._poll_service(agent) is not None:
                pass  # It acknowledges a snapshot that the module has not taken.

    def take_snapshot(self, term: int, base: int, position: int) -> None:
        """Write a snapshot of the module and of all services at a position."""
        parts = {MODULE_SERVICE_ID: b""}
        for agent in self.agents:
            ack = self._await_ack(agent, position)
            parts[agent.service_id] = ack.snapshot
        parts[MODULE_SERVICE_ID] = self.committed_state.snapshot()
        self._archive.write_snapshot(term, base, position, parts)
        ends = self.control.toggle is ControlToggle.SHUTDOWN
        for state in self._states():
            if state.control_state is ModuleControlState.SNAPSHOT:
                after = ModuleControlState.TERMINATING if ends else ModuleControlState.ACTIVE
                state.control_state = after
        if self.control.toggle is ControlToggle.SNAPSHOT:
            self.control.toggle = ControlToggle.NEUTRAL

    def _await_ack(self, agent: ServiceAgent, position: int) -> ServiceAck:
        """Wait until a service has taken a snapshot at a position, as Aeron's module does."""
        while True:
            ack = self._poll_service(agent)
            if ack is None:
                if not agent.do_work(self.commit_position):
                    raise ArchiveError(
                        f"service {agent.service_id} has processed the log up to"
                        f" {agent.log_position}, and cannot reach {position}"
                    )
            elif ack.log_position == position:
                return ack
            elif ack.log_position > position:
                raise ArchiveError(f"service {agent.service_id} acknowledges {ack.log_position}")

    def _poll_service(self, agent: ServiceAgent) -> ServiceAck | None:
        """Act on the requests of a service up to its next acknowledgement; return that, or None."""
        while agent.outbox:
            message = agent.outbox.popleft()
            if isinstance(message, ServiceAck):
                return message
            for state in self._states():
                state.on_service(message)
        return None

    def services_work(self) -> bool:
        """Let every service do one cycle."""
        worked = False
        for agent in self.agents:
            worked = agent.do_work(self.commit_position) or worked
            if agent.outbox and not isinstance(agent.outbox[0], ServiceAck):
                self._serve(agent)
        return worked

    def _serve(self, agent: ServiceAgent) -> None:
        """Act on the requests of a service up to an acknowledgement, which stays in its outbox."""
        ack = self._poll_service(agent)
        if ack is not None:
            agent.outbox.appendleft(ack)

    # Slow work, and clients.

    def slow_tick(self) -> None:
        """Answer the refused clients. Carry out the toggles. A leader also checks the sessions."""
        self.ingress.notify_refused()
        if self.ingress.leads:
            self._check_toggle()
            if self.is_active:
                self._check_sessions()
        toggle = self.control.reset_node_toggle(self.state.control_state)
        if toggle is NodeToggle.REPLICATE_STANDBY_SNAPSHOT:
            # A standby member reports its snapshots; there is no standby member, so no report.
            self.counters["standby snapshots not found"] += 1

    def _check_sessions(self) -> None:
        """Let clients in, close sessions that have timed out, and announce a new leader."""
        timeout = self._settings.session_timeout_ms
        self.ingress.process_pending()
        for session in self.state.opened():
            if session.is_closing:
                continue
            if self.time_ms >= session.last_activity + timeout:
                session.begin_close(CloseReason.TIMEOUT)
            elif session.is_new_leader_event_pending:
                session.is_new_leader_event_pending = False
                self._send(
                    session.response_channel,
                    NewLeaderEvent(
                        self.ingress.leadership_term_id,
                        session.id,
                        self._settings.member_id,
                        self._settings.ingress_endpoints,
                    ),
                )

    def _check_toggle(self) -> None:
        control = self.control
        if control.toggle is ControlToggle.ABORT:
            if self.is_active:
                self.state.control_state = ModuleControlState.TERMINATING
                self.termination_is_requested = True
            return
        resumes = control.toggle is ControlToggle.RESUME and self._action is None
        if resumes and self.is_active:
            control.toggle = ControlToggle.NEUTRAL  # Otherwise no other action is possible.
        found = ACTION_OF.get(control.toggle)
        if found is not None and self.state.control_state is found[0] and self._next is None:
            self._action = control.toggle

    def _request_snapshot(self) -> tuple[AdminResponseCode, str]:
        """Request a snapshot for a client. Return the answer to the client."""
        if self.control.set_toggle(ControlToggle.SNAPSHOT):
            return AdminResponseCode.OK, ""
        return AdminResponseCode.ERROR, f"the control toggle is {self.control.toggle.name}"

    def on_ingress(self, message: Ingress) -> None:
        """Receive a message of a client."""
        self.ingress.on_message(message, self.time_ms)

    def _on_service_egress(self, session_id: int, payload: bytes) -> None:
        session = self.state.sessions.get(session_id)
        if session is not None:
            term = self.ingress.leadership_term_id
            message = SessionMessageHeader(term, session_id, self.time_ms, payload)
            self._send(session.response_channel, message)

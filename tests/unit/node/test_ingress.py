"""Clients at a member: redirected, rejected, accepted, and served in their term."""

from __future__ import annotations

from canvass.log.entries import SessionMessageHeader, SessionOpenEvent
from canvass.node.consensus_module import MAX_SESSIONS, MAX_WAITING, ClientIngress
from canvass.node.module_state import ReplicatedState
from canvass.transport.messages import (
    PROTOCOL_VERSION,
    AdminRequest,
    AdminRequestType,
    AdminResponse,
    AdminResponseCode,
    Egress,
    EventCode,
    SessionCloseRequest,
    SessionConnectRequest,
    SessionEvent,
    SessionKeepAlive,
    parse_endpoints,
)

ENDPOINTS = "0=127.0.0.1:1,1=127.0.0.1:2"


class Desk:
    """An ingress with what it has sent."""

    def __init__(self, *, leads: bool = True) -> None:
        self.sent: list[tuple[str, Egress]] = []
        self.state = ReplicatedState(0)
        self.ingress = ClientIngress(
            0,
            ENDPOINTS,
            self.state,
            lambda channel, message: self.sent.append((channel, message)),
            lambda: (AdminResponseCode.OK, "done"),
        )
        self.ingress.leads = leads
        self.ingress.leader_member_id, self.ingress.leadership_term_id = (0 if leads else 1), 5

    def connect(self, name: str, version: int = PROTOCOL_VERSION) -> None:
        self.ingress.on_message(SessionConnectRequest(7, 1, version, name, name.encode()), 0)
        self.tick()

    def tick(self) -> None:
        """Do the slow tick work of two cycles: the second one sends what the first refused."""
        if self.ingress.leads:
            self.ingress.process_pending()
        self.ingress.notify_refused()

    def open(self, name: str) -> int:
        """Let a client in, as the consensus module does."""
        self.connect(name)
        pending = self.ingress.next_admitted()
        assert pending is not None
        event = SessionOpenEvent(5, 7, pending.id, 0, 1, name, pending.request.encoded_credentials)
        self.state.apply(event)
        self.ingress.opened(pending.id)
        return pending.id

    def codes(self) -> list[EventCode]:
        return [message.code for _, message in self.sent if isinstance(message, SessionEvent)]


def test_a_follower_names_the_leader() -> None:
    desk = Desk(leads=False)
    desk.connect("client:1")
    ((channel, event),) = desk.sent

    assert isinstance(event, SessionEvent)
    assert (channel, event.code, event.leader_member_id) == ("client:1", EventCode.REDIRECT, 1)
    assert parse_endpoints(event.detail) == {0: "127.0.0.1:1", 1: "127.0.0.1:2"}
    assert desk.ingress.next_admitted() is None


def test_a_client_is_reported_when_its_session_is_in_the_log() -> None:
    desk = Desk()
    desk.connect("client:1")
    assert desk.sent == []
    session_id = desk.open("client:1")
    ((_, event),) = desk.sent

    assert event == SessionEvent(session_id, 7, 5, 0, EventCode.OK, PROTOCOL_VERSION, "")


def test_a_repeated_connect_request_opens_no_second_session() -> None:
    desk = Desk()
    for _ in range(3):
        desk.connect("client:1")
    desk.open("client:1")
    desk.connect("client:1")

    assert desk.codes() == [EventCode.OK, EventCode.OK]
    assert len(desk.state.sessions) == 1


def test_redirections_and_rejections_are_sent_in_the_slow_tick() -> None:
    follower, leader = Desk(leads=False), Desk()
    follower.ingress.on_message(SessionConnectRequest(7, 1, PROTOCOL_VERSION, "a", b""), 0)
    leader.ingress.on_message(SessionConnectRequest(7, 1, 2 << 16, "b", b""), 0)
    leader.ingress.on_message(SessionConnectRequest(8, 1, PROTOCOL_VERSION, "c", b""), 0)

    assert (follower.sent, leader.sent, leader.ingress.next_admitted()) == ([], [], None)
    follower.tick()
    leader.tick()
    assert (follower.codes(), leader.codes()) == ([EventCode.REDIRECT], [EventCode.ERROR])
    assert leader.ingress.next_admitted() is not None


def test_another_major_version_is_an_error() -> None:
    desk = Desk()
    desk.connect("client:1", version=2 << 16)

    assert desk.codes() == [EventCode.ERROR]


def test_the_number_of_sessions_is_limited() -> None:
    desk = Desk()
    for number in range(MAX_SESSIONS):
        desk.open(f"client:{number}")
    desk.sent.clear()
    desk.connect("one more")

    assert desk.codes() == [EventCode.ERROR]


def test_messages_of_open_sessions_in_the_term_are_queued_in_order() -> None:
    desk = Desk()
    session_id = desk.open("client:1")
    for term, session, payload in (
        (5, session_id, b"first"),
        (4, session_id, b"of an older term"),
        (5, 99, b"of nobody"),
        (5, session_id, b"second"),
    ):
        desk.ingress.on_message(SessionMessageHeader(term, session, 0, payload), 0)

    taken = [m.payload for m in desk.ingress.messages if isinstance(m, SessionMessageHeader)]
    assert taken == [b"first", b"second"]


def test_the_number_of_waiting_messages_is_limited() -> None:
    desk = Desk()
    session_id = desk.open("client:1")
    for _ in range(MAX_WAITING + 5):
        desk.ingress.on_message(SessionMessageHeader(5, session_id, 0, b""), 0)

    assert len(desk.ingress.messages) == MAX_WAITING


def test_a_session_is_kept_alive_by_its_client() -> None:
    desk = Desk()
    session = desk.state.sessions[desk.open("client:1")]
    desk.ingress.on_message(SessionKeepAlive(5, session.id), 70)

    assert session.last_activity == 70


def test_a_close_waits_behind_earlier_messages_of_its_client() -> None:
    desk = Desk()
    session = desk.state.sessions[desk.open("client:1")]
    message, close = SessionMessageHeader(5, session.id, 0, b""), SessionCloseRequest(5, session.id)
    desk.ingress.on_message(message, 0)
    desk.ingress.on_message(close, 0)

    assert list(desk.ingress.messages) == [message, close]
    assert not session.is_closing


def test_an_admin_request_is_answered_in_an_open_session_of_the_term() -> None:
    desk = Desk()
    session = desk.open("ada")
    desk.sent.clear()
    snapshot = AdminRequestType.SNAPSHOT
    for term, key in ((4, session), (5, session + 1), (5, session)):
        desk.ingress.on_message(AdminRequest(term, key, 30 + term, snapshot, b""), 0)

    ok = AdminResponseCode.OK
    assert desk.sent == [("ada", AdminResponse(session, 35, snapshot, ok, "done", b""))]


def test_an_election_clears_messages_that_are_not_in_the_log() -> None:
    desk = Desk()
    session_id = desk.open("client:1")
    desk.ingress.on_message(SessionMessageHeader(5, session_id, 0, b"x"), 0)
    desk.connect("client:2")
    desk.ingress.clear()

    assert (len(desk.ingress.messages), desk.ingress.next_admitted()) == (0, None)
    desk.connect("client:3")
    assert desk.codes()[-1] is EventCode.REDIRECT

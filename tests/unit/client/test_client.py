"""A client finds the leader, follows it, and offers unanswered requests again."""

from __future__ import annotations

from canvass.client.client import ClientSettings, ClusterClient
from canvass.log.entries import SessionMessageHeader
from canvass.services.service import REQUEST, WINDOW
from canvass.transport.messages import (
    EventCode,
    Ingress,
    NewLeaderEvent,
    SessionCloseRequest,
    SessionConnectRequest,
    SessionEvent,
    SessionKeepAlive,
    format_endpoints,
)

ENDPOINTS = {0: "a:1", 1: "b:1", 2: "c:1"}


class World:
    """A client with what it has sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Ingress]] = []
        self.client = ClusterClient(
            ClientSettings(7, "client:1", b"who"),
            ENDPOINTS,
            lambda endpoint, message: self.sent.append((endpoint, message)),
        )
        self.client.work(0)

    @property
    def state(self) -> str:
        return self.client.state.value

    def take(self) -> list[tuple[str, Ingress]]:
        found, self.sent = self.sent, []
        return found

    def event(self, code: EventCode, session: int = -1, leader: int = 1, detail: str = "") -> None:
        correlation = self.client._correlation_id
        self.client.on_egress(SessionEvent(session, correlation, 5, leader, code, 1, detail))

    def opened(self) -> World:
        self.event(EventCode.OK, session=9)
        self.take()
        return self

    def answer(self, number: int, body: bytes = b"done") -> None:
        payload = REQUEST.pack(7, number) + body
        self.client.on_egress(SessionMessageHeader(5, 9, 0, payload))


def offers(sent: list[tuple[str, Ingress]]) -> list[tuple[str, int]]:
    return [
        (endpoint, REQUEST.unpack_from(message.payload)[1])
        for endpoint, message in sent
        if isinstance(message, SessionMessageHeader)
    ]


def test_members_are_asked_in_turn_until_one_answers() -> None:
    world = World()
    for now_ms in (100, 500, 1_000, 1_500):
        world.client.work(now_ms)
    asked = [(endpoint, type(message)) for endpoint, message in world.take()]

    assert asked == [(one, SessionConnectRequest) for one in ("a:1", "b:1", "c:1", "a:1")]


def test_a_rejected_client_knows_the_reason_and_asks_again() -> None:
    world = World()
    world.event(EventCode.ERROR, detail="there are too many sessions")
    world.take()
    world.client.work(1_000)

    assert (world.state, len(world.take())) == ("CONNECTING", 1)
    assert world.client.closed_reason == "there are too many sessions"


def test_a_redirect_is_followed() -> None:
    world = World()
    world.take()
    moved = {2: "d:7"}
    world.event(EventCode.REDIRECT, leader=2, detail=format_endpoints(moved))

    assert [endpoint for endpoint, _ in world.take()] == ["d:7"]


def test_earlier_offers_are_sent_when_the_session_opens() -> None:
    world = World()
    world.take()
    assert [world.client.offer(b"x"), world.client.offer(b"y")] == [1, 2]
    assert world.take() == []
    world.event(EventCode.OK, session=9)

    assert offers(world.take()) == [("b:1", 1), ("b:1", 2)]
    assert world.state == "OPEN"


def test_an_answer_counts_once() -> None:
    world = World().opened()
    world.client.offer(b"x")
    world.answer(1)
    world.answer(1)

    assert dict(world.client.answers) == {1: b"done"}
    assert world.client.unanswered_count == 0


def test_an_unanswered_request_is_offered_again() -> None:
    world = World().opened()
    for _ in range(2):
        world.client.offer(b"x")
    world.answer(1)
    world.take()
    world.client.work(499)
    assert offers(world.take()) == []
    world.client.work(500)

    assert offers(world.take()) == [("b:1", 2)]


def test_unanswered_requests_are_offered_to_a_new_leader() -> None:
    world = World().opened()
    world.client.offer(b"x")
    world.take()
    world.client.on_egress(NewLeaderEvent(6, 9, 2, format_endpoints(ENDPOINTS)))
    assert offers(world.take()) == [("c:1", 1)]
    world.client.on_egress(NewLeaderEvent(5, 9, 0, format_endpoints(ENDPOINTS)))
    world.client.on_egress(NewLeaderEvent(7, 1, 0, format_endpoints(ENDPOINTS)))

    assert world.client.leader_member_id == 2


def test_a_closed_session_is_opened_again() -> None:
    world = World().opened()
    world.event(EventCode.CLOSED, session=9, detail="TIMEOUT")

    assert world.state == "CONNECTING"
    assert [type(message) for _, message in world.take()] == [SessionConnectRequest]


def test_silence_after_a_request_opens_another_session() -> None:
    world = World().opened()
    world.client.work(4_900)
    assert world.state == "OPEN"
    world.client.offer(b"x")
    world.client.work(9_899)
    assert world.state == "OPEN"
    world.client.work(9_900)

    assert world.state == "CONNECTING"


def test_a_session_is_kept_alive() -> None:
    world = World().opened()
    for now_ms in (999, 1_000, 1_500, 2_000):
        world.client.work(now_ms)

    assert [message for _, message in world.take()] == [SessionKeepAlive(5, 9)] * 2


def test_the_number_of_open_requests_is_limited() -> None:
    world = World().opened()
    for _ in range(WINDOW):
        assert world.client.offer(b"x") > 0
    for number in range(2, WINDOW + 1):
        world.answer(number)
    assert world.client.offer(b"x") == -1
    world.answer(1)

    assert world.client.offer(b"x") == WINDOW + 1


def test_closing_is_reported_to_the_leader() -> None:
    world = World().opened()
    world.client.close()

    assert [message for _, message in world.take()] == [SessionCloseRequest(5, 9)]
    assert world.state == "CLOSED"

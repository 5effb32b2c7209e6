"""Requests that are offered again are applied once; the counter; what is kept of clients."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canvass.services.service import REQUEST, WINDOW, Counter, ExactlyOnce
from support.client_sink import SESSION, Sink


def counter() -> tuple[ExactlyOnce, Sink]:
    service, sink = Counter(), Sink()
    service.on_start(sink, None)
    return service, sink


def offer(service: ExactlyOnce, number: int, client: int = 7, body: bytes = b"add 1") -> None:
    service.on_session_message(SESSION, 0, REQUEST.pack(client, number) + body)


def test_a_repeated_request_gets_the_first_answer() -> None:
    service, sink = counter()
    for number in (1, 2, 1, 2, 2, 3):
        offer(service, number)

    assert [data[REQUEST.size :] for data in sink.sent] == [b"1", b"2", b"1", b"2", b"2", b"3"]


def test_a_request_waits_for_the_one_before() -> None:
    service, sink = counter()
    for number in (2, 3, 1, 2, 3):
        offer(service, number, body=b"add %d" % 10**number)

    assert [data[REQUEST.size :] for data in sink.sent] == [b"10", b"110", b"1110"]


def test_requests_of_different_clients_are_independent() -> None:
    service, sink = counter()
    offer(service, 1, client=1)
    offer(service, 1, client=2)

    assert [data[REQUEST.size :] for data in sink.sent] == [b"1", b"2"]


@given(st.lists(st.integers(1, WINDOW), max_size=200), st.integers(0, 200))
def test_the_snapshot_has_the_state_of_clients(numbers: list[int], cut: int) -> None:
    service, sink = counter()
    restored, restored_sink = counter()
    for place, number in enumerate(numbers):
        if place == cut:
            restored.on_start(restored_sink, service.on_take_snapshot())
            sink.sent.clear()
        offer(service, number)
        if place >= cut:
            offer(restored, number)

    if len(numbers) > cut:
        assert restored_sink.sent == sink.sent
        assert restored.on_take_snapshot() == service.on_take_snapshot()


def test_answers_are_kept_within_the_window() -> None:
    service, sink = counter()
    for number in range(1, WINDOW + 2):
        offer(service, number)
    sink.sent.clear()
    offer(service, 1)
    offer(service, 2)

    assert [data[REQUEST.size :] for data in sink.sent] == [b"2"]


def test_the_client_that_was_idle_longest_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("canvass.services.service.MAX_CLIENTS", 2)
    service, sink = counter()
    for client, number in ((1, 1), (2, 1), (1, 2), (3, 1)):
        offer(service, number, client)
    sink.sent.clear()
    offer(service, 2, client=1)
    offer(service, 1, client=2)

    reported = [(REQUEST.unpack_from(data)[0], data[REQUEST.size :]) for data in sink.sent]
    assert reported == [(1, b"3"), (2, b"5")]  # Of client 2 nothing is known: it is a new one.


def test_a_message_that_is_not_a_request_is_ignored() -> None:
    service, sink = counter()
    service.on_session_message(SESSION, 0, b"short")
    service.on_session_message(None, 0, REQUEST.pack(1, 1) + b"add 1")

    assert sink.sent == []


@pytest.mark.parametrize("request_", [b"add", b"add x", b"what", b"", b"add 1 2"])
def test_the_counter_refuses_unknown_requests(request_: bytes) -> None:
    one = Counter()

    assert one.apply(request_).startswith(b"error: ")
    assert one.apply(b"get") == b"0"

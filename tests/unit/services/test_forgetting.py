"""`ExactlyOnce` keeps a limited state of clients, and drops the oldest."""

from __future__ import annotations

import pytest

from canvass.services.service import REQUEST, WINDOW, Counter, ExactlyOnce
from support.client_sink import SESSION, Sink


def started() -> tuple[ExactlyOnce, Sink]:
    service, sink = Counter(), Sink()
    service.on_start(sink, None)
    return service, sink


def offer(service: ExactlyOnce, client: int, number: int) -> None:
    service.on_session_message(SESSION, 0, REQUEST.pack(client, number) + b"add 1")


def test_answers_are_kept_within_the_window() -> None:
    service, sink = started()
    for number in range(1, WINDOW + 2):
        offer(service, 7, number)
    sink.sent.clear()
    offer(service, 7, 1)
    offer(service, 7, 2)

    assert [data[REQUEST.size :] for data in sink.sent] == [b"2"]


def test_the_client_that_was_idle_longest_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("canvass.services.service.MAX_CLIENTS", 2)
    service, sink = started()
    for client, number in ((1, 1), (2, 1), (1, 2), (3, 1)):
        offer(service, client, number)
    sink.sent.clear()
    offer(service, 1, 2)
    offer(service, 2, 1)

    reported = [(REQUEST.unpack_from(data)[0], data[REQUEST.size :]) for data in sink.sent]
    assert reported == [(1, b"3"), (2, b"5")]  # Of client 2 nothing is known: it is a new one.

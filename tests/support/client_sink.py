"""A cluster for a service under test; it keeps the messages to its client."""

from __future__ import annotations

from canvass.services.service import ClientSession

SESSION = ClientSession(4, 1, "client:1", b"")


class Sink:
    """A cluster that keeps the messages to clients."""

    log_position = 0

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def offer(self, cluster_session_id: int, payload: bytes) -> None:
        assert cluster_session_id == SESSION.id
        self.sent.append(payload)

    def offer_to_log(self, payload: bytes) -> None:
        raise AssertionError(payload)

    def schedule_timer(self, correlation_id: int, deadline: int) -> None:
        raise AssertionError(correlation_id, deadline)

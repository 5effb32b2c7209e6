"""Effects that a new leader or a replay finds in the log are not repeated."""

from __future__ import annotations

from canvass.log.entries import SessionOpenEvent
from canvass.node.module_state import PendingServiceMessageTracker, first_session_id
from canvass.node.sessions import Sessions


def test_session_ids_that_are_not_in_the_log_are_used_again() -> None:
    sessions = Sessions()
    for position in (64, 128):
        number = sessions.allocate_id()
        opened = SessionOpenEvent(0, 7, number, 5, 1, "client:1", b"who")
        sessions.on_append_open(position, opened)
    gone = sessions.roll_back(64)

    assert [session.id for session in gone] == [2]
    assert sessions.allocate_id() == 2


def test_a_message_in_the_log_is_not_offered_again() -> None:
    """A service that replays the log offers the same messages again."""
    tracker = PendingServiceMessageTracker(0)
    first = first_session_id(0) + 1
    tracker.on_replay(first)
    for payload in (b"one", b"two"):
        tracker.enqueue(payload)

    assert [(one.session_id, one.payload) for one in tracker.pending()] == [(first + 1, b"two")]

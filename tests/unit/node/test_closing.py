"""The position in the log of a session's end that its client requests."""

from __future__ import annotations

from canvass.archive.memory import MemoryStorage
from canvass.log import entries
from canvass.log.entries import SessionCloseEvent, SessionMessageHeader
from canvass.services.service import REQUEST
from canvass.transport.messages import EventCode, SessionCloseRequest, SessionEvent
from support.alone import Alone


def test_messages_sent_before_a_close_are_appended_before_it() -> None:
    """Both arrive within one cycle, in the client's order. Later messages are dropped."""
    alone = Alone(MemoryStorage())
    session = alone.connect()
    recording = alone.node.archive.recording
    end, term = recording.end, alone.node.member.module_leadership_term_id
    payload = REQUEST.pack(1, 1) + b"add 1"
    message = SessionMessageHeader(term, session, 0, payload)
    for one in (message, SessionCloseRequest(term, session), message):
        alone.node.on_ingress(one)
    alone.work()
    written = [entries.decode(one.payload) for one in recording.replay(end, recording.end)]

    assert [type(one) for one in written] == [SessionMessageHeader, SessionCloseEvent]
    (event,) = [one for one in alone.sent[-1:] if isinstance(one, SessionEvent)]
    assert (event.code, event.detail) == (EventCode.CLOSED, "CLIENT_ACTION")

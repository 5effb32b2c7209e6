"""The quick way to the trace format makes what the ordinary one makes."""

from __future__ import annotations

from canvass.traces.aeron_import.events import events_of, message_id
from canvass.traces.schema import to_wire_input, to_wire_member, to_wire_message
from support.aeron_runs import captures, imported


def test_events_are_those_of_the_schema() -> None:
    found = imported(captures()[0])
    for proposal in found.proposals.values():
        for step, event in zip(proposal.steps, events_of(proposal), strict=True):
            given, delivery = step.given, step.delivery
            expected = (
                to_wire_input(given)
                if delivery is None
                else to_wire_input(given, delivery.sender, message_id(delivery))
            )

            assert to_wire_member(step.state) == event.state
            assert expected == event.input
            assert [to_wire_message(message) for _, message in step.sends] == [
                send.message for send in event.sends
            ]

"""The events of a run that proposed steps make, in order.

Nothing here judges a step, or writes one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from canvass.cluster.messages import NULL_VALUE
from canvass.traces.actions import Action
from canvass.traces.aeron_import.channels import Delivery
from canvass.traces.aeron_import.evidence import MemberEvidence
from canvass.traces.aeron_import.proposal import Proposal
from canvass.traces.aeron_import.step import Step
from canvass.traces.schema import Event, Input, Send, Source
from canvass.traces.wire_form import WireForm

_UNSENT: Final = 0
"""The running number of a message that nobody sent: those that are sent are counted from 1. With a
number beyond all others the stream of its sender would seem to have been cut.
"""

_ACTIONS: Final = {action.value: action for action in Action}


def events_of(proposal: Proposal) -> list[Event]:
    """The events of a proposal, in order; a number is left out where something is missing."""
    return list(iter_events(proposal))


def iter_events(proposal: Proposal) -> Iterator[Event]:
    """The events of a proposal one by one: all of them at once take much memory."""
    member_id, evidence = proposal.member_id, proposal.evidence
    offset = evidence.offset_ns
    form = WireForm()
    number, latest = -1, proposal.steps[0].time if proposal.steps else 0
    for step in proposal.steps:
        number += 2 if step.gap else 1
        if step.time > latest:
            latest = step.time
        sends: tuple[Send, ...] = ()
        if step.sends:
            numbered = enumerate(step.sends, step.first)
            sends = tuple(
                [Send(to, f"{member_id}:{k}", form.message(m)) for k, (to, m) in numbered]
            )
        yield Event(
            number,
            latest - offset,
            _ACTIONS[step.action],
            _input_of(step, form),
            sends,
            form.member(step.state),
            (),
            _source_of(step, evidence, form) if step.lines else None,
        )


def _input_of(step: Step, form: WireForm) -> Input:
    """The input of a step, with the id of the message that it consumes."""
    given, delivery = step.given, step.delivery
    if given.message is None:
        return form.input(given)
    if delivery is None:
        return form.input(given, NULL_VALUE, "")
    return form.input(given, delivery.sender, message_id(delivery))


def message_id(delivery: Delivery) -> str:
    """The id of the message that was received."""
    number = delivery.number if delivery.number >= 0 else _UNSENT
    return f"{delivery.sender}:{number}"


def _source_of(step: Step, evidence: MemberEvidence, form: WireForm) -> Source:
    found, lines = evidence.records, step.lines
    first = found[lines[0]]
    numbers: tuple[int, ...] = (first.line,)
    if len(lines) > 1:
        numbers = tuple([found[index].line for index in sorted(lines)])
    return Source(evidence.files[first.file], numbers, form.names(step.observed))

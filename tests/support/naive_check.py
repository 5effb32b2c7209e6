"""A naive check whether a whole run is a behaviour: event by event, without the checker's code.

Each step must be the core's step from the state before it. Each message that is received must have
been sent to the member with the same contents, must be received once, and in the order in which its
sender's process sent it. Logs are not compared.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from canvass.cluster import core
from canvass.cluster.member import new_member
from canvass.traces.schema import Event, Run, Send, to_core_input

_EVENTS = msgspec.json.Decoder(Event)
_Sent = tuple[int, int, tuple[int, int], Send]
"""The sender, the number of its process, step and place of a send, and the send."""


def first_fault(folder: Path) -> str:
    """Describe the first fault of a run with plain streams and empty disks; empty without one."""
    run = msgspec.json.decode((folder / "run.json").read_bytes(), type=Run)
    streams = {
        int(path.stem.removeprefix("member-")): list(map(_EVENTS.decode, lines(path)))
        for path in sorted(folder.glob("member-*.ndjson"))
    }
    if sorted(streams) != list(range(run.member_count)):
        return "a stream is missing"
    sent: dict[str, list[_Sent]] = {}
    for member, events in streams.items():
        process = 0
        for event in events:
            process += event.action.value == "Restart"
            for place, send in enumerate(event.sends):
                at = event.step, place
                sent.setdefault(send.id, []).append((member, process, at, send))
    faults = (_fault_of(run, member, events, sent) for member, events in streams.items())
    return next(filter(None, faults), "")


def lines(path: Path) -> list[bytes]:
    """The lines of a stream."""
    return path.read_bytes().splitlines()


def _fault_of(run: Run, member: int, events: list[Event], sent: dict[str, list[_Sent]]) -> str:
    before = new_member(run.member_count)
    last: dict[tuple[int, int], tuple[int, int]] = {}
    for number, event in enumerate(events):
        where = f"{member}:{event.step} {event.action.value}"
        if event.step != number:
            return f"{where}: a step is missing"
        given = to_core_input(event.input)
        outcome = core.step(run.rules, member, before, event.action.value, given)
        if outcome is None or outcome.next != event.state:
            return f"{where}: not a step of the core"
        due = sorted(((s.to, s.message) for s in outcome.sends), key=lambda send: send[0])
        if due != sorted(((s.to, s.message) for s in event.sends), key=lambda send: send[0]):
            return f"{where}: other messages are sent"
        before = event.state
        if event.input.message is None:
            continue
        found = next(
            (
                one
                for one in sent.get(event.input.id, [])
                if (one[0], one[3].to, one[3].message)
                == (event.input.from_, member, event.input.message)
            ),
            None,
        )
        if found is None:
            return f"{where}: nobody sent that message"
        sender, process, at, _ = found
        if last.get((sender, process), (-1, -1)) >= at:
            return f"{where}: the message came before, or was overtaken"
        sent[event.input.id].remove(found)
        last[sender, process] = at
    return ""

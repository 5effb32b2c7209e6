"""A recorded run in memory: its events, their lines, and what the core says of its steps.

Runs are changed by `canvass.selftest.corruptions`; nothing here knows how.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from canvass.cluster import core
from canvass.cluster.member import Member, new_member
from canvass.cluster.rules import Rules
from canvass.conformance.steps import rules_of
from canvass.traces.schema import (
    Event,
    Run,
    encode,
    to_core_input,
)

_EVENTS: Final = msgspec.json.Decoder(Event)
Lines = dict[int, list[bytes]]
"""The lines of each member's stream, without ends of line."""


@dataclass(slots=True)
class RecordedRun:
    """A run whose members start with empty disks."""

    run: Run
    streams: Mapping[int, Sequence[Event]]
    lines: Mapping[int, Sequence[bytes]]
    rules: Rules
    receivers: Mapping[str, tuple[int, int]]
    """For the id of each message that was received: by whom, and in which step."""
    _states: dict[tuple[int, int], Member] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> RecordedRun:
        """Read a run of plain streams."""
        run = msgspec.json.decode((folder / "run.json").read_bytes(), type=Run)
        lines = {
            member: (folder / f"member-{member}.ndjson").read_bytes().splitlines()
            for member in range(run.member_count)
        }
        streams = {member: [_EVENTS.decode(line) for line in own] for member, own in lines.items()}
        receivers = {
            event.input.id: (member, event.step)
            for member, events in streams.items()
            for event in events
            if event.input.id
        }
        return cls(run, streams, lines, rules_of(run), receivers)

    def state_after(self, member: int, step: int) -> Member:
        """Give the state after a step; before all steps, that of a member with empty disks."""
        if step < 0:
            return new_member(self.run.member_count)
        key = member, step
        if key not in self._states:
            self._states[key] = self.streams[member][step].state
        return self._states[key]

    def allows(self, member: int, before: Member, event: Event) -> bool:
        """Say whether the core takes the step from a state; receivers have no order."""
        given = to_core_input(event.input)
        outcome = core.step(self.rules, member, before, event.action.value, given)
        if outcome is None or outcome.next != event.state:
            return False
        asked = sorted(((s.to, s.message) for s in outcome.sends), key=lambda send: send[0])
        sent = [(send.to, send.message) for send in event.sends]
        return asked == sorted(sent, key=lambda send: send[0])

    def is_heard(self, event: Event) -> bool:
        """Say whether somebody received a message that the step sent."""
        return any(send.id in self.receivers for send in event.sends)

    def with_stream(self, member: int, events: Sequence[Event]) -> Lines:
        """Give the lines with other events of a member, numbered anew."""
        lines = {j: list(own) for j, own in self.lines.items()}
        numbered = (
            event if event.step == step else msgspec.structs.replace(event, step=step)
            for step, event in enumerate(events)
        )
        known = self.streams[member]
        lines[member] = [
            lines[member][event.step]
            if event.step < len(known) and event is known[event.step]
            else encode(event)
            for event in numbered
        ]
        return lines

    def with_event(self, member: int, step: int, event: Event) -> Lines:
        """Give the lines with another event."""
        lines = {j: list(own) for j, own in self.lines.items()}
        lines[member][step] = encode(event)
        return lines

    def write(self, folder: Path, run_id: str, lines: Lines) -> None:
        """Write a run with these lines and this id."""
        folder.mkdir(parents=True)
        run = msgspec.structs.replace(self.run, run_id=run_id)
        (folder / "run.json").write_bytes(encode(run) + b"\n")
        for member, own in lines.items():
            (folder / f"member-{member}.ndjson").write_bytes(b"".join(s + b"\n" for s in own))

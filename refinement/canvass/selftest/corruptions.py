"""Corruptions of recorded runs, each with the verdict that the checker must give.

A corruption changes a good run at a random place. The result counts only if it is certainly wrong:
the core does not allow one of its steps, or a received message was never sent. A changed run that
may still be a behaviour is `MayConform` and does not count: two swapped steps may commute, and a
removed step may have had no effect.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from canvass.cluster.member import Member, new_member
from canvass.cluster.messages import Message
from canvass.cluster.rules import Rules
from canvass.conformance.diagnose import core_allows
from canvass.conformance.findings import MESSAGE_CAUSALITY, DivergenceClass, RunVerdict, Verdict
from canvass.steps.step import Step
from canvass.traces.run import RunFolder, write_run
from canvass.traces.schema import Event, Run, encode, to_core_input

Streams = dict[int, list[Event | bytes]]
"""The events of each member's stream; or bytes, a line that is no event."""


@dataclass(slots=True)
class RecordedRun:
    """A run whose members start with empty disks."""

    run: Run
    streams: Mapping[int, Sequence[Event]]
    rules: Rules
    receivers: Mapping[str, tuple[int, int]]
    """For the id of each received message: the receiver and its step."""

    @classmethod
    def read(cls, folder: Path) -> RecordedRun:
        """Read a run of plain streams."""
        found = RunFolder(folder).load()
        receivers = {
            event.input.id: (member, event.step)
            for member, events in found.events.items()
            for event in events
            if event.input.id
        }
        return cls(found.run, found.events, found.run.rules, receivers)

    def state_after(self, member: int, step: int) -> Member:
        """Give the state after a step; for a negative ``step``, the state on an empty disk."""
        if step < 0:
            return new_member(self.run.member_count)
        return self.streams[member][step].state

    def allows(self, member: int, before: Member, event: Event) -> bool:
        """Tell whether the core takes the step from ``before``."""
        sends = tuple((send.to, send.message) for send in event.sends)
        given = to_core_input(event.input)
        step = Step(member, before, event.action, given, event.state, sends)
        return core_allows(self.rules, step)

    def is_received(self, event: Event) -> bool:
        """Tell whether a member received a message that the step sent."""
        return any(send.id in self.receivers for send in event.sends)

    def sends_after(self, member: int, step: int) -> bool:
        """Tell whether a later step of the member sends, so that its stream does not end before."""
        return any(event.sends for event in self.streams[member][step + 1 :])

    def copy(self) -> Streams:
        """Give the streams as they are."""
        return {member: list(own) for member, own in self.streams.items()}

    def with_stream(self, member: int, events: Sequence[Event]) -> Streams:
        """Give the streams with these events of ``member``, whose steps are renumbered."""
        numbered = [replace(event, step=step) for step, event in enumerate(events)]
        return {**self.copy(), member: [*numbered]}

    def with_event(self, member: int, step: int, event: Event | bytes) -> Streams:
        """Give the streams with ``event`` at a step of ``member``."""
        streams = self.copy()
        streams[member][step] = event
        return streams

    def write(self, folder: Path, run_id: str, streams: Streams) -> None:
        """Write a run with these streams and this id."""
        write_run(replace(self.run, run_id=run_id), streams, folder)


STEP: Final = DivergenceClass.IMPLEMENTATION_STEP
CAUSALITY: Final = DivergenceClass.CAUSALITY
SAFETY: Final = DivergenceClass.SAFETY_PROPERTY
GAP: Final = DivergenceClass.INSTRUMENTATION_GAP
WRONG_STEP: Final = frozenset({STEP, GAP})
_WON: Final = "LEADER_LOG_REPLICATION"
"""The state that the winner of a ballot enters."""
_NUMBERS: Final = tuple(name for name, kind in Member.__annotations__.items() if kind == "Int64")


@dataclass(frozen=True, slots=True)
class Corrupted:
    """The streams of a wrong run, and the verdict that it must get."""

    streams: Streams
    verdict: Verdict = Verdict.DIVERGES
    classes: frozenset[DivergenceClass] = frozenset()
    """At least one divergence must be of one of these classes."""
    member: int = -1
    """The member of that divergence; -1 if any member will do."""
    step: int = -1
    """The step of that divergence; -1 if any step will do."""
    names: frozenset[str] = frozenset()
    """The names that the divergence may have; empty if any name will do."""

    def is_found(self, verdict: RunVerdict) -> bool:
        """Tell whether a verdict is the expected one."""
        if verdict.verdict is not self.verdict:
            return False
        return self.verdict is not Verdict.DIVERGES or any(
            each.kind in self.classes
            and (self.member < 0 or each.member == self.member)
            and (self.step < 0 or each.step == self.step)
            and (not self.names or each.name in self.names)
            for each in verdict.divergences
        )


@dataclass(frozen=True, slots=True)
class MayConform:
    """The changed run may be a behaviour of the spec."""


Result = Corrupted | MayConform | None
"""None if the corruption cannot be applied at the drawn place."""
Corruption = Callable[[RecordedRun, random.Random], Result]


def _any_event(good: RecordedRun, rng: random.Random, first: int = 0) -> tuple[int, int, Event]:
    member = rng.randrange(good.run.member_count)
    step = rng.randrange(first, len(good.streams[member]))
    return member, step, good.streams[member][step]


def _wrong_step(good: RecordedRun, member: int, event: Event, before: int) -> Result:
    """Expect a wrong step if the core does not take ``event`` after the step ``before``."""
    if good.allows(member, good.state_after(member, before), event):
        return MayConform()
    streams = good.with_event(member, event.step, event)
    return Corrupted(streams, classes=WRONG_STEP, member=member, step=event.step)


def field_changed(good: RecordedRun, rng: random.Random) -> Result:
    """A number in the state of one step is changed."""
    member, step, event = _any_event(good, rng)
    name = rng.choice(_NUMBERS)
    change: dict[str, Any] = {name: getattr(event.state, name) + rng.choice((1, 2, 32, 1000))}
    changed = replace(event, state=replace(event.state, **change))
    return _wrong_step(good, member, changed, step - 1)


def election_state_changed(good: RecordedRun, rng: random.Random) -> Result:
    """The election state of one step is changed."""
    member, step, event = _any_event(good, rng)
    others = [
        name for name in ("CANVASS", "NOMINATE", "CLOSED") if name != event.state.election_state
    ]
    state = replace(
        event.state, election_state=type(event.state.election_state)(rng.choice(others))
    )
    return _wrong_step(good, member, replace(event, state=state), step - 1)


def event_dropped(good: RecordedRun, rng: random.Random) -> Result:
    """A line is removed, which leaves a gap in the step numbers."""
    member, step, _ = _any_event(good, rng)
    if step == len(good.streams[member]) - 1:
        return None
    streams = good.copy()
    del streams[member][step]
    return Corrupted(streams, Verdict.INCOMPLETE)


def event_dropped_unseen(good: RecordedRun, rng: random.Random) -> Result:
    """A step is removed, and the later steps are renumbered."""
    member, step, event = _any_event(good, rng)
    events = list(good.streams[member])
    if step == len(events) - 1:
        return None
    legal = good.allows(member, good.state_after(member, step - 1), events[step + 1])
    streams = good.with_stream(member, events[:step] + events[step + 1 :])
    if good.is_received(event) and good.sends_after(member, step):
        return Corrupted(streams, classes=frozenset({CAUSALITY}))
    if not legal:
        return Corrupted(streams, classes=WRONG_STEP, member=member, step=step)
    # No later number is left, so the stream seems to end before the message was sent.
    return Corrupted(streams, Verdict.INCOMPLETE) if good.is_received(event) else MayConform()


def events_swapped(good: RecordedRun, rng: random.Random) -> Result:
    """Two consecutive steps are swapped."""
    member, step, second = _any_event(good, rng, 1)
    events = list(good.streams[member])
    first = events[step - 1]
    before = good.state_after(member, step - 2)
    moved = good.state_after(member, step)
    if good.allows(member, before, second) and good.allows(member, moved, first):
        return MayConform()
    events[step - 1 : step + 1] = [second, first]
    return Corrupted(
        good.with_stream(member, events), classes=WRONG_STEP | {CAUSALITY}, member=member
    )


def event_duplicated(good: RecordedRun, rng: random.Random) -> Result:
    """A step is recorded twice, the second time without its sends."""
    member, step, event = _any_event(good, rng)
    events = list(good.streams[member])
    copy = replace(event, sends=())
    if event.input.id:
        classes = frozenset({CAUSALITY})
    elif good.allows(member, good.state_after(member, step), copy):
        return MayConform()
    else:
        classes = WRONG_STEP
    events.insert(step + 1, copy)
    streams = good.with_stream(member, events)
    return Corrupted(streams, classes=classes, member=member, step=step + 1)


def send_removed(good: RecordedRun, rng: random.Random) -> Result:
    """Remove one send of a step."""
    member, step, event = _any_event(good, rng)
    if not event.sends:
        return None
    place = rng.randrange(len(event.sends))
    changed = replace(event, sends=event.sends[:place] + event.sends[place + 1 :])
    return _wrong_step(good, member, changed, step - 1)


def _with_other_number(message: Message, rng: random.Random) -> Message | None:
    names = [
        name
        for name in message.__struct_fields__
        if name.endswith("_position") and getattr(message, name) >= 0
    ]
    if not names:
        return None
    name = rng.choice(names)
    change: dict[str, Any] = {name: getattr(message, name) + rng.choice((1, 32, 4096))}
    return replace(message, **change)


def sent_position_forged(good: RecordedRun, rng: random.Random) -> Result:
    """A position in a sent message is changed."""
    member, step, event = _any_event(good, rng)
    if not event.sends:
        return None
    place = rng.randrange(len(event.sends))
    message = _with_other_number(event.sends[place].message, rng)
    if message is None:
        return None
    sends = list(event.sends)
    sends[place] = replace(sends[place], message=message)
    return _wrong_step(good, member, replace(event, sends=tuple(sends)), step - 1)


def received_position_forged(good: RecordedRun, rng: random.Random) -> Result:
    """A position in a received message is changed."""
    member, step, event = _any_event(good, rng)
    message = event.input.message
    forged = None if message is None else _with_other_number(message, rng)
    if forged is None:
        return None
    changed = replace(event, input=replace(event.input, message=forged))
    streams = good.with_event(member, step, changed)
    names = frozenset({MESSAGE_CAUSALITY})
    return Corrupted(streams, classes=frozenset({CAUSALITY}), member=member, step=step, names=names)


def _sending_step(good: RecordedRun, event: Event) -> Event | None:
    """Find the step that sent the message that an event receives."""
    for sent in good.streams[event.input.from_]:
        if any(send.id == event.input.id for send in sent.sends):
            return sent
    return None


def _sending_process(good: RecordedRun, event: Event) -> int:
    """Count the restarts of the sender of a message up to the step that sent it."""
    sent = _sending_step(good, event)
    until = 0 if sent is None else sent.step + 1
    return sum(one.action.value == "Restart" for one in good.streams[event.input.from_][:until])


def message_from_nowhere(good: RecordedRun, rng: random.Random) -> Result:
    """The send of a received message is removed from the sender's stream."""
    member, step, event = _any_event(good, rng)
    sent = _sending_step(good, event) if event.input.id else None
    if sent is None:
        return None
    sender = event.input.from_
    kept = tuple(send for send in sent.sends if send.id != event.input.id)
    changed = replace(sent, sends=kept)
    if not good.sends_after(sender, sent.step):
        # A later step may have sent it, after the stream's end; this step is wrong all the same.
        return _wrong_step(good, sender, changed, sent.step - 1)
    streams = good.with_event(sender, sent.step, changed)
    classes, names = frozenset({CAUSALITY}), frozenset({MESSAGE_CAUSALITY})
    return Corrupted(streams, classes=classes, member=member, step=step, names=names)


def message_overtaken(good: RecordedRun, rng: random.Random) -> Result:
    """Two equal messages of one process arrive in the wrong order; only their ids show it."""
    member, step, event = _any_event(good, rng)
    if event.input.message is None:
        return None
    process = _sending_process(good, event)
    for later in good.streams[member][step + 1 :]:
        if (later.input.from_, later.input.message) != (event.input.from_, event.input.message):
            continue
        if _sending_process(good, later) != process:
            return None  # The order of messages of different processes is open.
        earlier = replace(event, input=replace(event.input, id=later.input.id))
        streams = good.with_event(member, step, earlier)
        other = replace(later, input=replace(later.input, id=event.input.id))
        streams[member][later.step] = other
        names = frozenset({MESSAGE_CAUSALITY})
        return Corrupted(streams, classes=frozenset({CAUSALITY}), names=names)
    return None


def two_leaders(good: RecordedRun, rng: random.Random) -> Result:
    """A member records that it won a term that another member won."""
    member, step, event = _any_event(good, rng)
    won = {
        each.state.leadership_term_id
        for other, events in good.streams.items()
        for each in events
        if other != member and each.state.election_state.value == _WON
    }
    if not won or event.action.value == "Restart" or event.state.election_state.value == _WON:
        return None
    state = replace(
        event.state,
        election_state=type(event.state.election_state)(_WON),
        role=type(event.state.role)("LEADER"),
        leadership_term_id=rng.choice(sorted(won)),
        leader_member_id=member,
        publication_position=event.state.recorded_position,
        append_position=event.state.recorded_position,
    )
    streams = good.with_event(member, step, replace(event, state=state))
    return Corrupted(streams, classes=frozenset({SAFETY}), names=frozenset({"ElectionSafety"}))


def committed_entry_lost(good: RecordedRun, rng: random.Random) -> Result:
    """The log of a member ends below the commit position of the member."""
    member, step, event = _any_event(good, rng)
    commit = event.state.commit_position
    if commit <= 0:
        return None
    state = replace(event.state, recorded_position=commit - 32)
    streams = good.with_event(member, step, replace(event, state=state, log_checksums=()))
    return Corrupted(streams, classes=frozenset({SAFETY}), member=member, step=step)


def checksum_forged(good: RecordedRun, rng: random.Random) -> Result:
    """The checksum of a log differs from the checksum of another log at the same position."""
    member, step, event = _any_event(good, rng)
    if not event.log_checksums:
        return None
    place = rng.randrange(len(event.log_checksums))
    witness = event.log_checksums[place]
    others = {
        each.position
        for other, events in good.streams.items()
        if other != member
        for e in events
        for each in e.log_checksums
        if e.state.commit_position >= each.position
    }
    if witness.position not in others or event.state.commit_position < witness.position:
        return None
    digit = "0" if witness.checksum[-1] != "0" else "1"
    witnesses = list(event.log_checksums)
    witnesses[place] = replace(witness, checksum=witness.checksum[:-1] + digit)
    changed = replace(event, log_checksums=tuple(witnesses))
    streams = good.with_event(member, step, changed)
    return Corrupted(streams, classes=frozenset({CAUSALITY, SAFETY}))


def stream_removed(good: RecordedRun, rng: random.Random) -> Result:
    """The stream of a member is missing."""
    if good.run.member_count == 1:
        return None
    streams = good.copy()
    del streams[rng.randrange(good.run.member_count)]
    return Corrupted(streams, Verdict.INCOMPLETE)


def line_broken(good: RecordedRun, rng: random.Random) -> Result:
    """A line within a stream is incomplete."""
    member, step, event = _any_event(good, rng)
    if step == len(good.streams[member]) - 1:
        return None
    line = encode(event)
    broken = line[: rng.randrange(1, len(line))]
    return Corrupted(good.with_event(member, step, broken), Verdict.MALFORMED)


CORRUPTIONS: Final[tuple[Corruption, ...]] = (
    field_changed,
    election_state_changed,
    event_dropped,
    event_dropped_unseen,
    events_swapped,
    event_duplicated,
    send_removed,
    sent_position_forged,
    received_position_forged,
    message_from_nowhere,
    message_overtaken,
    two_leaders,
    committed_entry_lost,
    checksum_forged,
    stream_removed,
    line_broken,
)
"""All corruptions, in the order of the report."""

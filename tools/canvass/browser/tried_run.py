"""Tried steps after an event of a run, kept as a trace and as a scenario of the tests."""

from __future__ import annotations

import tempfile
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from canvass.browser.choices import LOST, Choice, Start, walk
from canvass.browser.questions import bad_request
from canvass.browser.runs import OpenRun
from canvass.cluster.duty_cycle import EVENT_LENGTH, Received
from canvass.cluster.member import NO_INPUT, Input
from canvass.cluster.messages import NULL_VALUE, Message
from canvass.cluster.rules import Rules
from canvass.simulation.world import World
from canvass.traces.actions import ACTION_INPUTS, Action
from canvass.traces.parquet import write_dataset
from canvass.traces.recorder import RunRecorder
from canvass.traces.run import Corpus, write_run
from canvass.traces.schema import Event, to_core_input


@dataclass
class _Recorded(World):
    """A cluster whose recorded steps follow those of a run."""

    begins_ns: int = 0

    def time_ns(self, _i: int) -> int:
        """Add a millisecond for each step, as the run's clocks after the event are not known."""
        return self.begins_ns + 1_000_000 * len(self.steps)


def recorded(opened: OpenRun, at: int, start: Start, path: Sequence[str]) -> bytes:
    """Write a run up to an event, then the steps of a path, as one Parquet file.

    Checksums of logs are computed anew, because the run may have used another checksum function.
    """
    members: list[list[Event]] = [
        [
            msgspec.structs.replace(opened.loaded.columns.event(row), log_checksums=())
            for row in rows[places <= at].tolist()
        ]
        for rows, places in zip(opened.member_rows, opened.places, strict=True)
    ]
    began, last = start.cluster(), (one.time_ns for events in members for one in events)
    world = _Recorded(began.rules, began.event_length, begins_ns=max(last, default=0))
    world.members, world.logs, world.up = began.members, began.logs, began.up
    world.channels = began.channels
    _number(world, members)
    with tempfile.TemporaryDirectory(prefix="canvass-what-if-") as scratch:
        folder, out = Path(scratch, "what-if"), Path(scratch, "out")
        run = msgspec.structs.replace(opened.run, run_id="what-if", without_steps=())
        write_run(run, dict(enumerate(members)), folder)
        with RunRecorder(folder, run, flush=False) as recorder:
            world.recorders = [recorder.member(i) for i in range(len(members))]
            for _ in walk(world, path):
                pass
        write_dataset(Corpus(folder), out)
        (file,) = out.iterdir()
        return file.read_bytes()


def _number(world: World, members: Sequence[Sequence[Event]]) -> None:
    """Give the messages under way the numbers with which the run sent them."""
    received = {event.input.id for events in members for event in events}
    sent: dict[tuple[int, int, Message], list[int]] = defaultdict(list)
    for i, events in enumerate(members):
        for send in (send for event in events for send in event.sends):
            if send.id not in received:
                sent[i, send.to, send.message].append(int(send.id.split(":")[1]))
    for (i, j), queue in world.channels.items():
        for place, one in enumerate(queue):
            numbers = sent[i, j, one.message]
            queue[place] = Received(i, numbers.pop() if numbers else NULL_VALUE, one.message)


_MOVES: Final = {
    "RecordLog": "record",
    "AppendEntry": "append",
    "ConsumeLog": "consume",
    "OnReplayNewLeadershipTermEvent": "consume",
}
"""The words for actions that move a position."""
_SAID: Final = {"commit_interval": "commit", "graceful_closed_leader_id": "gone"}


def scenario(opened: OpenRun, at: int, start: Start, path: Sequence[str]) -> bytes:
    """Write a run up to an event, then the steps of a path, as a scenario of the tests.

    Its expected output is empty: ``pytest --rewrite`` writes it.

    Raises
    ------
    Refusal
        If the run does not begin with empty disks, or has a step that a scenario cannot express.
    """
    rules = start.moment.rules
    if opened.run.initial != "empty":
        raise bad_request("a scenario begins with empty disks; this run does not")
    begin = f"cluster {rules.member_count} {rules.revision}"
    if rules.hardening:
        begin += f" hardening={','.join(sorted(rules.hardening))}"
    if rules.appointed_leader_id != NULL_VALUE:
        begin += f" appointed={rules.appointed_leader_id}"
    title = f"# What may come after event {at + 1} of {opened.run.run_id}."
    history, tried = _history(opened, at, rules), walk(start.cluster(), path)
    blocks = [[title, begin, *map(_command, history)], [*map(_command, tried)]]
    return "\n".join(f"{chr(10).join(each)}\n----\n" for each in blocks if each).encode()


def _history(opened: OpenRun, at: int, rules: Rules) -> Iterator[Choice]:
    """Give the steps of a run up to an event, and the losses of messages.

    A message is lost if a later one of its channel is received. A scenario also loses messages to
    members that are not running, so the first starts of the members come first.
    """
    world, columns = World(rules, EVENT_LENGTH), opened.loaded.columns
    numbers: dict[tuple[int, int], deque[str]] = defaultdict(deque)
    rows = enumerate(opened.lanes.rows[: at + 1], 1)
    for number, row in sorted(rows, key=lambda one: int(columns.step[one[1]]) > 0):
        event, i = columns.event(row), int(columns.member[row])
        given, sender, action = to_core_input(event.input), event.input.from_, event.action.value
        if event.input.message is not None:
            while (queue := numbers[sender, i]) and queue.popleft() != event.input.id:
                yield (lost := Choice("", i, LOST, Input(), sender))
                lost.take(world)
        step = Choice("", i, action, given, sender)
        if sender == NULL_VALUE or world.channels[sender, i]:
            step.take(world)
        if world.members[i] != event.state:
            raise bad_request(f"event {number:,} is nothing that a scenario can do")
        for j in range(rules.member_count):
            if j != i and not world.channels[j, i]:  # A start or an end loses messages under way.
                numbers[j, i].clear()
        for send in event.sends:
            if send.to in world.up:
                numbers[i, send.to].append(send.id)
        yield step


def _command(choice: Choice) -> str:
    """Write a step as a command of a scenario."""
    i, j, action = choice.member, choice.sender, choice.action
    if action in (LOST, Action.RESTART):
        return f"drop {j}->{i} count=1" if action == LOST else f"start {i}"
    if action in _MOVES:
        return f"{_MOVES[action]} {i} to={choice.input.position}"
    words = [f"do {i} {action}" if j < 0 else f"deliver {j}->{i} count=1"]
    reads = ACTION_INPUTS[Action(action)].fields
    for name in (one for one in Input.__struct_fields__ if one in reads):
        value = getattr(choice.input, name)
        if isinstance(value, frozenset):
            words.append(f"{name}={','.join(map(str, sorted(value))) or 'none'}")
        elif value != getattr(NO_INPUT, name):
            words.append(_SAID.get(name, name) + ("" if value is True else f"={value}"))
    return " ".join(words)

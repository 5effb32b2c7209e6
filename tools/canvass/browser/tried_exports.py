"""Tried steps kept as a trace, as a scenario of the tests, and as a script of the spec.

A script is a model that plays the steps in the words of ``Script.tla``. TLC finds out whether each
step is one of ``Cluster.tla``, and whether the steps lead to the state that the page shows. The
model reads only the order of positions, so each position is replaced by its rank among all that
occur. A step that moves a position by one entry in ``Script.tla`` is repeated for each rank in
between. Messages of a new process do not overtake those of the process before it.
"""

from __future__ import annotations

import io
import tempfile
import textwrap
import zipfile
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from canvass.browser.choices import LOST, Choice, Start, moment_after, walk
from canvass.browser.questions import bad_request
from canvass.browser.runs import OpenRun
from canvass.cluster.duty_cycle import EVENT_LENGTH, Received
from canvass.cluster.member import NO_INPUT, Input, Member
from canvass.cluster.messages import NULL_VALUE, Message, wire_name
from canvass.cluster.rules import Rules
from canvass.distance.search import Moment, together
from canvass.simulation.world import World
from canvass.spec.files import module_folders
from canvass.steps.oracle import constants_of
from canvass.tlc.config import TlcConfig, from_python
from canvass.tlc.results import CheckResult, Outcome
from canvass.tlc.runner import check
from canvass.tlc.values import format_value
from canvass.traces.actions import ACTION_INPUTS, Action
from canvass.traces.parquet import write_dataset
from canvass.traces.recorder import RunRecorder
from canvass.traces.run import Corpus, write_run
from canvass.traces.schema import Event, to_core_input

NAME: Final = "WhatIf"
_ROOM: Final = 1000
"""The capacity of channels and network in a script: more messages than any path sends."""
_POSITION_STEPS: Final = {
    "RecordLog": ("record", "Records", "recorded_position"),
    "AppendEntry": ("append", "Writes", "publication_position"),
    "ConsumeLog": ("consume", "Reads", "commit_position"),
    "OnReplayNewLeadershipTermEvent": ("consume", "Reads", "commit_position"),
}
"""Actions that move a position: the words in a scenario and in ``Script.tla``, and the field."""


@dataclass(frozen=True, slots=True)
class Script:
    """A model that plays steps; ``steps`` is their number in the spec."""

    module: str
    config: TlcConfig
    steps: int

    def zipped(self) -> bytes:
        """Give module and configuration as a zip file."""
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr(f"{NAME}.tla", self.module)
            archive.writestr(f"{NAME}.cfg", self.config.text())
        return packed.getvalue()

    def played(self, seconds: float) -> CheckResult:
        """Let TLC play the script.

        Raises
        ------
        TlcError
            If TLC cannot run.
        """
        with tempfile.TemporaryDirectory(prefix="canvass-script-") as folder:
            module = Path(folder, f"{NAME}.tla")
            module.write_text(self.module, encoding="utf-8")
            return check(
                *(module, self.config),
                workers=1,
                stack_mib=64,
                timeout_s=seconds,
                library=module_folders(),
            )

    def verdict(self, result: CheckResult) -> str:
        """Describe TLC's result; a deadlock means that the spec does not allow the next step."""
        if result.outcome is Outcome.DEADLOCK:
            taken = (result.distinct or 1) - 1
            return f"TLC takes {taken} of {self.steps} steps; the next one is none of Cluster.tla"
        if not result.ok:
            return f"TLC does not confirm it: {result.message}"
        return "TLC confirms it: each step is one of Cluster.tla, and they lead to this state"


def script(start: Start, path: Sequence[str]) -> Script:
    """Write a path as a script.

    Raises
    ------
    Refusal
        If a step is not possible at its place in the path, or the path is empty.
    """
    if not path:
        raise bad_request("a script needs a step: take one first")
    world, taken = start.cluster(), list[Choice]()
    found = [moment_after(start.moment, world, "")]
    for choice in walk(world, path):
        taken.append(choice)
        found.append(moment_after(start.moment, world, ""))
    moments, rank = together(found, [one.input.position for one in taken])
    lines, count = list[str](), 0
    for choice, before, after in zip(taken, moments, moments[1:], strict=False):
        i = choice.member
        text, steps = _scripted(choice, before.members[i], after.members[i], rank)
        lines.append(text)
        count += steps
    steps_text = " \\o\n    ".join(lines)
    module = f"""---- MODULE {NAME} ----
\\* {count} steps after {start.title.translate(_SAFE)}. Beside Script.tla: canvass check {NAME}.tla
EXTENDS Script

MCFirst ==
{_value(moments[0])}

MCLast ==
{_value(moments[-1])}

MCScript(n) ==
    {steps_text}

MCNever(i) == FALSE

VARIABLE place    \\* in the tale

MCInit ==
    /\\ place = 1
    /\\ \\E tale \\in {{Played(<<MCFirst>>, MCScript(0))}} :
        /\\ LET c == tale[Len(tale)]
           IN  Assert(c.member = MCLast.member /\\ c.log = MCLast.log, "they lead to another state")
        /\\ TLCSet(TALE, tale)
        /\\ Starts(tale[1])

MCNext ==
    IF place = Len(Tale) THEN UNCHANGED <<vars, place>>
    ELSE place' = place + 1 /\\ Next /\\ Now' = Tale[place + 1]
====
"""
    constants = {
        **constants_of(start.moment.rules),
        "ChannelCapacity": f"= {_ROOM}",
        "NetworkCapacity": f"= {_ROOM}",
        "BoundOvertaking": "<- MCNever",
    }
    config = TlcConfig(constants=constants, init="MCInit", next="MCNext")
    return Script(module, config, count)


_SAFE: Final = dict.fromkeys((*range(32), 40, 41, 42), "?")
"""Control characters, and the characters that begin or end a comment of TLA+."""


def _value(moment: Moment) -> str:
    text = format_value(from_python(moment.value()))
    return textwrap.fill(
        text, 110, break_long_words=False, break_on_hyphens=False, initial_indent="    ",
        subsequent_indent="    ",
    )  # fmt: skip


def _scripted(
    choice: Choice, before: Member, after: Member, rank: Mapping[int, int]
) -> tuple[str, int]:
    """Write a step in the words of ``Script.tla``; give the text and the number of steps there."""
    i, j, action = choice.member, choice.sender, choice.action
    if action in (LOST, Action.RESTART):
        return (f"Loss({j}, {i})" if action == LOST else f"Restarts({i})"), 1
    if action in _POSITION_STEPS:
        _, verb, field = _POSITION_STEPS[action]
        count = max(1, getattr(after, field) - getattr(before, field))
        return (f"{verb}({i})" if count == 1 else f"Times({count}, {verb}({i}))"), count
    changes = [
        f"!.{wire_name(name)} = {format_value(from_python(value))}"
        for name, value in _given(choice, rank)
    ]
    x = f"[NoInput EXCEPT {', '.join(changes)}]" if changes else "NoInput"
    return (f'Act({i}, "{action}", {x})' if j < 0 else f'StepOf("arrive", {j}, {i}, "", {x})'), 1


def _given(choice: Choice, rank: Mapping[int, int] | None = None) -> Iterator[tuple[str, Any]]:
    """Give the inputs that a step reads: all sets of members, and other inputs unless default."""
    reads = ACTION_INPUTS[Action(choice.action)].fields
    for name in (one for one in Input.__struct_fields__ if one in reads):
        value = getattr(choice.input, name)
        if isinstance(value, frozenset) or value != getattr(NO_INPUT, name):
            yield name, rank[value] if rank and name == "position" else value


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
    world = start.cluster()
    world.begins_ns = max((one.time_ns for events in members for one in events), default=0)
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
    if action in _POSITION_STEPS:
        return f"{_POSITION_STEPS[action][0]} {i} to={choice.input.position}"
    words = [f"do {i} {action}" if j < 0 else f"deliver {j}->{i} count=1"]
    for name, value in _given(choice):
        text = ",".join(map(str, sorted(value))) if isinstance(value, frozenset) else f"{value}"
        words.append(_SAID.get(name, name) + ("" if value is True else f"={text or 'none'}"))
    return " ".join(words)

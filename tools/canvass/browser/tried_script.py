"""Tried steps as a script of the spec.

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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from canvass.browser.choices import LOST, Choice, Start, moment_after, walk
from canvass.browser.questions import bad_request
from canvass.cluster.member import NO_INPUT, Input, Member
from canvass.cluster.messages import wire_name
from canvass.distance.search import Moment, together
from canvass.spec.files import module_folders
from canvass.steps.oracle import constants_of
from canvass.tlc.config import TlcConfig, from_python
from canvass.tlc.results import CheckResult, Outcome
from canvass.tlc.runner import check
from canvass.tlc.values import format_value
from canvass.traces.actions import ACTION_INPUTS, Action

NAME: Final = "WhatIf"
_ROOM: Final = 1000
"""The capacity of channels and network in a script: more messages than any path sends."""
_POSITION_STEPS: Final = {
    "RecordLog": ("Records", "recorded_position"),
    "AppendEntry": ("Writes", "publication_position"),
    "ConsumeLog": ("Reads", "commit_position"),
    "OnReplayNewLeadershipTermEvent": ("Reads", "commit_position"),
}
"""Actions that move a position: the word in ``Script.tla``, and the field."""


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
        verb, field = _POSITION_STEPS[action]
        count = max(1, getattr(after, field) - getattr(before, field))
        return (f"{verb}({i})" if count == 1 else f"Times({count}, {verb}({i}))"), count
    reads, changes = ACTION_INPUTS[Action(action)].fields, list[str]()
    for name in (one for one in Input.__struct_fields__ if one in reads):
        value = getattr(choice.input, name)
        if value != getattr(NO_INPUT, name):
            value = rank[value] if name == "position" else value
            changes.append(f"!.{wire_name(name)} = {format_value(from_python(value))}")
    x = f"[NoInput EXCEPT {', '.join(changes)}]" if changes else "NoInput"
    return (f'Act({i}, "{action}", {x})' if j < 0 else f'StepOf("arrive", {j}, {i}, "", {x})'), 1

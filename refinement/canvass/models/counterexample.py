"""A counterexample for a person: as lines of text, and as swim lanes.

One line for each step names the action and the member; below it are the changed variables. The
values are TLC's own; `canvass.tlc.counterexample` compares them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from canvass.graph.values import tree_of
from canvass.lanes.diagram import Line, TextLanes
from canvass.lanes.drawing import beginning, cluster_diagram, is_cluster, message_text
from canvass.models import ModelError
from canvass.spec.files import find_definition
from canvass.tlc.counterexample import (
    ChangeRecord,
    CounterexampleDocument,
    StepRecord,
    ValueChange,
    state_changes,
)
from canvass.tlc.errors import ValueSyntaxError
from canvass.tlc.output import TraceState
from canvass.tlc.results import Violation
from canvass.tlc.values import Function, format_value, to_itf_value

_MOST_LINES: Final = 8
"""The most lines below the headline of a step, for a person; the document has the whole state."""
_FIRST_FIELDS: Final = (".electionState", ".role")
_FIRST_VARIABLES: Final = {"hist": 1, "log": 2, "channel": 3}
_PLACES: Final = (("member", 1, ""), ("channel", 2, " -> "))
"""Variables whose arguments name the acting member or channel.

A step changes the state of the acting member; the loss of a message changes only a channel.
"""


@dataclass(frozen=True, slots=True)
class CounterexampleStep:
    """One step of a counterexample.

    Parameters
    ----------
    state
        The state as TLC printed it.
    changes
        The changes since the previous step; None for the first step, and if a value cannot be
        listed.
    """

    state: TraceState
    changes: tuple[ValueChange, ...] | None

    @property
    def title(self) -> str:
        """The action, with its arguments if TLC prints them."""
        action = self.state.action or "initial state"
        return f"{action}({self.state.arguments})" if self.state.arguments else action

    @property
    def acting(self) -> str:
        """The member that took the step, as ``member 2``; else a changed channel; else empty."""
        for variable, indices, between in _PLACES:
            for change in self.changes or ():
                if change.path[0] == variable and len(change.path) > indices:
                    named = (part.strip("[]") for part in change.path[1 : indices + 1])
                    return f"{variable} {between.join(named)}"
        return ""


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A violation, its behaviour and the comment on the violated property.

    Parameters
    ----------
    model
        Name of the model.
    violation
        TLC's violation.
    steps
        The behaviour.
    explanation
        Lines of the comment box above the violated property; empty if there is none.
    place
        File and line of the violated property; None if unknown.
    source
        Name of the model's TLA+ file.
    """

    model: str
    violation: Violation
    steps: tuple[CounterexampleStep, ...]
    explanation: tuple[str, ...]
    place: str | None
    source: str

    def lines(self, width: int = 100) -> Iterator[str]:
        """Yield the lines of the text for a person, without line ends.

        A step has a headline, and at most eight lines below it.
        """
        violation = self.violation
        yield f"counterexample of {self.model}: {violation.claim} ({violation.outcome.value})"
        for step in self.steps:
            yield f"{step.state.number:>4}  {step.title:<24} {step.acting}".rstrip()
            yield from _at_most(_details(step), width)
        yield from (f"      {line}" for line in self.continuation())
        # The places in the specification: TLC gives them for an error, but not for a property.
        rest = violation.message.partition("\n\n")[2]
        yield from (f"  {line}".rstrip() for line in rest.splitlines())
        if violation.name:
            what = "violated" if violation.outcome.is_violation else "evaluated"
            yield f"{what}: {violation.name}" + (f"  ({self.place})" if self.place else "")
            yield from (f"  {line}".rstrip() for line in self.explanation)

    def continuation(self) -> Iterator[str]:
        """Give the line that ends an infinite behaviour."""
        if self.violation.stuttering:
            yield "and so it stays for ever"
        elif self.violation.loop is not None:
            yield f"and so on for ever from step {self.violation.loop + 1}"

    def document(self) -> CounterexampleDocument:
        """Return the counterexample as a JSON document, with values in ITF."""
        return CounterexampleDocument(
            model=self.model,
            outcome=self.violation.outcome.value,
            violated=self.violation.name,
            message=self.violation.message,
            explanation=self.explanation,
            loop=None if self.violation.loop is None else self.violation.loop + 1,
            stuttering=self.violation.stuttering,
            steps=tuple(map(_step_record, self.steps)),
        )


def counterexample(root: Path, module: Path, model: str, violation: Violation) -> Counterexample:
    """Make the counterexample of a violation, with the spec's comment on the property.

    Parameters
    ----------
    root, module
        The spec folder, and the ``.tla`` file of the model in it.
    model
        The model's name.
    violation
        TLC's violation.
    """
    found = find_definition(root, module, violation.name) if violation.name else None
    place = None
    if found is not None:
        file = found.module.relative_to(root) if found.module.is_relative_to(root) else found.module
        place = f"{file}:{found.line}"
    return Counterexample(
        model,
        violation,
        _steps(violation.states),
        found.comment if found else (),
        place,
        module.name,
    )


def _steps(states: Sequence[TraceState]) -> tuple[CounterexampleStep, ...]:
    try:
        values = [state.values for state in states]
    except ValueSyntaxError:
        # A value cannot be listed: the states are shown as TLC printed them.
        return tuple(CounterexampleStep(state, None) for state in states)
    if not values:
        return ()  # An evaluation failed before the first state.
    since = [None, *(state_changes(before, after) for before, after in pairwise(values))]
    return tuple(
        CounterexampleStep(state, changed) for state, changed in zip(states, since, strict=True)
    )


def _details(step: CounterexampleStep) -> list[str]:
    """Describe the changes of a step, or the first state: one text for each difference."""
    if step.changes is not None:
        return _folded(step.changes) or ["nothing changes"]
    try:
        values = step.state.values
        tree = {name: tree_of(value) for name, value in values.items()}
    except ValueSyntaxError:
        return step.state.text.splitlines()
    if is_cluster(tree) and all("recordingLog" in one for one in tree["member"].values()):
        return list(beginning(tree))
    return [f"{name} = {format_value(value)}" for name, value in values.items()]


def _folded(changed: Sequence[ValueChange]) -> list[str]:
    """Write changes, the most important first. Places with an equal change share a line."""
    places: dict[tuple[object, ...], list[ValueChange]] = {}
    for change in sorted(changed, key=_rank):
        index = max((k for k, part in enumerate(change.path) if part[0] == "["), default=None)
        if index is None:
            places[change.path] = [change]
        else:
            path = (*change.path[:index], *change.path[index + 1 :])
            key = (path, index, change.kind, str(change.before), str(change.after))
            places.setdefault(key, []).append(change)
    return [_change_text(equal) for equal in places.values()]


def _rank(change: ValueChange) -> int:
    """Order changes: elections and roles, history and logs, messages, the rest."""
    if change.path[-1] in _FIRST_FIELDS:
        return 0
    return _FIRST_VARIABLES.get(change.path[0], len(_FIRST_VARIABLES) + 1)


def _change_text(equal: Sequence[ValueChange]) -> str:
    first = equal[0]
    text = str(first)
    for value in (first.before, first.after):
        if isinstance(value, Function) and "type" in value:
            text = text.replace(format_value(value), message_text(tree_of(value)))
    if len(equal) == 1:
        return text
    index = next(k for k, part in enumerate(first.path) if part != equal[1].path[k])
    indices = ", ".join(one.path[index] for one in equal)
    here, there = ("".join(first.path[:k]) for k in (index, index + 1))
    return here + indices + text.removeprefix(there)


def _at_most(texts: Sequence[str], width: int) -> list[str]:
    """Break texts into at most `_MOST_LINES` lines of a width; the last line counts the rest."""
    lines = [line for text in texts for line in _wrapped(text, width)]
    if len(lines) <= _MOST_LINES:
        return lines
    more = len(lines) - _MOST_LINES + 1
    return [*lines[: _MOST_LINES - 1], f"      … and {more} lines more (--export has them)"]


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=" " * 6,
        subsequent_indent=" " * 10,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _step_record(step: CounterexampleStep) -> StepRecord:
    record = StepRecord(
        number=step.state.number,
        action=step.state.action,
        arguments=step.state.arguments,
        location=step.state.location,
        acting=step.acting or None,
    )
    try:
        values = step.state.values
    except ValueSyntaxError:
        return replace(record, text=step.state.text)
    changed = None if step.changes is None else tuple(map(_change_record, step.changes))
    state = {name: to_itf_value(value) for name, value in values.items()}
    return replace(record, changes=changed, state=state)


def _change_record(change: ValueChange) -> ChangeRecord:
    return ChangeRecord(
        path="".join(change.path),
        kind=change.kind,
        before=UNSET if change.before is None else to_itf_value(change.before),
        after=UNSET if change.after is None else to_itf_value(change.after),
    )


def swim_lanes(shown: Counterexample, width: int) -> Iterator[Line]:
    """Draw a counterexample, line by line.

    Parameters
    ----------
    shown
        A counterexample of a model of `Cluster.tla`.
    width
        As in `canvass.lanes.diagram.TextLanes`.

    Raises
    ------
    ModelError
        If the states are not states of a cluster.
    """
    try:
        states = [
            {name: tree_of(value) for name, value in step.state.values.items()}
            for step in shown.steps
        ]
    except ValueSyntaxError as error:
        raise ModelError(f"{shown.model}: {error}") from error
    actions = [step.state.action or "" for step in shown.steps]
    diagram = cluster_diagram(states, actions, shown.violation.claim)
    if diagram is None:
        raise ModelError(f"{shown.model}: only models of Cluster.tla have swim lanes")
    for begins in beginning(states[0]):
        for line in textwrap.wrap(begins, width, subsequent_indent="  "):
            yield [(line, "dim")]
    yield from TextLanes(diagram, width, contents=True).lines()
    for line in (*shown.continuation(), shown.violation.claim):
        yield [(line, "bad")]

"""A counterexample as a person reads it, and as a file.

One line for each step names the action and the member; below it are the changed variables. This
module neither runs TLC nor decides; the values are TLC's own, compared by `canvass.tlc.changes`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from canvass.spec.source import find_definition
from canvass.tlc import (
    Function,
    Record,
    TraceState,
    Value,
    ValueSyntaxError,
    Violation,
    format_value,
)
from canvass.tlc.changes import Change, changes, state_changes
from canvass.tlc.convert import to_itf_value

SCHEMA: Final = "canvass.counterexample/1"

_WIDTH: Final = 100
_NEARLY: Final = 12
"""Differences up to which an initial value is shown as them; a member has many more fields."""
_PLACES: Final = (("member", 1, ""), ("channel", 2, " -> "))
"""Variables that say by their arguments who acted: a step changes the state of who takes it, and
the loss of a message only the channel between two."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a counterexample.

    Parameters
    ----------
    state
        What TLC said of it.
    changes
        Since the step before; null for the first, and when a value cannot be listed.
    """

    state: TraceState
    changes: tuple[Change, ...] | None

    @property
    def title(self) -> str:
        """The action with its arguments, where TLC tells them."""
        action = self.state.action or "initial state"
        return f"{action}({self.state.arguments})" if self.state.arguments else action

    @property
    def acting(self) -> str:
        """Whose step it was: ``member 2``; else which channel changed; else nothing."""
        for variable, indices, between in _PLACES:
            for change in self.changes or ():
                if change.path[0] == variable and len(change.path) > indices:
                    named = (part.strip("[]") for part in change.path[1 : indices + 1])
                    return f"{variable} {between.join(named)}"
        return ""


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A violation with what is needed to tell it.

    Parameters
    ----------
    model
        Name of the model.
    violation
        What TLC reported.
    steps
        The behaviour.
    explanation
        The comment box above the violated property, as lines; empty when there is none.
    place
        File and line of the violated property; null when it is not known.
    """

    model: str
    violation: Violation
    steps: tuple[Step, ...]
    explanation: tuple[str, ...]
    place: str | None

    @property
    def claim(self) -> str:
        """What is wrong, in a few words."""
        name = self.violation.name
        return f"{name} is violated" if name else self.violation.message.partition("\n")[0]

    def lines(self) -> Iterator[str]:
        """Yield the counterexample for a person, without line ends."""
        yield f"counterexample of {self.model}: {self.claim} ({self.violation.outcome.value})"
        for step in self.steps:
            yield f"{step.state.number:>4}  {step.title:<24} {step.acting}".rstrip()
            yield from _details(step)
        if self.violation.stuttering:
            yield "      and so it stays for ever"
        elif self.violation.loop is not None:
            yield f"      and so on for ever from step {self.violation.loop + 1}"
        if self.violation.name:
            yield f"violated: {self.violation.name}" + (f"  ({self.place})" if self.place else "")
            yield from (f"  {line}".rstrip() for line in self.explanation)

    def document(self) -> dict[str, Any]:
        """Return the counterexample for a machine; values are in the encoding of ITF."""
        return {
            "schema": SCHEMA,
            "model": self.model,
            "outcome": self.violation.outcome.value,
            "violated": self.violation.name,
            "message": self.violation.message,
            "explanation": list(self.explanation),
            "loop": None if self.violation.loop is None else self.violation.loop + 1,
            "stuttering": self.violation.stuttering,
            "steps": [_step_document(step) for step in self.steps],
        }


def counterexample(root: Path, module: Path, model: str, violation: Violation) -> Counterexample:
    """Put a violation together with what the spec says about it.

    Parameters
    ----------
    root, module
        The spec folder, and the ``.tla`` file of the model in it.
    model
        The model's name.
    violation
        What TLC reported.
    """
    found = find_definition(root, module, violation.name) if violation.name else None
    place = None
    if found is not None:
        file = found.module.relative_to(root) if found.module.is_relative_to(root) else found.module
        place = f"{file}:{found.line}"
    return Counterexample(
        model, violation, _steps(violation.states), found.comment if found else (), place
    )


def _steps(states: Sequence[TraceState]) -> tuple[Step, ...]:
    try:
        values = [state.values for state in states]
    except ValueSyntaxError:
        # A variable holds a set that cannot be listed: the states are shown as TLC printed them.
        return tuple(Step(state, None) for state in states)
    if not values:
        return ()  # An evaluation failed before there was a state.
    since = [None, *(state_changes(before, after) for before, after in pairwise(values))]
    return tuple(Step(state, changed) for state, changed in zip(states, since, strict=True))


def _details(step: Step) -> Iterator[str]:
    if step.changes is not None:
        for change in step.changes:
            yield from _wrapped(str(change))
        if not step.changes:
            yield from _wrapped("nothing changes")
        return
    try:
        values = step.state.values
    except ValueSyntaxError:
        for line in step.state.text.splitlines():
            yield from _wrapped(line)
        return
    for name, value in values.items():
        yield from _initial(name, value)


def _initial(name: str, value: Value) -> Iterator[str]:
    """A function is shown by argument, equal values together: members begin alike.

    A record that is nearly the first one is shown by its different fields.
    """
    if not isinstance(value, Function):
        yield from _wrapped(f"{name} = {format_value(value)}")
        return
    places: dict[Value, list[str]] = {}
    for argument, part in value.pairs:
        places.setdefault(part, []).append(f"{name}[{format_value(argument)}]")
    model, (place, *_) = next(iter(places.items()))
    for part, names in places.items():
        differences = list(changes(model, part, ("",)))
        if not isinstance(model, Record) or not 0 < len(differences) <= _NEARLY:
            yield from _wrapped(f"{', '.join(names)} = {format_value(part)}")
        else:
            but = ", ".join(str(one).removeprefix(".") for one in differences)
            yield from _wrapped(f"{', '.join(names)} = {place}, but {but}")


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=" " * 6,
        subsequent_indent=" " * 10,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _step_document(step: Step) -> dict[str, Any]:
    document: dict[str, Any] = {
        "number": step.state.number,
        "action": step.state.action,
        "arguments": step.state.arguments,
        "location": None if step.state.location is None else str(step.state.location),
        "acting": step.acting or None,
    }
    try:
        values = step.state.values
    except ValueSyntaxError:
        return {**document, "changes": None, "state": None, "text": step.state.text}
    changed = None if step.changes is None else [_change_document(one) for one in step.changes]
    state = {name: to_itf_value(value) for name, value in values.items()}
    return {**document, "changes": changed, "state": state}


def _change_document(change: Change) -> dict[str, Any]:
    document: dict[str, Any] = {"path": "".join(change.path), "kind": change.kind.value}
    if change.before is not None:
        document["before"] = to_itf_value(change.before)
    if change.after is not None:
        document["after"] = to_itf_value(change.after)
    return document

"""A counterexample as a person reads it, and as a file.

One line for each step names the action and the member; below it are the changed variables. This
module neither runs TLC nor decides; the values are TLC's own, compared by `canvass.tlc.changes`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import msgspec

from canvass.cli.output import CommandError, complain
from canvass.cluster import messages
from canvass.cluster.names import wire_name
from canvass.simulation.scenario.language import said, span
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

_JSON: Final = ".json"
_ITF: Final = ".itf.json"

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
    source
        Name of the model's TLA+ file.
    """

    model: str
    violation: Violation
    steps: tuple[Step, ...]
    explanation: tuple[str, ...]
    place: str | None
    source: str

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
        model,
        violation,
        _steps(violation.states),
        found.comment if found else (),
        place,
        module.name,
    )


def export(found: Sequence[Counterexample], target: Path) -> None:
    """Write counterexamples to files, and say on stderr which.

    Parameters
    ----------
    found
        What is written; without any, only that is said.
    target
        A file ``*.itf.json`` (Informal Trace Format) or ``*.json`` for the only counterexample
        there is, or a folder for both forms of each.

    Raises
    ------
    CommandError
        If there are several counterexamples for one file.
    """
    if not found:
        complain("there is no counterexample to export")
    if target.suffix != _JSON:
        target.mkdir(parents=True, exist_ok=True)
        files = [(target / f"{one.model}{form}", one) for one in found for form in (_JSON, _ITF)]
    elif len(found) > 1:
        raise CommandError(
            f"{len(found)} models have a counterexample: name one model, or export to a folder"
        )
    else:
        files = [(target, one) for one in found]
    for path, one in files:
        is_itf = path.name.endswith(_ITF)
        document = one.violation.to_itf(one.source) if is_itf else one.document()
        path.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n")
        complain(f"wrote {path}")


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


_MARGIN: Final = 5
_LANE_WIDTH: Final = 34
_VARIABLES: Final = ("member", "channel", "log", "hist")
_SHOWN: Final = (
    ("persistedCandidateTermId", "candidate term"),
    ("leadershipTermId", "term"),
    ("logLeadershipTermId", "log term"),
    ("commitPosition", "commit"),
)
"""Fields whose change is reported, with their names in the diagram."""

_NULL: Final = -1


@dataclass(frozen=True, slots=True)
class _Row:
    """One step: in whose lane it stands and what is written there; of a message, who sent what."""

    number: int
    lane: int
    lines: tuple[str, ...]
    sender: int | None = None
    kind: str = ""


def swim_lanes(shown: Counterexample) -> Iterator[str]:
    """Draw a counterexample, line by line without line ends.

    Parameters
    ----------
    shown
        A counterexample of a model of `Cluster.tla`.

    Raises
    ------
    CommandError
        If its states are not those of a cluster.
    """
    states = _states(shown)
    members = list(states[0]["member"])
    width = _MARGIN + _LANE_WIDTH * len(members)
    yield _line(0, [f"member {i}" for i in members]).rstrip()
    yield "-" * width
    yield from _columns(1, [_beginning(states[0], i) for i in members])
    for step, (before, after) in zip(shown.steps[1:], pairwise(states), strict=True):
        row = _row(step.state.number, step.state.action or "", before, after)
        yield from _drawn(row, len(members))
    yield "-" * width
    yield from _end(shown)


def _end(shown: Counterexample) -> Iterator[str]:
    if shown.violation.stuttering:
        yield "     and so it stays for ever"
    elif shown.violation.loop is not None:
        yield f"     and so on for ever from step {shown.violation.loop + 1}"
    yield f"     {shown.claim}"


def _states(shown: Counterexample) -> list[Mapping[str, Any]]:
    try:
        states = [step.state.values for step in shown.steps]
    except ValueSyntaxError as error:
        raise CommandError(f"{shown.model}: {error}") from error
    if not states or any(name not in states[0] for name in _VARIABLES):
        raise CommandError(f"{shown.model}: lanes are drawn for models of Cluster.tla only")
    return states


def _beginning(state: Mapping[str, Any], i: int) -> list[str]:
    one = state["member"][i]
    term = one["moduleLeadershipTermId"]
    head = [f"{one['electionState']} {one['role']}"]
    if one["electionState"] == "CLOSED":
        head.append(f"term {term}")
    known = [f"commit {one['commitPosition']}", *_recording_log(one)]
    return [*head, _log(state["log"][i]), *known]


def _log(entries: Sequence[int]) -> str:
    return f"log <{' '.join(map(str, entries))}>"


def _recording_log(one: Mapping[str, Any]) -> list[str]:
    terms = [
        span(entry["leadershipTermId"], entry["termBaseLogPosition"], entry["logPosition"])
        for entry in one["recordingLog"]
    ]
    return [f"knows {' '.join(terms)}"] if terms else []


def _row(number: int, action: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> _Row:
    name = action.removeprefix("TE").removeprefix("Take")
    taken = _taken(before, after)
    if action == "Lose" and taken:
        sender, receiver, message = taken
        lost = f"x {message['type']} from {sender} is lost"
        return _Row(number, receiver, (lost,))
    if taken and action != "RestartMember":
        sender, receiver, message = taken
        body = (_wording(message), *_happened(receiver, before, after))
        return _Row(number, receiver, body, sender, message["type"])
    lane = _acting(before, after)
    return _Row(number, lane, (name, *_happened(lane, before, after)))


def _taken(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[int, int, Any] | None:
    """Return sender, receiver and message of the one that left its channel."""
    for i, queues in before["channel"].items():
        for j, queue in queues.items():
            if len(queue) > 0 and after["channel"][i][j] == queue[1:]:
                return i, j, queue[0]
    return None


def _acting(before: Mapping[str, Any], after: Mapping[str, Any]) -> int:
    for variable in ("member", "channel"):
        for i in before[variable]:
            if before[variable][i] != after[variable][i]:
                return int(i)
    return 0


def _happened(i: int, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Say what happened to member `i`, and what it sent."""
    old, new = before["member"][i], after["member"][i]
    if old["electionState"] != new["electionState"]:
        yield f"{old['electionState']} -> {new['electionState']}"
    for field, name in _SHOWN:
        if old[field] != new[field] and new[field] != _NULL:
            yield (
                f"{name} {new[field]}"
                if old[field] == _NULL
                else (f"{name} {old[field]} -> {new[field]}")
            )
    if before["log"][i] != after["log"][i]:
        yield _log(after["log"][i])
    if old["recordingLog"] != new["recordingLog"]:
        yield from _recording_log(new)
    if before["hist"]["committed"] != after["hist"]["committed"]:
        yield f"committed <{' '.join(map(str, after['hist']['committed']))}>"
    sent: dict[str, list[str]] = {}
    for j, queue in after["channel"][i].items():
        for message in queue[len(before["channel"][i][j]) :]:
            sent.setdefault(message["type"], []).append(str(j))
    for kind, receivers in sent.items():
        yield f"sends {kind} to {', '.join(receivers)}"


def _wording(record: Mapping[str, Any]) -> str:
    kind = getattr(messages, record["type"])
    message: messages.Message = kind(
        **{name: record[wire_name(name)] for name in kind.__struct_fields__}
    )
    return said(message).partition(" ")[2]


def _drawn(row: _Row, members: int) -> Iterator[str]:
    lines = [[""] for _ in range(members)]
    lines[row.lane] = list(row.lines)
    if row.sender is None:
        yield from _columns(row.number, lines)
        return
    yield _arrow(row)
    yield from _columns(0, lines)


def _arrow(row: _Row) -> str:
    assert row.sender is not None
    begin, end = sorted((_MARGIN + _LANE_WIDTH * row.sender, _MARGIN + _LANE_WIDTH * row.lane))
    shaft = f" {row.kind} ".center(end - begin - 2, "-")
    drawn = f"o{shaft}>" if row.sender < row.lane else f"<{shaft}o"
    return f"{row.number:>3}  " + " " * (begin - _MARGIN) + drawn


def _columns(number: int, cells: Sequence[Sequence[str]]) -> Iterator[str]:
    wrapped = [[part for text in cell for part in _wrapped_cell(text)] for cell in cells]
    height = max(map(len, wrapped))
    for at in range(height):
        parts = [cell[at] if at < len(cell) else "" for cell in wrapped]
        yield _line(number if at == 0 else 0, parts).rstrip()


def _wrapped_cell(text: str) -> list[str]:
    return textwrap.wrap(
        text,
        _LANE_WIDTH - 2,
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _line(number: int, parts: Sequence[str]) -> str:
    head = f"{number:>3}" if number else ""
    return head.ljust(_MARGIN) + "".join(part.ljust(_LANE_WIDTH) for part in parts)

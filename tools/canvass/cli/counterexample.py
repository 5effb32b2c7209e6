"""Write a counterexample for a person, and as files.

One line for each step names the action and the member; below it are the changed variables. The
values are TLC's own; `canvass.tlc.changes` compares them.
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

from canvass.cli.output import CommandError, complain, json_text, write_file
from canvass.cluster.messages import NULL_VALUE
from canvass.lanes.of_counterexample import Tree, cluster_diagram, state_part, value_text
from canvass.lanes.text import UNICODE, Glyphs, Line, TextLanes
from canvass.spec.files import find_definition
from canvass.tlc import (
    Function,
    Record,
    TraceState,
    Value,
    ValueSyntaxError,
    Violation,
    format_value,
)
from canvass.tlc.changes import (
    Change,
    ChangeRecord,
    CounterexampleDocument,
    StepRecord,
    changes,
    claim_of,
    state_changes,
)
from canvass.tlc.convert import to_itf_value

_JSON: Final = ".json"
_ITF: Final = ".itf.json"

_WIDTH: Final = 100
_NEARLY: Final = 12
"""Maximum number of differences by which an initial value is shown; a member has more fields."""
_PLACES: Final = (("member", 1, ""), ("channel", 2, " -> "))
"""Variables whose arguments name the acting member or channel.

A step changes the state of the acting member; the loss of a message changes only a channel.
"""


@dataclass(frozen=True, slots=True)
class Step:
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
    changes: tuple[Change, ...] | None

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
    steps: tuple[Step, ...]
    explanation: tuple[str, ...]
    place: str | None
    source: str

    @property
    def claim(self) -> str:
        """The violation in a few words."""
        violation = self.violation
        return claim_of(violation.outcome.value, violation.name, violation.message)

    def lines(self) -> Iterator[str]:
        """Yield the counterexample for a person, without line ends."""
        yield f"counterexample of {self.model}: {self.claim} ({self.violation.outcome.value})"
        for step in self.steps:
            yield f"{step.state.number:>4}  {step.title:<24} {step.acting}".rstrip()
            yield from _details(step)
        yield from (f"      {line}" for line in self.continuation())
        # The positions in the specification, which TLC gives of an error but not of a property.
        rest = self.violation.message.partition("\n\n")[2]
        yield from (f"  {line}".rstrip() for line in rest.splitlines())
        if self.violation.name:
            what = "violated" if self.violation.outcome.is_violation else "evaluated"
            yield f"{what}: {self.violation.name}" + (f"  ({self.place})" if self.place else "")
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


def need_export_target(target: Path) -> None:
    """Check that counterexamples can be exported to a path: ``*.json``, or a folder.

    Raises
    ------
    CommandError
        If the name is that of another kind of file, such as ``loss.txt``, or the file's folder does
        not exist.
    """
    if target.suffix not in ("", _JSON) and not target.is_dir():
        raise CommandError(
            f"--export {target}: name a file FILE.json or FILE.itf.json, or a folder for both"
        )
    if target.suffix == _JSON and not target.absolute().parent.is_dir():
        raise CommandError(f"--export {target}: there is no such folder to write to")


def export(found: Sequence[Counterexample], target: Path) -> None:
    """Write counterexamples to files, and name the files on stderr.

    Parameters
    ----------
    found
        The counterexamples; if there are none, a line on stderr says so.
    target
        ``*.itf.json`` (Informal Trace Format) or ``*.json`` for a single counterexample; a folder
        for both forms of each.

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
        document: object = one.violation.to_itf(one.source) if is_itf else one.document()
        write_file(path, json_text(document))
        complain(f"wrote {path}")


def _steps(states: Sequence[TraceState]) -> tuple[Step, ...]:
    try:
        values = [state.values for state in states]
    except ValueSyntaxError:
        # A value cannot be listed: the states are shown as TLC printed them.
        return tuple(Step(state, None) for state in states)
    if not values:
        return ()  # An evaluation failed before the first state.
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
    """Write the initial value of a variable.

    A function is written by argument, with equal values together, because most members begin in the
    same state. A record with few differences from the first one is written as the differences.
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


def _step_record(step: Step) -> StepRecord:
    record = StepRecord(
        number=step.state.number,
        action=step.state.action,
        arguments=step.state.arguments,
        location=None if step.state.location is None else str(step.state.location),
        acting=step.acting or None,
    )
    try:
        values = step.state.values
    except ValueSyntaxError:
        return replace(record, text=step.state.text)
    changed = None if step.changes is None else tuple(map(_change_record, step.changes))
    state = {name: to_itf_value(value) for name, value in values.items()}
    return replace(record, changes=changed, state=state)


def _change_record(change: Change) -> ChangeRecord:
    return ChangeRecord(
        path="".join(change.path),
        kind=change.kind,
        before=UNSET if change.before is None else to_itf_value(change.before),
        after=UNSET if change.after is None else to_itf_value(change.after),
    )


def show_counterexample(shown: Counterexample, *, diagram: bool) -> None:
    """Write a counterexample for a person, as swim lanes if it has any, or with all changes."""
    from canvass.cli.output import glyphs, lane_width, print_lines

    if diagram:
        try:
            lanes = list(swim_lanes(shown, lane_width(), glyphs()))
        except CommandError as error:
            complain(f"{error}; its states are written instead")
        else:
            print_lines(lanes)
            return
    print("\n".join(shown.lines()))


def swim_lanes(shown: Counterexample, width: int, glyphs: Glyphs = UNICODE) -> Iterator[Line]:
    """Draw a counterexample, line by line.

    Parameters
    ----------
    shown
        A counterexample of a model of `Cluster.tla`.
    width, glyphs
        As in `canvass.lanes.text.TextLanes`.

    Raises
    ------
    CommandError
        If the states are not states of a cluster.
    """
    from canvass.graph.values import tree_of

    try:
        states = [
            {name: tree_of(value) for name, value in step.state.values.items()}
            for step in shown.steps
        ]
    except ValueSyntaxError as error:
        raise CommandError(f"{shown.model}: {error}") from error
    actions = [step.state.action or "" for step in shown.steps]
    diagram = cluster_diagram(states, actions, shown.claim)
    if diagram is None:
        raise CommandError(f"{shown.model}: only models of Cluster.tla have swim lanes")
    for begins in _beginning(states[0]):
        for line in textwrap.wrap(begins, width, subsequent_indent="  "):
            yield [(line, "dim")]
    yield from TextLanes(diagram, width, glyphs=glyphs, contents=True).lines()
    for line in (*shown.continuation(), shown.claim):
        yield [(line, "bad")]


def _beginning(first: Tree) -> Iterator[str]:
    """Describe the initial state: members, committed log, messages under way."""
    for i, member in first["member"].items():
        yield f"member {i} starts as {_member(member, state_part(first, 'log', i) or [])}"
    committed = state_part(first, "hist", "committed")
    if committed is not None:
        yield f"committed at the start: {value_text(committed)}"
    for i, queues in first["channel"].items():
        for j, queue in queues.items():
            if queue:
                named = ", ".join(str(one.get("type")) for one in queue)
                yield f"under way at the start from member {i} to member {j}: {named}"


def _member(member: Tree, log: list[int]) -> str:
    """Describe the initial state of a member: its terms as ``id[base, end)``."""
    terms = [
        f"{entry['leadershipTermId']}[{entry['termBaseLogPosition']},"
        f"{'-' if entry['logPosition'] == NULL_VALUE else entry['logPosition']})"
        for entry in member.get("recordingLog", ())
    ]
    parts = [f"{member.get('electionState')} {member.get('role')}"]
    parts += [f"commitPosition {member.get('commitPosition')}", f"log {value_text(log)}"]
    return ", ".join([*parts, f"recordingLog {' '.join(terms) or '[]'}"])

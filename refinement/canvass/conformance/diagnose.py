"""The divergences of one run, each at the step where it shows first; and their explanations.

`divergences_of` makes them from wrong steps, broken causality and violated properties.
`explain_refusal` adds the definition in the spec, the step, its changes, and the outcome that the
core gives for it. If the action is not enabled, TLC says which parts of its guard hold; if TLC
cannot run, only this reason is missing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
from msgspec.structs import replace

from canvass.cluster.member import Member
from canvass.cluster.messages import Message, Record, wire_name
from canvass.cluster.rules import HARDENED, Rules
from canvass.conformance.causality import (
    JOINING_PROBLEMS,
    NO_LEADER,
    NOT_WRITTEN,
    PROBLEMS,
    SENT_TWICE,
    Order,
    sent_twice,
)
from canvass.conformance.findings import LOG_STREAM, MESSAGE_CAUSALITY, Divergence, DivergenceClass
from canvass.conformance.run_arrays import RunArrays, steps_of
from canvass.conformance.safety_monitors import Violation
from canvass.spec.files import find_definition, spec_root
from canvass.steps.action_fields import Frame, frame_of
from canvass.steps.answers import StepLookup
from canvass.steps.kernel import Status, StepColumns
from canvass.steps.step import (
    Question,
    Sends,
    Step,
    impossible_field,
    question_of,
    regime,
    renumbered,
    step_of,
)
from canvass.tlc.errors import TlcError
from canvass.traces.actions import ACTION_INPUTS, ACTIONS, Action
from canvass.traces.columns import EventColumns
from canvass.traces.parquet import read_runs
from canvass.traces.schema import MEMBER_COLUMNS, NONE, Event, Run, message_id_text

# --- definitions and guards in the spec -----------------------------------------------------------

_STANDS_FOR: Final = {MESSAGE_CAUSALITY: "Arrive", LOG_STREAM: "NextEntry"}
"""For each check of causality the operator of ``Cluster.tla`` that it checks."""
_JOINS: Final = ("FollowerCatchupAwait", "FollowerLogAwait")
"""The steps that join a log; the operator of ``Cluster.tla`` is ``IsConnected``."""


class Operator(Record, frozen=True):
    """A definition of the spec."""

    module: str
    line: int
    lines: tuple[str, ...]


@cache
def find_operator(name: str, action: str = "") -> Operator | None:
    """Find the definition behind an action, a safety property or a check of causality.

    Parameters
    ----------
    name
        The name of a divergence.
    action
        The action of the step that diverges, if known. For a log, the definition depends on it.

    Returns
    -------
    Operator or None
        None for a name that the spec does not define.
    """
    is_join = name == LOG_STREAM and action in _JOINS
    meant = "IsConnected" if is_join else _STANDS_FOR.get(name, name)
    found = find_definition(spec_root(), spec_root() / "Properties.tla", meant)
    return None if found is None else Operator(found.module.stem, found.line, found.lines)


def operator_place(action: Action) -> str:
    """Give the name of an action with the file and line of its definition."""
    found = find_operator(action.value)
    return action.value if found is None else f"{action.value}, {found.module}.tla:{found.line}"


_ROOT_MODULE: Final = "GuardProbe"
_GUARD: Final = re.compile(
    r"\A[^=]*?==\s*(?P<defs>LET\b.*?\bIN\b\s*)?IF\s+(?P<guard>.*?)\s*\bTHEN\s+\{\}", re.DOTALL
)
_OPEN, _CLOSE = "([{", ")]}"


@dataclass(frozen=True, slots=True)
class Guard:
    """The condition under which an action is not enabled: a disjunction of parts."""

    definitions: str
    """``LET ... IN`` with the definitions that the parts use, or nothing."""
    parts: tuple[str, ...]


def guard_of(operator: Operator) -> Guard | None:
    """Take the guard from the definition of an action; None if the action is always enabled."""
    match = _GUARD.match("\n".join(operator.lines))
    if match is None:
        return None
    return Guard(match["defs"] or "", tuple(_disjuncts(match["guard"])))


def _disjuncts(text: str) -> list[str]:
    """Split a condition at those of its disjunctions that are not in brackets."""
    depth = 0
    parts = [""]
    for at, sign in enumerate(text):
        if text.startswith("\\/", at) and not depth:
            parts.append("")
            continue
        depth += (sign in _OPEN) - (sign in _CLOSE)
        if not (sign == "/" and text.startswith("\\/", at - 1) and not depth):
            parts[-1] += sign
    return [" ".join(part.split()) for part in parts if part.strip()]


def failing_parts(step: Step, rules: Rules) -> tuple[str, ...]:
    """Give the parts of an action's guard that keep it from being enabled.

    Raises
    ------
    TlcError
        If TLC cannot run.
    """
    return tuple(part for part, holds in guard_parts(step, rules) if holds)


def guard_parts(step: Step, rules: Rules) -> tuple[tuple[str, bool], ...]:
    """Give the parts of an action's guard, and whether each keeps it from being enabled.

    Raises
    ------
    TlcError
        If TLC cannot run.
    """
    operator = find_operator(step.action.value)
    guard = None if operator is None else guard_of(operator)
    if guard is None:
        return ()
    return tuple(zip(guard.parts, _evaluate(step, rules, guard), strict=True))


def _evaluate(step: Step, rules: Rules, guard: Guard) -> Sequence[bool]:
    from canvass.steps.oracle import constants_of, printed_by, step_text
    from canvass.tlc.config import TlcConfig
    from canvass.tlc.results import Outcome
    from canvass.tlc.runner import SHORT_RUN

    bits = ", ".join(f"Bit({part})" for part in guard.parts)
    text = (
        f"---- MODULE {_ROOT_MODULE} ----\nEXTENDS Encoding, TLC\n"
        f'ASSUME LET r == IntegersOf("{step_text(step)}")\n'
        "           i == r[1]\n"
        "           s == DecodeState(r, 3)\n"
        "           x == DecodeInput(r, AfterState(r, AfterState(r, 3)))\n"
        f"       IN PrintT({guard.definitions} <<{bits}>>)\n====\n"
    )
    config = TlcConfig(constants=constants_of(rules))
    printed, result, _ = printed_by(
        _ROOT_MODULE, text, config, heap_mib=512, stack_mib=64, jvm_args=SHORT_RUN
    )
    if result.outcome is not Outcome.SUCCESS or len(printed) != 1:
        return (False,) * len(guard.parts)
    return [bit == 1 for bit in printed[0]]


# --- a run and its divergences --------------------------------------------------------------------

MAX_DIVERGENCES: Final = 20
_LOG_PROBLEMS: Final = frozenset({NOT_WRITTEN, NO_LEADER, *JOINING_PROBLEMS})
HAZARDS_OF: Final = {
    "CommittedIsDurable": ("HZ1", "HZ2", "HZ3", "HZ5", "HZ6", "HZ8", "HZ9", "HZ11"),
    "StateMachineSafety": ("HZ1", "HZ2", "HZ10"),
}
"""Properties that 1.49 and 1.50 can violate although each step is allowed, and the pages on that.
If other properties are violated in the same run, that is a consequence.
"""


@dataclass(frozen=True, slots=True)
class RunColumns:
    """All events of a run in columns."""

    run: Run
    columns: EventColumns
    steps: StepColumns
    """The steps that the events record, in the same rows."""

    def row_of(self, member: int, step: int) -> int:
        """Give the row of a step."""
        columns = self.columns
        return int(np.flatnonzero((columns.member == member) & (columns.step == step))[0])

    def events(self) -> dict[int, list[Event]]:
        """Give the events of each member."""
        columns, found = self.columns, dict[int, list[Event]]()
        for row, member in enumerate(columns.member.tolist()):
            source = columns.sources[row] if columns.sources else None
            found.setdefault(member, []).append(replace(columns.event(row), source=source))
        return found

    def step(self, row: int) -> Step:
        """Give the step that a row records."""
        return step_of(self.steps, row)


def load(path: Path, run_id: str) -> RunColumns:
    """Read one run of a folder or of a file of a data set.

    Raises
    ------
    TraceError
        If it is no trace.
    KeyError
        If there is no such run, or it has no events.
    """
    entry, columns = next(read_runs(path, [run_id]), (None, None))
    if entry is None or columns is None:
        raise KeyError(run_id)
    run = ruled = entry.run
    try:
        _ = run.rules
    except ValueError:  # Its verdict says so; its steps can be shown.
        ruled = replace(run, hardening=(), appointed_leader_id=-1)
    return RunColumns(run, columns, steps_of(columns, [ruled]))


def divergences_of(
    run: Run,
    arrays: RunArrays,
    order: Order,
    broken: Iterable[Violation],
    wrong: Mapping[int, Step],
) -> tuple[Divergence, ...]:
    """Give the divergences of a run in the order of causes: the first of each kind and name.

    Parameters
    ----------
    run
        The contents of ``run.json``.
    arrays
        All events of the run.
    order, broken
        The results of the checks of the whole run.
    wrong
        Steps that are not allowed, by their rows: at least the first two of each member and action.
    """
    found = [
        *islice(_steps(run, arrays, order, wrong), MAX_DIVERGENCES),
        *_receipts(arrays, order),
        *(_violation(arrays, order, each) for each in broken),
    ]
    return tuple(_with_hazards(run, _firsts(found))[:MAX_DIVERGENCES])


def _with_hazards(run: Run, found: list[Divergence]) -> list[Divergence]:
    """If all steps are allowed, note on violated properties that the revision can violate them."""
    only_properties = all(one.kind is DivergenceClass.SAFETY_PROPERTY for one in found)
    names = {one.name for one in found} & HAZARDS_OF.keys()
    hardened = run.revision == HARDENED or run.hardening
    if not (only_properties and names) or hardened or run.disk_replaced:
        return found
    pages = {page for name in names for page in HAZARDS_OF[name]}
    known = ", ".join(sorted(pages, key=lambda page: int(page.removeprefix("HZ"))))
    note = (
        f"; the spec allows every step, and revision {run.revision} can violate this property:"
        f" see {known} in docs/findings"
    )
    return [replace(one, text=one.text + note) for one in found]


_CLASS_ORDER: Final = list(DivergenceClass)


def _precedence(divergence: Divergence) -> tuple[int, int, str]:
    return divergence.rank, _CLASS_ORDER.index(divergence.kind), divergence.name


def _firsts(found: Iterable[Divergence]) -> list[Divergence]:
    """Give the first divergence of each kind and name, in the order of causes."""
    first: dict[tuple[DivergenceClass, str], Divergence] = {}
    for divergence in sorted(found, key=_precedence):
        first.setdefault((divergence.kind, divergence.name), divergence)
    return list(first.values())


def _at(
    arrays: RunArrays, order: Order, row: int, kind: DivergenceClass, name: str, text: str
) -> Divergence:
    return Divergence(
        kind=kind,
        name=name,
        member=int(arrays.member[row]),
        step=int(arrays.step[row]),
        text=text,
        rank=int(order.rank[row]),
    )


def _violation(arrays: RunArrays, order: Order, violation: Violation) -> Divergence:
    causal = violation.name == LOG_STREAM
    kind = DivergenceClass.CAUSALITY if causal else DivergenceClass.SAFETY_PROPERTY
    return _at(arrays, order, violation.row, kind, violation.name, violation.text)


def _receipts(arrays: RunArrays, order: Order) -> Iterator[Divergence]:
    """Give the first divergence of each name: each event may have one."""
    rows = np.flatnonzero(order.found)
    rank = order.rank[rows]
    # A wrong receipt of an id that was sent twice is a consequence of the second send.
    rank[order.found[rows] == SENT_TWICE] -= len(arrays)
    of_log = np.isin(order.found[rows], sorted(_LOG_PROBLEMS))
    for name, chosen in ((LOG_STREAM, of_log), (MESSAGE_CAUSALITY, ~of_log)):
        if not chosen.any():
            continue
        row = int(rows[chosen][np.argmin(rank[chosen])])
        problem, step = int(order.found[row]), 0
        if problem == SENT_TWICE:
            identity, first = sent_twice(arrays, row)
            sender, step = int(arrays.member[first]), int(arrays.step[first])
        else:
            identity, sender = int(arrays.received_id[row]), int(arrays.received_from[row])
        text = PROBLEMS[problem].format(id=message_id_text(identity), sender=sender, step=step)
        yield _at(arrays, order, row, DivergenceClass.CAUSALITY, name, text)


# --- steps ----------------------------------------------------------------------------------------


def _steps(
    run: Run, arrays: RunArrays, order: Order, wrong: Mapping[int, Step]
) -> Iterator[Divergence]:
    """Give the first two wrong steps of each action, in the order of causes."""
    rank, taken = order.rank, Counter[Action]()
    for row in sorted(wrong, key=lambda row: (rank[row], row)):
        step = wrong[row]
        taken[step.action] += 1
        if taken[step.action] <= 2:
            kind, text = _what_is_wrong(step, run)
            yield _at(arrays, order, row, kind, step.action.value, text)


def _what_is_wrong(step: Step, run: Run) -> tuple[DivergenceClass, str]:
    """Give the class of a wrong step, and a text that says what is wrong."""
    rules = run.rules
    frame = frame_of(step.action, regime(step), shows_votes=rules.is_hardened("HZ11"))
    found = question_of(step, rules)
    if found is Status.OUT_OF_DOMAIN:
        name = impossible_field(step, frame.after | ACTION_INPUTS[step.action].fields)
        text = f"{wire_name(name)} holds what no member of this cluster can have there"
        return DivergenceClass.IMPLEMENTATION_STEP, text
    if found is Status.FRAME_BROKEN:
        rest = as_if_changed_before(step, frame)
        fields = [one.field for one in differences(step.before, rest.before, step.before, (), ())]
        text = f"this step cannot change {', '.join(fields)}; the trace reports a change"
        if isinstance(question_of(rest, rules), Question) and core_allows(rules, rest):
            text += "; the rest of the step is allowed, so that a step before it is not recorded"
            return DivergenceClass.INSTRUMENTATION_GAP, text
        return DivergenceClass.IMPLEMENTATION_STEP, text
    return DivergenceClass.IMPLEMENTATION_STEP, _what_was_reported(step, rules)


def as_if_changed_before(step: Step, frame: Frame) -> Step:
    """Give the step with the untouched fields of the state before replaced by those after it."""
    state: dict[str, Any] = {
        name: getattr(step.after, name) for name in frame.untouched if "." not in name
    }
    own = [name.removeprefix("members.") for name in frame.untouched if "." in name]
    touched = getattr(step.input.message, frame.record_of) if frame.record_of else None
    records = []
    for j, (before, after) in enumerate(zip(step.before.members, step.after.members, strict=True)):
        names = own if touched in (None, j) else MEMBER_COLUMNS
        fields: dict[str, Any] = {name: getattr(after, name) for name in names}
        records.append(replace(before, **fields))
    return replace(step, before=replace(step.before, members=tuple(records), **state))


def core_outcome(rules: Rules, step: Step) -> tuple[Member, Sends] | None:
    """Give the outcome of a step by the Python core, None if its action is not enabled.

    Use it only for texts and for mutants: TLC decides verdicts.
    """
    from canvass.cluster import core

    outcome = core.step(rules, step.member, step.before, step.action.value, step.input)
    if outcome is None:
        return None
    return outcome.next, tuple((send.to, send.message) for send in outcome.sends)


def core_allows(rules: Rules, step: Step) -> bool:
    """Tell whether the Python core allows a step. Sends to different members have no order."""
    outcome = core_outcome(rules, step)
    if outcome is None or outcome[0] != step.after:
        return False
    return sorted(outcome[1], key=_receiver) == sorted(step.sends, key=_receiver)


def _receiver(send: tuple[int, Message]) -> int:
    return send[0]


def _what_was_reported(step: Step, rules: Rules) -> str:
    """Compare a step that TLC has refused with the outcome of the core, which decides nothing."""
    outcome = core_outcome(rules, step)
    if outcome is None:
        before = f"electionState {step.before.election_state.value}, role {step.before.role.value}"
        return f"by the spec this step is not enabled in the state before it ({before})"
    found = _from_outcome(step, outcome)
    return in_words(found) if found else "by the spec this step leads to another state"


def _from_outcome(step: Step, outcome: tuple[Member, Sends]) -> tuple[Difference, ...]:
    """Give what differs between a step and the outcome that it should have."""
    after, sends = outcome
    return tuple(differences(step.before, step.after, after, step.sends, sends))


# --- differences of two outcomes ------------------------------------------------------------------

_MAX_SAID: Final = 3
"""Differences in one sentence."""
_SENDS_TO: Final = "sends to "


class Difference(Record, frozen=True):
    """A field in which two states or lists of messages differ."""

    field: str
    before: str
    observed: str
    allowed: str


def differences(
    before: Member, observed: Member, allowed: Member, sent: Sends, would_send: Sends
) -> Iterator[Difference]:
    """Give the fields in which the observed state and sends differ from those allowed."""
    old, seen, right = (dict(_flat(state)) for state in (before, observed, allowed))
    for name in dict.fromkeys((*seen, *right)):
        if seen.get(name) != right.get(name):
            yield Difference(
                name, old.get(name, "absent"), seen.get(name, "absent"), right.get(name, "absent")
            )
    receivers = sorted({to for to, _ in (*sent, *would_send)})
    for receiver in receivers:
        is_sent = "; ".join(_text(message) for to, message in sent if to == receiver)
        should = "; ".join(_text(message) for to, message in would_send if to == receiver)
        if is_sent != should:
            yield Difference(f"{_SENDS_TO}{receiver}", "", is_sent or "none", should or "none")


def in_words(found: tuple[Difference, ...]) -> str:
    """Give a sentence with the outcome of the spec, and the one that the trace reports.

    Parameters
    ----------
    found
        At least one difference; the sentence has the first few.
    """
    said = found[:_MAX_SAID]
    allowed = _joined([_part(each.field, each.allowed) for each in said])
    observed = _joined([_part(each.field, each.observed) for each in said])
    rest = f"; {len(found) - _MAX_SAID} more not shown" if len(found) > _MAX_SAID else ""
    return f"by the spec this step leads to {allowed}; the trace reports {observed}{rest}"


def _part(field: str, value: str) -> str:
    if not field.startswith(_SENDS_TO):
        return f"{field} {value}"
    receiver = field.removeprefix(_SENDS_TO)
    return f"{'nothing sent' if value == 'none' else f'{value} sent'} to {receiver}"


def _joined(parts: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def _flat(state: Member) -> Iterator[tuple[str, str]]:
    for name in state.__struct_fields__:
        value = getattr(state, name)
        if name == "members":
            for j, record in enumerate(value):
                for field in record.__struct_fields__:
                    yield f"members[{j}].{wire_name(field)}", _text(getattr(record, field))
        elif name == "recording_log":
            for k, entry in enumerate(value):
                cells = (entry.leadership_term_id, entry.term_base_log_position, entry.log_position)
                yield f"recordingLog[{k}]", f"term {cells[0]} from {cells[1]} to {cells[2]}"
        else:
            yield wire_name(name), _text(value)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    names = getattr(value, "__struct_fields__", None)
    if names is not None:
        parts = (f"{wire_name(name)}={_text(getattr(value, name))}" for name in names)
        return f"{type(value).__name__}({', '.join(parts)})"
    return str(getattr(value, "value", value))


# --- a divergence with its context ----------------------------------------------------------------

OF_STEPS: Final = (DivergenceClass.IMPLEMENTATION_STEP, DivergenceClass.INSTRUMENTATION_GAP)
"""The classes of a wrong step; the other classes concern causality and safety properties."""
_STEPS_BEFORE: Final = 5
"""Steps of the member that a report shows before the divergence."""


class RefusedStep(Record, frozen=True):
    """A divergence with its context."""

    run_id: str
    divergence: Divergence
    event: Event
    earlier: tuple[Event, ...]
    """The member's steps before it."""
    changed: tuple[Difference, ...] = ()
    """The changes of the step, as observed."""
    enabled: tuple[str, ...] = ()
    """Actions without a message that the core allows in the state before, on the same input."""
    action_enabled: bool = False
    failing: tuple[str, ...] = ()
    """If the action is not enabled: the parts of its guard in the spec that hold."""
    expected: tuple[Difference, ...] = ()
    """If the action is enabled: where the outcome of the Python core differs from the observed."""
    operator: Operator | None = None
    note: str = ""
    """The reason why the report cannot say, or not in full, what the spec allows."""


def explain_refusal(loaded: RunColumns, divergence: Divergence, lookup: StepLookup) -> RefusedStep:
    """Explain a divergence."""
    columns = loaded.columns
    row = loaded.row_of(divergence.member, divergence.step)
    first = row
    while columns.predecessor[first] != NONE and row - first < _STEPS_BEFORE:
        first -= 1
    event = columns.event(row)
    base = RefusedStep(
        run_id=loaded.run.run_id,
        divergence=divergence,
        event=event,
        earlier=tuple(columns.event(at) for at in range(first, row)),
        operator=find_operator(divergence.name, event.action.value),
    )
    if int(loaded.steps.before[row]) < 0:
        return base
    step = loaded.step(row)
    changed = tuple(differences(step.before, step.before, step.after, (), ()))
    fields: dict[str, Any] = {"changed": changed}
    if divergence.kind in OF_STEPS:
        fields |= _allowed_instead(step, loaded.run.rules, lookup)
    return replace(base, **fields)


def _allowed_instead(step: Step, rules: Rules, lookup: StepLookup) -> dict[str, Any]:
    if wrong := impossible_field(step):
        return {"note": f"{wrong} is out of range, so that the spec has nothing to say"}
    silent = replace(step.input, message=None)
    enabled = [
        action.value
        for action in ACTIONS
        if ACTION_INPUTS[action].message is None
        and core_outcome(rules, replace(step, action=action, input=silent)) is not None
    ]
    if outcome := core_outcome(rules, step):
        found = _from_outcome(step, outcome)
        return {
            "enabled": tuple(enabled),
            "action_enabled": True,
            "expected": found,
            "note": "" if found else "the Python core takes this step, and TLC refuses it",
        }
    try:
        failing = (lookup.guards or failing_parts)(renumbered(step), rules)
    except TlcError as error:
        return {"enabled": tuple(enabled), "note": f"TLC could not be asked: {error}"}
    return {"enabled": tuple(enabled), "failing": failing}

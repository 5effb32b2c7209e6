"""The divergences of one run, each at the step where it shows first; and a run in columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from msgspec import structs
from msgspec.structs import replace

from canvass.cluster.names import wire_name
from canvass.cluster.rules import HARDENED, Rules
from canvass.conformance import causality, kernel_order
from canvass.conformance.batch import join, steps_of
from canvass.conformance.causality import PROBLEMS, Order
from canvass.conformance.differences import differences, in_words
from canvass.conformance.safety_monitors import Violation
from canvass.conformance.sequence import Sequence
from canvass.conformance.verdict import LOG_STREAM, MESSAGE_CAUSALITY, Divergence, DivergenceClass
from canvass.conformance.whole_run import WholeRun
from canvass.steps.core_answer import core_answer
from canvass.steps.frames import Frame, frame_of
from canvass.steps.kernel import Status, StepColumns
from canvass.steps.question import Question, question_of, regime, step_of
from canvass.steps.renaming import impossible_field
from canvass.steps.step import Step
from canvass.traces.actions import ACTION_INPUTS
from canvass.traces.columns import EventColumns, Ints
from canvass.traces.layout import ACTION_NAMES, MEMBER_COLUMNS, message_id_text
from canvass.traces.run import RunFolder
from canvass.traces.schema import Event, Run

Allowed = Callable[[Question], bool]
"""Tells of a step whether the spec allows it."""

MAX_DIVERGENCES: Final = 20
_LOG_PROBLEMS: Final = frozenset(
    {kernel_order.NOT_WRITTEN, kernel_order.NO_LEADER, *causality.JOINING_PROBLEMS}
)
HAZARDS_OF: Final = {
    "CommittedIsDurable": ("HZ1", "HZ2", "HZ3", "HZ5", "HZ6", "HZ8", "HZ9", "HZ11"),
    "StateMachineSafety": ("HZ1", "HZ2", "HZ10"),
}
"""Properties that 1.49 and 1.50 violate although each step is allowed, and the pages about that.
Other properties that are violated with them are violated as a consequence.
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
        """Give the events of each member, without their sources."""
        columns, found = self.columns, dict[int, list[Event]]()
        for row, member in enumerate(columns.member.tolist()):
            found.setdefault(member, []).append(columns.event(row))
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
    parts: list[EventColumns]
    if path.suffix == ".parquet" and not path.is_dir():
        from canvass.traces.parquet import DatasetFile

        with DatasetFile(path) as file:
            run = file.runs[run_id].run
            parts = list(file.batches([run_id]))
    else:
        folder = RunFolder(path)
        run = folder.run
        parts = list(folder.columns())
    if not parts:
        raise KeyError(run_id)
    columns, ruled = join(parts), run
    try:
        _ = run.rules
    except ValueError:  # Its verdict says so; its steps can be shown.
        ruled = replace(run, hardening=(), appointed_leader_id=-1)
    return RunColumns(run, columns, steps_of(columns, [ruled]))


def divergences_of(
    run: Run,
    sequence: Sequence,
    whole: WholeRun,
    wrong: Ints,
    step_of: Callable[[int], Step],
    allowed: Allowed,
) -> tuple[Divergence, ...]:
    """Give the divergences of a run in the order of causes: the first of each kind and name.

    Parameters
    ----------
    run
        The contents of ``run.json``.
    sequence
        All events of the run.
    whole
        The result of the checks of the whole run.
    wrong
        Rows of steps that are not allowed: for each member and action at least two, if there are.
    step_of
        Gives the step of a row of ``wrong``.
    allowed
        Decides variants of these steps.
    """
    order = whole.order
    found = [
        *_steps(run, sequence, order, wrong, step_of, allowed),
        *_receipts(sequence, order),
        *(_violation(sequence, order, each) for each in whole.broken),
    ]
    named = _with_hazards(run, _firsts(found))
    return tuple(sorted(named, key=_precedence)[:MAX_DIVERGENCES])


def _with_hazards(run: Run, found: list[Divergence]) -> list[Divergence]:
    """Add to violated properties, if all steps are allowed, that the revision violates them."""
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
    return [structs.replace(one, text=one.text + note) for one in found]


_CLASS_ORDER: Final = list(DivergenceClass)


def _precedence(divergence: Divergence) -> tuple[int, int, str]:
    return divergence.rank, _CLASS_ORDER.index(divergence.kind), divergence.name


def _firsts(found: Iterable[Divergence]) -> list[Divergence]:
    first: dict[tuple[DivergenceClass, str], Divergence] = {}
    for divergence in sorted(found, key=_precedence):
        first.setdefault((divergence.kind, divergence.name), divergence)
    return list(first.values())


def _at(
    sequence: Sequence, order: Order, row: int, kind: DivergenceClass, name: str, text: str
) -> Divergence:
    return Divergence(
        kind=kind,
        name=name,
        member=int(sequence.member[row]),
        step=int(sequence.step[row]),
        text=text,
        rank=int(order.rank[row]),
    )


def _violation(sequence: Sequence, order: Order, violation: Violation) -> Divergence:
    causal = violation.name == LOG_STREAM
    kind = DivergenceClass.CAUSALITY if causal else DivergenceClass.SAFETY_PROPERTY
    return _at(sequence, order, violation.row, kind, violation.name, violation.text)


def _receipts(sequence: Sequence, order: Order) -> Iterator[Divergence]:
    """Give the first divergence of each name: each event may have one."""
    rows = np.flatnonzero(order.found)
    rank = order.rank[rows]
    # A wrong receipt of an id that was sent twice is a consequence of the second send.
    rank[order.found[rows] == kernel_order.SENT_TWICE] -= len(sequence)
    of_log = np.isin(order.found[rows], sorted(_LOG_PROBLEMS))
    for name, chosen in ((LOG_STREAM, of_log), (MESSAGE_CAUSALITY, ~of_log)):
        if not chosen.any():
            continue
        row = int(rows[chosen][np.argmin(rank[chosen])])
        problem, step = int(order.found[row]), 0
        if problem == kernel_order.SENT_TWICE:
            identity, first = causality.sent_twice(sequence, row)
            sender, step = int(sequence.member[first]), int(sequence.step[first])
        else:
            identity, sender = int(sequence.received_id[row]), int(sequence.received_from[row])
        text = PROBLEMS[problem].format(id=message_id_text(identity), sender=sender, step=step)
        yield _at(sequence, order, row, DivergenceClass.CAUSALITY, name, text)


# --- steps ----------------------------------------------------------------------------------------


def _steps(
    run: Run,
    sequence: Sequence,
    order: Order,
    wrong: Ints,
    step_of: Callable[[int], Step],
    allowed: Allowed,
) -> Iterator[Divergence]:
    for row in _first_rows(sequence.action, order, wrong):
        kind, text = _what_is_wrong(step_of(row), run, allowed)
        name = ACTION_NAMES[int(sequence.action[row])]
        yield _at(sequence, order, row, kind, name, text)


def _first_rows(actions: Ints, order: Order, rows: Ints) -> list[int]:
    """Give the first two wrong rows of each action, in the order of causes."""
    rows = rows[np.argsort(order.rank[rows], kind="stable")]
    taken: dict[int, int] = {}
    chosen = []
    for row in rows.tolist():
        action = int(actions[row])
        taken[action] = taken.get(action, 0) + 1
        if taken[action] <= 2:
            chosen.append(row)
    return chosen[:MAX_DIVERGENCES]


def _what_is_wrong(step: Step, run: Run, allowed: Allowed) -> tuple[DivergenceClass, str]:
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
        asked = question_of(rest, rules)
        if isinstance(asked, Question) and allowed(asked):
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


def _what_was_reported(step: Step, rules: Rules) -> str:
    """Compare a step that TLC has refused with the outcome of the core, which decides nothing."""
    answer = core_answer(rules, step)
    if not answer.enabled:
        before = f"electionState {step.before.election_state.value}, role {step.before.role.value}"
        return f"by the spec this step is not enabled in the state before it ({before})"
    for after, sends in answer.outcomes:
        found = tuple(differences(step.before, step.after, after, step.sends, sends))
        if found:
            return in_words(found)
    return "by the spec this step leads to another state"

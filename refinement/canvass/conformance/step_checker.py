"""The check of single steps: canonicalise, number the distinct ones, give an example of each.

`StepChecker` takes batches of events. It gives for each event the number of its canonical step, or
a problem that the event alone shows. `StepLookup` decides each number later. Nothing here knows
graph or oracle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from canvass.cluster.member import Member
from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.rules import Rules
from canvass.conformance.batch import Batch, States, states_before
from canvass.steps.distinct import DistinctKeys
from canvass.steps.form import Form, form_of, forms_of
from canvass.steps.kernel import Status, StepColumns, canonical_keys, flavour
from canvass.steps.oracle import rules_digest
from canvass.steps.step import Step, input_of
from canvass.traces.actions import ACTIONS
from canvass.traces.columns import EventColumns, Ints, member_of, message_of


def rules_of_form(rules: Rules, *, barred: bool) -> Rules:
    """Give the rules under which canonical steps are decided.

    Their member is 0: an appointed leader is another member, or does not matter.
    """
    return Rules(rules.member_count, rules.revision, rules.hardening, 1 if barred else NULL_VALUE)


@dataclass(frozen=True, slots=True)
class Example:
    """A canonical step, with the rules that decide it."""

    rules: Rules
    step: Step
    key: tuple[int, int]
    """The key of step and rules together."""


def example_of(step: Step, rules: Rules) -> Example | None:
    """Give the canonical form of a step as an example; None if the step is wrong in itself."""
    form = form_of(step, rules)
    return None if isinstance(form, Status) else _example(form, rules)


def _example(form: Form, rules: Rules) -> Example:
    first, second = form.key
    key = (first, second ^ rules_digest(rules))
    return Example(rules_of_form(rules, barred=form.step.barred), form.step, key)


@dataclass(frozen=True, slots=True)
class StepResults:
    """The results for the events of a batch."""

    batch: Batch
    states: States
    status: Ints
    """`Status` of each event."""
    numbers: Ints
    """The number of each event's canonical step; -1 if there is none."""
    fresh: dict[int, int]
    """The new numbers, each with a row that has the step."""

    def examples(self, numbers: Sequence[int]) -> list[Example]:
        """Give the examples of new numbers."""
        rows = np.array([self.fresh[number] for number in numbers], dtype=np.int64)
        forms = forms_of(steps_of(self.batch, self.states).take(rows))
        runs = self.batch.columns.run[rows].tolist()
        return [
            _example(cast(Form, form), self.batch.runs[run].rules)
            for form, run in zip(forms, runs, strict=True)
        ]


def steps_of(batch: Batch, states: States) -> StepColumns:
    """Give the steps that the events of a batch record, without copying them.

    Parameters
    ----------
    batch
        The events.
    states
        As `states_before` gives them.
    """
    columns = batch.columns
    flavours = np.array([flavour(run.rules) for run in batch.runs], dtype=np.int64)
    return StepColumns(
        flavours=flavours[columns.run],
        member=columns.member,
        action=columns.action,
        before=states.before,
        after=np.arange(len(columns), dtype=np.int64),
        inputs=columns.inputs,
        message=columns.message,
        state=states.state,
        members=states.members,
        log_offsets=states.log_offsets,
        log=states.log,
        send_offsets=columns.send_offsets,
        sends=columns.sends,
    )


@dataclass(slots=True)
class StepChecker:
    """Numbers the distinct canonical steps of all events that it is given."""

    distinct: DistinctKeys = field(default_factory=DistinctKeys)

    def check(self, batch: Batch) -> StepResults:
        """Check the events of a batch."""
        columns = batch.columns
        states = states_before(batch)
        keys, status = canonical_keys(steps_of(batch, states))
        status[: columns.context] = Status.UNKNOWN_BEFORE
        digests = np.array([rules_digest(run.rules) for run in batch.runs], dtype=np.uint64)
        keys[:, 1] ^= digests[columns.run]
        known = len(self.distinct)
        numbers = self.distinct.number(keys, status == Status.KEYED)
        rows = np.flatnonzero(numbers >= known)
        fresh, places = np.unique(numbers[rows], return_index=True)
        first = dict(zip(fresh.tolist(), rows[places].tolist(), strict=True))
        return StepResults(batch, states, status, numbers, first)


def step_at(columns: EventColumns, states: States, row: int) -> Step:
    """Give the step that an event records; the state before must be known."""

    def state(at: int) -> Member:
        start, end = int(states.log_offsets[at]), int(states.log_offsets[at + 1])
        log = states.log[start:end]
        return member_of(states.state[at].tolist(), states.members[at].tolist(), log.tolist())

    first, last = int(columns.send_offsets[row]), int(columns.send_offsets[row + 1])
    sends = []
    for cells in columns.sends[first:last]:
        sent = message_of(cells)
        assert sent is not None
        sends.append((int(cells[1]), sent))
    return Step(
        member=int(columns.member[row]),
        before=state(int(states.before[row])),
        action=ACTIONS[int(columns.action[row])],
        input=input_of(columns.inputs[row].tolist(), columns.message[row].tolist()),
        after=state(row),
        sends=tuple(sends),
    )

"""`Question`: a step that TLC decides for all steps with its key; and steps in columns.

`columns_of` and `step_of` convert steps to `StepColumns` and back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace

from canvass.cluster.member import NO_INPUT, Member
from canvass.cluster.rules import Rules
from canvass.steps.distinct import offsets_of
from canvass.steps.frames import Regime
from canvass.steps.kernel import Status, StepColumns, canonical_keys, flavour, regime_of
from canvass.steps.oracle import rules_digest
from canvass.steps.renaming import renumbered
from canvass.steps.step import (
    Step,
    entry_cells,
    input_cells,
    input_of,
    message_cells,
    record_cells,
    state_cells,
)
from canvass.steps.tables import tables
from canvass.traces.actions import ACTION_INPUTS, ACTIONS
from canvass.traces.columns import Ints, member_of, message_of
from canvass.traces.layout import (
    INPUT_COLUMNS,
    MEMBER_COLUMNS,
    MESSAGE_COLUMNS,
    STATE_COLUMNS,
)

Key = tuple[int, int]
"""The key of a canonical step together with its rules."""


@dataclass(frozen=True, slots=True)
class Question:
    """A step that TLC decides, and with it all steps with the same key."""

    rules: Rules
    step: Step
    """With ranks for terms and positions, as TLC's integers have 32 bits."""
    key: Key


def question(step: Step, rules: Rules, key: Key) -> Question:
    """Give the question about a step whose key is known."""
    read: dict[str, object] = {
        name: getattr(step.input, name) for name in ACTION_INPUTS[step.action].fields
    }
    given = replace(NO_INPUT, message=step.input.message, **read)
    small, _ = renumbered(replace(step, input=given))
    return Question(rules, small, key)


def question_of(step: Step, rules: Rules) -> Question | Status:
    """Give the question about a step, or the reason why no canonical step is equal to it."""
    keys, status = canonical_keys(columns_of([step], rules))
    if status[0] != Status.KEYED:
        return Status(int(status[0]))
    first, second = keys[0].tolist()
    return question(step, rules, (first, second ^ rules_digest(rules)))


def regime(step: Step) -> Regime:
    """Give the regime of a step."""
    t = tables()
    message = message_cells(step.input.message)
    before = state_cells(step.before)
    return Regime(regime_of(t.newer, t.leader_states, ACTIONS.index(step.action), before, message))


def step_of(steps: StepColumns, row: int) -> Step:
    """Give a step as it was recorded; the state before it must be known."""

    def state(at: int) -> Member:
        start, end = int(steps.log_offsets[at]), int(steps.log_offsets[at + 1])
        log = steps.log[start:end]
        return member_of(steps.state[at].tolist(), steps.members[at].tolist(), log.tolist())

    first, last = int(steps.send_offsets[row]), int(steps.send_offsets[row + 1])
    sends = []
    for cells in steps.sends[first:last]:
        sent = message_of(cells)
        assert sent is not None
        sends.append((int(cells[1]), sent))
    return Step(
        member=int(steps.member[row]),
        before=state(int(steps.before[row])),
        action=ACTIONS[int(steps.action[row])],
        input=input_of(steps.inputs[row].tolist(), steps.message[row].tolist()),
        after=state(int(steps.after[row])),
        sends=tuple(sends),
    )


def columns_of(steps: Sequence[Step], rules: Rules) -> StepColumns:
    """Lay out steps, all under the same rules, as the kernel takes them."""

    def table(rows: Sequence[Sequence[int]], width: int) -> Ints:
        return np.array(rows, dtype=np.int64).reshape(len(rows), width)

    states = [state for step in steps for state in (step.before, step.after)]
    rows = np.arange(len(steps), dtype=np.int64)
    width = len(MESSAGE_COLUMNS)
    records = [record_cells(record) for state in states for record in state.members]
    return StepColumns(
        flavours=np.full(len(steps), flavour(rules), dtype=np.int64),
        member=np.array([step.member for step in steps], dtype=np.int64),
        action=np.array([ACTIONS.index(step.action) for step in steps], dtype=np.int64),
        before=2 * rows,
        after=2 * rows + 1,
        inputs=table([input_cells(step.input) for step in steps], len(INPUT_COLUMNS)),
        message=table([message_cells(step.input.message) for step in steps], width),
        state=table([state_cells(state) for state in states], len(STATE_COLUMNS)),
        members=np.array(records, dtype=np.int64).reshape(
            len(states), rules.member_count, len(MEMBER_COLUMNS)
        ),
        log_offsets=offsets_of([len(state.recording_log) for state in states]),
        log=table([entry_cells(e) for state in states for e in state.recording_log], 3),
        send_offsets=offsets_of([len(step.sends) for step in steps]),
        sends=table([message_cells(m, to) for step in steps for to, m in step.sends], width),
    )

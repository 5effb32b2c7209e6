"""`Form`: the canonical form of a step as a `Step`, made of the cells that the kernel writes.

`columns_of` and `step_of` convert steps to `StepColumns` and back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from canvass.cluster.member import NO_INPUT, Member
from canvass.cluster.messages import NULL_VALUE, Message
from canvass.cluster.rules import Rules
from canvass.steps.distinct import offsets_of
from canvass.steps.frames import LOG, OPTIONAL_INPUT, Regime, frame_of
from canvass.steps.kernel import Status, StepColumns, canonical_forms, flavour, regime_of
from canvass.steps.oracle import rules_digest
from canvass.steps.step import (
    ERASED_RECORD,
    ERASED_STATE,
    Step,
    entry_cells,
    input_cells,
    input_of,
    message_cells,
    record_cells,
    state_cells,
)
from canvass.steps.tables import REGIMES, tables
from canvass.traces.actions import ACTION_INPUTS, ACTIONS
from canvass.traces.columns import Ints, member_of, message_from, message_of
from canvass.traces.layout import (
    INPUT_COLUMNS,
    LOG_COLUMNS,
    MEMBER_COLUMNS,
    MESSAGE_COLUMNS,
    MESSAGE_PLACES,
    STATE_COLUMNS,
)


@dataclass(frozen=True, slots=True)
class Form:
    """A canonical step: of member 0, with ranks for numbers; what it does not touch is erased."""

    rules: Rules
    """The rules that decide it. An appointed leader is member 1, or does not matter."""
    step: Step
    key: tuple[int, int]
    """The hash of its cells and of the rules."""


def forms_of(steps: StepColumns, rules: Sequence[Rules]) -> list[Form | Status]:
    """Give the canonical form of each step under its rules, or the reason why it has none."""
    keys, status, forms = canonical_forms(steps)
    sends = np.diff(steps.send_offsets).tolist()
    return [
        _form(cells.tolist(), own, count, (int(key[0]), int(key[1]) ^ rules_digest(own)))
        if found == Status.KEYED
        else Status(int(found))
        for key, found, cells, count, own in zip(keys, status, forms, sends, rules, strict=True)
    ]


def form_of(step: Step, rules: Rules) -> Form | Status:
    """Give the canonical form of one step, or the reason why it has none."""
    return forms_of(columns_of([step], rules), [rules])[0]


def regime(step: Step) -> Regime:
    """Give the regime of a step."""
    t = tables()
    message = message_cells(step.input.message)
    before = state_cells(step.before)
    return Regime(regime_of(t.newer, t.leader_states, ACTIONS.index(step.action), before, message))


def _form(row: list[int], rules: Rules, send_count: int, key: tuple[int, int]) -> Form:
    """Read a form: see `canvass.steps.kernel.canonical_forms`."""
    has_optional, frame_number, barred, *rest = row
    cells = iter(rest)
    action, case = ACTIONS[frame_number // REGIMES], Regime(frame_number % REGIMES)
    frame = frame_of(action, case, shows_votes=rules.is_hardened("HZ11"))
    read = ACTION_INPUTS[action]
    facts = input_cells(NO_INPUT)
    for place, name in enumerate(INPUT_COLUMNS):
        if name in read.fields and (name != OPTIONAL_INPUT or has_optional):
            facts[place] = next(cells)
    message = None if read.message is None else _message(cells)
    members = rules.member_count
    before, after = (_state(cells, kept, members) for kept in (frame.before, frame.after))
    sends = tuple((next(cells), _message(cells)) for _ in range(send_count))
    given = input_of(facts, message_cells(message))
    leader = 1 if barred else NULL_VALUE
    return Form(
        Rules(members, rules.revision, rules.hardening, leader),
        Step(0, before, action, given, after, sends, bool(barred)),
        key,
    )


def _message(cells: Iterator[int]) -> Message:
    code = next(cells)
    return message_from(code, [next(cells) for _ in MESSAGE_PLACES[code]])


def _state(cells: Iterator[int], kept: frozenset[str], members: int) -> Member:
    single = [
        next(cells) if name in kept else erased
        for name, erased in zip(STATE_COLUMNS, ERASED_STATE, strict=True)
    ]
    records = [
        [
            next(cells) if f"members.{name}" in kept else erased
            for name, erased in zip(MEMBER_COLUMNS, ERASED_RECORD, strict=True)
        ]
        for _ in range(members)
    ]
    entries = next(cells) if LOG in kept else 0
    log = [[next(cells) for _ in LOG_COLUMNS] for _ in range(entries)]
    return member_of(single, records, log)


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

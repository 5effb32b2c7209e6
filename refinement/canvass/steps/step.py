"""A step of one member: as values, in columns, with other numbers, and as a question to TLC.

Events of traces, edges of state graphs and questions to the oracle all become a `Step`.
`columns_of` and `step_of` convert steps to the columns of `canvass.steps.kernel`, which makes them
canonical, and back. `renumbered` replaces terms and positions by small ones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, TypeVar, cast

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple, replace
from numpy.typing import NDArray

from canvass.cluster.member import NO_INPUT, Input, Member
from canvass.cluster.messages import MESSAGE_TYPES, NULL_VALUE, Message
from canvass.cluster.rules import Rules
from canvass.steps.action_fields import Regime, tables
from canvass.steps.kernel import Status, StepColumns, canonical_keys, impossible, rank, regime_of
from canvass.traces.actions import ACTION_INPUTS, ACTIONS, Action
from canvass.traces.columns import (
    Ints,
    fields_of,
    from_events,
    message_of,
    sends_at,
    state_at,
    state_cells,
)
from canvass.traces.schema import INPUT_COLUMNS, Event, NumberKind, Send, mask_of, to_trace_input
from canvass.traces.schema import kind as kind_of

_Value = TypeVar("_Value")

Sends = tuple[tuple[int, Message], ...]
"""Receiver and message, in the order of sending."""


class Step(Struct, frozen=True, gc=False):
    """One step: a member in a state takes an action on an input; state and sends follow."""

    member: int
    before: Member
    action: Action
    input: Input
    after: Member
    sends: Sends


# --- as integers ----------------------------------------------------------------------------------


def flat_member(state: Member) -> list[int]:
    """Give a member as one list: fields, member records, the number of terms, the terms."""
    log = state.recording_log
    parts = (state_cells(state), *map(astuple, state.members), [len(log)], *map(astuple, log))
    return [int(cell) for cell in chain.from_iterable(parts)]


def flat_message(message: Message | None) -> list[int]:
    """Give a message as one list without padding: type code and fields; NULL_VALUE for none."""
    if message is None:
        return [NULL_VALUE]
    return [MESSAGE_TYPES.index(type(message)), *map(int, astuple(message))]


def input_cells(value: Input) -> list[int]:
    """Give the facts of an input, without its message."""
    return [
        mask_of(fact) if isinstance(fact, frozenset) else int(fact)
        for fact in (getattr(value, name) for name in INPUT_COLUMNS)
    ]


def input_of(facts: Sequence[int] | Ints, message: Sequence[int] | Ints) -> Input:
    """Give the input of a row of `INPUT_COLUMNS` and one of `MESSAGE_COLUMNS`."""
    values = fields_of(INPUT_COLUMNS, facts)
    for name in ("active", "accepted"):
        values[name] = frozenset(values[name])
    return Input(message=message_of(message), **values)


def columns_of(steps: Sequence[Step]) -> StepColumns:
    """Lay out steps of clusters of one size, at least one, as the kernel takes them."""
    columns = from_events("", 0, [event for step in steps for event in _events(step)])
    rows = np.arange(0, len(columns), 2, dtype=np.int64)
    return StepColumns(
        member=np.array([step.member for step in steps], dtype=np.int64),
        action=columns.action[1::2],
        before=rows,
        after=rows + 1,
        inputs=columns.inputs[1::2],
        message=columns.message[1::2],
        state=columns.state,
        members=columns.members,
        log_offsets=columns.log_offsets,
        log=columns.log,
        send_offsets=columns.send_offsets[::2],
        sends=columns.sends,
    )


def _events(step: Step) -> Iterator[Event]:
    """Give the state before a step, and the step, as events; messages have no ids."""
    yield Event(0, 0, step.action, to_trace_input(NO_INPUT), (), step.before)
    sends = tuple(Send(to, "", sent) for to, sent in step.sends)
    yield Event(0, 0, step.action, to_trace_input(step.input), sends, step.after)


def step_of(steps: StepColumns, row: int) -> Step:
    """Give a step as it was recorded; the state before it must be known."""
    return Step(
        member=int(steps.member[row]),
        before=state_at(steps, int(steps.before[row])),
        action=ACTIONS[int(steps.action[row])],
        input=input_of(steps.inputs[row].tolist(), steps.message[row].tolist()),
        after=state_at(steps, int(steps.after[row])),
        sends=sends_at(steps, row),
    )


def regime(step: Step) -> Regime:
    """Give the regime of a step."""
    t, steps = tables(), columns_of([step])
    action, before, message = int(steps.action[0]), steps.state[0], steps.message[0]
    return Regime(regime_of(t.newer, t.leader_states, action, before, message))


# --- with other numbers ---------------------------------------------------------------------------


def renamed(value: _Value, rename: Callable[[str, int], int]) -> _Value:
    """Rename the numbers of a step, state, input or message, each by the name of its field.

    Truth values, sets of members and receivers stay, and records stay in their places.
    """
    parts: Any = value
    if isinstance(value, tuple):
        return cast(_Value, tuple(renamed(part, rename) for part in parts))
    if not isinstance(value, Struct):
        return value
    return type(value)(
        *(
            rename(name, part) if type(part) is int else renamed(part, rename)
            for name, part in zip(value.__struct_fields__, astuple(value), strict=True)
        )
    )


def ranks(values: Iterable[int], *, terms: bool) -> dict[int, int]:
    """Give the renaming to the smallest numbers that keeps the order, and -1 and 0.

    A renaming of terms also keeps which terms are consecutive, and need not keep 0.
    """
    fixed = {NULL_VALUE: NULL_VALUE} if terms else {NULL_VALUE: NULL_VALUE, 0: 0}
    others = sorted(set(values) - set(fixed))
    places = [0] * len(others)
    rank(others, places, len(others), terms)
    return fixed | dict(zip(others, places, strict=True))


def renumbered(step: Step) -> Step:
    """Replace terms and positions by their ranks.

    A field that holds what no member of the cluster can have there becomes -1.
    """
    count = len(step.before.members)
    found: dict[NumberKind, set[int]] = {NumberKind.TERM: set(), NumberKind.POSITION: set()}

    def collect(name: str, value: int) -> int:
        found.get(kind_of(name), set()).add(value)
        return value

    renamed(step, collect)
    tables = {kind: ranks(values, terms=kind is NumberKind.TERM) for kind, values in found.items()}

    def rename(name: str, value: int) -> int:
        kind = kind_of(name)
        if kind in tables:
            return tables[kind][value]
        return NULL_VALUE if impossible(kind, value, NULL_VALUE, count) else value

    return renamed(step, rename)


def smallest(step: Step) -> Step:
    """Give a step with ranks for numbers, and only the input that its action reads."""
    read: dict[str, object] = {
        name: getattr(step.input, name) for name in ACTION_INPUTS[step.action].fields
    }
    given = replace(NO_INPUT, message=step.input.message, **read)
    return renumbered(replace(step, input=given))


def impossible_field(step: Step, fields: Collection[str] | None = None) -> str:
    """Name a field that holds what no member of the cluster can have there; "" if there is none.

    Parameters
    ----------
    step
        Any step.
    fields
        The fields of states and input to look at; None for all. All of messages are looked at.
    """
    count = len(step.before.members)
    found: list[str] = []

    def visit(name: str, value: int, lowest: int = NULL_VALUE) -> int:
        if impossible(kind_of(name), value, lowest, count):
            found.append(name)
        return value

    renamed(step.input.message, partial(visit, lowest=0))
    for to, message in step.sends:
        if not 0 <= to < count:
            found.append("to")
        renamed(message, visit)

    def visit_chosen(name: str, value: int) -> int:
        chosen = fields is None or name in fields or f"members.{name}" in fields
        return visit(name, value) if chosen else value

    renamed(replace(step, input=replace(step.input, message=None), sends=()), visit_chosen)
    votes = [record.vote for record in (*step.before.members, *step.after.members)]
    if max(votes) > 1 and (fields is None or "members.vote" in fields):
        found.append("vote")
    sets = ("active", "accepted")
    found += [name for name in sets if max(getattr(step.input, name), default=0) >= count]
    return found[0] if found else ""


# --- questions ------------------------------------------------------------------------------------

Key = bytes
"""The key of a canonical step together with its rules: the bytes of a row of `canonical_keys`."""


def key_list(rows: NDArray[np.uint64]) -> list[Key]:
    """Give the keys in the rows of an array."""
    found: list[Key] = np.ascontiguousarray(rows).view("V16").ravel().tolist()
    return found


def key_rows(keys: Iterable[Key]) -> NDArray[np.uint64]:
    """Give an array with a row for each key."""
    return np.frombuffer(b"".join(keys), np.uint64).reshape(-1, 2)


@dataclass(frozen=True, slots=True)
class Question:
    """A step that TLC decides, and with it all steps with the same key."""

    rules: Rules
    step: Step
    """With ranks for terms and positions, as TLC's integers have 32 bits."""
    key: Key


def question(step: Step, rules: Rules, key: Key) -> Question:
    """Give the question about a step whose key is known."""
    return Question(rules, smallest(step), key)


def question_of(step: Step, rules: Rules) -> Question | Status:
    """Give the question about a step, or the reason why no canonical step is equal to it."""
    keys, status = canonical_keys(columns_of([step]), [rules])
    if status[0] != Status.KEYED:
        return Status(int(status[0]))
    return question(step, rules, keys[0].tobytes())

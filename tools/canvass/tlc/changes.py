"""The smallest nested changes between two values or two states, and the counterexample document.

For a record, function or sequence the changed parts are listed; for a set or queue, the added and
removed elements. ``canvass check`` writes the JSON document of a counterexample with these changes,
and ``canvass browse`` reads it. Fields that no reader needs have defaults: other tools can write
shorter documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeGuard

from msgspec import UNSET, Struct, UnsetType

from canvass.tlc.results import Outcome
from canvass.tlc.values import Function, Value, format_value, ordered, same

Kind = Literal["changed", "added", "removed"]
"""The kind of a change. Elements of a set, arguments of a function, and items at an end of a
sequence are added or removed.
"""


@dataclass(frozen=True, slots=True)
class ValueChange:
    """One difference.

    Parameters
    ----------
    path
        The place: a variable, then ``.field`` and ``[argument]`` as in TLA+. Elements of a set, and
        items that were added or removed at an end of a sequence, have the path of the whole.
    before, after
        The values; None before something is added, and after it is removed.
    """

    path: tuple[str, ...]
    before: Value | None
    after: Value | None

    @property
    def kind(self) -> Kind:
        """The kind of the change."""
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"

    def __str__(self) -> str:
        where = "".join(self.path)
        if self.after is None and self.before is not None:
            return f"{where}: - {format_value(self.before)}"
        if self.before is None and self.after is not None:
            return f"{where}: + {format_value(self.after)}"
        assert self.before is not None
        assert self.after is not None
        return f"{where}: {_short(self.before)} -> {_short(self.after)}"


def state_changes(
    before: Mapping[str, Value], after: Mapping[str, Value]
) -> tuple[ValueChange, ...]:
    """Return the changes between two states with the same variables, in the order of `after`."""
    return tuple(
        change for name, value in after.items() for change in changes(before[name], value, (name,))
    )


def changes(before: Value, after: Value, path: tuple[str, ...]) -> Iterator[ValueChange]:
    """Yield the differences between two values, from left to right.

    Parameters
    ----------
    before, after
        The values. Two records with different fields, or two values of different kinds, are one
        change as a whole.
    path
        The path of the values.
    """
    if same(before, after):
        return
    if _is_record(before) and _is_record(after) and before.keys() == after.keys():
        for name, value in after.items():
            yield from changes(before[name], value, (*path, f".{name}"))
    elif isinstance(before, tuple) and isinstance(after, tuple):
        yield from _of_sequences(before, after, path)
    elif _is_mapped(before) and _is_mapped(after):
        yield from _of_functions(_pairs(before), _pairs(after), path)
    elif isinstance(before, frozenset) and isinstance(after, frozenset):
        yield from (ValueChange(path, value, None) for value in ordered(before - after))
        yield from (ValueChange(path, None, value) for value in ordered(after - before))
    else:
        yield ValueChange(path, before, after)


def _of_functions(
    before: dict[str, Value], after: dict[str, Value], path: tuple[str, ...]
) -> Iterator[ValueChange]:
    for argument, value in before.items():
        here = (*path, f"[{argument}]")
        if argument in after:
            yield from changes(value, after[argument], here)
        else:
            yield ValueChange(here, value, None)
    for argument, value in after.items():
        if argument not in before:
            yield ValueChange((*path, f"[{argument}]"), None, value)


def _of_sequences(
    before: tuple[Value, ...], after: tuple[Value, ...], path: tuple[str, ...]
) -> Iterator[ValueChange]:
    """Yield the shortest changes: of the front of a queue, of the end of a log, or in place."""
    front = next(k for k in range(len(before) + 1) if _starts_with(after, before[k:]))
    moved = len(before) - front
    as_queue = front + len(after) - moved
    kept = next(
        (k for k, (one, two) in enumerate(zip(before, after, strict=False)) if not same(one, two)),
        min(len(before), len(after)),
    )
    as_log = len(before) - kept + len(after) - kept
    in_place = len(after) + len(before) + 1
    if len(before) == len(after):
        pairs = zip(before, after, strict=True)
        in_place = sum(not same(one, two) for one, two in pairs)

    if in_place <= min(as_queue, as_log):
        for number, (one, two) in enumerate(zip(before, after, strict=True), 1):
            yield from changes(one, two, (*path, f"[{number}]"))
    elif as_queue <= as_log:
        yield from (ValueChange(path, value, None) for value in before[:front])
        yield from (ValueChange(path, None, value) for value in after[moved:])
    else:
        yield from (ValueChange(path, value, None) for value in before[kept:])
        yield from (ValueChange(path, None, value) for value in after[kept:])


def _starts_with(whole: tuple[Value, ...], part: tuple[Value, ...]) -> bool:
    return len(part) <= len(whole) and all(map(same, part, whole))


def _is_record(value: Value) -> TypeGuard[Function]:
    return isinstance(value, Function) and value.is_record


def _is_mapped(value: Value) -> TypeGuard[tuple[Value, ...] | Function]:
    return isinstance(value, tuple | Function) and not _is_record(value)


def _pairs(value: tuple[Value, ...] | Function) -> dict[str, Value]:
    if isinstance(value, tuple):
        return {str(number): item for number, item in enumerate(value, 1)}
    return {format_value(argument): part for argument, part in value.items()}


def _short(value: Value) -> str:
    """Write a value; a string has no quotes, because it stands alone."""
    return value if isinstance(value, str) else format_value(value)


SCHEMA: Final = "canvass.counterexample/1"


class ChangeRecord(Struct, frozen=True, kw_only=True):
    """A change of a step: the path as in TLA+, and the values in ITF if there are any."""

    path: str
    kind: Kind
    before: Any = UNSET
    after: Any = UNSET


class StepRecord(Struct, frozen=True, kw_only=True):
    """A step of a counterexample, with the state that it leads to.

    Attributes
    ----------
    number
        The number of the state, from 1.
    action, arguments, location
        As TLC reports them; null if it does not.
    acting
        The member that takes the step, or the channel that loses a message.
    changes
        The changes; null for the first state, and if a value cannot be listed.
    state
        Variable by name, in ITF; null if a value cannot be listed.
    text
        The state as TLC prints it, only if ``state`` is null.
    """

    number: int = 0
    action: str | None = None
    arguments: str | None = None
    location: str | None = None
    acting: str | None = None
    changes: tuple[ChangeRecord, ...] | None = None
    state: dict[str, Any] | None = None
    text: str | UnsetType = UNSET


VIOLATED: Final = " is violated"


def claim_of(outcome: str, name: str | None, message: str) -> str:
    """Give a violation in a few words.

    Parameters
    ----------
    outcome
        TLC's outcome; empty if unknown.
    name
        The violated property, or the one whose evaluation failed.
    message
        TLC's message; its first paragraph describes the violation if no property is violated.
    """
    if name and outcome != Outcome.EVALUATION_ERROR.value:
        return f"{name}{VIOLATED}"
    return " ".join(message.partition("\n\n")[0].split())


class CounterexampleDocument(Struct, frozen=True, kw_only=True):
    """A counterexample; ``loop`` is the number of the step to which the last one returns."""

    schema: str = SCHEMA
    model: str
    outcome: str = ""
    violated: str | None = None
    message: str = ""
    explanation: tuple[str, ...] = ()
    loop: int | None = None
    stuttering: bool = False
    steps: tuple[StepRecord, ...]

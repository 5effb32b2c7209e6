"""What changed between two values or two states: nested, as small as it can be said.

A record, function or sequence is entered; a set or queue says what came and what went. Nothing here
knows what the values mean, and nothing is printed. The JSON document of a counterexample has them:
``canvass check`` writes it, ``canvass browse`` reads it. Fields that no reader needs have defaults,
so that other tools can write a short document.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from msgspec import UNSET, Struct, UnsetType

from canvass.tlc.values import Function, Record, Seq, Set, Value, format_value, same


class ChangeKind(Enum):
    """Kind of a change."""

    CHANGED = "changed"
    ADDED = "added"
    """An element of a set, the argument of a function, or an item at the end of a sequence."""
    REMOVED = "removed"
    """The same, gone; of a sequence from either end."""


@dataclass(frozen=True, slots=True)
class Change:
    """One difference.

    Parameters
    ----------
    path
        Where: a variable, then ``.field`` and ``[argument]`` as TLA+ writes them. Items that came
        or went at an end of a sequence, and elements of a set, have the path of the whole.
    kind
        What happened there.
    before, after
        The values; null where there is none, by `kind`.
    """

    path: tuple[str, ...]
    kind: ChangeKind
    before: Value | None
    after: Value | None

    def __str__(self) -> str:
        where = "".join(self.path)
        if self.after is None and self.before is not None:
            return f"{where}: - {format_value(self.before)}"
        if self.before is None and self.after is not None:
            return f"{where}: + {format_value(self.after)}"
        assert self.before is not None
        assert self.after is not None
        return f"{where}: {_short(self.before)} -> {_short(self.after)}"


def state_changes(before: Mapping[str, Value], after: Mapping[str, Value]) -> tuple[Change, ...]:
    """Return what changed between two states of the same variables, in the order of `after`."""
    return tuple(
        change for name, value in after.items() for change in changes(before[name], value, (name,))
    )


def changes(before: Value, after: Value, path: tuple[str, ...]) -> Iterator[Change]:
    """Yield the differences between two values, from the left to the right.

    Parameters
    ----------
    before, after
        The values. Of records with different fields, and of different kinds, the whole changed.
    path
        Where the values are.
    """
    if same(before, after):
        return
    if isinstance(before, Record) and isinstance(after, Record) and set(before) == set(after):
        for name, value in after.items():
            yield from changes(before[name], value, (*path, f".{name}"))
    elif isinstance(before, Seq) and isinstance(after, Seq):
        yield from _of_sequences(before, after, path)
    elif isinstance(before, (Seq, Function)) and isinstance(after, (Seq, Function)):
        yield from _of_functions(_pairs(before), _pairs(after), path)
    elif isinstance(before, Set) and isinstance(after, Set):
        yield from (_removed(path, value) for value in before if value not in after)
        yield from (_added(path, value) for value in after if value not in before)
    else:
        yield Change(path, ChangeKind.CHANGED, before, after)


def _of_functions(
    before: dict[str, Value], after: dict[str, Value], path: tuple[str, ...]
) -> Iterator[Change]:
    for argument, value in before.items():
        here = (*path, f"[{argument}]")
        if argument in after:
            yield from changes(value, after[argument], here)
        else:
            yield _removed(here, value)
    for argument, value in after.items():
        if argument not in before:
            yield _added((*path, f"[{argument}]"), value)


def _of_sequences(before: Seq, after: Seq, path: tuple[str, ...]) -> Iterator[Change]:
    """Say it in the fewest items: as a queue that moved on, a log with a new end, or in place."""
    front = next(k for k in range(len(before) + 1) if _starts_with(after, before.items[k:]))
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
        yield from (_removed(path, value) for value in before.items[:front])
        yield from (_added(path, value) for value in after.items[moved:])
    else:
        yield from (_removed(path, value) for value in before.items[kept:])
        yield from (_added(path, value) for value in after.items[kept:])


def _starts_with(whole: Seq, part: tuple[Value, ...]) -> bool:
    return len(part) <= len(whole) and all(map(same, part, whole.items))


def _pairs(value: Seq | Function) -> dict[str, Value]:
    if isinstance(value, Seq):
        return {str(number): item for number, item in enumerate(value.items, 1)}
    return {format_value(argument): part for argument, part in value.pairs}


def _added(path: tuple[str, ...], value: Value) -> Change:
    return Change(path, ChangeKind.ADDED, None, value)


def _removed(path: tuple[str, ...], value: Value) -> Change:
    return Change(path, ChangeKind.REMOVED, value, None)


def _short(value: Value) -> str:
    """A string without its quotes: there is nothing around it that it could be taken for."""
    return value if isinstance(value, str) else format_value(value)


SCHEMA: Final = "canvass.counterexample/1"


class ChangeRecord(Struct, frozen=True, kw_only=True):
    """A change of a step: the place as TLA+ writes it, and its values in ITF, where it has them."""

    path: str
    kind: ChangeKind
    before: Any = UNSET
    after: Any = UNSET


class StepRecord(Struct, frozen=True, kw_only=True):
    """A step of a counterexample, with the state that it leads to.

    Attributes
    ----------
    number
        From 1.
    action, arguments, location
        As TLC reports them; null where it does not.
    acting
        The member that takes the step, or the channel that loses a message.
    changes
        Null for the first state, and if a value cannot be listed.
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


class CounterexampleDocument(Struct, frozen=True, kw_only=True):
    """A counterexample; ``loop`` is the number of the step that follows the last one again."""

    schema: str = SCHEMA
    model: str
    outcome: str = ""
    violated: str | None = None
    message: str = ""
    explanation: tuple[str, ...] = ()
    loop: int | None = None
    stuttering: bool = False
    steps: tuple[StepRecord, ...]

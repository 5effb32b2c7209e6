"""Counterexamples: read from the text that TLC printed, compared state by state, as a document.

`read_printed` reads the first one of a text, with ``-tool`` or without: marks of ``-tool`` are
added to a text without them, so `output` and `results` read both. With ``-difftrace`` a printed
state has only the variables that changed; the others have their values of the state before. A
behaviour that ``-simulate file=`` wrote is read, too; it has no actions.

`state_changes` gives the smallest nested changes between two states. For a record, function or
sequence the changed parts are listed; for a set or queue, the added and removed elements.

``canvass check`` writes a `CounterexampleDocument` with these changes, and ``canvass browse`` reads
it. Fields that no reader needs have defaults: other tools can write shorter documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import or_
from typing import Any, Final, Literal, TypeGuard

from msgspec import UNSET, Struct, UnsetType

from canvass.tlc.errors import TlcError, ValueSyntaxError
from canvass.tlc.output import MARK, Code, TraceState, read_back, read_state
from canvass.tlc.results import ResultBuilder, Violation
from canvass.tlc.values import (
    Function,
    Value,
    format_value,
    ordered,
    parse_value,
    same,
    split_state,
)

_ERROR: Final = "Error: "
_STUTTERING: Final = re.compile(r"(?:State )?\d+: Stuttering\s*\Z")
_INTRODUCTIONS: Final = ("The behavior up to this point is", "The following behavior constitutes")
_VIOLATED: Final = re.compile(r"(?:\w+ )*[Ii]nvariant |(?:Action p|P)roperty |Temporal p|Deadlock ")
_INITIAL: Final = "the initial state:"
_AFTER: Final = re.compile(r"[\d,]+ states generated|Finished |Progress\(|The depth of the")
_MODULE: Final = "Semantic processing of module "
_SUCCESS: Final = "No error has been found"
_GENERAL: Final = 1000
"""TLC's code for an error that has no code of its own."""
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_BRACKETS: Final = (("<<", ">>"), ("(", ")"), ("[", "]"), ("{", "}"))


class PrintedError(TlcError):
    """A text has no counterexample, or a broken one.

    Attributes
    ----------
    reason : str
        The reason, in one line.
    line : int or None
        The line number, from 1.
    """

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason if line is None else f"line {line}: {reason}")
        self.reason = reason
        self.line = line


@dataclass(frozen=True, slots=True)
class Printed:
    """A printed counterexample.

    Attributes
    ----------
    violation
        TLC's errors, and the behaviour.
    places
        For each state the line number of its head.
    more
        Number of further counterexamples in the text.
    module
        The name of the model: the last module that TLC says it has read; empty if it names none.
    """

    violation: Violation
    places: Sequence[int]
    more: int
    module: str

    def values(self) -> list[dict[str, Value | str]]:
        """Give for each state the value of each variable, or its text if it cannot be listed.

        Raises
        ------
        PrintedError
            If a state has no variable, or a value is incomplete.
        """
        states = zip(self.violation.states, self.places, strict=True)
        return list(accumulate((_values(state, place + 1) for state, place in states), or_))


def read_printed(lines: Iterable[str]) -> Printed:
    """Read the first counterexample of a text.

    Raises
    ------
    PrintedError
        If there is no counterexample, or its states are not numbered from 1 on.
    """
    text = [line.rstrip("\r\n") for line in lines]
    places = [n for n, line in enumerate(text, 1) if read_state(line) or line.endswith(_INITIAL)]
    builder = ResultBuilder()
    for line in text if any(line.startswith(MARK) for line in text) else _for_tools(text):
        builder.feed(line)
    found = [one for one in builder.violations if one.states]
    if not found:
        success = any(_SUCCESS in line for line in text)
        reason = "TLC found no error" if success else "no line is like `State 1: <...>`"
        raise PrintedError(f"there is no counterexample: {reason}")
    for before, state in enumerate(found[0].states):
        if state.number != before + 1:
            where = f"follows state {before}" if before else "is the first"
            raise PrintedError(f"state {state.number} {where}", places[before])
    modules = [one.removeprefix(_MODULE) for one in text[: places[0]] if one.startswith(_MODULE)]
    count = len(found[0].states)
    return Printed(found[0], places[:count], len(found) - 1, modules[-1] if modules else "")


def _for_tools(lines: Sequence[str]) -> Iterator[str]:
    """Add the marks of ``-tool`` around the messages of a text without them."""
    code = 0
    for line in lines:
        new = _code(line)
        ends = not line.strip() and code in Code.STATE_PRINT
        if code and (new or ends or _AFTER.match(line)):
            yield f"{MARK}ENDMSG {code} {MARK}"
            code = 0
        if new:
            code = new
            yield f"{MARK}STARTMSG {code}:{1 if line.startswith(_ERROR) else 4} {MARK}"
        yield line.removeprefix(_ERROR)
    if code:
        yield f"{MARK}ENDMSG {code} {MARK}"


def _code(line: str) -> int:
    """Give TLC's code of the message that begins with a line; 0 if none does."""
    if read_state(line) is not None:
        return min(Code.STATE_PRINT)
    if read_back(line) is not None:
        return Code.BACK_TO_STATE
    if _STUTTERING.match(line):
        return Code.STUTTERING
    if not line.startswith(_ERROR):
        return 0
    text = line.removeprefix(_ERROR)
    if text.startswith(_INTRODUCTIONS):
        return min(Code.INTRODUCTIONS)
    if _VIOLATED.match(text):
        is_first = text.endswith(_INITIAL)
        return Code.INVARIANT_VIOLATED_INITIAL if is_first else max(Code.SAFETY)
    return _GENERAL


def _values(state: TraceState, begin: int) -> dict[str, Value | str]:
    """Read a state whose first variable is in line ``begin``."""
    text = state.text

    def place(offset: int) -> int:
        return begin + text.count("\n", 0, offset)

    try:
        parts = split_state(text)
    except ValueSyntaxError as error:
        raise PrintedError(error.reason, place(error.offset)) from None
    if not parts:
        raise PrintedError(f"state {state.number} has no variables", begin)
    found: dict[str, Value | str] = {}
    end = 0
    for name, part in parts.items():
        start = text.index(part, text.index(f"{name} = ", end))
        end = start + len(part)
        try:
            found[name] = parse_value(part)
        except ValueSyntaxError as error:
            if not _whole(part):
                reason = f"the value of {name}: {error.reason}"
                raise PrintedError(reason, place(start + error.offset)) from None
            found[name] = part
    return found


def _whole(text: str) -> bool:
    """Tell whether every bracket and string of a text is closed."""
    plain = _STRING.sub("", text)
    return '"' not in plain and all(plain.count(a) == plain.count(b) for a, b in _BRACKETS)


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

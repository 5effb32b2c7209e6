"""The lines of a trace, and the comparison of their JSON values with values of TLA+.

A line names the parts of the state that it knows. An array is a sequence. An object has some parts
of a record, function or sequence, by their names. ``#set``, ``#tup``, ``#map``, ``#bigint`` and
``#unserializable`` mean what they mean in ITF. ``docs/guide/replay.md`` describes the format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from canvass.lanes.drawing import part_path
from canvass.tlc.values import Function, ModelValue, Value, format_value
from canvass.traces.errors import Code, TraceError

Difference: TypeAlias = "tuple[str, Any, Value | None]"
"""A part's path, its value in the line, and its value in the state; None if that lacks the part."""

ENDINGS: Final = (".ndjson", ".jsonl")
MAX_DEPTH: Final = 64
_NO_PARTS: Final[Any] = object()
"""The result of `part_of` for a value that has no parts; it agrees with no JSON value."""
_SCALARS: Final = frozenset({int, bool, str, type(None)})


def _pairs_of(body: Any) -> bool:
    return isinstance(body, list) and all(isinstance(x, list) and len(x) == 2 for x in body)


_FORMS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "#set": lambda body: isinstance(body, list),
    "#tup": lambda body: isinstance(body, list),
    "#map": _pairs_of,
    "#bigint": lambda body: isinstance(body, str) and body.removeprefix("-").isdecimal(),
    "#unserializable": lambda body: isinstance(body, str),
}
"""The forms of ITF, each with a function that checks its content."""


class TraceLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line: a step, or the state after it, or both.

    Attributes
    ----------
    action
        The action of the step. None allows any action, and also no step.
    parameters
        The parameters of the step: all in their order, or some by their names.
    vars
        Values after the step, by variable or by another expression of ``docs/guide/graph.md``.
    """

    action: str | None = None
    parameters: list[Any] | dict[str, Any] | None = None
    vars: dict[str, Any] = {}


def traces_in(paths: Sequence[Path]) -> list[Path]:
    """Give the traces of paths: each file, and in each folder the files with one of `ENDINGS`.

    Raises
    ------
    TraceError
        If a folder has no such file.
    """
    found: list[Path] = []
    for path in paths:
        inside = sorted(each for each in path.rglob("*") if each.suffix in ENDINGS)
        if path.is_dir() and not inside:
            reason = f"there is no file *{' or *'.join(ENDINGS)}"
            raise TraceError(Code.NOT_FOUND, str(path), 0, 0, reason)
        found += inside if path.is_dir() else [path]
    return found


def read_trace(path: Path) -> list[TraceLine]:
    """Read a trace.

    Raises
    ------
    TraceError
        If the file has no line, or a line that is malformed; the message names the file and the
        line.
    OSError
        If the file cannot be read.
    """
    decoder, lines = msgspec.json.Decoder(TraceLine), []
    for number, text in enumerate(path.read_bytes().splitlines(), 1):
        try:
            line = decoder.decode(text)
            for value in (line.parameters, *line.vars.values()):
                if type(value) not in _SCALARS:
                    _check(value, 0)
        except (msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError) as error:
            code = Code.BAD_VALUE if isinstance(error, msgspec.ValidationError) else Code.BAD_SYNTAX
            reason = str(error) if text.strip() else "the line is empty"
            raise TraceError(code, str(path), number, 1, reason) from None
        if line == TraceLine():
            reason = "the line has neither an action nor vars"
            raise TraceError(Code.BAD_VALUE, str(path), number, 1, reason)
        lines.append(line)
    if not lines:
        raise TraceError(Code.BAD_VALUE, str(path), 1, 1, "the trace has no line")
    return lines


def _check(value: Any, depth: int) -> None:
    """Refuse JSON that stands for no TLA+ value.

    Raises
    ------
    msgspec.ValidationError
        If it has a fraction or an unknown form of ITF, or is nested too deeply.
    """
    if isinstance(value, float):
        raise msgspec.ValidationError(f"{value} is no integer of TLA+")
    if depth > MAX_DEPTH:
        raise msgspec.ValidationError(f"a value is nested more than {MAX_DEPTH} times")
    form = _form(value)
    if form is not None and not (len(value) == 1 and form in _FORMS and _FORMS[form](value[form])):
        raise msgspec.ValidationError(f"not a form of ITF: {ascii(value)[:60]}")
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            _check(part, depth + 1)


def _form(value: Any) -> str | None:
    """Give the name of ITF's form that a value has, such as ``#set``."""
    keys = value if isinstance(value, dict) else ()
    return next((key for key in keys if key.startswith("#")), None)


def agrees(logged: Any, value: Value | None) -> bool:
    """Tell whether a value in a line agrees with a value in a state."""
    return next(differences(logged, value), None) is None


def leaves(logged: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Give the parts of a line's value that are not plain objects, each with its path of names."""
    if isinstance(logged, dict) and logged and _form(logged) is None:
        for name, one in logged.items():
            yield from leaves(one, (*path, name))
    else:
        yield path, logged


def part_of(value: Any, path: Sequence[str]) -> Any:
    """Give the part of a value to which some names lead, or `_NO_PARTS`."""
    for name in path:
        if not isinstance(value, Function | tuple):
            return _NO_PARTS
        value = {_name(argument): part for argument, part in _pairs(value)}.get(name)
    return value


def differences(logged: Any, value: Value | None, path: str = "") -> Iterator[Difference]:
    """Give the parts of a line's value that differ from the value in a state."""
    form = _form(logged)
    if form == "#tup":
        logged, form = logged[form], None
    if form is not None:
        same = _has_form(form, logged[form], value)
    elif isinstance(logged, list) and isinstance(value, tuple) and len(logged) == len(value):
        for place, (one, part) in enumerate(zip(logged, value, strict=True), 1):
            yield from differences(one, part, f"{path}[{place}]")
        return
    elif isinstance(logged, dict) and isinstance(value, Function | tuple):
        parts = {_name(argument): part for argument, part in _pairs(value)}
        for name, one in logged.items():
            yield from differences(one, parts.get(name), part_path(path, name))
        return
    else:
        text = value.name if isinstance(value, ModelValue) else value
        same = type(logged) is type(text) and logged == text
    if not same:
        yield path, logged, value


def text_of(value: Value | None) -> str:
    """Give the TLA+ text of a value."""
    return "absent" if value is None else format_value(value)


def _has_form(form: str, body: Any, value: Value | None) -> bool:
    if form == "#bigint":
        return type(value) is int and value == int(body)
    if form == "#unserializable":
        return isinstance(value, ModelValue) and value.name == body
    if form == "#set":
        parts = value if isinstance(value, frozenset) else ()
        return isinstance(value, frozenset) and (
            all(any(agrees(one, part) for part in parts) for one in body)
            and all(any(agrees(one, part) for one in body) for part in parts)
        )
    if not isinstance(value, Function | tuple):
        return False
    pairs = list(_pairs(value))
    return len(pairs) == len(body) and all(
        any(agrees(one, argument) and agrees(two, part) for argument, part in pairs)
        for one, two in body
    )


def _pairs(value: Function | tuple[Value, ...]) -> Iterator[tuple[Value, Value]]:
    if isinstance(value, tuple):
        return enumerate(value, 1)
    return iter(value.items())


def _name(argument: Value) -> str:
    """Give the name of a part: a string or a model value as it is, else its text in TLA+."""
    return argument if isinstance(argument, str) else format_value(argument)

"""The lines of a trace, and the comparison of their JSON values with values of TLA+.

A line names the parts of the state that it knows. An array is a sequence. An object has some parts
of a record, function or sequence, by their names. ``#set``, ``#tup``, ``#map``, ``#bigint`` and
``#unserializable`` mean what they mean in ITF. ``docs/guide/replay.md`` describes the format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from canvass.lanes.drawing import part_path
from canvass.tlc.values import Function, ModelValue, Value, format_value
from canvass.traces.errors import Code, TraceError

ENDINGS: Final = (".ndjson", ".jsonl")
MAX_DEPTH: Final = 64


_FORMS: Final[Mapping[str, Any]] = {
    "#set": list,
    "#tup": list,
    "#map": list[tuple[Any, Any]],
    "#bigint": Annotated[str, msgspec.Meta(pattern=r"\A-?[0-9]+\Z")],
    "#unserializable": str,
}
"""The forms of ITF, each with the type of its content."""
_PLAIN: Final[Mapping[str, Callable[[Any], Any]]] = {
    "#tup": list,
    "#bigint": int,
    "#unserializable": ModelValue,
}
"""The forms that stand for one plain value."""


class TraceLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
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
                _check(value, 0)
            if line == TraceLine():
                raise msgspec.ValidationError("the line has neither an action nor vars")
        except (msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError) as error:
            code = Code.BAD_VALUE if isinstance(error, msgspec.ValidationError) else Code.BAD_SYNTAX
            reason = str(error) if text.strip() else "the line is empty"
            raise TraceError(code, str(path), number, 1, reason) from None
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
    if form is not None:
        if len(value) > 1 or form not in _FORMS:
            raise msgspec.ValidationError(f"not a form of ITF: {ascii(value)[:60]}")
        msgspec.convert(value[form], _FORMS[form])
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


def differences(logged: Any, value: Value | None, path: str = "") -> Iterator[str]:
    """Describe each part of a line's value that differs from the value in a state.

    The value is None if the state lacks the part.
    """
    form, plain = _form(logged), logged
    if form is not None and form in _PLAIN:
        plain, form = _PLAIN[form](logged[form]), None
    if form is not None:
        same = _has_form(form, logged[form], value)
    elif isinstance(plain, list) and isinstance(value, tuple) and len(plain) == len(value):
        for place, (one, part) in enumerate(zip(plain, value, strict=True), 1):
            yield from differences(one, part, f"{path}[{place}]")
        return
    elif isinstance(logged, dict) and isinstance(value, Function | tuple):
        parts = {_name(argument): part for argument, part in _pairs(value)}
        for name, one in logged.items():
            yield from differences(one, parts.get(name), part_path(path, name))
        return
    else:
        is_name = isinstance(value, ModelValue) and plain == value.name
        same = is_name or (type(plain) is type(value) and plain == value)
    if not same:
        found = "absent" if value is None else format_value(value)
        yield f"{path}: the line has {msgspec.json.encode(logged).decode()}, the state {found}"


def _has_form(form: str, body: Any, value: Value | None) -> bool:
    if form == "#set" and isinstance(value, frozenset):
        return all(any(agrees(one, part) for part in value) for one in body) and all(
            any(agrees(one, part) for one in body) for part in value
        )
    if form == "#set" or not isinstance(value, Function | tuple):
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

"""Read the first counterexample from the text that TLC printed, with ``-tool`` or without.

This module adds the marks of ``-tool`` to a text without them, so `output` and `results` read both.
With ``-difftrace`` a printed state has only the variables that changed; the others have their
values of the state before. A behaviour that ``-simulate file=`` wrote is read, too; it has no
actions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import or_
from typing import Final

from canvass.tlc import codes
from canvass.tlc.errors import TlcError, ValueSyntaxError
from canvass.tlc.events import TraceState
from canvass.tlc.output import OutputReader, read_back, read_state
from canvass.tlc.parse import parse_value, split_state
from canvass.tlc.results import ResultBuilder, Violation
from canvass.tlc.values import Value

_MARK: Final = "@!@!@"
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
    reader, builder = OutputReader(), ResultBuilder()
    for line in text if any(line.startswith(_MARK) for line in text) else _for_tools(text):
        for event in reader.feed(line):
            builder.add(event)
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
        ends = not line.strip() and code in codes.STATE_PRINT
        if code and (new or ends or _AFTER.match(line)):
            yield f"{_MARK}ENDMSG {code} {_MARK}"
            code = 0
        if new:
            code = new
            yield f"{_MARK}STARTMSG {code}:{1 if line.startswith(_ERROR) else 4} {_MARK}"
        yield line.removeprefix(_ERROR)
    if code:
        yield f"{_MARK}ENDMSG {code} {_MARK}"


def _code(line: str) -> int:
    """Give TLC's code of the message that begins with a line; 0 if none does."""
    if read_state(line) is not None:
        return min(codes.STATE_PRINT)
    if read_back(line) is not None:
        return codes.BACK_TO_STATE
    if _STUTTERING.match(line):
        return codes.STUTTERING
    if not line.startswith(_ERROR):
        return 0
    text = line.removeprefix(_ERROR)
    if text.startswith(_INTRODUCTIONS):
        return min(codes.INTRODUCTIONS)
    if _VIOLATED.match(text):
        is_first = text.endswith(_INITIAL)
        return codes.INVARIANT_VIOLATED_INITIAL if is_first else max(codes.SAFETY)
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

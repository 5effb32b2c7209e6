"""Read the first counterexample from the text that TLC printed, with ``-tool`` or without.

Lines go in; the counterexample comes out, with the line number of each state. `canvass.tlc.output`
reads the headlines of states and the end of a lasso. With ``-difftrace`` a state has the variables
that changed; the others are those of the state before. A behaviour that ``-simulate file=`` wrote
is read, too: it has no actions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from operator import or_
from typing import Final

from canvass.tlc.errors import TlcError, ValueSyntaxError
from canvass.tlc.events import TraceState
from canvass.tlc.output import read_back, read_state, violated_name
from canvass.tlc.parse import parse_value, split_state
from canvass.tlc.values import Value

_MARK: Final = "@!@!@"
_ERROR_MARK: Final = re.compile(r"@!@!@STARTMSG \d+:[12] @!@!@")
_ERROR: Final = "Error: "
_STUTTERING: Final = re.compile(r"(?:State )?\d+: Stuttering\s*\Z")
_INTRODUCTIONS: Final = ("The behavior up to this point is", "The following behavior constitutes")
_INITIAL: Final = "the initial state:"
_AFTER: Final = re.compile(r"[\d,]+ states generated|Finished |Progress\(|The depth of the")
_MODULE: Final = "Semantic processing of module "
_SUCCESS: Final = "No error has been found"
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


@dataclass(slots=True)
class PrintedState:
    """A printed state and its place."""

    number: int
    action: str | None
    arguments: str | None
    line: int
    """Line number of the first variable."""
    body: list[str] = field(default_factory=list)

    def values(self) -> dict[str, Value | str]:
        """Give the value of each variable, or its text if the value cannot be listed.

        Raises
        ------
        PrintedError
            If there is no variable, or a value is incomplete.
        """
        text = "\n".join(self.body)
        try:
            parts = split_state(text)
        except ValueSyntaxError as error:
            raise PrintedError(error.reason, self._line(text, error.offset)) from None
        if not parts:
            raise PrintedError(f"state {self.number} has no variables", self.line)
        found: dict[str, Value | str] = {}
        end = 0
        for name, part in parts.items():
            start = text.index(part, text.index(f"{name} = ", end))
            end = start + len(part)
            try:
                found[name] = parse_value(part)
            except ValueSyntaxError as error:
                if not _whole(part):
                    place = self._line(text, start + error.offset)
                    raise PrintedError(f"the value of {name}: {error.reason}", place) from None
                found[name] = part
        return found

    def _line(self, text: str, offset: int) -> int:
        return self.line + text.count("\n", 0, offset)


@dataclass(slots=True)
class Printed:
    """A printed counterexample."""

    errors: list[str] = field(default_factory=list)
    """TLC's error messages; the first one is the reason."""
    states: list[PrintedState] = field(default_factory=list)
    loop: int | None = None
    """Number of the state to which the last one returns."""
    stuttering: bool = False
    more: int = 0
    """Number of further counterexamples in the text."""
    module: str = ""
    """The model: the last module that TLC names as read; empty if it names none."""

    def values(self) -> list[dict[str, Value | str]]:
        """Give the variables of each state; errors as for `PrintedState.values`."""
        return list(accumulate((state.values() for state in self.states), or_))

    @property
    def name(self) -> str | None:
        """The violated property; None if TLC does not name it."""
        return violated_name(self.errors[0]) if self.errors else None


def read_printed(lines: Iterable[str]) -> Printed:
    """Read the first counterexample of a text.

    Raises
    ------
    PrintedError
        If there is no counterexample, or its states are not numbered from 1 on.
    """
    reader = _Reader()
    for number, line in enumerate(lines, 1):
        reader.take(number, line.rstrip("\r\n"))
    if not reader.found.states:
        reason = "TLC found no error" if reader.success else "no line is like `State 1: <...>`"
        raise PrintedError(f"there is no counterexample: {reason}")
    return reader.found


class _Reader:
    """Reads line by line; earlier lines may have begun an error or a state."""

    def __init__(self) -> None:
        self.found = Printed()
        self.success = False
        self._state: PrintedState | None = None
        self._error = False

    def take(self, number: int, line: str) -> None:
        if line.startswith(_MARK):
            self._state = None
            self._error = False
            if _ERROR_MARK.match(line):
                self._begin_error("")
        elif not line.strip():
            self._state = None
        elif (head := read_state(line)) is not None:
            self._begin_state(number, head)
        elif self._ends(line) or _AFTER.match(line):
            self._state = None
            self._error = False
        elif line.startswith(_ERROR):
            self._begin_error(line.removeprefix(_ERROR))
            self._begin_initial(number, line)
        elif self._state is not None:
            self._state.body.append(line)
        elif self._error:
            self.found.errors[-1] = f"{self.found.errors[-1]}\n{line}".lstrip("\n")
            self._begin_initial(number, line)
        elif line.startswith(_MODULE) and not self.found.states:
            self.found.module = line.removeprefix(_MODULE).strip()
        elif _SUCCESS in line:
            self.success = True

    def _begin_error(self, text: str) -> None:
        self._state = None
        # A further counterexample is only counted.
        self._error = not self.found.more
        if self._error:
            self.found.errors = [one for one in self.found.errors if not _introduces(one)]
            self.found.errors.append(text)

    def _begin_initial(self, number: int, line: str) -> None:
        """Begin an initial state that violates a property; it follows the error, without a head."""
        if line.endswith(_INITIAL):
            self._begin_state(number, TraceState(1, None, None, None, ""))

    def _begin_state(self, number: int, head: TraceState) -> None:
        self._error = False
        states = self.found.states
        if head.number == 1 and states:
            self.found.more += 1
        if self.found.more:
            self._state = None
            return
        if head.number != len(states) + 1:
            before = f"follows state {len(states)}" if states else "is the first"
            raise PrintedError(f"state {head.number} {before}", number)
        self.found.errors = [one for one in self.found.errors if not _introduces(one)]
        self._state = PrintedState(head.number, head.action, head.arguments, number + 1)
        states.append(self._state)

    def _ends(self, line: str) -> bool:
        """Tell whether a line is the end of a lasso or a stuttering step, and note it."""
        back = read_back(line)
        if back is None and not _STUTTERING.match(line):
            return False
        if self.found.states and not self.found.more:
            if back is None:
                self.found.stuttering = True
            else:
                self.found.loop = back
        return True


def _introduces(text: str) -> bool:
    return text.startswith(_INTRODUCTIONS) or not text


def _whole(text: str) -> bool:
    """Tell whether every bracket and string of a text is closed."""
    plain = _STRING.sub("", text)
    return '"' not in plain and all(plain.count(a) == plain.count(b) for a, b in _BRACKETS)

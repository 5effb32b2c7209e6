"""Read events from the lines of ``tlc2.TLC -tool``. `printed` reads the text that TLC saves.

:class:`OutputReader` does no I/O: lines go in, events come out, in the same order. It reads the
wording of 2.15 and of the newest versions. An unknown message becomes a
:class:`~canvass.tlc.events.Message`; no input makes the reader fail.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from canvass.tlc import codes
from canvass.tlc.events import (
    Event,
    InitialStates,
    Message,
    ParseOutput,
    Progress,
    Severity,
    TraceState,
    UserOutput,
)

_MARK: Final = "@!@!@"
_START: Final = re.compile(r"@!@!@STARTMSG (-?\d+):(\d+) @!@!@")
_END: Final = re.compile(r"@!@!@ENDMSG (-?\d+) @!@!@")

_PLACE: Final = r"line \d+, col \d+ to line \d+, col \d+ of module \w+"
_STATE: Final = re.compile(
    rf"(?:(?:State )?(\d+): <(.*?)(?: ({_PLACE})(?: \([\d ]+\))?)?>|STATE_(\d+) ==)\s*\Z"
)
_BACK: Final = re.compile(r"(?:(\d+): )?Back to state:?(?: (\d+))?")
_CALL: Final = re.compile(r"([\w!]+)\((.*)\)\Z", re.DOTALL)
_INITIAL: Final = frozenset({"Initial predicate", "Initial Predicate", "Init"})
_PROGRESS: Final = re.compile(
    r"Progress\((-?[\d,]+)\) at .*?: ([\d,]+) states generated(?: \([\d,]+ s/min\))?, "
    r"(-?[\d,]+) distinct states found(?: \([\d,]+ ds/min\))?, (-?[\d,]+) states left"
)
_PROGRESS_SIMULATE: Final = re.compile(
    r"Progress: ([\d,]+) states checked(?:, ([\d,]+) traces generated)?"
)
_STATS: Final = re.compile(
    r"([\d,]+) states generated, ([\d,]+) distinct states found(?:, ([\d,]+))?"
)
_STATS_SIMULATE: Final = re.compile(r"The number of states generated: ([\d,]+)")
_INITIAL_STATES: Final = re.compile(
    r"initial states: ([\d,]+)(?: states? generated, with ([\d,]+))?"
)
_NAMED: Final = re.compile(
    r"(?:Evaluating )?(?:[Ii]nvariant|Action property|Temporal property|Property|Assumption) (.+?) "
    r"(?:is|was|failed)\b"
)
_INITIAL_STATE: Final = "\nWhile working on the initial state:\n"


def _number(text: str | None) -> int | None:
    """Read a count with thousands separators; TLC writes an unknown count as a negative number."""
    if text is None:
        return None
    number = int(text.replace(",", ""))
    return number if number >= 0 else None


def _count(text: str) -> int:
    return int(text.replace(",", ""))


@dataclass(slots=True)
class _Frame:
    """A message that has not ended: its lines so far, and the codes of messages inside it."""

    code: int
    severity: Severity
    lines: list[str] = field(default_factory=list)
    inner: list[int] = field(default_factory=list)


class OutputReader:
    """Turns lines of TLC's tool output into events.

    Attributes
    ----------
    messages : int
        Number of complete messages; 0 at the end means that TLC printed none.
    """

    def __init__(self) -> None:
        self.messages = 0
        self._frames: list[_Frame] = []
        self._parsing = False

    @property
    def truncated(self) -> bool:
        """Whether the last message has no end."""
        return bool(self._frames)

    def feed(self, line: str) -> Iterator[Event]:
        """Take one line without its line end and yield the events that it completes."""
        if not self._frames and not line.startswith(_MARK):
            early = self._parsing or not self.messages
            yield ParseOutput(line) if early else UserOutput(line)
            return
        end = _END.match(line)
        if end and self._frames:
            yield from self._end(int(end[1]))
            return
        # Inside a message, the text of an exception can contain the start of another message.
        start = _START.search(line) if self._frames else _START.match(line)
        if start:
            if self._frames and start.start():
                self._frames[-1].lines.append(line[: start.start()])
            severity = Severity(int(start[2])) if int(start[2]) <= 4 else Severity.NONE
            self._frames.append(_Frame(int(start[1]), severity))
        elif self._frames:
            self._frames[-1].lines.append(line)
        else:
            yield UserOutput(line)

    def _end(self, code: int) -> Iterator[Event]:
        # The end of a message also ends messages inside it whose own ends are missing.
        while self._frames:
            frame = self._frames.pop()
            if self._frames:
                outer = self._frames[-1]
                outer.lines += frame.lines
                outer.inner += [frame.code, *frame.inner]
            if frame.code == code:
                break
        if not self._frames:
            self.messages += 1
            yield from self._decode(frame)

    def _decode(self, frame: _Frame) -> Iterator[Event]:
        text = "\n".join(frame.lines).strip("\n")
        code = frame.code
        if code in (codes.PARSER_START, codes.PARSER_END):
            self._parsing = code == codes.PARSER_START
        event = _DECODERS[code](text) if code in _DECODERS else None
        if event is not None:
            yield event
            return
        state = ""
        if frame.severity in (Severity.ERROR, Severity.BUG):
            initial = code in (codes.INVARIANT_VIOLATED_INITIAL, codes.PROPERTY_VIOLATED_INITIAL)
            head, _, state = text.partition("\n" if initial else _INITIAL_STATE)
            text = head if state else text
        yield Message(code, frame.severity, text, tuple(frame.inner))
        if state:
            yield TraceState(1, None, None, None, state)


def violated_name(text: str) -> str | None:
    """Give the property that an error message names; None if it names none."""
    named = _NAMED.match(text)
    return named[1] if named else None


def read_state(text: str) -> TraceState | None:
    """Read a state of a trace, which begins with a headline; None without a headline."""
    head, _, body = text.partition("\n")
    match = _STATE.match(head)
    if not match:
        return None
    name, arguments = _action(match[2])
    return TraceState(int(match[1] or match[4]), name, arguments, match[3], body.rstrip())


def called(text: str) -> tuple[str, str | None]:
    """Give the name of an action, and its arguments if it has some: ``Send(1)``."""
    call = _CALL.match(text)
    return (call[1], call[2]) if call else (text, None)


def _action(text: str | None) -> tuple[str | None, str | None]:
    return (None, None) if text is None or text in _INITIAL else called(text)


def read_back(text: str) -> int | None:
    """Give the state to which a lasso returns, from the line that ends it; None for other lines."""
    match = _BACK.match(text)
    # "4: Back to state: <..>" for tools, "Back to state 4: <..>" for people.
    number = match and (match[2] or match[1])
    return int(number) if number else None


def _progress(text: str) -> Event | None:
    if match := _PROGRESS.match(text):
        depth, generated, distinct, queue = match.groups()
        return Progress(_count(generated), _number(distinct), _number(queue), _number(depth))
    if match := _PROGRESS_SIMULATE.match(text):
        return Progress(_count(match[1]), None, None, None, traces=_number(match[2]))
    return None


def _stats(text: str) -> Event | None:
    if match := _STATS.match(text):
        return Progress(_count(match[1]), _number(match[2]), _number(match[3]), None)
    match = _STATS_SIMULATE.match(text)
    return Progress(_count(match[1]), None, None, None) if match else None


def _initial_states(text: str) -> Event | None:
    match = _INITIAL_STATES.search(text)
    return InitialStates(_count(match[2] or match[1])) if match else None


_DECODERS: Final[dict[int, Callable[[str], Event | None]]] = {
    **dict.fromkeys(codes.STATE_PRINT, read_state),
    **dict.fromkeys(codes.PROGRESS, _progress),
    **dict.fromkeys(codes.STATS, _stats),
    **dict.fromkeys(codes.INITIAL_STATES, _initial_states),
}

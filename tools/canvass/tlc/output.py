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
    BackToState,
    Banner,
    ErrorReported,
    Event,
    FinalStats,
    Finished,
    InitialStates,
    Location,
    Message,
    ParseFinished,
    ParseOutput,
    ParseStarted,
    Progress,
    SearchDepth,
    Severity,
    Started,
    Stuttering,
    SuccessReported,
    TraceState,
    UserOutput,
    WarningReported,
)

_MARK: Final = "@!@!@"
_START: Final = re.compile(r"@!@!@STARTMSG (-?\d+):(\d+) @!@!@")
_END: Final = re.compile(r"@!@!@ENDMSG (-?\d+) @!@!@")

_PLACE: Final = r"line (\d+), col (\d+) to line (\d+), col (\d+) of module (\w+)"
_BANNER: Final = re.compile(r"TLC2 Version (\S+)")
_STATE: Final = re.compile(
    rf"(?:(?:State )?(\d+): <(.*?)(?: {_PLACE}(?: \([\d ]+\))?)?>|STATE_(\d+) ==)\s*\Z"
)
_BACK: Final = re.compile(rf"(?:(\d+): )?Back to state:?(?: (\d+):?)?(?: <(.*?)(?: {_PLACE})?>)?")
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
_DEPTH: Final = re.compile(r"The depth of the complete state graph search is ([\d,]+)")
_INITIAL_STATES: Final = re.compile(
    r"initial states: ([\d,]+)(?: states? generated, with ([\d,]+))?"
)
_DURATION: Final = re.compile(r"(\d+)\s*(ms|min|s|h|d)\b")
_MILLISECONDS: Final = {"ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_NAMED: Final = re.compile(
    r"(?:Evaluating )?(?:[Ii]nvariant|Action property|Temporal property|Property|Assumption) (.+?) "
    r"(?:is|was|failed)\b"
)
_INITIAL_STATE: Final = "\nWhile working on the initial state:\n"
_SEED: Final = re.compile(r"\bseed (-?\d+)")
_PID: Final = re.compile(r"\[pid: (\d+)\]")


def _number(text: str | None) -> int | None:
    """Read a count with thousands separators; TLC writes an unknown count as a negative number."""
    if text is None:
        return None
    number = int(text.replace(",", ""))
    return number if number >= 0 else None


def _count(text: str) -> int:
    return int(text.replace(",", ""))


def _place(groups: tuple[str | None, ...]) -> Location | None:
    line, column, end_line, end_column, module = groups
    if not (line and column and end_line and end_column and module):
        return None
    return Location(module, int(line), int(column), int(end_line), int(end_column))


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
        # Inside a message, an exception's text may begin another message within a line.
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
        if code == codes.PARSER_START:
            self._parsing = True
            yield ParseStarted()
        elif code == codes.PARSER_END:
            self._parsing = False
            yield ParseFinished()
        elif code in _DECODERS:
            event = _DECODERS[code](text)
            yield Message(code, frame.severity, text) if event is None else event
        elif frame.severity in (Severity.ERROR, Severity.BUG):
            yield from _error(code, text, tuple(frame.inner))
        elif frame.severity is Severity.WARNING:
            yield WarningReported(code, text)
        else:
            yield Message(code, frame.severity, text)


def violated_name(text: str) -> str | None:
    """Give the property that an error message names; None if it names none."""
    named = _NAMED.match(text)
    return named[1] if named else None


def _error(code: int, text: str, inner: tuple[int, ...]) -> Iterator[Event]:
    name = violated_name(text)
    initial = code in (codes.INVARIANT_VIOLATED_INITIAL, codes.PROPERTY_VIOLATED_INITIAL)
    head, _, state = text.partition("\n" if initial else _INITIAL_STATE)
    yield ErrorReported(code, head if state else text, name, inner)
    if state:
        yield TraceState(1, None, None, None, state)


def _banner(text: str) -> Event | None:
    match = _BANNER.match(text)
    return Banner(match[1]) if match else None


def _started(text: str, mode: str) -> Event:
    seed, pid = (
        int(found[1]) if (found := pattern.search(text)) else None for pattern in (_SEED, _PID)
    )
    return Started(mode, seed, pid)


def read_state(text: str) -> TraceState | None:
    """Read a state of a trace that follows its headline; None without a headline."""
    head, _, body = text.partition("\n")
    match = _STATE.match(head)
    if not match:
        return None
    name, arguments = _action(match[2])
    number, place = int(match[1] or match[8]), _place(match.groups()[2:7])
    return TraceState(number, name, arguments, place, body.rstrip())


def called(text: str) -> tuple[str, str | None]:
    """Give the name of an action, and its arguments if it has some: ``Send(1)``."""
    call = _CALL.match(text)
    return (call[1], call[2]) if call else (text, None)


def _action(text: str | None) -> tuple[str | None, str | None]:
    return (None, None) if text is None or text in _INITIAL else called(text)


def read_back(text: str) -> BackToState | None:
    """Read the line that ends a lasso; None for other lines."""
    match = _BACK.match(text)
    if not match or not (match[1] or match[2]):
        return None
    # "4: Back to state: <..>" for tools, "Back to state 4: <..>" for people.
    action, _ = _action(match[3])
    return BackToState(int(match[2] or match[1]), action, _place(match.groups()[3:8]))


def _progress(text: str) -> Event | None:
    if match := _PROGRESS.match(text):
        depth, generated, distinct, queue = match.groups()
        return Progress(_count(generated), _number(distinct), _number(queue), _number(depth))
    if match := _PROGRESS_SIMULATE.match(text):
        return Progress(_count(match[1]), None, None, None, traces=_number(match[2]))
    return None


def _stats(text: str) -> Event | None:
    if match := _STATS.match(text):
        return FinalStats(_count(match[1]), _number(match[2]), _number(match[3]))
    match = _STATS_SIMULATE.match(text)
    return FinalStats(_count(match[1]), None, None) if match else None


def _depth(text: str) -> Event | None:
    match = _DEPTH.match(text)
    return SearchDepth(_count(match[1])) if match else None


def _initial_states(text: str) -> Event | None:
    match = _INITIAL_STATES.search(text)
    return InitialStates(_count(match[2] or match[1])) if match else None


def _finished(text: str) -> Event:
    parts = _DURATION.findall(text.partition(" at ")[0])
    elapsed_ms = sum(int(number) * _MILLISECONDS[unit] for number, unit in parts)
    return Finished(elapsed_ms / 1000 if parts else None)


_DECODERS: Final[dict[int, Callable[[str], Event | None]]] = {
    codes.VERSION: _banner,
    codes.MODE_SIMULATE: lambda text: _started(text, "simulate"),
    codes.BACK_TO_STATE: read_back,
    codes.STUTTERING: lambda _: Stuttering(),
    codes.SUCCESS: SuccessReported,
    codes.DEPTH: _depth,
    codes.STATS_SIMULATE: _stats,
    codes.FINISHED: _finished,
    **dict.fromkeys(codes.MODE_CHECK, lambda text: _started(text, "check")),
    **dict.fromkeys(codes.STATE_PRINT, read_state),
    **dict.fromkeys(codes.PROGRESS, _progress),
    **dict.fromkeys(codes.STATS, _stats),
    **dict.fromkeys(codes.INITIAL_STATES, _initial_states),
}

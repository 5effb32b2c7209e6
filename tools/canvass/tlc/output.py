"""The output of TLC: the lines of ``tlc2.TLC -tool`` as events, and the dump of a state graph.

:class:`OutputReader` does no I/O: lines go in, events come out, in the same order. It reads the
wording of 2.15 and of the newest versions. An event that callers follow during a run has its own
type. All others, and unknown messages, are a `Message`, which `results` reads by its `Code`; no
input makes the reader fail. A number is ``None`` if TLC did not report it. `counterexample` reads
the text that TLC saves.

`read_dump` reads the state graph that ``-dump dot,actionlabels`` writes, state by state and edge by
edge. It takes linear time and keeps one line in memory. It reads the form of TLC 2.15, and the
newer one with ``node [..]`` lines and tooltips.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from typing import Final, TypeAlias

from canvass.tlc.errors import TlcError
from canvass.tlc.values import Value, parse_state


class Code:
    """TLC's message codes and exit codes by name; they are the same in all versions from 2.15.

    Only the codes that this package reads are here; TLC's class ``EC`` has all.
    """

    OUT_OF_MEMORY: Final = frozenset({1001, 1002, 1003})
    STACK_OVERFLOW: Final = 1005
    INVARIANT_VIOLATED_INITIAL: Final = 2107
    PROPERTY_VIOLATED_INITIAL: Final = 2108
    SAFETY: Final = frozenset({INVARIANT_VIOLATED_INITIAL, PROPERTY_VIOLATED_INITIAL, 2110, 2112})
    INTRODUCTIONS: Final = frozenset({2121, 2264})
    """Messages that report no error of their own: they only introduce the states after them."""
    BACK_TO_STATE: Final = 2122
    STATE_PRINT: Final = frozenset({2216, 2217})
    STUTTERING: Final = 2218

    FINISHED: Final = 2186
    MODE_CHECK: Final = frozenset({2187, 2271})
    MODE_SIMULATE: Final = 2188
    INITIAL_STATES: Final = frozenset({2190, 2191, 2207, 2208})
    SUCCESS: Final = 2193
    DEPTH: Final = 2194
    STATS: Final = frozenset({2199, 2204, 2210})
    PROGRESS: Final = frozenset({2200, 2206, 2209})
    PARSER_END: Final = 2219
    PARSER_START: Final = 2220
    VERSION: Final = 2262

    EXIT_EVALUATION: Final = frozenset({75, 76, 77})


class Severity(IntEnum):
    """Class of a message, with TLC's own numbers."""

    NONE = 0
    ERROR = 1
    BUG = 2
    WARNING = 3
    STATE = 4


@dataclass(frozen=True, slots=True)
class ParseOutput:
    """One line that the parser printed, or Java before it."""

    line: str


@dataclass(frozen=True, slots=True)
class InitialStates:
    """The initial states are computed; ``distinct`` is their number."""

    distinct: int


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of the search, or its final numbers.

    ``depth`` is the current level, ``queue`` the number of waiting states. In simulation only
    ``generated`` and, with newer versions, ``traces`` are known.
    """

    generated: int
    distinct: int | None
    queue: int | None
    depth: int | None
    traces: int | None = None


@dataclass(frozen=True, slots=True)
class UserOutput:
    """One line that the specification printed (``Print``, ``PrintT``).

    A value wider than 80 columns spans several lines: see
    :func:`~canvass.tlc.values.join_values`.
    """

    line: str


@dataclass(frozen=True)
class TraceState:
    """One state of an error trace.

    Attributes
    ----------
    number : int
        The number of the state, from 1.
    action : str or None
        The action that leads to the state; ``None`` for an initial state.
    arguments : str or None
        Text of the action's arguments without the parentheses; only newer versions print it.
    location : str or None
        The place of the action in its module, such as ``line 3, col 1 to line 4, col 8 of module
        Clock``.
    text : str
        The state as TLC printed it.
    """

    number: int
    action: str | None
    arguments: str | None
    location: str | None
    text: str

    @cached_property
    def values(self) -> Mapping[str, Value]:
        """Value by variable, in TLC's order.

        Raises
        ------
        ValueSyntaxError
            When a value cannot be listed, such as the set of all sequences.
        """
        return parse_state(self.text)


@dataclass(frozen=True, slots=True)
class Message:
    """Any other message; ``inner`` has the codes of the messages within it."""

    code: int
    severity: Severity
    text: str
    inner: tuple[int, ...] = ()


Event: TypeAlias = ParseOutput | InitialStates | Progress | UserOutput | TraceState | Message


MARK: Final = "@!@!@"
"""The mark at the begin and the end of each message of ``-tool``."""
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
        if not self._frames and not line.startswith(MARK):
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
        if code in (Code.PARSER_START, Code.PARSER_END):
            self._parsing = code == Code.PARSER_START
        event = _DECODERS[code](text) if code in _DECODERS else None
        if event is not None:
            yield event
            return
        state = ""
        if frame.severity in (Severity.ERROR, Severity.BUG):
            initial = code in (Code.INVARIANT_VIOLATED_INITIAL, Code.PROPERTY_VIOLATED_INITIAL)
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
    **dict.fromkeys(Code.STATE_PRINT, read_state),
    **dict.fromkeys(Code.PROGRESS, _progress),
    **dict.fromkeys(Code.STATS, _stats),
    **dict.fromkeys(Code.INITIAL_STATES, _initial_states),
}


_HEAD: Final = re.compile(r"(-?[0-9]+)(?: -> (-?[0-9]+))?(?=[ ;\[])", re.ASCII)
_ATTRIBUTE: Final = re.compile(
    r'[\[,; ]*([A-Za-z_]+) *= *(?:"([^"\\]*(?:\\.[^"\\]*)*)"|([^",;\] ]+))', re.DOTALL | re.ASCII
)


@dataclass(frozen=True, slots=True)
class DumpState:
    """A node of the graph.

    Attributes
    ----------
    id : int
        TLC's fingerprint, signed, 64 bits; equal in another run only with the same polynomial.
    text : str
        The state as TLC printed it, with real line breaks.
    initial : bool
        Whether it is an initial state.
    """

    id: int
    text: str
    initial: bool


@dataclass(frozen=True, slots=True)
class DumpEdge:
    """An edge of the graph; ``action`` is empty when the dump has no name for it.

    ``arguments`` is the text between the parentheses of newer labels such as ``Send(1)``.
    """

    source: int
    target: int
    action: str
    arguments: str | None


Dump: TypeAlias = Iterator[DumpState | DumpEdge]


def read_dump(path: str | os.PathLike[str]) -> Dump:
    """Yield the states and edges of a dot file in the order of the file.

    Each edge line is an edge, so parallel edges are kept, although the file calls the graph
    ``strict``. TLC writes one line for each state.

    Parameters
    ----------
    path
        The dot file.

    Raises
    ------
    TlcError
        When the file cannot be read, a line has another form, or the end of the graph is missing
        because TLC was killed.
    """
    name = Path(path).name
    try:
        with Path(path).open(encoding="utf-8", errors="surrogateescape", newline="\n") as lines:
            started, last = False, ""
            for number, line in enumerate(lines, 1):
                head = _HEAD.match(line)
                if not head:
                    started = started or line.startswith(("strict digraph", "digraph"))
                elif started:
                    yield _item(head, line, f"{name}, line {number}")
                if not started:
                    raise TlcError(f"{name}, line {number}: not a state graph in dot")
                last = line if line.strip() else last
            if not last.rstrip().endswith("}"):
                raise TlcError(f"{name}: the end is missing; TLC did not finish writing it")
    except OSError as error:
        raise TlcError(f"{path} cannot be read: {error.strerror}") from None


def _item(head: re.Match[str], line: str, place: str) -> DumpState | DumpEdge:
    attributes: dict[str, str] = {}
    at = head.end()
    while match := _ATTRIBUTE.match(line, at):
        quoted = match[2]
        attributes[match[1]] = match[3] if quoted is None else _unescape(quoted)
        at = match.end()
    if line[at:].strip() not in ("]", "];", ";"):
        raise TlcError(f"{place}: attributes were expected: {line[at : at + 40]!a}")
    source = int(head[1])
    if head[2] is None:
        if "label" not in attributes:
            raise TlcError(f"{place}: a state without a label")
        initial = "filled" in attributes.get("style", "")
        return DumpState(source, attributes["label"], initial)
    return DumpEdge(source, int(head[2]), *called(attributes.get("label", "")))


def _unescape(text: str) -> str:
    # Cut at escaped backslashes first: the parts have escapes of quotes and line breaks only.
    parts = text.split("\\\\")
    return "\\".join(part.replace('\\"', '"').replace("\\n", "\n") for part in parts)

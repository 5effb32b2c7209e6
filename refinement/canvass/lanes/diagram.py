"""A swim-lane diagram as data: events in lanes, in their order, and the messages between them.

`canvass.lanes.drawing` makes a `Diagram`; the page and `TextLanes` draw it, the latter in columns
for terminals.

    ● 12 CandidateBallot      │                        │
    │   → 0 RequestVote       │                        │
    ├──────RequestVote───────▶│                        │
    │                         ● 14 OnRequestVote       │

A line is a list of texts with styles. A terminal may colour them; the text has the full meaning
without colours.
"""

from __future__ import annotations

import re
import textwrap
from collections import defaultdict
from collections.abc import Iterator
from enum import Enum
from typing import Final, Literal, TypeAlias

from canvass.cluster.messages import Record
from canvass.traces.errors import counted

ABSENT: Final = "absent"
"""Text of a missing value in a change."""


class Mark(str, Enum):
    """Why an event is marked."""

    DIVERGES = "DIVERGES"
    """The spec does not allow this step, or the property is violated here."""
    RESTART = "RESTART"
    """The member starts with its disk alone."""
    ERROR = "ERROR"
    """An error ends the election of the member."""
    ENDS = "ENDS"
    """The member terminates."""
    GAP = "GAP"
    """Events before this one are missing from the lane."""


MARKED: Final = {
    "Restart": (Mark.RESTART, "restarts with what is on disk"),
    "ElectionError": (Mark.ERROR, "an error ends the election"),
    "Terminate": (Mark.ENDS, "terminates"),
}
"""Mark and remark of the actions that are always marked."""


class Fate(str, Enum):
    """Whether a message was sent and received."""

    DELIVERED = "DELIVERED"
    LOST = "LOST"
    """An event sends it, and no event receives it."""
    UNSENT = "UNSENT"
    """An event receives it, and no event sends it."""


class LaneEvent(Record, frozen=True):
    """One event of one lane. Events are numbered by their place in the diagram."""

    lane: int
    title: str
    reference: str = ""
    """Name of the event in commands: ``1:42`` is step 42 of member 1."""
    given: str = ""
    """The input of the step, without its message."""
    aside: tuple[str, ...] = ()
    """Messages that are lost in this step, one a line."""
    changes: tuple[str, ...] = ()
    """Changes of the state, one a line, the most important ones first."""
    mark: Mark | None = None
    remark: str = ""
    """The reason for the mark, in a few words."""
    skipped: int = 0
    """Number of events between the previous one and this one that are not drawn."""


class LaneMessage(Record, frozen=True):
    """A message between two lanes."""

    name: str
    sender: int
    """Lane of the sender."""
    receiver: int
    sent: int | None = None
    """Number of the event that sends it; None if that event is not in the diagram."""
    received: int | None = None
    """Number of the event that receives it; None if that event is not in the diagram."""
    fate: Fate = Fate.DELIVERED
    text: str = ""
    """Contents of the message."""


class Diagram(Record, frozen=True):
    """Lanes with their events and messages."""

    lanes: tuple[str, ...]
    """Names of the lanes, from left to right."""
    events: tuple[LaneEvent, ...]
    messages: tuple[LaneMessage, ...] = ()
    before: int = 0
    """Number of events before the first one of the diagram."""
    after: int = 0
    """Number of events after the last one."""


def visible(text: str) -> str:
    """Give a text with escapes for its unprintable characters and line breaks."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def shortened(text: str, limit: int) -> str:
    """Give at most ``limit`` characters of a text, with escapes as in `visible`."""
    shown = visible(text[: limit + 1])
    return shown if len(shown) <= limit and len(text) <= limit else f"{shown[: limit - 1]}…"


Style: TypeAlias = Literal["", "dim", "title", "bad", "fault", "message"]
Line: TypeAlias = list[tuple[str, Style]]

MIN_WIDTH: Final = 18
"""Minimum width of a lane: the names of actions fit into it."""
_MAX_ROWS: Final = 9
"""Maximum rows of a message's contents. If it has more, the first fields are shown, and the number
of the others."""
_FIELD: Final = re.compile(r", (?=[A-Za-z]+=)")


_AXIS, _EVENT, _BAD, _FAULT, _GAP = "│●✖◆⋮"
_ACROSS, _CROSS, _LEAVE_RIGHT, _LEAVE_LEFT, _RIGHT, _LEFT = "─┼├┤▶◀"


class TextLanes:
    """Draws a diagram as lines of text.

    Parameters
    ----------
    diagram
        The diagram to draw.
    width
        Width in columns. Each lane gets at least `MIN_WIDTH`.
    contents
        Whether to write the contents of each message at its receipt; a narrow lane has the first
        fields only.
    """

    def __init__(self, diagram: Diagram, width: int, *, contents: bool = False) -> None:
        self._diagram = diagram
        self._contents = contents
        self._column = max(MIN_WIDTH, width // max(1, len(diagram.lanes)))

    def lines(self) -> Iterator[Line]:
        """Draw the diagram line by line, from the top."""
        diagram = self._diagram
        sent: defaultdict[int | None, list[LaneMessage]] = defaultdict(list)
        received: defaultdict[int | None, list[LaneMessage]] = defaultdict(list)
        for message in diagram.messages:
            sent[message.sent].append(message)
            received[message.received].append(message)
        yield self._row(dict(enumerate(diagram.lanes)), "title", axis=False)
        if diagram.before:
            yield self._left_out(diagram.before, "before")
        for number, event in enumerate(diagram.events):
            if event.skipped:
                yield self._left_out(event.skipped, "between")
            for message in received[number]:
                yield self._arrow(message)
            yield from self._event(event, sent[number], received[number])
        if diagram.after:
            yield self._left_out(diagram.after, "after")

    def _row(self, cells: dict[int, str], style: Style, *, axis: bool = True) -> Line:
        """Draw one line with text in some lanes."""
        line: Line = []
        for lane in range(len(self._diagram.lanes)):
            text = cells.get(lane)
            if text is None:
                line.append(((_AXIS if axis else "").ljust(self._column), "dim"))
            else:
                line.append((visible(text)[: self._column].ljust(self._column), style))
        return _stripped(line)

    def _left_out(self, count: int, where: str) -> Line:
        events = counted(count, "event")
        return [(f"{_GAP} {events} {where}, not shown", "dim")]

    def _arrow(self, message: LaneMessage) -> Line:
        """Draw the line at which a message arrives."""
        column = self._column
        start, end = message.sender, message.receiver
        first, last = sorted((start, end))
        if first == last:
            return self._row({start: f"{_LEFT}{_ACROSS} {message.name}"}, "message")
        line: Line = [(_AXIS.ljust(column), "dim") for _ in range(first)]
        body = [_ACROSS] * ((last - first) * column + 1)
        for lane in range(first + 1, last):
            body[(lane - first) * column] = _CROSS
        body[0] = _LEAVE_RIGHT if start == first else _LEFT
        body[-1] = _RIGHT if end == last else _LEAVE_LEFT
        name = f" {visible(message.name)[: column - 6]}{self._origin(message)} "
        if len(name) > column - 4:
            name = f" {visible(message.name)[: column - 6]} "
        place = (column - len(name)) // 2 + 1
        body[place : place + len(name)] = name
        style: Style = "bad" if message.fate is Fate.UNSENT else "message"
        line.append(("".join(body), style))
        rest = len(self._diagram.lanes) - last - 1
        if rest:
            line.append((" " * (column - 1), ""))
        line += [(_AXIS.ljust(column), "dim") for _ in range(rest)]
        return _stripped(line)

    def _origin(self, message: LaneMessage) -> str:
        if message.fate is Fate.UNSENT:
            return ", not sent"
        return "" if message.sent is not None else ", sent before"

    def _event(
        self, event: LaneEvent, sent: list[LaneMessage], received: list[LaneMessage]
    ) -> Iterator[Line]:
        """Draw an event: its title, mark, sends and changes."""
        style: Style = "title"
        sign = _EVENT
        if event.mark is not None:
            bad = event.mark is Mark.DIVERGES
            style, sign = ("bad", _BAD) if bad else ("fault", _FAULT)
        step = event.reference.rpartition(":")[2]
        for line in self._wrapped(f"{step} {event.title}".strip(), f"{sign} "):
            yield self._row({event.lane: line}, style)
        for text, kind in self._below(event, style, sent, received):
            for line in self._wrapped(text, f"{_AXIS}   "):
                yield self._row({event.lane: line}, kind)

    def _below(
        self,
        event: LaneEvent,
        style: Style,
        sent: list[LaneMessage],
        received: list[LaneMessage],
    ) -> Iterator[tuple[str, Style]]:
        """Give the lines below the title of an event."""
        if event.mark is not None:
            yield f"{event.mark.value}: {event.remark}".removesuffix(": "), style
        if event.given:
            yield f"given {event.given}", ""
        if self._contents:
            for message in received:
                if message.text:
                    yield self._folded(f"← {message.text}"), "message"
        for message in sent:
            to = self._diagram.lanes[message.receiver].rpartition(" ")[2]
            if message.fate is Fate.LOST:
                yield f"→ {to} {message.name}, never received", "fault"
            else:
                yield f"→ {to} {message.name}", "message"
        for line in (*event.aside, *event.changes):
            yield line, ""

    def _folded(self, text: str) -> str:
        """The contents of a message, or the first fields if they are too many for the lane."""
        indent = f"{_AXIS}   "
        if len(self._wrapped(text, indent)) <= _MAX_ROWS:
            return text
        fields = _FIELD.split(text)
        for count in range(len(fields) - 1, 0, -1):
            shown = f"{', '.join(fields[:count])}, and {len(fields) - count} more"
            if len(self._wrapped(shown, indent)) < _MAX_ROWS:
                return shown
        return text

    def _wrapped(self, text: str, indent: str) -> list[str]:
        return textwrap.wrap(
            visible(text),
            self._column - 1,
            initial_indent=indent,
            subsequent_indent=f"{_AXIS}     ",
            break_on_hyphens=False,
        ) or [indent]


def _stripped(line: Line) -> Line:
    """Remove the spaces at the end of a line."""
    while line and not line[-1][0].strip():
        line.pop()
    if line:
        text, style = line[-1]
        line[-1] = (text.rstrip(), style)
    return line

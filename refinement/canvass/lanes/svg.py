"""A diagram as SVG: boxes on lanes, one below the other, and arrows that cross no box.

**Why nothing overlaps.** Each event has a row of its own, so the other lanes are free there: an
arrow leaves its sender's box sideways in that row, goes down in the gutter beside the receiver's
lane, on a track that no other arrow uses at that height, and enters the receiver's box in its row.
Text is set in a monospaced font and never longer than its box; where a font is wider than expected,
`textLength` holds the line to its place.

The SVG has no script, style or link in it. Colours are those of the page's CSS variables, and every
one goes with a form, a sign or a word.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Final

from canvass.lanes.model import (
    Diagram,
    Fate,
    Index,
    LaneEvent,
    LaneMessage,
    Mark,
    shortened,
    visible,
)

STYLE: Final = """
svg.lanes { --box: #fff; --ink: #1b1b1f; --soft: #5c5f66; --axis: #b9bcc4; --arrow: #2f5fb3;
  --bad: #b3261e; --bad-box: #fdecea; --fault: #8a5300; --fault-box: #fff4e0; }
@media (prefers-color-scheme: dark) { svg.lanes { --box: #1e1f24; --ink: #e8e8ec; --soft: #a3a6ae;
  --axis: #4b4e57; --arrow: #8fb4ff; --bad: #ff8a80; --bad-box: #3b1d1b; --fault: #ffc46b;
  --fault-box: #35290f; } }
svg.lanes text { font: 12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  fill: var(--ink); white-space: pre; }
svg.lanes .name { font-weight: 600; } svg.lanes .soft { fill: var(--soft); }
svg.lanes .note { paint-order: stroke; stroke: Canvas; stroke-width: 6; }
svg.lanes .axis { stroke: var(--axis); stroke-width: 1; stroke-dasharray: 2 4; }
svg.lanes .box { fill: var(--box); stroke: var(--axis); }
svg.lanes .head { fill: var(--box); stroke: var(--ink); }
svg.lanes .bad .box { fill: var(--bad-box); stroke: var(--bad); stroke-width: 3; }
svg.lanes .bad .name, svg.lanes .bad .remark { fill: var(--bad); }
svg.lanes .fault .box { fill: var(--fault-box); stroke: var(--fault); stroke-width: 2;
  stroke-dasharray: 6 3; }
svg.lanes .fault .name, svg.lanes .fault .remark, svg.lanes text.lost { fill: var(--fault); }
svg.lanes .arrow { fill: none; stroke: var(--arrow); stroke-width: 1.5; }
svg.lanes .tip { fill: var(--arrow); } svg.lanes .arrow.lost { stroke: var(--fault);
  stroke-dasharray: 5 3; } svg.lanes .arrow.unsent { stroke: var(--bad); stroke-dasharray: 2 3; }
"""
"""What a page with diagrams has among its styles."""

_CHAR: Final = 7.3
"""Width of a character: that of the usual monospaced fonts at 12 px, and a little more."""
_LINE: Final = 16
_PADDING: Final = 8
_GAP: Final = 12
_TRACK: Final = 9
_HEAD: Final = 30
_MAX_CHANGES: Final = 7
_MAX_SENDS: Final = 10
_MAX_WRAPPED: Final = 4
_SIGNS: Final = {
    Mark.DIVERGES: "✖",
    Mark.RESTART: "↻",
    Mark.ERROR: "!",
    Mark.ENDS: "■",
    Mark.GAP: "…",
}


@dataclass(slots=True)
class _Box:
    """An event as lines of text, and where they stand."""

    event: LaneEvent
    lines: list[tuple[str, str]] = field(default_factory=list)
    """Class and text."""
    sends: dict[int, int] = field(default_factory=dict)
    """For each message sent, by its place among them, the line that tells it."""
    top: float = 0.0

    @property
    def height(self) -> float:
        return len(self.lines) * _LINE + _PADDING

    def middle(self, line: int) -> float:
        """Give the height of the middle of a line."""
        return self.top + _PADDING / 2 + line * _LINE + _LINE / 2


@dataclass(slots=True)
class _Route:
    """An arrow: from a box's side through a gutter to a box's side."""

    message: LaneMessage
    gutter: int
    """Between which lanes it goes down: ``gutter`` and ``gutter + 1``."""
    start: float | None
    end: float | None
    track: int = 0


class SvgLanes:
    """Draws a diagram as an ``svg`` element.

    Parameters
    ----------
    diagram
        What to draw.
    label
        What the picture is called by programs that read pages out.
    """

    def __init__(self, diagram: Diagram, label: str) -> None:
        self._diagram = diagram
        self._label = label
        self._chars = 38 if len(diagram.lanes) <= 3 else 28
        self._box_width = self._chars * _CHAR + 2 * _PADDING
        index = Index(diagram)
        self._boxes = [
            self._box(event, index.sent[number], index.received[number])
            for number, event in enumerate(diagram.events)
        ]
        self._height = self._place()
        self._routes = self._routed(index)
        self._tracks = self._assign()
        self._left: list[float] = []
        x = float(_PADDING)
        for lane in range(len(diagram.lanes)):
            self._left.append(x)
            x += self._box_width + self._gutter_width(lane)
        self._width = self._left[-1] + self._box_width + _PADDING if self._left else 2 * _PADDING

    # --- layout -----------------------------------------------------------------------------------

    def _box(
        self, event: LaneEvent, sent: Sequence[LaneMessage], received: Sequence[LaneMessage]
    ) -> _Box:
        box = _Box(event)

        def add(kind: str, text: str) -> None:
            box.lines += [(kind, line) for line in _wrapped(text, self._chars)]

        sign = f"{_SIGNS[event.mark]} " if event.mark else ""
        add("name", f"{sign}{event.title}")
        if event.mark:
            add("remark", f"{event.mark.value}{': ' if event.remark else ''}{event.remark}")
        step = event.reference.rpartition(":")[2]
        if step:
            add("soft", f"step {step}{f', {event.given}' if event.given else ''}")
        for message in received:
            place = " (nobody sent it)" if message.fate is Fate.UNSENT else ""
            place = place or ("" if message.sent is not None else " (sent before)")
            add("", f"← {self._short(message.sender)} {message.name}{place}")
        for place_, message in enumerate(sent[:_MAX_SENDS]):
            box.sends[place_] = len(box.lines)
            lost = message.fate is Fate.LOST
            later = "" if lost or message.received is not None else " (later)"
            text = f"→ {self._short(message.receiver)} {message.name}"
            add("lost" if lost else "", f"{text}{' (lost)' if lost else later}")
        if len(sent) > _MAX_SENDS:
            add("soft", f"→ {len(sent) - _MAX_SENDS} more messages")
        for line in event.aside[:_MAX_SENDS]:
            add("", line)
        for change in event.changes[:_MAX_CHANGES]:
            add("soft", change)
        if len(event.changes) > _MAX_CHANGES:
            more = len(event.changes) - _MAX_CHANGES
            add("soft", f"{more} more change{'' if more == 1 else 's'}")
        return box

    def _short(self, lane: int) -> str:
        return self._diagram.lanes[lane].rpartition(" ")[2]

    def _place(self) -> float:
        """Put the boxes one below the other; give the height of all."""
        y = float(_HEAD + _PADDING + _GAP)
        if self._diagram.before:
            y += _LINE
        for box in self._boxes:
            if box.event.skipped:
                y += _LINE + _GAP / 2
            box.top = y
            y += box.height + _GAP
        return y + (_LINE if self._diagram.after else 0) + _PADDING

    def _routed(self, index: Index) -> list[_Route]:
        routes = []
        for number, box in enumerate(self._boxes):
            for place, message in enumerate(index.sent[number]):
                line = box.sends.get(place)
                if line is not None and message.sender != message.receiver:
                    to = message.received
                    end = None if to is None or to <= number else self._entry(to)
                    routes.append(_Route(message, _gutter(message), box.middle(line), end))
            routes += [
                _Route(message, _gutter(message), None, self._entry(number))
                for message in index.received[number]
                if message.sent is None and message.sender != message.receiver
            ]
        return routes

    def _entry(self, number: int) -> float:
        return self._boxes[number].middle(0)

    def _assign(self) -> list[int]:
        """Give arrows of one gutter that are there at the same height tracks of their own."""
        tracks = [0] * max(1, len(self._diagram.lanes) - 1)
        for gutter in range(len(tracks)):
            free: list[float] = []
            mine = [route for route in self._routes if route.gutter == gutter]
            for route in sorted(mine, key=lambda one: _span(one)[0]):
                top, bottom = _span(route)
                place = next((k for k, end in enumerate(free) if end < top), len(free))
                free[place : place + 1] = [bottom + 2]
                route.track = place
            tracks[gutter] = len(free)
        return tracks

    def _gutter_width(self, gutter: int) -> float:
        tracks = self._tracks[gutter] if gutter < len(self._tracks) else 0
        return 34 + max(1, tracks) * _TRACK

    # --- drawing ----------------------------------------------------------------------------------

    def draw(self) -> str:
        """Give the element."""
        width, height = f"{self._width:.0f}", f"{self._height:.0f}"
        opening = (
            f'<svg class="lanes" xmlns="http://www.w3.org/2000/svg" role="img" width="{width}"'
            f' height="{height}" viewBox="0 0 {width} {height}" aria-label="{_text(self._label)}">'
        )
        parts = [
            opening,
            *self._axes(),
            *self._notes(),
            *(part for route in self._routes for part in self._arrow(route)),
            *(part for box in self._boxes for part in self._draw_box(box)),
            "</svg>",
        ]
        return "\n".join(parts)

    def _axes(self) -> Iterator[str]:
        for lane, name in enumerate(self._diagram.lanes):
            x, middle = self._left[lane], self._left[lane] + self._box_width / 2
            bottom = self._height - _PADDING
            yield (
                f'<path class="axis" d="M{middle:.1f} {_HEAD + _PADDING}V{bottom:.1f}"/>'
                f'<rect class="head" x="{x:.1f}" y="{_PADDING}" width="{self._box_width:.1f}"'
                f' height="{_HEAD}" rx="4"/>'
            )
            text = shortened(name, self._chars)
            yield self._line("name", text, x + _PADDING, _PADDING + _HEAD / 2)

    def _notes(self) -> Iterator[str]:
        def note(count: int, where: str, y: float) -> str:
            events = "1 event" if count == 1 else f"{count:,} events"
            text = f"⋮ {events} {where}, not shown"
            return f'<text class="soft note" x="{_PADDING + 2}" y="{y:.1f}">{text}</text>'

        if self._diagram.before:
            yield note(self._diagram.before, "before", _HEAD + _PADDING + _GAP + 6)
        for box in self._boxes:
            if box.event.skipped:
                yield note(box.event.skipped, "between", box.top - _GAP + 2)
        if self._diagram.after:
            yield note(self._diagram.after, "after", self._height - _PADDING - 2)

    def _draw_box(self, box: _Box) -> Iterator[str]:
        mark = box.event.mark
        kind = "bad" if mark is Mark.DIVERGES else "fault" if mark else "event"
        x = self._left[box.event.lane]
        yield (
            f'<g class="{kind}"><rect class="box" x="{x:.1f}" y="{box.top:.1f}" rx="4"'
            f' width="{self._box_width:.1f}" height="{box.height:.1f}"/>'
        )
        for number, (line, text) in enumerate(box.lines):
            yield self._line(line, text, x + _PADDING, box.middle(number))
        yield f"<title>{_text(_title(box.event))}</title></g>"

    def _line(self, kind: str, text: str, x: float, y: float) -> str:
        # Held to its length only where another font could make it leave its box.
        held = f' textLength="{len(text) * _CHAR:.1f}" lengthAdjust="spacingAndGlyphs"'
        fit = held if len(text) > self._chars - 8 else ""
        name = f' class="{kind}"' if kind else ""
        return f'<text{name} x="{x:.1f}" y="{y + 4:.1f}"{fit}>{_text(text)}</text>'

    def _arrow(self, route: _Route) -> Iterator[str]:
        message = route.message
        rightward = message.receiver > message.sender
        sign = 1 if rightward else -1
        from_x = self._left[message.sender] + (self._box_width if rightward else 0)
        to_x = self._left[message.receiver] + (0 if rightward else self._box_width)
        track = self._left[route.gutter] + self._box_width + 17 + (route.track + 0.5) * _TRACK
        kind = {Fate.LOST: " lost", Fate.UNSENT: " unsent"}.get(message.fate, "")
        title = f"<title>{_text(shortened(f'{message.name}: {message.text}', 600))}</title>"
        if route.start is None:
            assert route.end is not None
            path = f"M{track:.1f} {route.end:.1f}H{to_x - sign * 7:.1f}"
            ending = _dot(track, route.end) + _tip(to_x, route.end, sign)
        elif route.end is None:
            path = f"M{from_x:.1f} {route.start:.1f}H{track:.1f}"
            lost = message.fate is Fate.LOST
            ending = _cross(track, route.start) if lost else _down(track, route.start)
        else:
            path = (
                f"M{from_x:.1f} {route.start:.1f}H{track:.1f}V{route.end:.1f}H{to_x - sign * 7:.1f}"
            )
            ending = _tip(to_x, route.end, sign)
        yield f'<g><path class="arrow{kind}" d="{path}"/>{ending}{title}</g>'


def _gutter(message: LaneMessage) -> int:
    """Give the gutter beside the receiver's lane, on the sender's side."""
    if message.receiver > message.sender:
        return message.receiver - 1
    return message.receiver


def _span(route: _Route) -> tuple[float, float]:
    start = route.start if route.start is not None else route.end
    end = route.end if route.end is not None else route.start
    assert start is not None
    assert end is not None
    return start - 8, end + 8


def _tip(x: float, y: float, sign: int) -> str:
    back = x - sign * 8
    return f'<path class="tip" d="M{x:.1f} {y:.1f}L{back:.1f} {y - 4:.1f}V{y + 4:.1f}Z"/>'


def _dot(x: float, y: float) -> str:
    return f'<circle class="tip" cx="{x:.1f}" cy="{y:.1f}" r="3"/>'


def _cross(x: float, y: float) -> str:
    return (
        f'<path class="arrow lost" d="M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8"'
        ' stroke-dasharray="none"/>'
    )


def _down(x: float, y: float) -> str:
    return (
        f'<path class="arrow" d="M{x:.1f} {y:.1f}v4"/>'
        f'<path class="tip" d="M{x:.1f} {y + 9:.1f}l-3.5 -6h7Z"/>'
    )


def _wrapped(text: str, width: int) -> list[str]:
    """Break a text into lines; what is longer than `_MAX_WRAPPED` lines is cut, and says so."""
    lines = textwrap.wrap(
        visible(text[: 2 * width * _MAX_WRAPPED]),
        width,
        subsequent_indent="  ",
        break_on_hyphens=False,
        max_lines=_MAX_WRAPPED,
        placeholder=" …",
    )
    return lines or [""]


def _title(event: LaneEvent) -> str:
    """Give all text of an event; its box may show less."""
    parts = [event.reference, event.title, event.remark, event.given, *event.changes]
    return shortened("; ".join(part for part in parts if part), 2_000)


def _text(text: str) -> str:
    return escape(shortened(text, 4_000))

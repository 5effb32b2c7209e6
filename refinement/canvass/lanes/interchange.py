"""A run for the tools of others: Mermaid sequence diagrams, logs with vector clocks for ShiViz."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from canvass.lanes.model import Diagram, Fate, Index, LaneEvent, shortened
from canvass.lanes.of_run import RunLanes, value_text


def vector_clocks(lanes: RunLanes) -> dict[int, tuple[int, ...]]:
    """Give for each row the vector clock after its event: per member, its events known here."""
    count = lanes.columns.member_count
    latest = [(0,) * count for _ in range(count)]
    found: dict[int, tuple[int, ...]] = {}
    for row in lanes.rows:
        member = int(lanes.columns.member[row])
        clock = list(latest[member])
        sender = lanes.sender_of(row)
        if sender in found:
            clock = [max(pair) for pair in zip(clock, found[sender], strict=True)]
        clock[member] += 1
        latest[member] = found[row] = tuple(clock)
    return found


def shiviz_lines(lanes: RunLanes) -> Iterator[str]:
    """Give the log line by line, in an order of causes."""
    clocks = vector_clocks(lanes)
    for row in lanes.rows:
        event = lanes.columns.event(row)
        member = int(lanes.columns.member[row])
        parts = [f"{event.step} {event.action.value}"]
        if event.input.message is not None:
            message = event.input.message
            parts.append(f"<- {event.input.from_} {type(message).__name__}({value_text(message)})")
        parts += [f"-> {send.to} {type(send.message).__name__}" for send in event.sends]
        parts.append(f"[{event.state.election_state.value}, {event.state.role.value}]")
        clock = {f"member-{k}": count for k, count in enumerate(clocks[row]) if count}
        yield " ".join(parts)
        yield f"member-{member} {msgspec.json.encode(clock).decode()}"


_SPECIAL: Final = re.compile(r"[^A-Za-z0-9 _.,:()\[\]→←=+/|-]")
_MAX_TEXT: Final = 200
_MAX_CHANGES: Final = 4


def to_mermaid(diagram: Diagram) -> str:
    """Give the source of the sequence diagram."""
    return "\n".join(_lines(diagram)) + "\n"


def _lines(diagram: Diagram) -> Iterator[str]:
    index = Index(diagram)
    yield "sequenceDiagram"
    for lane, name in enumerate(diagram.lanes):
        yield f"    participant m{lane} as {_text(name)}"
    everywhere = f"m0,m{len(diagram.lanes) - 1}" if len(diagram.lanes) > 1 else "m0"
    for number, event in enumerate(diagram.events):
        if event.skipped:
            yield f"    Note over {everywhere}: {event.skipped} events are not shown"
        for message in index.received[number]:
            arrow = "--)" if message.sent is None else "-)"
            said = ", not sent" if message.fate is Fate.UNSENT else ""
            yield (f"    m{message.sender}{arrow}m{message.receiver}: {_text(message.name)}{said}")
        yield f"    Note over m{event.lane}: {_note(event)}"
        for message in index.sent[number]:
            if message.fate is Fate.LOST:
                yield f"    m{message.sender}-xm{message.receiver}: {_text(message.name)}, lost"


def _note(event: LaneEvent) -> str:
    step = event.reference.rpartition(":")[2]
    lines = [f"{step} {event.title}".strip()]
    if event.mark is not None:
        lines.append(f"{event.mark.value}: {event.remark}".removesuffix(": "))
    lines += event.changes[:_MAX_CHANGES]
    if len(event.changes) > _MAX_CHANGES:
        lines.append(f"and {len(event.changes) - _MAX_CHANGES} more")
    return "<br/>".join(map(_text, lines))


def _text(text: str) -> str:
    """Write what Mermaid might take for its own as entities."""
    return _SPECIAL.sub(lambda found: f"#{ord(found[0])};", shortened(text, _MAX_TEXT))

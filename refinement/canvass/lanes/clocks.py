"""Vector clocks of a run, and the log with them that ShiViz reads.

Two lines for an event: what happened, then the host with its clock. ShiViz parses them with its
usual expression, `SHIVIZ_PATTERN`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from canvass.lanes.changes import value_text
from canvass.lanes.of_run import RunLanes

SHIVIZ_PATTERN: Final = r"(?<event>.*)\n(?<host>\S*) (?<clock>{.*})"


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

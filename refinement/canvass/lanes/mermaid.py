"""A diagram as a Mermaid sequence diagram, for pages that draw those.

Mermaid draws a message in one row: it stands where it arrives, a lost one where it was sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from canvass.lanes.model import Diagram, Fate, Index, LaneEvent, shortened

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

"""The diagram as data: what happened in which lane, in which order, and who sent what to whom.

Nothing here knows runs, files or how anything is drawn. Whoever has events in an order, from a run
or from a counterexample, can make a `Diagram` of them and give it to any of the renderers.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from msgspec import Struct

from canvass.cluster.names import wire_name

ABSENT: Final = "absent"
"""In a change, the text of a value that is not there."""


class Record(Struct, frozen=True, forbid_unknown_fields=True, rename=wire_name):
    """A part of a diagram."""


class Mark(str, Enum):
    """What is out of the ordinary about an event."""

    DIVERGES = "DIVERGES"
    """Here the run leaves what is allowed."""
    RESTART = "RESTART"
    """The member lost what it had in memory."""
    ERROR = "ERROR"
    """The member hit an error of its own."""
    ENDS = "ENDS"
    """The member terminates."""
    GAP = "GAP"
    """Events before this one are missing from the lane."""


MARKED: Final = {
    "Restart": (Mark.RESTART, "restarts with what is on disk"),
    "ElectionError": (Mark.ERROR, "an error ends the election"),
    "Terminate": (Mark.ENDS, "terminates"),
}
"""The mark and the remark of actions that are unusual in themselves."""


class Fate(str, Enum):
    """What happened to a message."""

    DELIVERED = "DELIVERED"
    LOST = "LOST"
    """It was sent, and never received in the run."""
    UNSENT = "UNSENT"
    """It was received, and nobody sent it."""


class LaneEvent(Record, frozen=True):
    """One event of one lane. Its number is its place in the diagram, which is its place in time."""

    lane: int
    title: str
    reference: str = ""
    """Names the event to commands, such as ``1:42`` for step 42 of member 1."""
    given: str = ""
    """What it consumed besides a message."""
    aside: tuple[str, ...] = ()
    """Messages to and from lanes that are not drawn, one a line."""
    changes: tuple[str, ...] = ()
    """What changed, one change a line, the most important first."""
    mark: Mark | None = None
    remark: str = ""
    """What the mark means here, in a few words."""
    skipped: int = 0
    """How many events between the one before and this one are not in the diagram."""


class LaneMessage(Record, frozen=True):
    """A message between two lanes."""

    name: str
    sender: int
    """The lane it comes from."""
    receiver: int
    sent: int | None = None
    """Number of the event that sends it, None if that is not in the diagram."""
    received: int | None = None
    """Number of the event that receives it, None if that is not in the diagram."""
    fate: Fate = Fate.DELIVERED
    text: str = ""
    """Its contents."""


class Diagram(Record, frozen=True):
    """Lanes with what happened in them."""

    lanes: tuple[str, ...]
    """The lanes' names, from left to right."""
    events: tuple[LaneEvent, ...]
    messages: tuple[LaneMessage, ...] = ()
    before: int = 0
    """How many events come before the first one of the diagram."""
    after: int = 0
    """How many events come after the last one."""


class Index:
    """Messages of a diagram by the events that send and receive them."""

    def __init__(self, diagram: Diagram) -> None:
        self.sent: list[list[LaneMessage]] = [[] for _ in diagram.events]
        self.received: list[list[LaneMessage]] = [[] for _ in diagram.events]
        for message in diagram.messages:
            if message.sent is not None:
                self.sent[message.sent].append(message)
            if message.received is not None:
                self.received[message.received].append(message)


def visible(text: str) -> str:
    """Give a text with whatever cannot be seen, line breaks included, written as an escape."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def shortened(text: str, limit: int) -> str:
    """Give a text of at most ``limit`` characters, all of them visible."""
    shown = visible(text[: limit + 1])
    return shown if len(shown) <= limit and len(text) <= limit else f"{shown[: limit - 1]}…"

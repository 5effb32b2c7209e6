"""A swim-lane diagram as data: events in lanes, in their order, and the messages between them.

`of_run` and `of_counterexample` make a `Diagram`; `text` and the page draw it.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from canvass.cluster.messages import Record

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

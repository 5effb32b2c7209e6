"""One proposed step, what a proposal can go back to, and the two ways in which one fails.

Only data; what is done with it is in `proposal` and `search`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from canvass.cluster.member import Input, Member
from canvass.cluster.messages import Message
from canvass.traces.aeron_import.channels import Channel, Delivery


class Unsendable(Exception):
    """No step sends what was received, where it is planned."""

    def __init__(self, delivery: Delivery) -> None:
        super().__init__(delivery)
        self.delivery = delivery


class Contradiction(Exception):
    """No step explains a record."""

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(index, reason)
        self.index = index
        self.reason = reason


def require(condition: bool, index: int, reason: str) -> None:
    """Raise a `Contradiction` unless a condition holds."""
    if not condition:
        raise Contradiction(index, reason)


@dataclass(slots=True, eq=False)
class Step:
    """One proposed step.

    Parameters
    ----------
    action, given, state
        As in an event: the action, its input, and the state after it.
    time
        On the common clock.
    delivery
        Of the message consumed.
    sends
        Receiver and message; the first has the number ``first``, the others follow.
    lines
        Indexes of the records that it accounts for.
    observed
        Fields of the event that these records show.
    impossible
        Whether it is no step at all, but what was observed where none is possible.
    gap
        Whether something is missing before it.
    index
        Of the record that was looked at when it was taken.
    """

    action: str
    given: Input
    state: Member
    time: int
    delivery: Delivery | None
    sends: tuple[tuple[int, Message], ...]
    first: int
    lines: list[int] = field(default_factory=list)
    observed: list[str] = field(default_factory=list)
    impossible: bool = False
    gap: bool = False
    index: int = 0


@dataclass(slots=True)
class Mark:
    """A point that a proposal can go back to."""

    values: tuple[Any, ...]
    step_count: int
    unsent_count: int
    waiting: list[int]
    changes: list[Change]
    lines: list[tuple[Step, int, int]]
    channels: list[tuple[Channel, int]]
    published_place: dict[int, int]


@dataclass(slots=True)
class Change:
    """A change of the election state that a step made and that no record has shown yet."""

    old: str
    new: str
    step: Step

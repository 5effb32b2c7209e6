"""Messages that somebody received, in the order of the channels they came on.

Nothing here says where a message comes from; that is planned in `deliveries`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from canvass.cluster.messages import Message
from canvass.traces.aeron_import.places import UNPLANNED


@dataclass(slots=True, eq=False)
class Delivery:
    """One message that was received, and where its send belongs.

    Parameters
    ----------
    sender, receiver, message
        As logged by the receiver.
    index
        Of the record in the receiver's log.
    time
        Of the receipt, on the common clock.
    not_before
        When the receiver's process was started: what was on its way then is lost.
    due
        Index of the record in the sender's log before which it is to be sent, or at which if it is
        a reply; `UNPLANNED` if the sender could not have sent it.
    reply
        Whether it is sent in the step that record ``due`` causes.
    number
        Running number of the send, once it is found; -1 until then.
    planned, lost
        What ``due`` was before it was driven; and whether it is settled that nothing sends it.
    untried
        Whether that is settled because the search is bounded.
    excused
        Whether lines are missing that would explain it.
    is_supposed
        Whether nobody logged it.
    supposed
        What its sender must have received before, and has not logged.
    place
        In its channel.
    """

    sender: int
    receiver: int
    message: Message
    index: int
    time: int
    not_before: int
    due: int = UNPLANNED
    reply: bool = False
    number: int = -1
    planned: int = UNPLANNED
    lost: bool = False
    untried: bool = False
    excused: bool = False
    is_supposed: bool = False
    supposed: list[Delivery] = field(default_factory=list)
    place: int = 0


class Channel:
    """What one member received from another, and how much of it has been sent.

    Parameters
    ----------
    items
        All of it, in the order of the receipts.

    Attributes
    ----------
    at, head
        Place of the next one, and itself, if there is one.
    """

    __slots__ = ("at", "head", "items")

    def __init__(self, items: list[Delivery]) -> None:
        self.items = items
        self._go_to(0)

    def _go_to(self, at: int) -> None:
        self.at = at
        self.head = self.items[at] if at < len(self.items) else None

    def __len__(self) -> int:
        return len(self.items) - self.at

    def __getitem__(self, place: int) -> Delivery:
        return self.items[self.at + place]

    def __iter__(self) -> Iterator[Delivery]:
        return (self.items[place] for place in range(self.at, len(self.items)))

    def popleft(self) -> Delivery:
        """Go on to the next one."""
        first = self.items[self.at]
        self._go_to(self.at + 1)
        return first

    def reset(self) -> None:
        """Go back to the beginning."""
        for delivery in self.items:
            delivery.due, delivery.number = delivery.planned, -1
        self._go_to(0)

    def rewind(self, at: int) -> None:
        """Go back; what was sent since has not been sent."""
        for delivery in self.items[at : self.at + 1]:
            delivery.due, delivery.number = delivery.planned, -1
        self._go_to(at)

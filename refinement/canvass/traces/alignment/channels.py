"""The channels of driven members: what is received, what of it is sent, what is unclaimed."""

from __future__ import annotations

from dataclasses import dataclass, field

from canvass.cluster.member import Member
from canvass.cluster.messages import (
    Message,
    NewLeadershipTerm,
    StopCatchup,
)
from canvass.traces.alignment.bounds import UNBOUNDED
from canvass.traces.alignment.channel_matching import ChannelKey, Receipt
from canvass.traces.alignment.windows import SLOTS, Windows


@dataclass(slots=True)
class Conflict:
    """Where the members cannot go on.

    Parameters
    ----------
    member_id, step
        The step of the trajectory that cannot be taken.
    reason
        What it waits for.
    """

    member_id: int
    step: int
    reason: str


@dataclass(slots=True)
class Carried:
    """What a segment of the run leaves to the next one.

    Parameters
    ----------
    states
        Of each member, where the segment ended.
    published, received, numbers
        Of each member how far it has written in each term, how many of its messages have been
        received, and the number of its next one.
    sent
        For each channel the messages that are on their way.
    last
        For each channel the number of the last message that was received.
    """

    states: dict[int, Member]
    published: dict[int, dict[int, int]] = field(default_factory=dict)
    received: dict[int, int] = field(default_factory=dict)
    numbers: dict[int, int] = field(default_factory=dict)
    sent: dict[ChannelKey, list[tuple[int, Message]]] = field(default_factory=dict)
    last: dict[ChannelKey, int] = field(default_factory=dict)


@dataclass(slots=True)
class Channel:
    """The receipts of one channel, with how many of them have been sent and consumed.

    Parameters
    ----------
    receipts, sent
        What is received, and of as many as have been sent the number and the message.
    consumed
        How many of them have been received.
    unclaimed
        Messages of kinds that logs do not print, which are not received yet.
    last
        The number of the last message that was received.

    Attributes
    ----------
    head
        The next receipt that is to be sent.
    earliest, latest
        The steps of the sender between which it can send that; without it they are never reached.
    """

    receipts: list[Receipt] = field(default_factory=list)
    sent: list[tuple[int, Message]] = field(default_factory=list)
    consumed: int = 0
    unclaimed: list[tuple[int, Message]] = field(default_factory=list)
    last: int = 0
    head: Receipt | None = field(init=False)
    earliest: int = field(init=False)
    latest: int = field(init=False)
    _bounding: int = field(init=False)
    _next: dict[tuple[type[Message], bool], list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Find the next receipt, and the last one that says how far its sender had written."""
        found = enumerate(self.receipts, 1)
        bounding = [k for k, r in found if isinstance(r.message, NewLeadershipTerm | StopCatchup)]
        self._bounding = max(bounding, default=0)
        self._next_head()

    @property
    def bounds_sender(self) -> bool:
        """Whether a receipt that is to be sent says how far its sender had written."""
        return len(self.sent) < self._bounding

    def _next_head(self) -> None:
        sent = len(self.sent)
        if sent < len(self.receipts):
            head = self.head = self.receipts[sent]
            self.earliest, self.latest = head.earliest // SLOTS, head.latest // SLOTS
        else:
            self.head, self.earliest, self.latest = None, UNBOUNDED, UNBOUNDED

    def send(self, number: int, m: Message) -> None:
        """Match a message that is sent with the next receipt."""
        self.sent.append((number, m))
        self._next_head()

    def pending(self, kind: type[Message], *, exact: bool = False) -> Receipt | None:
        """The next receipt of a kind that is still to be sent; with known positions, if exact."""
        following = self._next.get((kind, exact))
        if following is None:
            following = [len(self.receipts)] * (len(self.receipts) + 1)
            self._next[kind, exact] = following
            for index in range(len(self.receipts) - 1, -1, -1):
                one = self.receipts[index]
                same = isinstance(one.message, kind) and not (exact and one.at_least)
                following[index] = index if same else following[index + 1]
        at = following[len(self.sent)]
        return self.receipts[at] if at < len(self.receipts) else None

    def lose(self) -> int:
        """Lose what is on its way to a process that has ended, and count what is sent again.

        That is receipts without a line: another message of the kind can be sent for them. What a
        line shows to be received was sent only once, perhaps independently of the end.
        """
        self.unclaimed.clear()
        before = len(self.sent)
        while len(self.sent) > self.consumed and self.receipts[len(self.sent) - 1].hidden:
            self.sent.pop()
        self._next_head()
        return before - len(self.sent)


def may_be_missing(one: Windows) -> bool:
    """Whether steps of a member are known to be missing."""
    return any(step.gap for step in one.steps)

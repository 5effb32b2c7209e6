"""What the duty cycle needs of the world: messages, the archive, the log, clients, chance.

Only interfaces are here. The duty cycle opens no file and no socket and reads no clock.
`canvass.node.node` implements `Port`, for processes of a cluster and for simulated ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from canvass.cluster.member import NO_INPUT, Input, Member
from canvass.cluster.messages import NULL_VALUE, Message
from canvass.cluster.outcome import Outcome
from canvass.cluster.rules import Rules

StepFunction: TypeAlias = Callable[[Rules, int, Member, str, Input], Outcome | None]
"""The protocol core: `canvass.cluster.core.step`, or another one in its place."""


class StepRecorder(Protocol):
    """Where the steps of one member are recorded."""

    def record(
        self,
        time_ns: int,
        action: str,
        state: Member,
        *,
        inputs: Input = NO_INPUT,
        sender: int = NULL_VALUE,
        number: int = NULL_VALUE,
        sends: Sequence[tuple[int, Message]] = (),
        log_checksums: Sequence[tuple[int, int]] = (),
    ) -> int:
        """Record one step.

        Parameters
        ----------
        time_ns
            The member's clock.
        action
            Name of the action, such as ``"OnVote"``.
        state
            After the step.
        inputs
            What the step consumed.
        sender, number
            Of the message consumed: the member that sent it, and the number that this member's
            recorder gave it.
        sends
            Receiver and message, in the order of sending.
        log_checksums
            Position, and the 64-bit checksum of the member's log from its start up to it.

        Returns
        -------
        int
            The number of the first message sent; the others follow it.
        """
        ...


@dataclass(frozen=True, slots=True)
class Received:
    """A consensus message that has arrived."""

    sender: int
    number: int
    """What the sender's recorder numbered it, or -1 if it records nothing."""
    message: Message


@dataclass(frozen=True, slots=True)
class LogPart:
    """Whole entries of the own log: the first one of a term alone, others together."""

    position: int
    """Where they end."""
    count: int
    leadership_term_id: int = NULL_VALUE
    """The term that the entry opens, or -1 if none does."""
    term_base_log_position: int = NULL_VALUE
    snapshot: bool = False
    """Whether the last of them asks for a snapshot, which is to be taken exactly there."""


@dataclass(frozen=True, slots=True)
class Offer:
    """An entry that a leader is to write into its log."""

    length: int
    """In bytes, aligned, with its frame."""
    snapshot: bool = False
    """Whether it asks all members for a snapshot where it ends."""


class Port(Protocol):
    """The world of one member, as its duty cycle sees it. No call blocks."""

    def poll(self) -> Received | None:
        """Take the next consensus message, if there is one."""
        ...

    def accepts(self, to: int) -> bool:
        """Whether the transport would take a message to a member now."""
        ...

    def recorded_position(self) -> int:
        """How far the archive has recorded the log."""
        ...

    def log_part(self, position: int, bound: int, limit: int) -> LogPart | None:
        """Read the recorded log from a position on.

        Parameters
        ----------
        position
            Where to begin.
        bound
            Where to end at the latest.
        limit
            How many entries at most.
        """
        ...

    def log_join_position(self) -> int:
        """Where the log stream subscribed to has been joined, or -1 if it is not connected."""
        ...

    def log_closed(self) -> bool | None:
        """Whether the log stream has ended: None if it goes on, true if it ended in good order."""
        ...

    def add_live_destination(self) -> None:
        """Add the live log to the log subscription."""
        ...

    def poll_ingress(self) -> Offer | None:
        """Take the next entry that a client or an operator offers, if there is one.

        The entry that a leader writes next is this one.
        """
        ...

    def is_active(self) -> bool:
        """Whether the module is neither suspended nor taking a snapshot nor ending."""
        ...

    def poll_termination(self) -> bool:
        """Whether an operator asks a leader to terminate the cluster; asked for once."""
        ...

    def nomination_delay_ns(self, limit_ns: int) -> int:
        """Draw how long to wait before the ballot: from 0 up to a limit, exclusive."""
        ...

    def adopt(
        self, now_ns: int, action: str, x: Input, sender: int, number: int, outcome: Outcome
    ) -> None:
        """Record a step, and carry out its effects in their order.

        Parameters
        ----------
        now_ns
            The clock of the cycle.
        action, x
            What was done.
        sender, number
            Of the message consumed, or -1.
        outcome
            The state after it, and the effects. If this returns, the state holds.
        """
        ...

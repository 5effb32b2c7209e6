"""The interfaces through which the duty cycle reaches messages, archive, log, clients and chance.

The duty cycle opens no file and no socket and reads no clock. `canvass.node.node.Node`
implements `Port`, in processes and in simulations.
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
"""The protocol core: `canvass.cluster.core.step`, or a mutant of it."""


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
            The state after the step.
        inputs
            What the step consumed.
        sender, number
            The member that sent the consumed message, and the number that its recorder gave the
            message.
        sends
            Receiver and message, in the order of sending.
        log_checksums
            Position, and 64-bit checksum of the member's log from its start up to that position.

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
    """The number that the sender's recorder gave it, or -1 without a recorder."""
    message: Message


@dataclass(frozen=True, slots=True)
class LogPart:
    """Whole entries of the member's log. The first entry of a term is a part of its own."""

    position: int
    """The end of the last entry."""
    count: int
    leadership_term_id: int = NULL_VALUE
    """The term that the entry opens, or -1 if it opens none."""
    term_base_log_position: int = NULL_VALUE
    snapshot: bool = False
    """Whether the last entry asks for a snapshot, which must be taken at its end."""
    entry_position: int = NULL_VALUE
    """Where the entry begins, if the bound lies within it: then it is a part of its own."""


@dataclass(frozen=True, slots=True)
class Offer:
    """An entry for a leader to append to its log."""

    length: int
    """Its length in bytes, aligned, with its frame."""
    snapshot: bool = False
    """Whether it asks all members for a snapshot at its end."""


class Port(Protocol):
    """Everything around the duty cycle of one member. No call blocks."""

    def poll(self) -> Received | None:
        """Take the next consensus message, if there is one."""
        ...

    def accepts(self, to: int) -> bool:
        """Whether the transport accepts a message to member ``to`` now."""
        ...

    def recorded_position(self) -> int:
        """The position up to which the archive has recorded the log."""
        ...

    def log_part(self, position: int, bound: int, limit: int) -> LogPart | None:
        """Read at most ``limit`` entries of the recorded log, from ``position`` on.

        The last one begins before ``bound``.

        Return None if no such entry is there.
        """
        ...

    def log_join_position(self) -> int:
        """The position at which the log subscription has connected, or -1 if it has not."""
        ...

    def log_closed(self) -> bool | None:
        """None while the log stream lasts; true if it has ended in good order, false if not."""
        ...

    def add_live_destination(self) -> None:
        """Add the live log to the log subscription."""
        ...

    def poll_ingress(self) -> Offer | None:
        """The next entry that a client or an operator offers, or None.

        It stays the next entry until `adopt` carries out its `AppendToLog`.
        """
        ...

    def is_active(self) -> bool:
        """Whether the module is active: not suspended, not taking a snapshot, and not ending."""
        ...

    def poll_termination(self) -> bool:
        """Take an operator's request to terminate the cluster. Each request is returned once."""
        ...

    def nomination_delay_ns(self, limit_ns: int) -> int:
        """Draw the wait before a ballot, from 0 up to ``limit_ns``, exclusive."""
        ...

    def adopt(
        self, now_ns: int, action: str, x: Input, sender: int, number: int, outcome: Outcome
    ) -> None:
        """Record a step, and carry out its effects in their order.

        Parameters
        ----------
        now_ns
            The time of the cycle.
        action, x
            The action and its input.
        sender, number
            The sender and the number of the consumed message, or -1.
        outcome
            The state after the step, and its effects. The state holds once this call returns.
        """
        ...

"""The outcome of a step, and functions that put one together.

An `Outcome` is the spec's ``[next, sends]``; its effects are the sends together with all other
effects. None stands for the spec's empty set: the action is not enabled.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from msgspec import Struct

from canvass.cluster.effects import Effect, Effects, Send, UpdateRecordingLog
from canvass.cluster.member import Input, Member
from canvass.cluster.messages import Message

_MessageT = TypeVar("_MessageT")


class Outcome(Struct, frozen=True):
    """The state after a step, and its effects in the order in which they must happen."""

    next: Member
    effects: Effects = ()

    @property
    def sends(self) -> tuple[Send, ...]:
        """The sends among the effects. The spec describes no other effects."""
        # Most steps have few effects or none, so a generator would cost more than the list.
        return tuple([e for e in self.effects if isinstance(e, Send)]) if self.effects else ()

    def also(self, *effects: Effect) -> Outcome:
        """The same outcome with ``effects`` after its own."""
        return Outcome(self.next, self.effects + effects)

    def after(self, *effects: Effect) -> Outcome:
        """The same outcome with ``effects`` before its own."""
        return Outcome(self.next, effects + self.effects)


def received(x: Input, message_type: type[_MessageT]) -> _MessageT:
    """The message that a step consumes.

    Raises
    ------
    TypeError
        If the input holds no message of that type.
    """
    if not isinstance(x.message, message_type):
        raise TypeError(f"the step handles a {message_type.__name__}, not {x.message!r}")
    return x.message


def send_to_each(i: int, to: Iterable[int], message: Message) -> Effects:
    """Send a message to members other than ``i``, in ascending order of their ids."""
    return tuple([Send(j, message) for j in sorted(to) if j != i])


def broadcast(i: int, member_count: int, message: Message) -> Effects:
    """Send a message to every other member, in ascending order of their ids."""
    return send_to_each(i, range(member_count), message)


def record_terms(before: Member, after: Member) -> Effects:
    """Write the recording log if the step changed it."""
    if after.recording_log == before.recording_log:
        return ()
    return (UpdateRecordingLog(after.recording_log),)

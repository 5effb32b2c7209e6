"""The outcome of a step: the next state, and effects, which the consensus module must carry out.

An `Outcome` is the spec's ``[next, sends]``; its effects are the sends together with all other
effects. None stands for the spec's empty set: the action is not enabled.

Effects are frozen values. They happen in their order, each complete before the next begins.
Everything durable comes before the first `Send`: otherwise a member that crashes could contradict
its own message after the restart.

The state after a step holds once its effects have happened. If an effect fails (the log publication
refuses an entry, or the transport a message), the module does not adopt the outcome. It takes the
step again with an input that reports the failure. If the step has no such input, the module takes
an `ElectionError` instead. A `Send` cannot fail: a message may be lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from msgspec import Struct

from canvass.cluster.member import Input, Member, TermEntry
from canvass.cluster.messages import Message


@dataclass(frozen=True, slots=True)
class Effect:
    """An effect that the consensus module must carry out; each kind is a subclass."""


@dataclass(frozen=True, slots=True)
class PersistCandidateTerm(Effect):
    """Write the candidate term to the node state, durably."""

    candidate_term_id: int


@dataclass(frozen=True, slots=True)
class UpdateRecordingLog(Effect):
    """Make these the TERM entries of the recording log, durably."""

    entries: tuple[TermEntry, ...]


@dataclass(frozen=True, slots=True)
class TruncateLog(Effect):
    """Truncate the recording of the log at a position."""

    position: int


@dataclass(frozen=True, slots=True)
class StartRecording(Effect):
    """Start to record the log stream. So far the recording ends at ``position``."""

    position: int


@dataclass(frozen=True, slots=True)
class StopRecording(Effect):
    """Stop recording the log stream, if it is recorded."""


@dataclass(frozen=True, slots=True)
class OpenLogPublication(Effect):
    """Create the leader's log stream, which begins at ``position``."""

    position: int


@dataclass(frozen=True, slots=True)
class CloseLogPublication(Effect):
    """End the leader's log stream."""


@dataclass(frozen=True, slots=True)
class OpenLogSubscription(Effect):
    """Subscribe to a leader's log stream, with its live destination if ``live``."""

    leader_member_id: int
    live: bool


@dataclass(frozen=True, slots=True)
class CloseLogSubscription(Effect):
    """Leave the log stream."""


@dataclass(frozen=True, slots=True)
class AddCatchupDestination(Effect):
    """Add the leader's catch-up replay to the log subscription."""


@dataclass(frozen=True, slots=True)
class RemoveCatchupDestination(Effect):
    """Remove the catch-up replay from the log subscription; the live log stays."""


@dataclass(frozen=True, slots=True)
class JoinLog(Effect):
    """Let the services follow the log stream from a position on, and wait until they do."""

    position: int


@dataclass(frozen=True, slots=True)
class StartReplay(Effect):
    """Replay the member's recording to module and services. ``ConsumeLog`` steps process it."""

    position: int
    stop_position: int


@dataclass(frozen=True, slots=True)
class StopReplay(Effect):
    """Stop the replay of the member's recording."""


@dataclass(frozen=True, slots=True)
class StartReplication(Effect):
    """Copy the leader's recording from ``position`` on. ``RecordLog`` steps take up the copy."""

    leader_member_id: int
    position: int
    stop_position: int


@dataclass(frozen=True, slots=True)
class StopReplication(Effect):
    """Stop the copying of the leader's recording."""


@dataclass(frozen=True, slots=True)
class StartCatchup(Effect):
    """Replay the member's recording to a follower, from ``position`` on, without an end."""

    follower_member_id: int
    position: int


@dataclass(frozen=True, slots=True)
class StopCatchupReplay(Effect):
    """Stop the replay to a follower."""

    follower_member_id: int


@dataclass(frozen=True, slots=True)
class AppendToLog(Effect):
    """Write entries to the log stream so that it ends at ``position``."""

    position: int


@dataclass(frozen=True, slots=True)
class AppendNewLeadershipTermEvent(Effect):
    """Write the first entry of a term to the log stream so that it ends at ``position``."""

    leadership_term_id: int
    term_base_log_position: int
    position: int


@dataclass(frozen=True, slots=True)
class AdvanceCommit(Effect):
    """Let the services process the log up to ``position``. In 1.49 the position may fall."""

    position: int


@dataclass(frozen=True, slots=True)
class RollBack(Effect):
    """Undo what entries beyond the commit position did to the module's state."""


@dataclass(frozen=True, slots=True)
class CompleteElection(Effect):
    """End the election: connect the ingress, and serve in the new role."""

    leadership_term_id: int
    leader_member_id: int


@dataclass(frozen=True, slots=True)
class WriteSnapshot(Effect):
    """Snapshot module and services at ``position``, up to which both have processed the log."""

    leadership_term_id: int
    term_base_log_position: int
    position: int


@dataclass(frozen=True, slots=True)
class EndProcess(Effect):
    """End the process. This is the last effect, after the acknowledgement has been sent."""


@dataclass(frozen=True, slots=True)
class Send(Effect):
    """Send a message to another member. It may be lost; the transport does not repeat it."""

    to: int
    message: Message


Effects: TypeAlias = tuple[Effect, ...]


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

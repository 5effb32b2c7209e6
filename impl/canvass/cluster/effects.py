"""What a step asks the surrounding consensus module to do.

Each effect is a frozen value; none of them does anything here. The order of a step's effects is the
contract: each must be complete before the next begins, and everything durable comes before the
first `Send`. After a crash a member could contradict a message about what was not on disk yet.

The state that a step yields holds once its effects are done. If one cannot be done (the log
publication refuses an entry, the transport a message), the module does not adopt the outcome but
takes the step again on the input that says so, or, where the step has no such input, an
`ElectionError`. A `Send` is an exception: a message may be lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from canvass.cluster.member import TermEntry
from canvass.cluster.messages import Message


@dataclass(frozen=True, slots=True)
class PersistCandidateTerm:
    """Write the candidate term to the node state, durably."""

    candidate_term_id: int


@dataclass(frozen=True, slots=True)
class UpdateRecordingLog:
    """Make these the TERM entries of the recording log, durably."""

    entries: tuple[TermEntry, ...]


@dataclass(frozen=True, slots=True)
class TruncateLog:
    """Truncate the recording of the log at a position."""

    position: int


@dataclass(frozen=True, slots=True)
class StartRecording:
    """Record the log stream: what is there already ends at ``position``."""

    position: int


@dataclass(frozen=True, slots=True)
class StopRecording:
    """Stop recording the log stream, if it is recorded."""


@dataclass(frozen=True, slots=True)
class OpenLogPublication:
    """Create the leader's log stream, which begins at ``position``."""

    position: int


@dataclass(frozen=True, slots=True)
class CloseLogPublication:
    """End the leader's log stream."""


@dataclass(frozen=True, slots=True)
class OpenLogSubscription:
    """Subscribe to a leader's log stream, with a live destination or none yet."""

    leader_member_id: int
    live: bool


@dataclass(frozen=True, slots=True)
class CloseLogSubscription:
    """Leave the log stream."""


@dataclass(frozen=True, slots=True)
class AddCatchupDestination:
    """Add the leader's catch-up replay to the log subscription."""


@dataclass(frozen=True, slots=True)
class RemoveCatchupDestination:
    """Remove the catch-up replay from the log subscription; the live log stays."""


@dataclass(frozen=True, slots=True)
class JoinLog:
    """Let the services follow the log stream from a position on, and wait until they do."""

    position: int


@dataclass(frozen=True, slots=True)
class StartReplay:
    """Replay the own recording to module and services; the processing is ``ConsumeLog``."""

    position: int
    stop_position: int


@dataclass(frozen=True, slots=True)
class StopReplay:
    """Stop the replay of the own recording."""


@dataclass(frozen=True, slots=True)
class StartReplication:
    """Copy the leader's recording to the end of the own one; the copying is ``RecordLog``."""

    leader_member_id: int
    position: int
    stop_position: int


@dataclass(frozen=True, slots=True)
class StopReplication:
    """Stop the copying of the leader's recording."""


@dataclass(frozen=True, slots=True)
class StartCatchup:
    """Replay the own recording, open-ended, to a follower from the position that it asked for."""

    follower_member_id: int
    position: int


@dataclass(frozen=True, slots=True)
class StopCatchupReplay:
    """Stop the replay to a follower."""

    follower_member_id: int


@dataclass(frozen=True, slots=True)
class AppendToLog:
    """Write entries to the log stream so that it ends at ``position``."""

    position: int


@dataclass(frozen=True, slots=True)
class AppendNewLeadershipTermEvent:
    """Write the first entry of a term to the log stream, which ends at ``position`` then."""

    leadership_term_id: int
    term_base_log_position: int
    position: int


@dataclass(frozen=True, slots=True)
class AdvanceCommit:
    """Let the services process up to here. In revision 1.49 it may be less than before."""

    position: int


@dataclass(frozen=True, slots=True)
class RollBack:
    """Undo what entries beyond a position did to the module's state: they may never commit."""

    position: int


@dataclass(frozen=True, slots=True)
class CompleteElection:
    """The election is over: connect the ingress and serve in the new role."""

    leadership_term_id: int
    leader_member_id: int


@dataclass(frozen=True, slots=True)
class WriteSnapshot:
    """Snapshot module and services at a position that both have processed up to."""

    leadership_term_id: int
    term_base_log_position: int
    position: int


@dataclass(frozen=True, slots=True)
class EndProcess:
    """Stop everything and exit; comes last, after the acknowledgement has left."""


@dataclass(frozen=True, slots=True)
class Send:
    """Send a message to another member. It may be lost, and the transport repeats nothing."""

    to: int
    message: Message


Effect: TypeAlias = (
    PersistCandidateTerm
    | UpdateRecordingLog
    | TruncateLog
    | StartRecording
    | StopRecording
    | OpenLogPublication
    | CloseLogPublication
    | OpenLogSubscription
    | CloseLogSubscription
    | AddCatchupDestination
    | RemoveCatchupDestination
    | JoinLog
    | StartReplay
    | StopReplay
    | StartReplication
    | StopReplication
    | StartCatchup
    | StopCatchupReplay
    | AppendToLog
    | AppendNewLeadershipTermEvent
    | AdvanceCommit
    | RollBack
    | CompleteElection
    | WriteSnapshot
    | EndProcess
    | Send
)

Effects: TypeAlias = tuple[Effect, ...]

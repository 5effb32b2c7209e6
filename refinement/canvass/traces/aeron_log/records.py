"""The records of event logs: one class for each event of Aeron's cluster component.

A class has the name of its event: ``NewElection`` is ``NEW_ELECTION``. Its fields are the values of
a line, in the order of the line. The type of a field shows how the value is written (`Notation`).
`event_types` has the releases that print an event, and the names in the log that differ from those
of the fields. Fields of a consensus message have the message's SBE names in snake_case.
``member_id`` is always the member that wrote the line: for a message its *receiver*.

The classes are left out of garbage collection: their fields are numbers and texts, which cannot
form cycles.
"""

from __future__ import annotations

from enum import Enum
from functools import cache
from typing import Annotated, Final, TypeAlias

import msgspec

from canvass.cluster.messages import NULL_VALUE

FRAME_ALIGNMENT: Final = 32
"""An entry of a log, and so each position of a log, begins at a multiple of this. Source:
``FrameDescriptor.FRAME_ALIGNMENT``.
"""

NULL_NAME: Final = "null"
"""The state before the first one, as Aeron prints it."""


class Notation(Enum):
    """How a value is written."""

    INT = "decimal, signed 64-bit"
    BOOL = "true or false"
    FLAGS = "0b and eight binary digits; decimal in 1.53"
    VERSION = "major.minor.patch; the encoded integer in 1.53"
    NAME = "an enum constant; unquoted but for a null of 1.53"
    TEXT = "to the next space; quoted in 1.53"
    REASON = "the last field: quoted, or to the end of the line before 1.50"
    ELECTION_STATES = "OLD -> NEW; oldState=OLD newState=NEW in 1.53"
    ROLES = "likewise, of a role"
    MODULE_STATES = "likewise, of a module state"
    NAMES = "likewise, of any enum"


Version: TypeAlias = Annotated[int, Notation.VERSION]
Flags: TypeAlias = Annotated[int, Notation.FLAGS]
Name: TypeAlias = Annotated[str, Notation.NAME]
Text: TypeAlias = Annotated[str, Notation.TEXT]
Reason: TypeAlias = Annotated[str, Notation.REASON]
ElectionStateName: TypeAlias = Annotated[str, Notation.ELECTION_STATES]
RoleName: TypeAlias = Annotated[str, Notation.ROLES]
ModuleStateName: TypeAlias = Annotated[str, Notation.MODULE_STATES]
StateName: TypeAlias = Annotated[str, Notation.NAMES]


class Line(msgspec.Struct, frozen=True, gc=False):
    """The place of a record in the log.

    Parameters
    ----------
    file
        The index of the file among those of the member, counted from 0 in reading order.
    line
        The line of that file, counted from 1.
    time_ns
        The host's monotonic clock in ns. It has any origin and may be negative. Times can be
        compared only within one host and boot.
    """

    file: int
    line: int
    time_ns: int


class ProcessStart(Line, frozen=True, gc=False):
    """The header of a log: a process started, and wrote the lines after it.

    Parameters
    ----------
    wall_time_ms
        The wall clock at ``time_ns``, in ms since the Unix epoch. In the header of a rolled file
        that is the first file, it may be the time at which the process started.
    loggers
        The components that the header names, each with its version.
    """

    wall_time_ms: int
    loggers: tuple[tuple[str, str], ...]


class TruncatedLine(Line, frozen=True, gc=False):
    """The last line of a process incarnation is incomplete: the process ended while it was written.

    ``time_ns`` is 0 if the stamp is missing, too.
    """

    column: int
    reason: str
    text: str


class DamagedLine(TruncatedLine, frozen=True, gc=False):
    """A line within a process incarnation is incomplete or unreadable."""


class ClusterEvent(Line, frozen=True, gc=False):
    """A line of the cluster component.

    Parameters
    ----------
    member_id
        The member that wrote the line; `NULL_VALUE` in a `Start`, which does not name it.
    """

    member_id: int


class ElectionStateChange(ClusterEvent, frozen=True, gc=False):
    """ELECTION_STATE_CHANGE: the election went from one state to another; the other fields are the
    election's variables at that moment.
    """

    old_state: ElectionStateName
    new_state: ElectionStateName
    leader_member_id: int
    candidate_term_id: int
    leadership_term_id: int
    log_position: int
    log_leadership_term_id: int
    append_position: int
    catchup_join_position: int
    reason: Reason | None


class NewLeadershipTerm(ClusterEvent, frozen=True, gc=False):
    """NEW_LEADERSHIP_TERM, received: a leader announces its term."""

    log_leadership_term_id: int
    next_leadership_term_id: int
    next_term_base_log_position: int
    next_log_position: int
    leadership_term_id: int
    term_base_log_position: int
    log_position: int
    commit_position: int | None
    leader_recording_id: int
    timestamp: int
    leader_member_id: int
    log_session_id: int
    app_version: Version
    is_startup: bool


class StateChange(ClusterEvent, frozen=True, gc=False):
    """STATE_CHANGE: the consensus module went from one state to another."""

    old_state: ModuleStateName
    new_state: ModuleStateName
    reason: Reason | None


class RoleChange(ClusterEvent, frozen=True, gc=False):
    """ROLE_CHANGE: the member's role changed; the next line is that of the change of the election
    state which changed it.
    """

    old_state: RoleName
    new_state: RoleName
    reason: Reason | None


class CanvassPosition(ClusterEvent, frozen=True, gc=False):
    """CANVASS_POSITION, received: a member in CANVASS or NOMINATE reports the end of its log."""

    log_leadership_term_id: int
    log_position: int
    leadership_term_id: int
    follower_member_id: int
    protocol_version: Version


class RequestVote(ClusterEvent, frozen=True, gc=False):
    """REQUEST_VOTE, received: a candidate asks for a vote."""

    log_leadership_term_id: int
    log_position: int
    candidate_term_id: int
    candidate_member_id: int
    protocol_version: Version


class Vote(ClusterEvent, frozen=True, gc=False):
    """VOTE, received: an answer to a vote request; log term and position are the voter's own."""

    log_leadership_term_id: int
    log_position: int
    candidate_term_id: int
    candidate_member_id: int
    follower_member_id: int
    vote: bool


class CatchupPosition(ClusterEvent, frozen=True, gc=False):
    """CATCHUP_POSITION, received: a follower asks its leader for a replay."""

    leadership_term_id: int
    log_position: int
    follower_member_id: int
    catchup_endpoint: Text


class StopCatchup(ClusterEvent, frozen=True, gc=False):
    """STOP_CATCHUP, received: the leader has ended the replay; ``follower_member_id`` is the
    addressee, the sender is not logged.
    """

    leadership_term_id: int
    follower_member_id: int


class TruncateLogEntry(ClusterEvent, frozen=True, gc=False):
    """TRUNCATE_LOG_ENTRY: the member is about to truncate its log from ``append_position`` back to
    ``new_position``. ``old_position`` is the end of the log; up to 1.49 it is the leader's log
    position in the announcement.
    """

    election_state: Name
    log_leadership_term_id: int
    leadership_term_id: int
    candidate_term_id: int
    commit_position: int
    log_position: int
    append_position: int
    old_position: int
    new_position: int


class ReplayNewLeadershipTerm(ClusterEvent, frozen=True, gc=False):
    """REPLAY_NEW_LEADERSHIP_TERM: a NewLeadershipTermEvent was read from the log, live or in a
    replay; ``log_position`` is its end.
    """

    is_in_election: bool
    leadership_term_id: int
    log_position: int
    term_base_log_position: int
    app_version: Version
    timestamp: int
    time_unit: Name


class AppendPosition(ClusterEvent, frozen=True, gc=False):
    """APPEND_POSITION, received: the position up to which a member has recorded the log."""

    leadership_term_id: int
    log_position: int
    follower_member_id: int
    flags: Flags


class CommitPosition(ClusterEvent, frozen=True, gc=False):
    """COMMIT_POSITION, received: the leader's commit position."""

    leadership_term_id: int
    log_position: int
    leader_member_id: int


class AppendSessionClose(ClusterEvent, frozen=True, gc=False):
    """APPEND_SESSION_CLOSE: the leader appended the close of a client's session."""

    cluster_session_id: int
    close_reason: Name
    leadership_term_id: int
    timestamp: int
    time_unit: Name


class AppendSessionOpen(ClusterEvent, frozen=True, gc=False):
    """APPEND_SESSION_OPEN: the leader appended the opening of a client's session; ``log_position``
    is the end of that entry.
    """

    cluster_session_id: int
    leadership_term_id: int
    log_position: int
    timestamp: int
    time_unit: Name


class ClusterSessionStateChange(ClusterEvent, frozen=True, gc=False):
    """CLUSTER_SESSION_STATE_CHANGE: a client's session went from one state to another."""

    cluster_session_id: int
    action: Name
    old_state: StateName
    new_state: StateName
    reason: Reason


class ClusterBackupStateChange(ClusterEvent, frozen=True, gc=False):
    """CLUSTER_BACKUP_STATE_CHANGE: a backup node went from one state to another."""

    old_state: StateName
    new_state: StateName
    reason: Reason | None


class TerminationPosition(ClusterEvent, frozen=True, gc=False):
    """TERMINATION_POSITION, received: the position at which the cluster is to terminate; the sender
    is not logged.
    """

    leadership_term_id: int
    log_position: int


class TerminationAck(ClusterEvent, frozen=True, gc=False):
    """TERMINATION_ACK, received: a follower has stopped. ``sender_member_id`` is the message's own
    ``memberId``.
    """

    leadership_term_id: int
    log_position: int
    sender_member_id: int


class ServiceAck(ClusterEvent, frozen=True, gc=False):
    """SERVICE_ACK: a clustered service reached a position that the consensus module waits for."""

    log_position: int
    timestamp: int
    time_unit: Name
    ack_id: int
    relevant_id: int
    service_id: int


class ReplicationEnded(ClusterEvent, frozen=True, gc=False):
    """REPLICATION_ENDED: a copy from another member's archive ended. Aeron prints the source and
    destination recording ids under each other's names, and these fields keep Aeron's names.
    """

    purpose: Text
    channel: Text
    src_recording_id: int
    dst_recording_id: int
    position: int
    has_synced: bool


class StandbySnapshotNotification(ClusterEvent, frozen=True, gc=False):
    """STANDBY_SNAPSHOT_NOTIFICATION, received: a standby node has taken a snapshot."""

    recording_id: int
    leadership_term_id: int
    term_base_log_position: int
    log_position: int
    timestamp: int
    time_unit: Name
    service_id: int
    archive_endpoint: Text


class NewElection(ClusterEvent, frozen=True, gc=False):
    """NEW_ELECTION: an election object was made; ``log_position`` is the commit position."""

    leadership_term_id: int
    log_position: int
    append_position: int
    reason: Reason


class SnapshotEntryInvalidation(ClusterEvent, frozen=True, gc=False):
    """SNAPSHOT_ENTRY_INVALIDATION: a snapshot of the recording log was found missing and marked
    invalid.
    """

    entry_index: int
    recording_id: int
    log_position: int
    service_id: int


class Start(ClusterEvent, frozen=True, gc=False):
    """START: the logger of 1.53 says which version it belongs to."""

    version: Text


@cache
def position_names(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """The names of those fields of a line or a message that are positions of a log."""
    return tuple(name for name in kind.__struct_fields__ if name.endswith("position"))


def unaligned(record: Line) -> str:
    """A field whose position is no multiple of `FRAME_ALIGNMENT`, with its value; empty if none."""
    for name in position_names(type(record)):
        position = getattr(record, name)
        if position is not None and position % FRAME_ALIGNMENT and position != NULL_VALUE:
            return f"{name}={position}"
    return ""


SENDER_FIELDS: Final[dict[type[Line], str]] = {
    CanvassPosition: "follower_member_id",
    RequestVote: "candidate_member_id",
    Vote: "follower_member_id",
    NewLeadershipTerm: "leader_member_id",
    AppendPosition: "follower_member_id",
    CommitPosition: "leader_member_id",
    CatchupPosition: "follower_member_id",
    TerminationAck: "sender_member_id",
}
"""For each event of a received message that names its sender: the field with the sender."""

LogRecord: TypeAlias = ClusterEvent | ProcessStart | TruncatedLine | DamagedLine

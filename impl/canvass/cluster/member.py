"""The protocol state of one member, and the inputs that drive it.

The field names are those of the TLA+ record in snake_case; ``MemberState.tla`` says what each one
means to the protocol. The values are immutable, and nothing here decides anything.

An election variable is null while no election runs: the election object is dropped when it closes.
A member record of a follower is null too: it is not read before the next CANVASS resets it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from canvass.cluster.messages import NULL_VALUE, Message


class ElectionState(str, Enum):
    """Aeron's election states, in the order of their codes."""

    INIT = "INIT"
    CANVASS = "CANVASS"
    NOMINATE = "NOMINATE"
    CANDIDATE_BALLOT = "CANDIDATE_BALLOT"
    FOLLOWER_BALLOT = "FOLLOWER_BALLOT"
    LEADER_LOG_REPLICATION = "LEADER_LOG_REPLICATION"
    LEADER_REPLAY = "LEADER_REPLAY"
    LEADER_INIT = "LEADER_INIT"
    LEADER_READY = "LEADER_READY"
    FOLLOWER_LOG_REPLICATION = "FOLLOWER_LOG_REPLICATION"
    FOLLOWER_REPLAY = "FOLLOWER_REPLAY"
    FOLLOWER_CATCHUP_INIT = "FOLLOWER_CATCHUP_INIT"
    FOLLOWER_CATCHUP_AWAIT = "FOLLOWER_CATCHUP_AWAIT"
    FOLLOWER_CATCHUP = "FOLLOWER_CATCHUP"
    FOLLOWER_LOG_INIT = "FOLLOWER_LOG_INIT"
    FOLLOWER_LOG_AWAIT = "FOLLOWER_LOG_AWAIT"
    FOLLOWER_READY = "FOLLOWER_READY"
    CLOSED = "CLOSED"


class Role(str, Enum):
    """Aeron's cluster roles."""

    FOLLOWER = "FOLLOWER"
    CANDIDATE = "CANDIDATE"
    LEADER = "LEADER"


class ModuleState(str, Enum):
    """Whether the consensus module works or has terminated; Aeron's other states are left out."""

    ACTIVE = "ACTIVE"
    CLOSED = "CLOSED"


@dataclass(frozen=True, slots=True)
class MemberRecord:
    """What a member believes of one member, itself included (Aeron's ``ClusterMember``)."""

    leadership_term_id: int = NULL_VALUE
    log_position: int = NULL_VALUE
    candidate_term_id: int = NULL_VALUE
    vote: int = NULL_VALUE
    """-1 none yet, 0 against, 1 in favour."""
    ballot_sent: bool = False
    catchup_replay: bool = False
    """A replay of the log runs for this member's catch-up."""


@dataclass(frozen=True, slots=True)
class TermEntry:
    """One TERM entry of the recording log. ``log_position`` is the end of the term, -1 if open.

    A term that no entry names, below the last one, is an empty term at the base of the next entry:
    the entries with which Aeron fills such gaps are implied.
    """

    leadership_term_id: int
    term_base_log_position: int
    log_position: int


@dataclass(frozen=True, slots=True)
class Member:
    """The whole protocol state of one member."""

    # What survives a restart.
    persisted_candidate_term_id: int
    recording_log: tuple[TermEntry, ...]
    recorded_position: int
    snapshot_leadership_term_id: int
    snapshot_term_base_log_position: int
    snapshot_log_position: int
    # The consensus module.
    module_state: ModuleState
    role: Role
    module_leadership_term_id: int
    module_notified_commit_position: int
    commit_position: int
    publication_position: int
    log_subscription: bool
    catchup_destination: bool
    termination_position: int
    termination_leadership_term_id: int
    leader_member_id: int
    members: tuple[MemberRecord, ...]
    # The election.
    election_state: ElectionState
    log_leadership_term_id: int
    leadership_term_id: int
    candidate_term_id: int
    append_position: int
    notified_commit_position: int
    catchup_join_position: int
    replication_leadership_term_id: int
    replication_stop_position: int
    replication_term_base_log_position: int
    log_replication: bool
    replay_stop_position: int
    graceful_closed_leader_id: int


@dataclass(frozen=True, slots=True)
class Input:
    """What a step consumes: a message, or facts of clock, transport, archive and log.

    Only the fields that an action reads may differ from their defaults.
    """

    message: Message | None = None
    interval: bool = False
    """The period of the state's repeated message has passed."""
    commit_interval: bool = False
    """A CommitPosition is due."""
    timeout: bool = False
    """The state's deadline has passed."""
    active: frozenset[int] = frozenset()
    """The members heard from within the heartbeat timeout, the member itself included."""
    accepted: frozenset[int] = frozenset()
    """The members to which the transport accepted a ballot request."""
    position: int = NULL_VALUE
    """A log position: appended, recorded or consumed up to here."""
    leadership_term_id: int = NULL_VALUE
    """The term of a consumed NewLeadershipTermEvent."""
    term_base_log_position: int = NULL_VALUE
    """The base of a consumed NewLeadershipTermEvent."""
    graceful_closed_leader_id: int = NULL_VALUE
    """The leader whose log stream ended in good order, if that started the election."""


NO_INPUT: Final = Input()

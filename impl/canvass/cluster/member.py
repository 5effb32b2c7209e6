"""The protocol state of one member, and the inputs that drive it.

The fields are those of the TLA+ record in snake_case, and ``MemberState.tla`` says what each one
means. The values are immutable. Traces hold the same classes: `msgspec` reads and writes them with
the field names of the TLA+ record.

Election variables are null while no election runs, because Aeron drops the election object when it
closes. A follower's member records are null too: the next CANVASS resets them before they are read.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Final

from msgspec import Meta, Struct

from canvass.cluster.messages import NULL_VALUE, Int64, Message, wire_name

MAX_MEMBERS: Final = 9
"""Aeron clusters have 1, 3, 5 or 7 members. With up to 9 the columns of an event take a few cache
lines.
"""
MAX_RECORDING_LOG: Final = 1 << 12
"""The most recording-log entries in one event of a trace. A log with more terms is refused."""


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
    """The state of the consensus module: it works, or it has terminated. Aeron's other states are
    left out.
    """

    ACTIVE = "ACTIVE"
    CLOSED = "CLOSED"


class _Record(Struct, frozen=True, forbid_unknown_fields=True, rename=wire_name, gc=False):
    """A record of the member state."""


class MemberRecord(_Record, frozen=True):
    """A member's knowledge of one member of the cluster, itself included (``ClusterMember``)."""

    leadership_term_id: Int64
    log_position: Int64
    candidate_term_id: Int64
    vote: Int64
    """-1: no vote yet; 0: refused; 1: granted."""
    ballot_sent: bool
    catchup_replay: bool
    """The log is being replayed to this member, so that it catches up."""


NULL_RECORD: Final = MemberRecord(
    NULL_VALUE, NULL_VALUE, NULL_VALUE, NULL_VALUE, ballot_sent=False, catchup_replay=False
)
"""The record of a member that has reported nothing."""


class TermEntry(_Record, frozen=True):
    """One TERM entry of the recording log. ``log_position`` is the end of the term, -1 if open.

    If a term below the last one has no entry, it is empty and lies at the base of the next entry.
    Aeron fills such gaps with entries; here they are implied.
    """

    leadership_term_id: Int64
    term_base_log_position: Int64
    log_position: Int64


class Member(_Record, frozen=True):
    """The whole protocol state of one member."""

    # On disk: these fields survive a restart.
    persisted_candidate_term_id: Int64
    recording_log: Annotated[tuple[TermEntry, ...], Meta(max_length=MAX_RECORDING_LOG)]
    recorded_position: Int64
    snapshot_leadership_term_id: Int64
    snapshot_term_base_log_position: Int64
    snapshot_log_position: Int64
    # The consensus module.
    module_state: ModuleState
    role: Role
    module_leadership_term_id: Int64
    module_notified_commit_position: Int64
    commit_position: Int64
    publication_position: Int64
    log_subscription: bool
    catchup_destination: bool
    termination_position: Int64
    termination_leadership_term_id: Int64
    leader_member_id: Int64
    members: Annotated[tuple[MemberRecord, ...], Meta(min_length=1, max_length=MAX_MEMBERS)]
    # The election.
    election_state: ElectionState
    log_leadership_term_id: Int64
    leadership_term_id: Int64
    candidate_term_id: Int64
    append_position: Int64
    notified_commit_position: Int64
    catchup_join_position: Int64
    replication_leadership_term_id: Int64
    replication_stop_position: Int64
    replication_term_base_log_position: Int64
    log_replication: bool
    replay_stop_position: Int64
    graceful_closed_leader_id: Int64


class Input(Struct, frozen=True, gc=False):
    """The input of a step: a message, or facts about clock, transport, archive and log.

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
    entry_position: int = NULL_VALUE
    """Where the last consumed entry begins, if the bound of the step lies within this entry."""
    leadership_term_id: int = NULL_VALUE
    """The term of a consumed NewLeadershipTermEvent."""
    term_base_log_position: int = NULL_VALUE
    """The base of a consumed NewLeadershipTermEvent."""
    graceful_closed_leader_id: int = NULL_VALUE
    """The leader whose log stream ended in good order, if that started the election."""


NO_INPUT: Final = Input()


def new_member(member_count: int) -> Member:
    """The state of a member with nothing on disk: ``NewMember`` of ``MemberState.tla``."""
    return Member(
        persisted_candidate_term_id=NULL_VALUE,
        recording_log=(),
        recorded_position=0,
        snapshot_leadership_term_id=NULL_VALUE,
        snapshot_term_base_log_position=0,
        snapshot_log_position=0,
        module_state=ModuleState.CLOSED,
        role=Role.FOLLOWER,
        module_leadership_term_id=NULL_VALUE,
        module_notified_commit_position=0,
        commit_position=0,
        publication_position=NULL_VALUE,
        log_subscription=False,
        catchup_destination=False,
        termination_position=NULL_VALUE,
        termination_leadership_term_id=NULL_VALUE,
        leader_member_id=NULL_VALUE,
        members=(NULL_RECORD,) * member_count,
        election_state=ElectionState.CLOSED,
        log_leadership_term_id=NULL_VALUE,
        leadership_term_id=NULL_VALUE,
        candidate_term_id=NULL_VALUE,
        append_position=NULL_VALUE,
        notified_commit_position=NULL_VALUE,
        catchup_join_position=NULL_VALUE,
        replication_leadership_term_id=NULL_VALUE,
        replication_stop_position=NULL_VALUE,
        replication_term_base_log_position=NULL_VALUE,
        log_replication=False,
        replay_stop_position=NULL_VALUE,
        graceful_closed_leader_id=NULL_VALUE,
    )

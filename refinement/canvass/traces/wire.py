"""The JSON form of the messages and of the member state: one Struct for each dataclass of
`canvass.cluster`.

Class names, field names and field order are those of the dataclasses; JSON names follow from them
by `canvass.cluster.names.wire_name`. Tests hold both. Every integer is signed 64-bit, whatever it
means: a position that no cluster can have is for the checker to reject, not for the reader. Nothing
here is optional.
"""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Struct

from canvass.cluster.member import ElectionState, ModuleState, Role
from canvass.cluster.names import wire_name
from canvass.traces.limits import MAX_INT, MAX_MEMBERS, MAX_RECORDING_LOG, MIN_INT

Int64: TypeAlias = Annotated[int, Meta(ge=MIN_INT, le=MAX_INT)]


class _Record(Struct, frozen=True, forbid_unknown_fields=True, rename=wire_name, gc=False):
    """A record of the member state."""


class _Message(
    Struct,
    frozen=True,
    forbid_unknown_fields=True,
    rename=wire_name,
    tag_field="type",
    tag=True,
    gc=False,
):
    """A message; the JSON object says its type first."""


class CanvassPosition(_Message, frozen=True):
    """`canvass.cluster.messages.CanvassPosition` in JSON."""

    log_leadership_term_id: Int64
    log_position: Int64
    leadership_term_id: Int64
    follower_member_id: Int64


class RequestVote(_Message, frozen=True):
    """`canvass.cluster.messages.RequestVote` in JSON."""

    log_leadership_term_id: Int64
    log_position: Int64
    candidate_term_id: Int64
    candidate_member_id: Int64


class Vote(_Message, frozen=True):
    """`canvass.cluster.messages.Vote` in JSON."""

    candidate_term_id: Int64
    log_leadership_term_id: Int64
    log_position: Int64
    candidate_member_id: Int64
    follower_member_id: Int64
    vote: bool


class NewLeadershipTerm(_Message, frozen=True):
    """`canvass.cluster.messages.NewLeadershipTerm` in JSON."""

    log_leadership_term_id: Int64
    next_leadership_term_id: Int64
    next_term_base_log_position: Int64
    next_log_position: Int64
    leadership_term_id: Int64
    term_base_log_position: Int64
    log_position: Int64
    commit_position: Int64
    leader_member_id: Int64


class AppendPosition(_Message, frozen=True):
    """`canvass.cluster.messages.AppendPosition` in JSON."""

    leadership_term_id: Int64
    log_position: Int64
    follower_member_id: Int64
    flags: Int64


class CommitPosition(_Message, frozen=True):
    """`canvass.cluster.messages.CommitPosition` in JSON."""

    leadership_term_id: Int64
    log_position: Int64
    leader_member_id: Int64


class CatchupPosition(_Message, frozen=True):
    """`canvass.cluster.messages.CatchupPosition` in JSON."""

    leadership_term_id: Int64
    log_position: Int64
    follower_member_id: Int64


class StopCatchup(_Message, frozen=True):
    """`canvass.cluster.messages.StopCatchup` in JSON."""

    leadership_term_id: Int64
    follower_member_id: Int64


class TerminationPosition(_Message, frozen=True):
    """`canvass.cluster.messages.TerminationPosition` in JSON."""

    leadership_term_id: Int64
    log_position: Int64


class TerminationAck(_Message, frozen=True):
    """`canvass.cluster.messages.TerminationAck` in JSON."""

    leadership_term_id: Int64
    log_position: Int64
    member_id: Int64


Message: TypeAlias = (
    CanvassPosition
    | RequestVote
    | Vote
    | NewLeadershipTerm
    | AppendPosition
    | CommitPosition
    | CatchupPosition
    | StopCatchup
    | TerminationPosition
    | TerminationAck
)

MESSAGE_TYPES: Final[tuple[type[Message], ...]] = (
    CanvassPosition,
    RequestVote,
    Vote,
    NewLeadershipTerm,
    AppendPosition,
    CommitPosition,
    CatchupPosition,
    StopCatchup,
    TerminationPosition,
    TerminationAck,
)
"""All message types, in the order of `canvass.cluster.messages.MESSAGE_TYPES`; the index is the
code in columns.
"""


class MemberRecord(_Record, frozen=True):
    """`canvass.cluster.member.MemberRecord` in JSON."""

    leadership_term_id: Int64
    log_position: Int64
    candidate_term_id: Int64
    vote: Int64
    ballot_sent: bool
    catchup_replay: bool


class TermEntry(_Record, frozen=True):
    """`canvass.cluster.member.TermEntry` in JSON."""

    leadership_term_id: Int64
    term_base_log_position: Int64
    log_position: Int64


class Member(_Record, frozen=True):
    """`canvass.cluster.member.Member` in JSON: the whole protocol state of a member."""

    persisted_candidate_term_id: Int64
    recording_log: Annotated[tuple[TermEntry, ...], Meta(max_length=MAX_RECORDING_LOG)]
    recorded_position: Int64
    snapshot_leadership_term_id: Int64
    snapshot_term_base_log_position: Int64
    snapshot_log_position: Int64
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

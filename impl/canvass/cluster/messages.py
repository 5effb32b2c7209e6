"""The consensus messages that members exchange, one frozen class each, fields named as in Aeron's
SBE schema.

Nothing here decides anything. Left out, because no protocol rule of the model reads them:
``protocolVersion``, ``appVersion``, ``timestamp``, ``logSessionId``, ``leaderRecordingId``,
``isStartup`` and ``catchupEndpoint``.

Terms and positions are integers; -1 (`NULL_VALUE`) means none. Positions are bytes from the start
of the log.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

NULL_VALUE: Final = -1
CATCHUP_FLAG: Final = 1
"""Bit 0 of ``AppendPosition.flags``: the sender is in FOLLOWER_CATCHUP."""


@dataclass(frozen=True, slots=True)
class CanvassPosition:
    """What the sender has recorded, published every canvass interval (SBE id 50)."""

    log_leadership_term_id: int
    log_position: int
    leadership_term_id: int
    follower_member_id: int


@dataclass(frozen=True, slots=True)
class RequestVote:
    """A candidate asks for a vote in ``candidate_term_id`` (SBE id 51)."""

    log_leadership_term_id: int
    log_position: int
    candidate_term_id: int
    candidate_member_id: int


@dataclass(frozen=True, slots=True)
class Vote:
    """A voter's answer; log term and position are the voter's own (SBE id 52)."""

    candidate_term_id: int
    log_leadership_term_id: int
    log_position: int
    candidate_member_id: int
    follower_member_id: int
    vote: bool


@dataclass(frozen=True, slots=True)
class NewLeadershipTerm:
    """A leader announces its term and what follows a log term in its log (SBE id 53)."""

    log_leadership_term_id: int
    next_leadership_term_id: int
    next_term_base_log_position: int
    next_log_position: int
    leadership_term_id: int
    term_base_log_position: int
    log_position: int
    commit_position: int
    leader_member_id: int


@dataclass(frozen=True, slots=True)
class AppendPosition:
    """How much of the log the sender has recorded (SBE id 54)."""

    leadership_term_id: int
    log_position: int
    follower_member_id: int
    flags: int


@dataclass(frozen=True, slots=True)
class CommitPosition:
    """The quorum position, as the leader computed it (SBE id 55)."""

    leadership_term_id: int
    log_position: int
    leader_member_id: int


@dataclass(frozen=True, slots=True)
class CatchupPosition:
    """A follower asks the leader to replay its log from ``log_position`` (SBE id 56)."""

    leadership_term_id: int
    log_position: int
    follower_member_id: int


@dataclass(frozen=True, slots=True)
class StopCatchup:
    """The leader tells a follower that it has caught up (SBE id 57)."""

    leadership_term_id: int
    follower_member_id: int


@dataclass(frozen=True, slots=True)
class TerminationPosition:
    """The leader asks for termination at ``log_position`` (SBE id 75)."""

    leadership_term_id: int
    log_position: int


@dataclass(frozen=True, slots=True)
class TerminationAck:
    """A follower has terminated at ``log_position`` (SBE id 76)."""

    leadership_term_id: int
    log_position: int
    member_id: int


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

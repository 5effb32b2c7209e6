"""The consensus messages that members exchange: a frozen class for each, with Aeron's field names.

Left out, because no protocol rule of the model reads them: ``protocolVersion``, ``appVersion``,
``timestamp``, ``logSessionId``, ``leaderRecordingId``, ``isStartup`` and ``catchupEndpoint``.

Terms and positions are integers; -1 (`NULL_VALUE`) means none. Positions are bytes from the start
of the log. Every integer is signed 64-bit. A reader of traces accepts every such value; the checker
rejects values that no cluster can have.

Traces hold the same classes. `msgspec` reads and writes them with the field names of Aeron's SBE
schema, which `wire_name` gives without exceptions; the type is the first field of the JSON object.
Results that are written as JSON (`Record`) are named by the same rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Struct


def wire_name(field: str) -> str:
    """Name a Python field as TLA+ and Aeron's SBE schema do.

    ``log_leadership_term_id`` becomes ``logLeadershipTermId``.
    """
    head, *tail = field.split("_")
    return head + "".join(word.capitalize() for word in tail)


class Record(Struct, frozen=True, rename=wire_name):
    """A part of a result that is written as JSON; its fields are named as in the spec."""


NULL_VALUE: Final = -1
"""Aeron's null of terms, positions and ids."""
MIN_INT: Final = -(1 << 63)
MAX_INT: Final = (1 << 63) - 1
"""Positions, terms and times are signed 64-bit, as Aeron's are."""
Int64: TypeAlias = Annotated[int, Meta(ge=MIN_INT, le=MAX_INT)]
CATCHUP_FLAG: Final = 1
"""Bit 0 of ``AppendPosition.flags``: the sender is in FOLLOWER_CATCHUP."""


class _Message(
    Struct,
    frozen=True,
    forbid_unknown_fields=True,
    rename=wire_name,
    tag_field="type",
    tag=True,
    gc=False,
):
    """A message. In JSON its first field is its type."""


class CanvassPosition(_Message, frozen=True):
    """The sender reports its log in CANVASS and NOMINATE, once an interval (SBE id 50)."""

    log_leadership_term_id: Int64
    log_position: Int64
    leadership_term_id: Int64
    follower_member_id: Int64


class RequestVote(_Message, frozen=True):
    """A candidate asks for a vote in ``candidate_term_id`` (SBE id 51)."""

    log_leadership_term_id: Int64
    log_position: Int64
    candidate_term_id: Int64
    candidate_member_id: Int64


class Vote(_Message, frozen=True):
    """A voter answers a candidate; log term and position are the voter's own (SBE id 52)."""

    candidate_term_id: Int64
    log_leadership_term_id: Int64
    log_position: Int64
    candidate_member_id: Int64
    follower_member_id: Int64
    vote: bool


class NewLeadershipTerm(_Message, frozen=True):
    """A leader announces its term, and where in its log the term after a log term begins and ends
    (SBE id 53).
    """

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
    """A follower reports how much of the log it has recorded (SBE id 54)."""

    leadership_term_id: Int64
    log_position: Int64
    follower_member_id: Int64
    flags: Int64


class CommitPosition(_Message, frozen=True):
    """A leader publishes the quorum position that it has computed (SBE id 55)."""

    leadership_term_id: Int64
    log_position: Int64
    leader_member_id: Int64


class CatchupPosition(_Message, frozen=True):
    """A follower asks the leader to replay its log from ``log_position`` (SBE id 56)."""

    leadership_term_id: Int64
    log_position: Int64
    follower_member_id: Int64


class StopCatchup(_Message, frozen=True):
    """The leader tells a follower that it has caught up (SBE id 57)."""

    leadership_term_id: Int64
    follower_member_id: Int64


class TerminationPosition(_Message, frozen=True):
    """The leader asks for termination at ``log_position`` (SBE id 75)."""

    leadership_term_id: Int64
    log_position: Int64


class TerminationAck(_Message, frozen=True):
    """A follower has terminated at ``log_position`` (SBE id 76)."""

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
"""All message types. The columns of a trace store the index as the type's code."""

_SENDER: Final[Mapping[type[Message], Callable[[Message], int]]] = {
    kind: attrgetter(name)
    for name, kinds in {
        "follower_member_id": (CanvassPosition, AppendPosition, CatchupPosition, Vote),
        "candidate_member_id": (RequestVote,),
        "leader_member_id": (NewLeadershipTerm, CommitPosition),
        "member_id": (TerminationAck,),
    }.items()
    for kind in kinds
}


def sender_of(m: Message) -> int:
    """The member that a message names as its sender, or -1."""
    named = _SENDER.get(type(m))
    return NULL_VALUE if named is None else named(m)

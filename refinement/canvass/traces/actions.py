"""The actions: each TLA+ operator that is a step of a member, with the inputs that it reads.

This table is the list of actions in traces. A trace has the name of the TLA+ operator. The Python
function has the name of the enum member in lower case (`canvass.cluster.core.action_name`). The
core defines what an action does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Final

from canvass.cluster import messages
from canvass.cluster.messages import Message


class Action(str, Enum):
    """The steps of a member. The order gives the code of an action in columns: append, never
    reorder.
    """

    # A message is received.
    ON_CANVASS_POSITION = "OnCanvassPosition"
    ON_REQUEST_VOTE = "OnRequestVote"
    ON_VOTE = "OnVote"
    ON_NEW_LEADERSHIP_TERM = "OnNewLeadershipTerm"
    ON_APPEND_POSITION = "OnAppendPosition"
    ON_COMMIT_POSITION = "OnCommitPosition"
    ON_CATCHUP_POSITION = "OnCatchupPosition"
    ON_STOP_CATCHUP = "OnStopCatchup"
    ON_TERMINATION_POSITION = "OnTerminationPosition"
    ON_TERMINATION_ACK = "OnTerminationAck"
    # One duty cycle of an election state.
    ELECTION_INIT = "ElectionInit"
    CANVASS = "Canvass"
    NOMINATE = "Nominate"
    CANDIDATE_BALLOT = "CandidateBallot"
    FOLLOWER_BALLOT = "FollowerBallot"
    LEADER_LOG_REPLICATION = "LeaderLogReplication"
    LEADER_REPLAY = "LeaderReplay"
    LEADER_INIT = "LeaderInit"
    LEADER_READY = "LeaderReady"
    FOLLOWER_LOG_REPLICATION = "FollowerLogReplication"
    FOLLOWER_REPLAY = "FollowerReplay"
    FOLLOWER_CATCHUP_INIT = "FollowerCatchupInit"
    FOLLOWER_CATCHUP_AWAIT = "FollowerCatchupAwait"
    FOLLOWER_CATCHUP = "FollowerCatchup"
    FOLLOWER_LOG_INIT = "FollowerLogInit"
    FOLLOWER_LOG_AWAIT = "FollowerLogAwait"
    FOLLOWER_READY = "FollowerReady"
    # The consensus module, its log and its services.
    ENTER_ELECTION = "EnterElection"
    ELECTION_ERROR = "ElectionError"
    APPEND_ENTRY = "AppendEntry"
    RECORD_LOG = "RecordLog"
    CONSUME_LOG = "ConsumeLog"
    ON_REPLAY_NEW_LEADERSHIP_TERM_EVENT = "OnReplayNewLeadershipTermEvent"
    UPDATE_LEADER_POSITION = "UpdateLeaderPosition"
    UPDATE_FOLLOWER_POSITION = "UpdateFollowerPosition"
    TAKE_SNAPSHOT = "TakeSnapshot"
    INITIATE_TERMINATION = "InitiateTermination"
    TERMINATE = "Terminate"
    RESTART = "Restart"


@dataclass(frozen=True, slots=True)
class ActionInput:
    """The inputs that one action reads besides the state."""

    message: type[Message] | None
    """The type of the message that the action consumes; None if it consumes no message."""
    fields: frozenset[str]
    """Other fields of `canvass.cluster.member.Input` that the action reads."""


def _row(*fields: str, message: type[Message] | None = None) -> ActionInput:
    return ActionInput(message, frozenset(fields))


ACTION_INPUTS: Final[Mapping[Action, ActionInput]] = MappingProxyType(
    {
        Action.ON_CANVASS_POSITION: _row("active", message=messages.CanvassPosition),
        Action.ON_REQUEST_VOTE: _row("active", message=messages.RequestVote),
        Action.ON_VOTE: _row(message=messages.Vote),
        Action.ON_NEW_LEADERSHIP_TERM: _row(message=messages.NewLeadershipTerm),
        Action.ON_APPEND_POSITION: _row(message=messages.AppendPosition),
        Action.ON_COMMIT_POSITION: _row(message=messages.CommitPosition),
        Action.ON_CATCHUP_POSITION: _row(message=messages.CatchupPosition),
        Action.ON_STOP_CATCHUP: _row(message=messages.StopCatchup),
        Action.ON_TERMINATION_POSITION: _row(message=messages.TerminationPosition),
        Action.ON_TERMINATION_ACK: _row(message=messages.TerminationAck),
        Action.ELECTION_INIT: _row(),
        Action.CANVASS: _row("interval", "timeout"),
        Action.NOMINATE: _row("interval", "timeout"),
        Action.CANDIDATE_BALLOT: _row("timeout", "accepted"),
        Action.FOLLOWER_BALLOT: _row("timeout"),
        Action.LEADER_LOG_REPLICATION: _row("interval", "commit_interval", "active"),
        Action.LEADER_REPLAY: _row("interval", "commit_interval", "active"),
        Action.LEADER_INIT: _row(),
        Action.LEADER_READY: _row("interval", "commit_interval", "timeout", "active", "position"),
        Action.FOLLOWER_LOG_REPLICATION: _row("interval", "position"),
        Action.FOLLOWER_REPLAY: _row("interval"),
        Action.FOLLOWER_CATCHUP_INIT: _row(),
        Action.FOLLOWER_CATCHUP_AWAIT: _row(),
        Action.FOLLOWER_CATCHUP: _row("interval"),
        Action.FOLLOWER_LOG_INIT: _row(),
        Action.FOLLOWER_LOG_AWAIT: _row(),
        Action.FOLLOWER_READY: _row(),
        Action.ENTER_ELECTION: _row("graceful_closed_leader_id"),
        Action.ELECTION_ERROR: _row("interval", "commit_interval", "timeout", "active", "position"),
        Action.APPEND_ENTRY: _row("position"),
        Action.RECORD_LOG: _row("position"),
        Action.CONSUME_LOG: _row("position", "entry_position"),
        Action.ON_REPLAY_NEW_LEADERSHIP_TERM_EVENT: _row(
            "position", "entry_position", "leadership_term_id", "term_base_log_position"
        ),
        Action.UPDATE_LEADER_POSITION: _row("commit_interval", "active"),
        Action.UPDATE_FOLLOWER_POSITION: _row(),
        Action.TAKE_SNAPSHOT: _row(),
        Action.INITIATE_TERMINATION: _row(),
        Action.TERMINATE: _row(),
        Action.RESTART: _row(),
    }
)
"""The inputs that each action reads in some revision of the protocol."""

ACTIONS: Final[tuple[Action, ...]] = tuple(Action)
"""All actions. The index of an action is its code in columns."""

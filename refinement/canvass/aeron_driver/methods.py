"""Which method of Aeron the driver calls for each action of the spec."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from canvass.traces.actions import Action

_CONSENSUS: Final = "ConsensusAdapter.onFragment -> ConsensusModuleAgent"
_ELECTION: Final = "Election.doWork -> Election"

JAVA_METHODS: Final[Mapping[Action, str]] = MappingProxyType(
    {
        Action.ON_CANVASS_POSITION: f"{_CONSENSUS}.onCanvassPosition",
        Action.ON_REQUEST_VOTE: f"{_CONSENSUS}.onRequestVote",
        Action.ON_VOTE: f"{_CONSENSUS}.onVote",
        Action.ON_NEW_LEADERSHIP_TERM: f"{_CONSENSUS}.onNewLeadershipTerm",
        Action.ON_APPEND_POSITION: f"{_CONSENSUS}.onAppendPosition",
        Action.ON_COMMIT_POSITION: f"{_CONSENSUS}.onCommitPosition",
        Action.ON_CATCHUP_POSITION: f"{_CONSENSUS}.onCatchupPosition",
        Action.ON_STOP_CATCHUP: f"{_CONSENSUS}.onStopCatchup",
        Action.ON_TERMINATION_POSITION: f"{_CONSENSUS}.onTerminationPosition",
        Action.ON_TERMINATION_ACK: f"{_CONSENSUS}.onTerminationAck",
        Action.ELECTION_INIT: f"{_ELECTION}.init",
        Action.CANVASS: f"{_ELECTION}.canvass",
        Action.NOMINATE: f"{_ELECTION}.nominate",
        Action.CANDIDATE_BALLOT: f"{_ELECTION}.candidateBallot",
        Action.FOLLOWER_BALLOT: f"{_ELECTION}.followerBallot",
        Action.LEADER_LOG_REPLICATION: f"{_ELECTION}.leaderLogReplication",
        Action.LEADER_REPLAY: f"{_ELECTION}.leaderReplay",
        Action.LEADER_INIT: f"{_ELECTION}.leaderInit",
        Action.LEADER_READY: f"{_ELECTION}.leaderReady",
        Action.FOLLOWER_LOG_REPLICATION: f"{_ELECTION}.followerLogReplication",
        Action.FOLLOWER_REPLAY: f"{_ELECTION}.followerReplay",
        Action.FOLLOWER_CATCHUP_INIT: f"{_ELECTION}.followerCatchupInit",
        Action.FOLLOWER_CATCHUP_AWAIT: f"{_ELECTION}.followerCatchupAwait",
        Action.FOLLOWER_CATCHUP: f"{_ELECTION}.followerCatchup",
        Action.FOLLOWER_LOG_INIT: f"{_ELECTION}.followerLogInit",
        Action.FOLLOWER_LOG_AWAIT: f"{_ELECTION}.followerLogAwait",
        Action.FOLLOWER_READY: f"{_ELECTION}.followerReady",
        Action.ENTER_ELECTION: "ConsensusModuleAgent.enterElection",
        Action.ELECTION_ERROR: "Election.handleError",
        Action.CONSUME_LOG: "ConsensusModuleAgent.consensusWork, catchupPoll; LogReplay.doWork",
        Action.ON_REPLAY_NEW_LEADERSHIP_TERM_EVENT: (
            "LogAdapter.onFragment -> ConsensusModuleAgent.onReplayNewLeadershipTermEvent"
        ),
        Action.UPDATE_LEADER_POSITION: "ConsensusModuleAgent.updateLeaderPosition",
        Action.UPDATE_FOLLOWER_POSITION: "ConsensusModuleAgent.updateFollowerPosition",
        Action.TAKE_SNAPSHOT: "ConsensusModuleAgent.onReplayClusterAction -> takeSnapshot",
        Action.APPEND_ENTRY: "ConsensusModuleAgent.checkClusterControlToggle (STANDBY_SNAPSHOT)",
        Action.INITIATE_TERMINATION: "ConsensusModuleAgent.checkClusterControlToggle (ABORT)",
        Action.TERMINATE: "ConsensusModuleAgent.slowTickWork (leader), consensusWork (follower)",
        Action.RESTART: "ConsensusModuleAgent.recoverFromSnapshotAndLog; Election.doWork",
    }
)
"""An action that is missing here runs no code of a member."""

------------------------------- MODULE Member -------------------------------
\* A member as an automaton: the table of its actions. An action has the same name here, in the
\* Python core (in snake case) and in traces. The order of the names is that of their codes.
\*
\* Cluster.tla (N members and a network), MemberGraph.tla (one member in any well-formed
\* environment) and StepOracle.tla (given steps) use this table. TLA+ has no operator by name, so
\* Step spells the actions out.
EXTENDS Rev149, UpstreamFix, Hardened

\* The rules in force. A configuration that names another revision, or a hardening, has its
\* overrides, too. No rule of a member asks; messages, inputs, scripts and properties depend on it.
CONSTANTS
    Revision,   \* "1.49", "1.50" or "upstream-fix"
    Hardening   \* the hazards against which the members are hardened

Hazards == {"HZ1", "HZ2", "HZ3", "HZ5", "HZ6", "HZ7", "HZ8", "HZ9", "HZ10", "HZ11"}

ASSUME Hardening \subseteq Hazards

IsRev149 == Revision = "1.49"
IsUpstreamFix == Revision = "upstream-fix"
IsHardened(hazard) == hazard \in Hardening

MessageTable ==
    <<"OnCanvassPosition", "OnRequestVote", "OnVote", "OnNewLeadershipTerm", "OnAppendPosition",
      "OnCommitPosition", "OnCatchupPosition", "OnStopCatchup", "OnTerminationPosition",
      "OnTerminationAck">>

\* One action for each election state, in the order of ElectionStateTable.
ElectionTable ==
    <<"ElectionInit", "Canvass", "Nominate", "CandidateBallot", "FollowerBallot",
      "LeaderLogReplication", "LeaderReplay", "LeaderInit", "LeaderReady", "FollowerLogReplication",
      "FollowerReplay", "FollowerCatchupInit", "FollowerCatchupAwait", "FollowerCatchup",
      "FollowerLogInit", "FollowerLogAwait", "FollowerReady">>

OtherTable ==
    <<"EnterElection", "ElectionError", "AppendEntry", "RecordLog", "ConsumeLog",
      "OnReplayNewLeadershipTermEvent", "UpdateLeaderPosition", "UpdateFollowerPosition",
      "TakeSnapshot", "InitiateTermination", "Terminate", "Restart">>

ActionTable == MessageTable \o ElectionTable \o OtherTable
MessageActions == NamesIn(MessageTable)
Actions == NamesIn(ActionTable)

OwnAction ==
    [state \in ElectionStates \ {"CLOSED"} |->
        ElectionTable[CHOOSE k \in DOMAIN ElectionTable : ElectionStateTable[k] = state]]

ActionOf(message) == "On" \o message.type

Step(i, s, action, x) ==
    CASE action = "OnCanvassPosition"      -> OnCanvassPosition(i, s, x)
      [] action = "OnRequestVote"          -> OnRequestVote(i, s, x)
      [] action = "OnVote"                 -> OnVote(i, s, x)
      [] action = "OnNewLeadershipTerm"    -> OnNewLeadershipTerm(i, s, x)
      [] action = "OnAppendPosition"       -> OnAppendPosition(i, s, x)
      [] action = "OnCommitPosition"       -> OnCommitPosition(i, s, x)
      [] action = "OnCatchupPosition"      -> OnCatchupPosition(i, s, x)
      [] action = "OnStopCatchup"          -> OnStopCatchup(i, s, x)
      [] action = "OnTerminationPosition"  -> OnTerminationPosition(i, s, x)
      [] action = "OnTerminationAck"       -> OnTerminationAck(i, s, x)
      [] action = "ElectionInit"           -> ElectionInit(i, s, x)
      [] action = "Canvass"                -> Canvass(i, s, x)
      [] action = "Nominate"               -> Nominate(i, s, x)
      [] action = "CandidateBallot"        -> CandidateBallot(i, s, x)
      [] action = "FollowerBallot"         -> FollowerBallot(i, s, x)
      [] action = "LeaderLogReplication"   -> LeaderLogReplication(i, s, x)
      [] action = "LeaderReplay"           -> LeaderReplay(i, s, x)
      [] action = "LeaderInit"             -> LeaderInit(i, s, x)
      [] action = "LeaderReady"            -> LeaderReady(i, s, x)
      [] action = "FollowerLogReplication" -> FollowerLogReplication(i, s, x)
      [] action = "FollowerReplay"         -> FollowerReplay(i, s, x)
      [] action = "FollowerCatchupInit"    -> FollowerCatchupInit(i, s, x)
      [] action = "FollowerCatchupAwait"   -> FollowerCatchupAwait(i, s, x)
      [] action = "FollowerCatchup"        -> FollowerCatchup(i, s, x)
      [] action = "FollowerLogInit"        -> FollowerLogInit(i, s, x)
      [] action = "FollowerLogAwait"       -> FollowerLogAwait(i, s, x)
      [] action = "FollowerReady"          -> FollowerReady(i, s, x)
      [] action = "EnterElection"          -> EnterElection(i, s, x)
      [] action = "ElectionError"          -> ElectionError(i, s, x)
      [] action = "Restart"                -> Restart(i, s, x)
      [] action = "AppendEntry"            -> AppendEntry(i, s, x)
      [] action = "RecordLog"              -> RecordLog(i, s, x)
      [] action = "ConsumeLog"             -> ConsumeLog(i, s, x)
      [] action = "OnReplayNewLeadershipTermEvent" -> OnReplayNewLeadershipTermEvent(i, s, x)
      [] action = "UpdateLeaderPosition"   -> UpdateLeaderPosition(i, s, x)
      [] action = "UpdateFollowerPosition" -> UpdateFollowerPosition(i, s, x)
      [] action = "TakeSnapshot"           -> TakeSnapshot(i, s, x)
      [] action = "InitiateTermination"    -> InitiateTermination(i, s, x)
      [] action = "Terminate"              -> Terminate(i, s, x)
=============================================================================

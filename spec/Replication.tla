---------------------------- MODULE Replication -----------------------------
(***************************************************************************)
(* What a member does with its log, in elections and outside: append,      *)
(* record, acknowledge, commit, consume, catch up, snapshot, terminate.    *)
(*                                                                         *)
(* The bytes of the log are not in the member's state.  That each byte     *)
(* recorded is the leader's byte at that position is the business of       *)
(* Cluster.tla, and of the checker's log causality.                        *)
(***************************************************************************)
EXTENDS Election

-----------------------------------------------------------------------------
(***************************************************************************)
(* AppendEntry(i, s, x): a closed leader writes entries, up to x.position, *)
(* to its log stream.  Nobody else ever does, but for the first entry of a *)
(* term (LeaderReady).  Once it has named the position at which all shall  *)
(* terminate it writes no more in that term.                               *)
(* Source: LogPublisher, ConsensusModuleAgent.checkClusterControlToggle.   *)
(***************************************************************************)
HasInitiatedTermination(s) ==
    s.terminationPosition # NULL_POSITION /\ s.terminationLeadershipTermId = s.moduleLeadershipTermId

AppendEntry(i, s, x) ==
    IF ~Closed(s, "LEADER") \/ x.position <= s.publicationPosition \/ HasInitiatedTermination(s) THEN {}
    ELSE Outcome([s EXCEPT !.publicationPosition = x.position], <<>>)

(***************************************************************************)
(* RecordLog(i, s, x): the archive has recorded up to x.position: what     *)
(* this leader wrote, what its leader's stream brought, or what is copied  *)
(* from the leader's archive.  The archive has threads of its own, so this *)
(* may happen between any two steps of the member.  A leader's stream has  *)
(* more than is recorded outside elections, and after one that failed when *)
(* its first entry was written.                                            *)
(*                                                                         *)
(* A member that awaits the stream asks for its recording as soon as the   *)
(* stream has connected, and leaves that state once its archive shows the  *)
(* recording.  In between more may be recorded: hazard HZ2, whose          *)
(* hardening opens the term before it asks.  Where there is no recording   *)
(* yet a new one begins, which an error in that state forgets again.       *)
(* Source: the archive; ArchiveConductor, RecordingSession;                *)
(* ConsensusModuleAgent.tryJoinLogAsFollower.                              *)
(***************************************************************************)
AwaitsRecording(s) ==
    /\ At(s, "FOLLOWER_CATCHUP_AWAIT") \/ At(s, "FOLLOWER_LOG_AWAIT")
    /\ HasRecording(s) /\ ~Hardened("HZ2")

RecordsFromStream(s) ==
    \/ AwaitsRecording(s)
    \/ Closed(s, "FOLLOWER") /\ s.logSubscription
    \/ At(s, "FOLLOWER_CATCHUP")
    \/ At(s, "FOLLOWER_LOG_INIT") /\ s.logSubscription
    \/ At(s, "FOLLOWER_READY")

RecordLog(i, s, x) ==
    LET copies == At(s, "FOLLOWER_LOG_REPLICATION") /\ s.logReplication
        bound  == CASE copies                 -> s.replicationStopPosition
                    [] IsPublisher(s)         -> s.publicationPosition
                    [] RecordsFromStream(s)   -> x.position
                    [] OTHER                  -> NULL_POSITION
    IN  IF x.position <= s.recordedPosition \/ x.position > bound THEN {}
        ELSE Outcome([s EXCEPT !.recordedPosition = x.position], <<>>)

(***************************************************************************)
(* ConsumeLog(i, s, x): process the log up to x.position, which holds no   *)
(* NewLeadershipTermEvent, and let the services do so too.                 *)
(*                                                                         *)
(* A follower stays within what it has recorded and what the leader has    *)
(* said is committed; a replay within its bounds.  A closed follower that  *)
(* has reached the termination position processes no more: it terminates.  *)
(* Source: LogAdapter.poll, ConsensusModuleAgent.consensusWork,            *)
(* catchupPoll, replayLogPoll.                                             *)
(***************************************************************************)
IsTerminating(s) ==
    s.terminationPosition # NULL_POSITION /\ s.commitPosition >= s.terminationPosition

ConsumeBound(s) ==
    LET follows == Closed(s, "FOLLOWER") /\ s.logSubscription
        replays == At(s, "FOLLOWER_REPLAY") \/ At(s, "LEADER_REPLAY")
    IN  CASE follows /\ ~IsTerminating(s) -> Min(s.moduleNotifiedCommitPosition, s.recordedPosition)
          [] At(s, "FOLLOWER_CATCHUP")    -> Min(s.notifiedCommitPosition, s.recordedPosition)
          [] replays                      -> s.replayStopPosition
          [] OTHER                        -> NULL_POSITION

ConsumeLog(i, s, x) ==
    IF x.position <= s.commitPosition \/ x.position > ConsumeBound(s) THEN {}
    ELSE Outcome([s EXCEPT !.commitPosition = x.position], <<>>)

(***************************************************************************)
(* OnReplayNewLeadershipTermEvent(i, s, x): process the first entry of a   *)
(* term, which ends at x.position.                                         *)
(*                                                                         *)
(* A follower that replays or catches up takes the entry's term for the    *)
(* term that its log ends with, even when the log goes on: hazard HZ6.     *)
(* Source: ConsensusModuleAgent.onReplayNewLeadershipTermEvent,            *)
(* Election.onReplayNewLeadershipTermEvent.                                *)
(***************************************************************************)
OnReplayNewLeadershipTermEvent(i, s, x) ==
    LET t        == [s EXCEPT !.commitPosition = x.position,
                              !.moduleLeadershipTermId = x.leadershipTermId]
        follower == At(s, "FOLLOWER_REPLAY") \/ At(s, "FOLLOWER_CATCHUP")
    IN  IF \/ x.termBaseLogPosition # s.commitPosition
           \/ x.position <= s.commitPosition \/ x.position > ConsumeBound(s) THEN {}
        ELSE IF follower
        THEN Outcome([t EXCEPT !.recordingLog = OpenTerm(s, x.leadershipTermId, x.termBaseLogPosition),
                               !.logLeadershipTermId = IF Hardened("HZ6") THEN Max(@, x.leadershipTermId)
                                                       ELSE x.leadershipTermId], <<>>)
        ELSE Outcome(t, <<>>)

(***************************************************************************)
(* UpdateLeaderPosition(i, s, x): a closed leader computes what a quorum   *)
(* has recorded, tells the followers, and commits.                         *)
(*                                                                         *)
(* It ranks the position that it had itself at its last duty cycle.        *)
(* Source: ConsensusModuleAgent.updateLeaderPosition.                      *)
(***************************************************************************)
UpdateLeaderPosition(i, s, x) ==
    LET q == LeaderQuorumPosition(i, s, s.moduleLeadershipTermId, s.recordedPosition, x.active)
    IN  IF ~Closed(s, "LEADER") THEN {}
        ELSE Outcome([NoteOwnPosition(i, s, s.recordedPosition) EXCEPT
                        !.commitPosition = CommitTo(s, x, q)],
                     PublishCommitPosition(i, s, x, q))

(***************************************************************************)
(* UpdateFollowerPosition(i, s, x): a closed follower reports what it has  *)
(* recorded.  Source: ConsensusModuleAgent.updateFollowerPosition.         *)
(***************************************************************************)
UpdateFollowerPosition(i, s, x) ==
    IF ~Closed(s, "FOLLOWER") \/ s.leaderMemberId = NULL_VALUE THEN {}
    ELSE Outcome(s, Send(s.leaderMemberId,
                         AppendPosition(s.moduleLeadershipTermId, s.recordedPosition, i, 0)))

-----------------------------------------------------------------------------
(***************************************************************************)
(* OnCatchupPosition(i, s, x): replay the own log to a follower that asks. *)
(* Elections are not consulted, only role and term.                        *)
(* Source: ConsensusModuleAgent.onCatchupPosition.                         *)
(***************************************************************************)
OnCatchupPosition(i, s, x) ==
    LET m == x.message
    IN  IF /\ s.moduleState = "ACTIVE" /\ s.role = "LEADER"
           /\ m.leadershipTermId <= s.moduleLeadershipTermId
        THEN Ignore([s EXCEPT !.members[m.followerMemberId].catchupReplay = TRUE])
        ELSE Ignore(s)

(***************************************************************************)
(* OnStopCatchup(i, s, x): the leader says that this member has caught up; *)
(* from here on it listens to the live log alone.                          *)
(* Source: ConsensusModuleAgent.onStopCatchup.                             *)
(***************************************************************************)
OnStopCatchup(i, s, x) ==
    LET m == x.message
    IN  IF /\ s.moduleState = "ACTIVE" /\ m.followerMemberId = i
           /\ m.leadershipTermId = s.moduleLeadershipTermId
        THEN Ignore([s EXCEPT !.catchupDestination = FALSE])
        ELSE Ignore(s)

-----------------------------------------------------------------------------
(***************************************************************************)
(* TakeSnapshot(i, s, x): snapshot what has been processed.  A restart     *)
(* begins there.  The action that asks for it is in the log, so that every *)
(* member snapshots at the same position.  A member whose recording log    *)
(* does not know the term that it is in fails to take one.                 *)
(* Source: ConsensusModuleAgent.takeSnapshot, RecordingLog.getTermEntry.   *)
(***************************************************************************)
TakeSnapshot(i, s, x) ==
    LET entry == FindTermEntry(s.recordingLog, s.moduleLeadershipTermId)
    IN  IF \/ s.moduleState # "ACTIVE" \/ s.commitPosition <= s.snapshotLogPosition
           \/ s.electionState \notin {"CLOSED", "FOLLOWER_CATCHUP", "FOLLOWER_REPLAY", "LEADER_REPLAY"}
           \/ entry = NoTermEntry
        THEN {}
        ELSE Outcome([s EXCEPT !.snapshotLeadershipTermId = s.moduleLeadershipTermId,
                               !.snapshotTermBaseLogPosition = entry.termBaseLogPosition,
                               !.snapshotLogPosition = s.commitPosition], <<>>)

(***************************************************************************)
(* InitiateTermination(i, s, x): an operator shuts the cluster down; the   *)
(* leader names the position at which all shall end.  It does so once in   *)
(* its term.  A position that it has from an older term, in which it       *)
(* followed and did not terminate, does not keep it from that.             *)
(* Source: ConsensusModuleAgent.checkClusterControlToggle.                 *)
(***************************************************************************)
InitiateTermination(i, s, x) ==
    IF ~Closed(s, "LEADER") \/ HasInitiatedTermination(s) THEN {}
    ELSE Outcome([s EXCEPT !.terminationPosition = s.publicationPosition,
                           !.terminationLeadershipTermId = s.moduleLeadershipTermId],
                 Broadcast(i, TerminationPosition(s.moduleLeadershipTermId, s.publicationPosition)))

(***************************************************************************)
(* OnTerminationPosition(i, s, x): a follower takes note; elections are    *)
(* not consulted.  One that is noted in an election, or survives it, ends  *)
(* the member in its next term, which it closes at its own position while  *)
(* the leader goes on: hazard HZ9.                                         *)
(* Source: ConsensusModuleAgent.onTerminationPosition.                     *)
(***************************************************************************)
OnTerminationPosition(i, s, x) ==
    LET m == x.message
    IN  IF /\ s.moduleState = "ACTIVE" /\ s.role = "FOLLOWER"
           /\ Hardened("HZ9") => s.electionState = "CLOSED"
           /\ m.leadershipTermId = s.moduleLeadershipTermId
        THEN Ignore([s EXCEPT !.terminationPosition = m.logPosition,
                              !.terminationLeadershipTermId = m.leadershipTermId])
        ELSE Ignore(s)

(***************************************************************************)
(* OnTerminationAck(i, s, x): the leader waits for these, but not beyond a *)
(* deadline.  Left out: which members have acknowledged; sound because     *)
(* Terminate may follow the deadline as well.                              *)
(* Source: ConsensusModuleAgent.onTerminationAck.                          *)
(***************************************************************************)
OnTerminationAck(i, s, x) == Ignore(s)

(***************************************************************************)
(* Terminate(i, s, x): end the process, with the current term closed.      *)
(*                                                                         *)
(* A follower ends when it has processed everything up to the termination  *)
(* position, and closes the term at its own.  It acknowledges, with where  *)
(* it has closed the term, if the term is still the one in which it was    *)
(* asked.  A leader ends if it has asked for it itself, in its term, once  *)
(* all have acknowledged or a deadline has passed, wherever its commit     *)
(* position is, and closes the term at the termination position.  Only     *)
(* Restart can follow.                                                     *)
(*                                                                         *)
(* Left out: a leader that asked for it in an older term and is elected    *)
(* again before its deadline ends in the new term.                         *)
(* Source: ConsensusModuleAgent.doTermination, closeAndTerminate,          *)
(* ClusterTermination.                                                     *)
(***************************************************************************)
Terminate(i, s, x) ==
    LET end == IF s.role = "LEADER" THEN s.terminationPosition ELSE s.commitPosition
        d   == Disk([s EXCEPT !.recordingLog = CommitLogPosition(s.recordingLog,
                                                                 s.moduleLeadershipTermId, end)])
    IN  IF \/ s.moduleState # "ACTIVE" \/ s.electionState # "CLOSED"
           \/ ~(IF s.role = "LEADER" THEN HasInitiatedTermination(s) ELSE IsTerminating(s))
        THEN {}
        ELSE Outcome(d, IF s.role = "FOLLOWER" /\ s.terminationLeadershipTermId = s.moduleLeadershipTermId
                        THEN Send(s.leaderMemberId, TerminationAck(s.moduleLeadershipTermId, end, i))
                        ELSE <<>>)
=============================================================================

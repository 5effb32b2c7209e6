---------------------------- MODULE Replication -----------------------------
\* The steps of a member's log, in elections and outside: append, record, acknowledge, commit,
\* consume, catch up, snapshot, terminate. The state of a member does not have the bytes of its log.
\* Cluster.tla, and the log causality of the checker, ensure that each recorded byte is the leader's
\* byte at that position.
EXTENDS Election

-----------------------------------------------------------------------------
\* AppendEntry: a closed leader writes entries, up to x.position, to its log stream. The only other
\* step that writes is LeaderReady. A leader that has named the termination position writes no more
\* in its term.
\* Source: LogPublisher, ConsensusModuleAgent.checkClusterControlToggle.
HasInitiatedTermination(s) ==
    s.terminationPosition # NULL_POSITION /\ s.terminationLeadershipTermId = s.moduleLeadershipTermId

AppendEntry(i, s, x) ==
    IF ~Closed(s, "LEADER") \/ x.position <= s.publicationPosition \/ HasInitiatedTermination(s) THEN {}
    ELSE Outcome([s EXCEPT !.publicationPosition = x.position], <<>>)

\* RecordLog: the archive has recorded up to x.position: entries that this leader wrote, entries of
\* the leader's stream, or entries copied from the leader's archive. The archive has its own
\* threads, so this may happen between any two steps of the member. A leader's stream is longer than
\* its recording outside elections, and after an election that failed when the first entry was
\* written.
\*
\* A member that awaits the stream requests its recording as soon as the stream has connected, and
\* leaves the state when its archive shows the recording. In between more may be recorded: hazard
\* HZ2. Without a recording a new one begins, and an error in that state forgets it again.
\* Source: the archive; ArchiveConductor, RecordingSession;
\* ConsensusModuleAgent.tryJoinLogAsFollower.
AwaitsRecording(s) ==
    /\ At(s, "FOLLOWER_CATCHUP_AWAIT") \/ At(s, "FOLLOWER_LOG_AWAIT")
    /\ HasRecording(s)

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

\* ConsumeLog: process the log up to x.position, in which there is no NewLeadershipTermEvent, and
\* let the services process it. A follower stays within its recording and within the commit position
\* of the leader; a replay stays within its bounds. A closed follower at the termination position
\* processes no more: it terminates.
\*
\* An entry that begins before the bound is processed whole. A bound lies within an entry if it is a
\* position of another log, as HZ1 may commit. Then x.entryPosition is where this entry begins. In
\* the models entries have length one, and no bound lies within one.
\* Source: LogAdapter.poll, ConsensusModuleAgent.consensusWork, catchupPoll, replayLogPoll;
\* Image.boundedControlledPoll.
IsTerminating(s) ==
    s.terminationPosition # NULL_POSITION /\ s.commitPosition >= s.terminationPosition

ConsumeBound(s) ==
    LET follows == Closed(s, "FOLLOWER") /\ s.logSubscription
        replays == At(s, "FOLLOWER_REPLAY") \/ At(s, "LEADER_REPLAY")
    IN  CASE follows /\ ~IsTerminating(s) -> Min(s.moduleNotifiedCommitPosition, s.recordedPosition)
          [] At(s, "FOLLOWER_CATCHUP")    -> Min(s.notifiedCommitPosition, s.recordedPosition)
          [] replays                      -> s.replayStopPosition
          [] OTHER                        -> NULL_POSITION

IsBoundWithinEntry(s, x) ==
    /\ s.commitPosition <= x.entryPosition /\ x.entryPosition < ConsumeBound(s)
    /\ x.position <= s.recordedPosition

ConsumeLog(i, s, x) ==
    IF \/ x.position <= s.commitPosition
       \/ x.position > ConsumeBound(s) /\ ~IsBoundWithinEntry(s, x) THEN {}
    ELSE Outcome([s EXCEPT !.commitPosition = x.position], <<>>)

\* OnReplayNewLeadershipTermEvent: process the first entry of a term, which ends at x.position. A
\* follower that replays or catches up takes the term of the entry for the last term of its log,
\* even if its log continues: hazard HZ6.
\* Source: ConsensusModuleAgent.onReplayNewLeadershipTermEvent,
\* Election.onReplayNewLeadershipTermEvent.
LogTermInReplay(s, term) == term

OnReplayNewLeadershipTermEvent(i, s, x) ==
    LET t        == [s EXCEPT !.commitPosition = x.position,
                              !.moduleLeadershipTermId = x.leadershipTermId]
        follower == At(s, "FOLLOWER_REPLAY") \/ At(s, "FOLLOWER_CATCHUP")
    IN  IF \/ x.termBaseLogPosition # s.commitPosition
           \/ x.position <= s.commitPosition
           \/ x.position > ConsumeBound(s) /\ ~IsBoundWithinEntry(s, x) THEN {}
        ELSE IF follower
        THEN Outcome([t EXCEPT !.recordingLog = OpenTerm(s, x.leadershipTermId, x.termBaseLogPosition),
                               !.logLeadershipTermId = LogTermInReplay(s, x.leadershipTermId)], <<>>)
        ELSE Outcome(t, <<>>)

\* UpdateLeaderPosition: a closed leader computes the quorum position, sends it to the followers,
\* and commits. It counts itself with its position of the previous duty cycle.
\* Source: ConsensusModuleAgent.updateLeaderPosition.
UpdateLeaderPosition(i, s, x) ==
    LET q == LeaderQuorumPosition(i, s, s.moduleLeadershipTermId, s.recordedPosition, x.active)
    IN  IF ~Closed(s, "LEADER") THEN {}
        ELSE Outcome([NoteOwnPosition(i, s, s.recordedPosition) EXCEPT
                        !.commitPosition = CommitTo(s, x, q)],
                     PublishCommitPosition(i, s, x, q))

\* UpdateFollowerPosition: a closed follower reports the end of its recording.
UpdateFollowerPosition(i, s, x) ==
    IF ~Closed(s, "FOLLOWER") \/ s.leaderMemberId = NULL_VALUE THEN {}
    ELSE Outcome(s, Send(s.leaderMemberId,
                         AppendPosition(s.moduleLeadershipTermId, s.recordedPosition, i, 0)))

-----------------------------------------------------------------------------
\* OnCatchupPosition: replay the log to a follower that requests it. Only role and term are checked,
\* not the election state.
\* Source: ConsensusModuleAgent.onCatchupPosition.
OnCatchupPosition(i, s, x) ==
    LET m == x.message
    IN  IF /\ s.moduleState = "ACTIVE" /\ s.role = "LEADER"
           /\ m.leadershipTermId <= s.moduleLeadershipTermId
        THEN Ignore([s EXCEPT !.members[m.followerMemberId].catchupReplay = TRUE])
        ELSE Ignore(s)

\* OnStopCatchup: the leader has found that this member has caught up. From here on the member
\* listens to the live log only.
\* Source: ConsensusModuleAgent.onStopCatchup.
OnStopCatchup(i, s, x) ==
    LET m == x.message
    IN  IF /\ s.moduleState = "ACTIVE" /\ m.followerMemberId = i
           /\ m.leadershipTermId = s.moduleLeadershipTermId
        THEN Ignore([s EXCEPT !.catchupDestination = FALSE])
        ELSE Ignore(s)

-----------------------------------------------------------------------------
\* TakeSnapshot: take a snapshot of the processed log, at which a restart begins. An entry of the
\* log requests it, so every member takes its snapshot at the same position. A member fails to take
\* one if its recording log lacks the current term.
\* Source: ConsensusModuleAgent.takeSnapshot, RecordingLog.getTermEntry.
TakeSnapshot(i, s, x) ==
    LET entry == FindTermEntry(s.recordingLog, s.moduleLeadershipTermId)
    IN  IF \/ s.moduleState # "ACTIVE" \/ s.commitPosition <= s.snapshotLogPosition
           \/ s.electionState \notin {"CLOSED", "FOLLOWER_CATCHUP", "FOLLOWER_REPLAY", "LEADER_REPLAY"}
           \/ entry = NoTermEntry
        THEN {}
        ELSE Outcome([s EXCEPT !.snapshotLeadershipTermId = s.moduleLeadershipTermId,
                               !.snapshotTermBaseLogPosition = entry.termBaseLogPosition,
                               !.snapshotLogPosition = s.commitPosition], <<>>)

\* InitiateTermination: an operator shuts the cluster down, and the leader names the position at
\* which all members end, once in its term. A termination position of an older term, in which it
\* followed and did not terminate, does not prevent the step.
\* Source: ConsensusModuleAgent.checkClusterControlToggle.
InitiateTermination(i, s, x) ==
    IF ~Closed(s, "LEADER") \/ HasInitiatedTermination(s) THEN {}
    ELSE Outcome([s EXCEPT !.terminationPosition = s.publicationPosition,
                           !.terminationLeadershipTermId = s.moduleLeadershipTermId],
                 Broadcast(i, TerminationPosition(s.moduleLeadershipTermId, s.publicationPosition)))

\* OnTerminationPosition: a follower notes the position; the election state is not checked. If it is
\* noted in an election, or survives one, it ends the member in its next term. The member closes
\* that term at its own position, while the leader continues: hazard HZ9.
\* Source: ConsensusModuleAgent.onTerminationPosition.
MayBeTerminated(s) == s.moduleState = "ACTIVE" /\ s.role = "FOLLOWER"

OnTerminationPosition(i, s, x) ==
    LET m == x.message
    IN  IF /\ MayBeTerminated(s)
           /\ m.leadershipTermId = s.moduleLeadershipTermId
        THEN Ignore([s EXCEPT !.terminationPosition = m.logPosition,
                              !.terminationLeadershipTermId = m.leadershipTermId])
        ELSE Ignore(s)

\* OnTerminationAck: the leader waits for these messages, up to a deadline. Left out: which members
\* have acknowledged. This is sound, because Terminate may also follow the deadline.
\* Source: ConsensusModuleAgent.onTerminationAck.
OnTerminationAck(i, s, x) == Ignore(s)

\* Terminate: close the current term, and end the process. Only Restart can follow.
\*
\* A follower ends when it has processed the log up to the termination position, and closes the term
\* at its own position. It acknowledges with that position if the term is still the one of the
\* request. A leader ends if it has requested the termination itself, in its term, once all members
\* have acknowledged or a deadline has passed, whatever its commit position. It closes the term at
\* the termination position.
\*
\* Left out: a leader that requested a termination in an older term, and is elected again before the
\* deadline, ends in the new term.
\* Source: ConsensusModuleAgent.doTermination, closeAndTerminate, ClusterTermination.
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
